//! The units for systemd: what they leave open, and that a sandbox works in what they leave open.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    process::Command,
    thread,
};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use serde_json::Value;

use super::{repository, succeed};
use crate::serving::switchboard;

const UNITS: [&str; 2] = ["switchboard.service", "switchboard-worker.service"];

/// The namespaces that `RestrictNamespaces=` names, with their flags of `clone`.
const NAMESPACES: [(&str, u64); 7] = [
    ("cgroup", 0x0200_0000),
    ("ipc", 0x0800_0000),
    ("mnt", 0x0002_0000),
    ("net", 0x4000_0000),
    ("pid", 0x2000_0000),
    ("user", 0x1000_0000),
    ("uts", 0x0400_0000),
];

/// A tool that is confined, and may connect, for which it needs a network of its own.
const CONFIG: &str = r#"
[[tools]]
name = "first_line"
description = "Returns the first line of a file"
parameters = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
implementation = { type = "command", program = "head", args = ["-n1", "--", "{path}"] }
sandbox = "on"
sandbox_allow = { read = ["open"], connect = ["example.com:443"] }
"#;

#[test]
fn the_units_are_valid_and_leave_little_open() {
    let folder = tempfile::tempdir().unwrap();
    for unit in UNITS {
        let text = text_of(unit);
        let program = env!("CARGO_BIN_EXE_switchboard");
        assert!(text.contains("ExecStart=/usr/bin/switchboard "));
        let file = folder.path().join(unit);
        fs::write(&file, text.replace("=/usr/bin/switchboard ", &format!("={program} "))).unwrap();
        let said = succeed(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file));
        assert_eq!(said, "", "{unit}");
        // Of ten points of exposure, at most two.
        let security = ["security", "--offline=true", "--no-pager", "--threshold=20"];
        succeed(Command::new("systemd-analyze").args(security).arg(&file));
    }
}

// SB-1
#[test]
fn a_sandbox_works_under_the_filters_of_the_units() {
    if !switchboard_sandbox::SandboxSupport::current().missing().is_empty() {
        return;
    }
    for unit in UNITS {
        let folder = tempfile::tempdir().unwrap();
        for name in ["open", "closed"] {
            fs::write(folder.path().join(name), format!("{name}\n")).unwrap();
        }
        fs::write(folder.path().join("switchboard.toml"), CONFIG).unwrap();
        let call = |name: &str| {
            let path = format!("path={}", folder.path().join(name).display());
            let words = ["call", "first_line", &path, "--json"];
            let inner = switchboard(folder.path(), &words);
            // A user without rights, which the unit's is.
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-user=65532", "--map-group=65532"]);
            command.arg(inner.get_program()).args(inner.get_args()).current_dir(folder.path());
            command.env_clear();
            command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let ran = confined(&text_of(unit), command);
            serde_json::from_slice::<Value>(&ran.stdout)
                .unwrap_or_else(|_| panic!("{unit}: {}", String::from_utf8_lossy(&ran.stderr)))
        };
        let read = call("open");
        assert_eq!(read["success"], true, "{unit}: {read}");
        assert!(read["result"].to_string().contains("open"), "{unit}: {read}");
        let refused = call("closed");
        assert_eq!(refused["success"], false, "{unit}: {refused}");
        assert!(refused.to_string().contains("Permission denied"), "{unit}: {refused}");
    }
}

/// Runs a command under the filters of system calls that systemd makes of the unit.
fn confined(unit: &str, mut command: Command) -> std::process::Output {
    let (calls, namespaces) = (allowed_calls(unit), forbidden_namespaces(unit));
    // Filters hold for a thread and what it starts.
    let run = move || {
        apply_filter(&calls).unwrap();
        for filter in namespaces {
            apply_filter(&filter).unwrap();
        }
        command.output().unwrap()
    };
    thread::spawn(run).join().unwrap()
}

/// `SystemCallFilter=`: calls that are not listed are refused.
fn allowed_calls(unit: &str) -> BpfProgram {
    let (groups, numbers) = (groups(), numbers());
    let mut allowed = BTreeSet::new();
    for line in values(unit, "SystemCallFilter") {
        let (is_removed, names) = match line.strip_prefix('~') {
            Some(names) => (true, names),
            None => (false, &*line),
        };
        for name in names.split_whitespace() {
            for call in expanded(name, &groups) {
                match is_removed {
                    true => allowed.remove(&call),
                    false => allowed.insert(call),
                };
            }
        }
    }
    let known = allowed.iter().filter_map(|call| numbers.get(call));
    compile(
        known.map(|&call| (call, Vec::new())).collect(),
        SeccompAction::Errno(1),
        SeccompAction::Allow,
    )
}

/// `RestrictNamespaces=`: calls that make other namespaces are refused, and one whose flags cannot be seen does not exist.
fn forbidden_namespaces(unit: &str) -> Vec<BpfProgram> {
    let allowed = values(unit, "RestrictNamespaces").join(" ");
    let others = || NAMESPACES.iter().filter(|(name, _)| !allowed.split(' ').any(|it| it == *name));
    let rules = |argument| -> Vec<_> {
        let rule = |flag: u64| {
            let is_set = SeccompCmpOp::MaskedEq(flag);
            let condition =
                SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is_set, flag).unwrap();
            SeccompRule::new(vec![condition]).unwrap()
        };
        others().map(|(_, flag)| rule(*flag)).collect()
    };
    let numbers = numbers();
    let calls = [("clone", 0), ("unshare", 0), ("setns", 1)];
    let calls = calls.map(|(name, argument)| (numbers[name], rules(argument)));
    let unseen = BTreeMap::from([(numbers["clone3"], Vec::new())]);
    vec![
        compile(calls.into(), SeccompAction::Allow, SeccompAction::Errno(1)),
        compile(unseen, SeccompAction::Allow, SeccompAction::Errno(38)),
    ]
}

fn compile(
    calls: BTreeMap<i64, Vec<SeccompRule>>,
    other: SeccompAction,
    listed: SeccompAction,
) -> BpfProgram {
    let processor = env::consts::ARCH.try_into().unwrap();
    SeccompFilter::new(calls, other, listed, processor).unwrap().try_into().unwrap()
}

/// Returns the calls that a name stands for: those of a group and of the groups in it, or the call.
fn expanded(name: &str, groups: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    match name.starts_with('@') {
        true => groups[name].iter().flat_map(|name| expanded(name, groups)).collect(),
        false => vec![name.to_owned()],
    }
}

/// The groups of system calls of this machine's systemd.
fn groups() -> BTreeMap<String, Vec<String>> {
    let mut groups = BTreeMap::<_, Vec<String>>::new();
    let mut current = String::new();
    for line in succeed(Command::new("systemd-analyze").arg("syscall-filter")).lines() {
        let word = line.trim();
        match line.starts_with('@') {
            true => word.clone_into(&mut current),
            false if word.is_empty() || word.starts_with('#') => continue,
            false => groups.entry(current.clone()).or_default().push(word.to_owned()),
        }
    }
    groups
}

/// The numbers of system calls, from the kernel's header, which the C library brings.
fn numbers() -> BTreeMap<String, i64> {
    let header = format!("/usr/include/{}-linux-gnu/asm/unistd_64.h", env::consts::ARCH);
    let text = fs::read_to_string(header).unwrap();
    let numbers = text.lines().filter_map(|line| line.strip_prefix("#define __NR_"));
    let numbers = numbers.filter_map(|line| line.split_once(' '));
    numbers.map(|(name, number)| (name.to_owned(), number.trim().parse().unwrap())).collect()
}

/// The values of a setting, in their order.
fn values(unit: &str, setting: &str) -> Vec<String> {
    let lines = unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    lines.map(str::to_owned).collect()
}

fn text_of(unit: &str) -> String {
    fs::read_to_string(repository().join("packaging/deb").join(unit)).unwrap()
}
