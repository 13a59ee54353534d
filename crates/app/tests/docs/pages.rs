//! Each page is run from top to bottom in a network of its own: its addresses are free there, whatever else runs on this machine,
//! nothing reaches the Internet, and all that was started ends with it.

use std::{
    env, fs,
    process::{Command, Stdio},
};

use crate::{
    cargo, commands,
    page::{self, Kind},
    report, story,
};

/// Set for the test's own process inside that network.
const INSIDE: &str = "SWITCHBOARD_DOCS_NETWORK";

/// Names that stand for machines in the examples.
const HOSTS: &str = "127.0.0.1 localhost nas login.example homeassistant.local\n::1 localhost\n";

macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $name() {
                run(stringify!($name), $path);
            }
        )*
    };
}

pages! {
    readme: "README.md",
    approvals: "docs/approvals.md",
    ask: "docs/ask.md",
    config: "docs/config.md",
    gateway: "docs/gateway.md",
    home: "docs/home.md",
    install: "docs/install.md",
    local_tools: "docs/local-tools.md",
    locking: "docs/locking.md",
    math: "docs/math.md",
    models: "docs/models.md",
    records: "docs/records.md",
    scale: "docs/scale.md",
    servers: "docs/servers.md",
    start_agents: "docs/start-agents.md",
    start_claude_desktop: "docs/start-claude-desktop.md",
    start_home: "docs/start-home.md",
    start_rust: "docs/start-rust.md",
    sign_in: "docs/sign-in.md",
    three_nodes: "docs/three-nodes.md",
}

#[test]
fn every_page_that_has_something_to_run_is_run() {
    let runs = |page: &&page::Page| {
        page.blocks.iter().any(|block| match block.kind() {
            Ok(Kind::Excerpt | Kind::DocTest | Kind::Parsed) | Err(_) => false,
            Ok(Kind::Config) => !block.notes.then.is_empty(),
            Ok(Kind::Commands) => {
                let shown = commands::of(&block.language, &block.text).unwrap_or_default();
                !shown.iter().all(|shown| cargo::is_only_checked(&shown.command))
            }
            Ok(_) => true,
        })
    };
    let pages = page::all();
    let missing = pages.iter().filter(runs).filter(|page| !PAGES.contains(&page.path.as_str()));
    let missing: Vec<_> =
        missing.map(|page| format!("{}: add it to `pages!`", page.path)).collect();
    report(&missing);
}

fn run(name: &str, path: &str) {
    if env::var_os(INSIDE).is_some() {
        settle();
        report(&story::run(path));
        return;
    }
    // The shell in between takes the place of init, which buries orphans.
    let words =
        ["--user", "--map-root-user", "--net", "--mount", "--pid", "--mount-proc", "--fork"];
    let mut command = Command::new("unshare");
    command.args(words).args(["--kill-child", "bash", "-c", "\"$0\" \"$@\"; exit $?"]);
    command.arg(env::current_exe().unwrap());
    command.args([&format!("pages::{name}"), "--exact", "--nocapture"]).env(INSIDE, "1");
    let output = command.stdin(Stdio::null()).output().expect("unshare is part of util-linux");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{path}, in a network of its own (needs user namespaces):\n{}\n{}",
        said(&output.stdout),
        said(&output.stderr)
    );
    // An exact name that is not there would run no test at all.
    assert!(said(&output.stdout).contains("1 passed"), "{}", said(&output.stdout));
}

/// Makes the network usable: loopback, and names for it.
fn settle() {
    let is_up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(is_up.expect("ip is part of iproute2").success());
    let hosts = tempfile::NamedTempFile::new().unwrap();
    fs::write(hosts.path(), HOSTS).unwrap();
    let mounted = Command::new("mount").arg("--bind").arg(hosts.path()).arg("/etc/hosts").status();
    assert!(mounted.unwrap().success());
    // For sockets of a desktop, which this machine may have or not.
    let mounted = Command::new("mount").args(["-t", "tmpfs", "tmpfs", "/run"]).status();
    assert!(mounted.unwrap().success());
}
