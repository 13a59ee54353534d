//! The MCP conformance suite against our client: both revisions, every scored scenario.
//!
//! The suite starts `examples/conformance_client.rs` once per scenario. What is known to fail is in
//! `expected-failures.yml`; a failure that is not there fails the run, and so does one there that passes.
//! `cargo xtask conformance` runs these tests and makes the tables of docs/conformance.md from what the suite said.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::{fs, path::Path, process::Command};

use switchboard_testkit::parts::{example, part};

/// Extensions that the suite tries and does not score.
const EXTENSIONS: [&str; 6] = [
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
];

const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

// MC-1, AU-1, AU-3
#[test]
fn revision_2025_11_25() {
    let scenarios = [
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
        "auth/metadata-var3",
        "auth/basic-cimd",
        "auth/scope-step-up",
        "auth/pre-registration",
    ];
    passes("2025-11-25", &scenarios);
}

// MC-1, AU-1, AU-3
#[test]
fn revision_2026_07_28() {
    let scenarios = [
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
        "auth/scope-step-up",
        "auth/authorization-server-migration",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
        "auth/resource-mismatch",
    ];
    passes("2026-07-28", &scenarios);
}

/// Runs what the revision requires, and looks at what became of each scenario.
fn passes(revision: &str, scenarios: &[&str]) {
    let output = Command::new(part("mcp-node/node_modules/.bin/node"))
        .arg(part("mcp-node/node_modules/.bin/conformance"))
        .args(["client", "--requirements", revision, "--expected-failures"])
        .arg(Path::new(PACKAGE).join("tests/conformance/expected-failures.yml"))
        .arg("--command")
        .arg(example("conformance_client"))
        .output()
        .unwrap();
    let (told, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}\n{errors}");
    keep(&format!("client-{revision}"), &told);
    for scenario in scenarios.iter().chain(&EXTENSIONS) {
        assert!(told.contains(&format!("✓ {scenario}: ")), "{scenario}: {told}\n{errors}");
    }
    let failed = told.lines().filter_map(|line| line.trim_start().strip_prefix("✗ "));
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "{failed:?}\n{errors}");
}

/// Leaves what the suite said to `cargo xtask conformance`, where that has asked for it.
fn keep(run: &str, told: &str) {
    if let Some(folder) = std::env::var_os("SWITCHBOARD_CONFORMANCE") {
        fs::write(Path::new(&folder).join(format!("{run}.txt")), told).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
