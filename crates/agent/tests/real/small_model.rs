//! SmolLM2 under llama.cpp turns on a light: a real call, in streams that nobody wrote for a test.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation};
use switchboard_models::{Message, ModelConfig, Provider, connect};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, HumanDuration, ToolOutput},
};
use switchboard_testkit::{Cassette, Fake, Scrub, SmallModel};

/// A result that the model cannot have made up.
const RESULT: &str = "light 7f3a is on";

/// What the tool was called with.
type Seen = Arc<Mutex<Vec<Value>>>;

fn light(seen: &Seen) -> Fake {
    let seen = seen.clone();
    let tool = Fake::new("set_light", move |args, _| {
        seen.lock().unwrap().push(args);
        std::future::ready(Ok(ToolOutput::Value(json!(RESULT))))
    });
    tool.with(|spec| spec.description = "Turn a light on or off".to_owned()).parameters(json!({
        "type": "object",
        "properties": {"room": {"type": "string"}, "state": {"type": "string", "enum": ["on", "off"]}},
        "required": ["room", "state"],
        "additionalProperties": false,
    }))
}

/// Asks once and returns what was sent for the second turn, which holds the result.
async fn turns_on_a_light(model: &SmallModel, provider: Provider, stream: bool) -> Value {
    let file = std::env::temp_dir()
        .join(format!("switchboard-smol-{}-{provider}-{stream}.json", std::process::id()));
    let cassette = Cassette::record(model.url(), &file, Scrub::default()).await.unwrap();
    let mut config = ModelConfig::new(provider, SmallModel::NAME);
    let path = if provider == Provider::OpenAi { "/v1" } else { "" };
    config.base_url = Some(format!("{}{path}", cassette.url()));
    config.temperature = Some(0.0);
    // Its call takes 40 tokens, its prose would take all there are.
    config.max_tokens = Some(64);
    // Two cores may have much to do.
    config.idle_timeout = Some(HumanDuration(Duration::from_secs(120)));
    let seen = Seen::default();
    let executor = ToolExecutor::default();
    executor.tools().add(light(&seen)).unwrap();
    let mut loops: Config = toml::from_str("max_iterations = 2").unwrap();
    loops.stream = stream;
    let agent = Agent::new(connect(&config).unwrap(), executor, loops);
    let mut conversation = Conversation::new();
    conversation.say("turn on the kitchen light");
    let watcher: switchboard_agent::AgentEvents = Arc::new(|_| {});
    let outcome = agent.run(&mut conversation, &watcher, &CallContext::default()).await;
    let heard = format!("{outcome:?}\n{:#?}", conversation.messages());

    // The model really called, the tool really ran, and its result is in the conversation under the call's id.
    let expected = [json!({"room": "kitchen", "state": "on"})];
    assert_eq!(*seen.lock().unwrap(), expected, "{heard}");
    let [Message::User(_), Message::Ai(called), Message::Tool(reply), ..] = conversation.messages()
    else {
        panic!("{heard}");
    };
    assert_eq!((&*called.tool_calls[0].name, called.tool_calls[0].recovered), ("set_light", false));
    assert_eq!((&*reply.content, &reply.tool_call_id), (RESULT, &called.tool_calls[0].id));
    assert!(
        outcome.turns.iter().all(|turn| turn.input_tokens > 20 && turn.output_tokens > 0),
        "{heard}"
    );
    assert_eq!(outcome.turns.len(), 2, "{heard}");

    // What came was a stream or not, as it was asked for.
    let exchanges = cassette.settled().await;
    std::fs::remove_file(file).unwrap();
    let events = ("content-type".to_owned(), "text/event-stream".to_owned());
    assert_eq!(
        exchanges[0].response.headers.contains(&events),
        stream,
        "{:?}",
        exchanges[0].response
    );
    exchanges[1].request.body.clone()
}

// ML-1, ML-3, ML-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_model_calls_a_tool_and_hears_of_its_result() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let model =
        SmallModel::start(&parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`"));
    for stream in [true, false] {
        let sent = turns_on_a_light(&model, Provider::OpenAi, stream).await;
        let id = &sent["messages"][1]["tool_calls"][0]["id"];
        assert!(id.as_str().is_some_and(|id| !id.is_empty()), "{sent}");
        let result = json!({"role": "tool", "tool_call_id": id, "content": RESULT});
        assert_eq!(sent["messages"][2], result, "{sent}");

        let sent = turns_on_a_light(&model, Provider::Anthropic, stream).await;
        let id = &sent["messages"][1]["content"][0]["id"];
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": RESULT});
        assert_eq!(sent["messages"][2]["content"], json!([result]), "{sent}");
    }
}
