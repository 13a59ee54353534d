//! The gateway as programs see it.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod access;
mod administration;
mod isolation;
mod approvals;
mod artifacts;
mod chat;
mod chats;
mod cluster_calls;
mod calls;
mod console;
mod discovery;
mod events;
mod figures;
mod forms;
mod issuer;
mod jwt;
mod life;
mod limits;
mod log;
mod manual;
mod oauth;
mod pages;
mod openapi;
mod peers;
mod connections;
mod editing;
mod questions;
mod queued;
mod rest;
mod routes;
mod runs;
mod servers;
mod session;
mod tls;
mod turns;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use administration::TestRules;
use editing::FakeEditor;
use queued::ManualQueue;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use switchboard_access::{Access, NewToken, Tokens, UserLookup};
use switchboard_agent::{ChatStore, RunLimits, RunRecording, RunStore};
use switchboard_approvals::ApprovalQueue;
use switchboard_audit::{SharedRecords, Store};
use switchboard_gateway::{Config, ConfigState, Feed, Gateway, Metrics, Models, Parts, Tls};
use switchboard_mcp_client::Servers;
use switchboard_mcp_server as mcp;
use switchboard_mcp_wire::Upstreams;
use switchboard_models::Price;
use switchboard_rules::RuleSet;
use switchboard_runtime::{
    ArtifactStore, DurableCalls, MemoryArtifacts, PolicyConfig, RulePolicy, ToolExecutor,
};
use switchboard_testkit::{Fake, ObedientModel, Witness};
use switchboard_toolcall::ToolPatterns;
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// A gateway that runs on loopback.
struct TestGateway {
    address: SocketAddr,
    client: Client,
    executor: ToolExecutor,
    tokens: Arc<Tokens>,
    witness: Witness,
    parrot: ObedientModel,
    approvals: Arc<ApprovalQueue>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    servers: Option<Arc<Servers>>,
    editor: Arc<FakeEditor>,
    config_state: ConfigState,
    _folder: TempDir,
}

impl TestGateway {
    async fn start() -> Self {
        Self::configured(Config::default()).await
    }

    /// A gateway whose calls are written down.
    async fn recording() -> Self {
        Self::built(Config::default(), switchboard_agent::Config::default(), true).await
    }

    async fn configured(config: Config) -> Self {
        Self::built(config, switchboard_agent::Config::default(), false).await
    }

    /// A gateway whose loop has other limits.
    async fn looping(config: Config, agent: switchboard_agent::Config) -> Self {
        Self::built(config, agent, false).await
    }

    /// A gateway with a server behind it.
    async fn with_server(config: Config, server: &str) -> Self {
        let agent = switchboard_agent::Config::default();
        Self::put_together(config, agent, true, Some(server), false, None, None).await.0
    }

    /// A gateway to which the users of connections are who `lookup` says.
    async fn with_lookup(config: Config, lookup: UserLookup) -> Self {
        let agent = switchboard_agent::Config::default();
        Self::put_together(config, agent, false, None, false, Some(lookup), None).await.0
    }

    /// A gateway of a cluster whose nodes have these records.
    async fn in_cluster(records: Arc<dyn SharedRecords>) -> Self {
        let (config, agent) = (Config::default(), switchboard_agent::Config::default());
        Self::put_together(config, agent, true, None, false, None, Some(records)).await.0
    }

    async fn built(config: Config, agent: switchboard_agent::Config, records: bool) -> Self {
        Self::put_together(config, agent, records, None, false, None, None).await.0
    }

    /// A gateway with a queue.
    async fn queueing() -> (Self, Arc<ManualQueue>) {
        let agent = switchboard_agent::Config::default();
        let (gateway, queue) =
            Self::put_together(Config::default(), agent, true, None, true, None, None).await;
        (gateway, queue.unwrap())
    }

    async fn put_together(
        config: Config,
        agent: switchboard_agent::Config,
        records: bool,
        server: Option<&str>,
        queues: bool,
        lookup: Option<UserLookup>,
        shared_records: Option<Arc<dyn SharedRecords>>,
    ) -> (Self, Option<Arc<ManualQueue>>) {
        let folder = TempDir::new().unwrap();
        let tokens = Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let store = records.then(|| Store::open(Default::default(), folder.path().join("records")));
        let feed = Arc::new(Feed::new(Arc::new(Metrics::default())));
        let approvals = Arc::new(ApprovalQueue::open(folder.path().join("approvals")));
        let rules = rules();
        let artifacts: Arc<dyn ArtifactStore> = match &store {
            Some(store) => Arc::new(store.clone()),
            None => Arc::new(MemoryArtifacts::default()),
        };
        let executor = match &store {
            Some(store) => ToolExecutor::builder().store(Arc::new(store.clone())),
            None => ToolExecutor::builder(),
        };
        let executor = executor
            .observer(feed.clone())
            .approver(approvals.clone())
            .artifacts(artifacts)
            .policy(RuleSet::new(&config.allow_if, &config.deny_if, rules).unwrap())
            .build();
        let witness = Witness::default();
        for tool in tools(&witness) {
            executor.tools().add(tool).unwrap();
        }
        let access = Access::new(&config.access(), address, tokens.clone()).unwrap();
        let access = match lookup {
            Some(lookup) => access.with_lookup(lookup),
            None => access,
        };
        let tls = config.tls.clone().map(Tls::open).transpose().unwrap();
        let stop = CancellationToken::new();
        let servers = server.map(|script| servers::started(&executor, script));
        let upstreams = servers.clone().map(|servers| servers as Arc<dyn Upstreams>);
        let mcp = mcp::Server::new(executor.clone(), upstreams, mcp::Config::default());
        let parrot = ObedientModel::default();
        let queue = queues.then(|| Arc::new(ManualQueue::new(executor.clone())));
        let durable = queue.clone().map(|queue| queue as Arc<dyn DurableCalls>);
        let (editor, config_state) = (Arc::<FakeEditor>::default(), ConfigState::default());
        let parts = Parts {
            executor: executor.clone(),
            mcp,
            servers: servers.clone(),
            apis: None,
            feed,
            store,
            shared_records,
            access,
            tls,
            approvals: Some(approvals.clone()),
            queue: durable,
            models: models(&parrot, agent, records.then(|| folder.path().join("records"))),
            chats: ChatStore::within(Some(folder.path())),
            config_state: config_state.clone(),
            server_editor: Some(editor.clone()),
            rule_compiler: Some(Arc::new(TestRules)),
            about: switchboard_gateway::About::default(),
            config,
        };
        let running = Some(tokio::spawn(Gateway::new(parts).run(listener, stop.clone())));
        let client = http_client();
        let gateway = Self {
            address,
            client,
            executor,
            tokens,
            witness,
            parrot,
            approvals,
            stop,
            running,
            servers,
            editor,
            config_state,
            _folder: folder,
        };
        (gateway, queue)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    fn call(&self, tool: &str, args: &Value) -> RequestBuilder {
        self.client.post(self.url(&format!("/api/tools/{tool}/call"))).json(args)
    }

    /// A token that may see these tools, and knows of everybody's calls of them.
    fn watcher(&self, name: &str, tools: &[&str]) -> String {
        let tools = Some(tools.iter().map(ToString::to_string).collect());
        let name = name.to_owned();
        self.tokens.create(NewToken { name, tools, watch: true, ..Default::default() }).unwrap()
    }

    /// A token that may see these tools.
    fn token(&self, name: &str, tools: &[&str]) -> String {
        let tools = Some(tools.iter().map(ToString::to_string).collect());
        self.tokens.create(NewToken { name: name.to_owned(), tools, ..Default::default() }).unwrap()
    }
}

fn rules() -> RulePolicy {
    let rules = PolicyConfig {
        deny: vec!["forbidden".to_owned()],
        ask: vec!["delete_*".to_owned()],
        ..Default::default()
    };
    RulePolicy::new(rules).unwrap()
}

fn http_client() -> Client {
    // reqwest is built without a provider of its own.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A parrot under three names, one with few tools and one with a price, and a model that cannot be had; their runs are written within `records`.
fn models(
    parrot: &ObedientModel,
    agent: switchboard_agent::Config,
    records: Option<PathBuf>,
) -> Models {
    let mut models = Models::new(agent);
    models.record_runs(records.map(|folder| RunRecording {
        store: RunStore::within(&folder),
        model: String::new(),
        tools: Vec::new(),
        profile: None,
        chat: None,
        id: None,
        request: None,
        limits: RunLimits { age: Duration::from_secs(3600), bytes: u64::MAX },
    }));
    let (one, other) = (parrot.clone(), parrot.clone());
    models.add("parrot", None, Box::new(move || Ok(Arc::new(one.clone()))));
    let few = ToolPatterns::new(&["e*", "wait"]).unwrap();
    models.add("shy", Some(few), Box::new(move || Ok(Arc::new(other.clone()))));
    let priced = parrot.clone().with_price(Price { input: 1.0, output: 1.0 });
    models.add("priced", None, Box::new(move || Ok(Arc::new(priced.clone()))));
    models.add("keyless", None, Box::new(|| Err("there is no key".into())));
    models
}

/// The status and the body.
async fn answer(request: RequestBuilder) -> (u16, Value) {
    read(request.send().await.unwrap()).await
}

async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

fn tools(witness: &Witness) -> Vec<Fake> {
    let city = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    });
    vec![
        Fake::echoes("echo").read_only(),
        Fake::answers("weather", json!({"temp": 21})).parameters(city),
        Fake::fails("fails", "no luck"),
        Fake::waits("wait", witness),
        Fake::answers("forbidden", json!(1)),
        Fake::new("panics", |_, _| async { panic!("boom") }),
    ]
}
