//! Ways out of a sandbox, each tried for real, inside and outside of one.

use std::{collections::BTreeMap, path::Path};

use switchboard_sandbox::{SandboxAllow, SandboxLimits};
use switchboard_toolcall::HumanSize;
use tokio::process::Command;

use crate::{
    boxed::{ConfinedShell, browser, can_confine, can_have_browsers, deps, on, python, run},
    test_host::{TestHost, WAYS},
};

/// Ways that lead somewhere on every machine without a sandbox, so that it is the sandbox that closes them.
const OPEN_OUTSIDE: [&str; 62] = [
    "read ssh key",
    "read ssh key by symlink",
    "read ssh key by hard link",
    "read ssh key by a link that was there",
    "move ssh key",
    "move ssh folder",
    "read ssh key through /proc/self/root",
    "read ssh key through /proc/self/cwd",
    "read through another's root",
    "list ssh folder",
    "read a neighbour of what is shared",
    "read from an open folder",
    "read our state",
    "read another's environment",
    "read another's command line",
    "read another's memory map",
    "read another's files",
    "write outside",
    "change what may be read",
    "truncate what may be read",
    "remove what may be read",
    "make a folder outside",
    "make a link outside",
    "chmod",
    "fchmod",
    "chown",
    "chmod setuid",
    "make a setuid file",
    "make a setgid file",
    "make a setuid file by openat2",
    "listen without a port",
    "memory that is a file",
    "hide from /proc",
    "run what was written",
    "run what was written by the loader",
    "run what is in the temporary folder by the loader",
    "load what was written as a library",
    "load what is in the temporary folder as a library",
    "priority of another",
    "scheduling of another",
    "processors of another",
    "order of another's disk requests",
    "run from memory",
    "run a program elsewhere",
    "signal another",
    "signal our parent",
    "shared memory",
    "tcp to another port",
    "udp",
    "unix socket",
    "unix socket by a link",
    "unix socket by a link that was there",
    "unix socket by a relative path",
    "unix socket below an open folder",
    "unix socket by another's root",
    "unix datagrams",
    "read the environment of what started us",
    "read the kernel's list of symbols",
    "abstract socket",
    "pair of datagrams",
    "pair of raw sockets",
    "pair of raw sockets that do not block",
];

/// The same, where the machine has IPv6.
const OPEN_OVER_IPV6: [&str; 2] = ["tcp by ipv6", "udp by ipv6"];

fn parse(stdout: &[u8]) -> BTreeMap<String, bool> {
    serde_json::from_slice(stdout).unwrap_or_default()
}

async fn try_all(place: &TestHost, allow: SandboxAllow) {
    let limits = SandboxLimits { memory: HumanSize(2 << 30), processes: 100, files: 200 };
    let config = switchboard_sandbox::SandboxConfig { limits, ..on(allow) };
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

// SB-1
#[tokio::test]
async fn no_way_leads_out() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    try_all(&place, place.allowed()).await;
}

// SB-1: though Unix sockets are open there, and all of `/proc`.
#[tokio::test]
async fn no_way_leads_out_of_a_browsers_sandbox() {
    if !can_have_browsers() {
        return;
    }
    let place = TestHost::new().await;
    try_all(&place, browser(place.allowed())).await;
}

// SB-1: nor to another server, which is confined as well.
#[tokio::test]
async fn no_way_leads_to_another_confined_program() {
    if !can_confine() {
        return;
    }
    let host = TestHost::new().await;
    let deps = deps(&host.path("home"), &[]);
    let ways = [
        "read another's environment",
        "read another's command line",
        "read another's memory map",
        "read another's memory",
        "read another's files",
        "read through another's root",
        "take another's file",
        "signal another",
        "limit another",
        "priority of another",
        "scheduling of another",
        "processors of another",
    ];
    let kinds: &[fn(SandboxAllow) -> SandboxAllow] =
        if can_have_browsers() { &[|allow| allow, browser] } else { &[|allow| allow] };
    for (of_other, own) in kinds.iter().flat_map(|one| kinds.iter().map(move |two| (one, two))) {
        let (work, other) = (host.path("work"), of_other(SandboxAllow::default()));
        let mut other = ConfinedShell::start(&work, other, &deps).await;
        let args = [WAYS.to_owned(), host.described_with(&ways, other.child.id().unwrap())];
        let finished = run(python(), &args, &work, &on(own(host.allowed())), &deps).await;
        let expected = ways.map(|way| (way.to_owned(), false)).into();
        assert_eq!(parse(&finished.output.stdout), expected, "{}", finished.stderr());
        assert!(other.child.try_wait().unwrap().is_none(), "the other one ended");
    }
}

// SB-1: without a sandbox they do lead somewhere.
#[tokio::test]
async fn outside_of_a_sandbox_the_ways_are_open() {
    let place = TestHost::new().await;
    let mut command = Command::new(python());
    let over_ipv6 = OPEN_OVER_IPV6.iter().filter(|_| place.has_ipv6());
    let ways: Vec<_> = OPEN_OUTSIDE.iter().chain(over_ipv6).copied().collect();
    command.arg(WAYS).arg(place.described(&ways)).current_dir(Path::new("/"));
    let output = command.output().await.unwrap();
    let tried = parse(&output.stdout);
    assert_eq!(tried.len(), ways.len(), "{}", String::from_utf8_lossy(&output.stderr));
    let closed: Vec<_> = tried.into_iter().filter(|(_, open)| !open).collect();
    assert!(closed.is_empty(), "{closed:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

// SB-1: with a port open to every host there is no network of its own.
#[tokio::test]
async fn nobody_connects_to_a_program_that_connects_directly() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let ways = ["listen without a port", "tcp to another port", "udp", "unix socket", "chmod"];
    let allow = SandboxAllow { connect_direct: vec![443], ..place.allowed() };
    let deps = deps(&place.path("home"), &[]);
    let args = [WAYS.to_owned(), place.described(&ways)];
    let finished = run(python(), &args, &place.path("work"), &on(allow), &deps).await;
    let expected = ways.map(|way| (way.to_owned(), false)).into();
    assert_eq!(parse(&finished.output.stdout), expected, "{}", finished.stderr());
}

// SB-1: the limit of each process's data sees neither.
#[tokio::test]
async fn a_program_that_takes_more_memory_than_it_may_is_ended() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let shared =
        "m = mmap.mmap(-1, 200 << 20)\nm.write(b'x' * (100 << 20))\nm.write(b'x' * (100 << 20))";
    // A control group may end one of them; then all of them end.
    let many = "parent = os.getpid()\nfor _ in range(4):\n  if os.fork() == 0:\n    x = b'x' * (50 << 20)\n    \
                while os.getppid() == parent: time.sleep(0.1)\n    os._exit(1)\nos.wait()\nos._exit(1)";
    for takes in [shared, many] {
        let script = format!("import mmap, os, time\n{takes}\ntime.sleep(600)");
        let limits = SandboxLimits { memory: HumanSize(128 << 20), ..SandboxLimits::default() };
        let config = switchboard_sandbox::SandboxConfig { limits, ..on(place.allowed()) };
        let deps = deps(&place.path("home"), &[]);
        let args = ["-c".to_owned(), script];
        let finished = run(python(), &args, &place.path("work"), &config, &deps).await;
        assert!(!finished.output.status.success(), "{}", finished.stderr());
        // Where control groups are ours, they may have been first.
        if let Some(hint) = finished.sandbox.hint(0, "") {
            assert!(
                hint.contains("of memory for all its processes")
                    && hint.contains("sandbox_limits.memory"),
                "{hint}"
            );
        }
    }
}

// SB-1: without a parent and in a session of its own, a process is still the sandbox's.
#[tokio::test]
async fn nothing_outlives_its_sandbox() {
    if !can_confine() {
        return;
    }
    let place = TestHost::new().await;
    let script = "import os, signal, time\n\
                  if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    \
                  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    os.closerange(0, 3)\n    \
                  open('daemon', 'w').write('begun')\n    time.sleep(600)\n  os._exit(0)\n\
                  while not os.path.exists('daemon'): time.sleep(0.02)";
    let deps = deps(&place.path("home"), &[]);
    let args = ["-c".to_owned(), script.to_owned()];
    let finished = run(python(), &args, &place.path("work"), &on(place.allowed()), &deps).await;
    assert!(finished.output.status.success(), "{}", finished.stderr());
    let work = place.path("work").canonicalize().unwrap();
    assert!(has_process_in(&work));
    drop(finished);
    while has_process_in(&work) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

// SB-1: also if what waits for them is killed.
#[tokio::test]
async fn a_browsers_processes_end_with_what_started_them() {
    if !can_have_browsers() {
        return;
    }
    let place = TestHost::new().await;
    let work = place.path("work").canonicalize().unwrap();
    let deps = deps(&place.path("home"), &[]);
    let mut shell = ConfinedShell::start(&work, browser(place.allowed()), &deps).await;
    assert!(has_process_in(&work));
    shell.child.kill().await.unwrap();
    while has_process_in(&work) {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Whether a process runs in this folder; its number is that which it has for us.
fn has_process_in(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.any(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder))
}
