//! What one call costs: time and allocations, each part of the path and the whole.

use std::sync::Arc;

use divan::{AllocProfiler, Bencher, black_box, counter::ItemsCount};
use serde_json::{Map, Value, json};
use switchboard_runtime::{
    ToolExecutor, ToolManager, redact,
    toolcall::{
        BoxFuture, CallContext, Strictness, Tool, ToolCall, ToolError, ToolOutput, ToolSpec,
    },
    validate::SchemaCheck,
};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Answers at once with what was already there: all that is measured is ours.
struct Trivial(ToolSpec);

impl Trivial {
    fn named(name: String) -> Self {
        Self(ToolSpec::new(name, "Does next to nothing", typical_schema()))
    }
}

impl Tool for Trivial {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::Value(Value::Bool(true))) })
    }
}

fn typical_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]}
        },
        "required": ["city"],
        "additionalProperties": false
    })
}

fn typical_args() -> Map<String, Value> {
    match json!({"city": "Berlin", "days": 3, "unit": "celsius"}) {
        Value::Object(args) => args,
        _ => Map::new(),
    }
}

fn executor(tools: usize) -> ToolExecutor {
    let executor = ToolExecutor::default();
    for index in 0..tools {
        executor.tools().add(Trivial::named(format!("tool_{index}"))).expect("usable");
    }
    executor
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// How many calls a sample makes, one after another, within one task: entering a runtime is not the path.
const CALLS: u32 = 1000;

fn calls() -> Vec<ToolCall> {
    (0..CALLS).map(|_| ToolCall::new("tool_7", typical_args())).collect()
}

/// Validated calls of a trivial tool through the whole path, recorded in memory; a thousandth of it is one call,
/// and so is a thousandth of the allocations. What a caller brings, arguments and name, is made outside.
#[divan::bench(args = [20, 10_000], sample_count = 200)]
fn thousand_calls(bencher: Bencher<'_, '_>, tools: usize) {
    let (runtime, executor, cx) = (one_thread(), executor(tools), CallContext::default());
    bencher.counter(ItemsCount::new(CALLS)).with_inputs(calls).bench_local_values(|calls| {
        runtime.block_on(async {
            for call in calls {
                black_box(executor.execute(call, &cx).await);
            }
        });
    });
}

/// The same from within a task of tokio's many threads, as a server calls.
#[divan::bench(sample_count = 200)]
fn thousand_calls_on_many_threads(bencher: Bencher<'_, '_>) {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let executor = executor(20);
    bencher.counter(ItemsCount::new(CALLS)).with_inputs(calls).bench_local_values(|calls| {
        let executor = executor.clone();
        let work = async move {
            let cx = CallContext::default();
            for call in calls {
                black_box(executor.execute(call, &cx).await);
            }
        };
        runtime.block_on(async { tokio::spawn(work).await })
    });
}

/// What the runtime itself costs: a task that is spawned and awaited.
#[divan::bench]
fn bare_spawn(bencher: Bencher<'_, '_>) {
    let runtime = one_thread();
    bencher.bench_local(|| runtime.block_on(async { tokio::spawn(async { black_box(1) }).await }));
}

#[divan::bench(args = [20, 10_000])]
fn lookup(bencher: Bencher<'_, '_>, tools: usize) {
    let executor = executor(tools);
    let manager: &Arc<ToolManager> = executor.tools();
    bencher.bench_local(|| manager.lookup(black_box("tool_13")).is_ok());
}

#[divan::bench]
fn validate_typical(bencher: Bencher<'_, '_>) {
    let check = SchemaCheck::compile(&typical_schema(), Strictness::Lenient).expect("compiles");
    let args = Value::Object(typical_args());
    bencher.bench_local(|| check.accepts(black_box(&args)));
}

/// A hundred rows of ten fields each.
#[divan::bench]
fn validate_large(bencher: Bencher<'_, '_>) {
    let row: Map<String, Value> = (0..10).map(|n| (format!("field_{n}"), json!(n))).collect();
    let schema = json!({
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 0}
        }}}
    });
    let check = SchemaCheck::compile(&schema, Strictness::Lenient).expect("compiles");
    let args = json!({"rows": vec![row; 100]});
    bencher.bench_local(|| check.accepts(black_box(&args)));
}

/// A tool that answers a megabyte of text: cut, and the whole kept.
#[divan::bench]
fn shape_megabyte(bencher: Bencher<'_, '_>) {
    struct Long(ToolSpec, String);
    impl Tool for Long {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn call<'a>(
            &'a self,
            _args: Value,
            _cx: &'a CallContext,
        ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::Value(Value::String(self.1.clone()))) })
        }
    }
    let executor = ToolExecutor::default();
    let spec = ToolSpec::new("long", "Says much", json!({"type": "object"}));
    executor.tools().add(Long(spec, "é".repeat(500_000))).expect("usable");
    let (runtime, cx) = (one_thread(), CallContext::default());
    bencher
        .with_inputs(|| ToolCall::new("long", Map::new()))
        .bench_local_values(|call| runtime.block_on(executor.execute(call, &cx)));
}

/// A long text full of quotes, which any secret could hide in; letters that are not ASCII must not make it slow.
#[divan::bench(args = ["e", "é"])]
fn redact_long(bencher: Bencher<'_, '_>, letter: &str) {
    let text = format!("x\n\"{letter}").repeat(25_000);
    bencher.bench_local(|| redact::text(black_box(&text)).len());
}
