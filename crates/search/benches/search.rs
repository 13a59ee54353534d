//! How long it takes to index and to search 10,000 tools, and how much memory that needs (`max alloc`).

use std::sync::LazyLock;

use divan::{AllocProfiler, Bencher, black_box};
use serde_json::Value;
use switchboard_search::{Index, ToolDocument};
use switchboard_toolcall::{ToolOrigin, ToolSpec};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

static TOOLS: LazyLock<Vec<ToolSpec>> = LazyLock::new(tools);

fn main() {
    // What is read on first use is not measured.
    LazyLock::force(&TOOLS);
    _ = Index::build(&documents()[..1]).search("warm");
    divan::main();
}

/// The tools of `recall/own`, again and again under other names.
fn tools() -> Vec<ToolSpec> {
    let lines = include_str!("../recall/own/tools.jsonl").lines().cycle().take(10_000);
    let tool = |(at, line): (usize, &str)| {
        let tool: Value = serde_json::from_str(line).expect("a tool as JSON");
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        let server = format!("{}{}", text("server"), at / 913);
        let name = format!("{server}__{}", text("name"));
        let mut spec = ToolSpec::new(name, text("description"), tool["parameters"].clone());
        spec.origin = ToolOrigin::Server { server: server.into(), tool: text("name").into() };
        spec
    };
    lines.enumerate().map(tool).collect()
}

fn documents() -> Vec<ToolDocument<'static>> {
    TOOLS.iter().map(|tool| ToolDocument::new(&tool.name, tool)).collect()
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn build(bencher: Bencher<'_, '_>) {
    let documents = documents();
    bencher.bench_local(|| Index::build(black_box(&documents)));
}

#[divan::bench(args = ["take a screenshot", "tell me which bugs are still open in the project and who is working on them"])]
fn search(bencher: Bencher<'_, '_>, query: &str) {
    let index = Index::build(&documents());
    bencher.bench_local(|| index.search(black_box(query)));
}
