//! What the tools do while the loop runs, as events of their own for clients that ask for them.

use axum::response::sse::Event;
use serde_json::json;
use switchboard_agent::Event as Happened;

use crate::sse::named;

/// How many characters of what the model reads are told.
const SHOWN: usize = 2000;

/// The event that tells of this; none where it is not about a call.
pub(super) fn told(happened: &Happened) -> Option<Event> {
    Some(match happened {
        Happened::CallStarted { id, name, args } => {
            named("call_started", &json!({"id": id, "tool": name, "arguments": args}))
        }
        Happened::Progress { id, update } => {
            let (progress, total, message) = (update.progress, update.total, &update.message);
            let told = json!({"id": id, "progress": progress, "total": total, "message": message});
            named("call_progress", &told)
        }
        Happened::CallFinished { id, name, outcome, content, elapsed, call_id } => {
            let content: String = content.chars().take(SHOWN).collect();
            let told = json!({
                "id": id, "tool": name, "outcome": outcome, "content": content,
                "duration_ms": elapsed.as_nanos() as f64 / 1e6, "call_id": call_id,
            });
            named("call_ended", &told)
        }
        _ => return None,
    })
}
