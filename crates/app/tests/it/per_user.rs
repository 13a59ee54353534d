//! `auth = "user"`: each caller of a gateway has a sign-in of its own at a server (SPEC AU-3).

mod accounts;
mod apis;
mod browser;
mod asking;
mod attacks;
mod clients;
mod commands;
mod exchange;
mod jwt;
mod leaks;
mod oauth_clients;
mod rounds;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::secrets;

use crate::{fixture::wait_until, serving::Serving, test_folder::TestFolder};
use accounts::Accounts;
use browser::Browser;

/// The parameters of a query or a form.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let decoded = |text: &str| {
        let bytes = text.replace('+', " ").into_bytes();
        let mut plain = Vec::new();
        let mut rest = &bytes[..];
        while let [first, after @ ..] = rest {
            match (first, after) {
                (b'%', [high, low, after @ ..]) => {
                    let hex = String::from_utf8_lossy(&[*high, *low]).into_owned();
                    plain.push(u8::from_str_radix(&hex, 16).unwrap());
                    rest = after;
                }
                _ => {
                    plain.push(*first);
                    rest = after;
                }
            }
        }
        String::from_utf8_lossy(&plain).into_owned()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// What was secret, beside what authorization servers have given.
static OCCURRED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn occurred() -> MutexGuard<'static, BTreeSet<String>> {
    OCCURRED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes a secret, which is looked for when the test ends.
fn note_secret(secret: &str) {
    // A shorter one is a name that a test tries in place of a secret.
    if secret.len() > 8 {
        occurred().insert(secret.to_owned());
    }
}

/// Checks that no secret is in any file: log, journal, index, config, vault, temporary file.
fn assert_no_secret_in(folder: &Path, accounts: &Accounts) {
    let mut known = occurred().clone();
    known.extend(accounts.known().secrets.iter().cloned());
    // Those that begin alike are found together.
    let start = |secret: &str| secret.chars().take(secrets::PREFIX).collect::<String>();
    let known: BTreeMap<_, _> = known.iter().map(|secret| (start(secret), &**secret)).collect();
    assert!(!known.is_empty(), "there is nothing to look for");
    let known: Vec<_> = known.into_values().collect();
    secrets::assert_none(folder, &[], &known);
}

/// A gateway with one server that each caller signs in to. When it ends, nothing secret may be in any file.
struct PerUserSetup {
    accounts: Accounts,
    place: TestFolder,
    gateway: Serving,
    log_level: &'static str,
}

impl PerUserSetup {
    fn start() -> Self {
        Self::with_log("trace")
    }

    fn with_log(level: &'static str) -> Self {
        let accounts = Accounts::start();
        let place = TestFolder::with_config(&format!(
            "[mcp]\nretry_attempts = 1\nretry_base_delay = \"50ms\"\n\
             [servers.docs]\nurl = \"{}/mcp\"\nprotocol = \"legacy\"\nauth = \"user\"\n",
            accounts.origin
        ));
        Self::logging(accounts, place, level)
    }

    /// Starts a gateway in a place that has its config.
    fn new(accounts: Accounts, place: TestFolder) -> Self {
        Self::logging(accounts, place, "trace")
    }

    fn logging(accounts: Accounts, place: TestFolder, log_level: &'static str) -> Self {
        let place = place.with_own_temp();
        let gateway = Self::serve(&place, log_level);
        Self { accounts, place, gateway, log_level }
    }

    /// Starts a gateway. Commands log as usual.
    fn serve(place: &TestFolder, log_level: &str) -> Serving {
        let mut command = place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]);
        command.env("RUST_LOG", log_level);
        Serving::spawn(place, command)
    }

    /// Starts another gateway in place of this one. The log of this one stays.
    fn restart(&mut self) {
        let log = |number: u32| self.place.path().join(format!("log-{number}"));
        let free = (0..).map(log).find(|path| !path.exists()).unwrap();
        fs::rename(self.place.path().join("log"), free).unwrap();
        self.gateway = Self::serve(&self.place, self.log_level);
    }

    /// Makes a token.
    fn token(&self, name: &str) -> String {
        let token = self.place.run(&["token", "new", "--name", name]).stdout.trim().to_owned();
        note_secret(&token);
        token
    }

    /// Calls a tool over REST.
    fn call(&self, token: &str, tool: &str) -> Value {
        note_secret(token);
        let path = format!("/api/tools/{tool}/call");
        self.gateway.ask("POST", &path, &bearer(token), "{}").1
    }

    /// The address in the hint of a call.
    fn address(&self, token: &str, tool: &str) -> String {
        Self::address_in(&self.call(token, tool))
    }

    fn address_in(called: &Value) -> String {
        assert_eq!(called["error_kind"], "unavailable", "{called}");
        let text = called.to_string();
        let at = text.find("http://").unwrap_or_else(|| panic!("no address: {text}"));
        text[at..].split([' ', '"']).next().unwrap().to_owned()
    }

    fn sign_in(&self, token: &str, account: &str) {
        // Which tool there is depends on whether somebody has listed them, which may happen in between.
        let tools = ["docs__whoami", "docs__sign_in", "docs__whoami"];
        let mut called = tools.iter().map(|tool| self.call(token, tool));
        let called = called.find(|called| called["error_kind"] != "not_found").unwrap();
        let visit = Browser::default().sign_in(&Self::address_in(&called), token, account);
        assert_eq!(visit.status, 200, "{visit:?}");
    }

    fn whoami(&self, token: &str) -> Value {
        Self::outcome(&self.call(token, "docs__whoami"))
    }

    /// The result, or the kind of the error.
    fn outcome(called: &Value) -> Value {
        match called["success"] == true {
            true => called["result"].clone(),
            false => called["error_kind"].clone(),
        }
    }
}

impl Drop for PerUserSetup {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        _ = self.gateway.child.kill();
        _ = self.gateway.child.wait();
        assert_no_secret_in(self.place.path(), &self.accounts);
    }
}

// AU-1, AU-3: the sign-in is as good as before, and nobody is asked to sign in again.
#[test]
fn nobody_signs_in_while_the_authorization_server_is_down() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    world.sign_in(&ada, "ada");
    assert_eq!(world.whoami(&ada), "account ada");
    let set_down = |is_down| world.accounts.known().is_down = is_down;
    set_down(true);
    world.accounts.known().expire("ada");
    let called = world.call(&ada, "docs__whoami");
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    let text = called.to_string();
    assert!(text.contains("503") && text.contains("Nobody has to sign in"), "{called}");
    assert!(!text.contains("/sign-in/"), "{called}");
    set_down(false);
    wait_until("the sign-in is used again", || world.whoami(&ada) == "account ada");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

fn bearer(token: &str) -> String {
    match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    }
}

// AU-3
#[test]
fn each_caller_has_its_own_sign_in() {
    let world = PerUserSetup::start();
    let (ada, bob) = (world.token("ada"), world.token("bob"));
    world.sign_in(&ada, "ada");
    assert_eq!(world.whoami(&ada), "account ada");
    assert_eq!(world.whoami(&bob), "unavailable");
    world.sign_in(&bob, "bob");
    assert_eq!(
        (world.whoami(&ada), world.whoami(&bob)),
        (json!("account ada"), json!("account bob"))
    );
    // The owner is a caller like any other.
    assert_eq!(world.whoami(""), "unavailable");
    world.sign_in("", "root");
    assert_eq!(world.whoami(""), "account root");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}
