//! Workers that die or stop in the middle: what callers are told is what the tools saw.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::Value;

use super::worker_setup::{WorkerSetup, timed};

#[test]
fn a_worker_that_is_killed_is_told_as_lost() {
    let place = WorkerSetup::new();
    let one = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let (acts, looks) =
        (gateway.begin("do", timed("act", 100.0)), gateway.begin("look", timed("look", 5.0)));
    place.saw("begun act");
    place.saw("begun look");
    let two = place.worker("two", &[]);
    gateway.knows(2);
    one.kill();
    let acts = acts.join().unwrap();
    assert_eq!(acts["error_kind"], "outcome_unknown", "{acts}");
    assert!(acts["error"].as_str().unwrap().contains("may have run"), "{acts}");
    // Who only looks may be asked again, elsewhere.
    let looks = looks.join().unwrap();
    assert_eq!(looks["result"], "done look", "{looks}");
    assert_eq!(place.count("begun act"), 1);
    assert_eq!(place.count("begun look"), 2);
    gateway.knows(1);
    two.kill();
    gateway.knows(0);
    let answer = gateway.call("look", &timed("nobody", 0.0));
    assert_eq!(answer["error_kind"], "unavailable", "{answer}");
    assert_eq!(place.count("begun nobody"), 0);
}

#[test]
fn a_worker_that_is_stopped_counts_as_lost_and_is_told_when_it_goes_on() {
    let place = WorkerSetup::new();
    let one = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let acts = gateway.begin("do", timed("act", 300.0));
    place.saw("begun act");
    one.signal("-STOP");
    let acts = acts.join().unwrap();
    assert_eq!(acts["error_kind"], "outcome_unknown", "{acts}");
    one.signal("-CONT");
    place.saw("cancelled act");
    gateway.knows(1);
    assert_eq!(gateway.call("do", &timed("again", 0.0))["result"], "done again");
}

/// Many calls while workers are killed and started: whatever a call is told, its tool began at most once, and exactly once
/// where an answer came.
#[test]
fn nothing_runs_twice_whoever_dies() {
    const CALLERS: usize = 6;
    const DEATHS: usize = 5;
    let place = WorkerSetup::new();
    let stays = place.worker("stays", &[]);
    let mut dies = Some(place.worker("dies0", &[]));
    let gateway = place.gateway(2);
    let deaths = AtomicUsize::new(0);
    let told: Vec<(String, Value)> = thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (gateway, deaths) = (&gateway, &deaths);
                scope.spawn(move || {
                    let mut told = Vec::new();
                    while deaths.load(Ordering::Relaxed) < DEATHS {
                        let id = format!("c{caller}-{}", told.len());
                        let answer = gateway.call("do", &timed(&id, 0.4));
                        told.push((id, answer));
                    }
                    told
                })
            })
            .collect();
        for death in 1..=DEATHS {
            let dying = dies.take().unwrap();
            gateway.sees_busy(&dying.id);
            dying.kill();
            dies = Some(place.worker(&format!("dies{death}"), &[]));
            deaths.store(death, Ordering::Relaxed);
        }
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let mut unknown = 0;
    for (id, answer) in &told {
        let begun = place.count(&format!("begun {id}"));
        match answer["error_kind"].as_str() {
            None => {
                assert_eq!(answer["result"], format!("done {id}"));
                assert_eq!((begun, place.count(&format!("finished {id}"))), (1, 1), "{id}");
            }
            Some("outcome_unknown") => {
                unknown += 1;
                assert!(begun <= 1, "{id} ran {begun} times");
            }
            Some("unavailable" | "overloaded") => assert_eq!(begun, 0, "{id}: {answer}"),
            Some(other) => panic!("{id}: {other}: {answer}"),
        }
    }
    println!("{} calls, {DEATHS} deaths, {unknown} of unknown outcome", told.len());
    drop(stays);
}
