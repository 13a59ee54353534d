//! The arrows between crates point one way (HOUSE_STYLE §1, ARCHITECTURE.md).

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

/// Each crate with the crates of the house that it may build on.
const ARROWS: &[(&str, &[&str])] = &[
    ("toolcall", &[]),
    ("math", &[]),
    ("mqtt", &[]),
    ("process", &[]),
    ("runtime", &["toolcall"]),
    ("rules", &["runtime", "toolcall"]),
    ("audit", &["runtime", "toolcall"]),
    ("approvals", &["runtime", "toolcall"]),
    ("telemetry", &["runtime", "toolcall"]),
    ("workers", &["runtime", "toolcall"]),
    ("local", &["math", "process", "toolcall"]),
    ("mcp-wire", &["runtime", "toolcall"]),
    ("mcp-client", &["mcp-wire", "process", "runtime", "toolcall"]),
    ("mcp-server", &["mcp-client", "mcp-wire", "runtime", "toolcall"]),
    ("models", &["toolcall"]),
    ("zwave", &["mqtt", "toolcall"]),
    ("agent", &["models", "runtime", "toolcall"]),
    ("voice", &["agent", "models", "mqtt", "runtime", "toolcall"]),
    (
        "gateway",
        &[
            "agent",
            "approvals",
            "audit",
            "mcp-client",
            "mcp-server",
            "mcp-wire",
            "models",
            "runtime",
            "toolcall",
        ],
    ),
    ("fleet", &["approvals", "audit", "gateway", "mcp-server", "runtime", "toolcall", "workers"]),
    ("testkit", &["models", "toolcall"]),
    (
        "app",
        &[
            "agent",
            "approvals",
            "audit",
            "fleet",
            "gateway",
            "local",
            "mcp-client",
            "mcp-server",
            "mcp-wire",
            "models",
            "process",
            "rules",
            "runtime",
            "telemetry",
            "toolcall",
            "voice",
            "workers",
            "zwave",
        ],
    ),
];

#[test]
fn crates_build_only_on_what_lies_below_them() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let folders: BTreeMap<&str, &str> = packages
        .iter()
        .filter_map(|package| Some((package["name"].as_str()?, folder(package)?)))
        .collect();
    let allowed: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    for package in packages {
        let Some(name) = folder(package) else { continue };
        let allowed =
            allowed.get(name).unwrap_or_else(|| panic!("crates/{name} has no arrows here"));
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let ours = dependency["name"].as_str().and_then(|name| folders.get(name));
            if let (Some(ours), Value::Null) = (ours, &dependency["kind"]) {
                assert!(allowed.contains(ours), "crates/{name} builds on crates/{ours}");
            }
        }
    }
}

/// The crate's folder below `crates/`; xtask has none.
fn folder(package: &Value) -> Option<&str> {
    let manifest = package["manifest_path"].as_str()?;
    let (_, below) = manifest.rsplit_once("/crates/")?;
    below.strip_suffix("/Cargo.toml")
}
