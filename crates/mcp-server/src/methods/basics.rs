//! `initialize`, `server/discover` and `logging/setLevel`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_toolcall::{LogLevel, client_name};

use super::read;
use crate::{
    McpCaller, ServerInner,
    outbox::Outbox,
    reply::MethodReply,
    rpc_request,
    seal::SessionClaims,
    session::{Session, SessionInit, SessionScope},
    sessions::TooManySessions,
    tasks, token,
};
use switchboard_mcp_wire::{JsonText, RpcError, eras};

#[derive(Deserialize)]
struct InitializeParams {
    #[serde(rename = "protocolVersion")]
    version: String,
    #[serde(default)]
    capabilities: Map<String, Value>,
    #[serde(rename = "clientInfo", default)]
    client: Value,
}

/// The transport that a client uses.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientTransport {
    /// Each request is separate; the next one may reach another gateway.
    Http,
    /// One pipe for all messages.
    Stdio,
}

impl ServerInner {
    /// Answers `server/discover`, a modern client's first request.
    pub(super) fn discover(&self, caller: &McpCaller) -> MethodReply {
        let mut capabilities = self.capabilities(caller);
        if self.tasks.is_some() {
            capabilities["extensions"] = json!({tasks::EXTENSION: {}});
        }
        let mut fields = Map::from_iter([
            ("supportedVersions".to_owned(), json!(rpc_request::supported())),
            ("capabilities".to_owned(), capabilities),
            ("serverInfo".to_owned(), self.info.clone()),
            ("ttlMs".to_owned(), json!(0)),
            ("cacheScope".to_owned(), json!("private")),
        ]);
        if let Some(instructions) = self.instructions(caller) {
            fields.insert("instructions".to_owned(), instructions.into());
        }
        MethodReply::Fields(fields)
    }

    /// Opens a session in the newest revision that the client and we speak.
    pub(crate) fn initialize(
        &self,
        params: Map<String, Value>,
        caller: &McpCaller,
        outbox: Arc<Outbox>,
        transport: ClientTransport,
    ) -> Result<(Arc<Session>, JsonText), RpcError> {
        let internal = |text: String| RpcError::new(RpcError::INTERNAL, text);
        let asked: InitializeParams = read(params)?;
        // For a version that is unknown or has no sessions, the newest one with sessions is offered.
        let spoken = eras::LEGACY.iter().find(|version| **version == asked.version);
        let version = spoken.copied().unwrap_or(eras::LATEST_LEGACY);
        let mut result = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(caller),
            "serverInfo": self.info,
        });
        if let Some(instructions) = self.instructions(caller) {
            result["instructions"] = instructions.into();
        }
        let client = asked.client["name"].as_str().and_then(client_name);
        let capabilities = Value::Object(asked.capabilities);
        let init = SessionInit { version, capabilities, client };
        let (id, scope) = self
            .name_session(&init, caller, transport)
            .ok_or_else(|| internal("no randomness for a session".to_owned()))?;
        let patience = self.config.hold.0;
        let session = Session::new(id, caller.clone(), init, scope, patience, outbox);
        session.lists(self.catalog.digest(caller));
        match self.sessions.open(session.clone()) {
            Ok(Some(gone)) => self.end(&gone),
            Ok(None) => {}
            Err(TooManySessions) => {
                return Err(internal("there are too many sessions; try again later".to_owned()));
            }
        }
        Ok((session, JsonText(result.to_string())))
    }

    /// Makes the id of a new session and its scope; `None` if there is no randomness.
    fn name_session(
        &self,
        init: &SessionInit,
        caller: &McpCaller,
        transport: ClientTransport,
    ) -> Option<(String, SessionScope)> {
        let name = token::random()?;
        let seal = self.seal.as_ref().filter(|_| matches!(transport, ClientTransport::Http));
        let Some(seal) = seal else { return Some((name, SessionScope::Local)) };
        let claims = SessionClaims::new(init, caller.name.as_deref(), caller.profile());
        match seal.seal(&name, &claims) {
            Some(id) => Some((id, SessionScope::Cluster { first: token::number()? })),
            None => {
                tracing::debug!("a client says too much of itself: its session stays here");
                Some((name, SessionScope::Local))
            }
        }
    }

    /// Sets the log level of a session.
    pub(super) fn set_level(
        &self,
        session: &Session,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        #[derive(Deserialize)]
        struct LevelParams {
            level: String,
        }
        let LevelParams { level } = read(params)?;
        let known = LogLevel::named(&level).ok_or_else(|| {
            RpcError::new(RpcError::INVALID_PARAMS, format!("there is no log level {level:?}"))
        })?;
        session.set_log_level(known);
        // Shared servers log at the lowest level that any client wants; each client gets its own part.
        let lowest = self.sessions.lowest_level().unwrap_or(known);
        self.catalog.set_level(lowest);
        Ok(MethodReply::empty())
    }
}
