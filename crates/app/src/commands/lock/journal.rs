//! The journal has who took what into the lock, and when (SPEC LK-2).

use anyhow::anyhow;
use serde_json::Value;
use switchboard_lock::StoreError;
use switchboard_toolcall::{CallContext, ErrorKind, ToolCall, ToolError, ToolOutput};

use crate::{assembly::App, runtime::on_runtime, settings::LoadedConfig};

/// Does `act`, and records it like a call of `action` with the arguments `args`.
///
/// # Errors
/// As `act`, or nothing can be recorded.
pub(in crate::commands) fn recorded<T>(
    loaded: &LoadedConfig,
    action: &str,
    args: &Value,
    act: impl FnOnce() -> Result<T, StoreError>,
) -> anyhow::Result<T> {
    let (app, problems) = App::try_build(loaded);
    let app = app.ok_or_else(|| anyhow!(problems.join("\n       ")))?;
    let action = ToolCall::new(action, args.as_object().cloned().unwrap_or_default());
    let cx = CallContext::for_owner("command line").with_client("cli");
    let mut outcome = None;
    let done = async {
        let done = outcome.insert(act());
        match done {
            Ok(_) => Ok(ToolOutput::Value(Value::Bool(true))),
            Err(error) => Err(ToolError::new(ErrorKind::Unavailable, error.to_string())),
        }
    };
    on_runtime(async { Ok(app.executor.record_action(action, &cx, done).await) })?;
    let outcome = outcome.ok_or_else(|| anyhow!("the journal does not take it"))?;
    Ok(outcome?)
}
