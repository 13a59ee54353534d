//! `switchboard serve` and `switchboard token`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{
    fixture::{pid, runs, section_with_pid, wait_until},
    test_folder::TestFolder,
};

pub(crate) use crate::serving::Serving;

// GW-1
#[test]
fn it_serves_programs_and_mcp_clients_until_told_to_stop() {
    let place = TestFolder::with_config(&section_with_pid("good", ""));
    let mut serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let server = pid(&place, "good");
    let call = |body: &str| serving.ask("POST", "/api/tools/math_eval/call", "", body);
    let (status, envelope) = call(r#"{"expression":"2+2"}"#);
    assert_eq!((status, &envelope["result"]), (200, &json!({"result": 4})));
    assert_eq!(call("{").0, 400);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let (status, answer) = serving.ask("POST", "/mcp", "", ping);
    assert_eq!((status, &answer["result"]["serverInfo"]["name"]), (200, &json!("switchboard")));
    assert_eq!(serving.ask("GET", "/healthz", "", "").0, 200);

    serving.signal("-TERM");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
    wait_until("the server ends with us", || !runs(server));
}

// GW-1
#[test]
fn the_console_opens_in_the_users_browser() {
    let place =
        TestFolder::with_config("").file("browser", "#!/bin/sh\necho \"$1\" > \"$0.opened\"\n");
    let browser = place.path().join("browser");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let place = place.variable("BROWSER", browser.to_str().unwrap());
    assert_eq!(place.run(&["token", "new", "--name", "me"]).status, 0);
    // Nobody can go to "all addresses".
    for (listen, shown) in [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1")] {
        let serving = Serving::start(&place, &["--listen", &format!("{listen}:0"), "--open"]);
        let console = format!("http://{}/\n", serving.address.replace(listen, shown));
        let opened = place.path().join("browser.opened");
        wait_until("the browser has the address", || {
            fs::read_to_string(&opened).is_ok_and(|address| address == console)
        });
    }
}

// GW-2
#[test]
fn tokens_open_the_gateway() {
    let place = TestFolder::with_config("");
    let refused = place.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("switchboard token new"), "{}", refused.stderr);

    let made = place.run(&["token", "new", "--name", "a", "--tools", "echo", "--json"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let secret = made["token"].as_str().unwrap();
    let serving = Serving::start(&place, &["--listen", "0.0.0.0:0"]);
    let bearer = format!("Authorization: Bearer {secret}\r\n");
    assert_eq!(serving.ask("GET", "/api/tools", "", "").0, 401);
    assert_eq!(serving.ask("POST", "/mcp", "", "{}").0, 401);
    let (status, tools) = serving.ask("GET", "/api/tools", &bearer, "");
    assert_eq!((status, tools.as_array().unwrap().len()), (200, 1));

    let listed = place.run(&["token", "list", "--json"]);
    assert!(!listed.stdout.contains(secret), "{}", listed.stdout);
    assert_eq!(serde_json::from_str::<Value>(&listed.stdout).unwrap()[0]["tools"], json!(["echo"]));
    assert_eq!(place.run(&["token", "new", "--name", "a"]).status, 2);
    assert_eq!(place.run(&["token", "new", "--name", "b", "--rate", "often"]).status, 2);
    assert_eq!(place.run(&["token", "revoke", "a"]).status, 0);
    assert_eq!(place.run(&["token", "revoke", "a"]).status, 2);
    wait_until("the token is worth nothing", || {
        serving.ask("GET", "/api/tools", &bearer, "").0 == 401
    });
}

// GW-1, EX-6
#[test]
fn over_stdio_there_is_nothing_but_the_protocol() {
    let place = TestFolder::with_config("").variable("RUST_LOG", "trace");
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}"#,
        "nonsense",
    ];
    let ended = place.run_with_stdin(
        &["serve", "--stdio"],
        lines.map(|line| format!("{line}\n")).concat().as_bytes(),
    );
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let answers: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("only JSON-RPC"))
        .collect();
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"), "{answers:?}");
    let call = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    assert_eq!(call["result"]["structuredContent"], json!({"echo": {"a": 1}}));
}

// GW-1: a changed config applies at once and as a whole; a broken one is refused.
#[test]
fn a_changed_config_applies_while_calls_run() {
    let tool = |name: &str| {
        format!(
            "[[tools]]\nname = \"{name}\"\ndescription = \"x\"\n\
             implementation = {{ type = \"mock\", mock_response = 1 }}\n"
        )
    };
    let (kept, gone) = (section_with_pid("kept", ""), section_with_pid("gone", ""));
    let place = TestFolder::with_config(&format!("{}{kept}{gone}", tool("old")));
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (first, second) = (pid(&place, "kept"), pid(&place, "gone"));
    let names = || {
        let (_, tools) = serving.ask("GET", "/api/tools", "", "");
        let tools = tools.as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let has = |name: &str| names().iter().any(|own| own == name);
    wait_until("both servers are there", || has("gone__echo") && has("kept__echo"));

    let file = place.path().join("switchboard.toml");
    std::fs::write(&file, "[executor]\ntimeot = 1\n").unwrap();
    serving.signal("-HUP");
    wait_until("the broken config is refused", || {
        let log = std::fs::read_to_string(place.path().join("log")).unwrap();
        log.contains("the config stays as it was") && log.contains("did you mean `timeout`?")
    });
    assert!(has("old"), "{:?}", names());
    let models = || serving.ask("GET", "/v1/models", "", "").1["data"].as_array().unwrap().len();
    assert_eq!(models(), 0);
    let further = "[serve]\naccess_log = true\n[models.m]\nprovider = \"ollama\"\nmodel = \"m\"\n";
    let rules = "[policy]\ndeny = [\"math_eval\"]\n";
    std::fs::write(&file, format!("{rules}{further}{}{kept}", tool("new"))).unwrap();
    wait_until("the new tool is there", || has("new"));
    wait_until("the new model is there", || models() == 1);
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("what has changed in [serve] applies when we start again"), "{log}");
    assert!(!log.contains("changed in [audit]"), "{log}");
    assert!(!has("old") && !has("gone__echo") && has("kept__echo"), "{:?}", names());
    assert!(!has("math_eval"), "{:?}", names());
    assert_eq!(serving.ask("POST", "/api/tools/math_eval/call", "", "{}").0, 403);
    assert_eq!(serving.ask("POST", "/api/tools/kept__echo/call", "", "{}").0, 200);
    wait_until("the server that is gone has ended", || !runs(second));
    assert!(runs(first), "the one that is as it was goes on");
    assert_eq!(pid(&place, "kept"), first);
}

// GW-1
#[test]
fn an_address_that_is_taken_is_told() {
    let place = TestFolder::with_config("");
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let second = place.run(&["serve", "--listen", &serving.address]);
    assert_eq!(second.status, 2);
    assert!(second.stderr.contains("cannot listen on"), "{}", second.stderr);
}
