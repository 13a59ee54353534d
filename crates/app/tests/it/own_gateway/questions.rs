//! What is asked at the terminal while the gateway runs a call: questions of servers, and whether it may run at all.

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};

use super::serve;
use crate::{
    fixture::section,
    pty::{self, Shown},
    test_folder::TestFolder,
};

/// The arguments with which the server asks this.
fn asks(method: &str, params: &Value) -> String {
    json!({"method": method, "params": params}).to_string()
}

fn elicits() -> String {
    let schema = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    });
    asks("elicitation/create", &json!({"message": "Who are you?", "requestedSchema": schema}))
}

fn samples() -> String {
    let said = json!([{"role": "user", "content": {"type": "text", "text": "Sum it up"}}]);
    asks("sampling/createMessage", &json!({"messages": said, "maxTokens": 50}))
}

fn typed(place: &TestFolder, words: &[&str], keys: &[(&str, &str)]) -> Shown {
    let mut command = place.command(words);
    command.env("NO_COLOR", "1");
    pty::run(command, keys)
}

// GW-3, MC-5
#[test]
fn a_server_asks_at_the_terminal_that_made_the_call() {
    for modes in ["asks", "asks,modern"] {
        let place = TestFolder::with_config(&section("forms", modes));
        let _serving = serve(&place);
        let call = |args: &str, keys: &[(&str, &str)]| {
            typed(&place, &["call", "forms__ask_client", args], keys)
        };
        let keys = [
            ("Answer?", "y"),
            ("  name: ", "Ada\n"),
            ("age [Enter: leave out]: ", "old\n"),
            ("✗ it must be a whole number", "36\n"),
            ("Send it?", "y"),
        ];
        let shown = call(&elicits(), &keys);
        assert_eq!(shown.status, 0, "{modes} {}", shown.text);
        for part in [
            "? MCP server forms asks you (in the call of forms__ask_client)",
            "│ Who are you?",
            "answered",
            r#""content":{"name":"Ada","age":36}"#,
        ] {
            assert!(shown.text.contains(part), "{modes} {part}\n{}", shown.text);
        }
        for (key, action) in [("n", "decline"), ("c", "cancel"), ("\x03", "cancel")] {
            let shown = call(&elicits(), &[("Answer?", key)]);
            assert_eq!(shown.status, 0, "{modes} {}", shown.text);
            let answer = format!(r#"{{"action":"{action}"}}"#);
            assert!(shown.text.contains(&answer), "{modes} {action}\n{}", shown.text);
        }
        let nested = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}});
        let shown = call(&asks("elicitation/create", &nested), &[]);
        let text = shown.text.replace("\r\n", "");
        assert!(
            shown.status == 1 && text.contains("that cannot be shown: its field 'x'"),
            "{text}"
        );
    }
}

// GW-3, MC-5
#[tokio::test(flavor = "multi_thread")]
async fn a_servers_wish_for_a_model_is_asked_about_and_met_here() {
    let answer = json!({"choices": [{"index": 0, "delta": {"content": "In short: yes."}, "finish_reason": "stop"}]});
    let provider = ProviderServer::start([Reply::events(&[answer.to_string()])]).await;
    let model = format!(
        "[models.m]\nprovider = \"openai\"\nmodel = \"tiny\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n",
        provider.url()
    );
    let place = TestFolder::with_config(&format!("{model}{}", section("forms", "asks")));
    let _serving = serve(&place);
    let call =
        |keys: &[(&str, &str)]| typed(&place, &["call", "forms__ask_client", &samples()], keys);
    let refused = call(&[("give the answer to the server?", "n")]);
    assert_eq!(refused.status, 1, "{}", refused.text);
    assert!(
        refused.text.contains("the user does not allow that a model is asked"),
        "{}",
        refused.text
    );
    let allowed = call(&[("give the answer to the server?", "y")]);
    assert_eq!(allowed.status, 0, "{}", allowed.text);
    assert!(
        allowed.text.contains("│ Sum it up") && allowed.text.contains("In short: yes."),
        "{}",
        allowed.text
    );

    let place = TestFolder::with_config(&section("forms", "asks"));
    let _serving = serve(&place);
    let none = typed(&place, &["call", "forms__ask_client", &samples()], &[]);
    assert!(none.status == 1 && none.text.contains("and there is no model"), "{}", none.text);
}

// PO-2
#[test]
fn a_call_that_must_be_allowed_is_asked_about_at_the_terminal() {
    let config = format!("[policy]\nask = [\"s__*\"]\n{}", section("s", ""));
    let script = json!({"turns": [
        {"tool_calls": [{"id": "c1", "name": "s__add", "args": {"a": 1, "b": 2}}]},
        {"text": "three"},
    ]});
    let place = TestFolder::with_config(&config).file("script.json", script.to_string());
    let _serving = serve(&place);
    let call = ["call", "s__add", "a=1", "b=2"];
    let allowed = typed(&place, &call, &[("Allow it?", "y")]);
    assert_eq!(allowed.status, 0, "{}", allowed.text);
    assert!(
        allowed.text.contains("? s__add wants to run") && allowed.text.contains("allowed"),
        "{}",
        allowed.text
    );
    let denied = typed(&place, &call, &[("Allow it?", "n")]);
    assert_eq!(denied.status, 1, "{}", denied.text);
    // The model's call too, and once and for all.
    let asked = ["ask", "-m", "script:script.json", "1+2?"];
    let answered = typed(&place, &asked, &[("Allow it?", "t")]);
    assert_eq!(answered.status, 0, "{}", answered.text);
    assert!(answered.text.contains("three"), "{}", answered.text);
    assert_eq!(place.call(&["s__add", "a=1", "b=2"])["success"], true, "a rule was left");
    let calls = place.run(&["calls", "--json"]).json();
    let outcomes: Vec<_> = calls.as_array().unwrap().iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["ok", "ok", "denied", "ok"]);
}

// GW-3, ML-8
#[test]
fn a_server_asks_the_person_who_talks_with_a_model() {
    let call = |args: String| json!({"tool_calls": [{"id": "c", "name": "forms__ask_client", "args": serde_json::from_str::<Value>(&args).unwrap()}]});
    let script = json!({"turns": [call(elicits()), {"text": "done"}]});
    let place =
        TestFolder::with_config(&section("forms", "asks")).file("script.json", script.to_string());
    let _serving = serve(&place);
    let keys = [
        ("Answer?", "y"),
        ("  name: ", "Ada\n"),
        ("age [Enter: leave out]: ", "\n"),
        ("Send it?", "y"),
    ];
    let shown = typed(&place, &["ask", "-m", "script:script.json", "who?"], &keys);
    assert_eq!(shown.status, 0, "{}", shown.text);
    assert!(shown.text.contains("done"), "{}", shown.text);
    let calls = place.run(&["calls", "--json", "--limit", "1"]).json();
    let id = calls[0]["id"].as_str().unwrap();
    let record = place.run(&["calls", "show", id, "--json"]).json();
    assert!(record["result"].to_string().contains("Ada"), "{record}");
}
