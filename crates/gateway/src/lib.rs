//! Tools for everybody who speaks HTTP: REST, chat completions, live events, metrics, health.
//!
//! [`Gateway::run`] serves; who may do what is settled in [`access`]; every call goes through the one executor.

pub mod config;
pub mod draining;
mod credential_stream;
mod gateway;
mod listen;
mod tls;
mod cors;
mod access_log;
mod framing;
mod admission;
mod privacy;
mod body_timeout;
mod metadata;
pub mod feed;
pub mod metrics;
mod rest;
mod console;
pub mod openai;
mod questions;
mod error;
pub mod sampling;
mod sse;
mod trace;

pub use config::Config;
pub use feed::Feed;
pub use gateway::{Gateway, Parts};
pub use metrics::Metrics;
pub use openai::Models;
pub use tls::{Tls, TlsConfig, TlsError};
