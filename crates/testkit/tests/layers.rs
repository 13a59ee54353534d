//! The arrows between crates point one way (ARCHITECTURE.md), and each of them is used.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use serde_json::Value;

/// Each crate with the crates of the workspace that it builds on.
const ARROWS: &[(&str, &[&str])] = &[
    ("toolcall", &[]),
    ("math", &[]),
    ("mqtt", &[]),
    ("process", &[]),
    ("egress", &[]),
    ("vault", &[]),
    ("sandbox", &["egress", "toolcall"]),
    ("oauth", &["egress", "toolcall", "vault"]),
    ("search", &["toolcall"]),
    ("runtime", &["search", "toolcall"]),
    ("rules", &["runtime", "toolcall"]),
    ("access", &["egress", "runtime", "toolcall"]),
    ("audit", &["runtime", "toolcall"]),
    ("approvals", &["runtime", "toolcall"]),
    ("telemetry", &["audit", "runtime", "toolcall"]),
    ("workers", &["runtime", "toolcall"]),
    ("local", &["math", "process", "sandbox", "toolcall"]),
    ("apis", &["local", "oauth", "runtime", "toolcall"]),
    ("mcp-wire", &["toolcall"]),
    ("lock", &["toolcall"]),
    ("mcp-client", &["lock", "mcp-wire", "oauth", "process", "runtime", "sandbox", "toolcall"]),
    ("mcp-server", &["mcp-wire", "runtime", "toolcall"]),
    ("models", &["toolcall"]),
    ("zwave", &["mqtt", "toolcall"]),
    ("agent", &["models", "runtime", "toolcall"]),
    ("voice", &["agent", "models", "mqtt", "toolcall"]),
    (
        "gateway",
        &[
            "access",
            "agent",
            "apis",
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
    ("cluster", &["access", "approvals", "audit", "mcp-server", "oauth", "toolcall", "workers"]),
    ("testkit", &["models", "toolcall"]),
    (
        "app",
        &[
            "access",
            "agent",
            "apis",
            "approvals",
            "audit",
            "cluster",
            "gateway",
            "local",
            "lock",
            "mcp-client",
            "mcp-server",
            "mcp-wire",
            "models",
            "oauth",
            "process",
            "rules",
            "runtime",
            "sandbox",
            "telemetry",
            "toolcall",
            "vault",
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
        let source = source(package);
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let built_on: BTreeSet<&str> = dependencies
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| folders.get(dependency["name"].as_str()?).copied())
            .collect();
        for ours in &built_on {
            assert!(allowed.contains(ours), "crates/{name} builds on crates/{ours}");
            let import = format!("switchboard_{}", ours.replace('-', "_"));
            assert!(source.contains(&import), "crates/{name} depends on crates/{ours} without use");
        }
        for listed in *allowed {
            let is_used = built_on.contains(listed);
            assert!(is_used, "crates/{name} does not build on crates/{listed}; remove the arrow");
        }
    }
}

#[test]
fn the_table_of_architecture_has_the_same_arrows() {
    let table = table();
    let names: BTreeSet<_> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(table.keys().cloned().collect::<BTreeSet<_>>(), names, "the crates");
    let needs_toolcall = |name: &String| {
        ARROWS.iter().any(|(other, below)| other == name && below.contains(&"toolcall"))
    };
    for (name, below) in ARROWS {
        // `app` builds on all.
        let Some(listed) = &table[*name] else { continue };
        let mut listed = listed.clone();
        // `toolcall` goes without saying if a crate that is listed builds on it.
        if listed.iter().any(needs_toolcall) {
            listed.insert("toolcall".to_owned());
        }
        let below: BTreeSet<_> = below.iter().map(|&below| below.to_owned()).collect();
        assert_eq!(listed, below, "what ARCHITECTURE.md says that `{name}` builds on");
    }
}

/// Returns the crates of ARCHITECTURE.md's table with those that each builds on; `None` for all.
fn table() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    let text = fs::read_to_string(file).expect("ARCHITECTURE.md is text");
    let (_, section) = text.split_once("\n## Crates\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("a section follows");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let cells: Vec<_> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let below = cells.last().expect("a split has a last part");
        let below = (*below != "all").then(|| in_backticks(below).flat_map(expanded).collect());
        in_backticks(cells[0]).map(move |name| (name.to_owned(), below.clone()))
    })
    .collect()
}

fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the crates that a name of the table stands for: `mcp-*` stands for three.
fn expanded(name: &str) -> Vec<String> {
    let matches = |known: &str| match name.strip_suffix('*') {
        Some(prefix) => known.starts_with(prefix),
        None => known == name,
    };
    let known = ARROWS.iter().map(|(known, _)| (*known).to_owned());
    let found: Vec<_> = known.filter(|known| matches(known)).collect();
    assert!(!found.is_empty(), "ARCHITECTURE.md names `{name}`, which is not a crate");
    found
}

/// The crate's folder below `crates/`; xtask has none.
fn folder(package: &Value) -> Option<&str> {
    let manifest = package["manifest_path"].as_str()?;
    let (_, below) = manifest.rsplit_once("/crates/")?;
    below.strip_suffix("/Cargo.toml")
}

/// The text of all files in the package's `src`.
fn source(package: &Value) -> String {
    let manifest = package["manifest_path"].as_str().expect("a path");
    let mut folders = vec![Path::new(manifest).with_file_name("src")];
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => text.push_str(&fs::read_to_string(&path).unwrap_or_default()),
            }
        }
    }
    text
}
