//! Ways out of a sandbox, each tried for real, inside and outside of one.

use std::{collections::BTreeMap, path::Path};

use switchboard_sandbox::SandboxLimits;
use switchboard_toolcall::HumanSize;
use tokio::process::Command;

use crate::{
    boxed::{can_confine, deps, on, python, run},
    place::{Place, WAYS},
};

/// Ways that lead somewhere on every machine without a sandbox, so that it is the sandbox that closes them.
const OPEN_OUTSIDE: [&str; 22] = [
    "read ssh key",
    "read ssh key by symlink",
    "read ssh key through /proc/self/root",
    "read a neighbour of what is shared",
    "read another's environment",
    "write outside",
    "change what may be read",
    "truncate what may be read",
    "chmod",
    "fchmod",
    "chown",
    "chmod setuid",
    "run what was written",
    "run from memory",
    "run a program elsewhere",
    "signal another",
    "shared memory",
    "tcp to another port",
    "udp",
    "unix socket",
    "abstract socket",
    "pair of datagrams",
];

fn parse(stdout: &[u8]) -> BTreeMap<String, bool> {
    serde_json::from_slice(stdout).unwrap_or_default()
}

// SB-1
#[tokio::test]
async fn no_way_leads_out() {
    if !can_confine() {
        return;
    }
    let place = Place::new().await;
    let limits = SandboxLimits { memory: HumanSize(2 << 30), processes: 100, files: 200 };
    let config = switchboard_sandbox::SandboxConfig { limits, ..on(place.allowed()) };
    let deps = deps(&place.path("home"), &[place.path("shared/state")]);
    let args = [WAYS.to_owned(), place.described(&[])];
    let finished = run(python(), &args, &place.path("work"), &config, &deps).await;
    println!("{}", finished.stderr());
    let ways = parse(&finished.output.stdout);
    assert!(ways.len() >= 40, "{}{}", finished.stdout(), finished.stderr());
    let led_out: Vec<_> = ways.iter().filter(|(_, led_out)| **led_out).collect();
    assert!(led_out.is_empty(), "{led_out:?}\n{}", finished.stderr());
    let hint = finished.sandbox.hint(0, "").unwrap_or_default();
    assert!(hint.contains("sandbox_allow.connect += \"127.0.0"), "{hint}");
}

// SB-1: without a sandbox they do lead somewhere.
#[tokio::test]
async fn outside_of_a_sandbox_the_ways_are_open() {
    let place = Place::new().await;
    let mut command = Command::new(python());
    command.arg(WAYS).arg(place.described(&OPEN_OUTSIDE)).current_dir(Path::new("/"));
    let output = command.output().await.unwrap();
    let closed: Vec<_> = parse(&output.stdout).into_iter().filter(|(_, open)| !open).collect();
    assert!(closed.is_empty(), "{closed:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
