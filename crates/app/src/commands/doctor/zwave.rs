//! Whether the devices behind a `switchboard zwave` can be reached: the server itself starts without them.

use std::time::Duration;

use serde_json::{Map, Value};
use switchboard_toolcall::{
    CallContext, ErrorKind, HumanDuration, ToolCall, ToolOutput, ToolResult,
};

use crate::{
    assembly::App,
    own_gateway::{CallWatch, GatewayCall, GatewayCallOutcome, OwnGateway},
    settings::LoadedConfig,
    terminal::progress::ProgressLabel,
};

/// The tool of that server that says how the network is.
const TOOL: &str = "check_zwave_health";
/// How long the broker and the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Asks the server how its network is, and returns what it says in one line.
///
/// # Errors
/// The network cannot be used: the reason.
pub(super) async fn health(server: &str, app: &App) -> Result<Option<String>, String> {
    let name = format!("{server}{}{TOOL}", app.executor.tools().separator());
    let mut cx = CallContext::for_owner("command line").with_client("cli");
    cx.timeout = Some(PATIENCE);
    judge(&app.executor.execute(ToolCall::new(name, Map::new()), &cx).await)
}

/// As [`health`], of a server of the running gateway.
///
/// # Errors
/// As [`health`].
pub(super) async fn health_in_gateway(
    server: &str,
    gateway: &OwnGateway,
    loaded: &LoadedConfig,
) -> Result<Option<String>, String> {
    let name = format!("{server}{}{TOOL}", loaded.settings.executor.separator);
    let request = GatewayCall {
        name: &name,
        args: &Map::new(),
        timeout: Some(HumanDuration(PATIENCE)),
        idempotency_key: None,
        no_wait: false,
        whole: false,
        profile: None,
    };
    let mut watch = CallWatch::new(loaded, None, ProgressLabel::new(&name));
    match gateway.call(&request, &mut watch).await {
        Ok(GatewayCallOutcome::Ended(result)) => judge(&result),
        Ok(GatewayCallOutcome::Queued { .. }) => Ok(None),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn judge(result: &ToolResult) -> Result<Option<String>, String> {
    match &result.outcome {
        Ok(answer) => read(&answer.output),
        // If the policy denies the tool, there is no result to show.
        Err(error) if matches!(error.kind, ErrorKind::Denied | ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error.for_model.clone()),
    }
}

fn read(output: &ToolOutput) -> Result<Option<String>, String> {
    let said = match output {
        ToolOutput::Value(value) => value,
        ToolOutput::Content(content) => {
            content.fields.get("structuredContent").unwrap_or(&Value::Null)
        }
    };
    let Some(status) = said["status"].as_str() else { return Ok(None) };
    let error = said["error"].as_str().map(|error| format!(": {error}")).unwrap_or_default();
    let words = format!("Z-Wave is {status}{error}");
    if status == "unavailable" { Err(words) } else { Ok(Some(words)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_network_that_cannot_be_used_is_broken() {
        let check = |said: Value| read(&ToolOutput::Value(said));
        let down = json!({"status": "unavailable", "error": "the broker is away"});
        assert_eq!(check(down), Err("Z-Wave is unavailable: the broker is away".to_owned()));
        let degraded = json!({"status": "degraded", "nodes": {"dead": 1}});
        assert_eq!(check(degraded), Ok(Some("Z-Wave is degraded".to_owned())));
        assert_eq!(check(json!("well")), Ok(None));
    }
}
