//! The loop: ask the model, run its calls, ask again with their results, until there is an answer.
//!
//! [`Agent::run`] drives it and [`Conversation`] keeps what was said, always in a state that providers accept. How
//! models are spoken to is the models crate's, how calls are run is the runtime's.

pub mod agent;
pub mod conversation;
mod repair;
mod run;
mod plan;
mod calls;
mod repeats;
mod trace;
pub mod event;
pub mod config;

pub use agent::{Agent, Outcome, RequestOptions, StopCause};
pub use config::Config;
pub use conversation::Conversation;
pub use event::{Event, Events};
