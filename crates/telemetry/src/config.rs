//! The settings of telemetry.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The settings of `[telemetry]`.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The URL of an OTLP receiver over HTTP, such as `http://127.0.0.1:4318`; nothing is sent without one.
    pub otlp: Option<String>,
    /// Headers of each request, such as a key.
    pub headers: BTreeMap<String, String>,
    /// By which name the receiver knows us.
    pub service_name: Option<String>,
    /// Whether spans carry arguments, results and the texts of errors; secrets are redacted.
    pub arguments: bool,
    /// The share of traces to sample, from 0 to 1; for a caller's trace, the caller's decision applies.
    pub sample: f64,
    /// Whether metrics are sent too.
    pub metrics: bool,
    /// Whether the records of ended calls are sent too, as log records, from the journal.
    pub records: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            otlp: None,
            headers: BTreeMap::new(),
            service_name: None,
            arguments: false,
            sample: 1.0,
            metrics: true,
            records: false,
        }
    }
}
