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

use child::{Child, Traffic};
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

/// How many messages a gateway may receive each second while nothing happens, without heartbeats: replies to what it asks,
/// and what two monitors say.
const QUIET_MESSAGES: f64 = 5.0;

/// How many gateways hear the heartbeats of a group's workers, of those that use the same groups.
const MONITORS: usize = 2;

/// How many heartbeats a worker sends each second.
const BEATS: f64 = 0.4;

/// How many workers are upgraded at most: more take long, and are the same.
const UPGRADED: usize = 1_000;

/// What is simulated.
struct Fleet {
    workers: usize,
    gateways: usize,
    groups: usize,
    /// How many of the groups each gateway uses; 0: all.
    own_groups: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let number = |place: usize| words[place].parse().unwrap();
    match words.first().map(String::as_str) {
        Some("be-workers") => runtime.block_on(workers::run(&words[1], number(2))),
        Some("be-gateways") => {
            runtime.block_on(gateways::run(&words[1], [number(2), number(3), number(4)]));
        }
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
            own_groups: number("--own-groups", 0),
        }
    }
}

/// The processes.
struct Roles {
    workers: Child,
    gateways: Child,
}

/// What all roles have used so far.
struct Usage {
    traffic: [Traffic; 2],
    processor: [ProcessorTime; 3],
}

impl Roles {
    fn usage(&mut self) -> Usage {
        let processor = [
            processor::of(self.workers.id()),
            processor::of(self.gateways.id()),
            processor::of_servers(),
        ];
        Usage { traffic: [self.workers.traffic(), self.gateways.traffic()], processor }
    }

    /// Waits until all gateways know who is there.
    fn know(&mut self) {
        let counts = self.workers.ask("counts");
        self.gateways.tell(&format!("know {counts}"));
    }

    /// Returns how many messages each gateway has received.
    fn received(&mut self) -> Vec<u64> {
        let reply = self.gateways.ask("received");
        reply.split(' ').map(|word| word.parse().unwrap()).collect()
    }
}

async fn measure(fleet: Fleet) {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS says where `cargo xtask parts` put NATS");
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::three(&parts, folder.path());
    let url = nats.each_ref().map(Nats::url).join(",");
    let numbers = [fleet.gateways, fleet.groups, fleet.own_groups];
    let mut roles = Roles {
        workers: Child::start("be-workers", &url, &[fleet.groups]),
        gateways: Child::start("be-gateways", &url, &numbers),
    };
    let own = match fleet.own_groups {
        0 => "all".to_owned(),
        own => own.to_string(),
    };
    println!(
        "{} workers in {} groups, {} gateways that use {own} of them, three NATS servers",
        fleet.workers, fleet.groups, fleet.gateways
    );
    let began = Instant::now();
    roles.workers.tell(&format!("join {}", fleet.workers));
    roles.know();
    println!("all are known after {:.1} s", began.elapsed().as_secs_f64());
    sleep(SETTLED).await;
    quiet(&fleet, &mut roles).await;
    under_load(&fleet, &mut roles).await;
}

/// Lets workers come, go, die and be replaced while each gateway makes calls.
async fn under_load(fleet: &Fleet, roles: &mut Roles) {
    roles.gateways.tell("load");
    let (all, began_all) = (roles.usage(), Instant::now());
    let part = (fleet.workers / 10).max(1);
    let upgraded = fleet.workers.min(UPGRADED);
    let mut steps = Vec::new();
    for (what, number) in
        [("leave", part), ("join", part), ("die", part), ("join", part), ("upgrade", upgraded)]
    {
        let began = Instant::now();
        roles.workers.tell(&format!("{what} {number}"));
        let changed = Instant::now();
        roles.know();
        let known_after = if what == "die" { began } else { changed }.elapsed();
        let most = if what == "die" { GONE } else { JOINED };
        assert!(known_after <= most, "{what}: known after {known_after:.1?}");
        steps.push((format!("{number} workers {what}"), changed - began, known_after));
        sleep(SETTLED).await;
    }
    let began = Instant::now();
    roles.gateways.tell("upgrade");
    let changed = Instant::now();
    roles.know();
    steps.push((
        format!("{} gateways upgrade", fleet.gateways),
        changed - began,
        changed.elapsed(),
    ));
    println!("\n| under load | took | known to all gateways after |\n|---|---|---|");
    for (what, took, known) in steps {
        println!("| {what} | {:.1} s | {:.1} s |", took.as_secs_f64(), known.as_secs_f64());
    }
    let seconds = began_all.elapsed().as_secs_f64();
    print_usage(fleet, "of all this", &all, &roles.usage(), seconds);
    let outcomes = roles.gateways.ask("stop");
    println!("\ncalls meanwhile: {outcomes}");
    // Those of a worker that died may have run or not; nothing else may fail.
    for (outcome, _) in outcomes.split(", ").filter_map(|outcome| outcome.split_once(':')) {
        let outcome = outcome.trim_matches(['{', '"']);
        assert!(["ok", "outcome_unknown", "unavailable"].contains(&outcome), "{outcomes}");
    }
}

/// Prints what it costs that nothing happens.
async fn quiet(fleet: &Fleet, roles: &mut Roles) {
    let (before, received) = (roles.usage(), roles.received());
    sleep(QUIET).await;
    let (after, received_then) = (roles.usage(), roles.received());
    let seconds = QUIET.as_secs_f64();
    print_usage(fleet, "while nothing happens", &before, &after, seconds);
    let each = received_then.iter().zip(received).map(|(then, before)| then - before);
    let mut each: Vec<f64> = each.map(|number| number as f64 / seconds).collect();
    each.sort_by(f64::total_cmp);
    let mut hear = each.clone();
    hear.retain(|rate| *rate > QUIET_MESSAGES);
    println!("| gateways that hear heartbeats | {hear:.1?} messages each second |");
    // With groups of their own, gateways that use the same ones agree who hears these.
    let (own, selections) = match fleet.own_groups {
        0 => (fleet.groups, 1),
        own => (own, fleet.gateways),
    };
    let beats = fleet.workers as f64 * own as f64 / fleet.groups as f64 * BEATS;
    assert!(hear.len() <= MONITORS * selections, "{each:?}");
    let most = each.last().copied().unwrap_or_default();
    assert!(most <= QUIET_MESSAGES + beats * 1.2, "{each:?}");
}

/// Prints what each role has used, each second.
fn print_usage(fleet: &Fleet, when: &str, before: &Usage, after: &Usage, seconds: f64) {
    println!(
        "\n| each second {when} | sent by each | received by each | processor, all |\n|---|---|---|---|"
    );
    let processor = |role: usize| {
        let used = after.processor[role].saturating_sub(before.processor[role]);
        format!("{:.0} ms", used.as_secs_f64() / seconds * 1000.0)
    };
    for (role, (name, number)) in
        [("workers", fleet.workers), ("gateways", fleet.gateways)].into_iter().enumerate()
    {
        let traffic = after.traffic[role].since(&before.traffic[role]);
        let each = |value: u64| value as f64 / seconds / number as f64;
        println!(
            "| {name} | {:.2} messages, {:.0} bytes | {:.2} messages, {:.0} bytes | {} |",
            each(traffic.sent),
            each(traffic.sent_bytes),
            each(traffic.received),
            each(traffic.received_bytes),
            processor(role)
        );
    }
    println!("| NATS | | | {} |", processor(2));
}
