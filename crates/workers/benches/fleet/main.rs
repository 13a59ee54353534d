//! A fleet on one machine: many workers in one process and many gateways in another, each with its own connection to three
//! NATS servers, speaking the real protocol. Prints what each role sends, receives and computes, and how soon gateways know of
//! changes.
//!
//! `cargo xtask simulate --workers 1000 --gateways 20` runs it. It ends by itself.

#![expect(clippy::unwrap_used, reason = "a bench that fails may panic")]

mod child;
mod gateways;
mod processor;
mod workers;

use std::{path::PathBuf, time::Duration};

use child::Child;
use processor::ProcessorTime;
use switchboard_testkit::Nats;
use tokio::time::{Instant, sleep};

/// How long nothing happens, while it is measured what that costs.
const QUIET: Duration = Duration::from_secs(20);

/// How long it takes until messages of an earlier step have passed.
const SETTLED: Duration = Duration::from_secs(15);

/// How long workers that die may stay known, however many there are: five seconds, and what it takes to end them on a busy machine.
const GONE: Duration = Duration::from_millis(5_500);

/// How long it may take until all know who joined, left or was replaced.
const JOINED: Duration = Duration::from_secs(20);

/// How many messages a gateway may receive each second while nothing happens, however many workers there are.
const QUIET_MESSAGES: f64 = 3.0;

/// What is simulated.
struct Fleet {
    workers: usize,
    gateways: usize,
    groups: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match words.first().map(String::as_str) {
        Some("be-workers") => runtime.block_on(workers::run(&words[1], &words[2])),
        Some("be-gateways") => runtime.block_on(gateways::run(&words[1], &words[2])),
        _ => runtime.block_on(measure(Fleet::read(&words))),
    }
}

impl Fleet {
    fn read(words: &[String]) -> Self {
        let number = |name: &str, default: usize| {
            let place = words.iter().position(|word| word == name);
            place.map_or(default, |place| words[place + 1].parse().unwrap())
        };
        Self {
            workers: number("--workers", 100).min(10_000),
            gateways: number("--gateways", 5).min(100),
            groups: number("--groups", 10),
        }
    }
}

async fn measure(fleet: Fleet) {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS says where `cargo xtask parts` put NATS");
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::three(&parts, folder.path());
    let url = nats.each_ref().map(Nats::url).join(",");
    let mut workers = Child::start("be-workers", &url, fleet.groups);
    let mut gateways = Child::start("be-gateways", &url, fleet.gateways);
    println!(
        "{} workers in {} groups, {} gateways, three NATS servers",
        fleet.workers, fleet.groups, fleet.gateways
    );
    let part = (fleet.workers / 10).max(1);
    let mut there = fleet.workers;
    let began = Instant::now();
    workers.tell(&format!("join {there}"));
    gateways.tell(&format!("know {there}"));
    println!("all are known after {:.1} s", began.elapsed().as_secs_f64());
    sleep(SETTLED).await;
    quiet(&fleet, &mut workers, &mut gateways).await;

    gateways.tell("load on");
    let mut steps = Vec::new();
    for (what, change) in
        [("leave", 0), ("join", part), ("die", 0), ("join", part), ("upgrade", part)]
    {
        there = there - if what == "join" { 0 } else { part } + change;
        let before = gateways.traffic();
        let began = Instant::now();
        workers.tell(&format!("{what} {part}"));
        let changed = Instant::now();
        gateways.tell(&format!("know {there}"));
        let known = if what == "die" { began } else { changed };
        sleep(SETTLED).await;
        let got = gateways.traffic().since(&before).received / fleet.gateways as u64;
        let known_after = known.elapsed() - SETTLED;
        let most = if what == "die" { GONE } else { JOINED };
        assert!(known_after <= most, "{what}: known after {known_after:.1?}");
        steps.push((what, known_after, got));
    }
    println!(
        "\n| {part} workers … under load | known to all gateways after | messages to each gateway, calls' replies included |\n|---|---|---|"
    );
    for (what, known, got) in steps {
        println!("| {what} | {:.1} s | {got} |", known.as_secs_f64());
    }
    let outcomes = gateways.ask("load off");
    println!("\ncalls meanwhile: {outcomes}");
    // Those of a worker that died may have run or not; nothing else may fail.
    for (outcome, _) in outcomes.split(", ").filter_map(|outcome| outcome.split_once(':')) {
        let outcome = outcome.trim_matches(['{', '"']);
        assert!(["ok", "outcome_unknown", "unavailable"].contains(&outcome), "{outcomes}");
    }
}

/// Prints what it costs that nothing happens.
async fn quiet(fleet: &Fleet, workers: &mut Child, gateways: &mut Child) {
    let processor = |workers: &Child, gateways: &Child| {
        [processor::of_servers(), processor::of(workers.id()), processor::of(gateways.id())]
    };
    let before = (workers.traffic(), gateways.traffic(), processor(workers, gateways));
    sleep(QUIET).await;
    let after = (workers.traffic(), gateways.traffic(), processor(workers, gateways));
    let seconds = QUIET.as_secs_f64();
    println!(
        "\n| when nothing happens, each second | sent by each | received by each | processor, all |\n|---|---|---|---|"
    );
    let row = |name: &str, traffic: child::Traffic, number: usize, used: ProcessorTime| {
        let each = |value: u64| value as f64 / seconds / number as f64;
        println!(
            "| {name} | {:.2} messages, {:.0} bytes | {:.2} messages, {:.0} bytes | {:.1} % |",
            each(traffic.sent),
            each(traffic.sent_bytes),
            each(traffic.received),
            each(traffic.received_bytes),
            used.as_secs_f64() / seconds * 100.0
        );
    };
    let used = |role: usize| after.2[role] - before.2[role];
    row("workers", after.0.since(&before.0), fleet.workers, used(1));
    row("gateways", after.1.since(&before.1), fleet.gateways, used(2));
    let received = after.1.since(&before.1).received as f64 / seconds / fleet.gateways as f64;
    assert!(received <= QUIET_MESSAGES, "each gateway receives {received:.1} messages a second");
    println!("| NATS | | | {:.1} % |", used(0).as_secs_f64() / seconds * 100.0);
}
