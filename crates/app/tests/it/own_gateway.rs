//! Commands through the gateway that the same user runs with the same config.

mod bridge;
mod calls;
mod install;
mod lists;
mod questions;
mod searching;
mod servers;
mod socket;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    process::Stdio,
    thread,
};

use serde_json::{Value, json};

use crate::{
    fixture::{misbehaving, wait_until},
    pty,
    serving::Serving,
    test_folder::{CommandOutput, TestFolder},
};

/// A place whose server `s` writes a line into `starts` with each start.
fn place(more: &str) -> TestFolder {
    let program = misbehaving();
    let script = format!("echo start >> starts; echo hello >&2; exec {program}");
    let config = format!("{more}[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n");
    TestFolder::with_config(&config)
}

fn serve(place: &TestFolder) -> Serving {
    Serving::start(place, &["--listen", "127.0.0.1:0"])
}

fn starts(place: &TestFolder) -> usize {
    fs::read_to_string(place.path().join("starts")).unwrap_or_default().lines().count()
}

/// The only socket that there is.
fn socket(place: &TestFolder) -> PathBuf {
    let folder = place.runtime().join("switchboard");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut sockets = entries.filter(|path| path.extension().is_some_and(|end| end == "sock"));
    sockets.next().unwrap()
}

/// What a run printed, without what differs from call to call.
fn scrubbed(ran: &CommandOutput) -> (i32, Value, String) {
    let mut value = serde_json::from_str(&ran.stdout).unwrap_or(Value::from(ran.stdout.clone()));
    if let Some(envelope) = value.as_object_mut() {
        for key in ["call_id", "execution_time_ms"] {
            assert!(envelope.shift_remove(key).is_some() || !envelope.contains_key("success"));
        }
    }
    // The log of the call is the gateway's.
    let told = ran.stderr.lines().filter(|line| !line.contains(" WARN "));
    (ran.status, value, told.collect::<Vec<_>>().join("\n"))
}

// GW-1, GW-8
#[test]
fn commands_say_the_same_with_a_gateway_and_start_no_server() {
    let place = place("[policy]\ndeny = [\"calculate_hash\"]\n");
    let cases: &[&[&str]] = &[
        &["call", "s__echo", "text=hi", "--json"],
        &["call", "s__add", "a=1", "b=2"],
        &["call", "s__add", r#"{"a":1,"b":2}"#, "--json"],
        &["call", "math_eval", "expression=2+2"],
        &["call", "math_eval", "--json"],
        &["call", "nobody", "--json"],
        &["call", "nobody__x", "--json"],
        &["call", "math_eval", "expression=2+2", "--no-wait", "--json"],
        &["call", "math_eval", "{", "--json"],
        &["call", "math_eval", "expression=1", "-o", "x.png"],
        &["tools"],
        &["tools", "--json"],
        &["tools", "--all", "--json"],
        &["tools", "s__add"],
        &["tools", "nobody"],
    ];
    let alone: Vec<_> = cases.iter().map(|words| scrubbed(&place.run(words))).collect();
    let before = starts(&place);
    let _serving = serve(&place);
    for (words, alone) in cases.iter().zip(&alone) {
        assert_eq!(scrubbed(&place.run(words)), *alone, "{words:?}");
    }
    assert_eq!(starts(&place), before + 1, "only the gateway starts the server");
    let calls = place.run(&["calls", "--json", "--limit", "1"]).json();
    assert_eq!((&calls[0]["caller"], &calls[0]["client"]), (&json!("command line"), &json!("cli")));
    place.run(&["--alone", "call", "s__echo"]);
    assert_eq!(starts(&place), before + 2);
}

// GW-1
#[test]
fn servers_are_listed_restarted_and_heard() {
    let place = place("");
    for words in [&["restart", "s"][..], &["logs", "s"]] {
        let ran = place.run(words);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.contains("`switchboard serve` starts one"), "{ran:?}");
    }
    let alone = place.run(&["servers", "--json"]).json();
    assert_eq!((&alone[0]["state"], &alone[0]["tools"]), (&json!("ready"), &json!(2)), "{alone}");
    let _serving = serve(&place);
    place.call(&["s__echo"]);
    let listed = place.run(&["servers", "--json"]).json();
    let row = &listed[0];
    assert_eq!((&row["name"], &row["state"]), (&json!("s"), &json!("ready")), "{row}");
    assert_eq!((&row["tools"], &row["calls"]), (&json!(2), &json!(1)), "{row}");
    assert!(place.run(&["servers"]).stdout.starts_with("s\tready\tstdio\t2 tools\t1 call\tp50 "));
    let before = starts(&place);
    assert_eq!(place.run(&["restart", "s"]).status, 0);
    wait_until("it is started again", || starts(&place) == before + 1);
    wait_until("its stderr is heard", || place.run(&["logs", "s"]).stdout.contains("hello"));
    let missing = place.run(&["restart", "t"]);
    assert_eq!(missing.status, 1, "{missing:?}");
    assert!(missing.stderr.contains("Server 't' not found"), "{missing:?}");
}

// GW-1
#[test]
fn right_after_a_change_of_the_config_the_gateway_is_used_with_it() {
    let place = place("");
    let _serving = serve(&place);
    place.call(&["s__echo"]);
    let before = starts(&place);
    assert_eq!(place.run(&["disable", "s"]).status, 0);
    let ran = place.run(&["call", "s__echo"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let disabled =
        "server `s` is disabled in switchboard.toml:1; `switchboard enable s` uses it again\n";
    assert!(ran.stderr.ends_with(disabled), "{ran:?}");
    for words in [&["restart", "s"][..], &["logs", "s"]] {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stderr), (1, format!("error: {disabled}")));
    }
    assert_eq!(place.run(&["servers", "--json"]).json()[0]["state"], "disabled");
    assert_eq!(starts(&place), before);
    assert_eq!(place.run(&["enable", "s"]).status, 0);
    assert_eq!(place.call(&["s__echo"])["success"], true);
    assert_eq!(starts(&place), before + 1, "the gateway alone started it");
}

// GW-1
#[test]
fn a_gateway_that_was_killed_is_not_waited_for_and_is_replaced() {
    let place = place("");
    let mut serving = serve(&place);
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    assert!(socket(&place).exists(), "nobody removed it");
    assert_eq!(place.call(&["math_eval", "expression=2+2"])["success"], true);
    let shown = pty::run_without_keyboard(place.command(&["call", "math_eval", "expression=2+2"]));
    assert!(shown.text.contains("the running gateway is not used"), "{shown:?}");

    let mut serving = serve(&place);
    place.call(&["s__echo"]);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let socket = socket(&place);
    assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!((mode(&socket), mode(&socket.parent().unwrap().to_owned())), (0o600, 0o700));

    // A second one says where the first is, and serves on another port without the socket.
    let address = serving.address.clone();
    {
        let _second = serve(&place);
        let log = fs::read_to_string(place.path().join("log")).unwrap();
        assert!(log.contains(&format!("is running already at http://{address}")), "{log}");
        let taken = place.run(&["serve", "--listen", &address]);
        assert_eq!(taken.status, 2, "{taken:?}");
        let named = format!("running already at http://{address} (pid {})", serving.child.id());
        assert!(taken.stderr.contains(&named), "{taken:?}");
    }
    assert!(socket.exists(), "the first one's socket stays");
    serving.signal("-TERM");
    serving.child.wait().unwrap();
    assert!(!socket.exists(), "a gateway that ends takes its socket away");
}

// GW-1
#[test]
fn another_config_version_or_folder_is_not_used_and_the_reason_is_said() {
    let place = place("").file("other.toml", "");
    let serving = serve(&place);
    place.call(&["s__echo"]);
    let elsewhere = place.run(&["--config", "other.toml", "call", "s__echo", "--json"]);
    assert_eq!(elsewhere.json()["error_kind"], "unknown_server");

    let reason = |place: &TestFolder| {
        let mut command = place.command(&["call", "s__echo"]);
        command.env("RUST_LOG", "debug");
        let ran = CommandOutput::of(command.output().unwrap());
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.stderr
    };
    let folder = place.runtime().join("switchboard");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let said = reason(&place);
    assert!(said.contains("is open to others (mode 755)"), "{said}");
    let second = serve(&place);
    let log = fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("there is no socket"), "{log}");
    drop(second);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(!reason(&place).contains("is not used"));

    let socket = socket(&place);
    drop(serving);
    fs::remove_file(&socket).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let build = json!({"version": version, "build": format!("{version} (0a1b2c3d 2026-01-01)")});
    let another = format!("it is another build, {version} (0a1b2c3d 2026-01-01), and this is ");
    for (about, expected) in [
        (json!({"version": "9.9.9"}), "it is version 9.9.9"),
        (build, &*another),
        (json!({"version": version}), "it is another build, "),
    ] {
        let before = starts(&place);
        let listener = UnixListener::bind(&socket).unwrap();
        let upgraded = thread::spawn(move || answer(&listener, &about.to_string()));
        let said = reason(&place);
        upgraded.join().unwrap();
        assert!(said.contains(expected), "{said}");
        assert_eq!(starts(&place), before + 1, "it ran alone");
        fs::remove_file(&socket).unwrap();
    }
}

/// Answers one request with this body.
fn answer(listener: &UnixListener, body: &str) {
    let (mut stream, _): (UnixStream, _) = listener.accept().unwrap();
    let mut request = [0; 1024];
    assert!(stream.read(&mut request).unwrap() > 0);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
}

// GW-1
#[test]
fn an_mcp_client_over_stdio_shares_the_gateways_servers() {
    let place = place("");
    let serving = serve(&place);
    place.call(&["s__echo"]);
    let before = starts(&place);
    let mut command = place.command(&["serve", "--stdio"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut say = |line: &str| writeln!(input, "{line}").unwrap();
    let mut hear = |is_meant: &dyn Fn(&Value) -> bool| loop {
        let line = output.next().unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        if is_meant(&message) {
            return message;
        }
    };
    say(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"desk","version":"1"}}}"#,
    );
    hear(&|message| message["id"] == 1);
    say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    say(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s__add","arguments":{"a":1,"b":2}}}"#,
    );
    let called = hear(&|message| message["id"] == 2);
    assert!(called["result"]["content"].is_array(), "{called}");
    say(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#);
    let listed = hear(&|message| message["id"] == 3);
    let has = |listed: &Value, name: &str| {
        listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name)
    };
    assert!(has(&listed, "s__add") && has(&listed, "math_eval"), "{listed}");
    let calls = place.run(&["calls", "--json", "--limit", "1"]).json();
    assert_eq!((&calls[0]["tool"], &calls[0]["client"]), (&json!("s__add"), &json!("desk")));

    let file = place.path().join("switchboard.toml");
    let config = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("[policy]\ndeny = [\"math_eval\"]\n{config}")).unwrap();
    serving.signal("-HUP");
    hear(&|message| message["method"] == "notifications/tools/list_changed");
    say(r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#);
    let listed = hear(&|message| message["id"] == 4);
    assert!(!has(&listed, "math_eval"), "{listed}");
    assert_eq!(starts(&place), before);
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// GW-1, GW-8, ML-8
#[test]
fn a_model_calls_the_gateways_tools() {
    let turns = json!({"turns": [
        {"tool_calls": [{"id": "c1", "name": "s__add", "args": {"a": 1, "b": 2}}]},
        {"text": "three"},
    ]});
    let place = place("").file("script.json", turns.to_string());
    let _serving = serve(&place);
    place.call(&["s__echo"]);
    let before = starts(&place);
    let ran = place.run(&["ask", "-m", "script:script.json", "1+2?"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "three\n"), "{ran:?}");
    let calls = place.run(&["calls", "--json"]).json();
    assert_eq!(calls.as_array().unwrap().len(), 2, "one record each: {calls}");
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["caller"], &calls[0]["client"]),
        (&json!("s__add"), &json!("command line"), &json!("chat"))
    );
    assert_eq!(starts(&place), before);
}
