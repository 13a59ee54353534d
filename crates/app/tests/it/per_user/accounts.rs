//! An MCP server whose users have accounts, and its authorization server: one tool says whose account a call used. What must
//! never happen is written down as a violation.

mod servers;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::fixture::wait_until;
use servers::{api, resource};

/// The grant of RFC 8693.
const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The grant of RFC 7523.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The kind of token that an identity provider gives for one authorization server.
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// What clients send that nobody else may learn.
const SECRETS: [&str; 5] =
    ["code_verifier", "client_secret", "client_assertion", "assertion", "subject_token"];

/// The JWT of a workload that has access.
pub(crate) const WORKLOAD: &str = "ey.of-the-workload.signature";

/// What the server knows.
#[derive(Default)]
pub(crate) struct AccountState {
    count: u32,
    /// The account, redirect address and scopes of a code.
    codes: BTreeMap<String, (String, String, String)>,
    /// The account of each access token that is good.
    access: BTreeMap<String, String>,
    /// The account of each refresh token that is good.
    refresh: BTreeMap<String, String>,
    /// The account of each refresh token that there ever was.
    grants: BTreeMap<String, String>,
    used: BTreeSet<String>,
    /// The used refresh tokens whose answers nobody has read: they may come once more.
    unread: BTreeSet<String>,
    /// Whether refreshes get no answer until this is `false`, and how many wait for that.
    pub(crate) holds: bool,
    waiting: u32,
    /// Whether the authorization server is down.
    pub(crate) is_down: bool,
    /// The account of each MCP session.
    sessions: BTreeMap<String, String>,
    /// How long access tokens are good, in seconds.
    pub(crate) lifetime: u64,
    /// How many sessions of MCP were opened, by account.
    pub(crate) opened: BTreeMap<String, u32>,
    pub(crate) refreshes: u32,
    pub(crate) revoked: u32,
    pub(crate) violations: Vec<String>,
    /// The identity provider's grants that were not used yet, with their accounts.
    assertions: BTreeMap<String, String>,
    /// The authorization server that takes this identity provider's grants.
    pub(crate) trusted_by: Option<Arc<Mutex<AccountState>>>,
    /// Whose tokens are not exchanged.
    pub(crate) refused: Option<String>,
    /// How many requests the HTTP API got, and how many notes it wrote.
    pub(crate) api_requests: u32,
    pub(crate) notes: u32,
    /// Where the HTTP API redirects to.
    pub(crate) elsewhere: Option<String>,
    /// The scope that calls need, if they need one; and whether each refusal wants another one.
    pub(crate) wanted_scope: Option<&'static str>,
    pub(crate) is_insatiable: bool,
    /// The scopes that each account has granted, and how many calls were begun.
    pub(crate) scopes: BTreeMap<String, BTreeSet<String>>,
    pub(crate) calls: u32,
    /// How many requests are being read or answered.
    open: u32,
    /// Every secret that there was.
    pub(crate) secrets: Vec<String>,
}

impl AccountState {
    fn secret(&mut self, what: &str) -> String {
        self.count += 1;
        let secret = format!("{what}-secret-value-{:06}", self.count);
        self.secrets.push(secret.clone());
        secret
    }

    fn tokens(&mut self, account: &str) -> Value {
        let (access, refresh) = (self.secret("access"), self.secret("refresh"));
        self.access.insert(access.clone(), account.to_owned());
        self.refresh.insert(refresh.clone(), account.to_owned());
        self.grants.insert(refresh.clone(), account.to_owned());
        json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": self.lifetime})
    }

    /// Ends the access tokens of an account: they have to be renewed.
    pub(crate) fn expire(&mut self, account: &str) {
        self.access.retain(|_, whose| whose != account);
    }

    /// Ends the grants of an account: its user has to sign in again.
    pub(crate) fn end(&mut self, account: &str) {
        self.expire(account);
        self.refresh.retain(|_, whose| whose != account);
    }

    /// The accounts of the refreshes that were done and have no answer yet. Whoever asked for these may be killed: that token, and no
    /// other, may then come again.
    pub(crate) fn unread(&self) -> BTreeSet<String> {
        let whose = |token: &String| self.grants.get(token).cloned();
        self.unread.iter().filter_map(whose).collect()
    }

    pub(crate) fn forget_unread(&mut self) {
        self.unread.clear();
    }

    fn renew(&mut self, token: &str) -> Option<Value> {
        let account = self.refresh.remove(token);
        if account.is_none() && self.used.contains(token) && !self.unread.remove(token) {
            self.violations.push(format!("{token} was used twice"));
        }
        let account = account?;
        self.used.insert(token.to_owned());
        if self.holds {
            self.unread.insert(token.to_owned());
        }
        self.refreshes += 1;
        Some(self.tokens(&account))
    }
}

pub(crate) struct Accounts {
    pub(crate) origin: String,
    known: Arc<Mutex<AccountState>>,
}

impl Accounts {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let known =
            Arc::new(Mutex::new(AccountState { lifetime: 3600, ..AccountState::default() }));
        let (of_thread, shared) = (origin.clone(), known.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (origin, known) = (of_thread.clone(), shared.clone());
                known.lock().unwrap().open += 1;
                thread::spawn(move || {
                    answer(stream.unwrap(), &origin, &known);
                    known.lock().unwrap().open -= 1;
                });
            }
        });
        Self { origin, known }
    }

    pub(crate) fn shared(&self) -> Arc<Mutex<AccountState>> {
        self.known.clone()
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, AccountState> {
        self.known.lock().unwrap()
    }

    /// Waits until every request that was sent before has been handled, also those of a process that was killed meanwhile, and then
    /// answers those that are held.
    pub(crate) fn settle(&self) {
        // Connections are accepted in their order, so after this one there is none of before.
        let mut last = TcpStream::connect(self.origin.trim_start_matches("http://")).unwrap();
        last.write_all(b"GET /settled HTTP/1.1\r\n\r\n").unwrap();
        last.read_to_end(&mut Vec::new()).unwrap();
        let is_handled = || {
            let known = self.known();
            known.open == known.waiting
        };
        wait_until("every request is handled", is_handled);
        self.known().holds = false;
        wait_until("every request is answered", || self.known().open == 0);
    }
}

/// A request, read whole.
struct ReceivedRequest {
    path: String,
    parameters: BTreeMap<String, String>,
    token: Option<String>,
    session: Option<String>,
    body: Vec<u8>,
    is_post: bool,
}

/// Answers one request.
fn answer(stream: TcpStream, origin: &str, known: &Mutex<AccountState>) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let (mut length, mut token, mut session) = (0, None, None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        let Some((name, value)) = line.trim().split_once(':') else { continue };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => token = value.trim().strip_prefix("Bearer ").map(str::to_owned),
            "mcp-session-id" => session = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let form = match query {
        "" => String::from_utf8_lossy(&body).into_owned(),
        query => query.to_owned(),
    };
    let (path, parameters) = (path.to_owned(), super::parameters(&form));
    let is_post = first.starts_with("POST");
    let asked = ReceivedRequest { path, parameters, token, session, body, is_post };
    let (status, headers, content) = respond(&asked, origin, &mut known.lock().unwrap());
    if asked.parameters.get("grant_type").is_some_and(|grant| grant == "refresh_token") {
        hold(known);
    }
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    _ = reader.get_mut().write_all(format!("{head}{content}").as_bytes());
}

/// Waits until answers to refreshes are sent.
fn hold(known: &Mutex<AccountState>) {
    known.lock().unwrap().waiting += 1;
    while known.lock().unwrap().holds {
        thread::sleep(Duration::from_millis(2));
    }
    known.lock().unwrap().waiting -= 1;
}

type Answer = (&'static str, String, String);

fn json_answer(status: &'static str, value: &Value) -> Answer {
    (status, "Content-Type: application/json\r\n".to_owned(), value.to_string())
}

fn respond(asked: &ReceivedRequest, origin: &str, known: &mut AccountState) -> Answer {
    let parameter = |name: &str| asked.parameters.get(name).cloned().unwrap_or_default();
    let ok = |value: Value| json_answer("200 OK", &value);
    match asked.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => {
            ok(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
        }
        "/.well-known/oauth-protected-resource/api" => {
            ok(json!({"resource": format!("{origin}/api"), "authorization_servers": [origin]}))
        }
        "/.well-known/oauth-authorization-server" => ok(json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"), "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        })),
        "/register" => ok(json!({"client_id": "ours"})),
        // The user names the account.
        "/authorize" => {
            let (redirect, code) = (parameter("redirect_uri"), known.secret("code"));
            let granted = (parameter("account"), redirect.clone(), parameter("scope"));
            known.codes.insert(code.clone(), granted);
            super::note_secret(&parameter("state"));
            let to = format!("{redirect}?code={code}&state={}&iss={origin}", parameter("state"));
            ("302 Found", format!("Location: {to}\r\n"), String::new())
        }
        "/token" if known.is_down => {
            ("503 Service Unavailable", String::new(), "Come back later.".to_owned())
        }
        "/token" => {
            for name in SECRETS {
                super::note_secret(&parameter(name));
            }
            let granted = match parameter("grant_type").as_str() {
                "refresh_token" => known.renew(&parameter("refresh_token")),
                EXCHANGE => exchanged(&asked.parameters, known),
                JWT_BEARER => {
                    let assertion = parameter("assertion");
                    let account = known.assertions.remove(&assertion);
                    let account = account.or((assertion == WORKLOAD).then(|| "nightly".to_owned()));
                    account.map(|account| known.tokens(&account))
                }
                "client_credentials" => Some(known.tokens("nightly")),
                _ => {
                    let code = known.codes.remove(&parameter("code"));
                    let code = code.filter(|(_, to, _)| *to == parameter("redirect_uri"));
                    code.map(|(account, _, scopes)| {
                        let scopes = scopes.split_whitespace().map(str::to_owned).collect();
                        known.scopes.insert(account.clone(), scopes);
                        known.tokens(&account)
                    })
                }
            };
            match granted {
                Some(tokens) => ok(tokens),
                None => json_answer("400 Bad Request", &json!({"error": "invalid_grant"})),
            }
        }
        "/revoke" => {
            let token = parameter("token");
            known.access.remove(&token);
            known.refresh.remove(&token);
            known.revoked += 1;
            ok(json!({}))
        }
        "/mcp" => resource(asked, known),
        path if path.starts_with("/api/") => api(asked, origin, known),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

/// The account is the subject of the token; whose token it may be was checked by the gateway.
fn exchanged(parameters: &BTreeMap<String, String>, known: &mut AccountState) -> Option<Value> {
    let token = parameters.get("subject_token")?;
    known.secrets.push(token.clone());
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let account =
        claims["sub"].as_str().filter(|account| known.refused.as_deref() != Some(account))?;
    if parameters.get("requested_token_type").is_none_or(|kind| kind != ID_JAG) {
        return Some(known.tokens(account));
    }
    let assertion = known.secret("id-jag");
    let there = known.trusted_by.as_ref()?;
    there.lock().unwrap().assertions.insert(assertion.clone(), account.to_owned());
    Some(json!({"access_token": assertion, "issued_token_type": ID_JAG, "token_type": "N_A"}))
}
