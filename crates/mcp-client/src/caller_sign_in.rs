//! Lets the caller of a call sign in to a server with `auth = "user"`, and waits until that is done (SPEC AU-3).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_oauth::SignInNeeded;
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, CallerChannel, ErrorKind, Principal, QuestionKind,
    ServerQuestion, Tool, ToolError, ToolOrigin, ToolOutput, ToolSpec,
};

use super::{config::ServerAuth, in_flight::CallOrigin, server::Server, sign_in_pages::SignInPage};

/// The name of the tool that a server has while nobody is signed in to it.
const TOOL: &str = "sign_in";

impl Server {
    /// Lets the caller sign in, if it can be asked: this is the caller's instance. Returns once it is connected anew.
    ///
    /// # Errors
    /// The caller cannot be asked, declines or takes too long; the hint has the address.
    pub(super) async fn sign_caller_in(
        self: &Arc<Self>,
        needed: &SignInNeeded,
        call: &CallOrigin,
        cx: &CallContext,
    ) -> Result<(), ToolError> {
        let unusable = || self.sign_in_error(needed, self.sign_in_hint());
        let user = self.user.as_ref().ok_or_else(unusable)?;
        // Another call may have done it.
        if self.needs_sign_in().is_none() {
            return Ok(());
        }
        // Or it was done elsewhere, with `switchboard login`.
        if user.authorizer.reload().await {
            self.reconnect();
            return Ok(());
        }
        let base = user.base.upgrade().ok_or_else(unusable)?;
        let page = base.open_sign_in(&user.principal)?.ok_or_else(unusable)?;
        self.wait_for_sign_in(&page, needed, call, cx).await?;
        if !page.is_of(self) {
            self.reconnect();
        }
        Ok(())
    }

    async fn wait_for_sign_in(
        &self,
        page: &SignInPage,
        needed: &SignInNeeded,
        call: &CallOrigin,
        cx: &CallContext,
    ) -> Result<(), ToolError> {
        let at = format!("sign in at {} and call again", page.address());
        let hint = format!("S{}.", &at[1..]);
        let ended = |reason: String| self.sign_in_error(&reason, "Call again for a new address.");
        let channel = match cx.caller_channel.as_deref() {
            Some(channel) if opens_pages(channel) => channel,
            // MCP clients see no hints.
            Some(_) => return Err(self.sign_in_error(&format!("{needed}; {at}"), hint)),
            None => return Err(self.sign_in_error(needed, hint)),
        };
        // The time that a person takes is not the tool's.
        let _pause = channel.pause();
        let goes_there = tokio::select! {
            biased;
            outcome = page.signed_in() => return outcome.map_err(ended),
            goes_there = self.ask_to_sign_in(page, channel, call) => goes_there,
        };
        match goes_there {
            true => page.signed_in().await.map_err(ended),
            false => Err(self.sign_in_error(&"the caller did not want to sign in", hint)),
        }
    }

    /// Shows the caller the address; returns whether it goes there.
    async fn ask_to_sign_in(
        &self,
        page: &SignInPage,
        channel: &dyn CallerChannel,
        call: &CallOrigin,
    ) -> bool {
        let message =
            format!("Sign in to '{}' in the browser, so that the call can go on.", self.name());
        let params = json!({
            "mode": "url", "message": message, "url": page.address().as_str(), "elicitationId": page.id(),
        });
        let question = ServerQuestion { kind: QuestionKind::Elicit, params };
        let asked = call.ask(channel, self.name(), vec![(TOOL.to_owned(), question)]).await;
        asked.is_ok_and(|answers| answers.get(TOOL).is_some_and(|said| said["action"] == "accept"))
    }

    pub(super) fn sign_in_error(
        &self,
        why: &dyn std::fmt::Display,
        hint: impl Into<String>,
    ) -> ToolError {
        let text = format!("MCP server '{}' cannot be used: {why}", self.name());
        ToolError::new(ErrorKind::Unavailable, text).with_hint(hint)
    }

    /// Opens the address at which a caller signs in to this server; `None` if no gateway serves it.
    ///
    /// # Errors
    /// The caller is not known, or the server is stopped.
    pub fn open_sign_in(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Result<Option<Arc<SignInPage>>, ToolError> {
        let user = self.for_user(principal)?;
        Ok(self.deps.oauth.as_ref().and_then(|deps| deps.pages.open(&user)))
    }
}

/// Whether the caller takes the address of a page. A client says so; other callers take whatever they are asked.
fn opens_pages(channel: &dyn CallerChannel) -> bool {
    let declares = |declared: &Value| declared["elicitation"].get("url").is_some();
    channel.answers(QuestionKind::Elicit) && channel.declared().is_none_or(declares)
}

/// What a server offers whose tools are not known yet, because nobody is signed in: without it no caller could begin.
pub(super) struct SignInTool {
    spec: ToolSpec,
    server: Arc<Server>,
}

impl SignInTool {
    pub(super) fn new(server: &Arc<Server>, separator: &str) -> Self {
        let name = server.name();
        let description = match server.config().auth {
            ServerAuth::Exchange => format!(
                "Connects you to '{name}' with your own token. Its tools are known once somebody is connected."
            ),
            _ => {
                format!("Signs you in to '{name}'. Its tools are known once somebody is signed in.")
            }
        };
        let spec = ToolSpec {
            annotations: Annotations { read_only: Some(false), ..Annotations::default() },
            origin: ToolOrigin::Server { server: name.clone(), tool: TOOL.into() },
            settings: server.config().tool_settings(TOOL),
            ..ToolSpec::new(
                format!("{name}{separator}{TOOL}"),
                description,
                json!({"type": "object", "properties": {}}),
            )
        };
        Self { spec, server: server.clone() }
    }

    async fn run(&self, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let user = self.server.for_caller(&cx.principal, cx.token.as_ref())?;
        let mut session = user.session().await;
        if let (Err(_), Some(needed), true) =
            (&session, user.needs_sign_in(), user.signs_people_in())
        {
            user.sign_caller_in(&needed, &CallOrigin::new(&self.spec, cx), cx).await?;
            session = user.session().await;
        }
        session?;
        let text = format!("You are signed in to '{}'. List the tools again.", self.server.name());
        Ok(ToolOutput::Value(text.into()))
    }
}

impl Tool for SignInTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx))
    }
}
