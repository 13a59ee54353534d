//! Our client as the MCP conformance suite drives it: `conformance_client URL`.
//!
//! The suite says in `MCP_CONFORMANCE_SCENARIO`, `_CONTEXT` and `_PROTOCOL_VERSION` what it wants to see; all of it
//! goes through the same servers and executor as everything else does. See docs/conformance.md.

use std::{
    env,
    error::Error,
    io::{self, Write},
    process::ExitCode,
    sync::Arc,
};

use futures_util::future::join_all;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};
use switchboard_mcp_client::{
    McpConfig, OutgoingRequest, Protocol, ServerConfig, ServerDeps, Servers, Session,
};
use switchboard_mcp_wire::{List, RpcError, ServerRequest, ServerRequestHandler};
use switchboard_runtime::{ToolExecutor, toolcall::BoxFuture};

/// What the server is called; the suite never sees it.
const SERVER: &str = "suite";

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
    let executor = ToolExecutor::default();
    let deps = ServerDeps {
        mcp: McpConfig { retry_attempts: 1, ..McpConfig::default() },
        answers: Arc::new(Accepts),
        ..ServerDeps::new(executor.tools())
    };
    let servers = IndexMap::from([(SERVER.to_owned(), config(url))]);
    let servers = Servers::start(servers, executor.tools(), &deps)?;
    let outcome = play(&variable("MCP_CONFORMANCE_SCENARIO"), &executor, &servers).await;
    servers.close().await;
    outcome
}

fn variable(name: &str) -> String {
    env::var_os(name).unwrap_or_default().to_string_lossy().into_owned()
}

fn config(url: String) -> ServerConfig {
    ServerConfig {
        url: Some(url),
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

/// Does what the scenario wants to see. Connecting, which reads the tools, is all that some of them want.
async fn play(scenario: &str, executor: &ToolExecutor, servers: &Servers) -> Outcome {
    let session = servers.get(SERVER).ok_or("no server")?.session().await?;
    match scenario {
        "tools_call" => call(executor, "add_numbers", json!({"a": 2, "b": 3})).await,
        "elicitation-sep1034-client-defaults" => {
            call(executor, "test_client_elicitation_defaults", json!({})).await
        }
        "sse-retry" => call(executor, "test_reconnection", json!({})).await,
        "sep-2322-client-request-state" => {
            // At once, so that an answer to one could go astray to another.
            let tools = ["echo_state", "unrelated", "no_state", "no_result_type"];
            let calls = tools.map(|tool| format!("test_mrtr_{tool}"));
            let calls = calls.iter().map(|tool| call(executor, tool, json!({})));
            join_all(calls).await.into_iter().collect()
        }
        "http-standard-headers" => {
            call_all(executor, &json!({})).await?;
            read_all(&session).await
        }
        "http-custom-headers" => {
            let context: Value = serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT"))?;
            for wanted in context["toolCalls"].as_array().ok_or("no toolCalls")? {
                let tool = wanted["name"].as_str().ok_or("a call without a name")?;
                call(executor, tool, wanted["arguments"].clone()).await?;
            }
            Ok(())
        }
        "http-invalid-tool-headers" => call_all(executor, &json!({"region": "eu"})).await,
        "json-schema-2020-12-preservation" => {
            let tools = executor.tools().all();
            let focal = tools.iter().find(|tool| tool.name().ends_with("json_schema_2020_12_tool"));
            let schema = &focal.ok_or("the tool is not there")?.spec().parameters;
            call(executor, "json_schema_echo", json!({"schema": schema})).await
        }
        _ => Ok(()),
    }
}

async fn call(executor: &ToolExecutor, tool: &str, args: Value) -> Outcome {
    let result = executor.call(&format!("{SERVER}__{tool}"), args).await;
    match result.is_success() {
        true => Ok(()),
        false => Err(format!("{tool}: {}", result.text()).into()),
    }
}

/// Calls every tool that was not set aside.
async fn call_all(executor: &ToolExecutor, args: &Value) -> Outcome {
    for tool in executor.tools().all() {
        let tool = tool.name().trim_start_matches(SERVER).trim_start_matches("__");
        call(executor, tool, args.clone()).await?;
    }
    Ok(())
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
