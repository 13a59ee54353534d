//! A call that the gateway runs: the request, the events while it runs, and its result.

mod result;
mod watch;

use std::process;

use anyhow::bail;
use http::Method;
use serde_json::{Map, Value};
use switchboard_access::{CLIENT_HEADER, PROFILE_HEADER};
use switchboard_toolcall::{CallId, HumanDuration, ToolResult};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{OwnGateway, client::Reply, path};
use crate::terminal::CommandFailed;
pub(crate) use watch::CallWatch;

/// What is to be called, and how.
pub(crate) struct GatewayCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a Map<String, Value>,
    /// How long it may take; `None` means as the settings say.
    pub(crate) timeout: Option<HumanDuration>,
    pub(crate) idempotency_key: Option<&'a str>,
    /// Whether it is queued instead.
    pub(crate) no_wait: bool,
    /// Whether no text is cut.
    pub(crate) whole: bool,
    /// The profile through which the tool is called.
    pub(crate) profile: Option<&'a str>,
}

/// How a call ended.
pub(crate) enum GatewayCallOutcome {
    Ended(Box<ToolResult>),
    /// The call is in the queue.
    Queued {
        id: CallId,
        state: String,
    },
}

impl OwnGateway {
    /// Lets the gateway run a call. The first Ctrl-C cancels it and still waits for its result; the second does not wait.
    ///
    /// # Errors
    /// The gateway refuses the request, or goes away.
    pub(crate) async fn call(
        &self,
        request: &GatewayCall<'_>,
        watch: &mut CallWatch,
    ) -> anyhow::Result<GatewayCallOutcome> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let target = request.target();
        let body = serde_json::to_vec(request.args)?;
        let headers = request.headers(watch);
        let reply = self.send(Method::POST, &target, &headers, body);
        let reply = tokio::select! {
            biased;
            _ = interrupts.recv() => {
                return Ok(GatewayCallOutcome::Ended(Box::new(result::cancelled(request.name))));
            }
            reply = reply => reply?,
        };
        let envelope = match reply.is_events() {
            true => self.follow_call(reply, request.name, watch, &mut interrupts).await?,
            false => serde_json::from_slice(&reply.bytes().await?)?,
        };
        result::outcome(envelope)
    }

    /// Follows the events of a call, and returns its envelope.
    async fn follow_call(
        &self,
        reply: Reply,
        name: &str,
        watch: &mut CallWatch,
        interrupts: &mut Signal,
    ) -> anyhow::Result<Map<String, Value>> {
        let mut events = reply.events();
        let mut id = None;
        let mut cancelling = None;
        loop {
            let event = tokio::select! {
                biased;
                _ = interrupts.recv() => {
                    if cancelling.is_some() {
                        process::exit(1);
                    }
                    cancelling = Some(tokio::spawn(self.clone().cancel(id.take())));
                    continue;
                }
                event = events.next() => event?,
            };
            match event {
                None => {
                    bail!(CommandFailed(format!("the gateway went away while it ran `{name}`")))
                }
                Some((kind, event)) => match (kind.as_str(), event) {
                    ("started", event) => id = event["id"].as_str().map(str::to_owned),
                    ("result", Value::Object(envelope)) => return Ok(envelope),
                    (kind, event) => watch.hear(self, kind, &event),
                },
            }
        }
    }

    /// Cancels a running call. Does nothing if it has ended meanwhile.
    async fn cancel(self, id: Option<String>) {
        let Some(id) = id else { return };
        let target = format!("/api/calls/running/{}", path(&id));
        let sent = self.send(Method::DELETE, &target, &[Self::caller()], Vec::new()).await;
        if let Err(error) = sent {
            tracing::debug!("the call could not be cancelled: {error:#}");
        }
    }
}

impl GatewayCall<'_> {
    fn target(&self) -> String {
        let wait = u8::from(!self.no_wait);
        let whole = u8::from(self.whole);
        let name = path(self.name);
        format!("/api/tools/{name}/call?wait={wait}&text=1&content=1&whole={whole}")
    }

    fn headers(&self, watch: &CallWatch) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            OwnGateway::caller(),
            (CLIENT_HEADER, "cli".to_owned()),
        ];
        headers.extend(self.profile.map(|name| (PROFILE_HEADER, name.to_owned())));
        headers.extend(self.timeout.map(|timeout| ("x-timeout", timeout.to_string())));
        headers.extend(self.idempotency_key.map(|key| ("idempotency-key", key.to_owned())));
        headers.extend(watch.answers().map(|answers| ("x-switchboard-answers", answers)));
        headers
    }
}
