//! Every action of the tool, cross-checked with what the mixer itself says.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_local::builtins::control_speaker_volume::{self, Config, MixerChoice};
use switchboard_toolcall::{CallContext, ErrorKind, Tool, ToolError};

use crate::session::Session;

pub(crate) fn tool(mixer: MixerChoice, session: &Session) -> Arc<dyn Tool> {
    let env = session.env();
    control_speaker_volume::tool(Config { mixer, env })
}

pub(crate) async fn call(tool: &Arc<dyn Tool>, args: Value) -> Result<Value, ToolError> {
    let output = tool.call(args, &CallContext::default()).await?;
    Ok(serde_json::from_str(&output.text()).unwrap())
}

/// Runs every action; `ask` tells volume and mute as another program sees them.
pub(crate) async fn every_action(
    tool: &Arc<dyn Tool>,
    name: &str,
    ask: impl AsyncFn() -> (u32, bool),
) {
    // LT-3
    let steps = [
        (json!({"action": "set", "level": 60}), 60, false),
        (json!({"action": "get"}), 60, false),
        (json!({"action": "up"}), 70, false),
        (json!({"action": "up", "amount": 5}), 75, false),
        (json!({"action": "down"}), 65, false),
        (json!({"action": "down", "amount": 64}), 1, false),
        (json!({"action": "down"}), 0, false),
        (json!({"action": "set", "level": 37.0}), 37, false),
        (json!({"action": "mute"}), 37, true),
        (json!({"action": "mute"}), 37, true),
        (json!({"action": "up"}), 47, true),
        (json!({"action": "unmute"}), 47, false),
        (json!({"action": "max"}), 100, false),
        (json!({"action": "up"}), 100, false),
        (json!({"action": "set", "level": 0}), 0, false),
    ];
    for (args, volume, muted) in steps {
        let answer = call(tool, args.clone()).await.unwrap();
        let expected = json!({"volume": volume, "muted": muted, "mixer": name});
        assert_eq!(answer, expected, "{args}");
        assert_eq!(ask().await, (volume, muted), "{args}, as another program sees it");
    }
    at_once(tool).await;
}

/// Steps made at the same time all count.
async fn at_once(tool: &Arc<dyn Tool>) {
    call(tool, json!({"action": "set", "level": 10})).await.unwrap();
    let step = || call(tool, json!({"action": "up", "amount": 7}));
    let (_, _, _, _) = tokio::join!(step(), step(), step(), step());
    let answer = call(tool, json!({"action": "get"})).await.unwrap();
    assert_eq!(answer["volume"], 38);
}

/// The tool has no mixer to work on, and says so.
pub(crate) async fn is_unavailable(tool: &Arc<dyn Tool>, reason: &str) {
    for action in ["get", "mute"] {
        let error = call(tool, json!({"action": action})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        let start = "Tool 'control_speaker_volume' is unavailable: no mixer answers (";
        assert!(error.for_model.starts_with(start), "{error}");
        assert!(error.for_model.contains(reason), "{error}");
    }
}
