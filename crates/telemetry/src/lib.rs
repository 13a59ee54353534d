//! Spans, metrics and the records of calls for OpenTelemetry, sent over OTLP.
//!
//! [`Telemetry`] observes calls and makes a span of each. What a
//! span and a metric is called follows OpenTelemetry's conventions for generative AI and MCP. Sending happens in a
//! thread of its own; no call waits for it. [`RecordLog`] is where a journal is shipped to.
//!
//! ```no_run
//! use std::sync::Arc;
//! use switchboard_runtime::ToolExecutor;
//! use switchboard_telemetry::{Config, Telemetry};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { otlp: Some("http://127.0.0.1:4318".to_owned()), ..Default::default() };
//! let telemetry = Arc::new(Telemetry::new(&config)?.expect("`otlp` is set"));
//! let executor = ToolExecutor::builder().observer(telemetry.clone()).tracer(telemetry.clone()).build();
//! telemetry.know(executor.tools());
//! executor.call("weather", serde_json::json!({"city": "Bonn"})).await;
//! // Sends the spans that are still queued.
//! telemetry.close();
//! # Ok(()) }
//! ```

mod config;
mod error;
mod telemetry;
mod sampling;
mod span;
mod metrics;
mod export;
mod sender;
mod records;

pub use config::Config;
pub use error::Error;
pub use records::RecordLog;
pub use telemetry::Telemetry;
