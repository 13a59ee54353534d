//! SmolLM2 under llama.cpp sees nothing: its server refuses the image of a result, and the conversation goes on (RS-6).

use std::{path::PathBuf, sync::Arc, time::Duration};

use serde_json::json;
use switchboard_agent::{Agent, AgentEvent, AgentEvents, Config, Conversation, StopCause};
use switchboard_models::{Message, ModelConfig, Provider, connect};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, Content, HumanDuration, Part, ToolOutput},
};
use switchboard_testkit::{Cassette, Fake, Scrub, SmallModel};

/// A real PNG of one pixel: a server that sees could decode it.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A light that answers with a picture of itself.
fn light() -> Fake {
    let parts = vec![Part::text("light 7f3a is on:"), Part::binary("image", "image/png", PIXEL)];
    let tool =
        Fake::outputs("set_light", ToolOutput::Content(Content { parts, ..Content::default() }));
    tool.with(|spec| spec.description = "Turn a light on or off".to_owned()).parameters(json!({
        "type": "object",
        "properties": {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]}},
        "required": ["room", "state"],
        "additionalProperties": false,
    }))
}

async fn goes_on(model: &SmallModel, provider: Provider) {
    let file = std::env::temp_dir()
        .join(format!("switchboard-smol-image-{}-{provider}.json", std::process::id()));
    let cassette = Cassette::record(model.url(), &file, Scrub::default()).await.unwrap();
    let mut config = ModelConfig::new(provider, SmallModel::NAME);
    let path = if provider == Provider::Anthropic { "" } else { "/v1" };
    config.base_url = Some(format!("{}{path}", cassette.url()));
    config.temperature = Some(0.0);
    config.max_tokens = Some(64);
    config.idle_timeout = Some(HumanDuration(Duration::from_secs(120)));
    let executor = ToolExecutor::default();
    executor.tools().add(light()).unwrap();
    let loops: Config = toml::from_str("max_iterations = 2").unwrap();
    let agent = Agent::new(connect(&config).unwrap(), executor, loops);
    let (sender, warnings) = std::sync::mpsc::channel();
    let events: AgentEvents = Arc::new(move |event| {
        if let AgentEvent::Warning(text) = event {
            sender.send(text).unwrap();
        }
    });
    let mut conversation = Conversation::new();
    conversation.say("turn on the kitchen light");
    let first = agent.run(&mut conversation, &events, &CallContext::default()).await;
    let heard = format!("{first:?}\n{:#?}", conversation.messages());
    assert!(first.error.is_none() && first.turns.len() == 2, "{heard}");
    let Some(Message::Tool(reply)) = conversation.messages().get(2) else { panic!("{heard}") };
    assert!(
        reply.content.starts_with("light 7f3a is on:\n[image: image/png, 70 bytes, artifact "),
        "{heard}"
    );
    assert_eq!(reply.images[0].data, PIXEL, "{heard}");
    let warning = warnings.try_recv().unwrap_or_default();
    assert!(warning.contains("refused an image") && warning.contains("not supported"), "{warning}");

    // A further turn works, of this conversation and of one that was saved.
    let saved = serde_json::to_string(&conversation).unwrap();
    let resumed: Conversation = serde_json::from_str(&saved).unwrap();
    for mut conversation in [conversation, resumed] {
        conversation.say("thank you");
        let further = agent.run(&mut conversation, &events, &CallContext::default()).await;
        assert!(further.error.is_none() && further.stop != StopCause::ModelFailed, "{further:?}");
    }

    // One request had the image and was refused; none had it afterwards, and each had the line in its place.
    let exchanges = cassette.settled().await;
    std::fs::remove_file(file).unwrap();
    let seen: Vec<_> = exchanges
        .iter()
        .map(|exchange| {
            let body = exchange.request.body.to_string();
            (body.contains(PIXEL), exchange.response.status, body.contains("70 bytes, artifact"))
        })
        .collect();
    assert_eq!(seen[0], (false, 200, false), "{seen:?}");
    assert!(seen[1].0 && seen[1].1 >= 400, "{seen:?}");
    assert!(
        seen.len() >= 5 && seen[2..].iter().all(|seen| *seen == (false, 200, true)),
        "{seen:?}"
    );
}

// RS-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_image_breaks_no_conversation() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let model =
        SmallModel::start(&parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`"));
    goes_on(&model, Provider::OpenAi).await;
    goes_on(&model, Provider::OpenAiResponses).await;
    goes_on(&model, Provider::Anthropic).await;
}
