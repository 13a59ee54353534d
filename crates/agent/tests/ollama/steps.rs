//! What is asked of an Ollama, real or replayed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentOutcome, Config, Conversation};
use switchboard_models::{Message, ModelConfig, Provider, Think, connect, ollama};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, HumanDuration, ToolOutput};

/// A cold model on a slow disk takes its time.
const PATIENCE: HumanDuration = HumanDuration(Duration::from_secs(600));

fn config(url: &str, model: &str) -> ModelConfig {
    let mut config = ModelConfig::new(Provider::Ollama, model);
    config.base_url = Some(url.to_owned());
    config.temperature = Some(0.0);
    config.num_ctx = Some(8_192);
    config.idle_timeout = Some(PATIENCE);
    // Thoughts would only make it slower.
    config.think = Some(Think::Switch(false));
    config
}

/// The model is there and can call tools.
pub(crate) async fn is_installed(url: &str, model: &str) {
    let found = ollama::installed(&config(url, model)).await.unwrap();
    let tagged = if model.contains(':') { model.to_owned() } else { format!("{model}:latest") };
    let names: Vec<_> = found.iter().map(|found| &*found.name).collect();
    let place = names.iter().position(|name| *name == tagged);
    let place =
        place.unwrap_or_else(|| panic!("no {model} among {names:?}: run `ollama pull {model}`"));
    assert_ne!(found[place].calls_tools, Some(false), "{model} cannot call tools");
}

/// Asked which tools it has, it names them.
pub(crate) async fn lists_its_tools(url: &str, model: &str) {
    let question = "List the names of the tools you can call. Do not call any of them.";
    let (outcome, _, heard) = ask(url, model, question).await;
    let answer = outcome.answer.unwrap_or_default().to_lowercase();
    for name in ["get_weather", "set_light"] {
        let spoken = name.replace('_', " ");
        assert!(answer.contains(name) || answer.contains(&spoken), "{name} is not named: {heard}");
    }
}

/// Asked for the weather, it calls the tool with the parameter by its right name, and hears of the result.
pub(crate) async fn calls_one(url: &str, model: &str) {
    let (outcome, seen, heard) = ask(url, model, "What is the weather in Paris?").await;
    let city = seen.first().and_then(|args| args["city"].as_str());
    assert!(city.is_some_and(|city| city.contains("Paris")), "{seen:?}: {heard}");
    assert!(heard.contains("15 degrees") && outcome.turns.len() >= 2, "{heard}");
}

/// What came of a question: the outcome, the arguments of calls of `get_weather`, and the whole conversation.
async fn ask(url: &str, model: &str, question: &str) -> (AgentOutcome, Vec<Value>, String) {
    let seen = Arc::<Mutex<Vec<Value>>>::default();
    let kept = seen.clone();
    let weather = Fake::new("get_weather", move |args, _| {
        kept.lock().unwrap().push(args);
        std::future::ready(Ok(ToolOutput::Value(json!("15 degrees"))))
    });
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let weather = weather.parameters(one("city"));
    let light = Fake::answers("set_light", json!("on")).parameters(one("room"));
    let executor = ToolExecutor::default();
    for (tool, says) in
        [(weather, "The weather of a city"), (light, "Turns on the light of a room")]
    {
        executor.tools().add(tool.with(|spec| spec.description = says.to_owned())).unwrap();
    }
    let agent = Agent::new(connect(&config(url, model)).unwrap(), executor, Config::default());
    let mut conversation = Conversation::new();
    conversation.say(question);
    let outcome =
        agent.run(&mut conversation, &(Arc::new(|_| {}) as _), &CallContext::default()).await;
    let messages: Vec<&Message> = conversation.messages().iter().collect();
    let heard = format!("{outcome:?} {messages:#?}");
    let seen = seen.lock().unwrap().clone();
    (outcome, seen, heard)
}
