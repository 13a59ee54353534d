//! Converts an envelope of the gateway to a result, so that it is shown like one of this process.

use std::time::Duration;

use anyhow::bail;
use serde_json::{Map, Value};
use switchboard_toolcall::{
    BoundedOutput, CallId, Content, ErrorKind, ReuseReason, ToolError, ToolOutput, ToolResult,
};

use super::GatewayCallOutcome;
use crate::terminal::CommandFailed;

/// Reads what the gateway answered to a call.
///
/// # Errors
/// The request itself was refused, and there was no call.
pub(super) fn outcome(mut envelope: Map<String, Value>) -> anyhow::Result<GatewayCallOutcome> {
    let id = envelope.get("call_id").and_then(Value::as_str).and_then(CallId::parse);
    match (envelope.get("success").and_then(Value::as_bool), id) {
        (None, Some(id)) => {
            let state = envelope["state"].as_str().unwrap_or_default().to_owned();
            Ok(GatewayCallOutcome::Queued { id, state })
        }
        (Some(success), Some(call_id)) => {
            let outcome = match success {
                true => Ok(answer(&mut envelope)),
                false => Err(error(&envelope)),
            };
            Ok(GatewayCallOutcome::Ended(Box::new(result(&envelope, call_id, outcome))))
        }
        (_, None) => {
            let error = envelope.get("error").and_then(Value::as_str);
            bail!(CommandFailed(error.unwrap_or("the gateway refuses the call").to_owned()))
        }
    }
}

/// The result of a call that was cancelled before the gateway accepted it.
pub(super) fn cancelled(name: &str) -> ToolResult {
    let error = ToolError::new(ErrorKind::Cancelled, format!("Tool '{name}' was cancelled"));
    let envelope = Map::from_iter([("tool_name".to_owned(), Value::from(name))]);
    result(&envelope, CallId::generate(), Err(error))
}

fn answer(envelope: &mut Map<String, Value>) -> BoundedOutput {
    let shown = ToolOutput::Value(envelope.shift_remove("result").unwrap_or_default());
    let text = match envelope.shift_remove("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let content = match envelope.shift_remove("content") {
        Some(Value::Object(content)) => Content::from_object(content).ok(),
        _ => None,
    };
    match content {
        Some(content) => {
            BoundedOutput { output: ToolOutput::Content(content), for_programs: Some(shown), text }
        }
        None => BoundedOutput { output: shown, for_programs: None, text },
    }
}

fn error(envelope: &Map<String, Value>) -> ToolError {
    let word = |key: &str| envelope.get(key).and_then(Value::as_str);
    let kind = word("error_kind").and_then(|kind| kind.parse().ok());
    let error =
        ToolError::new(kind.unwrap_or(ErrorKind::ToolError), word("error").unwrap_or_default());
    match word("hint") {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn result(
    envelope: &Map<String, Value>,
    call_id: CallId,
    outcome: Result<BoundedOutput, ToolError>,
) -> ToolResult {
    let word = |key: &str| envelope.get(key).and_then(Value::as_str);
    let is_true = |key: &str| envelope.get(key) == Some(&Value::Bool(true));
    let time = |key: &str| {
        let milliseconds = envelope.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        // Envelopes give the duration as decimal milliseconds, exact to a nanosecond.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and no call takes centuries"
        )]
        Duration::from_nanos((milliseconds * 1e6).round() as u64)
    };
    let artifacts = envelope.get("artifacts").cloned().unwrap_or_default();
    let reused = [ReuseReason::Replayed, ReuseReason::Cached, ReuseReason::Shared];
    ToolResult {
        call_id,
        tool_call_id: String::new(),
        tool_name: word("tool_name").unwrap_or_default().into(),
        server: word("server").map(Into::into),
        elapsed: time("execution_time_ms"),
        waited: time("waited_ms"),
        outcome,
        truncated: is_true("truncated"),
        artifacts: serde_json::from_value(artifacts).unwrap_or_default(),
        reused: reused.into_iter().find(|reused| is_true(reused.code())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(envelope: Value) -> anyhow::Result<GatewayCallOutcome> {
        let Value::Object(envelope) = envelope else { panic!("{envelope}") };
        outcome(envelope)
    }

    // RS-1
    #[test]
    fn a_result_is_written_as_the_envelope_that_it_was_read_from() {
        let id = "01J00000000000000000000001";
        for envelope in [
            json!({"success": true, "result": {"a": 1.50}, "tool_name": "t", "execution_time_ms": 1.234567,
                "call_id": id, "replayed": true, "server": "s"}),
            json!({"success": true, "result": "cut", "tool_name": "t", "execution_time_ms": 0.1, "waited_ms": 2500.25,
                "call_id": id, "truncated": true,
                "artifacts": [{"id": "a", "kind": "text", "media_type": "text/plain", "size": 9}]}),
            json!({"success": false, "error": "no", "tool_name": "t", "execution_time_ms": 30000.000001,
                "call_id": id, "error_kind": "timeout", "hint": "wait"}),
        ] {
            let Ok(GatewayCallOutcome::Ended(result)) = read(envelope.clone()) else {
                panic!("{envelope}")
            };
            assert_eq!(serde_json::to_string(&result).unwrap(), envelope.to_string());
        }
    }

    #[test]
    fn content_text_and_refusals_are_read() {
        let id = "01J00000000000000000000001";
        let image = json!({"type": "image", "mimeType": "image/png", "data": "AA=="});
        let envelope = json!({"success": true, "result": {"content": []}, "tool_name": "t", "call_id": id,
            "text": "[image]", "content": {"content": [image], "isError": false}});
        let Ok(GatewayCallOutcome::Ended(result)) = read(envelope) else { panic!("not ended") };
        let answer = result.outcome.as_ref().unwrap();
        assert_eq!(answer.text(), "[image]");
        assert!(matches!(&answer.output, ToolOutput::Content(content) if content.parts.len() == 1));

        let queued = read(json!({"call_id": id, "state": "queued", "tool_name": "t"}));
        assert!(
            matches!(queued, Ok(GatewayCallOutcome::Queued { state, .. }) if state == "queued")
        );
        let refused = read(json!({"error": "too many headers"})).err().unwrap();
        assert_eq!(refused.to_string(), "too many headers");
        assert_eq!(cancelled("t").error_kind(), Some(ErrorKind::Cancelled));
    }
}
