//! Durations and tokens, as OpenTelemetry's conventions measure them.

use opentelemetry::{
    KeyValue,
    metrics::{Histogram, Meter},
};
use switchboard_runtime::{CallEnd, Span, SpanOperation};
use switchboard_toolcall::ErrorKind;

/// Upper bounds in seconds, as the conventions advise.
const SECONDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Upper bounds of tokens, as the conventions advise.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// The instruments.
pub(crate) struct CallInstruments {
    calls: Histogram<f64>,
    turns: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl CallInstruments {
    pub(crate) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, help: &'static str| {
            let histogram = meter.f64_histogram(name).with_description(help).with_unit("s");
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        Self {
            calls: seconds("gen_ai.execute_tool.duration", "How long tool calls took"),
            turns: seconds("gen_ai.client.operation.duration", "How long turns of models took"),
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_description("How many tokens turns of models took")
                .with_unit("{token}")
                .with_boundaries(TOKENS.to_vec())
                .build(),
        }
    }

    pub(crate) fn call(&self, end: &CallEnd<'_>) {
        let mut attributes = vec![KeyValue::new("gen_ai.operation.name", "execute_tool")];
        // Names that a model made up must not fill anybody's memory.
        if let Some(tool) = end.tool {
            attributes.push(KeyValue::new("gen_ai.tool.name", tool.to_string()));
        }
        if let Some(error) = end.error_kind.map(ErrorKind::code) {
            attributes.push(KeyValue::new("error.type", error));
        }
        self.calls.record(end.duration.as_secs_f64(), &attributes);
    }

    pub(crate) fn work(&self, span: &Span<'_>) {
        if span.work != SpanOperation::Turn {
            return;
        }
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", span.provider.to_owned()),
            KeyValue::new("gen_ai.request.model", span.model.to_owned()),
        ];
        if span.error.is_none() {
            let counts = [("input", span.input_tokens), ("output", span.output_tokens)];
            for (kind, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                let kind = KeyValue::new("gen_ai.token.type", kind);
                self.tokens.record(count, &[&attributes[..], &[kind]].concat());
            }
        }
        let error = span.error.map(|error| KeyValue::new("error.type", error.to_owned()));
        attributes.extend(error);
        self.turns.record(span.duration.as_secs_f64(), &attributes);
    }
}
