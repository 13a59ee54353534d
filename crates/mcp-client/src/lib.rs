//! Connects to servers, keeps them connected, and offers what they have.
//!
//! A [`Server`] is a task that keeps one connection alive (`supervise.rs`). Connecting (`connect.rs`) takes a few attempts;
//! each (`attempt.rs`) opens a transport, finds out which era the server speaks (`negotiate.rs`), which is then
//! remembered (`known_protocols.rs`), and yields a [`Session`]. Its tools
//! become [`RemoteTool`]s and its other methods [`RemoteMethod`]s, which the executor runs like any other tool.
//!
//! ```no_run
//! use serde_json::json;
//! use switchboard_mcp_client::{ServerConfig, ServerDeps, Servers};
//! use switchboard_runtime::ToolExecutor;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let executor = ToolExecutor::default();
//! let time: ServerConfig = serde_json::from_value(json!({"command": "uvx", "args": ["mcp-server-time"]}))?;
//! let deps = ServerDeps::new(executor.tools());
//! let servers = Servers::start([("time".to_owned(), time)].into_iter().collect(), executor.tools(), &deps)?;
//! servers.wait_until_ready().await;
//! let result = executor.call("time__get_current_time", json!({"timezone": "Europe/Berlin"})).await;
//! println!("{}", result.text());
//! servers.close().await;
//! # Ok(()) }
//! ```

mod config;
mod servers;
mod server;
mod desired_state;
mod supervise;
mod upstreams;
mod stderr_log;
mod session_servers;
mod user_servers;
mod caller_sign_in;
mod connect;
mod fallback;
mod attempt;
mod known_protocols;
mod server_failure;
mod start_advice;
mod negotiate;
mod session;
mod request_params;
mod inbox;
mod in_flight;
mod discover;
mod tool;
mod method;
mod lock_gate;
mod watch;
mod request;
mod required_pages;
mod tool_result;
mod transport;
mod stdio;
mod http;
mod old_sse;

pub use config::{
    AnnotationTrust, McpConfig, Protocol, ServerConfig, Share, Start, ToolConfig, TransportKind,
};
pub use fallback::GatewayRoute;
pub use http::{HttpConfig, HttpConfigError, HttpTransport, Proxies};
pub use in_flight::CallOrigin;
pub use known_protocols::KnownProtocols;
pub use method::RemoteMethod;
pub use old_sse::OldSseTransport;
pub use request_params::OutgoingParams;
pub use server::{LastError, Server, ServerDeps, ServerState};
pub use server_failure::ServerFailure;
pub use servers::{ConfigError, Servers, ServersUpdate};
pub use session::{OutgoingRequest, Session};
pub use stderr_log::{StderrLine, StderrLog};
pub use stdio::{StdioConfig, StdioTransport};
pub use switchboard_lock as lock;
pub use switchboard_oauth::{
    OauthDeps, ServerAuth, SignInPage, SignInPages, SignInStatus, principal_of,
};
pub use tool::RemoteTool;
pub use transport::{Failure, Inbox, SharedInbox, Transport, TransportRequest};
pub use user_servers::revoke_sign_ins;
