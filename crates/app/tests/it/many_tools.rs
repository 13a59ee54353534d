//! Models that search for tools, because the definitions of all would take too much of their window (SPEC FT-3).

use std::fmt::Write;

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};
use tokio::task::block_in_place;

use crate::{fixture::wait_until, serving::Serving, test_folder::TestFolder};

/// Two hundred tools, of which one waters plants.
fn tools() -> String {
    let mut text = String::new();
    for number in 0..200 {
        let (name, description) = match number {
            120 => ("water_plants".to_owned(), "Waters the plants in the garden".to_owned()),
            _ => (format!("convert_{number}"), format!("Converts ledger {number} to another form")),
        };
        write!(
            text,
            "[[tools]]\nname = '{name}'\ndescription = '{description}'\n\
             parameters = {{ type = 'object', properties = {{ text = {{ type = 'string' }} }} }}\n\
             implementation = {{ type = 'command', program = 'echo', args = ['{name}', '{{text}}'] }}\n"
        )
        .unwrap();
    }
    text
}

/// The turns of a model that calls these tools, one after the other, and then answers, as the provider sends them in one piece.
pub(crate) fn replies(provider: &str, calls: &[(&str, Value)]) -> Vec<Reply> {
    let call = |(number, (name, args)): (usize, &(&str, Value))| match provider {
        "openai" => {
            let function = json!({"name": name, "arguments": args.to_string()});
            let calls =
                json!([{"id": format!("c{number}"), "type": "function", "function": function}]);
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}]})
        }
        "anthropic" => {
            json!({"type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [{"type": "tool_use", "id": format!("c{number}"), "name": name, "input": args}]})
        }
        _ => {
            json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": args}}]}, "done": true, "done_reason": "stop"})
        }
    };
    let answer = match provider {
        "openai" => {
            json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]})
        }
        "anthropic" => {
            json!({"type": "message", "role": "assistant", "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [{"type": "text", "text": "Done."}]})
        }
        _ => {
            json!({"message": {"role": "assistant", "content": "Done."}, "done": true, "done_reason": "stop"})
        }
    };
    let bodies = calls.iter().enumerate().map(call).chain([answer]);
    bodies.map(|body| Reply::json(200, &body)).collect()
}

pub(crate) fn config(provider: &str, url: &str, agent: &str) -> String {
    let path = if provider == "openai" { "/v1" } else { "" };
    format!(
        "{}[models.m]\nprovider = '{provider}'\nmodel = 'm'\nbase_url = '{url}{path}'\ncontext = 32_768\n\
         [agent]\nstream = false\n{agent}\n",
        tools()
    )
}

/// The definitions of each request, as they were sent.
pub(crate) fn sent(server: &ProviderServer) -> Vec<Vec<String>> {
    let asked = server.captured().into_iter().filter(|asked| asked.body["messages"].is_array());
    let tools =
        |body: &Value| body["tools"].as_array().unwrap().iter().map(ToString::to_string).collect();
    asked.map(|asked| tools(&asked.body)).collect()
}

pub(crate) fn name(definition: &str) -> String {
    let tool: Value = serde_json::from_str(definition).unwrap();
    tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned()
}

pub(crate) fn calls() -> [(&'static str, Value); 3] {
    [
        ("tool_search", json!({"query": "water the flowers in my garden", "limit": 1})),
        ("water_plants", json!({"text": "roses"})),
        ("convert_7", json!({"text": "unasked"})),
    ]
}

// FT-3
#[tokio::test(flavor = "multi_thread")]
async fn every_provider_gets_what_was_found_behind_the_rest() {
    for provider in ["openai", "anthropic", "ollama"] {
        let server = ProviderServer::start(replies(provider, &calls())).await;
        let place = TestFolder::with_config(&config(provider, &server.url(), ""));
        let ran = block_in_place(|| place.run(&["ask", "--json", "-m", "m", "Water my roses"]));
        let report = ran.json();
        assert_eq!((ran.status, &report["answer"]), (0, &json!("Done.")), "{ran:?}");
        let said = report["messages"].to_string();
        assert!(
            said.contains("water_plants roses") && said.contains("convert_7 unasked"),
            "{said}"
        );
        let sent = sent(&server);
        let names: Vec<_> = sent[3].iter().map(|tool| name(tool)).collect();
        assert_eq!(
            names,
            ["tool_search", "read_result", "water_plants", "convert_7"],
            "{provider}"
        );
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 3, 4], "{provider}");
        for pair in sent.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{provider}: {pair:?}");
        }
    }
}

// FT-3
#[tokio::test(flavor = "multi_thread")]
async fn the_budget_can_be_off_a_number_or_a_share() {
    for (agent, all) in [
        ("tool_budget = 'off'", true),
        ("tool_budget = 1_000_000", true),
        ("tool_budget = '100%'", true),
        ("tool_budget = 100", false),
        ("tool_budget = '1%'", false),
    ] {
        let server = ProviderServer::start(replies("openai", &[])).await;
        let place = TestFolder::with_config(&config("openai", &server.url(), agent));
        let ran = block_in_place(|| place.run(&["ask", "-m", "m", "Hello"]));
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(sent(&server)[0].len() > 200, all, "{agent}");
    }
    for wrong in ["tool_budget = 'much'", "tool_budget = -1", "tool_budget = '101%'"] {
        let place = TestFolder::with_config(&config("openai", "http://127.0.0.1:9", wrong));
        let refusal = place.refusal(&["ask", "-m", "m", "Hello"]);
        assert!(refusal.contains("tool_budget") || refusal.contains("budget"), "{refusal}");
    }
}

// FT-3: `/v1` does the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_gateways_chat_searches_too() {
    let server = ProviderServer::start(replies("openai", &calls())).await;
    let place = TestFolder::with_config(&config("openai", &server.url(), ""));
    let serving = block_in_place(|| Serving::start(&place, &["--listen", "127.0.0.1:0"]));
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Water my roses"}]});
    let (status, said) =
        block_in_place(|| serving.ask("POST", "/v1/chat/completions", "", &body.to_string()));
    assert_eq!(status, 200, "{said}");
    assert_eq!(sent(&server).iter().map(Vec::len).collect::<Vec<_>>(), [2, 3, 3, 4]);
}

// FT-3, FT-5: what a profile pins is offered first, alone and through the running gateway.
#[tokio::test(flavor = "multi_thread")]
async fn a_profiles_pinned_tools_are_offered_through_a_gateway_too() {
    let profile = "[profiles.garden]\ntools = ['convert_*', 'water_plants']\npinned = ['water_*']\n\
                   [profiles.garden.tool.water_plants]\nname = 'sprinkle'\n\
                   [profiles.bare]\ntools = ['convert_*', 'water_plants']\n\
                   [profiles.whole]\ntools = ['convert_*']\ntool_budget = 'off'\n";
    // Some requests are about the model, not to it.
    let answers = (0..12).flat_map(|_| replies("openai", &[])).collect::<Vec<_>>();
    let server = ProviderServer::start(answers).await;
    let place =
        TestFolder::with_config(&format!("{}{profile}", config("openai", &server.url(), "")));
    let ask = || {
        for profile in ["garden", "bare", "whole"] {
            let ran = place.run(&["ask", "-m", "m", "--profile", profile, "Hello"]);
            assert_eq!(ran.status, 0, "{ran:?}");
        }
    };
    block_in_place(ask);
    let _serving = block_in_place(|| Serving::start(&place, &["--listen", "127.0.0.1:0"]));
    block_in_place(ask);
    assert_eq!(sent(&server).len(), 6);
    for offered in sent(&server).chunks(3) {
        let names = |at: usize| offered[at].iter().map(|tool| name(tool)).collect::<Vec<_>>();
        // The profiles do not list `tool_search`: it belongs to the offer.
        assert_eq!(names(0), ["tool_search", "read_result", "sprinkle"]);
        assert_eq!(names(1), ["tool_search", "read_result"]);
        // Its own budget is off, so all its tools are offered, and `tool_search` is not among them.
        assert_eq!(offered[2].len(), 200, "199 that convert, and `read_result`");
        assert!(!names(2).contains(&"tool_search".to_owned()));
    }
}

// FT-3, FT-5: through the running gateway, a model that searches finds and calls what the profile has, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_searches_in_a_profile_without_search_through_a_gateway() {
    let profile = "[profiles.garden]\ntools = ['convert_1*', 'water_plants']\ntool_budget = 100\n\
                   [profiles.garden.tool.water_plants]\nname = 'sprinkle'\n";
    let calls = [
        ("tool_search", json!({"query": "water the flowers in my garden", "limit": 1})),
        ("sprinkle", json!({"text": "roses"})),
        ("tool_search", json!({"query": "convert_7", "limit": 100})),
        ("convert_7", json!({"text": "unseen"})),
    ];
    let server = ProviderServer::start(replies("openai", &calls)).await;
    let place =
        TestFolder::with_config(&format!("{}{profile}", config("openai", &server.url(), "")));
    let _serving = block_in_place(|| Serving::start(&place, &["--listen", "127.0.0.1:0"]));
    let words = ["ask", "--json", "-m", "m", "--profile", "garden", "Water my roses"];
    let report = block_in_place(|| place.run(&words)).json();
    assert_eq!(report["answer"], "Done.", "{report}");
    let said = report["messages"].to_string();
    assert!(said.contains("water_plants roses"), "{said}");
    assert!(!said.contains("convert_7 unseen") && said.contains("Unknown tool"), "{said}");
    let sent = sent(&server);
    let names: Vec<_> = sent[1].iter().map(|tool| name(tool)).collect();
    assert_eq!(names, ["tool_search", "read_result", "sprinkle"]);
    assert!(sent.iter().flatten().all(|tool| name(tool) != "convert_7"));
    // The gateway records searches as calls in the profile.
    let is_recorded = || {
        let calls = place.run(&["calls", "--json", "--tool", "tool_search"]).json();
        let calls = calls.as_array().unwrap();
        !calls.is_empty() && calls.iter().all(|call| call["profile"] == "garden")
    };
    block_in_place(|| wait_until("a search is recorded", is_recorded));
}
