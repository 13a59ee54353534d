//! `switchboard calls`: what was called and what came of it, in other processes too (SPEC RC-1, RC-2).

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    fixture::{section, wait_until},
    test_folder::{CommandOutput, TestFolder},
};

const WEATHER: &str = r#"
[[tools]]
name = "weather"
description = "Weather of a city"
implementation = { type = "mock", mock_response = { temp = 21 } }
"#;

/// The tools of the calls that these words find, newest first.
fn found(place: &TestFolder, words: &[&str]) -> Vec<String> {
    let calls = calls(place, words);
    calls.as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap().to_owned()).collect()
}

fn calls(place: &TestFolder, words: &[&str]) -> Value {
    let ran = place.run(&[&["calls", "--json"], words].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.json()
}

/// The message of a run that fails without being wrong usage.
fn failure(place: &TestFolder, words: &[&str]) -> String {
    let ran = place.run(words);
    assert_eq!(ran.status, 1, "{ran:?}");
    ran.stderr
}

#[test]
fn an_absent_store_is_empty() {
    // RC-2
    let place = TestFolder::new();
    for (words, stdout) in [
        (&["calls", "--json"][..], "[]\n"),
        (&["calls"], ""),
        (&["calls", "stats", "--json"], "[]\n"),
        (&["calls", "stats"], ""),
        (&["calls", "export"], ""),
        (&["calls", "verify", "--json"], r#"{"segments":0,"#),
        (
            &["calls", "gc", "--json"],
            r#"{"segments":0,"calls":0,"artifacts":0,"bytes":0,"left":0}"#,
        ),
        (
            &["calls", "gc", "--dry-run", "--json"],
            r#"{"segments":0,"calls":0,"artifacts":0,"bytes":0,"left":0}"#,
        ),
        (&["policy", "test", "--json"], r#"{"calls":0,"same":0,"skipped":0,"changes":[]}"#),
    ] {
        let ran = place.run(words);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stdout.starts_with(stdout), "{words:?}: {ran:?}");
    }
    assert!(!place.path().join("state").exists(), "asking makes nothing");
    assert!(failure(&place, &["calls", "show", "01"]).contains("no call's id begins with `01`"));
}

#[test]
fn every_call_is_listed_with_the_fields_of_the_contract() {
    // RC-1, RC-2
    let place = TestFolder::new();
    let ok = place.call(&["echo", r#"{"n":12345678901234567890123,"password":"hunter2"}"#]);
    let failed = place.call(&["math_eval", "{}"]);
    let unknown = place.call(&["nobody"]);
    let ran = place.run(&["calls", "--json"]);
    let calls = ran.json();
    let ids: Vec<_> = calls.as_array().unwrap().iter().map(|call| &call["id"]).collect();
    assert_eq!(ids, [&unknown["call_id"], &failed["call_id"], &ok["call_id"]]);
    let keys: Vec<_> = calls[2].as_object().unwrap().keys().take(8).collect();
    let contract =
        ["id", "tool", "server", "arguments", "outcome", "error_kind", "duration_ms", "started"];
    assert_eq!(keys, contract);
    assert_eq!((&calls[2]["outcome"], &calls[2]["error_kind"]), (&json!("ok"), &Value::Null));
    let kind = json!("invalid_parameters");
    assert_eq!((&calls[1]["outcome"], &calls[1]["error_kind"]), (&kind, &kind));
    assert!(ran.stdout.contains("12345678901234567890123"), "{ran:?}");
    assert!(!ran.stdout.contains("hunter2"), "{ran:?}");
    let lines = place.run(&["calls"]);
    let first: Vec<_> = lines.stdout.lines().next().unwrap().split('\t').collect();
    assert_eq!(
        (first[0], first[2], first[3]),
        (unknown["call_id"].as_str().unwrap(), "nobody", "not_found")
    );
}

#[test]
fn every_filter_narrows_the_list() {
    // RC-2
    let place = TestFolder::with_config(&format!("{WEATHER}{}", section("s", "")));
    place.call(&["weather", "city=Rome"]);
    place.call(&["s__add", "a=1", "b=2"]);
    place.call(&["math_eval", "expression=nonsense("]);
    place.run(&["call", "echo", "--fault", "echo: 100% slow 300ms"]);
    for (words, expected) in [
        (&[][..], &["echo", "math_eval", "s__add", "weather"][..]),
        (&["--limit", "1"], &["echo"]),
        (&["--limit", "0"], &["echo", "math_eval", "s__add", "weather"]),
        (&["--tool", "*a*"], &["math_eval", "s__add", "weather"]),
        (&["--tool", "weather"], &["weather"]),
        (&["--server", "s"], &["s__add"]),
        (&["--caller", "command line", "--tool", "w*"], &["weather"]),
        (&["--caller", "nobody"], &[]),
        (&["--conversation", "nobody"], &[]),
        (&["--failed"], &["math_eval"]),
        (&["--unknown"], &[]),
        (&["--search", "ROME"], &["weather"]),
        (&["--search", "nonsen* math_eval"], &["math_eval"]),
        (&["--search", "rome", "--failed"], &[]),
        (&["--search", "onsense"], &[]),
        (&["--slow", "299ms", "--tool", "echo"], &["echo"]),
        (&["--slow", "1h"], &[]),
        (&["--slow", "--tool", "weather"], &[]),
        (&["--since", "1h", "--tool", "weather"], &["weather"]),
        (&["--since", "2099-01-01"], &[]),
        (&["--until", "1h"], &[]),
        (&["--until", "2099-01-01T00:00:00Z", "--failed"], &["math_eval"]),
    ] {
        assert_eq!(found(&place, words), expected, "{words:?}");
    }
    // What is slow by default is the executor's to say.
    let place = place.file("quick.toml", "[executor]\nslow_call = \"200ms\"\n");
    assert!(found(&place, &["--slow", "--config", "quick.toml"]).contains(&"echo".to_owned()));
}

#[test]
fn wrong_questions_are_told_what_is_wrong() {
    let place = TestFolder::new();
    place.call(&["echo"]);
    for (words, says) in [
        (&["calls", "--since", "yesterday"][..], "`yesterday` is not a time; write how long ago"),
        (&["calls", "--tool", "a["], "`a[` is not a glob"),
        (&["calls", "--follow", "--tool", "a["], "`a[` is not a glob"),
        (&["calls", "--slow", "often"], "`often` is not a duration"),
        (&["calls", "--failed", "stats"], "stands after it"),
        (&["calls", "export", "--format", "parquet"], "`--format jsonl` and `--format csv`"),
        (&["calls", "export", "--as", "films"], "mocks"),
        (&["calls", "export", "--output", "no/such/folder"], "failed to write `no/such/folder`"),
        (&["policy"], "test"),
    ] {
        let ran = place.run(words);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(says), "{words:?}: {ran:?}");
    }
    let nowhere = TestFolder::new().variable("XDG_STATE_HOME", "");
    assert!(failure(&nowhere, &["calls"]).contains("neither XDG_STATE_HOME nor HOME is set"));
    let newer = place.path().join("state/switchboard/journal/00000001.log");
    assert_eq!(place.run(&["calls", "--config", "none.toml", "verify"]).status, 2);
    assert!(newer.exists());
}

#[test]
fn one_call_is_shown_whole() {
    let place = TestFolder::new();
    let ok = place.call(&["echo", "a=1"]);
    let id = ok["call_id"].as_str().unwrap();
    let failed = place.call(&["math_eval", "{}"]);
    let shown = place.run(&["calls", "show", id, "--json"]).json();
    assert_eq!((&shown["id"], &shown["result"]), (&ok["call_id"], &json!({"echo": {"a": 1}})));
    let stages: Vec<_> = shown["stages_ms"].as_object().unwrap().keys().collect();
    assert_eq!(stages, ["open", "lookup", "check", "wait", "run", "shape"]);
    assert_eq!(shown["journal"].as_array().unwrap().len(), 2);
    let hash = shown["journal"][0]["hash"].as_str().unwrap();
    let journal = fs::read_to_string(place.path().join("state/switchboard/journal/00000001.log"));
    assert!(journal.unwrap().contains(hash));
    // The beginning of an id is enough, in either case of letters.
    let page = place.run(&["calls", "show", &id[..25].to_lowercase()]);
    assert_eq!(page.status, 0, "{page:?}");
    for part in [
        "echo  ok",
        id,
        "command line",
        "arguments",
        "\"a\": 1",
        "stages",
        "run ",
        "█",
        "journal/00000001.log, line ",
        "follows ",
        hash,
    ] {
        assert!(page.stdout.contains(part), "{part}: {page:?}");
    }
    let page = place.run(&["calls", "show", failed["call_id"].as_str().unwrap()]);
    for part in ["invalid_parameters", "missing 'expression'", "Required parameters: expression"] {
        assert!(page.stdout.contains(part), "{part}: {page:?}");
    }
    let several = failure(&place, &["calls", "show", &id[..2]]);
    assert!(several.contains("several calls' ids begin with") && several.contains(id), "{several}");
    assert!(failure(&place, &["calls", "show", "zzz"]).contains("`zzz`"));
}

#[test]
fn figures_per_tool() {
    let place = TestFolder::new();
    for _ in 0..3 {
        place.call(&["echo"]);
    }
    place.call(&["math_eval", "{}"]);
    let stats = place.run(&["calls", "stats", "--json"]).json();
    assert_eq!(
        (&stats[0]["tool"], &stats[0]["calls"], &stats[0]["failures"]),
        (&json!("echo"), &json!(3), &json!(0))
    );
    assert_eq!((&stats[1]["calls"], &stats[1]["failures"]), (&json!(1), &json!(1)));
    for key in ["p50_ms", "p95_ms", "p99_ms", "bytes"] {
        assert!(stats[0][key].as_f64().unwrap() > 0.0, "{stats}");
    }
    assert!(place.run(&["calls", "stats"]).stdout.starts_with("echo\t3\t0\t"));
    assert_eq!(
        place.run(&["calls", "stats", "--failed", "--json"]).json().as_array().unwrap().len(),
        1
    );
}

#[test]
fn an_altered_record_is_found() {
    // RC-2
    let place = TestFolder::new();
    place.call(&["echo", "a=1"]);
    place.call(&["echo", "a=2"]);
    let clean = place.run(&["calls", "verify"]);
    assert_eq!(clean.status, 0, "{clean:?}");
    assert!(clean.stdout.starts_with("all is as it was written: 2 calls in"), "{clean:?}");
    let journal = place.path().join("state/switchboard/journal/00000001.log");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen(r#""a":1"#, r#""a":7"#, 1)).unwrap();
    let found = place.run(&["calls", "verify"]);
    assert_eq!(found.status, 1, "{found:?}");
    assert!(found.stdout.contains("damaged: 00000001.log, line 2: "), "{found:?}");
    let report = place.run(&["calls", "verify", "--json"]);
    assert_eq!((report.status, &report.json()["damage"][0]["line"]), (1, &json!(2)), "{report:?}");
}

// RC-3
#[test]
fn signed_records_are_checked_with_the_key() {
    let place = TestFolder::with_config("[audit]\nkey = \"${AUDIT_KEY}\"\n")
        .variable("AUDIT_KEY", "the key of these records")
        .file("other.toml", "[audit]\nkey = \"the key of other records\"\n")
        .file("none.toml", "")
        .file("short.toml", "[audit]\nkey = \"short\"\n");
    place.call(&["echo", "a=1"]);
    let verify = |config: &str| place.run(&["calls", "verify", "--config", config]);
    let checked = verify("switchboard.toml");
    assert_eq!(checked.status, 0, "{checked:?}");
    assert!(checked.stdout.contains("signatures were checked with the key\nhead "), "{checked:?}");
    let blind = verify("none.toml");
    assert_eq!(blind.status, 0, "{blind:?}");
    assert!(blind.stdout.contains("which was not checked: `[audit] key` is missing"), "{blind:?}");
    let wrong = verify("other.toml");
    assert_eq!(wrong.status, 1, "{wrong:?}");
    assert!(
        wrong.stdout.contains("damaged: manifest.log: none of its lines was signed with this key"),
        "{wrong:?}"
    );
    let short = verify("short.toml");
    assert_eq!(short.status, 2, "{short:?}");
    assert!(short.stderr.contains("at least 16 characters"), "{short:?}");
    // Who does not have the key writes nothing, and is told why.
    let refused = place.run(&["call", "echo", "a=2", "--config", "none.toml"]);
    assert!(refused.stderr.contains("`[audit] key` is missing"), "{refused:?}");
    assert!(verify("switchboard.toml").stdout.starts_with("all is as it was written: 1 calls"));
}

#[test]
fn retention_says_what_would_go_and_what_went() {
    let place = TestFolder::with_config("[audit]\nmax_age = \"30d\"\n");
    place.call(&["echo"]);
    let sized = |words: &[&str]| place.run(words).json();
    let preview = sized(&["calls", "gc", "--dry-run", "--json"]);
    assert_eq!((&preview["segments"], &preview["bytes"]), (&json!(0), &json!(0)));
    assert_eq!(preview, sized(&["calls", "gc", "--json"]));
    let said = place.run(&["calls", "gc", "--dry-run"]);
    assert!(
        said.stdout.starts_with("0 segments and 0 artifacts would go, 0 B in all; "),
        "{said:?}"
    );
    assert_eq!(found(&place, &[]), ["echo"]);
}

#[test]
fn calls_of_other_processes_are_followed() {
    let place = TestFolder::new();
    let mut words = place.command(&["calls", "--follow", "--json", "--tool", "math_*"]);
    let mut child = words.stdout(Stdio::piped()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    // It does not say when it has begun to look.
    let mut ids = Vec::new();
    let line = (0..50).find_map(|_| {
        place.call(&["echo"]);
        ids.push(place.call(&["math_eval", "expression=1"])["call_id"].clone());
        lines.recv_timeout(Duration::from_millis(300)).ok()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let call: Value = serde_json::from_str(&line.expect("a call is shown")).unwrap();
    assert_eq!((&call["tool"], &call["outcome"]), (&json!("math_eval"), &json!("ok")));
    assert!(ids.contains(&call["id"]), "{call}");
}

#[test]
fn what_a_kill_left_is_unknown_and_told_to_who_asks_again() {
    // RC-1
    let place = TestFolder::with_config(WEATHER);
    let call = [
        "call",
        "weather",
        "city=Rome",
        "--idempotency-key",
        "storm-1",
        "--timeout",
        "1m",
        "--json",
    ];
    let hanging = [&call[..], &["--fault", "weather: 100% timeout"]].concat();
    let mut child = place.command(&hanging).spawn().unwrap();
    wait_until("the call runs", || calls(&place, &[])[0]["outcome"] == "running");
    let kill = Command::new("kill").args(["-9", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    child.wait().unwrap();
    let unknown = calls(&place, &["--unknown"]);
    assert_eq!(unknown.as_array().unwrap().len(), 1, "{unknown}");
    let (tool, outcome) = (&unknown[0]["tool"], &unknown[0]["outcome"]);
    assert_eq!((tool, outcome), (&json!("weather"), &json!("outcome_unknown")));
    let again = CommandOutput::of(place.command(&call).output().unwrap());
    assert_eq!(
        (again.status, &again.json()["error_kind"]),
        (1, &json!("outcome_unknown")),
        "{again:?}"
    );
    // Another word is another act.
    assert_eq!(
        place.call(&["weather", "city=Rome", "--idempotency-key", "storm-2"])["success"],
        true
    );
}

#[test]
fn the_same_key_acts_once() {
    let place = TestFolder::new();
    let first = place.call(&["get_current_datetime", "--idempotency-key", "k"]);
    let again = place.call(&["get_current_datetime", "--idempotency-key", "k"]);
    assert_eq!(first["result"], again["result"]);
    assert_ne!(first["call_id"], again["call_id"]);
    let other =
        place.call(&["get_current_datetime", "timezone=Asia/Tokyo", "--idempotency-key", "k"]);
    assert_eq!(other["success"], false, "{other}");
}

#[test]
fn exports_have_every_call_oldest_first() {
    let place = TestFolder::new();
    place.call(&["echo", r#"{"text":"a, \"b\"\nc"}"#]);
    place.call(&["math_eval", "{}"]);
    let ran = place.run(&["calls", "export"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tools: Vec<_> = lines.iter().map(|line| &line["tool"]).collect();
    assert_eq!(tools, ["echo", "math_eval"]);
    assert_eq!(lines[0]["result"]["echo"]["text"], "a, \"b\"\nc");
    assert!(lines[1]["error"].as_str().unwrap().contains("missing 'expression'"));
    let told =
        place.run(&["calls", "export", "--format", "csv", "--failed", "--output", "out.csv"]);
    assert!(
        told.stdout.is_empty() && told.stderr.contains("1 call written to out.csv"),
        "{told:?}"
    );
    let csv = fs::read_to_string(place.path().join("out.csv")).unwrap();
    assert!(csv.starts_with("id,tool,server,arguments,outcome,"), "{csv}");
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let whole = place.run(&["calls", "export", "--format", "csv", "--tool", "echo"]).stdout;
    assert!(whole.contains(r#""{""text"":""a, \""b\""\nc""}""#), "{whole}");
    assert_eq!(place.run(&["calls", "export", "--limit", "1"]).stdout.lines().count(), 1);
}
