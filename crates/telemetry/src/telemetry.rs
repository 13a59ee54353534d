//! A recorder that makes spans of calls.

use std::{
    sync::{Arc, OnceLock, Weak, mpsc},
    thread,
    time::Duration,
};

use opentelemetry::metrics::MeterProvider;
use opentelemetry_sdk::{metrics::SdkMeterProvider, trace::SpanProcessor};
use switchboard_runtime::{
    Approval, CallEnd, CallHeld, CallStart, Claim, Claimed, Closing, Opening, RecordedCall,
    Recorder, Span, ToolManager, Tracer,
};
use switchboard_toolcall::{BoxError, BoxFuture, CallId, TraceContext};

use crate::{
    Config, Error,
    export::Export,
    metrics::Metrics,
    place::Sampling,
    span::{self, SCOPE},
};

/// How long the end may take, for what has not been sent yet.
const GOODBYE: Duration = Duration::from_secs(3);

/// A recorder that tells OpenTelemetry of calls, and leaves the recording to another.
pub struct Telemetry {
    recorder: Arc<dyn Recorder>,
    spans: Arc<dyn SpanProcessor>,
    meters: Option<SdkMeterProvider>,
    metrics: Option<Metrics>,
    sampling: Sampling,
    arguments: bool,
    /// What knows the servers.
    tools: OnceLock<Weak<ToolManager>>,
}

impl Telemetry {
    /// Tells of the calls that `recorder` records, if the settings say whom.
    ///
    /// # Errors
    /// The settings cannot work.
    pub fn new(recorder: Arc<dyn Recorder>, config: &Config) -> Result<Option<Self>, Error> {
        // What is wrong is told even while nothing is sent.
        let sampling = Sampling::of(config.sample).ok_or(Error::Sample(config.sample))?;
        let Some(address) = &config.otlp else { return Ok(None) };
        let export = Export::new(address, config)?;
        Ok(Some(Self::through(export, recorder, sampling, config.arguments)))
    }

    pub(crate) fn through(
        export: Export,
        recorder: Arc<dyn Recorder>,
        sampling: Sampling,
        arguments: bool,
    ) -> Self {
        let Export { spans, meters } = export;
        let meter = meters.as_ref().map(|meters| meters.meter_with_scope(SCOPE.clone()));
        let metrics = meter.as_ref().map(Metrics::new);
        let (spans, tools) = (spans.into(), OnceLock::new());
        Self { recorder, spans, meters, metrics, sampling, arguments, tools }
    }

    /// Learns of the servers: spans then name the protocol that a tool's server speaks.
    pub fn know(&self, tools: &Arc<ToolManager>) {
        // Set once: an executor has one collection of tools.
        let _ = self.tools.set(Arc::downgrade(tools));
    }

    /// Sends what has not been sent yet, as far as that takes no longer than a moment. Later spans are dropped.
    pub fn close(&self) {
        let (spans, meters) = (self.spans.clone(), self.meters.clone());
        let (done, ended) = mpsc::channel();
        thread::spawn(move || {
            // Why something was not sent has been logged where it was noticed.
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

impl Recorder for Telemetry {
    fn open(&self, start: Arc<CallStart>) -> Opening<'_> {
        self.recorder.open(start)
    }

    fn close(&self, end: CallEnd<'_>) -> Closing<'_> {
        let place = self.sampling.place(end.start.id, end.trace);
        if place.is_sampled() {
            let protocol = end.server.and_then(|server| self.protocol(server));
            self.spans.on_end(span::of_call(&end, &place, protocol, self.arguments));
        }
        if let Some(metrics) = &self.metrics {
            metrics.call(&end);
        }
        self.recorder.close(end)
    }

    fn held(&self, held: &CallHeld<'_>) {
        self.recorder.held(held);
    }

    fn decided(&self, held: &CallHeld<'_>, approval: &Approval) {
        self.recorder.decided(held, approval);
    }

    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        self.recorder.recent(most)
    }

    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Claimed, BoxError>> {
        self.recorder.claim(claim)
    }

    fn release(&self, claim: &Claim) {
        self.recorder.release(claim);
    }

    fn tracer(&self) -> Option<&dyn Tracer> {
        Some(self)
    }
}

impl Tracer for Telemetry {
    fn place(&self, id: CallId, parent: Option<&TraceContext>) -> Arc<TraceContext> {
        Arc::new(self.sampling.place(id, parent))
    }

    fn ended(&self, span: &Span<'_>) {
        if span.place.is_sampled() {
            self.spans.on_end(span::of_work(span));
        }
        if let Some(metrics) = &self.metrics {
            metrics.work(span);
        }
    }
}

#[cfg(test)]
mod tests;
