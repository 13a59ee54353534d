//! The request of a call, sent to its server.

use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_mcp_wire::{Era, RpcError};
use switchboard_oauth::SignInNeeded;
use switchboard_runtime::durable;
use switchboard_toolcall::{CallContext, ErrorKind, ToolError, ToolOutput, ToolSpec};

use super::{
    in_flight::CallOrigin,
    request_params::OutgoingParams,
    required_pages::{PageVisits, RequiredPages},
    server::Server,
    session::{OutgoingRequest, Session},
    transport::Failure,
};

/// The header that tells a gateway of our own which program makes a call.
const CLIENT: &str = "x-switchboard-client";

/// How often a caller may have to sign in for one call: at all, and then with more scopes.
const SIGN_INS: usize = 2;

/// Why a request has no result.
enum SendFailure {
    /// Somebody has to sign in first. The server has not begun to work on it.
    SignIn(SignInNeeded),
    /// A person has to open pages first. The server has not begun to work on it.
    Pages(RequiredPages, Arc<Session>),
    /// Anything else: the error for the caller.
    Tool(ToolError),
}

/// The request that is sent to a server for one call.
pub(super) struct CallRequest<'a, H> {
    pub(super) method: &'a str,
    pub(super) params: OutgoingParams<'a>,
    /// Returns the headers that the modern era needs, from the parameters.
    pub(super) headers: H,
}

impl Server {
    /// Sends the request of a call of `spec`, and converts the result with `read`. If the client session must not share the
    /// server with others, the request goes to that session's own copy.
    ///
    /// # Errors
    /// Returns the error for the caller: the server's own message if there is one.
    pub(super) async fn send<H>(
        self: &Arc<Self>,
        spec: &ToolSpec,
        request: &CallRequest<'_, H>,
        cx: &CallContext,
        read: impl FnOnce(&RawValue) -> Result<ToolOutput, ToolError>,
    ) -> Result<ToolOutput, ToolError>
    where
        H: Fn() -> Vec<(String, String)>,
    {
        // A gateway of our own would give the outcome of a read that was cancelled, which may just as well run again.
        let reads_again = self.config().socket.is_some() && durable::may_repeat(spec);
        let call = match reads_again {
            true => CallOrigin::new(spec, &CallContext { call_key: None, ..cx.clone() }),
            false => CallOrigin::new(spec, cx),
        };
        let before = self.refusals();
        let result = self.send_part_of(&call, spec, request, cx).await;
        let result = result.and_then(|result| read(&result));
        result.map_err(|error| self.refused(before, call.explained(error)))
    }

    /// How much its sandbox refused so far; `None` without one.
    fn refusals(&self) -> Option<u64> {
        // Most servers have none, and a call is not to wait for a lock then.
        (!self.config().sandbox.is_off())
            .then(|| self.open_sandbox().map_or(0, |open| open.refusals()))
    }

    /// Adds what the sandbox refused in the meantime to an error.
    fn refused(&self, before: Option<u64>, error: ToolError) -> ToolError {
        let Some((before, sandbox)) = before.zip(self.open_sandbox()) else { return error };
        match sandbox.hint(before, &error.for_model) {
            Some(hint) => {
                let hint = match &error.hint {
                    Some(other) => format!("{other}; {hint}"),
                    None => hint,
                };
                error.with_hint(hint)
            }
            None => error,
        }
    }

    /// Sends the request of `call`, and returns the result as it came. A caller that has to sign in first does so in between:
    /// the server has not begun to work on a call that it refused for that.
    async fn send_part_of<H>(
        self: &Arc<Self>,
        call: &Arc<CallOrigin>,
        spec: &ToolSpec,
        request: &CallRequest<'_, H>,
        cx: &CallContext,
    ) -> Result<Box<RawValue>, ToolError>
    where
        H: Fn() -> Vec<(String, String)>,
    {
        let (mut sign_ins, mut visits) = (0, PageVisits::default());
        loop {
            let server = self.for_call(cx)?;
            match server.send_in_session(call, spec, request, cx).await {
                Ok(result) => return Ok(result),
                Err(SendFailure::Tool(error)) => return Err(error),
                Err(SendFailure::SignIn(needed))
                    if !server.signs_people_in() || sign_ins == SIGN_INS =>
                {
                    let error = server.sign_in_error(&needed, server.sign_in_hint());
                    return Err(error.caused_by(needed));
                }
                // Boxed, because most calls do not get here.
                Err(SendFailure::SignIn(needed)) => {
                    Box::pin(server.sign_caller_in(&needed, call, cx)).await?;
                    sign_ins += 1;
                }
                Err(SendFailure::Pages(pages, session)) => {
                    let (visits, router) = (&mut visits, &session.router);
                    Box::pin(server.show_pages(&pages, visits, router, call, cx)).await?;
                }
            }
        }
    }

    /// Sends the request of `call` to this instance of the server.
    async fn send_in_session<H>(
        self: &Arc<Self>,
        call: &Arc<CallOrigin>,
        spec: &ToolSpec,
        request: &CallRequest<'_, H>,
        cx: &CallContext,
    ) -> Result<Box<RawValue>, SendFailure>
    where
        H: Fn() -> Vec<(String, String)>,
    {
        // An expired session is renewed once; if it expires again, the server is at fault.
        for _ in 0..2 {
            let session = self.session().await.map_err(|error| match self.needs_sign_in() {
                Some(needed) if self.user.is_some() => SendFailure::SignIn(needed),
                _ => SendFailure::Tool(error),
            })?;
            if self.is_copy() {
                self.check_tool(spec).map_err(SendFailure::Tool)?;
            }
            let _busy = session.usage().busy();
            let mut headers = match session.era() {
                Era::Modern => (request.headers)(),
                Era::Legacy(_) => Vec::new(),
            };
            // A gateway of our own records the call under the program that makes it.
            if self.config().socket.is_some() {
                let client = cx.client.iter().map(|client| (CLIENT.to_owned(), client.to_string()));
                headers.extend(client);
            }
            let outgoing = OutgoingRequest {
                method: request.method,
                params: request.params.clone(),
                headers,
                progress: cx.progress.clone(),
                call: Some(call.clone()),
                trace: cx.trace.clone(),
            };
            match session.ask_raw(outgoing).await {
                Ok(result) => return Ok(result),
                Err(Failure::SessionExpired) => self.renew(&session, "the session has expired"),
                Err(Failure::SignIn(needed)) => {
                    self.want_sign_in(needed.clone());
                    return Err(SendFailure::SignIn(needed));
                }
                Err(failure) => {
                    if let Failure::Lost(reason) = &failure {
                        self.renew(&session, reason);
                    }
                    if let Some(pages) = RequiredPages::of(&failure) {
                        return Err(SendFailure::Pages(pages, session.clone()));
                    }
                    if misses_capability(&failure) && call.caller_channel().is_none() {
                        call.refused(&cannot_be_asked_anything(self.name()));
                    }
                    return Err(SendFailure::Tool(self.call_error(spec, failure)));
                }
            }
        }
        Err(SendFailure::Tool(self.call_error(spec, Failure::SessionExpired)))
    }

    /// Converts a failure to the error for the caller: the server's own message if there is one.
    pub(super) fn call_error(&self, spec: &ToolSpec, failure: Failure) -> ToolError {
        let server = self.name();
        match failure {
            Failure::Rpc(error) | Failure::Http { error: Some(error), .. } => {
                ToolError::new(ErrorKind::ToolError, error.message.clone()).caused_by(error)
            }
            lost @ (Failure::Lost(_) | Failure::SessionExpired) => {
                let error = match self.config().socket {
                    Some(_) => self.gateway_ended(spec),
                    None => ToolError::unreachable(&spec.name, format!("MCP server '{server}'")),
                };
                match spec.is_read_only() {
                    true => error,
                    false => error.with_hint(
                        "The call may have been under way; side effects may have happened.",
                    ),
                }
                .caused_by(lost)
            }
            Failure::SignIn(needed) => {
                self.want_sign_in(needed.clone());
                self.sign_in_error(&needed, self.sign_in_hint()).caused_by(needed)
            }
            failure @ Failure::NoToken(_) => {
                let hint = "Nobody has to sign in for that; call again in a minute.";
                self.sign_in_error(&failure, hint).caused_by(failure)
            }
            failure @ (Failure::Http { .. } | Failure::Protocol(_)) => {
                let text = format!("MCP server '{server}' did not answer as it should: {failure}");
                ToolError::new(ErrorKind::ToolError, text).caused_by(failure)
            }
        }
    }
}

/// Whether a server of 2026-07-28 refused because the client lacks a capability to answer its questions.
fn misses_capability(failure: &Failure) -> bool {
    match failure {
        Failure::Rpc(error) | Failure::Http { error: Some(error), .. } => {
            error.code == RpcError::MISSING_CAPABILITY
        }
        _ => false,
    }
}

fn cannot_be_asked_anything(server: &str) -> String {
    format!(
        "MCP server '{server}' must be able to ask something for this tool, and this caller cannot be asked; \
         call it from a terminal, the console or an MCP client that supports it"
    )
}
