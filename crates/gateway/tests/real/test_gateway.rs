//! A gateway on loopback, and how the clients are started.

use std::{path::PathBuf, sync::Arc};

use serde_json::json;
use switchboard_access::{Access, NewToken, Tokens};
use switchboard_agent::ChatStore;
use switchboard_gateway::{Config, ConfigState, Feed, Gateway, Metrics, Models, Parts};
use switchboard_mcp_server as mcp;
use switchboard_runtime::{ToolExecutor, services};
use switchboard_testkit::{Fake, ObedientModel};
use switchboard_toolcall::ProfileRules;
use tempfile::TempDir;
use tokio::{net::TcpListener, process::Command};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A gateway that runs until this is dropped.
pub(crate) struct TestGateway {
    pub(crate) url: String,
    token: String,
    _folder: TempDir,
    _running: DropGuard,
}

impl TestGateway {
    pub(crate) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
        let token = NewToken { name: "client".to_owned(), ..NewToken::default() };
        let token = tokens.create(token).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let feed = Arc::new(Feed::new(Arc::new(Metrics::default())));
        let executor = ToolExecutor::builder().observer(feed.clone()).build();
        for tool in tools() {
            executor.tools().add(tool).unwrap();
        }
        for service in services::all(&executor) {
            executor.tools().add_shared(service).unwrap();
        }
        executor.tools().set_profiles(profiles());
        let config = Config::default();
        let access = Access::new(&config.access(), address, tokens).unwrap();
        let mut models = Models::default();
        models.add("parrot", None, Box::new(|| Ok(Arc::new(ObedientModel::default()))));
        let mcp = mcp::Server::new(executor.clone(), None, mcp::Config::default());
        let parts = Parts {
            executor,
            mcp,
            servers: None,
            apis: None,
            feed,
            store: None,
            shared_records: None,
            access,
            tls: None,
            approvals: None,
            queue: None,
            models,
            chats: ChatStore::default(),
            config_state: ConfigState::default(),
            server_editor: None,
            rule_compiler: None,
            about: switchboard_gateway::About::default(),
            config,
        };
        let stop = CancellationToken::new();
        tokio::spawn(Gateway::new(parts).run(listener, stop.clone()));
        let url = format!("http://{address}");
        Self { url, token, _folder: folder, _running: stop.drop_guard() }
    }

    /// Runs a program of the part to its end, and returns what it printed. It finds us in `SWITCHBOARD_URL`, and a token
    /// in `SWITCHBOARD_TOKEN`.
    pub(crate) async fn run(&self, program: &str, args: &[&str]) -> String {
        let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
        let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
        let program = parts.join("gateway-clients/venv/bin").join(program);
        assert!(program.exists(), "no `{}`: run `cargo xtask parts`", program.display());
        let output = Command::new(&program)
            .args(args)
            .env("SWITCHBOARD_URL", &self.url)
            .env("SWITCHBOARD_TOKEN", &self.token)
            .env("NO_PROXY", "127.0.0.1")
            .env("LANGSMITH_TRACING", "false")
            .env("PYTHONPATH", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self._folder.path())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} failed:\n{text}\n{errors}", program.display());
        text
    }
}

/// A profile that renames a tool, and one whose models search.
fn profiles() -> Vec<(String, ProfileRules)> {
    let renamed = json!({"tools": ["echo"], "tool": {"echo": {"name": "repeat"}}});
    let searching = json!({"tools": ["echo", "weather"], "tool_budget": 0});
    let rules = |config| ProfileRules::new(serde_json::from_value(config).unwrap()).unwrap();
    [("renamed", renamed), ("searching", searching)]
        .map(|(name, config)| (name.to_owned(), rules(config)))
        .into()
}

fn tools() -> Vec<Fake> {
    let city = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["C", "F"]},
            "where": {"$ref": "#/$defs/Place"},
        },
        "required": ["city"],
        "$defs": {"Place": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "near": {"$ref": "#/$defs/Place"}},
        }},
    });
    let old = json!({
        "$schema": "http://json-schema.org/draft-04/schema#",
        "id": "http://example.org/old",
        "type": "object",
        "properties": {
            "many": {"type": "integer", "minimum": 0, "exclusiveMinimum": true, "maximum": 9},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
            "kind": {"$ref": "#/definitions/kind"},
        },
        "definitions": {"kind": {"type": "string", "enum": ["a", "b"]}},
    });
    let output = json!({"type": "object", "properties": {"temp": {"type": "integer"}}, "required": ["temp"]});
    vec![
        Fake::echoes("echo").read_only(),
        Fake::answers("weather", json!({"temp": 21}))
            .parameters(city)
            .with(|spec| spec.output_schema = Some(output)),
        Fake::echoes("old").parameters(old),
        Fake::fails("fails", "no luck"),
        Fake::echoes("käse/{1}"),
        Fake::echoes("a.b"),
        Fake::echoes("a-b"),
        Fake::echoes("tool").of_server("server"),
    ]
}
