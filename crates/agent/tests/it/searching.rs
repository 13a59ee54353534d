//! A model that searches for tools, because all definitions would be over the budget (SPEC FT-3).

use std::collections::HashMap;

use serde_json::{Value, json};
use switchboard_agent::{RequestOptions, StopCause};
use switchboard_models::ToolChoice;
use switchboard_runtime::{
    PolicyConfig, RulePolicy, ServerSettings, ToolExecutor, services, tool_cost::ToolCosts,
};
use switchboard_testkit::{Fake, recorded_tools};
use switchboard_toolcall::{ToolPatterns, ToolSpec};

use crate::scripted::{ScriptedReply, TestAgent, calls, says};

const WEATHER: &str = "weather__forecast";
const LAMP: &str = "lamp__switch_on";

fn tool(name: &str, description: &str) -> Fake {
    Fake::echoes(name).with(|spec| description.clone_into(&mut spec.description))
}

/// A loop with two tools among eighty.
fn stage(script: impl IntoIterator<Item = ScriptedReply>) -> TestAgent {
    let mut stage = TestAgent::new(script).configured("tool_budget = 500");
    let rules = PolicyConfig { deny: vec!["mine__*".to_owned()], ..PolicyConfig::default() };
    stage.executor = ToolExecutor::builder().policy(RulePolicy::new(rules).unwrap()).build();
    let tools = stage.executor.tools();
    for service in services::all(&stage.executor) {
        tools.add_shared(service).unwrap();
    }
    tools.add(tool(WEATHER, "Tells tomorrow's weather: rain, wind, temperature")).unwrap();
    tools.add(tool(LAMP, "Turns a lamp on")).unwrap();
    tools.add(tool("mine__weather", "Tells the weather too, but nobody may call it")).unwrap();
    for number in 0..80 {
        let text = format!("Converts the ledger number {number} of the archive into another form");
        tools.add(tool(&format!("archive__convert_{number}"), &text)).unwrap();
    }
    stage
}

/// The names of each request's tools.
fn offered(stage: &TestAgent) -> Vec<Vec<String>> {
    let name = |definition: &String| {
        serde_json::from_str::<Value>(definition).unwrap()[0].as_str().unwrap().to_owned()
    };
    stage.definitions().iter().map(|tools| tools.iter().map(name).collect()).collect()
}

/// Every request has the definitions of the one before it, byte for byte, and then perhaps more.
fn check_prefixes(stage: &TestAgent) {
    for pair in stage.definitions().windows(2) {
        assert!(pair[1].starts_with(&pair[0]), "{pair:?}");
    }
}

fn search(query: &str) -> ScriptedReply {
    calls(&[("tool_search", &json!({"query": query, "limit": 1}).to_string())])
}

// FT-3: what is found stays, behind what was sent before; the next question of the conversation has it too.
#[tokio::test(start_paused = true)]
async fn found_tools_are_added_behind_the_others() {
    let mut stage = stage([
        search("weather tomorrow"),
        calls(&[(WEATHER, r#"{"city":"Graz"}"#)]),
        search("switch the light on"),
        calls(&[(LAMP, "{}"), (WEATHER, "{}")]),
        says("Done."),
        says("And again."),
    ]);
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    stage.conversation.say("And now?");
    assert_eq!(stage.run().await.answer.as_deref(), Some("And again."));
    let first = ["tool_search", "read_result"].map(str::to_owned).to_vec();
    let with = |names: &[&str]| {
        [first.clone(), names.iter().map(|&name| name.to_owned()).collect()].concat()
    };
    let (one, two) = (with(&[WEATHER]), with(&[WEATHER, LAMP]));
    assert_eq!(offered(&stage), [first, one.clone(), one, two.clone(), two.clone(), two]);
    check_prefixes(&stage);
    let texts = stage.texts();
    assert!(
        texts[0].contains(WEATHER)
            && texts[0].ends_with("You can call these tools now, by their names."),
        "{texts:?}"
    );
    assert!(!texts[0].contains("parameters"), "the definition has them: {texts:?}");
    assert_eq!(texts[1], r#"{"city":"Graz"}"#);
}

// FT-3: what was found stays on offer if the turns that found it are a summary, also if that becomes part of another one.
#[tokio::test(start_paused = true)]
async fn found_tools_outlive_a_summary() {
    let mut script = vec![
        search("weather tomorrow"),
        calls(&[(WEATHER, r#"{"city":"Graz"}"#)]),
        search("switch the light on"),
        says("Done."),
    ];
    let answers = (0..40).map(|number| says(&format!("{number}: {}", "they sail on. ".repeat(60))));
    script.extend(answers);
    let mut stage = stage(script).with_window(4_096).without_summaries();
    stage.run().await;
    let mut summaries = 0;
    for number in 0..40 {
        stage.conversation.say(format!("Question {number}"));
        let outcome = stage.run().await;
        assert_eq!(outcome.stop, StopCause::Answer);
        summaries += outcome.summarised.len();
        // As it is stored.
        let stored = serde_json::to_string(&stage.conversation).unwrap();
        stage.conversation = serde_json::from_str(&stored).unwrap();
    }
    assert!(summaries >= 2, "{summaries}");
    assert!(stage.texts().is_empty(), "no search is left: {:?}", stage.texts());
    assert_eq!(offered(&stage).pop().unwrap(), ["tool_search", "read_result", WEATHER, LAMP]);
    check_prefixes(&stage);
}

// FT-3: a tool that was not found is run all the same, and offered from then on. One that policy denies is neither.
#[tokio::test(start_paused = true)]
async fn tools_that_were_not_found_can_be_called() {
    let mut stage = stage([
        calls(&[("archive__convert_7", r#"{"a":1}"#), ("mine__weather", "{}")]),
        says("Done."),
    ]);
    stage.run().await;
    assert_eq!(stage.texts()[0], r#"{"a":1}"#);
    assert!(stage.texts()[1].contains("denied"), "{:?}", stage.texts());
    let last = offered(&stage).pop().unwrap();
    assert_eq!(last, ["tool_search", "read_result", "archive__convert_7"]);
    check_prefixes(&stage);
}

// FT-3: the model is told of what it can search for.
#[tokio::test(start_paused = true)]
async fn the_search_says_what_there_is() {
    let mut stage = stage([says("Hello.")]);
    stage.run().await;
    let search = &stage.definitions()[0][0];
    assert!(search.contains("There are 84 more tools than you see."), "{search}");
}

// FT-3: a number of tokens, a share of the window, or no limit; pinned tools are always offered.
#[tokio::test(start_paused = true)]
async fn the_budget_decides() {
    for (config, count) in [
        ("tool_budget = 100_000", 86),
        ("tool_budget = 'off'", 86),
        ("tool_budget = '5%'", 86),
        ("tool_budget = '1%'", 2),
        ("tool_budget = 0", 2),
        ("tool_budget = 500\npinned = ['lamp__*', 'archive__convert_1']", 4),
    ] {
        let mut stage = stage([says("Hello.")]);
        stage.config = toml::from_str(config).unwrap();
        stage.run().await;
        assert_eq!(offered(&stage)[0].len(), count, "{config}");
    }
}

// FT-3: tools that the caller runs itself, and the one that it demands, are always offered.
#[tokio::test(start_paused = true)]
async fn what_the_caller_brings_or_demands_is_offered() {
    let mut stage = stage([search("weather tomorrow"), says("Done.")]);
    let theirs = ToolSpec::new("theirs", "The caller's", json!({"type": "object"}));
    let options =
        RequestOptions { choice: ToolChoice::One(LAMP.to_owned()), ..RequestOptions::default() };
    let agent = stage.agent().with_foreign_tools(vec![theirs]).with_options(options);
    let watcher = stage.watcher();
    agent.run(&mut stage.conversation, &watcher, &stage.cx).await;
    let first = ["tool_search", "read_result", "theirs", LAMP];
    assert_eq!(offered(&stage)[0], first);
    assert_eq!(offered(&stage)[1], [&first[..], &[WEATHER]].concat());
}

// FT-3: a search finds only what the model may call.
#[tokio::test(start_paused = true)]
async fn the_offer_limits_what_is_found() {
    let mut stage = stage([
        calls(&[("tool_search", r#"{"query":"weather tomorrow","limit":100}"#)]),
        calls(&[(WEATHER, "{}")]),
        says("Done."),
    ]);
    let agent = stage.agent().offering(ToolPatterns::new(&["archive__*"]).unwrap());
    let watcher = stage.watcher();
    agent.run(&mut stage.conversation, &watcher, &stage.cx).await;
    assert!(!stage.texts()[0].contains(WEATHER), "{:?}", stage.texts());
    assert!(stage.texts()[1].contains("Unknown tool"), "{:?}", stage.texts());
    assert!(!offered(&stage).concat().iter().any(|name| name == WEATHER));
}

// FT-3: a reply that is too long is cut, and still says what was found.
#[tokio::test(start_paused = true)]
async fn long_definitions_can_be_found() {
    let mut stage = stage([search("paint a huge picture"), says("Done.")]);
    let properties: serde_json::Map<_, _> = (0..2000)
        .map(|number| {
            (format!("colour_{number}"), json!({"type": "string", "description": "A colour"}))
        })
        .collect();
    let schema = json!({"type": "object", "properties": properties});
    let huge = tool("paint__huge_picture", "Paints a huge picture").parameters(schema);
    stage.executor.tools().add(huge).unwrap();
    stage.run().await;
    assert_eq!(offered(&stage)[1][2], "paint__huge_picture", "{:?}", stage.texts());
    assert!(stage.texts()[0].len() < 500);
}

/// A loop with the tools of 31 real servers.
fn crowded(script: impl IntoIterator<Item = ScriptedReply>) -> TestAgent {
    let mut stage = TestAgent::new(script);
    stage.executor = ToolExecutor::default();
    for service in services::all(&stage.executor) {
        stage.executor.tools().add_shared(service).unwrap();
    }
    for (server, tools) in recorded_tools() {
        stage.executor.tools().add_server(&server, ServerSettings::default()).unwrap();
        assert!(stage.executor.tools().set_server_tools(&server, tools).is_empty(), "{server}");
    }
    stage
}

// FT-3: however many tools there are, a model begins with less than 2,000 tokens of definitions.
#[tokio::test(start_paused = true)]
async fn the_offer_stays_small_with_a_thousand_tools() {
    let mut stage = crowded([says("Done.")]);
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    let executor = ToolExecutor::default();
    let definitions = stage.definitions().remove(0);
    assert_eq!(definitions.len(), 2, "search, and reading long results");
    for definition in &definitions {
        let parts: Value = serde_json::from_str(definition).unwrap();
        let text = |at: usize| parts[at].as_str().unwrap().to_owned();
        let fake = Fake::echoes(&text(0)).parameters(parts[2].clone());
        executor.tools().add(fake.with(|spec| spec.description = text(1))).unwrap();
    }
    let tokens = ToolCosts::count(&executor.tools().listed(), &HashMap::new()).total_tokens;
    assert!(tokens <= 2000, "{tokens}: {definitions:?}");
}

// FT-3: another gateway's tools are told of by the servers behind it.
#[tokio::test(start_paused = true)]
async fn the_servers_behind_a_gateway_are_told_of() {
    let mut stage = TestAgent::new([says("Done.")]).configured("tool_budget = 10");
    stage.executor = ToolExecutor::default();
    let tools = stage.executor.tools();
    let whole = ServerSettings { prefix: Some(String::new()), ..ServerSettings::default() };
    tools.add_server("behind", whole).unwrap();
    let names =
        ["tool_search", "read_result", "fs__read_file", "fs__write_file", "git__log", "echo"];
    let of_gateway = names.map(|name| Fake::echoes(name).of_server("behind").shared());
    assert!(tools.set_server_tools("behind", of_gateway.to_vec()).is_empty());
    stage.run().await;
    let search = stage.definitions()[0][0].clone();
    for line in
        ["- fs (2): fs read file, fs write file", "- git (1): git log", "- behind (1): echo"]
    {
        assert!(search.contains(line), "{search}");
    }
}
