//! What happens while the loop runs, for those who watch.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use switchboard_models::Usage;
use switchboard_toolcall::{CallId, ProgressUpdate};

/// Receives events. Must not block: runs within the turn.
pub type AgentEvents = Arc<dyn Fn(AgentEvent) + Send + Sync>;

/// Something that happened. Each call that starts also finishes, unless [`Agent::run`](crate::Agent::run) is dropped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AgentEvent {
    /// More of the model's text.
    Text(String),
    /// More of the model's thoughts.
    Reasoning(String),
    /// The model has begun to write a call of this tool.
    CallSeen {
        /// The tool's name.
        name: String,
    },
    /// The provider could not answer; it is asked again.
    Retry {
        /// The text.
        reason: String,
        /// How long we wait.
        after: Duration,
    },
    /// Something the user should know.
    Warning(String),
    /// A call starts.
    CallStarted {
        /// The call's id in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments; empty if the model's could not be parsed.
        args: Map<String, Value>,
    },
    /// A call started.
    Progress {
        /// The call's id in the conversation.
        id: String,
        /// How far it is.
        update: ProgressUpdate,
    },
    /// A call has ended, in whatever way.
    CallFinished {
        /// The call's id in the conversation.
        id: String,
        /// The tool's name.
        name: String,
        /// `ok`, or the code of the failure.
        outcome: &'static str,
        /// The text that the model will read.
        content: String,
        /// How long it took.
        elapsed: Duration,
        /// The id of the execution, as in its record; `None` if the call did not run.
        call_id: Option<CallId>,
    },
    /// A turn of the model is complete (ML-7).
    Turn {
        /// The tokens used.
        usage: Usage,
        /// What all turns of this run cost so far.
        total: Usage,
    },
}

impl AgentEvent {
    /// Converts an event of a model's client. Returns `None` for usage, which is reported once, with the whole turn.
    pub(crate) fn of_model(event: switchboard_models::ModelEvent) -> Option<Self> {
        use switchboard_models::ModelEvent as Model;
        Some(match event {
            Model::Text(text) => Self::Text(text),
            Model::Reasoning(text) => Self::Reasoning(text),
            Model::CallSeen { name } => Self::CallSeen { name },
            Model::Retry { reason, after } => Self::Retry { reason, after },
            Model::Warning(text) => Self::Warning(text),
            // Usage, and what later versions may add.
            _ => return None,
        })
    }
}
