//! Makes spans and metrics of calls.

use std::{
    sync::{Arc, OnceLock, Weak, mpsc},
    thread,
    time::Duration,
};

use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::{metrics::SdkMeterProvider, trace::SpanProcessor};
use switchboard_runtime::{CallEnd, CallObserver, Span, ToolManager, Tracer};
use switchboard_toolcall::{CallId, TraceContext};

use crate::{
    Config, Error,
    export::Export,
    metrics::CallInstruments,
    sampling::Sampling,
    span::{self, SCOPE},
};

/// How long the final flush may take.
const GOODBYE: Duration = Duration::from_secs(3);

/// Tells OpenTelemetry of calls.
pub struct Telemetry {
    spans: Arc<dyn SpanProcessor>,
    meters: Option<SdkMeterProvider>,
    metrics: Option<CallInstruments>,
    sampling: Sampling,
    arguments: bool,
    /// What knows the servers.
    tools: OnceLock<Weak<ToolManager>>,
}

impl Telemetry {
    /// Creates the exporter, if the settings have an endpoint.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn new(config: &Config) -> Result<Option<Self>, Error> {
        // Invalid settings are reported even if nothing is sent.
        let sampling = Sampling::of(config.sample).ok_or(Error::Sample(config.sample))?;
        let Some(address) = &config.otlp else { return Ok(None) };
        let export = Export::new(address, config)?;
        Ok(Some(Self::through(export, sampling, config.arguments)))
    }

    pub(crate) fn through(export: Export, sampling: Sampling, arguments: bool) -> Self {
        let Export { spans, meters } = export;
        let meter = meters.as_ref().map(|meters| meters.meter_with_scope(SCOPE.clone()));
        let metrics = meter.as_ref().map(CallInstruments::new);
        let (spans, tools) = (spans.into(), OnceLock::new());
        Self { spans, meters, metrics, sampling, arguments, tools }
    }

    /// Learns of the servers: spans then name the protocol that a tool's server speaks.
    pub fn know(&self, tools: &Arc<ToolManager>) {
        // Set once: an executor has one collection of tools.
        let _ = self.tools.set(Arc::downgrade(tools));
    }

    /// Flushes, within a limited time. Later spans are dropped.
    pub fn close(&self) {
        let (spans, meters) = (self.spans.clone(), self.meters.clone());
        let (done, ended) = mpsc::channel();
        thread::spawn(move || {
            // Failures were logged already.
            let _ = spans.shutdown_with_timeout(GOODBYE);
            let _ = meters.map(|meters| meters.shutdown_with_timeout(GOODBYE));
            let _ = done.send(());
        });
        let _ = ended.recv_timeout(GOODBYE);
    }

    /// The revision of MCP that the server speaks.
    fn protocol(&self, server: &str) -> Option<String> {
        let servers = self.tools.get()?.upgrade()?.servers();
        let link = servers.into_iter().find(|known| *known.name == *server)?.link?;
        link.status()["protocol"].as_str().map(str::to_owned)
    }
}

impl CallObserver for Telemetry {
    fn ended(&self, end: &CallEnd<'_>) {
        let place = self.sampling.place(end.start.id, end.trace);
        if place.is_sampled() {
            let protocol = end.server.and_then(|server| self.protocol(server));
            self.spans.on_end(span::of_call(end, &place, protocol, self.arguments));
        }
        if let Some(metrics) = &self.metrics {
            metrics.call(end);
        }
    }
}

impl Tracer for Telemetry {
    fn context(&self, id: CallId, parent: Option<&TraceContext>) -> Arc<TraceContext> {
        Arc::new(self.sampling.place(id, parent))
    }

    fn span_ended(&self, span: &Span<'_>) {
        if span.context.is_sampled() {
            self.spans.on_end(span::of_work(span));
        }
        if let Some(metrics) = &self.metrics {
            metrics.work(span);
        }
    }
}

#[cfg(test)]
mod tests;
