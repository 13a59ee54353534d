//! Other users of the machine: on loopback, too, they need a token (SPEC GW-2).

use std::{os::unix::process::CommandExt, process::Command};

use serde_json::{Value, json};
use switchboard_gateway::Config;

use crate::{TestGateway, answer};

/// A user that nobody is, `nobody` on most systems.
const NOBODY: u32 = 65534;

/// A gateway for which `request` comes from another user. As root that is a process of another user, and the system's own
/// lookup; a test that may not start one has to pretend.
struct Machine {
    gateway: TestGateway,
    is_root: bool,
}

impl Machine {
    async fn start() -> Self {
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let gateway = match is_root {
            true => TestGateway::start().await,
            false => TestGateway::with_lookup(Config::default(), |_, _| Some(NOBODY)).await,
        };
        Self { gateway, is_root }
    }

    /// What another user is answered: the status and the body.
    async fn ask(&self, method: &str, path: &str, head: &str, body: &Value) -> (String, String) {
        let body = body.to_string();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{head}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        // Without `Connection: close`, so that a POST to /mcp takes the short way; the gateway ends it.
        let script = "exec 3<>/dev/tcp/127.0.0.1/$0; printf %s \"$1\" >&3; timeout 2 cat <&3; true";
        let mut command = Command::new("bash");
        command.args(["-c", script, &self.gateway.address.port().to_string(), &request]);
        command.current_dir("/");
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        (status.to_owned(), body.to_owned())
    }
}

// GW-2
#[tokio::test]
async fn another_user_of_the_machine_needs_a_token() {
    let machine = Machine::start().await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let asked = [
        ("GET", "/api/tools", ""),
        ("POST", "/mcp", ""),
        ("POST", "/api/tools/echo/call", ""),
        ("POST", "/api/approvals/abc", ""),
        ("POST", "/api/servers/abc/stop", ""),
        ("GET", "/metrics", ""),
        ("GET", "/v1/models", "Authorization: Bearer not-needed\r\n"),
    ];
    let why = format!("user {NOBODY} is not the one who runs this gateway");
    let refused = futures_util::future::join_all(
        asked.map(|(method, path, head)| machine.ask(method, path, head, &call)),
    );
    for ((status, body), (_, path, _)) in refused.await.into_iter().zip(asked) {
        assert!(status == "401" && body.contains(&why), "{path}: {status} {body}");
        assert!(body.contains("switchboard token new"), "{path}: {body}");
    }
    let token = machine.gateway.token("other", &["echo"]);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let (status, body) = machine.ask("GET", "/api/tools", &bearer, &json!({})).await;
    assert!(status == "200" && body.contains("echo") && !body.contains("weather"), "{body}");
    assert_eq!(machine.ask("GET", "/healthz", "", &json!({})).await.0, "200");
    let (_, session) = machine.ask("GET", "/api/session", "", &json!({})).await;
    for right in ["may_administer", "may_approve"] {
        assert!(session.contains(&format!("\"{right}\":false")), "{session}");
    }
    assert!(session.contains("\"needs_token\":true"), "{session}");
    if machine.is_root {
        assert_eq!(answer(machine.gateway.get("/api/tools")).await.0, 200, "its own user");
    }
    let calls = machine.gateway.executor.history().recent(10).await.unwrap();
    assert!(calls.is_empty(), "nothing ran");
}

// GW-2: as in a container that shares only the address.
#[tokio::test]
async fn who_cannot_be_found_out_needs_a_token() {
    let gateway = TestGateway::with_lookup(Config::default(), |_, _| None).await;
    let (status, body) = answer(gateway.get("/api/tools")).await;
    let text = body["error"].as_str().unwrap();
    assert!(status == 401 && text.contains("could not be found out"), "{status} {text}");
    let token = gateway.token("some", &["echo"]);
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(token)).await.0, 200);
}
