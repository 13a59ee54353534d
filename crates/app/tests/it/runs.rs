//! Runs that are killed in the middle and go on (SPEC RN-1, RN-2), judged by what the tools themselves wrote down.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use switchboard_testkit::{ProviderServer, Reply};
use tokio::task::block_in_place;

use crate::{ask::scripted, fixture::wait_until, serving::Serving, test_folder::TestFolder};

/// Three tools that each write a line; `slow` takes a while after that. Only `look` may be called twice.
const TOOLS: &str = r#"
[[tools]]
name = "charge"
description = "Charges"
implementation = { type = "command", program = "sh", args = ["-c", "echo charge >> written; echo charged"] }
[[tools]]
name = "slow"
description = "Writes, then waits"
implementation = { type = "command", program = "sh", args = ["-c", "echo slow >> written; if [ -e fast ]; then echo done; else exec sleep 60; fi"] }
[[tools]]
name = "look"
description = "Looks, then waits"
annotations = { read_only = true }
implementation = { type = "command", program = "sh", args = ["-c", "echo look >> written; if [ -e fast ]; then echo seen; else exec sleep 60; fi"] }
"#;

fn written(place: &TestFolder) -> Vec<String> {
    let text = fs::read_to_string(place.path().join("written")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Asks, and kills the process once the tools have written this many lines; returns the run's id.
fn kill_after(place: &TestFolder, lines: usize) -> String {
    let child = place.command(&["ask", "-m", "script:script.json", "Pay"]).spawn().unwrap();
    kill(child, place, lines)
}

fn kill(mut child: Child, place: &TestFolder, lines: usize) -> String {
    wait_until("the tools have run", || written(place).len() >= lines);
    // The result of the call before is written, as the next one runs.
    child.kill().unwrap();
    child.wait().unwrap();
    let runs = place.run(&["runs", "--json"]).json();
    assert_eq!(runs[0]["state"], "interrupted", "{runs}");
    fs::write(place.path().join("fast"), "").unwrap();
    runs[0]["id"].as_str().unwrap().to_owned()
}

fn calls_of(tools: &[&str]) -> Value {
    let turn = |name: &&str| json!({"tool_calls": [{"id": format!("id_{name}"), "name": name, "args": {}}]});
    let mut turns: Vec<_> = tools.iter().map(turn).collect();
    turns.push(json!({"text": "Paid."}));
    json!(turns)
}

// RN-2
#[test]
fn no_effect_happens_twice() {
    let place = scripted(TOOLS, calls_of(&["charge", "slow", "charge"]));
    let id = kill_after(&place, 2);
    let ran = place.run(&["runs", "resume", &id, "--json"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["answer"]), (0, &json!("Paid.")), "{ran:?}");
    assert_eq!(report["run_id"], json!(id));
    let unknown = "Error: Tool 'slow' may or may not have run: its process ended first";
    assert_eq!(report["messages"][4]["content"], unknown, "{report}");
    assert_eq!(written(&place), ["charge", "slow", "charge"]);
    let again = place.run(&["runs", "resume", &id]);
    assert_eq!((again.status, &*again.stdout), (0, "Paid.\n"), "{again:?}");
    assert_eq!(written(&place).len(), 3);
}

// RN-2
#[test]
fn a_call_that_only_reads_is_made_again() {
    let place = scripted(TOOLS, calls_of(&["charge", "look"]));
    let id = kill_after(&place, 2);
    let ran = place.run(&["runs", "resume", &id]);
    assert_eq!((ran.status, ran.stdout.trim()), (0, "Paid."), "{ran:?}");
    assert_eq!(written(&place), ["charge", "look", "look"]);
}

/// Says a line to `chat`, and kills it once the tools have written this many lines; returns the run's id.
fn kill_chat_after(place: &TestFolder, lines: usize) -> String {
    let mut chat = place.command(&["chat", "-m", "script:script.json"]);
    let mut child = chat.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Pay\n").unwrap();
    kill(child, place, lines)
}

/// The file of the only chat.
fn chat_file(place: &TestFolder) -> PathBuf {
    let mut files = fs::read_dir(place.path().join("state/switchboard/chats")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none());
    file
}

fn last_message(place: &TestFolder) -> Value {
    let chat: Value = serde_json::from_slice(&fs::read(chat_file(place)).unwrap()).unwrap();
    chat["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

// RN-2
#[test]
fn a_chat_finishes_its_interrupted_turn_first() {
    let place = scripted(TOOLS, calls_of(&["charge", "slow"]));
    kill_chat_after(&place, 2);
    assert_eq!(last_message(&place), "Pay");
    let ran = place.run_with_stdin(&["chat", "--resume"], b"");
    assert_eq!((ran.status, ran.stdout.trim()), (0, "Paid."), "{ran:?}");
    assert_eq!(last_message(&place), "Paid.");
    assert_eq!(written(&place), ["charge", "slow"]);
    assert_eq!(place.run(&["runs", "--json"]).json()[0]["state"], "ended");
}

// RN-2
#[test]
fn a_resumed_turn_is_in_its_chat() {
    let place = scripted(TOOLS, calls_of(&["charge", "slow"]));
    let id = kill_chat_after(&place, 2);
    let ran = place.run(&["runs", "resume", &id]);
    assert_eq!((ran.status, ran.stdout.trim()), (0, "Paid."), "{ran:?}");
    assert_eq!(last_message(&place), "Paid.");
    assert_eq!(written(&place), ["charge", "slow"]);
}

// RN-2
#[test]
fn one_process_resumes_a_run_and_a_second_is_told_so() {
    let place = scripted(TOOLS, calls_of(&["charge", "look"]));
    let id = kill_after(&place, 2);
    fs::remove_file(place.path().join("fast")).unwrap();
    let first = place.command(&["runs", "resume", &id]).spawn().unwrap();
    wait_until("the call runs again", || written(&place).len() == 3);
    assert_eq!(place.run(&["runs", "--json"]).json()[0]["state"], "running");
    let second = place.run(&["runs", "resume", &id]);
    assert_eq!(second.status, 1, "{second:?}");
    assert!(second.stderr.contains("under way in another process"), "{second:?}");
    // The first is killed, too: the run goes on a third time.
    assert_eq!(kill(first, &place, 3), id);
    let third = place.run(&["runs", "resume", &id]);
    assert_eq!((third.status, third.stdout.trim()), (0, "Paid."), "{third:?}");
    assert_eq!(written(&place), ["charge", "look", "look", "look"]);
}

// RN-2: what a run needs to go on is whole and private, what stays of it is redacted.
#[test]
fn secrets_of_a_run_are_kept_until_it_ends() {
    let mut turns = calls_of(&["charge", "slow"]);
    turns[0]["tool_calls"][0]["args"] = json!({"password": "hunter2-hunter2"});
    let place = scripted(TOOLS, turns).with_umask_000();
    let id = kill_after(&place, 2);
    let folder = place.path().join("state/switchboard/runs");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (live, saved) = (folder.join(format!("{id}.live")), folder.join(format!("{id}.json")));
    assert_eq!((mode(&folder), mode(&live)), (0o700, 0o600));
    assert!(fs::read_to_string(&live).unwrap().contains("hunter2-hunter2"));
    let shown = place.run(&["runs", "show", &id, "--json"]);
    assert!(!shown.stdout.contains("hunter2"), "{shown:?}");
    assert_eq!(place.run(&["runs", "resume", &id]).status, 0);
    assert!(!live.exists());
    assert_eq!(mode(&saved), 0o600);
    assert!(!fs::read_to_string(&saved).unwrap().contains("hunter2"));
}

// RN-1, RC-3: the journal vouches for what a run was asked and said, while it goes on and when it has ended.
#[test]
fn verify_checks_the_files_of_runs() {
    let place = scripted(TOOLS, calls_of(&["charge", "slow"]));
    let id = kill_after(&place, 2);
    let damage = || place.run(&["calls", "verify", "--json"]).json()["damage"].clone();
    assert_eq!(damage(), json!([]));
    let file = |end: &str| place.path().join(format!("state/switchboard/runs/{id}.{end}"));
    let text = fs::read_to_string(file("live")).unwrap();
    assert_eq!(text.matches("\"content\":\"Pay\"").count(), 1, "{text}");
    let altered = text.replacen("\"content\":\"Pay\"", "\"content\":\"Pay more\"", 1);
    fs::write(file("live"), altered).unwrap();
    let what = "it was altered before turn 1 ended";
    assert_eq!(damage(), json!([{"file": format!("{id}.live"), "line": null, "what": what}]));
    fs::write(file("live"), &text).unwrap();
    assert_eq!(place.run(&["runs", "resume", &id]).status, 0);
    assert_eq!(damage(), json!([]));
    let text = fs::read_to_string(file("json")).unwrap();
    fs::write(file("json"), text.replace("Paid.", "Not paid.")).unwrap();
    let verified = place.run(&["calls", "verify"]);
    assert_eq!(verified.status, 1, "{verified:?}");
    let line = format!("damaged: {id}.json: it was altered\n");
    assert!(
        verified.stdout.contains(&line) && verified.stdout.contains(", 1 runs, "),
        "{verified:?}"
    );
}

// RN-1
#[test]
fn a_call_names_its_run_and_old_runs_go() {
    let place = scripted(&format!("[audit]\nmax_age = \"1ms\"\n{TOOLS}"), calls_of(&["charge"]));
    let ran = place.run(&["ask", "-m", "script:script.json", "--json", "Pay"]).json();
    let call = place.run(&["calls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let old = place.run(&["calls", "show", &call, "--json"]).json();
    // It was older than that when it ended.
    assert_eq!((&old["run"], place.run(&["runs", "--json"]).json()), (&Value::Null, json!([])));
    assert!(ran["run_id"].is_string());
    let place = scripted(TOOLS, calls_of(&["charge"]));
    let ran = place.run(&["ask", "-m", "script:script.json", "--json", "Pay"]).json();
    let call = place.run(&["calls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["calls", "show", &call, "--json"]).json();
    assert_eq!((&shown["run"], &shown["turn"]), (&ran["run_id"], &json!(1)));
    let page = place.run(&["calls", "show", &call]).stdout;
    let run = format!("{}, turn 1", ran["run_id"].as_str().unwrap());
    assert!(page.contains(&run), "{page}");
    // The journal itself says so.
    let journal =
        fs::read_to_string(place.path().join("state/switchboard/journal/00000001.log")).unwrap();
    let opened = journal.lines().find(|line| line.starts_with("{\"open\"")).unwrap();
    let opened: Value = serde_json::from_str(opened).unwrap();
    assert_eq!((&opened["run"], &opened["turn"]), (&ran["run_id"], &json!(1)));
}

// RN-1
#[test]
fn an_unknown_run_is_told() {
    let place = scripted(TOOLS, calls_of(&[]));
    for words in [["runs", "show", "01M7Q"], ["runs", "resume", "01M7Q"]] {
        let ran = place.run(&words);
        assert_eq!((ran.status, &*ran.stdout), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("there is no run `01M7Q`"), "{ran:?}");
    }
    assert_eq!(place.run(&["runs", "--json"]).json(), json!([]));
}

/// An MCP server in shell that writes down each call, and says nothing of what its tool does.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"notify","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      printf '%s\n' "$line" >> called
      if [ ! -e fast ]; then exec sleep 60; fi
      say '{"content":[{"type":"text","text":"notified"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

fn called(place: &TestFolder) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join("called")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

// RN-2: a server that honours keys gets the same one again; one that does not is not called again.
#[test]
fn a_call_is_made_again_where_keys_are_honoured() {
    for honours in [true, false] {
        let config = format!(
            "[servers.post]\ncommand = \"sh\"\nargs = [\"server.sh\"]\nprotocol = \"legacy\"\nhonours_keys = {honours}\n"
        );
        let place = scripted(&config, calls_of(&["post__notify"])).file("server.sh", SERVER);
        let mut child =
            place.command(&["ask", "-m", "script:script.json", "Tell"]).spawn().unwrap();
        wait_until("the server is called", || called(&place).len() == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(place.path().join("fast"), "").unwrap();
        let id = place.run(&["runs", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
        let report = place.run(&["runs", "resume", &id, "--json"]).json();
        let unknown = "Error: Tool 'post__notify' may or may not have run: its process ended first";
        let expected = if honours { "notified" } else { unknown };
        assert_eq!(report["messages"][2]["content"], expected, "{report}");
        let key = |call: &Value| call["params"]["_meta"]["switchboard/idempotencyKey"].clone();
        let keys: Vec<_> = called(&place).iter().map(key).collect();
        assert_eq!(keys, vec![json!(format!("{id}.1.0")); if honours { 2 } else { 1 }]);
    }
}

// RN-2
#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_along_to_programs_and_services() {
    let service = ProviderServer::start(vec![Reply::json(200, &json!({"ok": true}))]).await;
    let config = format!(
        "[[tools]]\nname = 'run'\ndescription = 'Runs'\nimplementation = {{ type = 'command', program = 'sh', args = ['-c', 'echo $SWITCHBOARD_IDEMPOTENCY_KEY'] }}\n\
         [[tools]]\nname = 'post'\ndescription = 'Posts'\nhonours_keys = true\nimplementation = {{ type = 'http', method = 'POST', url = '{}/pay', json = {{ n = 1 }} }}\n",
        service.url()
    );
    let place = scripted(&config, calls_of(&["run", "post"]));
    let report =
        block_in_place(|| place.run(&["ask", "-m", "script:script.json", "--json", "Pay"])).json();
    let id = report["run_id"].as_str().unwrap();
    assert_eq!(report["messages"][2]["content"], format!("{id}.1.0"), "{report}");
    let request = service.captured().pop().unwrap();
    assert_eq!(request.header("idempotency-key"), Some(&*format!("{id}.2.0")));
}

// RN-2: while a gateway runs, it makes the calls; one that was in flight when `ask` was killed is not made again.
#[test]
fn a_call_through_the_gateway_is_found_again() {
    let tools = r#"
[[tools]]
name = "pay"
description = "Pays, then waits"
implementation = { type = "command", program = "sh", args = ["-c", "echo pay >> written; while [ ! -e fast ]; do sleep 0.02; done; echo paid"] }
"#;
    let place = scripted(tools, calls_of(&["pay"]));
    let _gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let mut child = place.command(&["ask", "-m", "script:script.json", "Pay"]).spawn().unwrap();
    wait_until("the tool runs", || written(&place).len() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let runs = place.run(&["runs", "--json"]).json();
    assert_eq!(runs[0]["state"], "interrupted", "{runs}");
    let id = runs[0]["id"].as_str().unwrap();
    // The gateway cancels what nobody waits for; the same key gets the same outcome.
    wait_until("the gateway has cancelled the call", || {
        place.run(&["calls", "--json"]).json()[0]["outcome"] == "cancelled"
    });
    fs::write(place.path().join("fast"), "").unwrap();
    let report = place.run(&["runs", "resume", id, "--json"]).json();
    let cancelled = "Tool 'pay' was cancelled; side effects may have happened";
    assert_eq!(report["messages"][2]["content"], cancelled, "{report}");
    assert_eq!(written(&place), ["pay"]);
    let call = place.run(&["calls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(place.run(&["calls", "show", &call, "--json"]).json()["run"], json!(id));
}
