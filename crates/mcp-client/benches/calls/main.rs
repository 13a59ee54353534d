//! What one `tools/call` costs: an echo of 200 bytes over stdio and streamable HTTP, one call at a time.
//!
//! Ours beside the raw JSON-RPC client and rmcp's, in one run, in turn. The server and the other two clients are those of
//! the folder `benches`:
//!
//! ```sh
//! cargo build --release -p switchboard-bench
//! cargo bench -p switchboard-mcp-client --bench calls
//! ```
//!
//! A closed loop in a runtime of one thread, as the other clients run; times are medians, in microseconds. On a busy
//! machine only the ratios mean something. docs/performance.md has what came of it.

#![expect(clippy::unwrap_used, reason = "a benchmark that fails may panic")]

mod fixture;
mod ours;
mod others;

use std::collections::BTreeMap;

use fixture::{Fixture, Way};
use ours::Ours;
use switchboard_mcp_client::Protocol;
use tokio::runtime::Builder;

/// How often everything is measured; the median of the rounds is shown.
const ROUNDS: usize = 5;
/// How many calls each client makes in a round, after those that warm it up.
const CALLS: usize = 5_000;
const WARM: usize = 500;

fn main() {
    // `cargo test --benches` only wants to know that it can be started.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for way in [Way::Stdio, Way::Http] {
            compare(way).await;
        }
        scale().await;
    });
}

/// All clients against one fixture, in turn. The raw client speaks as of old, so ours is measured so, too.
async fn compare(way: Way) {
    let fixture = Fixture::start(way, 0).await;
    let old = Ours::connect(&fixture, Protocol::Legacy).await;
    let new = Ours::connect(&fixture, Protocol::Modern).await;
    let mut rows = [
        ("raw JSON-RPC", Vec::new()),
        ("rmcp's client", Vec::new()),
        ("our client", Vec::new()),
        ("our executor", Vec::new()),
        ("our client, 2026-07-28", Vec::new()),
        ("our executor, 2026-07-28", Vec::new()),
    ];
    for _ in 0..ROUNDS {
        let round = [
            others::raw(&fixture).await,
            others::rmcp(&fixture).await,
            old.client(CALLS).await,
            old.executor(CALLS).await,
            new.client(CALLS).await,
            new.executor(CALLS).await,
        ];
        for ((_, measured), micros) in rows.iter_mut().zip(round) {
            measured.push(micros);
        }
    }
    println!("{}, one echo of 200 bytes:", fixture.name());
    let raw = rows[0].1.clone();
    for (client, measured) in rows {
        let (middle, best) = (median(&measured), lowest(&measured));
        let (to_middle, to_best) = (middle / median(&raw), best / lowest(&raw));
        println!(
            "  {client:<24} {middle:>4.0} µs, {to_middle:.2} × raw (best rounds: {best:>4.0} µs, {to_best:.2} ×)"
        );
    }
    old.close().await;
    new.close().await;
}

/// A server with 1,004 tools beside one with four.
async fn scale() {
    for way in [Way::Stdio, Way::Http] {
        let (few, many) = (Fixture::start(way, 0).await, Fixture::start(way, 1000).await);
        let mut measured: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for _ in 0..ROUNDS {
            for (fixture, tools) in [(&few, 4), (&many, 1004)] {
                let ours = Ours::connect(fixture, Protocol::Auto).await;
                let mut note = |what: &str, micros| {
                    measured.entry(format!("{what} {tools:>4} tools")).or_default().push(micros);
                };
                note("connected with", ours.connecting.as_secs_f64() * 1e6);
                note("a call among", ours.executor(CALLS / 5).await);
                ours.close().await;
            }
        }
        println!("{}, many tools:", few.name());
        for (what, rounds) in &measured {
            println!("  {what} {:>8.0} µs", median(rounds));
        }
    }
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
