//! `switchboard call` through the running gateway, which runs the call as it does any other.

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use serde_json::{Map, Value};
use switchboard_toolcall::{ToolOrigin, ToolSpec};

use super::{CallReport, queued::SubmittedCall, unknown};
use crate::{
    arguments,
    cli::CallArgs,
    own_gateway::{CallWatch, GatewayCall, GatewayCallOutcome, OwnGateway, path},
    questions::{self, Sampler},
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::{CommandFailed, is_watched, progress::ProgressLabel, spinner},
};

pub(super) fn run(
    call: &CallArgs,
    loaded: &Arc<LoadedConfig>,
    gateway: &OwnGateway,
) -> anyhow::Result<CallReport> {
    // Invalid JSON is reported before any request is sent.
    let early = match arguments::need_schema(&call.arguments) {
        true => None,
        false => Some(arguments::read(&call.arguments, None, &mut io::stdin().lock())?),
    };
    on_runtime(async {
        if call.profile.is_some() {
            // A tool of a profile may belong to any server, so the gateway cannot say which one to wait for.
            gateway.wait_for_servers(loaded, None).await?;
        }
        let args = arguments(call, gateway, early).await?;
        let label = ProgressLabel::new(&call.name);
        let channel = questions::here(Sampler::Usual(loaded.clone()));
        let mut watch = CallWatch::new(loaded, channel, label.clone());
        let request = GatewayCall {
            name: &call.name,
            args: &args,
            timeout: call.timeout,
            idempotency_key: call.idempotency_key.as_deref(),
            no_wait: call.no_wait,
            whole: false,
            profile: call.profile.as_deref(),
        };
        let work = gateway.call(&request, &mut watch);
        let outcome = match is_watched(call.json) {
            true => spinner::watch(|| label.text(), work).await?,
            false => work.await?,
        };
        Ok(match outcome {
            GatewayCallOutcome::Ended(result) => CallReport::Ended(result),
            GatewayCallOutcome::Queued { id, state } => {
                CallReport::Queued(SubmittedCall { id, state, name: call.name.clone() })
            }
        })
    })
}

/// Reads the arguments; pairs are typed by the tool's schema, and people are warned of names that it does not have.
async fn arguments(
    call: &CallArgs,
    gateway: &OwnGateway,
    early: Option<Map<String, Value>>,
) -> anyhow::Result<Map<String, Value>> {
    if let Some(args) = early.as_ref().filter(|_| !io::stderr().is_terminal()) {
        return Ok(args.clone());
    }
    let target = format!("/api/tools/{}?wait=1", path(&call.name));
    let found = gateway.get_in(call.profile.as_deref(), &target).await;
    // An unknown name is reported by the gateway's executor.
    let spec = match found {
        Ok(tool) => Some(spec(&tool)),
        Err(error) if error.is::<CommandFailed>() => None,
        Err(error) => return Err(error),
    };
    let args = match early {
        Some(args) => args,
        None => {
            let schema = spec.as_ref().map(|spec| &spec.parameters);
            arguments::read(&call.arguments, schema, &mut io::stdin().lock())?
        }
    };
    if let Some(spec) = spec.filter(|_| io::stderr().is_terminal()) {
        unknown::print_suggestion(&spec, &args);
    }
    Ok(args)
}

/// Returns a spec with the fields that reading arguments needs.
fn spec(tool: &Value) -> ToolSpec {
    let word = |key: &str| tool[key].as_str().unwrap_or_default();
    let mut spec = ToolSpec::new(word("name"), word("description"), tool["parameters"].clone());
    if let Some(server) = tool["server"].as_str() {
        spec.origin = ToolOrigin::Server { server: server.into(), tool: word("name").into() };
    }
    spec
}
