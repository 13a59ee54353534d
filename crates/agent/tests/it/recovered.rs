//! Calls that leaked as text, through a real client and back into the conversation.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation, StopCause};
use switchboard_models::{Message, ModelConfig, Provider, connect};
use switchboard_runtime::{ServerSettings, ToolExecutor};
use switchboard_testkit::{Fake, ProviderServer, Reply};
use switchboard_toolcall::CallContext;

use crate::scripted::check;

fn answer(content: &str) -> Reply {
    let line = json!({"message": {"role": "assistant", "content": content}, "done": true});
    Reply::lines(&[line.to_string()])
}

/// What the conversation becomes when a model writes `leaked`: its calls, then what the replies say.
async fn run(leaked: &str) -> Vec<String> {
    let server = ProviderServer::start([answer(leaked), answer("Done.")]).await;
    let mut config = ModelConfig::new(Provider::Ollama, "qwen3");
    config.base_url = Some(server.url());
    let executor = ToolExecutor::default();
    let schema = json!({"type": "object", "properties": {"deviceName": {"type": "string"}}, "required": ["deviceName"]});
    executor.tools().add(Fake::echoes("local").parameters(schema.clone())).unwrap();
    executor.tools().add_server("home", ServerSettings::default()).unwrap();
    let light = Fake::echoes("light").of_server("home").parameters(schema);
    assert!(executor.tools().set_server_tools("home", vec![light.shared()]).is_empty());
    let agent = Agent::new(connect(&config).unwrap(), executor, Config::default());
    let mut conversation = Conversation::new();
    conversation.say("Go");
    let outcome =
        agent.run(&mut conversation, &(Arc::new(|_| {}) as _), &CallContext::default()).await;
    assert_eq!(outcome.stop, StopCause::Answer);
    check(conversation.messages());
    let told = conversation.messages().iter().flat_map(|message| match message {
        Message::Ai(message) => {
            let calls = message.tool_calls.iter();
            calls.map(|call| format!("{} {}", call.name, call.recovered)).collect()
        }
        Message::Tool(reply) => vec![reply.content.clone()],
        _ => Vec::new(),
    });
    told.collect()
}

fn leak(name: &str, args: &Value) -> String {
    format!("<tool_call>\n{}\n</tool_call>", json!({"name": name, "arguments": args}))
}

// ML-2: judged as the call itself will be, with the names that a server expects (AN-2).
#[tokio::test]
async fn leaked_calls_are_judged_by_the_tools_own_schema() {
    let echoed = r#"{"deviceName":"lamp"}"#;
    let right = json!({"deviceName": "lamp"});
    assert_eq!(run(&leak("local", &right)).await, ["local true", echoed]);
    assert_eq!(run(&leak("home__light", &right)).await, ["home__light true", echoed]);
    let snake = json!({"device_name": "lamp"});
    assert_eq!(run(&leak("home__light", &snake)).await, ["home__light true", echoed]);
    // What would not validate stays text: a local tool gets exactly what was sent.
    assert!(run(&leak("local", &snake)).await.is_empty());
    assert!(run(&leak("local", &json!({"deviceName": 1}))).await.is_empty());
    assert!(run(&leak("nobody", &right)).await.is_empty());
}
