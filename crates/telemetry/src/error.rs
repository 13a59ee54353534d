//! Why telemetry cannot be sent.

use opentelemetry_otlp::ExporterBuildError;

/// The settings are invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is invalid.
    #[error("`otlp` must be an address such as http://127.0.0.1:4318, not `{0}`")]
    Address(String),
    /// A header cannot be sent; its value may be a secret and is not shown.
    #[error("`headers`: `{0}` cannot be sent as a header")]
    Header(String),
    /// The share is not between 0 and 1.
    #[error("`sample` must be a number from 0 to 1, not {0}")]
    Sample(f64),
    /// The exporter does not take the settings.
    #[error("failed to prepare for OTLP")]
    Exporter(#[from] ExporterBuildError),
    /// There is no runtime to send with.
    #[error("failed to start what sends telemetry")]
    Runtime(#[from] std::io::Error),
}
