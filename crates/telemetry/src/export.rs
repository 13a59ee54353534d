//! From the settings to something that sends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Uri};
use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanProcessor},
};

use crate::{Config, Error, sender::Sender};

/// How long a span may wait for others to be sent with.
const GATHER: Duration = Duration::from_secs(2);
/// How often metrics are sent.
const EVERY: Duration = Duration::from_secs(30);
/// How many spans wait at most; more are dropped rather than waited for.
const MOST_SPANS: usize = 8192;

/// Exports spans, and metrics if they are enabled.
pub(crate) struct Export {
    pub(crate) spans: Box<dyn SpanProcessor>,
    pub(crate) meters: Option<SdkMeterProvider>,
}

impl Export {
    /// Prepares to send to `address`. Nothing is connected before there is something to send.
    pub(crate) fn new(address: &str, config: &Config) -> Result<Self, Error> {
        let address = checked(address)?;
        let headers = headers(config)?;
        let sender = Arc::new(Sender::new(address.clone())?);
        let resource = resource(config);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{address}/v1/traces"))
            .with_headers(headers.clone())
            .with_shared_http_client(sender.clone())
            .build()?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MOST_SPANS)
            .with_scheduled_delay(GATHER)
            .build();
        let mut spans = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        spans.set_resource(&resource);
        let meters = match config.metrics {
            true => {
                let exporter = MetricExporter::builder()
                    .with_http()
                    .with_protocol(Protocol::HttpBinary)
                    .with_endpoint(format!("{address}/v1/metrics"))
                    .with_headers(headers)
                    .with_shared_http_client(sender)
                    .build()?;
                let reader = PeriodicReader::builder(exporter).with_interval(EVERY).build();
                let meters = SdkMeterProvider::builder().with_resource(resource);
                Some(meters.with_reader(reader).build())
            }
            false => None,
        };
        Ok(Self { spans: Box::new(spans), meters })
    }
}

/// Returns the address without a slash at its end.
pub(crate) fn checked(address: &str) -> Result<String, Error> {
    let wrong = || Error::Address(address.to_owned());
    let uri: Uri = address.parse().map_err(|_| wrong())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    match is_http && uri.host().is_some() && uri.query().is_none() {
        true => Ok(address.trim_end_matches('/').to_owned()),
        false => Err(wrong()),
    }
}

pub(crate) fn headers(config: &Config) -> Result<HashMap<String, String>, Error> {
    for (name, value) in &config.headers {
        let is_name = HeaderName::try_from(name).is_ok();
        if !is_name || HeaderValue::try_from(value).is_err() {
            return Err(Error::Header(name.clone()));
        }
    }
    Ok(config.headers.clone().into_iter().collect())
}

pub(crate) fn resource(config: &Config) -> Resource {
    let name = config.service_name.as_deref().unwrap_or("switchboard").to_owned();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    Resource::builder().with_service_name(name).with_attribute(version).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(config: &Config, address: &str) -> Option<String> {
        Export::new(address, config).err().map(|error| error.to_string())
    }

    #[test]
    fn settings_that_cannot_work_are_told() {
        let fine = Config::default();
        assert_eq!(problem(&fine, "http://127.0.0.1:4318/"), None);
        for wrong in ["", "127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://x/?a=b", "http://"] {
            let told = problem(&fine, wrong).unwrap_or_default();
            assert!(told.starts_with("`otlp` must be an address"), "{wrong:?}: {told}");
        }
        let headers = [("x-key", "line\nbreak"), ("a b", "fine")];
        for (name, value) in headers {
            let pair = (name.to_owned(), value.to_owned());
            let config = Config { headers: [pair].into(), ..Config::default() };
            let told = problem(&config, "http://127.0.0.1:4318").unwrap_or_default();
            assert_eq!(told, format!("`headers`: `{name}` cannot be sent as a header"));
        }
    }
}
