//! Gateways, workers and NATS servers are killed and held up in the middle of calls, hundreds of times. Afterwards what callers
//! were told is compared with what the tools themselves wrote down.
//!
//! `SWITCHBOARD_CHAOS_ROUNDS` sets how often; the default is what fits into CI. `SWITCHBOARD_CHAOS_PARTITIONS` sets into how many
//! partitions queued calls are divided.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

mod caller;
mod judge;
mod scene;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use caller::Caller;
use scene::{Random, Scene};

/// How many callers ask at the same time.
const CALLERS: u64 = 6;

/// Returns the number that this variable sets, or else the default.
fn number(name: &str, default: u32) -> u32 {
    let set = std::env::var_os(name);
    set.map_or(default, |number| number.to_str().unwrap().parse().unwrap())
}

// EX-1, RC-1
#[test]
fn whoever_dies_every_call_ends_in_truth() {
    let seed = u64::from(std::process::id());
    // How often somebody is killed or held up.
    let rounds = number("SWITCHBOARD_CHAOS_ROUNDS", 60);
    let partitions = number("SWITCHBOARD_CHAOS_PARTITIONS", 1);
    eprintln!("{rounds} rounds, seed {seed}, {partitions} partitions");
    let mut scene = Scene::start(partitions);
    let enough = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let caller = Caller::new(number, scene.gateways(), Random::new(seed + number));
            let enough = enough.clone();
            thread::spawn(move || caller.ask_until(&enough))
        })
        .collect();

    let mut random = Random::new(seed);
    for round in 0..rounds {
        thread::sleep(Duration::from_millis(random.below(400)));
        let what = scene.disturb(&mut random);
        eprintln!("round {round}: {what}");
    }
    scene.recover();
    enough.store(true, Ordering::Relaxed);
    let mut asked: Vec<_> = callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
    scene.wait_for_queued(&mut asked);

    let verdict = judge::judge(&asked, &scene.notes());
    eprintln!("{verdict}");
    assert!(verdict.lies.is_empty(), "{:#?}", verdict.lies);
    // A run in which nothing went well proves nothing, nor does one in which nothing went wrong.
    assert!(verdict.is_telling(), "{verdict}");
}
