//! Servers are added, removed, switched on and off; by whom.

use std::sync::Mutex;

use serde_json::{Value, json};
use switchboard_access::NewToken;
use switchboard_gateway::{
    AddedServer, Config, ConfigSnapshot, EditError, NewServer, ServerEditor,
};
use switchboard_mcp_client::ServerConfig;
use switchboard_toolcall::BoxFuture;

use crate::{TestGateway, answer};

/// Writes down what it is asked for, and fails as it is told.
#[derive(Default)]
pub(crate) struct FakeEditor {
    asked: Mutex<Vec<String>>,
    failure: Mutex<Option<EditError>>,
}

impl FakeEditor {
    fn note<T>(&self, asked: String, made: T) -> Result<T, EditError> {
        self.asked.lock().unwrap().push(asked);
        self.failure.lock().unwrap().take().map_or(Ok(made), Err)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn fail(&self, error: EditError) {
        *self.failure.lock().unwrap() = Some(error);
    }
}

impl ServerEditor for FakeEditor {
    fn add(&self, server: NewServer) -> BoxFuture<'_, Result<AddedServer, EditError>> {
        let name = server.name.clone().unwrap_or_default();
        let added = AddedServer { name, tools: vec!["time__now".to_owned()], notes: Vec::new() };
        let asked = format!("add {:?} {:?} {:?}", server.command, server.env, server.headers);
        Box::pin(async move { self.note(asked, added) })
    }

    fn enable(&self, name: String, is_enabled: bool) -> BoxFuture<'_, Result<(), EditError>> {
        Box::pin(async move { self.note(format!("enable {name} {is_enabled}"), ()) })
    }

    fn remove(&self, name: String) -> BoxFuture<'_, Result<(), EditError>> {
        Box::pin(async move { self.note(format!("remove {name}"), ()) })
    }
}

impl TestGateway {
    async fn add_server(&self, bearer: Option<&str>, body: &Value) -> (u16, Value) {
        let request = self.client.post(self.url("/api/servers")).json(body);
        answer(match bearer {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    }

    async fn act_on_server(&self, bearer: &str, act: &str) -> u16 {
        let request = match act {
            "remove" => self.client.delete(self.url("/api/servers/time")),
            act => self.client.post(self.url(&format!("/api/servers/time/{act}"))),
        };
        answer(request.bearer_auth(bearer)).await.0
    }
}

fn time() -> Value {
    json!({"name": "time", "command": ["uvx", "mcp-server-time"], "env": {"A": "b"}})
}

// GW-1
#[tokio::test]
async fn the_user_of_the_machine_adds_removes_and_switches_servers() {
    let gateway = TestGateway::start().await;
    let (status, added) = gateway.add_server(None, &time()).await;
    assert_eq!((status, &added["tools"]), (201, &json!(["time__now"])), "{added}");
    let post = |path: &str| gateway.client.post(gateway.url(path));
    assert_eq!(answer(post("/api/servers/time/disable")).await.0, 204);
    assert_eq!(answer(post("/api/servers/time/enable")).await.0, 204);
    assert_eq!(answer(gateway.client.delete(gateway.url("/api/servers/time"))).await.0, 204);
    assert_eq!(
        gateway.editor.asked(),
        [
            r#"add ["uvx", "mcp-server-time"] {"A": "b"} {}"#,
            "enable time false",
            "enable time true",
            "remove time"
        ]
    );
    for wrong in [json!("x"), json!({"nam": "x"}), json!({"command": "uvx"})] {
        assert_eq!(gateway.add_server(None, &wrong).await.0, 400, "{wrong}");
    }
    assert_eq!(gateway.editor.asked(), [""; 0]);
}

// GW-1
#[tokio::test]
async fn why_a_server_was_not_added_is_said_without_secrets() {
    let gateway = TestGateway::start().await;
    let text = || "no; api_key=sk-abcdefghijklmnopqrstuvwx0123456789".to_owned();
    for (error, expected) in [
        (EditError::Wrong(text()), 400),
        (EditError::NoAnswer(text()), 400),
        (EditError::Unknown(text()), 404),
        (EditError::Conflict(text()), 409),
        (EditError::NotWritten(text()), 503),
    ] {
        gateway.editor.fail(error);
        let (status, said) = gateway.add_server(None, &time()).await;
        assert_eq!(status, expected, "{said}");
        assert!(!said.to_string().contains("sk-abc"), "{said}");
    }
}

// GW-2
#[tokio::test]
async fn tokens_switch_servers_but_do_not_choose_programs() {
    let named = |name: &str| NewToken { name: name.to_owned(), ..NewToken::default() };
    let admin = |name: &str| NewToken { admin: true, ..named(name) };
    let gateway = TestGateway::start().await;
    let plain = gateway.tokens.create(named("plain")).unwrap();
    let boss = gateway.tokens.create(admin("boss")).unwrap();
    let narrow = NewToken { tools: Some(vec!["e*".to_owned()]), ..admin("narrow") };
    let narrow = gateway.tokens.create(narrow).unwrap();
    for (token, add, switch) in [(&plain, 403, 403), (&narrow, 403, 403), (&boss, 403, 204)] {
        assert_eq!(gateway.add_server(Some(token), &time()).await.0, add);
        assert_eq!(gateway.act_on_server(token, "remove").await, add);
        assert_eq!(gateway.act_on_server(token, "disable").await, switch);
        assert_eq!(gateway.act_on_server(token, "enable").await, switch);
    }
    assert_eq!(gateway.editor.asked(), ["enable time false", "enable time true"]);
    let (_, session) = answer(gateway.get("/api/session").bearer_auth(&boss)).await;
    assert_eq!(session["may_add_servers"], json!(false));

    let config = Config { admins_add_servers: true, ..Config::default() };
    let gateway = TestGateway::configured(config).await;
    let boss = gateway.tokens.create(admin("boss")).unwrap();
    let plain = gateway.tokens.create(named("plain")).unwrap();
    assert_eq!(gateway.add_server(Some(&boss), &time()).await.0, 201);
    assert_eq!(gateway.act_on_server(&boss, "remove").await, 204);
    assert_eq!(gateway.add_server(Some(&plain), &time()).await.0, 403);
}

// GW-1
#[tokio::test]
async fn servers_that_are_off_are_listed_for_those_who_may_switch_them_on() {
    let gateway = TestGateway::start().await;
    let args = vec!["--key".to_owned(), "sk-abcdefghijklmnopqrstuvwx0123456789".to_owned()];
    let off = ServerConfig { command: Some("memory".to_owned()), args, ..ServerConfig::default() };
    let disabled = vec![("memory".to_owned(), off)];
    gateway.config_state.apply(ConfigSnapshot { disabled, ..ConfigSnapshot::default() });
    let (_, listed) = answer(gateway.get("/api/servers")).await;
    let shown = &listed[0];
    assert_eq!((&shown["name"], &shown["state"]), (&json!("memory"), &json!("disabled")));
    assert!(!listed.to_string().contains("sk-abc"), "{listed}");
    let token = gateway.token("plain", &["*"]);
    let (_, listed) = answer(gateway.get("/api/servers").bearer_auth(token)).await;
    assert_eq!(listed, json!([]));
}

// GW-2
#[tokio::test]
async fn what_a_token_sees_is_listed() {
    let gateway = TestGateway::start().await;
    gateway.token("cursor", &["e*"]);
    let (status, tools) = answer(gateway.get("/api/tokens/cursor/tools")).await;
    assert_eq!((status, tools), (200, json!([{"name": "echo", "asks": false}])));
    assert_eq!(answer(gateway.get("/api/tokens/nobody/tools")).await.0, 404);
    let plain = gateway.token("plain", &["*"]);
    let (status, _) = answer(gateway.get("/api/tokens/cursor/tools").bearer_auth(plain)).await;
    assert_eq!(status, 403);
}
