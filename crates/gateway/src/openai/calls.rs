//! Events about tool calls while the loop runs, for clients that ask for them.

use axum::response::sse::Event;
use serde_json::json;
use switchboard_agent::AgentEvent;

use crate::sse::named;

/// How many characters of a result are included.
const SHOWN: usize = 2000;

/// Returns the event about a call; `None` for other events.
pub(super) fn call_event(event: &AgentEvent) -> Option<Event> {
    Some(match event {
        AgentEvent::CallStarted { id, name, args } => {
            named("call_started", &json!({"id": id, "tool": name, "arguments": args}))
        }
        AgentEvent::Progress { id, update } => {
            let (progress, total, message) = (update.progress, update.total, &update.message);
            let json_event =
                json!({"id": id, "progress": progress, "total": total, "message": message});
            named("call_progress", &json_event)
        }
        AgentEvent::CallFinished { id, name, outcome, content, elapsed, call_id } => {
            let content: String = content.chars().take(SHOWN).collect();
            let json_event = json!({
                "id": id, "tool": name, "outcome": outcome, "content": content,
                "duration_ms": elapsed.as_nanos() as f64 / 1e6, "call_id": call_id,
            });
            named("call_ended", &json_event)
        }
        _ => return None,
    })
}
