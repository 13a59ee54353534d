//! The packages of Python and Node.js, installed into a clean root, without any registry.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use switchboard_testkit::parts::part;
use tempfile::TempDir;

use super::{Dist, sandbox, serve_stdio, succeed, use_it};

/// A root with the packages in `/packages`.
fn clean_root(dist: &Dist) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let packages = root.path().join("packages");
    fs::create_dir(&packages).unwrap();
    for entry in fs::read_dir(&dist.folder).unwrap() {
        let file = entry.unwrap();
        let name = file.file_name().into_string().unwrap();
        if name.ends_with(".whl") || name.ends_with(".tgz") {
            fs::copy(file.path(), packages.join(name)).unwrap();
        }
    }
    root
}

/// Where a package is inside the root.
fn inside(package: &Path) -> String {
    format!("/packages/{}", package.file_name().unwrap().to_str().unwrap())
}

fn run(root: &TempDir, words: &[&str]) -> Command {
    let mut command = sandbox::with_system(root.path());
    command.args(words);
    command
}

pub(crate) fn check_wheel(dist: &Dist, wheel: &Path) {
    eprintln!("the package of Python");
    let root = clean_root(dist);
    let clock = dist.clock();
    succeed(&mut run(&root, &["/usr/bin/python3", "-m", "venv", "/home/venv"]));
    let pip = ["/home/venv/bin/python", "-m", "pip", "--disable-pip-version-check"];
    succeed(run(&root, &pip).args(["install", "--no-index", &inside(wheel)]));
    use_it(&|| run(&root, &["/home/venv/bin/switchboard"]), clock);
    // pip checks the list of files when it removes them.
    succeed(run(&root, &pip).args(["uninstall", "--yes", "switchboard-gateway"]));
    assert!(!root.path().join("home/venv/bin/switchboard").exists());

    eprintln!("uvx switchboard-gateway");
    let programs = root.path().join("opt/bin");
    fs::create_dir_all(&programs).unwrap();
    for name in ["uv", "uvx"] {
        fs::copy(part(&format!("uv/venv/bin/{name}")), programs.join(name)).unwrap();
    }
    let from = ["--offline", "--no-index", "--quiet", "--find-links", "/packages"];
    let uvx = || {
        let mut command = run(&root, &["uvx"]);
        command.args(from).arg("switchboard-gateway");
        command
    };
    use_it(&uvx, dist.clock());
    // What a client starts is found in the package index, as this was.
    let entry = entry_from_cache(&uvx, "uv tool install switchboard-gateway");
    assert_eq!(entry, json!(["uvx", "switchboard-gateway", "serve", "--stdio"]));
    let mut client = run(&root, &["uvx", "switchboard-gateway", "serve", "--stdio"]);
    client.env("UV_OFFLINE", "1").env("UV_NO_INDEX", "1").env("UV_FIND_LINKS", "/packages");
    serve_stdio(&mut client);
}

pub(crate) fn check_npm(dist: &Dist, package: &Path, node: &str) {
    eprintln!("the package of npm");
    let root = clean_root(dist);
    let clock = dist.clock();
    let install = ["npm", "install", "--global", "--offline", "--no-audit", "--no-fund"];
    succeed(run(&root, &install).args(["--prefix", "/home/prefix", &inside(package)]));
    use_it(&|| run(&root, &["/home/prefix/bin/switchboard"]), clock);
    let modules = root.path().join("home/prefix/lib/node_modules");
    let program = modules.join(format!("switchboard-gateway/bin/linux-{node}"));
    fs::remove_dir_all(program).unwrap();
    let missing = run(&root, &["/home/prefix/bin/switchboard"]).output().unwrap();
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(said.starts_with("error: this package has no switchboard for Linux on"), "{said}");
    assert_eq!(missing.status.code(), Some(1));

    eprintln!("npx switchboard-gateway");
    let npx = || {
        let mut command = run(&root, &["npx", "--offline", "--yes"]);
        command.arg(format!("file:{}", inside(package)));
        command
    };
    use_it(&npx, dist.clock());
    let entry = entry_from_cache(&npx, "npm install --global switchboard-gateway");
    assert_eq!(entry, json!(["npx", "-y", "switchboard-gateway", "serve", "--stdio"]));
}

/// Returns the command line that `connect` writes if the program runs from a cache, from which no service is installed.
fn entry_from_cache(program: &dyn Fn() -> Command, instead: &str) -> Value {
    let printed = succeed(program().args(["connect", "cursor", "--print"]));
    let config: String = printed.lines().map(|line| line.strip_prefix("+ ").unwrap()).collect();
    let config: Value = serde_json::from_str(&config).unwrap();
    let entry = &config["mcpServers"]["switchboard"];
    let refused = program().args(["serve", "--install"]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("is in a cache") && said.contains(instead), "{said}");
    assert_eq!(refused.status.code(), Some(1));
    entry["args"].as_array().unwrap().iter().fold(json!([entry["command"]]), |mut words, word| {
        words.as_array_mut().unwrap().push(word.clone());
        words
    })
}

/// The program in the package.
pub(crate) fn program_in_wheel(wheel: &Path) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let unpack = ["-m", "zipfile", "-e"];
    succeed(Command::new("python3").args(unpack).arg(wheel).arg(folder.path()));
    let version = env!("CARGO_PKG_VERSION");
    let scripts = format!("switchboard_gateway-{version}.data/scripts");
    fs::read(folder.path().join(scripts).join("switchboard")).unwrap()
}

/// The program in the package.
pub(crate) fn program_in_npm(package: &Path, node: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    succeed(Command::new("tar").arg("-xzf").arg(package).arg("-C").arg(folder.path()));
    fs::read(folder.path().join(format!("package/bin/linux-{node}/switchboard"))).unwrap()
}
