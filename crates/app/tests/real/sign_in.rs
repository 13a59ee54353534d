//! Sign-ins at a certified authorization server (npm `oidc-provider`), with a Chromium that signs in and consents, to servers on the
//! Python SDK (streamable HTTP, HTTP+SSE) and to one on the TypeScript SDK that wants tokens bound to a key.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use switchboard_testkit::secrets;
use tempfile::TempDir;

use crate::serving::{Ending, free_port, part, switchboard, wait_for};

pub(crate) const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/sign_in");
pub(crate) const NODE: &str = "mcp-node/node_modules/.bin/node";
/// What the person types.
pub(crate) const PASSWORD: &str = "password-of-the-person";

/// An authorization server, two servers behind it, and a folder to sign in from.
struct SignInSetup {
    home: TempDir,
    /// Beside the folder that is searched for secrets: the secrets that the authorization server knows of.
    secrets: PathBuf,
    issuer: String,
    /// What commands printed.
    printed: String,
    _outside: TempDir,
    _processes: [Ending; 4],
}

impl SignInSetup {
    fn start() -> Self {
        let (home, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secrets = outside.path().join("secrets");
        let (provider, issuer) = node("provider.mjs", secrets.to_str().unwrap());
        let (typescript, bound) = node("resource.mjs", &issuer);
        let (plain, port) = python(&issuer, "streamable-http");
        let (old, old_port) = python(&issuer, "sse");
        let config = format!(
            "[mcp]\nretry_attempts = 1\n[servers.plain]\nurl = \"http://127.0.0.1:{port}/mcp\"\n\
             [servers.bound]\nurl = \"{bound}\"\n\
             [servers.old]\nurl = \"http://127.0.0.1:{old_port}/sse\"\ntype = \"sse\"\n"
        );
        fs::write(home.path().join("switchboard.toml"), config).unwrap();
        let browser = home.path().join("browser");
        let script = format!(
            "#!/bin/sh\nexec '{}' '{SCRIPTS}/browser.mjs' ada \"$1\"\n",
            part(NODE).display()
        );
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
        let printed = String::new();
        let processes = [provider, typescript, plain, old];
        Self { home, secrets, issuer, printed, _outside: outside, _processes: processes }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = switchboard(self.home.path(), words);
        command.env("BROWSER", self.home.path().join("browser"));
        command.env("SWITCHBOARD_PARTS", std::env::var_os("SWITCHBOARD_PARTS").unwrap());
        command.env("RUST_LOG", "trace").env("TMPDIR", self.home.path());
        command
    }

    fn run(&mut self, words: &[&str]) -> (bool, String) {
        let output = self.command(words).output().unwrap();
        self.note(&output)
    }

    fn note(&mut self, output: &Output) -> (bool, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = text(&output.stdout) + &text(&output.stderr);
        self.printed += &all;
        (output.status.success(), all)
    }

    fn succeeds(&mut self, words: &[&str], text: &str) {
        let (is_success, printed) = self.run(words);
        assert!(is_success && printed.contains(text), "{words:?}: {printed}");
    }

    fn fails(&mut self, words: &[&str], text: &str) {
        let (is_success, printed) = self.run(words);
        assert!(!is_success && printed.contains(text), "{words:?}: {printed}");
    }

    /// Signs in with the device flow: the code is typed on another device.
    fn sign_in_by_device(&mut self, server: &str) {
        let mut login = self.command(&["login", server, "--device"]);
        let mut login = Ending(login.stderr(Stdio::piped()).spawn().unwrap());
        let mut lines = BufReader::new(login.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let told = lines.find(|line| line.contains("On any device go to ")).unwrap();
        let (address, code) = told.split_once(" and type ").unwrap();
        let address = address.rsplit(' ').next().unwrap();
        let browser = Command::new(part(NODE))
            .arg(Path::new(SCRIPTS).join("browser.mjs"))
            .args(["ada", address, code])
            .output()
            .unwrap();
        assert!(browser.status.success(), "{}", String::from_utf8_lossy(&browser.stderr));
        self.printed += &lines.collect::<Vec<_>>().join("\n");
        assert!(login.0.wait().unwrap().success(), "{}", self.printed);
    }

    /// Every secret that occurred, of which none may be in a file or in what was printed.
    fn finds_no_secret(&self) {
        let told = fs::read_to_string(&self.secrets).unwrap();
        let secrets: BTreeSet<&str> = told.lines().chain([PASSWORD]).collect();
        assert!(secrets.len() > 10, "{}", secrets.len());
        let secrets: Vec<_> = secrets.into_iter().collect();
        assert_eq!(secrets::scan_text(&self.printed, "what was printed", &secrets), []);
        secrets::assert_none(self.home.path(), &[], &secrets);
    }
}

/// Starts the server on the Python SDK, and returns its port.
pub(crate) fn python(issuer: &str, transport: &str) -> (Ending, u16) {
    let port = free_port();
    let mut python = Command::new(part("mcp-python/venv/bin/python"));
    let script = Path::new(SCRIPTS).join("resource.py");
    python.arg(script).args([issuer, &port.to_string(), transport]);
    let python = Ending(python.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    wait_for("the Python server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (python, port)
}

/// Starts a script that prints one line when it is ready, and returns that.
pub(crate) fn node(script: &str, argument: &str) -> (Ending, String) {
    let mut command = Command::new(part(NODE));
    command.arg(Path::new(SCRIPTS).join(script)).arg(argument);
    // What it complains of is shown if the test fails.
    let process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut process = Ending(process);
    let mut line = String::new();
    let mut stdout = BufReader::new(process.0.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    // It warns there later, and would end if nobody read that.
    thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    (process, line.trim().to_owned())
}

// AU-1, AU-2, AU-3: discovery, registration, consent in a browser and on another device, refresh tokens that are good once, tokens that are
// bound to a key, revocation; and nothing secret is left anywhere.
#[test]
fn a_person_signs_in_at_a_real_authorization_server() {
    let mut world = SignInSetup::start();
    let issuer = world.issuer.clone();
    world.fails(&["call", "plain__whoami"], "switchboard login plain");
    world.succeeds(&["login", "plain"], &format!("signed in at {issuer}"));
    world.succeeds(&["login", "bound"], &format!("signed in at {issuer}"));
    world.succeeds(&["login", "old"], &format!("signed in at {issuer}"));
    for round in 0..3 {
        world.succeeds(&["call", "plain__whoami"], "You are ada");
        world.succeeds(&["call", "bound__whoami"], "You are ada, bound to a key");
        world.succeeds(&["call", "old__whoami"], "You are ada");
        // Access tokens are good for 8 s; what comes then needs a new one.
        if round < 2 {
            thread::sleep(Duration::from_secs(9));
        }
    }
    // Two processes at once, with a token that has ended: the authorization server ends a sign-in whose refresh token is used twice.
    thread::sleep(Duration::from_secs(9));
    let calls: Vec<_> = (0..3)
        .map(|_| {
            world
                .command(&["call", "plain__whoami"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for call in calls {
        let output = call.wait_with_output().unwrap();
        let (is_success, printed) = world.note(&output);
        assert!(is_success && printed.contains("You are ada"), "{printed}");
    }
    world.succeeds(&["servers"], "signed in");
    world.succeeds(&["logout", "plain"], "signed out, and revoked");
    world.fails(&["call", "plain__whoami"], "switchboard login plain");
    world.sign_in_by_device("plain");
    world.succeeds(&["call", "plain__whoami"], "You are ada");
    world.finds_no_secret();
}
