//! The console in a real browser, in front of the real binary with real MCP servers behind it.
//!
//! Each section has a script in `console/`, which steers Debian's Chromium and fails where something is not as it should be.

mod pictures;

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener},
    path::Path,
    process::{Output, Stdio},
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply, nats::Nats, secrets};
use switchboard_toolcall::CallId;

use crate::{
    serving::{Serving, part, program, switchboard},
    sign_in,
};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/console");

/// A tool whose schema has all that a form must bear.
const SCENE: &str = r##"
[[tools]]
name = "scene"
description = "Sets the lights of a room: which, how bright, what colour, and until when."
annotations = { destructive = true, idempotent = true }
implementation = { type = "mock", mock_response = { lights = 1, confirmed = true } }
[tools.parameters]
type = "object"
required = ["room", "lights"]
[tools.parameters."$defs".colour]
oneOf = [{ title = "Named", type = "string", enum = ["warm", "cold"] }, { "$ref" = "#/$defs/rgb" }]
[tools.parameters."$defs".rgb]
title = "RGB"
type = "object"
required = ["r", "g", "b"]
properties.r = { type = "integer", default = 0 }
properties.g = { type = "integer", default = 0 }
properties.b = { type = "integer", default = 0 }
[tools.parameters."$defs".light]
type = "object"
required = ["name"]
properties.name = { type = "string", description = "As Location/Name" }
properties.level = { type = "integer", minimum = 0, default = 80 }
properties.colour = { "$ref" = "#/$defs/colour" }
[tools.parameters.properties]
room = { type = "string", enum = ["kitchen", "garage", "bedroom"], description = "Where" }
lights = { type = "array", items = { "$ref" = "#/$defs/light" }, description = "Which lights, and how" }
until = { anyOf = [{ type = "string", format = "date-time" }, { type = "null" }] }
[tools.parameters.properties.options]
type = "object"
properties.fade = { type = "number", description = "Seconds" }
properties.confirm = { type = "boolean" }
"##;

/// Two real servers, and one that cannot be reached.
fn servers() -> String {
    let (time, things) = (
        part("mcp-python/venv/bin/mcp-server-time"),
        part("mcp-node/node_modules/.bin/mcp-server-everything"),
    );
    format!(
        "[servers.time]\ncommand = '{}'\nargs = ['--local-timezone', 'UTC']\n\
         [servers.things]\ncommand = '{}'\nargs = ['stdio']\n\
         [servers.gone]\ncommand = '/nowhere/gone'\n",
        time.display(),
        things.display()
    )
}

/// A server whose tools nobody has trusted, and one whose sandbox lets it read nothing of what it offers.
fn watched_servers() -> String {
    let node = |name: &str| part(&format!("mcp-node/node_modules/.bin/mcp-server-{name}"));
    format!(
        "[servers.memory]\ncommand = {:?}\nlock = 'enforce'\n\
         [servers.files]\ncommand = {:?}\nargs = [{:?}]\nsandbox = 'on'\n",
        node("memory"),
        node("filesystem"),
        env!("CARGO_MANIFEST_DIR"),
    )
}

/// A gateway with this config, and a script that looks at it.
fn look(config: &str, script: &str, words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), config);
    let url = format!("http://{}", serving.address);
    let said = run(folder.path(), script, &[&[url.as_str()], words].concat());
    serving.stop();
    said
}

/// Runs a script and returns what it printed.
fn run(folder: &Path, script: &str, words: &[&str]) -> String {
    let mut command = program("node", folder);
    command.env("SWITCHBOARD_PARTS", part(".")).env("HOME", folder);
    // Node 20 has no WebSocket without it, and firefox.mjs needs one.
    command.arg("--experimental-websocket").arg(format!("{FOLDER}/{script}.mjs"));
    let Output { status, stdout, stderr } = command.args(words).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{script}.mjs\n{said}\n{errors}");
    said.into_owned()
}

/// What a model says that calls a tool and then answers.
fn turns() -> [Reply; 2] {
    turns_with("math_eval", r#"{"expression":"2 inch to cm"}"#)
}

fn turns_with(tool: &str, arguments: &str) -> [Reply; 2] {
    let call =
        json!([{"index": 0, "id": "c1", "function": {"name": tool, "arguments": arguments}}]);
    let calls = json!({"choices": [{"index": 0, "delta": {"tool_calls": call}}]});
    let end =
        |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 812, "completion_tokens": 41}});
    [
        events(&[say("Let me **calculate** that."), calls, end("tool_calls"), usage.clone()]),
        events(&[say("These are "), say("5.08 cm."), end("stop"), usage]),
    ]
}

fn say(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

fn events(events: &[Value]) -> Reply {
    Reply::events(&events.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn with_model(model: &ProviderServer) -> String {
    // With its window, which it would be asked for otherwise.
    format!(
        "[models.local]\nprovider = 'openai'\nmodel = 'local'\ncontext = 100_000\nbase_url = '{}/v1'\napi_key = 'none'\n",
        model.url()
    )
}

/// A call stays held for as long as the slowest machine looks at all sections.
const ASK: &str = "[policy]\nask = ['scene']\nask_timeout = '15m'\n";

// GW-1, RS-3
#[test]
fn calls_appear_as_they_happen() {
    look(&servers(), "live", &[]);
}

// GW-1, RS-3
#[test]
fn tools_are_found_filled_in_and_run() {
    look(&format!("{}{SCENE}", servers()), "tools", &[]);
}

// GW-1
#[test]
fn servers_are_watched_stopped_and_started() {
    let config = format!("{}{}", servers(), watched_servers());
    look(&config, "servers", &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
}

// GW-1
#[test]
fn the_overview_counts() {
    look(&servers(), "overview", &[]);
}

// GW-1, RC-2
#[test]
fn a_switch_shows_one_gateway_or_all_nodes() {
    let [kept, here, there] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let nats = Nats::start(&part("."), kept.path());
    let config = format!("[cluster]\nnats = '{}'\n", nats.url());
    let (serving, other) =
        (Serving::start(here.path(), &config), Serving::start(there.path(), &config));
    let url = |serving: &Serving| format!("http://{}", serving.address);
    run(here.path(), "fleet", &[&url(&serving), &url(&other)]);
    let gone = url(&other);
    other.stop();
    run(here.path(), "fleet", &[&url(&serving), &gone, "Did not answer, so that the calls that"]);
    serving.stop();
}

// GW-1, RS-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_tried_and_stopped() {
    let model = ProviderServer::start(turns()).await;
    for reply in turns_with("time__get_current_time", r#"{"timezone":"UTC"}"#) {
        model.push(reply);
    }
    // It thinks for ever.
    model.push(events(&[say("Let me think")]).then_silence());
    let config = format!("{}{}", with_model(&model), servers());
    tokio::task::spawn_blocking(move || look(&config, "chat", &[])).await.unwrap();
    assert_eq!(model.abandoned(), 1, "the stop reached the model");
}

// GW-1, ML-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_of_the_console_goes_on_in_the_terminal() {
    let [_, answer] = turns();
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    // `chat` asks first whether there is such a model.
    let models = Reply::json(200, &json!({"data": [{"id": "local"}]}));
    let second = events(&[say("And three are 7.62 cm."), end]);
    let model = ProviderServer::start([answer, models, second]).await;
    let folder = tempfile::tempdir().unwrap();
    let (at, config) = (folder.path().to_owned(), with_model(&model));
    let resumed = move || {
        let serving = Serving::start(&at, &config);
        let url = format!("http://{}", serving.address);
        run(&at, "kept", &[&url, "begin"]);
        let mut chat = switchboard(&at, &["chat", "--resume"]);
        let streams = chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut chat = streams.spawn().unwrap();
        chat.stdin.take().unwrap().write_all(b"And three?\n").unwrap();
        let output = chat.wait_with_output().unwrap();
        run(&at, "kept", &[&url, "read"]);
        serving.stop();
        output
    };
    let output = tokio::task::spawn_blocking(resumed).await.unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout, "And three are 7.62 cm.\n", "{stderr}");
    // The model has read what was said in the console.
    let asked = model.captured().pop().unwrap();
    let messages = asked.body["messages"].as_array().unwrap();
    let said: Vec<_> = messages.iter().filter(|message| message["role"] != "system").collect();
    let texts: Vec<_> = said.iter().filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(texts, ["How long are 2 inches?", "These are 5.08 cm.", "And three?"]);
}

// GW-1
#[test]
fn a_refused_config_is_told_above_every_section() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), "");
    let file = folder.path().join("switchboard.toml");
    let url = format!("http://{}", serving.address);
    run(folder.path(), "refused", &[&url, file.to_str().unwrap()]);
    serving.stop();
}

/// A run whose process was killed while its call was in flight.
fn interrupted_run() -> (CallId, String) {
    let id = CallId::generate();
    let message = json!({
        "role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "pay", "args": {"amount": 12.50}}],
    });
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    let lines = [
        json!({"start": {
            "id": id, "model": "local", "started": "2026-11-19T06:00:00Z",
            "messages": [{"role": "user", "content": "Pay the invoice"}],
        }}),
        json!({"turn": {"message": message, "stop": "tool_use", "usage": usage, "at": 0}}),
        json!({"began": {"position": 0, "honours_keys": false}}),
    ];
    (id, lines.map(|line| format!("{line}\n")).concat())
}

// GW-1, RN-1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_shown_turn_by_turn() {
    let [_, answer] = turns();
    let model = ProviderServer::start(turns()).await;
    model.push(answer);
    let config =
        with_model(&model) + "price = { input = 1, output = 10 }\n[policy]\nask = ['math_eval']\n";
    let looked = move || {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("state/switchboard/runs");
        let (id, text) = interrupted_run();
        fs::create_dir_all(&runs).unwrap();
        fs::write(runs.join(format!("{id}.live")), text).unwrap();
        let serving = Serving::start(folder.path(), &config);
        let url = format!("http://{}", serving.address);
        run(folder.path(), "runs", &[&url]);
        serving.stop();
    };
    tokio::task::spawn_blocking(looked).await.unwrap();
}

// GW-1
#[test]
fn a_held_call_is_decided_by_a_person() {
    look(&format!("{ASK}{SCENE}"), "approvals", &[]);
}

// GW-1, PO-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_is_decided_where_it_was_made() {
    let arguments = r#"{"room":"kitchen","lights":[{"name":"Kitchen/Ceiling","level":40}]}"#;
    let model = ProviderServer::start(turns_with("scene", arguments)).await;
    let config = format!("{ASK}{}{SCENE}", with_model(&model));
    tokio::task::spawn_blocking(move || look(&config, "held", &[])).await.unwrap();
}

// GW-1, GW-2, PO-1
#[test]
fn a_client_is_connected_with_a_token_of_its_own() {
    let config = format!("{ASK}deny = ['control_speaker_*']\n{SCENE}");
    look(&config, "access", &[env!("CARGO_BIN_EXE_switchboard")]);
}

// GW-1, GW-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_asks_is_answered_in_a_form() {
    let [_, answer] = turns();
    let model = ProviderServer::start([answer]).await;
    let config = format!("{}{}", servers(), with_model(&model));
    tokio::task::spawn_blocking(move || look(&config, "questions", &[])).await.unwrap();
}

// GW-1, GW-2
#[test]
fn a_token_signs_in() {
    let folder = tempfile::tempdir().unwrap();
    let token = ["token", "new", "--name", "console-test", "--json"];
    let made = switchboard(folder.path(), &token).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let serving = Serving::start(folder.path(), "[serve]\nrequire_token = true\n");
    let url = format!("http://{}", serving.address);
    run(folder.path(), "sign_in", &[&url, made["token"].as_str().unwrap()]);
    serving.stop();
}

// GW-1
#[test]
fn the_page_computes_what_it_should() {
    look("", "modules", &[]);
}

// GW-1
#[test]
fn a_lost_connection_is_told_and_mended() {
    look(&servers(), "lost", &[]);
}

// GW-1
#[test]
fn a_thousand_calls_a_second_leave_the_page_answering() {
    println!("{}", look("", "load", &[]));
}

// GW-1
#[test]
fn everybody_can_reach_everything() {
    look(&format!("{ASK}{}{SCENE}", servers()), "reach", &[]);
}

// GW-1
#[test]
fn every_section_works_in_firefox() {
    look(&format!("{ASK}{}{SCENE}", servers()), "firefox", &[]);
}

/// A server that wants a sign-in of everybody.
fn refusing_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n\
                            Content-Length: 0\r\nConnection: close\r\n\r\n";
                _ = stream.write_all(head.as_bytes());
                // What is still to come is read, so that the answer is not lost.
                _ = stream.shutdown(Shutdown::Write);
                _ = io::copy(&mut stream, &mut io::sink());
            });
        }
    });
    url
}

// AU-1: who may administer sees how to sign in for all callers.
#[test]
fn a_shared_sign_in_is_offered() {
    let url = refusing_server();
    look(&format!("[mcp]\nretry_attempts = 1\n[servers.docs]\nurl = '{url}'\n"), "shared", &[]);
}

// AU-3: one's own sign-in begins and ends in the console, at a certified authorization server.
#[test]
fn a_caller_signs_in_to_a_server_and_out() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let told = outside.path().join("secrets");
    let (_provider, issuer) = sign_in::node("provider.mjs", told.to_str().unwrap());
    let (_resource, port) = sign_in::python(&issuer, "streamable-http");
    let words = ["token", "new", "--name", "grace", "--json"];
    let made = switchboard(folder.path(), &words).output().unwrap();
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    // Who is signed in is known from the ID token.
    let config = format!(
        "[mcp]\nretry_attempts = 1\n[serve]\nrequire_token = true\n\
         [servers.mail]\nurl = 'http://127.0.0.1:{port}/mcp'\nauth = 'user'\n\
         oauth = {{ scopes = ['openid', 'offline_access', 'tools'] }}\n"
    );
    let serving = Serving::start(folder.path(), &config);
    let url = format!("http://{}", serving.address);
    run(folder.path(), "own_sign_in", &[&url, token, &issuer]);
    serving.stop();
    let told = fs::read_to_string(told).unwrap();
    let known: Vec<&str> = told.lines().chain([token, sign_in::PASSWORD]).collect();
    assert!(known.len() > 4, "{known:?}");
    secrets::assert_none(&folder.path().join("state"), &[], &known);
}
