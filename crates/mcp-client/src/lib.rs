//! Connects to servers, keeps them connected, and offers what they have.
//!
//! A [`Server`] is a task that keeps one connection alive (`supervise.rs`). To connect (`connect.rs`) takes a few attempts;
//! each (`attempt.rs`) opens a transport, finds out which era the server lives in (`negotiate.rs`), which is then
//! remembered (`known_protocols.rs`), and yields a [`Session`]. Its tools
//! become [`RemoteTool`]s and what else clients ask of it [`RemoteMethod`]s, which the executor runs like any other.

pub mod config;
pub mod servers;
pub mod server;
mod wish;
pub mod supervise;
pub mod stderr_log;
pub mod copies;
mod connect;
pub mod attempt;
mod known_protocols;
pub mod given_up;
pub mod negotiate;
pub mod session;
pub mod sent;
pub mod usage;
pub mod inbox;
pub mod under_way;
pub mod discover;
pub mod tool;
pub mod method;
mod watch;
mod request;
mod answered;
pub mod transport;
pub mod stdio;
pub mod http;
pub mod old_sse;

pub use config::{McpConfig, ServerConfig};
pub use given_up::GivenUp;
pub use inbox::{
    Answers, NoAnswers, NoRecipient, ServerRequest, cannot_be_asked, cannot_be_shown, may_be_asked,
    refusal,
};
pub use known_protocols::KnownProtocols;
pub use method::{Method, RemoteMethod};
pub use server::{Server, State, Surroundings};
pub use servers::{ConfigError, Servers};
pub use session::Session;
pub use stderr_log::{StderrLine, StderrLog};
pub use tool::RemoteTool;
