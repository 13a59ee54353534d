//! Who waits for servers and for how long, and what is said of those that fail or are slow (MC-2, TL-6, EX-7).

use std::fs;

use serde_json::Value;

use crate::{
    fixture::{NO_DELAY, misbehaving, pid, runs, section, section_with_pid, wait_until},
    serve::Serving,
    test_folder::{CommandOutput, TestFolder},
};

/// A server whose program does not exist.
const MISSING: &str = "[servers.ghost]\ncommand = \"no-such-program-anywhere\"\n";

const MISSING_BLOCK: &str = "\
❌ Failed to initialize MCP tools after 1 attempt
   Reason: Connection to stdio server 'ghost' failed: cannot start 'no-such-program-anywhere': No such file or directory; it gets only some environment variables (`inherit_env = true` gives all)
   MCP Server stderr: (nothing)
   Check: is the command installed, is what it talks to running?
⚠️ Continuing with local tools only (get_current_datetime, search_web, control_speaker_volume, …)
";

fn milliseconds(envelope: &Value) -> f64 {
    envelope["execution_time_ms"].as_f64().expect("a number")
}

fn attempts(ran: &CommandOutput) -> usize {
    ran.stderr.matches("MCP connection attempt ").count()
}

#[test]
fn what_waiting_cannot_mend_is_tried_once_and_told_twice() {
    // TL-6, MC-2, §12: with the delays that are usual, so that three attempts would take 6 s.
    let place = TestFolder::with_config(MISSING);
    for words in [&["tools", "--json"][..], &["resources", "--json"], &["call", "whose_is_it"]] {
        let ran = place.run(words);
        assert!(ran.stderr.contains(MISSING_BLOCK), "{ran:?}");
        let log = "MCP connection failed after 1 attempt: Connection to stdio server 'ghost' failed: cannot start";
        assert_eq!(ran.stderr.matches(log).count(), 1, "{ran:?}");
        assert_eq!(
            ran.stderr.matches("No such file").count(),
            2,
            "once in the log, once in the block: {ran:?}"
        );
    }
    let envelope = place.call(&["ghost__x", "a=1"]);
    let error = envelope["error"].as_str().unwrap();
    assert!(
        error.starts_with("MCP connection failed after 1 attempt: Connection to stdio"),
        "{error}"
    );
    let spaced = TestFolder::with_config("[servers.time]\ncommand = \"uvx mcp-server-time\"\n");
    let ran = spaced.run(&["tools", "--json"]);
    let advice = "No such file or directory; `command` is the program alone: write command = \"uvx\", args = [\"mcp-server-time\"]\n";
    assert!(ran.stderr.contains(advice), "{ran:?}");
    let nowhere = TestFolder::with_config("[servers.docs]\nurl = \"docs.example/mcp\"\n");
    let ran = nowhere.run(&["tools", "--json"]);
    let block = "after 1 attempt\n   Reason: Connection to http server 'docs' failed: `url` is not an http or https address: relative URL without a base\n   Check: is the server running, and is its url right?\n";
    assert!(ran.stderr.contains(block), "{ran:?}");
}

#[test]
fn what_runs_on_tries_three_times_and_says_when_a_server_is_connected() {
    // TL-6, MC-2
    let place = TestFolder::with_config(&format!("{NO_DELAY}{MISSING}{}", section("s", "")));
    let _serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let log = || fs::read_to_string(place.path().join("log")).unwrap();
    wait_until("it has failed", || {
        log().contains("❌ Failed to initialize MCP tools after 3 attempts")
    });
    let connected = "MCP server 's' is connected: 2 tools, protocol 2025-11-25";
    wait_until("it says that the other is there", || log().contains(connected));
    assert_eq!(log().matches(connected).count(), 1);
    assert!(log().contains("MCP connection attempt 3 of 3 to 'ghost' (delay 0.002s)"), "{}", log());
}

#[test]
fn a_dead_server_is_started_three_times() {
    // MC-2
    let script = "echo x >> starts; exit 3";
    let config =
        format!("{NO_DELAY}[servers.dead]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n");
    let place = TestFolder::with_config(&config).variable("RUST_LOG", "info");
    let ran = place.run(&["tools", "--json"]);
    assert_eq!(attempts(&ran), 3, "{ran:?}");
    assert_eq!(fs::read_to_string(place.path().join("starts")).unwrap().lines().count(), 3);
}

#[test]
fn a_server_that_dies_of_the_probe_is_known_the_next_time() {
    // MC-1
    let config = format!("{NO_DELAY}{}", section("old", "dies-on-discover"));
    let place = TestFolder::with_config(&config).variable("RUST_LOG", "info");
    let first = place.run(&["tools", "--json"]);
    assert!(first.stderr.contains("MCP connection succeeded on attempt 2"), "{first:?}");
    let second = place.run(&["tools", "--json"]);
    assert_eq!((attempts(&second), second.stdout), (1, first.stdout), "{}", second.stderr);
    // Without a place for it, it is not remembered, and that is no error.
    let homeless = TestFolder::with_config(&config).variable("RUST_LOG", "info").homeless();
    for _ in 0..2 {
        let ran = homeless.run(&["tools", "--json"]);
        assert_eq!((ran.status, attempts(&ran)), (0, 2), "{ran:?}");
    }
}

#[test]
fn a_silent_server_keeps_nobody_for_long() {
    // TL-6
    let config = format!(
        "[mcp]\nstartup_wait = \"300ms\"\n{}{}",
        section_with_pid("mute", "silent"),
        section("s", "")
    );
    let place = TestFolder::with_config(&config);
    let told = "⚠️ Continuing without mute: not connected within 0.3s (`[mcp] startup_wait`)\n";
    let ran = place.run(&["tools", "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, told));
    assert!(ran.stdout.contains("s__echo") && !ran.stdout.contains("mute__"), "{ran:?}");
    // A bare name is looked for among what is there.
    let ran = place.run(&["call", "add", "a=1", "b=2"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, told), "{ran:?}");
    let ran = place.run(&["call", "whose_is_it", "--json"]);
    assert_eq!(ran.json()["error_kind"], "not_found", "{ran:?}");
    for words in [&["resources", "--json"][..], &["prompts", "--json"]] {
        assert_eq!(place.run(words).stderr, told, "{words:?}");
    }
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["servers"][0]["state"]), (1, &"connecting".into()), "{ran:?}");
    assert_eq!(report["servers"][0]["error"], "not connected within 0.3s (`[mcp] startup_wait`)");
    // So do those who ask a model.
    let place = place.file("script.json", r#"{"turns": [{"text": "Yes."}]}"#);
    let ask = place.run(&["ask", "-m", "script:script.json", "Are you there?"]);
    assert_eq!((ask.status, ask.stdout.as_str()), (0, "Yes.\n"), "{ask:?}");
    let chat = place.run_with_stdin(&["chat", "-m", "script:script.json"], b"Are you there?\n");
    assert!(chat.status == 0 && chat.stdout.contains("Yes."), "{chat:?}");
    for ran in [ask, chat] {
        assert!(ran.stderr.starts_with(told), "{ran:?}");
    }
    // A local name waits for nobody, and says nothing.
    fs::remove_file(place.path().join("mute.pid")).unwrap();
    assert_eq!(place.run(&["call", "echo", "text=hi"]).stderr, "");
    assert!(!place.path().join("mute.pid").exists(), "it was started for a local name");
}

#[test]
fn a_call_keeps_to_its_servers_timeout_while_that_connects() {
    // TL-6, EX-3, EX-7: in all forms of arguments, and the time says how long it took.
    let server = section_with_pid("mute", "silent");
    let config = format!("{server}timeout = \"1s\"\ntools.quick = {{ timeout = \"400ms\" }}\n");
    let place = TestFolder::with_config(&config);
    let cases: [(&[&str], &str, f64); 5] = [
        (&["mute__x"], "1s", 1000.0),
        (&["mute__x", "a=1"], "1s", 1000.0),
        (&["mute__x", r#"{"a":1}"#], "1s", 1000.0),
        (&["mute__quick", "a=1"], "0.4s", 400.0),
        (&["mute__x", "a=1", "--timeout", "700ms"], "0.7s", 700.0),
    ];
    for (words, limit, least) in cases {
        let envelope = place.call(words);
        let expected = format!("Tool '{}' timed out after {limit}", words[0]);
        assert_eq!(envelope["error"], expected, "{words:?}");
        assert_eq!(envelope["error_kind"], "timeout");
        assert!((least..20_000.0).contains(&milliseconds(&envelope)), "{envelope}");
    }
    let pid = pid(&place, "mute");
    wait_until("the server is gone", || !runs(pid));
}

#[test]
fn the_time_of_a_call_covers_connecting_in_all_forms() {
    // EX-7
    let place = TestFolder::with_config(&section("slow", "slow-start=700"));
    for words in [
        &["slow__add", "a=1", "b=2"][..],
        &["slow__add", r#"{"a":1,"b":2}"#],
        &["slow__echo"],
        &["add", "a=1", "b=2"],
    ] {
        let envelope = place.call(words);
        assert!(milliseconds(&envelope) >= 700.0, "{words:?}: {envelope}");
    }
    let dead = "[mcp]\nretry_base_delay = \"200ms\"\n[servers.dead]\ncommand = \"false\"\n";
    let place = TestFolder::with_config(dead);
    for words in [&["dead__x"][..], &["dead__x", "a=1"], &["dead__x", "{}"]] {
        let envelope = place.call(words);
        assert_eq!(envelope["error_kind"], "unavailable");
        assert!(milliseconds(&envelope) >= 600.0, "0.2 s and 0.4 s: {envelope}");
    }
}

#[test]
fn a_misspelt_server_is_told_with_those_that_are_close() {
    // TL-4: and nothing is started.
    let place = TestFolder::with_config(&section_with_pid("time", ""));
    let envelope = place.call(&["tme__get_time", "a=1"]);
    assert_eq!(envelope["error"], "Unknown MCP server 'tme' in tool name 'tme__get_time'");
    assert_eq!(envelope["hint"], "Did you mean: time__get_time");
    assert!(!place.path().join("time.pid").exists());
}

#[test]
fn settings_with_which_nothing_connects_are_refused() {
    let program = misbehaving();
    for (config, says) in [
        (
            "[mcp]\nconnect_timeout = \"0s\"\n".to_owned(),
            ":1: `mcp.connect_timeout`: nothing connects within 0s",
        ),
        (
            format!("[servers.a]\ncommand = {program:?}\nconnect_timeout = \"0s\"\n"),
            ":1: server `a`: nothing connects with `connect_timeout = \"0s\"`",
        ),
        ("[mcp]\nstartup_wait = \"soon\"\n".to_owned(), "startup_wait"),
    ] {
        let refusal = TestFolder::with_config(&config).refusal(&["call", "echo"]);
        assert!(refusal.contains(says), "{config}\n{refusal}");
    }
    // Nobody waits with 0 s.
    let config = format!("[mcp]\nstartup_wait = \"0s\"\n{}", section("s", "slow-start=500"));
    let ran = TestFolder::with_config(&config).run(&["tools", "--json"]);
    assert!(ran.stderr.contains("⚠️ Continuing without s: not connected within 0s"), "{ran:?}");
}

#[test]
fn an_attempt_has_an_end() {
    // MC-2
    let config = format!(
        "[mcp]\nretry_base_delay = \"1ms\"\nconnect_timeout = \"200ms\"\n{}",
        section("mute", "silent")
    );
    let ran = TestFolder::with_config(&config).run(&["tools", "--json"]);
    let reason = "Reason: Connection to stdio server 'mute' failed: no answer within 0.2s; it gets";
    assert!(ran.stderr.contains(reason), "{ran:?}");
}
