//! Sends the request of a call with the token of a sign-in, and again if that is refused and can be renewed.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use switchboard_local::http::{HttpExchange, HttpFailure, HttpRequest, HttpResponse};
use switchboard_oauth::{
    Challenge, DPOP_NONCE, NoToken, RequestAttempts, RequestToken, SignInNeeded, SignInTarget,
};
use switchboard_toolcall::{CallContext, ServerQuestions, ToolError, ToolSpec};

use crate::sign_in::{ApiCaller, ApiSignIn};

/// How often a caller may have to sign in for one call: at all, and then with more scopes.
const SIGN_INS: usize = 2;

/// Why a request has no response that is taken.
pub(crate) enum ApiSendFailure {
    /// The request itself failed.
    Http(HttpFailure),
    /// The call cannot be made.
    Tool(ToolError),
}

/// Why one attempt has no response that is taken.
enum ApiAttemptFailure {
    SignIn(SignInNeeded),
    Send(ApiSendFailure),
}

/// Sends a request of a call of `spec`. A caller that has to sign in first does so in between: the API has not begun to work on
/// a request that it refused for that.
pub(crate) async fn signed_in(
    sign_in: &ApiSignIn,
    exchange: &HttpExchange,
    request: &HttpRequest,
    spec: &ToolSpec,
    cx: &CallContext,
) -> Result<HttpResponse, ApiSendFailure> {
    let mut sign_ins = 0;
    loop {
        let caller = sign_in.for_call(cx).map_err(ApiSendFailure::Tool)?;
        let before = caller.sign_ins();
        let needed = match attempt(sign_in, &caller, exchange, request).await {
            Ok(response) => {
                caller.note(None);
                return Ok(response);
            }
            Err(ApiAttemptFailure::Send(failure)) => return Err(failure),
            Err(ApiAttemptFailure::SignIn(needed)) => needed,
        };
        caller.note(Some(needed.clone()));
        if !sign_in.signs_people_in() || sign_ins == SIGN_INS {
            return Err(ApiSendFailure::Tool(sign_in.needed(&caller, &needed)));
        }
        // Another call may have done it, or `switchboard login`.
        if caller.sign_ins() == before && !caller.authorizer.reload().await {
            let signed_in = let_sign_in(sign_in, &caller, &needed, spec, cx).await;
            signed_in.map_err(ApiSendFailure::Tool)?;
        }
        sign_ins += 1;
    }
}

/// Sends a request, and again with another token if the API refuses the first.
async fn attempt(
    sign_in: &ApiSignIn,
    caller: &ApiCaller,
    exchange: &HttpExchange,
    request: &HttpRequest,
) -> Result<HttpResponse, ApiAttemptFailure> {
    let fail = |failure| ApiAttemptFailure::Send(ApiSendFailure::Http(failure));
    let begun = RequestAttempts::begin(&caller.authorizer).await;
    let mut attempts = begun.map_err(|why| sign_in.no_token(why))?;
    loop {
        let mut request = request.clone();
        if let Some(token) = attempts.token() {
            let added = add_token(&mut request, token);
            added.map_err(|why| {
                let error = sign_in.error(&why, "Sign in again.");
                ApiAttemptFailure::Send(ApiSendFailure::Tool(error))
            })?;
        }
        let sent = exchange.send(request).await;
        let headers = match &sent {
            Ok(response) => &response.headers,
            Err(HttpFailure::Status { headers, .. }) => headers,
            Err(_) => return sent.map_err(fail),
        };
        if let Some(nonce) = headers.get(DPOP_NONCE).and_then(|nonce| nonce.to_str().ok()) {
            attempts.note_nonce(nonce);
        }
        let Some(challenge) = challenge(&sent) else { return sent.map_err(fail) };
        let is_oauth = challenge.resource_metadata.is_some()
            || sign_in.is_expected()
            || attempts.token().is_some();
        match attempts.refused(challenge).await {
            Ok(()) => {}
            Err(why) if is_oauth => return Err(sign_in.no_token(why)),
            // It may want credentials of another kind, and says so.
            Err(_) => return sent.map_err(fail),
        }
    }
}

impl ApiSignIn {
    fn no_token(&self, why: NoToken) -> ApiAttemptFailure {
        match why {
            NoToken::SignIn(needed) => ApiAttemptFailure::SignIn(needed),
            why @ NoToken::Unavailable(_) => {
                let hint = "Nobody has to sign in for that; call again in a minute.";
                ApiAttemptFailure::Send(ApiSendFailure::Tool(self.error(&why, hint)))
            }
        }
    }
}

fn challenge(sent: &Result<HttpResponse, HttpFailure>) -> Option<Challenge> {
    let Err(HttpFailure::Status { status, headers, .. }) = sent else { return None };
    let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    Challenge::of_response(status.as_u16(), values)
}

fn add_token(request: &mut HttpRequest, token: &RequestToken) -> Result<(), String> {
    let unusable = |error| format!("the sign-in cannot be used: {error}");
    let named = token.headers(request.method.as_str(), &request.url).map_err(unusable)?;
    let mut headers = HeaderMap::new();
    for (name, secret) in named {
        let wrong = |_| "the sign-in's token cannot be sent in a header".to_owned();
        let mut value = HeaderValue::from_str(secret.expose()).map_err(wrong)?;
        value.set_sensitive(true);
        headers.insert(
            HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?,
            value,
        );
    }
    // Replaces what an argument may have put there.
    request.headers.extend(headers);
    Ok(())
}

/// Lets the caller sign in, if it can be asked.
async fn let_sign_in(
    sign_in: &ApiSignIn,
    caller: &ApiCaller,
    needed: &SignInNeeded,
    spec: &ToolSpec,
    cx: &CallContext,
) -> Result<(), ToolError> {
    let page =
        sign_in.open(caller.principal()).await.ok_or_else(|| sign_in.needed(caller, needed))?;
    let channel = cx.caller_channel.as_deref();
    let ask = |questions| async move {
        let (server, tool) = (caller.title().into(), spec.name.clone());
        let asked = ServerQuestions { server, tool, call_id: cx.call_id, questions };
        channel?.ask(asked).await.ok()
    };
    let signed_in = page.sign_caller_in(needed, channel, ask).await;
    signed_in.map_err(|not| sign_in.error(&not.why, &not.hint))
}
