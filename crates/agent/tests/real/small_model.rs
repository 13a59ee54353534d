//! SmolLM2 under llama.cpp turns on a light: a real call, in streams that nobody wrote for a test.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation};
use switchboard_models::{
    AiMessage, Arguments, Message, Model, ModelCall, ModelConfig, ModelError, Provider, Request,
    StopReason, Turn, Usage, connect, model,
};
use switchboard_runtime::{
    ToolExecutor, services,
    toolcall::{BoxFuture, CallContext, HumanDuration, ToolOutput},
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
    let path = if provider == Provider::Anthropic { "" } else { "/v1" };
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

        let sent = turns_on_a_light(&model, Provider::OpenAiResponses, stream).await;
        let (call, result) = (&sent["input"][1], &sent["input"][2]);
        assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("set_light")));
        let id = &call["call_id"];
        let expected = json!({"type": "function_call_output", "call_id": id, "output": RESULT});
        assert_eq!(*result, expected, "{sent}");

        let sent = turns_on_a_light(&model, Provider::Anthropic, stream).await;
        let id = &sent["messages"][1]["content"][0]["id"];
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": RESULT});
        assert_eq!(sent["messages"][2]["content"], json!([result]), "{sent}");
    }
}

/// How many pages are read.
const PAGES: usize = 40;

/// Reads page after page, and lets the real model say something to what came of it in the middle and in the end.
struct Reader {
    real: Arc<dyn Model>,
    turns: AtomicUsize,
}

impl Model for Reader {
    fn provider(&self) -> Provider {
        self.real.provider()
    }

    fn name(&self) -> &str {
        self.real.name()
    }

    fn known_window(&self) -> Option<u64> {
        self.real.known_window()
    }

    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        self.real.window()
    }

    fn summarises(&self) -> bool {
        false
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        events: model::ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        Box::pin(async move {
            let number = self.turns.load(Ordering::Relaxed);
            if number == PAGES || number == PAGES / 2 {
                // A refusal is asked again with less.
                let said = self.real.ask(request, events).await?;
                assert!(said.usage.input_tokens < 4_096, "{:?}", said.usage);
                if number == PAGES {
                    return Ok(Turn { message: AiMessage::text("Read."), ..said });
                }
            }
            self.turns.fetch_add(1, Ordering::Relaxed);
            let call = ModelCall {
                id: format!("c{number}"),
                name: "page".to_owned(),
                args: Arguments::from_value(json!({"n": number})),
                recovered: false,
            };
            let message = AiMessage { tool_calls: vec![call], ..AiMessage::default() };
            Ok(Turn { message, stop: StopReason::ToolUse, usage: Usage::default() })
        })
    }
}

/// A page of 8 KB.
fn page(number: u64) -> String {
    let line = format!("Page {number} tells of ships and harbours, number after number. ");
    line.repeat(8_000 / line.len() + 1)
}

// RN-3: forty results of 8 KB, and a window of 4096 tokens that nobody named.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_large_results_fit_a_real_small_window() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let model =
        SmallModel::start(&parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`"));
    let mut config = ModelConfig::new(Provider::OpenAi, SmallModel::NAME);
    config.base_url = Some(format!("{}/v1", model.url()));
    config.temperature = Some(0.0);
    config.max_tokens = Some(16);
    config.idle_timeout = Some(HumanDuration(Duration::from_secs(600)));
    let executor = ToolExecutor::default();
    let read = Fake::new("page", |args: Value, _| {
        let text = page(args["n"].as_u64().unwrap_or_default());
        std::future::ready(Ok(ToolOutput::Value(json!(text))))
    });
    executor.tools().add(read.read_only()).unwrap();
    for service in services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    let config_of_loop: Config =
        toml::from_str("max_iterations = 60\ntool_budget = 'off'\nstream = false").unwrap();
    let reader = Reader { real: connect(&config).unwrap(), turns: AtomicUsize::new(0) };
    let agent = Agent::new(Arc::new(reader), executor.clone(), config_of_loop);
    let mut conversation = Conversation::new();
    conversation.say("Read all pages");
    let watcher: switchboard_agent::AgentEvents = Arc::new(|_| {});
    let outcome = agent.run(&mut conversation, &watcher, &CallContext::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Read."), "{outcome:?}");
    // Every page is in the conversation whole, or its line was told and it is read back byte for byte.
    let told: Vec<_> = outcome.shortened.iter().map(|entry| entry.tool_call_id.clone()).collect();
    for number in 0..PAGES {
        let (id, whole) = (format!("c{number}"), page(number as u64));
        let reply = conversation.messages().iter().find_map(|message| match message {
            Message::Tool(reply) if reply.tool_call_id == id => Some(reply.content.clone()),
            _ => None,
        });
        match told.iter().position(|told| *told == id) {
            Some(place) => {
                let artifact = &outcome.shortened[place].artifact;
                let read = executor.call("read_result", json!({"id": artifact})).await;
                assert_eq!(read.text(), whole);
            }
            None => assert_eq!(reply, Some(whole), "{id}"),
        }
    }
    assert!(told.len() >= PAGES - 1, "{}", told.len());
}
