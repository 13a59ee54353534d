//! Real servers that were updated: what the lock says of that (LK-1, LK-2).

use std::{fs, path::Path};

use serde_json::Value;

use crate::serving::{part, switchboard};

/// A server of the part with two versions each.
struct Updated {
    versions: [&'static str; 2],
    tools: usize,
    /// The tools that say the same in both.
    unchanged: usize,
    /// Parts of what `lock --check` says.
    told: &'static [&'static str],
}

// LK-1, LK-2
#[test]
fn an_update_of_a_real_server_is_told_and_nothing_else() {
    for server in [
        Updated {
            versions: ["filesystem-2026.1", "filesystem-2026.7"],
            tools: 14,
            unchanged: 0,
            told: &[
                "x__read_media_file has changed",
                "outputSchema",
                "x__read_file has changed",
                "annotations.openWorldHint: {+false+}",
                "2026.1.14",
                "2026.7.10",
            ],
        },
        Updated {
            versions: ["thinking-2025", "thinking-2026"],
            tools: 1,
            unchanged: 0,
            told: &[
                "x__sequentialthinking has changed",
                "`nextThoughtNeeded` now takes any text",
                "it now says that it only reads, which may spare it an approval",
            ],
        },
    ] {
        check(&server);
    }
}

fn check(server: &Updated) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = |words: &[&str]| switchboard(folder, words).output().unwrap();
    let [old, new] = server.versions;
    install(folder, old, &["."]);
    assert!(run(&["lock"]).status.success(), "{old}");
    // Started anew, it says the same.
    for _ in 0..3 {
        let check = run(&["lock", "--check"]);
        assert!(check.status.success(), "{old}: {check:?}");
    }
    assert_eq!(offered(folder).len(), server.tools, "{old}");
    install(folder, new, &["."]);
    let check = run(&["lock", "--check"]);
    let told = String::from_utf8(check.stdout).unwrap();
    assert_eq!(check.status.code(), Some(1), "{new}: {told}");
    for part in server.told {
        assert!(told.contains(part), "{new}: {part}\n{told}");
    }
    assert_eq!(offered(folder).len(), server.unchanged, "{new}");
    assert!(run(&["lock", "--update", "x"]).status.success(), "{new}");
    assert!(run(&["lock", "--check"]).status.success(), "{new}");
    assert_eq!(offered(folder).len(), server.tools, "{new}");
}

/// Names a program of the part with two versions of servers as server `x`.
fn install(folder: &Path, version: &str, args: &[&str]) {
    let script = part(&format!("mcp-drift/node_modules/{version}/dist/index.js"));
    let args: Vec<_> = [script.to_str().unwrap()].into_iter().chain(args.iter().copied()).collect();
    let config = format!("[servers.x]\ncommand = \"node\"\nargs = {args:?}\n");
    fs::write(folder.join("switchboard.toml"), config).unwrap();
}

/// The tools that are offered.
fn offered(folder: &Path) -> Vec<String> {
    let listed = switchboard(folder, &["tools", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names = listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.contains("__")).map(str::to_owned).collect()
}

// LK-1: the tools of server-everything have other names since 2026.
#[test]
fn a_rename_of_real_tools_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    install(folder, "everything-2025", &["stdio"]);
    assert!(switchboard(folder, &["lock"]).status().unwrap().success());
    assert!(offered(folder).contains(&"x__structuredContent".to_owned()));
    install(folder, "everything-2026", &["stdio"]);
    let check = switchboard(folder, &["lock", "--check"]).output().unwrap();
    let told = String::from_utf8(check.stdout).unwrap();
    assert_eq!(check.status.code(), Some(1), "{told}");
    for (old, new) in [
        ("structuredContent", "get-structured-content"),
        ("annotatedMessage", "get-annotated-message"),
        ("getResourceLinks", "get-resource-links"),
        ("longRunningOperation", "trigger-long-running-operation"),
    ] {
        let line = format!("x__{new} is not in the lock; it is `{old}`, renamed");
        assert!(told.contains(&line), "{line}\n{told}");
        assert!(!offered(folder).contains(&format!("x__{new}")), "{new}");
    }
}

// LK-1
#[test]
fn an_update_of_a_real_server_that_changes_no_tool_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    install(folder, "memory-2026.7", &[]);
    assert!(switchboard(folder, &["lock"]).status().unwrap().success());
    let tools = offered(folder);
    assert_eq!(tools.len(), 9, "{tools:?}");
    install(folder, "memory-2026.8", &[]);
    let check = switchboard(folder, &["lock", "--check"]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
    assert_eq!(offered(folder), tools);
}

// LK-1, LK-2: with everything that these servers say of themselves, as their programs say it.
#[test]
fn of_real_servers_that_are_started_again_nothing_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let servers = [
        ("everything", "mcp-node/node_modules/.bin/mcp-server-everything", "stdio"),
        ("fetch", "mcp-python/venv/bin/mcp-server-fetch", "--ignore-robots-txt"),
        ("filesystem", "mcp-node/node_modules/.bin/mcp-server-filesystem", "."),
        ("git", "mcp-python/venv/bin/mcp-server-git", "--verbose"),
        ("memory", "mcp-node/node_modules/.bin/mcp-server-memory", ""),
        ("sqlite", "mcp-sqlite/venv/bin/mcp-server-sqlite", "--db-path=data.db"),
        ("time", "mcp-python/venv/bin/mcp-server-time", "--local-timezone=UTC"),
    ];
    let section = |(name, program, arg): (&str, &str, &str)| {
        format!("[servers.{name}]\ncommand = {:?}\nargs = [{arg:?}]\n", part(program))
    };
    fs::write(folder.join("switchboard.toml"), servers.map(section).concat()).unwrap();
    let locked = switchboard(folder, &["lock"]).output().unwrap();
    assert!(locked.status.success(), "{locked:?}");
    let tools = offered(folder);
    for (name, _, _) in servers {
        assert!(
            tools.iter().any(|tool| tool.starts_with(&format!("{name}__"))),
            "{name}: {tools:?}"
        );
    }
    println!("{} tools of {} servers", tools.len(), servers.len());
    for _ in 0..3 {
        let check = switchboard(folder, &["lock", "--check"]).output().unwrap();
        assert!(check.status.success(), "{check:?}");
        assert_eq!(offered(folder), tools);
    }
}
