//! Profiles: views of the tools, by every entrance of the real binary (SPEC FT-5).

use std::{fs, io::Write, process::Stdio};

use serde_json::{Value, json};

use crate::{
    fixture::{section, wait_until},
    serving::Serving,
    test_folder::TestFolder,
};

/// Two profiles over one server and the built-in tools. `desk` changes what it shows, `math` is searched.
const PROFILES: &str = r#"
[profiles.desk]
tools = ["s__*", "get_current_datetime"]
instructions = "For the desk."

[profiles.desk.tool."s__echo"]
name = "say"
description = "Says what the desk says"
arguments.text = { fixed = "hello" }

[profiles.desk.tool."s__add"]
arguments.b = { hidden = true }
arguments.a = { description = "The first" }

[profiles.math]
tools = ["math_eval", "convert_units"]
discovery = "search"
pinned = ["math_*"]
"#;

fn place() -> TestFolder {
    TestFolder::with_config(&format!("{}{PROFILES}", section("s", "")))
}

/// Names of the tools that a run printed as JSON.
fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// What the command line sees of `desk`; the same alone and through a gateway.
fn check_command_line(place: &TestFolder) {
    let tools = place.run(&["tools", "--profile", "desk", "--json"]).json();
    assert_eq!(names(&tools), ["get_current_datetime", "read_result", "say", "s__add"]);
    assert_eq!(tools[2]["description"], "Says what the desk says");
    assert_eq!(tools[2]["parameters"]["properties"], json!({}));
    let add = &tools[3]["parameters"];
    assert_eq!(add["properties"]["a"]["description"], "The first", "{add}");
    assert!(add["properties"]["b"].is_null(), "{add}");
    // A fixed argument is replaced, a hidden one dropped.
    let said = place.call(&["--profile", "desk", "say", r#"{"text":"something else"}"#]);
    assert_eq!(said["success"], true, "{said}");
    assert_eq!(said["tool_name"], "say");
    assert!(said["result"].to_string().contains("hello"), "{said}");
    assert!(!said["result"].to_string().contains("something else"), "{said}");
    let added = place.call(&["--profile", "desk", "s__add", r#"{"a":1,"b":41}"#]);
    assert!(!added["result"].to_string().contains("42"), "{added}");
    // Neither what is outside nor an old name is there, nor told of.
    for name in ["math_eval", "math_evl", "s__echo", "echo", "s__ech", "zzz__x"] {
        let refused = place.call(&["--profile", "desk", name, "{}"]);
        assert_eq!(refused["error"], format!("Tool '{name}' not found"), "{refused}");
        let told = refused.to_string().replace(&format!("'{name}'"), "");
        let told = told.replace(&format!("\"{name}\""), "");
        assert!(!told.contains("s__echo") && !told.contains("math_eval"), "{refused}");
    }
    let found = place.run(&["tools", "--profile", "desk", "--search", "evaluate", "--json"]);
    assert!(!found.stdout.contains("math_eval"), "{found:?}");
    // Records keep the full name beside the one that was used.
    let calls = place.run(&["calls", "--json"]).json();
    let said = calls.as_array().unwrap().iter().find(|call| call["shown_as"] == "say").unwrap();
    assert_eq!((&said["tool"], &said["profile"]), (&json!("s__echo"), &json!("desk")));
    assert_eq!(said["arguments"], json!({"text": "hello"}));
}

// FT-5
#[test]
fn the_command_line_sees_a_profile_alone_and_through_a_gateway() {
    let place = place();
    check_command_line(&place);
    let _serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    check_command_line(&place);
}

// FT-5
#[test]
fn an_unknown_profile_is_wrong_usage_with_the_nearest_name() {
    let place = place();
    for words in [
        &["tools", "--profile", "desc"][..],
        &["call", "--profile", "desc", "math_eval", "{}"],
        &["ask", "--profile", "desc", "-m", "demo", "hi"],
        &["serve", "--stdio", "--profile", "desc"],
        &["token", "new", "--name", "a", "--profile", "desc"],
        &["profile", "test", "desc"],
    ] {
        let told = place.refusal(words);
        assert!(told.contains("there is no profile `desc`; did you mean `desk`?"), "{told}");
    }
    assert_eq!(place.run(&["token", "list", "--json"]).stdout, "[]\n");
    for (config, told) in [
        ("[profiles.a]\ntols = []\n", "did you mean `tools`?"),
        ("[profiles.a.tool.x]\nnam = 'y'\n", "did you mean `name`?"),
        ("[profiles.a.tool.x.arguments.p]\nfixd = 1\n", "did you mean `fixed`?"),
        ("[profiles.'a b']\n", "its name may have letters"),
        ("[profiles.a]\ntools = ['[']\n", "profile `a`: `tools`: "),
    ] {
        let place = TestFolder::with_config(config);
        let refused = place.refusal(&["tools"]);
        assert!(refused.contains(told), "{refused}");
    }
}

/// A request of MCP's stateless revision.
fn mcp(
    serving: &Serving,
    path: &str,
    headers: &str,
    method: &str,
    mut params: Value,
) -> (u16, Value) {
    let meta = "io.modelcontextprotocol";
    params["_meta"] = json!({
        format!("{meta}/protocolVersion"): "2026-07-28",
        format!("{meta}/clientCapabilities"): {},
    });
    let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n"));
    let headers = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{}{headers}",
        name.unwrap_or_default()
    );
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    serving.ask("POST", path, &headers, &body.to_string())
}

fn listed(serving: &Serving, path: &str, headers: &str) -> Vec<String> {
    let (status, body) = mcp(serving, path, headers, "tools/list", json!({}));
    assert_eq!(status, 200, "{body}");
    names(&body["result"]["tools"])
}

const DESK: [&str; 4] = ["get_current_datetime", "read_result", "say", "s__add"];

fn ready(serving: &Serving) {
    wait_until("the server is connected", || {
        serving.ask("GET", "/api/tools", "", "").1.to_string().contains("s__echo")
    });
}

// FT-5
#[test]
fn a_gateway_serves_several_profiles_at_once() {
    let place = place();
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    ready(&serving);
    assert_eq!(listed(&serving, "/mcp/desk", ""), DESK);
    let view = ["tool_search", "tool_call", "tool_call_read_only", "read_result", "math_eval"];
    assert_eq!(listed(&serving, "/mcp/math", ""), view);
    assert!(listed(&serving, "/mcp", "").len() > 10);
    let (_, told) = mcp(&serving, "/mcp/desk", "", "server/discover", json!({}));
    assert_eq!(told["result"]["instructions"], "For the desk.", "{told}");
    let call = |name: &str, args: Value| json!({"name": name, "arguments": args});
    let (_, said) = mcp(&serving, "/mcp/desk", "", "tools/call", call("say", json!({"text": "x"})));
    assert!(said["result"].to_string().contains("hello"), "{said}");
    for name in ["s__echo", "math_eval"] {
        let (_, refused) = mcp(&serving, "/mcp/desk", "", "tools/call", call(name, json!({})));
        assert_eq!(refused["error"]["message"], format!("Tool '{name}' not found"), "{refused}");
    }
    // What the view with search calls is within the profile, too.
    let through = |name: &str| call("tool_call", json!({"name": name, "arguments": {"text": "x"}}));
    let (_, refused) = mcp(&serving, "/mcp/math", "", "tools/call", through("s__echo"));
    assert!(refused.to_string().contains("Tool 's__echo' not found"), "{refused}");
    let query = call("tool_search", json!({"query": "say the time echo add", "limit": 50}));
    let (_, found) = mcp(&serving, "/mcp/math", "", "tools/call", query);
    assert!(!found.to_string().contains("s__"), "{found}");
    let (status, body) = mcp(&serving, "/mcp/desc", "", "tools/list", json!({}));
    assert_eq!(status, 404, "{body}");
    assert!(!body.to_string().contains("desk"), "{body}");
    // REST, by a header.
    let header = "X-Switchboard-Profile: desk\r\n";
    assert_eq!(names(&serving.ask("GET", "/api/tools", header, "").1), DESK);
    assert_eq!(serving.ask("GET", "/api/tools", "X-Switchboard-Profile: x\r\n", "").0, 404);
}

// FT-5
#[test]
fn a_bound_token_sees_its_profile_on_every_entrance() {
    let place = place();
    let new = &["token", "new", "--name", "ada", "--profile", "desk", "--json"];
    let token = place.run(new).json()["token"].as_str().unwrap().to_owned();
    let list = place.run(&["token", "list", "--json"]).json();
    assert_eq!(list[0]["profile"], "desk", "{list}");
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    ready(&serving);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(listed(&serving, "/mcp", &bearer), DESK);
    assert_eq!(listed(&serving, "/mcp/desk", &bearer), DESK);
    // Another profile does not exist for it.
    assert_eq!(mcp(&serving, "/mcp/math", &bearer, "tools/list", json!({})).0, 404);
    assert_eq!(mcp(&serving, "/mcp/nothing", &bearer, "tools/list", json!({})).0, 404);
    let ask = |method: &str, path: &str, body: &str| serving.ask(method, path, &bearer, body);
    assert_eq!(names(&ask("GET", "/api/tools", "").1), DESK);
    let (status, said) = ask("POST", "/api/tools/say/call", r#"{"text":"mine"}"#);
    assert_eq!((status, &said["tool_name"]), (200, &json!("say")), "{said}");
    assert_eq!(ask("POST", "/api/tools/s__echo/call", "{}").0, 404);
    assert_eq!(ask("GET", "/api/tools/s__echo", "").0, 404);
    assert_eq!(ask("GET", "/api/tools/say", "").0, 200);
    assert_eq!(ask("GET", "/metrics", "").0, 403);
    let calls = ask("GET", "/api/calls", "").1;
    assert_eq!(calls[0]["tool"], "say", "{calls}");
    assert_eq!(calls[0]["arguments"], json!({}), "{calls}");
    assert!(!calls.to_string().contains("s__echo"), "{calls}");
    let id = said["call_id"].as_str().unwrap();
    let shown = ask("GET", &format!("/api/calls/{id}"), "").1.to_string();
    assert!(shown.contains("\"say\"") && !shown.contains("s__echo"), "{shown}");
    let all = serving.ask("GET", "/openapi.json", &bearer, "").1.to_string();
    assert!(all.contains("say") && !all.contains("math_eval"), "{all}");
    // A profile that is gone leaves the token nothing.
    fs::write(place.path().join("switchboard.toml"), section("s", "")).unwrap();
    serving.signal("-HUP");
    wait_until("the profile is gone", || {
        serving.ask("GET", "/api/tools", &bearer, "").1 == json!([])
    });
}

// FT-5
#[test]
fn a_changed_profile_applies_to_who_uses_it() {
    let place = place();
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    ready(&serving);
    let more = "\n[profiles.new]\ntools = ['math_eval']\n";
    let changed = PROFILES.replace("name = \"say\"", "name = \"speak\"");
    let config = format!("{}{changed}{more}", section("s", ""));
    fs::write(place.path().join("switchboard.toml"), config).unwrap();
    serving.signal("-HUP");
    wait_until("the tool has its new name", || {
        listed(&serving, "/mcp/desk", "").contains(&"speak".to_owned())
    });
    assert_eq!(listed(&serving, "/mcp/new", ""), ["math_eval", "read_result"]);
}

// FT-5: the same program twice, with other settings: each profile has one of them, under the same name.
#[test]
fn two_profiles_have_the_same_server_with_other_settings() {
    let account = |name: &str| {
        format!(
            "{}env = {{ ACCOUNT = '{name}' }}\n[profiles.of_{name}]\ntools = ['{name}__environment']\n\
             [profiles.of_{name}.tool.{name}__environment]\nname = 'environment'\n",
            section(name, "env")
        )
    };
    let place = TestFolder::with_config(&(account("blue") + &account("red")));
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    wait_until("the servers are connected", || {
        let tools = serving.ask("GET", "/api/tools", "", "").1.to_string();
        ["blue", "red"].iter().all(|name| tools.contains(&format!("{name}__environment")))
    });
    for (name, other) in [("blue", "red"), ("red", "blue")] {
        let (profile, path) = (format!("of_{name}"), format!("/mcp/of_{name}"));
        assert_eq!(listed(&serving, &path, ""), ["read_result", "environment"]);
        let call = |tool: &str| {
            mcp(&serving, &path, "", "tools/call", json!({"name": tool, "arguments": {}})).1
        };
        let said = call("environment");
        let text = said["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let environment: Value = serde_json::from_str(text).unwrap();
        assert_eq!(environment["variables"]["ACCOUNT"], name, "{said}");
        let refused = call(&format!("{other}__environment"));
        assert!(refused["error"].to_string().contains("not found"), "{refused}");
        // The record says which of the two it was.
        let calls = place.run(&["calls", "--json", "--tool", &format!("{name}__environment")]);
        let call = &calls.json()[0];
        assert_eq!((&call["profile"], &call["shown_as"]), (&json!(profile), &json!("environment")));
    }
}

/// The responses to requests over stdio, one after the other.
fn over_stdio(place: &TestFolder, words: &[&str], requests: &[Value]) -> Vec<Value> {
    let mut command = place.command(words);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    // Requests in flight are answered after the end of the input.
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.retain(|answer| answer["id"].is_number());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

// FT-5
#[test]
fn stdio_serves_a_profile_alone_and_through_a_gateway() {
    let place = place();
    let request = |id: u64, method: &str, mut params: Value| {
        let meta = "io.modelcontextprotocol";
        params["_meta"] = json!({
            format!("{meta}/protocolVersion"): "2026-07-28",
            format!("{meta}/clientCapabilities"): {},
        });
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    };
    let requests = [
        request(1, "tools/call", json!({"name": "say", "arguments": {"text": "x"}})),
        request(2, "tools/call", json!({"name": "math_eval", "arguments": {}})),
        request(3, "server/discover", json!({})),
    ];
    let check = || {
        let answers = over_stdio(&place, &["serve", "--stdio", "--profile", "desk"], &requests);
        assert!(answers[0]["result"].to_string().contains("hello"), "{answers:?}");
        assert_eq!(answers[1]["error"]["message"], "Tool 'math_eval' not found", "{answers:?}");
        assert_eq!(answers[2]["result"]["instructions"], "For the desk.", "{answers:?}");
        // Its globs do not match `tool_search`, which belongs to the view.
        let listed = [request(1, "tools/list", json!({}))];
        let answers = over_stdio(&place, &["serve", "--stdio", "--profile", "math"], &listed);
        let view = ["tool_search", "tool_call", "tool_call_read_only", "read_result", "math_eval"];
        assert_eq!(names(&answers[0]["result"]["tools"]), view, "{answers:?}");
    };
    check();
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    ready(&serving);
    check();
}

// FT-5
#[test]
fn models_are_offered_a_profile() {
    let script = json!({"turns": [
        {"tool_calls": [{"name": "say", "args": {"text": "x"}}, {"name": "s__echo", "args": {"text": "x"}}]},
        {"text": "Done."},
    ]});
    let place = place().file("turns.json", script.to_string());
    let check = || {
        let words = ["ask", "--json", "-m", "script:turns.json", "--profile", "desk", "go"];
        let answer = place.run(&words).json();
        let said = answer["messages"].to_string();
        assert!(said.contains("hello"), "{answer}");
        assert!(said.contains("Unknown tool") && !said.contains("Did you mean"), "{answer}");
    };
    check();
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    ready(&serving);
    check();
}

// FT-5: records are read a page at a time, and none is left out or counted twice.
#[test]
fn a_profile_is_tested_on_more_calls_than_a_page_has() {
    let call =
        |number: usize| json!({"name": "math_eval", "args": {"expression": format!("{number}+1")}});
    let calls: Vec<_> = (0..501).map(call).collect();
    let script = json!({"turns": [{"tool_calls": calls}, {"text": "Done."}]});
    let place = place().file("turns.json", script.to_string());
    let asked = place.run(&["ask", "-m", "script:turns.json", "go"]);
    assert_eq!(asked.status, 0, "{asked:?}");
    let report = place.run(&["profile", "test", "math", "--json"]).json();
    assert_eq!((&report["calls"], &report["ok"]), (&json!(501), &json!(501)), "{report}");
}

// FT-5
#[test]
fn a_profile_is_tested_on_recorded_calls() {
    let place = place();
    place.call(&["s__echo", r#"{"text":"a"}"#]);
    place.call(&["s__echo", r#"{"text":"hello"}"#]);
    place.call(&["math_eval", r#"{"expression":"1"}"#]);
    place.call(&["nobody", "{}"]);
    let words = ["profile", "test", "desk", "--since", "7d"];
    let report = place.run(&[&words[..], &["--json"]].concat()).json();
    assert_eq!(report["profile"], "desk");
    let counts = ["calls", "ok", "changed", "failed", "skipped"].map(|key| report[key].as_u64());
    assert_eq!(counts, [3, 2, 1, 1, 1].map(Some), "{report}");
    let failure = &report["failures"][0];
    assert_eq!((&failure["tool"], &failure["calls"]), (&json!("math_eval"), &json!(1)));
    assert_eq!(failure["reason"], "the tool is not in the profile");
    assert_eq!(report["unused"], json!(["get_current_datetime", "read_result", "s__add"]));
    // The latest call that failed is the example.
    let ids = place.run(&["calls", "--json", "--tool", "math_eval"]).json();
    assert_eq!(failure["example"], ids[0]["id"], "{ids}");
    let text = place.run(&words).stdout;
    assert!(text.contains("3 calls: 2 would be run") && text.contains("nobody called:"), "{text}");
    let list = place.run(&["profile", "list", "--json"]).json();
    assert_eq!(list[0]["name"], "desk");
    assert_eq!(list[0]["renamed"], json!({"s__echo": "say"}));
    assert!(place.run(&["profile", "list"]).stdout.starts_with("desk\ts__*, "));
    // Costs and checks know profiles, too.
    let cost = place.run(&["tools", "--cost", "--json"]).json();
    assert_eq!(
        (&cost["profiles"][0]["profile"], &cost["profiles"][0]["tools"]),
        (&json!("desk"), &json!(4))
    );
    let own = place.run(&["tools", "--cost", "--profile", "desk", "--json"]).json();
    assert_eq!(own["total_tokens"], cost["profiles"][0]["tokens"]);
    let doctor = place.run(&["doctor"]).stdout;
    assert!(doctor.contains("profile desk") && doctor.contains("4 tools"), "{doctor}");
}
