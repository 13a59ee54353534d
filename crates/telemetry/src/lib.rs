//! Spans and metrics for OpenTelemetry, sent over OTLP.
//!
//! [`Telemetry`] observes calls and makes a span of each. What a
//! span and a metric is called follows OpenTelemetry's conventions for generative AI and MCP. Sending happens in a
//! thread of its own; no call waits for it.

pub mod config;
pub mod error;
pub mod telemetry;
mod sampling;
mod span;
mod metrics;
mod export;
mod sender;

pub use config::Config;
pub use error::Error;
pub use telemetry::Telemetry;
