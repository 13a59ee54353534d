//! Tools for everybody who speaks HTTP: REST, chat completions, live events, metrics, health.
//!
//! [`Gateway::run`] serves; [`switchboard_access`] authenticates and authorises; every call goes through the one
//! executor.
//!
//! ```
//! use std::sync::Arc;
//! use switchboard_access::{Access, Tokens};
//! use switchboard_gateway::{About, Config, Feed, Gateway, Metrics, Models, Parts};
//! use switchboard_runtime::ToolExecutor;
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//! let feed = Arc::new(Feed::new(Arc::new(Metrics::default())));
//! let executor = ToolExecutor::builder().observer(feed.clone()).build();
//! let config = Config::default();
//! let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json"))?);
//! let access = Access::new(&config.access(), address, tokens)?;
//! let mcp = switchboard_mcp_server::Server::new(executor.clone(), None, Default::default());
//! let (models, chats, config_state) = (Models::default(), Default::default(), Default::default());
//! let (store, tls, approvals, queue) = (None, None, None, None);
//! let gateway = Gateway::new(Parts { executor, mcp, servers: None, apis: None, feed, store, shared_records: None, access, tls, approvals, queue, models, chats, config_state, server_editor: None, rule_compiler: None, about: About::default(), config });
//! let stop = CancellationToken::new();
//! let running = tokio::spawn(gateway.run(listener, stop.clone()));
//!
//! # let _ = rustls::crypto::ring::default_provider().install_default();
//! # let client = reqwest::Client::builder().no_proxy().build()?;
//! // With any HTTP client:
//! let response = client.get(format!("http://{address}/healthz")).send().await?;
//! assert_eq!(response.status(), 200);
//! stop.cancel();
//! running.await?;
//! # Ok(()) }
//! ```

mod about;
mod config;
mod config_state;
mod policy_report;
mod rule_compiler;
mod server_editor;
mod draining;
mod gateway;
mod listen;
mod tls;
mod cors;
mod access_log;
mod admission;
mod privacy;
mod profile_view;
mod bodies;
mod json_body;
mod metadata;
mod feed;
mod metrics;
mod rest;
mod console;
mod oauth;
mod sign_in_page;
mod openai;
mod questions;
mod running_calls;
mod error;
pub mod sampling;
mod sse;
mod trace;

pub use about::{About, AboutGateway};
pub use config::Config;
pub use config_state::{ConfigRefusal, ConfigSnapshot, ConfigState};
pub use feed::Feed;
pub use gateway::{Gateway, Parts};
pub use metrics::Metrics;
pub use openai::Models;
pub use policy_report::{PolicyReport, RulingChange, policy_report};
pub use rule_compiler::{CandidateRules, RuleCompiler};
pub use server_editor::{AddedServer, EditError, NewServer, ServerEditor};
pub use tls::{Tls, TlsConfig, TlsError};
