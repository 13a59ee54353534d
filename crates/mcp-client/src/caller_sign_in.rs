//! Lets the caller of a call sign in to a server with `auth = "user"`, and waits until that is done (SPEC AU-3).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_oauth::{Authorizer, ServerAuth, SignInNeeded, SignInPage, SignInTarget};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, ErrorKind, Principal, Tool, ToolError, ToolOrigin,
    ToolOutput, ToolSpec,
};

use super::{in_flight::CallOrigin, server::Server};

/// The name of the tool that a server has while nobody is signed in to it.
const TOOL: &str = "sign_in";

impl Server {
    /// Lets the caller sign in, if it can be asked: this is the caller's instance. Returns once it is connected again.
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
        let page = base.open_sign_in(&user.principal).await?.ok_or_else(unusable)?;
        let channel = cx.caller_channel.as_deref();
        let ask = |questions| async move { call.ask(channel?, self.name(), questions).await.ok() };
        let signed_in = page.sign_caller_in(needed, channel, ask).await;
        signed_in.map_err(|not| self.sign_in_error(&not.why, not.hint))?;
        let target: Arc<dyn SignInTarget> = self.clone();
        if !page.is_of(&target) {
            self.reconnect();
        }
        Ok(())
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
    pub async fn open_sign_in(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Result<Option<Arc<SignInPage>>, ToolError> {
        let user: Arc<dyn SignInTarget> = self.for_user(principal)?;
        Ok(match &self.deps.oauth {
            Some(deps) => deps.pages.open(&user).await,
            None => None,
        })
    }

    /// Returns what a caller signs in to; `None` if callers do not sign in to this server themselves.
    pub fn sign_in_target(
        self: &Arc<Self>,
        principal: &Principal,
    ) -> Option<Arc<dyn SignInTarget>> {
        let is_own = self.is_per_user() && self.config().auth == ServerAuth::User;
        let user = is_own.then(|| self.for_user(principal))?;
        user.ok().map(|user| user as Arc<dyn SignInTarget>)
    }
}

impl SignInTarget for Server {
    fn title(&self) -> &str {
        self.name()
    }

    fn principal(&self) -> &Principal {
        self.user.as_ref().map_or(&Principal::Unknown, |user| &user.principal)
    }

    fn own_authorizer(&self) -> Option<&Authorizer> {
        self.user.as_ref().map(|user| &*user.authorizer)
    }

    fn on_sign_in(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.sign_in_again())
    }
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
