//! What the crates for embedders bring into somebody else's program.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Parts of the program that embedders do without: an HTTP server, NATS, voice, MQTT, CEL, SQLite.
const SERVERS: [&str; 6] = ["async-nats", "axum", "cel", "cpal", "rumqttc-v4-next", "rusqlite"];
/// What the executor does without, too: HTTP and TLS.
const NETWORK: [&str; 3] = ["hyper", "reqwest", "rustls"];

/// The crates to embed, and whether they make HTTP requests.
const CRATES: [(&str, bool); 6] = [
    ("toolcall", false),
    ("runtime", false),
    ("models", true),
    ("local", true),
    ("mcp-client", true),
    ("agent", true),
];

#[test]
fn embedders_get_no_server_and_as_many_crates_as_the_docs_say() {
    let embedding = page("docs/embedding.md");
    for (name, has_http) in CRATES {
        let tree = tree(name);
        let without = SERVERS.iter().chain(NETWORK.iter().filter(|_| !has_http));
        for foreign in without {
            let found = tree.iter().find(|line| line.split(' ').next() == Some(foreign));
            assert_eq!(found, None, "in switchboard-{name}");
        }
        // `{f}` lists the features: hyper may be a client, but not a server.
        let hyper = tree.iter().find(|line| line.starts_with("hyper v"));
        assert_eq!(hyper.is_some(), has_http, "switchboard-{name}");
        assert!(hyper.is_none_or(|line| !line.contains("server")), "switchboard-{name}: {hyper:?}");
        let said = format!("| `switchboard-{name}` | {} |", tree.len());
        assert!(embedding.contains(&said), "docs/embedding.md must say `{said}`");
        if name == "runtime" {
            let said = format!("the executor alone brings {} crates", tree.len());
            assert!(page("README.md").contains(&said), "README.md must say `{said}`");
        }
    }
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the crates that a crate depends on, itself included, each with its version and features.
fn tree(name: &str) -> BTreeSet<String> {
    let package = format!("switchboard-{name}");
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--package", &package, "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p} {f}"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("UTF-8");
    tree.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}
