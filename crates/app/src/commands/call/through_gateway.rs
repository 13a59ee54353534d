//! `switchboard call` through the running gateway, which runs the call as it does any other.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use anyhow::{anyhow, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use serde_json::{Map, Value, json};
use switchboard_access::CLIENT_HEADER;
use switchboard_toolcall::{
    Answer, CallId, Content, ErrorKind, Origin, Part, ToolError, ToolOutput, ToolResult, ToolSpec,
};
use tokio::{signal, time::Instant};

use super::{output, unknown};
use crate::{
    approvals::HeldCalls,
    arguments,
    cli::{CallArgs, Cli},
    own_gateway::{OwnGateway, path},
    runtime::on_runtime,
    settings::Loaded,
    terminal::{self, CommandFailed, is_watched, spinner},
};

pub(super) fn run(
    call: &CallArgs,
    cli: &Cli,
    loaded: &Loaded,
    gateway: &OwnGateway,
) -> anyhow::Result<ExitCode> {
    let calling = GatewayCall { call, gateway, asked: Instant::now() };
    // Wrong JSON is told before anything is asked.
    let early = match arguments::are_pairs(&call.arguments) {
        true => None,
        false => Some(arguments::read(&call.arguments, None, &mut io::stdin().lock())?),
    };
    on_runtime(async {
        let args = calling.arguments(early).await?;
        let mut held = HeldCalls::new(loaded);
        let work = calling.execute(&args, &mut held);
        let envelope = match is_watched(call.json) {
            true => spinner::watch(|| call.name.clone(), work).await?,
            false => work.await?,
        };
        calling.print(envelope, cli).await
    })
}

/// A call that the gateway runs.
struct GatewayCall<'a> {
    call: &'a CallArgs,
    gateway: &'a OwnGateway,
    /// When the command began.
    asked: Instant,
}

impl GatewayCall<'_> {
    /// The arguments; pairs are read by the tool's schema, and people are told of those that it does not have.
    async fn arguments(
        &self,
        early: Option<Map<String, Value>>,
    ) -> anyhow::Result<Map<String, Value>> {
        if early.is_some() && !io::stderr().is_terminal() {
            return Ok(early.unwrap_or_default());
        }
        let found = self.gateway.get(&format!("/api/tools/{}?wait=1", path(&self.call.name))).await;
        // What is to be said about the name, the executor says.
        let spec = found.ok().map(|tool| spec(&tool));
        let args = match early {
            Some(args) => args,
            None => {
                let schema = spec.as_ref().map(|spec| &spec.parameters);
                arguments::read(&self.call.arguments, schema, &mut io::stdin().lock())?
            }
        };
        if let Some(spec) = spec.filter(|_| io::stderr().is_terminal()) {
            unknown::tell(&spec, &args);
        }
        Ok(args)
    }

    /// Returns the envelope, or that of a call that is in the queue.
    async fn execute(
        &self,
        args: &Map<String, Value>,
        held: &mut HeldCalls,
    ) -> anyhow::Result<Value> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "text/event-stream".to_owned()),
            OwnGateway::caller(),
            (CLIENT_HEADER, "cli".to_owned()),
        ];
        headers.extend(self.call.timeout.map(|timeout| ("x-timeout", timeout.to_string())));
        headers.extend(self.call.idempotency_key.clone().map(|key| ("idempotency-key", key)));
        let wait = if self.call.no_wait { "wait=0" } else { "wait=1" };
        let target = format!("/api/tools/{}/call?{wait}&text=1", path(&self.call.name));
        let work = async {
            let body = serde_json::to_vec(args)?;
            let reply = self.gateway.send(Method::POST, &target, &headers, body).await?;
            if !reply.is_events() {
                return Ok(serde_json::from_slice(&reply.bytes().await?)?);
            }
            let mut events = reply.events();
            while let Some((name, event)) = events.next().await? {
                match name.as_str() {
                    "progress" => held.hear(event["message"].as_str().unwrap_or_default()),
                    "result" => return Ok(event),
                    _ => {}
                }
            }
            let name = &self.call.name;
            bail!(CommandFailed(format!("the gateway went away while it ran `{name}`")))
        };
        tokio::select! {
            biased;
            _ = signal::ctrl_c() => Ok(self.cancelled()),
            envelope = work => envelope,
        }
    }

    /// What is told of a call that Ctrl-C ended: dropping the connection has cancelled it at the gateway.
    fn cancelled(&self) -> Value {
        let (name, took) = (&self.call.name, self.asked.elapsed().as_secs_f64() * 1000.0);
        json!({
            "success": false, "error": format!("Tool '{name}' was cancelled"), "tool_name": name,
            "execution_time_ms": took, "error_kind": "cancelled",
        })
    }

    async fn print(&self, mut envelope: Value, cli: &Cli) -> anyhow::Result<ExitCode> {
        let call = self.call;
        if let Some(id) = envelope["call_id"].as_str().filter(|_| envelope.get("success").is_none())
        {
            terminal::print(&if call.json { envelope.to_string() } else { id.to_owned() })?;
            return Ok(ExitCode::SUCCESS);
        }
        let status = match envelope["success"] == true {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
        let text = envelope.as_object_mut().and_then(|envelope| envelope.shift_remove("text"));
        if call.json {
            terminal::print(&envelope.to_string())?;
            return Ok(status);
        }
        let text = text.and_then(|text| text.as_str().map(str::to_owned));
        let mut result = result(&envelope, text)?;
        if call.output.is_some() {
            self.add_binaries(&mut result).await?;
        }
        output::print(&result, call, cli)?;
        Ok(status)
    }

    /// Reads the binary content of the result, which envelopes have as artifacts.
    async fn add_binaries(&self, result: &mut ToolResult) -> anyhow::Result<()> {
        let mut parts = Vec::new();
        for artifact in result.artifacts.iter().filter(|artifact| artifact.kind != "text") {
            let target = format!("/api/artifacts/{}", path(&artifact.id));
            let reply = self.gateway.send(Method::GET, &target, &[], Vec::new()).await?;
            let data = BASE64_STANDARD.encode(reply.bytes().await?);
            let part = json!({"type": "image", "mimeType": artifact.media_type, "data": data});
            parts.extend(part.as_object().cloned().map(Part));
        }
        if let Ok(answer) = &mut result.outcome {
            let content = Content { parts, ..Content::default() };
            let shown = std::mem::replace(&mut answer.output, ToolOutput::Content(content));
            answer.shown = Some(shown);
        }
        Ok(())
    }
}

/// The tool as far as its arguments need it.
fn spec(tool: &Value) -> ToolSpec {
    let word = |key: &str| tool[key].as_str().unwrap_or_default();
    let mut spec = ToolSpec::new(word("name"), word("description"), tool["parameters"].clone());
    if let Some(server) = tool["server"].as_str() {
        spec.origin = Origin::Server { server: server.into(), tool: word("name").into() };
    }
    spec
}

/// The result that an envelope stands for.
fn result(envelope: &Value, text: Option<String>) -> anyhow::Result<ToolResult> {
    let word = |key: &str| envelope[key].as_str();
    let outcome = match envelope["success"] == true {
        true => {
            let output = ToolOutput::Value(envelope["result"].clone());
            Ok(Answer { output, shown: None, text })
        }
        false => {
            let kind = word("error_kind").and_then(|kind| kind.parse::<ErrorKind>().ok());
            let error = word("error").unwrap_or("the gateway refuses").to_owned();
            // A refusal of the request itself has no call.
            if envelope.get("tool_name").is_none() {
                return Err(anyhow!(CommandFailed(error)));
            }
            let error = ToolError::new(kind.unwrap_or(ErrorKind::ToolError), error);
            Err(match word("hint") {
                Some(hint) => error.with_hint(hint),
                None => error,
            })
        }
    };
    let took = envelope["execution_time_ms"].as_f64().unwrap_or(0.0) / 1000.0;
    Ok(ToolResult {
        call_id: word("call_id").and_then(CallId::parse).unwrap_or_else(CallId::generate),
        tool_call_id: String::new(),
        tool_name: word("tool_name").unwrap_or_default().into(),
        server: word("server").map(Into::into),
        elapsed: Duration::try_from_secs_f64(took).unwrap_or_default(),
        waited: Duration::ZERO,
        outcome,
        truncated: envelope["truncated"] == true,
        artifacts: serde_json::from_value(envelope["artifacts"].clone()).unwrap_or_default(),
        reused: None,
    })
}
