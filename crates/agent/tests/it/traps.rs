//! Every trap of the wire reference, through the whole loop: whatever a provider does, the conversation goes on, and each
//! request on the way is one that the provider's rules accept.
//!
//! How each piece is read is the matter of the clients' own tests; here the turn after it counts.

mod anthropic;
mod ollama;
mod openai;
mod openai_responses;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentEvent, AgentEvents, Config, Conversation};
use switchboard_models::{Message, ModelConfig, Provider, connect};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Fake, ProviderServer, Reply, rules};
use switchboard_toolcall::{CallContext, Content, Part, ToolOutput};

use crate::scripted::check;

/// What came of one trap.
struct TrapOutcome {
    /// What the tools answered, in order, then what the model said last or why there is nothing.
    told: String,
    /// What the provider was sent, in order.
    sent: Vec<Value>,
    events: Vec<AgentEvent>,
}

/// A weather that needs a city, a light whose name no provider takes, and a camera.
fn tools() -> [Fake; 3] {
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let weather = Fake::new("get_weather", |args, _| {
        let text = format!("15 in {}", args["city"].as_str().unwrap_or_default());
        std::future::ready(Ok(ToolOutput::Value(json!(text))))
    });
    let picture =
        Content { parts: vec![Part::binary("image", "image/png", "AAAA")], ..Content::default() };
    [
        weather.parameters(city),
        Fake::answers("home.light", json!("on")),
        Fake::outputs("camera", ToolOutput::Content(picture)),
    ]
}

/// Asks a provider that gives these replies, one per request, in a turn that is streamed or not.
async fn spring(provider: Provider, replies: Vec<Reply>, stream: bool) -> TrapOutcome {
    let server = ProviderServer::start(replies).await;
    let mut config = ModelConfig::new(provider, "test-model");
    config.base_url = Some(server.url());
    config.max_tokens = Some(100);
    // Otherwise an Ollama is asked first whether the model sees.
    config.images = Some(true);
    let executor = ToolExecutor::default();
    for tool in tools() {
        executor.tools().add(tool).unwrap();
    }
    let agent =
        Agent::new(connect(&config).unwrap(), executor, Config { stream, ..Config::default() });
    let mut conversation = Conversation::with_system("Be brief.");
    conversation.say("Weather?");
    let events = Arc::<Mutex<Vec<AgentEvent>>>::default();
    let heard = events.clone();
    let watcher: AgentEvents = Arc::new(move |event| heard.lock().unwrap().push(event));
    let outcome = agent.run(&mut conversation, &watcher, &CallContext::default()).await;
    check(conversation.messages());
    let mut told: Vec<String> = Vec::new();
    for message in conversation.messages() {
        if let Message::Tool(reply) = message {
            told.push(reply.content.clone());
        }
    }
    told.push(match (outcome.answer, outcome.error) {
        (Some(answer), _) => answer,
        (None, Some(error)) => format!("{:?}", error.kind),
        (None, None) => format!("{:?}", outcome.stop),
    });
    // The user goes on from wherever that was: what is sent then holds all that came of it.
    conversation.say("Go on");
    agent.run(&mut conversation, &watcher, &CallContext::default()).await;
    let sent: Vec<_> = server.captured().into_iter().map(|captured| captured.body).collect();
    for body in &sent {
        assert_eq!(rules::broken(provider.code(), body), Vec::<String>::new(), "{body:#}");
    }
    let events = std::mem::take(&mut *events.lock().unwrap());
    TrapOutcome { told: told.join(" | "), sent, events }
}

/// Checks rows of a title, the replies before the model's last one, and what is told in the end.
async fn check_table(provider: Provider, last: &Reply, table: Vec<(&str, Vec<Reply>, &str)>) {
    for (title, replies, expected) in table {
        for pieces in [None, Some(3)] {
            let cut = |reply: Reply| match pieces {
                Some(size) => reply.in_pieces(size),
                None => reply,
            };
            let replies = replies.iter().chain([last]).cloned().map(cut).collect();
            assert_eq!(spring(provider, replies, true).await.told, expected, "{title}");
        }
    }
}
