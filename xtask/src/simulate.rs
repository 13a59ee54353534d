//! Simulates a fleet: many workers and gateways on this machine, with three real NATS servers (`crates/workers/benches/fleet`).

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::{parts, shell::Run};

/// What is simulated.
#[derive(Args)]
pub(crate) struct SimulateOptions {
    /// How many workers, at most 10,000; each needs a connection here and at NATS
    #[arg(long, default_value_t = 100)]
    workers: usize,
    /// How many gateways, at most 100
    #[arg(long, default_value_t = 5)]
    gateways: usize,
    /// How many groups the workers are of
    #[arg(long, default_value_t = 10)]
    groups: usize,
    /// How many of the groups each gateway uses, as with `[cluster] groups`; by default all
    #[arg(long, default_value_t = 0)]
    own_groups: usize,
}

/// Prints what each role sends, receives and computes, and how soon gateways know of changes.
pub(crate) fn run(options: &SimulateOptions) -> Result<()> {
    let nats = parts::install_one("parts/nats")?;
    let parts =
        nats.parent().and_then(Path::to_str).context("the path of the repository is not UTF-8")?;
    let numbers = [options.workers, options.gateways, options.groups, options.own_groups]
        .map(|number| number.to_string());
    let [workers, gateways, groups, own_groups] = numbers.each_ref().map(String::as_str);
    Run::cargo([
        "bench",
        "-p",
        "switchboard-workers",
        "--features",
        "real-parts",
        "--bench",
        "fleet",
        "--",
        "--workers",
        workers,
        "--gateways",
        gateways,
        "--groups",
        groups,
        "--own-groups",
        own_groups,
    ])
    .environment("SWITCHBOARD_PARTS", parts)
    .stream()
}
