//! The loop: ask the model, run its calls, ask again with their results, until there is an answer.
//!
//! [`Agent::run`] drives it and [`Conversation`] keeps what was said, always in a state that providers accept. How
//! models are spoken to is the models crate's, how calls are run is the runtime's.
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_agent::{Agent, Config, Conversation, AgentEvents};
//! use switchboard_models::Script;
//! use switchboard_runtime::ToolExecutor;
//! use switchboard_toolcall::CallContext;
//! # use serde_json::{Map, Value};
//! # use switchboard_toolcall::tool_fn;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let executor = ToolExecutor::default();
//! # let weather = tool_fn("weather", |_: Map<String, Value>, _: CallContext| async { "15 degrees" });
//! # executor.tools().add(weather.describe("Tells the weather."))?;
//! // A model that replays turns; `switchboard_models::connect` reaches a real one.
//! let model = Script::built_in("weather.json", r#"[
//!     {"tool_calls": [{"id": "1", "name": "weather", "args": {"city": "Bonn"}}]},
//!     {"expect": "15 degrees", "text": "It is 15 degrees in Bonn."}
//! ]"#)?;
//! let agent = Agent::new(Arc::new(model), executor, Config::default());
//! let mut conversation = Conversation::with_system("Be brief.");
//! conversation.say("How warm is it in Bonn?");
//! let events: AgentEvents = Arc::new(|event| println!("{event:?}"));
//! let outcome = agent.run(&mut conversation, &events, &CallContext::default()).await;
//! assert_eq!(outcome.answer.as_deref(), Some("It is 15 degrees in Bonn."));
//! # Ok(()) }
//! ```

mod agent;
pub mod chats;
mod runs;
mod recording;
mod conversation;
mod repair;
mod partial_turn;
mod run;
mod offered_tools;
mod searchable;
mod plan;
mod calls;
mod repeats;
mod trace;
mod event;
mod config;
mod fit;
mod answer_schema;
mod asking;

pub use agent::{Agent, AgentOutcome, RequestOptions, StopCause};
pub use answer_schema::{AnswerSchema, InvalidSchema};
pub use chats::{ChatError, ChatStore, SavedChat, Transcript};
pub use config::Config;
pub use conversation::Conversation;
pub use event::{AgentEvent, AgentEvents};
pub use fit::{ContextUsage, ShortenedPlace, ShortenedResult, SummarisedMessages};
pub use recording::RunRecording;
pub use runs::{
    ImageCounts, OfferedTools, RERUN, RequestClaim, RequestKey, Resumable, RunCosts, RunDetail,
    RunError, RunLimits, RunSettings, RunStart, RunState, RunStore, RunSummary, UnfinishedRun,
};

pub use switchboard_toolcall::ToolBudget;

/// The tool that reads what was shortened.
pub(crate) const READ_RESULT: &str = "read_result";
