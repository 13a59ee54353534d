//! Telemetry as the settings and OpenTelemetry's own variables say.

use std::sync::Arc;

use switchboard_runtime::{ExecutorBuilder, ToolManager};
use switchboard_telemetry::{Config, Error, RecordLog, Telemetry};
use switchboard_toolcall::text;

use crate::environment;

/// Exports telemetry; flushes on drop.
pub(crate) struct TelemetryExport(Arc<Telemetry>);

impl TelemetryExport {
    /// Starts telemetry as the settings say. Returns `None` if they name no endpoint.
    ///
    /// # Errors
    /// The settings are invalid.
    pub(crate) fn new(config: &Config) -> Result<Option<Self>, Error> {
        let telemetry = Telemetry::new(&with_environment(config))?;
        Ok(telemetry.map(|telemetry| Self(Arc::new(telemetry))))
    }

    /// Observes and traces the calls of an executor.
    pub(crate) fn install(&self, executor: ExecutorBuilder) -> ExecutorBuilder {
        executor.observer(self.0.clone()).tracer(self.0.clone())
    }

    /// Observes the servers.
    pub(crate) fn know(&self, tools: &Arc<ToolManager>) {
        self.0.know(tools);
    }
}

impl Drop for TelemetryExport {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Returns the log store that receives records; `None` if the settings name none.
///
/// # Errors
/// The settings are invalid.
pub(crate) fn record_log(config: &Config) -> Result<Option<RecordLog>, Error> {
    RecordLog::new(&with_environment(config))
}

fn with_environment(config: &Config) -> Config {
    completed(config.clone(), &|name| environment::variable(name).ok())
}

/// Returns the settings, completed from the environment.
fn completed(mut config: Config, variable: &dyn Fn(&str) -> Option<String>) -> Config {
    let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        config.otlp = None;
        return config;
    }
    config.otlp = config.otlp.or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
    config.service_name = config.service_name.or_else(|| variable("OTEL_SERVICE_NAME"));
    if config.headers.is_empty() {
        let headers = variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        config.headers = headers.split(',').filter_map(header).collect();
    }
    config
}

/// One header of `name=value,name=value`, the value percent-encoded.
fn header(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let value = text::percent_decoded_strictly(value.trim())?;
    Some((name.trim().to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIABLES: [(&str, &str); 3] = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ("OTEL_SERVICE_NAME", "house"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc, x-tenant=7,broken,x=%zz"),
    ];

    fn read(config: Config, more: &[(&str, &str)]) -> Config {
        completed(config, &|name| {
            let found = VARIABLES.iter().chain(more).find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_fills_in_what_the_config_leaves_out() {
        let config = read(Config::default(), &[]);
        assert_eq!(config.otlp.as_deref(), Some("http://collector:4318"));
        assert_eq!(config.service_name.as_deref(), Some("house"));
        let headers: Vec<_> = config.headers.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(headers, [("authorization", "Bearer abc"), ("x-tenant", "7")]);
    }

    #[test]
    fn the_config_comes_first() {
        let own = Config {
            otlp: Some("http://here:4318".to_owned()),
            service_name: Some("mine".to_owned()),
            headers: [("x".to_owned(), "y".to_owned())].into(),
            ..Config::default()
        };
        let config = read(own.clone(), &[]);
        assert_eq!(
            (config.otlp, config.service_name),
            (own.otlp.clone(), own.service_name.clone())
        );
        assert_eq!(config.headers, own.headers);
        assert_eq!(read(own, &[("OTEL_SDK_DISABLED", "true")]).otlp, None);
    }
}
