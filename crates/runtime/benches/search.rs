//! How long `tool_search` takes among 10,000 tools: what a caller finds who sees all of them, and one who sees few.

use std::sync::{Arc, LazyLock};

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use switchboard_runtime::{
    ServerSettings, ToolExecutor, services,
    toolcall::{Tool, ToolPatterns, Visibility},
};
use switchboard_testkit::Fake;
use tokio::runtime::{Builder, Runtime};

const TOOLS: usize = 10_000;
const QUERIES: [&str; 2] = [
    "take a screenshot",
    "tell me which bugs are still open in the project and who is working on them",
];

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));
static EXECUTOR: LazyLock<ToolExecutor> = LazyLock::new(executor);

fn main() {
    divan::main();
}

/// The tools of `search/recall/own`, again and again under other names, and an index of them.
fn executor() -> ToolExecutor {
    let executor = ToolExecutor::default();
    for service in services::all(&executor) {
        executor.tools().add_shared(service).expect("its name is free");
    }
    let lines: Vec<_> = include_str!("../../search/recall/own/tools.jsonl").lines().collect();
    let own: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(line).expect("a tool as JSON")).collect();
    for number in 0..TOOLS.div_ceil(own.len()) {
        let tools = &own[..own.len().min(TOOLS - number * own.len())];
        for tools in tools.chunk_by(|one, other| one["server"] == other["server"]) {
            let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
            let server = format!("{}{number}", text(&tools[0], "server"));
            let fake = |tool: &Value| -> Arc<dyn Tool> {
                let fake = Fake::echoes(&text(tool, "name")).of_server(&server);
                let fake = fake.parameters(tool["parameters"].clone());
                fake.with(|spec| spec.description = text(tool, "description")).shared()
            };
            executor.tools().add_server(&server, ServerSettings::default()).expect("a new name");
            let tools = tools.iter().map(fake).collect();
            executor.tools().set_server_tools(&server, tools);
        }
    }
    RUNTIME.block_on(executor.tools().search("warm", 5, &[], &Visibility::default()));
    executor
}

/// A caller who sees the tools that these globs match.
fn seeing(globs: &[&str]) -> Visibility {
    let patterns = ToolPatterns::new(globs).expect("they are globs");
    Visibility::of_tools(move |name| patterns.matches(name))
}

fn search(bencher: Bencher<'_, '_>, query: &str, called: &[Arc<str>], visibility: &Visibility) {
    let tools = EXECUTOR.tools();
    bencher.bench_local(|| {
        RUNTIME.block_on(tools.search(black_box(query), 5, called, visibility)).len()
    });
}

#[divan::bench(args = QUERIES)]
fn all_visible(bencher: Bencher<'_, '_>, query: &str) {
    search(bencher, query, &[], &Visibility::default());
}

#[divan::bench(args = QUERIES)]
fn ten_globs_that_match_few(bencher: Bencher<'_, '_>, query: &str) {
    let globs = [
        "a__*",
        "b__*",
        "c__*",
        "d__*",
        "e__*",
        "f__*",
        "g__*",
        "h__*",
        "tavily3__*",
        "clickhouse3__*",
    ];
    search(bencher, query, &[], &seeing(&globs));
}

#[divan::bench(args = QUERIES)]
fn a_thousand_called_before(bencher: Bencher<'_, '_>, query: &str) {
    let all = EXECUTOR.tools().all();
    let called: Vec<_> = all.iter().step_by(10).map(|tool| tool.full_name().clone()).collect();
    search(bencher, query, &called, &Visibility::default());
}

/// The call of `tool_search` itself, with its record and result.
#[divan::bench(args = QUERIES)]
fn whole_call(bencher: Bencher<'_, '_>, query: &str) {
    let args = json!({"query": query});
    bencher.bench_local(|| RUNTIME.block_on(EXECUTOR.call("tool_search", args.clone())));
}
