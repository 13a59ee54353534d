//! Our client as the MCP conformance suite drives it: `conformance_client URL`.
//!
//! The suite says in `MCP_CONFORMANCE_SCENARIO`, `_CONTEXT` and `_PROTOCOL_VERSION` what it wants to see; all of it
//! goes through the same servers and executor as everything else does. A server that wants a sign-in is signed in to as
//! `switchboard login` does it, with a browser that follows redirects: that is how the suite consents. See
//! docs/conformance.md.

use std::{
    collections::BTreeSet,
    env,
    error::Error,
    fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::join_all;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use switchboard_mcp_client::{
    McpConfig, OauthDeps, OutgoingRequest, Protocol, Server, ServerAuth, ServerConfig, ServerDeps,
    Servers, Session,
};
use switchboard_mcp_wire::{List, RpcError, ServerRequest, ServerRequestHandler};
use switchboard_oauth::{
    HttpClient, IdpConfig, OauthConfig, SecretObserver, SignIn, VaultCredentials,
};
use switchboard_runtime::{ToolExecutor, toolcall::BoxFuture};
use switchboard_testkit::{Logs, secrets};
use switchboard_vault::{SystemKeyring, Vault};
use tracing::Level;

/// What the server is called; the suite never sees it.
const SERVER: &str = "suite";

/// The suite's client id metadata document.
const METADATA_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// How often a person would sign in for one thing before giving up.
const MOST_SIGN_INS: usize = 3;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to hear that stderr is closed.
            _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let url = env::args().next_back().ok_or("the last argument is the server's URL")?;
    let logs = Logs::collect(Level::TRACE);
    let executor = ToolExecutor::default();
    let (folder, occurred) = (tempfile::tempdir()?, Occurred::default());
    let oauth = oauth(folder.path(), &occurred)?;
    let deps = ServerDeps {
        oauth: Some(oauth.clone()),
        mcp: McpConfig { retry_attempts: 1, ..McpConfig::default() },
        answers: Arc::new(Accepts),
        ..ServerDeps::new(executor.tools())
    };
    let servers = IndexMap::from([(SERVER.to_owned(), config(url))]);
    let servers = Servers::start(servers, executor.tools(), &deps)?;
    let driver = Driver { executor, servers, oauth };
    let outcome = driver.play(&variable("MCP_CONFORMANCE_SCENARIO")).await;
    driver.servers.close().await;
    fs::write(folder.path().join("log"), logs.lines().join("\n"))?;
    occurred.are_nowhere_in(folder.path())?;
    outcome
}

/// A vault of this run's own.
fn oauth(folder: &Path, occurred: &Occurred) -> Outcome<OauthDeps> {
    let vault = Vault::new(folder.join("vault"), Arc::new(SystemKeyring::new(None, folder)));
    let http = HttpClient::new()?.observed_by(occurred.observer());
    Ok(OauthDeps::new(http, VaultCredentials::new(vault), occurred.observer()))
}

/// Every secret that occurred in this run.
#[derive(Clone, Default)]
struct Occurred(Arc<Mutex<BTreeSet<String>>>);

impl Occurred {
    fn observer(&self) -> SecretObserver {
        let occurred = self.0.clone();
        Arc::new(move |secret| {
            occurred.lock().unwrap_or_else(PoisonError::into_inner).insert(secret.expose().into());
            Box::new(())
        })
    }

    /// Checks that none is in the vault's files or in the log, which has every line that there could be.
    fn are_nowhere_in(&self, folder: &Path) -> Outcome {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A shorter one is a word of the suite's.
        let secrets: Vec<_> =
            secrets.iter().map(String::as_str).filter(|it| it.len() > 8).collect();
        if folder.join("vault").exists() && secrets.is_empty() {
            return Err("there is a sign-in, and no secret was observed".into());
        }
        let leaks = secrets::scan(folder, &[], &secrets);
        let leaks: Vec<_> = leaks.iter().map(ToString::to_string).collect();
        match leaks.is_empty() {
            true => Ok(()),
            false => Err(format!("secrets were written: {}", leaks.join("; ")).into()),
        }
    }
}

fn variable(name: &str) -> String {
    env::var_os(name).unwrap_or_default().to_string_lossy().into_owned()
}

fn config(url: String) -> ServerConfig {
    ServerConfig {
        url: Some(url),
        auth: auth(&variable("MCP_CONFORMANCE_SCENARIO")),
        oauth: oauth_config(),
        // The suite sends arguments that their schema forbids, to see what the client makes of them.
        validate: Some(false),
        // The suite asks clients to follow the revision that it names.
        protocol: match variable("MCP_CONFORMANCE_PROTOCOL_VERSION").as_str() {
            "2026-07-28" => Protocol::Auto,
            _ => Protocol::Legacy,
        },
        ..ServerConfig::default()
    }
}

/// What `[servers.suite] auth` would say.
fn auth(scenario: &str) -> ServerAuth {
    match scenario {
        "auth/client-credentials-basic" | "auth/client-credentials-jwt" | "auth/wif-jwt-bearer" => {
            ServerAuth::Client
        }
        "auth/enterprise-managed-authorization" => ServerAuth::Exchange,
        _ => ServerAuth::Shared,
    }
}

/// What `[servers.suite.oauth]` would say.
fn oauth_config() -> OauthConfig {
    let context: Value =
        serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    OauthConfig {
        client_id: text("client_id"),
        client_secret: text("client_secret").map(Into::into),
        client_metadata_url: Some(METADATA_DOCUMENT.to_owned()),
        private_key: text("private_key_pem").map(Into::into),
        signing_algorithm: serde_json::from_value(context["signing_algorithm"].clone()).ok(),
        assertion: text("valid_jwt").map(Into::into),
        idp: text("idp_issuer").map(|issuer| IdpConfig {
            issuer,
            token_endpoint: text("idp_token_endpoint"),
            client_id: text("idp_client_id"),
            client_secret: None,
            id_token: text("idp_id_token").map(Into::into),
        }),
        ..OauthConfig::default()
    }
}

/// What a scenario is played with.
struct Driver {
    executor: ToolExecutor,
    servers: Servers,
    oauth: OauthDeps,
}

impl Driver {
    /// Does what the scenario wants to see. Connecting, which reads the tools, is all that some of them want.
    async fn play(&self, scenario: &str) -> Outcome {
        let session = self.session().await?;
        match scenario {
            "tools_call" => self.call("add_numbers", json!({"a": 2, "b": 3})).await,
            "elicitation-sep1034-client-defaults" => {
                self.call("test_client_elicitation_defaults", json!({})).await
            }
            "sse-retry" => self.call("test_reconnection", json!({})).await,
            "sep-2322-client-request-state" => {
                // At once, so that an answer to one could go astray to another.
                let tools = ["echo_state", "unrelated", "no_state", "no_result_type"];
                let calls = tools.map(|tool| format!("test_mrtr_{tool}"));
                let calls = calls.iter().map(|tool| self.call(tool, json!({})));
                join_all(calls).await.into_iter().collect()
            }
            "http-standard-headers" => {
                self.call_all(&json!({})).await?;
                read_all(&session).await
            }
            "http-custom-headers" => {
                let context: Value = serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT"))?;
                for wanted in context["toolCalls"].as_array().ok_or("no toolCalls")? {
                    let tool = wanted["name"].as_str().ok_or("a call without a name")?;
                    self.call(tool, wanted["arguments"].clone()).await?;
                }
                Ok(())
            }
            "http-invalid-tool-headers" => self.call_all(&json!({"region": "eu"})).await,
            "json-schema-2020-12-preservation" => {
                let tools = self.executor.tools().all();
                let focal =
                    tools.iter().find(|tool| tool.name().ends_with("json_schema_2020_12_tool"));
                let schema = &focal.ok_or("the tool is not there")?.spec().parameters;
                self.call("json_schema_echo", json!({"schema": schema})).await
            }
            auth if auth.starts_with("auth/") => self.call_all(&json!({})).await,
            _ => Ok(()),
        }
    }

    fn server(&self) -> Outcome<Arc<Server>> {
        Ok(self.servers.get(SERVER).ok_or("no server")?)
    }

    /// Waits for the session, and signs in if the server wants that.
    async fn session(&self) -> Outcome<Arc<Session>> {
        let server = self.server()?;
        for _ in 0..MOST_SIGN_INS {
            match server.session().await {
                Ok(session) => return Ok(session),
                Err(error) if server.needs_sign_in().is_none() => return Err(error.into()),
                Err(_) => self.sign_in(&server).await?,
            }
        }
        Ok(server.session().await?)
    }

    /// Signs in as `switchboard login` does, and reconnects.
    async fn sign_in(&self, server: &Server) -> Outcome {
        let authorizer = server.authorizer().ok_or("no sign-in")?;
        let OauthDeps { http, store, .. } = &self.oauth;
        let (key, config) = (authorizer.key().clone(), &server.config().oauth);
        let sign_in = SignIn::prepare(http, store, key, config, authorizer.challenge()).await?;
        let pending = sign_in.begin().await?;
        let browser = tokio::spawn(reqwest::get(pending.url().to_string()));
        let signed_in = pending.finish().await;
        // It shows the final page, or has nothing more to show.
        browser.abort();
        signed_in?;
        server.reconnect();
        Ok(())
    }

    async fn call(&self, tool: &str, args: Value) -> Outcome {
        let server = self.server()?;
        for _ in 0..MOST_SIGN_INS {
            let result = self.executor.call(&format!("{SERVER}__{tool}"), args.clone()).await;
            if result.is_success() {
                return Ok(());
            }
            if server.needs_sign_in().is_none() {
                return Err(format!("{tool}: {}", result.text()).into());
            }
            self.sign_in(&server).await?;
            self.session().await?;
        }
        Err(format!("{tool}: wants a sign-in again and again").into())
    }

    /// Calls every tool that was not skipped.
    async fn call_all(&self, args: &Value) -> Outcome {
        for tool in self.executor.tools().all() {
            let tool = tool.name().trim_start_matches(SERVER).trim_start_matches("__");
            self.call(tool, args.clone()).await?;
        }
        Ok(())
    }
}

/// Reads every resource and gets every prompt.
async fn read_all(session: &Session) -> Outcome {
    for (list, key, method) in
        [(List::Resources, "uri", "resources/read"), (List::Prompts, "name", "prompts/get")]
    {
        for entry in session.list(list).await?.entries {
            let name = entry[key].as_str().ok_or("an entry without a name")?;
            let params = Map::from_iter([(key.to_owned(), name.into())]);
            let mut asking = OutgoingRequest::new(method, params);
            asking.headers = vec![("Mcp-Name".to_owned(), name.to_owned())];
            session.ask(asking).await?;
        }
    }
    Ok(())
}

/// Accepts what servers ask of the user, with the defaults of their schema.
struct Accepts;

impl ServerRequestHandler for Accepts {
    fn capabilities(&self) -> Value {
        json!({"elicitation": {"form": {"applyDefaults": true}}})
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>> {
        let ServerRequest { method, params, .. } = request;
        let answer = match method.as_str() {
            "elicitation/create" => {
                let asked = params["requestedSchema"]["properties"].as_object();
                let default = |(name, schema): (&String, &Value)| {
                    Some((name.clone(), schema.get("default")?.clone()))
                };
                let content: Map<_, _> = asked.into_iter().flatten().filter_map(default).collect();
                Ok(json!({"action": "accept", "content": content}))
            }
            _ => Err(RpcError::new(
                RpcError::METHOD_NOT_FOUND,
                format!("'{method}' is not answered"),
            )),
        };
        Box::pin(std::future::ready(answer))
    }
}
