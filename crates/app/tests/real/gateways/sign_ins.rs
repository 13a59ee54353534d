//! Callers who sign in to a server with `auth = "user"`, before several gateways (SPEC AU-2, AU-3): at a certified authorization
//! server, with a Chromium, to a server on the Python SDK.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    gateways::{TestCluster, ask, bearer},
    serving::{Ending, part, switchboard, wait_for},
    sign_in::{NODE, PASSWORD, SCRIPTS, node, python},
};

/// The authorization server, and the server behind it.
struct Accounts {
    /// What must stay secret, a line for each.
    secrets: std::path::PathBuf,
    /// The server's address.
    url: String,
    _folder: TempDir,
    _processes: [Ending; 2],
}

impl Accounts {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secrets = folder.path().join("secrets");
        let (provider, issuer) = node("provider.mjs", secrets.to_str().unwrap());
        let (resource, port) = python(&issuer, "streamable-http");
        let url = format!("http://127.0.0.1:{port}/mcp");
        Self { secrets, url, _folder: folder, _processes: [provider, resource] }
    }

    /// Checks that none of the secrets that occurred, which are more than `least`, is in a file of a machine or of NATS.
    fn are_nowhere_in(&self, cluster: &TestCluster, tokens: &[&str], least: usize) {
        let told = fs::read_to_string(&self.secrets).unwrap();
        let secrets: Vec<&str> = told.lines().chain([PASSWORD]).collect();
        assert!(secrets.len() > least, "{}", secrets.len());
        cluster.has_none_of(&[&secrets, tokens].concat());
    }
}

/// Calls a tool over REST, at one gateway.
fn call(address: &str, token: &str, tool: &str) -> Value {
    let path = format!("/api/tools/{tool}/call");
    let head = if token.is_empty() { String::new() } else { bearer(token) };
    ask(address, "POST", &path, &head, "{}").json()
}

/// The address of the page at which the caller signs in.
fn page(address: &str, token: &str) -> String {
    // The tool to sign in with is there until somebody has.
    let called = match call(address, token, "mail__sign_in") {
        called if called["error_kind"] == "not_found" => call(address, token, "mail__whoami"),
        called => called,
    };
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    let text = called.to_string();
    let at = text.find("http://").unwrap_or_else(|| panic!("no address: {text}"));
    text[at..].split([' ', '"']).next().unwrap().to_owned()
}

/// A person with a browser.
fn sign_in(page: &str, token: &str, account: &str) -> String {
    let mut browser = Command::new(part(NODE));
    browser.arg(Path::new(SCRIPTS).join("browser.mjs")).args([account, page]);
    browser.env("TOKEN", token).env("SWITCHBOARD_PARTS", part("."));
    let output = browser.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Waits until a caller's call at a gateway says this.
fn says(address: &str, token: &str, text: &str) {
    let said = || call(address, token, "mail__whoami").to_string().contains(text).then_some(());
    wait_for(text, said);
}

// AU-2, AU-3: the page is opened at one gateway and visited at the other; both use the sign-in, which is never renewed twice; one is
// killed; signing out at one machine holds at all; NATS has no secret.
#[test]
fn callers_are_signed_in_at_all_gateways() {
    let accounts = Accounts::start();
    let mut cluster = TestCluster::start(&format!(
        "key = 'a secret that all nodes of the cluster have'\n[mcp]\nretry_attempts = 1\n[serve]\nrequire_token = true\n\
         [servers.mail]\nurl = '{}'\nauth = 'user'\n",
        accounts.url
    ));
    let (ada, bob) = (cluster.token("ada", &[]), cluster.token("bob", &[]));
    let [one, two] = [0, 1].map(|number: usize| cluster.gateways[number].address.clone());

    let opened = page(&one, &ada);
    assert!(opened.contains(&one), "{opened}");
    let ended = sign_in(&opened.replace(&one, &two), &ada, "ada");
    assert!(ended.contains("You are signed in to mail"), "{ended}");
    for gateway in [&one, &two] {
        says(gateway, &ada, "You are ada");
        assert!(!call(gateway, &bob, "mail__whoami").to_string().contains("You are"), "bob");
    }
    let ended = sign_in(&page(&two, &bob), &bob, "bob");
    assert!(ended.contains("You are signed in to mail"), "{ended}");

    // Tokens are good for 8 s, refresh tokens once: using one twice would end the sign-in.
    let (is_over, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        for (gateway, token, account) in
            [(&one, &ada, "ada"), (&two, &ada, "ada"), (&one, &bob, "bob"), (&two, &bob, "bob")]
        {
            let (is_over, calls) = (&is_over, &calls);
            scope.spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    let called = call(gateway, token, "mail__whoami");
                    let expected = format!("You are {account}");
                    assert!(called.to_string().contains(&expected), "{called}");
                    calls.fetch_add(1, Ordering::AcqRel);
                    thread::sleep(Duration::from_millis(100));
                }
            });
        }
        thread::sleep(Duration::from_secs(20));
        is_over.store(true, Ordering::Release);
    });
    assert!(calls.load(Ordering::Acquire) >= 12, "{calls:?}");

    // One that is killed takes no sign-in along, unless it has just used a refresh token.
    thread::sleep(Duration::from_secs(5));
    drop(cluster.gateways.remove(0));
    thread::sleep(Duration::from_secs(9));
    says(&two, &ada, "You are ada");
    let words = ["logout", "mail", "--caller", "ada"];
    let out = switchboard(cluster.folders[0].path(), &words).output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(told.contains("signed out, and revoked"), "{told}");
    says(&two, &ada, "sign-in required");
    says(&two, &bob, "You are bob");

    accounts.are_nowhere_in(&cluster, &[&ada, &bob], 10);
}

// AU-1, AU-2: the owner signs in on one machine, and all gateways use it at once.
#[test]
fn a_shared_sign_in_is_used_at_all_gateways() {
    let accounts = Accounts::start();
    let cluster = TestCluster::start(&format!(
        "key = 'a secret that all nodes of the cluster have'\n[mcp]\nretry_attempts = 1\n[servers.mail]\nurl = '{}'\n",
        accounts.url
    ));
    let folder = cluster.folders[0].path();
    let browser = folder.join("browser");
    let script =
        format!("#!/bin/sh\nexec '{}' '{SCRIPTS}/browser.mjs' ada \"$1\"\n", part(NODE).display());
    fs::write(&browser, script).unwrap();
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(&browser, mode).unwrap();
    let mut login = switchboard(folder, &["login", "mail"]);
    login.env("BROWSER", &browser).env("SWITCHBOARD_PARTS", part("."));
    let output = login.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for gateway in &cluster.gateways {
        says(&gateway.address, "", "You are ada");
    }
    let servers = cluster.run(1, &["servers", "--json"]).to_string();
    assert!(servers.contains("signed_in"), "{servers}");
    let out = switchboard(cluster.folders[1].path(), &["logout", "mail"]).output().unwrap();
    assert!(String::from_utf8_lossy(&out.stderr).contains("signed out, and revoked"), "{out:?}");
    for gateway in &cluster.gateways {
        says(&gateway.address, "", "switchboard login mail");
    }
    accounts.are_nowhere_in(&cluster, &[], 3);
}
