//! The servers behind us: seen, followed, stopped and started.

use std::sync::Arc;

use indexmap::IndexMap;
use reqwest::Response;
use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_gateway::Config;
use switchboard_mcp_client::{ServerConfig, ServerDeps, Servers};
use switchboard_runtime::{ServerLink, ServerSettings, ToolExecutor};
use switchboard_testkit::{Fake, until, until_some};
use switchboard_toolcall::{BoxFuture, ToolError};

use crate::{TestGateway, answer};

/// A server in a few lines of shell: it has one valid tool and one with an invalid schema.
pub(crate) const TINY: &str = r#"
echo "tiny begins at http://ada:hunter2@127.0.0.1" >&2
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny-server","version":"1.2"}}}\n' "$id";;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"hello","description":"says it","inputSchema":{"type":"object"}},{"name":"bad","description":"x","inputSchema":{"type":"array"}}]}}\n' "$id";;
    *'"tools/call"'*) echo "called" >&2; printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hi"}]}}\n' "$id";;
  esac
done
"#;

/// The server `tiny`, which is this script.
pub(crate) fn started(executor: &ToolExecutor, script: &str) -> Arc<Servers> {
    let config: ServerConfig = serde_json::from_value(json!({
        "command": "sh", "args": ["-c", script], "protocol": "legacy",
    }))
    .unwrap();
    let around = ServerDeps::new(executor.tools());
    let configs = IndexMap::from([("tiny".to_owned(), config)]);
    Arc::new(Servers::start(configs, executor.tools(), &around).unwrap())
}

impl TestGateway {
    async fn server(&self) -> Value {
        let (status, server) = answer(self.get("/api/servers/tiny")).await;
        assert_eq!(status, 200, "{server}");
        server
    }

    async fn until_server(&self, is: impl Fn(&Value) -> bool) -> Value {
        until_some(async || Some(self.server().await).filter(|server| is(server))).await
    }

    async fn act(&self, act: &str) -> Value {
        let request = self.client.post(self.url(&format!("/api/servers/tiny/{act}")));
        let (status, server) = answer(request).await;
        assert_eq!(status, 200, "{server}");
        server
    }

    async fn close(self) {
        self.servers.as_ref().unwrap().close().await;
    }
}

fn is_ready(server: &Value) -> bool {
    server["state"] == "ready"
}

/// A group of workers, as its link describes it.
struct Group;

impl ServerLink for Group {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn status(&self) -> Value {
        let worker = json!({"id": "w1", "running": 2, "capacity": 8, "version": "1", "started": 7});
        json!({"state": "ready", "type": "workers", "workers": [worker]})
    }
}

#[tokio::test]
async fn groups_of_workers_are_shown_beside_servers() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    let settings = ServerSettings { link: Some(Arc::new(Group)), ..ServerSettings::default() };
    gateway.executor.tools().add_server("gpu", settings).unwrap();
    let tool = Fake::echoes("resize").of_server("gpu").shared();
    gateway.executor.tools().set_server_tools("gpu", vec![tool]);
    let (_, all) = answer(gateway.get("/api/servers")).await;
    assert_eq!((&all[0]["name"], &all[1]["name"]), (&json!("tiny"), &json!("gpu")));
    let (status, group) = answer(gateway.get("/api/servers/gpu")).await;
    assert_eq!((status, &group), (200, &all[1]));
    assert_eq!((&group["kind"], &group["state"]), (&json!("workers"), &json!("ready")));
    assert_eq!((&group["tools"], &group["workers"][0]["running"]), (&json!(1), &json!(2)));
    // It is nobody's to be stopped from here.
    let stop = gateway.client.post(gateway.url("/api/servers/gpu/stop"));
    assert_eq!(answer(stop).await.0, 404);
    gateway.close().await;
}

// MC-4
#[tokio::test]
async fn a_server_is_shown_with_all_that_is_known_of_it() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    let server = gateway.until_server(is_ready).await;
    let known = json!({"name": "tiny-server", "version": "1.2"});
    assert_eq!((&server["server"], &server["kind"]), (&known, &json!("stdio")));
    assert_eq!((&server["era"], &server["protocol"]), (&json!("legacy"), &json!("2025-06-18")));
    assert_eq!((&server["tools"], &server["restarts"]), (&json!(1), &json!(0)));
    assert_eq!((&server["error"], &server["clients"]), (&Value::Null, &json!(0)));
    assert!(server["skipped_tools"][0].as_str().unwrap().contains("bad"), "{server}");
    assert!(server["since"].as_str().unwrap().ends_with('Z'));
    let server = gateway.until_server(|server| server["stderr"][0].is_string()).await;
    let line = server["stderr"][0].as_str().unwrap();
    assert!(line.starts_with("tiny begins") && !line.contains("hunter2"), "{line}");
    let (_, all) = answer(gateway.get("/api/servers")).await;
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    assert_eq!(answer(gateway.get("/api/servers/other")).await.0, 404);
    let (_, tool) = answer(gateway.get("/api/tools/tiny__hello")).await;
    assert_eq!(tool["health"], "ready");
    gateway.close().await;
}

#[tokio::test]
async fn a_server_can_be_stopped_started_and_connected_anew() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    gateway.until_server(is_ready).await;
    assert_eq!(answer(gateway.call("tiny__hello", &json!({}))).await.0, 200);

    assert_eq!(gateway.act("stop").await["state"], "stopped");
    gateway.until_server(|server| server["tools"] == 0).await;
    let (status, envelope) = answer(gateway.call("tiny__hello", &json!({}))).await;
    assert_eq!((status, &envelope["error_kind"]), (503, &json!("unavailable")), "{envelope}");
    assert_eq!(gateway.act("stop").await["state"], "stopped");

    gateway.act("start").await;
    let server = gateway.until_server(is_ready).await;
    assert_eq!(server["restarts"], 1);
    assert_eq!(answer(gateway.call("tiny__hello", &json!({}))).await.0, 200);
    assert_eq!(gateway.act("start").await["state"], "ready", "it runs already");

    gateway.act("reconnect").await;
    let is_again = |server: &Value| is_ready(server) && server["restarts"] == 2;
    gateway.until_server(is_again).await;
    assert_eq!(answer(gateway.call("tiny__hello", &json!({}))).await.0, 200);
    gateway.close().await;
}

// MC-6
#[tokio::test]
async fn what_went_wrong_stays_known() {
    let gateway = TestGateway::with_server(Config::default(), "echo no >&2; exit 3").await;
    let server = gateway.until_server(|server| server["error"].is_string()).await;
    assert!(server["error_at"].is_string(), "{server}");
    gateway.act("stop").await;
    assert_eq!(gateway.server().await["error"], server["error"]);
    gateway.close().await;
}

/// Reads the stream until it has these lines.
async fn until_lines(response: &mut Response, wanted: &[&str]) {
    let mut text = String::new();
    while !wanted.iter().all(|line| text.contains(line)) {
        let chunk = response.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(!text.contains("hunter2"), "{text}");
}

// MC-4
#[tokio::test]
async fn stderr_is_followed_across_restarts() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    gateway.until_server(is_ready).await;
    gateway.until_server(|server| server["stderr"][0].is_string()).await;
    let mut lines = gateway.get("/api/servers/tiny/stderr").send().await.unwrap();
    assert_eq!(lines.headers()["content-type"], "text/event-stream");
    until_lines(&mut lines, &["\"line\":\"tiny begins", "\"at\":"]).await;
    answer(gateway.call("tiny__hello", &json!({}))).await;
    until_lines(&mut lines, &["called"]).await;
    gateway.act("reconnect").await;
    until_lines(&mut lines, &["tiny begins"]).await;
    gateway.close().await;
}

// GW-2
#[tokio::test]
async fn only_an_admin_does_more_than_look() {
    let config = Config { require_token: true, ..Config::default() };
    let gateway = TestGateway::with_server(config, TINY).await;
    let new = |name: &str, admin| NewToken { name: name.to_owned(), admin, ..Default::default() };
    let admin = gateway.tokens.create(new("admin", true)).unwrap();
    let plain = gateway.tokens.create(new("plain", false)).unwrap();
    let narrow = gateway.token("narrow", &["echo"]);
    let state = async || {
        answer(gateway.get("/api/servers/tiny").bearer_auth(&admin)).await.1["state"].clone()
    };
    until(async || state().await == "ready").await;
    let (status, server) = answer(gateway.get("/api/servers/tiny").bearer_auth(&plain)).await;
    assert_eq!((status, &server["stderr"]), (200, &Value::Null));
    assert_eq!(answer(gateway.get("/api/servers").bearer_auth(&narrow)).await.1, json!([]));
    for (token, expected) in [(&plain, 403), (&narrow, 404)] {
        for act in ["reconnect", "stop", "start"] {
            let request = gateway.client.post(gateway.url(&format!("/api/servers/tiny/{act}")));
            let (status, refusal) = answer(request.bearer_auth(token)).await;
            assert_eq!(status, expected, "{act}: {refusal}");
        }
        let lines = gateway.get("/api/servers/tiny/stderr").bearer_auth(token);
        assert_eq!(answer(lines).await.0, expected);
    }
    let (_, refusal) =
        answer(gateway.client.post(gateway.url("/api/servers/tiny/stop")).bearer_auth(&plain))
            .await;
    assert!(refusal["error"].as_str().unwrap().contains("token new --admin"), "{refusal}");
    let stop = gateway.client.post(gateway.url("/api/servers/tiny/stop")).bearer_auth(&admin);
    assert_eq!(answer(stop).await.1["state"], "stopped");
    gateway.close().await;
}
