//! An agent in one file: a model, a function, an MCP server, a policy, records on disk, and Ctrl-C.
//!
//! ```sh
//! cargo run -p switchboard-example-agent -- "What time is it in Tokyo?"
//! ```

use std::{env, error::Error, io::Write, path::Path, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_agent::{Agent, AgentEvent, AgentEvents, Config, Conversation};
use switchboard_audit::Store;
use switchboard_mcp_client::{ServerConfig, ServerDeps, Servers};
use switchboard_models::{ModelConfig, OllamaClient, Provider};
use switchboard_runtime::{PolicyConfig, RulePolicy, ToolExecutor};
use switchboard_toolcall::{CallContext, tool_fn};

/// Waits, then says so.
#[derive(Deserialize, JsonSchema)]
struct Timer {
    /// How many seconds to wait.
    seconds: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let question = env::args().nth(1).ok_or("usage: agent QUESTION [OLLAMA_URL]")?;
    let url = env::args().nth(2).unwrap_or("http://127.0.0.1:11434".to_owned());

    let executor = executor()?;
    executor.tools().add(tool_fn("timer", |Timer { seconds }, _: CallContext| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        format!("{seconds} seconds are over")
    }))?;
    let servers = start_servers(&executor)?;
    servers.wait_until_ready().await;

    let mut model = ModelConfig::new(Provider::Ollama, "qwen3:0.6b");
    model.base_url = Some(url);
    let model = Arc::new(OllamaClient::new(&model)?);
    let agent = Agent::new(model, executor, Config::default());

    let mut conversation = Conversation::with_system("Be brief.");
    conversation.say(question);
    let outcome = agent.run(&mut conversation, &printed(), &cancelled_by_ctrl_c()).await;
    println!("\n{:?}", outcome.stop);
    servers.close().await;
    outcome.error.map_or(Ok(()), |error| Err(error.into()))
}

/// Runs every call: one that the policy allows, and that is on disk in `records` before it runs.
fn executor() -> Result<ToolExecutor, Box<dyn Error>> {
    let store = Store::open(switchboard_audit::Config::default(), Path::new("records"));
    let store = Arc::new(store);
    let allow = ["timer", "time__get_*"].map(str::to_owned).to_vec();
    let policy = RulePolicy::new(PolicyConfig { allow, ..PolicyConfig::default() })?;
    let builder = ToolExecutor::builder().policy(policy);
    Ok(builder.store(store.clone()).artifacts(store).build())
}

/// Starts the MCP servers; their tools become the executor's, as `time__get_current_time`.
fn start_servers(executor: &ToolExecutor) -> Result<Servers, Box<dyn Error>> {
    let time: ServerConfig =
        serde_json::from_value(json!({"command": "uvx", "args": ["mcp-server-time"]}))?;
    let configs = [("time".to_owned(), time)].into_iter().collect();
    Ok(Servers::start(configs, executor.tools(), &ServerDeps::new(executor.tools()))?)
}

/// Prints the model's text as it comes, and which tools run.
fn printed() -> AgentEvents {
    Arc::new(|event| match event {
        AgentEvent::Text(text) => {
            print!("{text}");
            let _ = std::io::stdout().flush();
        }
        AgentEvent::CallStarted { name, .. } => eprintln!("{name} runs"),
        AgentEvent::CallFinished { name, outcome, content, .. } => {
            eprintln!("{name} {outcome}: {content}");
        }
        _ => {}
    })
}

/// Says who calls, and cancels the model's turn and all calls that run when Ctrl-C is pressed.
fn cancelled_by_ctrl_c() -> CallContext {
    let context = CallContext::for_caller("my-agent");
    let cancel = context.cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
    });
    context
}
