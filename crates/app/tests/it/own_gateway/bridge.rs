//! `serve --stdio` in front of the running gateway: what a client and a server say to each other passes through.

use std::{
    fs,
    io::{BufRead, BufReader, Lines, Write},
    os::unix::fs::PermissionsExt,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::{serve, starts};
use crate::{
    fixture::{misbehaving, section, wait_until},
    serving::Serving,
    test_folder::TestFolder,
};

/// An MCP client that started `switchboard serve --stdio`.
struct Client {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    is_modern: bool,
    capabilities: Value,
    /// How often it was told that the tools have changed.
    list_changes: usize,
}

impl Client {
    fn start(place: &TestFolder, is_modern: bool) -> Self {
        Self::spawn(place.command(&["serve", "--stdio"]), place, is_modern)
    }

    /// As [`start`](Self::start), by another command.
    fn spawn(mut command: Command, place: &TestFolder, is_modern: bool) -> Self {
        let said = fs::File::create(place.path().join("said")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let capabilities = json!({"elicitation": {}, "sampling": {}});
        let mut client = Self { child, input, output, is_modern, capabilities, list_changes: 0 };
        if !is_modern {
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": client.capabilities,
                "clientInfo": {"name": "desk", "version": "1"}});
            client
                .say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
            client.hear(|message| message["id"] == 0);
            client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request as the era has it.
    fn ask(&mut self, id: u64, method: &str, mut params: Value, progress: bool) {
        if self.is_modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "desk", "version": "1"});
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        if progress {
            params["_meta"]["progressToken"] = json!(id);
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Returns the first message that is meant.
    fn hear(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.output.next().unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "notifications/tools/list_changed" {
                self.list_changes += 1;
            }
            if is_meant(&message) {
                return message;
            }
        }
    }

    /// Lists the tools until this one is among them.
    fn list_until(&mut self, id: &mut u64, tool: &str) {
        loop {
            *id += 1;
            let asked = *id;
            self.ask(asked, "tools/list", json!({}), false);
            let listed = self.hear(|message| message["id"] == asked);
            let tools = listed["result"]["tools"].as_array().unwrap();
            if tools.iter().any(|listed| listed["name"] == tool) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Calls a tool and returns the result.
    fn call(&mut self, id: u64, name: &str) -> Value {
        self.ask(id, "tools/call", call(name, json!({"a": 1, "b": 2})), false);
        self.hear(|message| message["id"] == id)["result"].clone()
    }

    fn end(mut self) {
        drop(self.input);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn place() -> TestFolder {
    let sections = [
        section("slow", "progress=3,answers-late=200"),
        section("mute", "never-answers-tools-call,logs-input=input"),
        section("forms", "asks"),
        section("modern", "asks,modern"),
        section("late", "list-changed"),
        section("logs", "log-messages"),
    ];
    TestFolder::with_config(&sections.concat())
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

// GW-1, GW-8
#[test]
fn progress_and_cancellation_pass_through_in_both_eras() {
    let place = place();
    let _serving = serve(&place);
    for is_modern in [false, true] {
        _ = fs::remove_file(place.path().join("input"));
        let mut client = Client::start(&place, is_modern);
        client.ask(1, "tools/call", call("slow__add", json!({"a": 1, "b": 2})), true);
        let progress = client.hear(|message| message["method"] == "notifications/progress");
        assert_eq!(progress["params"]["progressToken"], 1, "{progress}");
        let called = client.hear(|message| message["id"] == 1);
        assert_eq!(called["result"]["structuredContent"]["sum"], 3.0, "{called}");

        client.ask(2, "tools/call", call("mute__add", json!({"a": 1, "b": 2})), false);
        let input = || fs::read_to_string(place.path().join("input")).unwrap_or_default();
        wait_until("the server has the call", || input().contains("tools/call"));
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}));
        wait_until("the server is told", || input().contains("notifications/cancelled"));
        client.end();
        let calls = place.run(&["calls", "--json", "--limit", "2"]).json();
        let row = |index: usize| {
            ["tool", "outcome", "client"].map(|key| calls[index][key].as_str().unwrap().to_owned())
        };
        assert_eq!(row(0), ["mute__add", "cancelled", "desk"], "{is_modern} {calls}");
        assert_eq!(row(1), ["slow__add", "ok", "desk"], "{is_modern} {calls}");
    }
}

// GW-3
#[test]
fn questions_of_servers_reach_the_client_in_both_eras() {
    let place = place();
    let _serving = serve(&place);
    let text = json!([{"role": "user", "content": {"type": "text", "text": "?"}}]);
    let questions = [
        (
            "elicitation/create",
            json!({"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}),
            json!({"action": "accept", "content": {}}),
        ),
        (
            "sampling/createMessage",
            json!({"messages": text, "maxTokens": 5}),
            json!({"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"}),
        ),
    ];
    for is_modern in [false, true] {
        let mut client = Client::start(&place, is_modern);
        let mut id = 10;
        for server in ["forms", "modern"] {
            for (method, params, answer) in &questions {
                id += 10;
                let name = format!("{server}__ask_client");
                let mut params = call(&name, json!({"method": method, "params": params}));
                client.ask(id, "tools/call", params.clone(), false);
                if is_modern {
                    let asked = client.hear(|message| message["id"] == id);
                    let requests = asked["result"]["inputRequests"].as_object().unwrap();
                    let (key, request) = requests.iter().next().unwrap();
                    assert_eq!(request["method"], *method, "{asked}");
                    params["inputResponses"] = json!({key: answer});
                    if let Some(state) = asked["result"].get("requestState") {
                        params["requestState"] = state.clone();
                    }
                    id += 1;
                    client.ask(id, "tools/call", params, false);
                } else {
                    let asked = client.hear(|message| message["method"] == *method);
                    client.say(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
                }
                let called =
                    client.hear(|message| message["id"] == id && message.get("method").is_none());
                let said = called["result"]["content"][0]["text"].as_str().unwrap_or_default();
                let expected = answer.as_object().unwrap().keys().next().unwrap();
                assert!(said.contains(expected.as_str()), "{is_modern} {server} {method} {called}");
            }
        }
        client.end();
    }
}

// GW-1
#[test]
fn log_messages_of_the_wanted_levels_reach_the_client_in_both_eras() {
    let place = place();
    let _serving = serve(&place);
    let echo = || call("logs__echo", json!({"text": "hi"}));
    for is_modern in [false, true] {
        let mut client = Client::start(&place, is_modern);
        let levels = |client: &mut Client, id: u64| {
            let mut levels = Vec::new();
            loop {
                let message = client.hear(|message| {
                    message["id"] == id || message["method"] == "notifications/message"
                });
                if message["id"] == id {
                    assert!(message["result"].is_object(), "{message}");
                    return levels;
                }
                let params = &message["params"];
                let level = params["level"].as_str().unwrap().to_owned();
                assert_eq!(params["data"], format!("at {level}"), "{message}");
                levels.push(level);
            }
        };
        // A client of the old era that sets no level gets everything; a new one asks with each request.
        client.ask(1, "tools/call", echo(), false);
        let expected = if is_modern { &[][..] } else { &["debug", "warning", "error"] };
        assert_eq!(levels(&mut client, 1), expected, "{is_modern}");
        let mut params = echo();
        if is_modern {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
        } else {
            client.ask(2, "logging/setLevel", json!({"level": "warning"}), false);
            assert_eq!(levels(&mut client, 2), [""; 0]);
        }
        client.ask(3, "tools/call", params, false);
        assert_eq!(levels(&mut client, 3), ["warning", "error"], "{is_modern}");
        client.end();
    }
}

// GW-1, MC-6
#[test]
fn changed_lists_are_told_to_the_client() {
    let place = place();
    let _serving = serve(&place);
    let mut client = Client::start(&place, false);
    let mut id = 1;
    client.list_until(&mut id, "late__add");
    client.list_changes = 0;
    id += 1;
    client.ask(id, "tools/call", call("late__add", json!({"a": 1, "b": 2})), false);
    client.hear(|message| message["id"] == id);
    client.list_until(&mut id, "late__late");
    while client.list_changes == 0 {
        client.hear(|_| true);
    }
    client.end();
}

const SUM: &str = "3";

/// What the last `serve --stdio` wrote to its stderr.
fn said(place: &TestFolder) -> String {
    fs::read_to_string(place.path().join("said")).unwrap()
}

fn kill(serving: &mut Serving) {
    serving.signal("-KILL");
    serving.child.wait().unwrap();
}

/// The client that made the last call, by its record.
fn last_client(place: &TestFolder) -> Value {
    place.run(&["--alone", "calls", "--json", "--limit", "1"]).json()[0]["client"].clone()
}

// GW-1
#[test]
fn a_client_goes_on_with_the_gateway_that_follows_one_that_was_killed_or_stopped() {
    let place = place();
    let mut serving = serve(&place);
    for (is_modern, signal) in [(false, "-KILL"), (true, "-KILL"), (true, "-TERM")] {
        let mut client = Client::start(&place, is_modern);
        assert_eq!(client.call(1, "slow__add")["structuredContent"]["sum"], 3.0);
        if signal == "-KILL" {
            _ = fs::remove_file(place.path().join("input"));
            client.ask(2, "tools/call", call("mute__add", json!({"a": 1, "b": 2})), false);
            let input = || fs::read_to_string(place.path().join("input")).unwrap_or_default();
            wait_until("the server has the call", || input().contains("tools/call"));
            kill(&mut serving);
            let failed = client.hear(|message| message["id"] == 2)["result"].clone();
            let text = "Tool 'mute__add' is unavailable: the gateway was stopped or killed";
            assert!(failed["content"][0]["text"].as_str().unwrap().starts_with(text), "{failed}");
            assert_eq!(failed["_meta"]["switchboard/errorKind"], "unavailable", "{failed}");
        } else {
            serving.signal(signal);
            serving.child.wait().unwrap();
        }
        serving = serve(&place);
        wait_until("it is connected again", || said(&place).contains("was started again"));
        let mut id = 10;
        client.list_until(&mut id, "slow__add");
        let called = client.call(id + 1, "slow__add");
        assert_eq!(called["structuredContent"]["sum"], 3.0, "{called}");
        assert_eq!(last_client(&place), "desk");
        assert!(!said(&place).contains("❌"), "{}", said(&place));
        client.end();
    }
}

// GW-1, GW-8
#[test]
fn without_a_gateway_a_process_of_its_own_serves_the_client_until_one_runs() {
    // Its server takes a while to start, and is waited for each time.
    let script = format!("echo start >> starts; sleep 1; exec {}", misbehaving());
    let server = format!("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n");
    let place = TestFolder::with_config(&format!("[policy]\ndeny = [\"math_eval\"]\n{server}"));
    let mut serving = serve(&place);
    let program = place.path().join("switchboard");
    fs::copy(env!("CARGO_BIN_EXE_switchboard"), &program).unwrap();
    let mut command = Command::new(&program);
    command.args(["serve", "--stdio"]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/bin:/bin").envs(place.variables());
    let mut client = Client::spawn(command, &place, false);
    let add = |client: &mut Client, id: u64| {
        let called = client.call(id, "s__add");
        assert_eq!(called["content"][0]["text"], SUM, "{called}");
    };
    add(&mut client, 1);
    assert_eq!(starts(&place), 1);
    // As an upgrade does: another file under the same name, then the gateway is started again.
    let new = place.path().join("new");
    fs::write(&new, "#!/bin/sh\nexit 99\n").unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(&new, &program).unwrap();
    kill(&mut serving);
    wait_until("it says so", || said(&place).contains("a process of its own serves this client"));
    add(&mut client, 2);
    assert_eq!(starts(&place), 2, "it has servers of its own");
    let denied = client.call(3, "math_eval");
    assert!(denied.is_null() || denied["isError"] == true, "the policy applies: {denied}");
    let mut id = 10;
    client.list_until(&mut id, "s__add");
    let calls = place.run(&["--alone", "calls", "--json", "--tool", "s__add"]).json();
    assert_eq!(calls.as_array().unwrap().len(), 2, "one record each: {calls}");

    let _serving = serve(&place);
    add(&mut client, id + 1);
    wait_until("it says so", || said(&place).contains("the gateway was started again"));
    add(&mut client, id + 2);
    assert_eq!(last_client(&place), "desk");
    assert_eq!(starts(&place), 3, "its servers are the gateway's again");
    client.end();
}
