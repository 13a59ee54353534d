//! Real servers that were updated: what the lock says of that (LK-1, LK-2).

use std::fs;

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
    let install = |version: &str| {
        let script = part(&format!("mcp-drift/node_modules/{version}/dist/index.js"));
        let config = format!("[servers.x]\ncommand = \"node\"\nargs = [{script:?}, {folder:?}]\n");
        fs::write(folder.join("switchboard.toml"), config).unwrap();
    };
    let offered = || -> usize {
        let listed: Value = serde_json::from_slice(&run(&["tools", "--json"]).stdout).unwrap();
        let names = listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        names.filter(|name| name.starts_with("x__")).count()
    };
    let [old, new] = server.versions;
    install(old);
    assert!(run(&["lock"]).status.success(), "{old}");
    // Started anew, it says the same.
    for _ in 0..3 {
        let check = run(&["lock", "--check"]);
        assert!(check.status.success(), "{old}: {check:?}");
    }
    assert_eq!(offered(), server.tools, "{old}");
    install(new);
    let check = run(&["lock", "--check"]);
    let told = String::from_utf8(check.stdout).unwrap();
    assert_eq!(check.status.code(), Some(1), "{new}: {told}");
    for part in server.told {
        assert!(told.contains(part), "{new}: {part}\n{told}");
    }
    assert_eq!(offered(), server.unchanged, "{new}");
    assert!(run(&["lock", "--update", "x"]).status.success(), "{new}");
    assert!(run(&["lock", "--check"]).status.success(), "{new}");
    assert_eq!(offered(), server.tools, "{new}");
}
