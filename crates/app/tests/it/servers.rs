//! Servers: who waits for them, which one answers, and what is said of those that failed.

use std::{
    io::{BufRead, BufReader},
    net::TcpListener,
    process::Command,
    thread,
};

use serde_json::{Value, json};

use crate::{
    fixture::{
        NO_DELAY, misbehaving, pid, runs, section, section_with_pid, wait_until,
        wait_until_interruptible,
    },
    test_folder::{CommandOutput, TestFolder},
};

fn names(ran: &CommandOutput) -> Vec<String> {
    let Value::Array(tools) = ran.json() else { panic!("{ran:?}") };
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).filter(|name| name.contains("__")).collect()
}

#[test]
fn tools_waits_until_every_server_is_there() {
    // TL-6, TL-5
    let slow = section("slow", "slow-start=500");
    let place = TestFolder::with_config(&format!("{slow}{}", section("quick", "")));
    let ran = place.run(&["tools", "--json"]);
    assert_eq!(names(&ran), ["slow__echo", "slow__add", "quick__echo", "quick__add"], "{ran:?}");
    let tools = ran.json();
    let add = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "quick__add").unwrap();
    assert_eq!(add["server"], "quick");
    let keys: Vec<_> = add.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "description", "parameters", "server", "annotations"]);
    let lines = place.run(&["tools"]);
    assert!(lines.stdout.ends_with("quick__add\tThe tool add.\t\tquick\n"), "{lines:?}");
    let one = place.run(&["tools", "quick__add"]);
    assert!(one.stdout.starts_with("quick__add  server quick\n"), "{one:?}");
}

#[test]
fn servers_elsewhere_are_reached_through_the_proxy_of_the_environment() {
    // MC-1
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = proxy.local_addr().unwrap();
    let asked = thread::spawn(move || {
        let lines = BufReader::new(proxy.accept().unwrap().0).lines().map_while(Result::ok);
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>()
    });
    let config = format!("{NO_DELAY}[servers.docs]\nurl = \"http://tools.example/mcp\"\n");
    let place = TestFolder::with_config(&config)
        .variable("HTTP_PROXY", &format!("http://ada:x@{address}"))
        .variable("NO_PROXY", "other.example");
    place.run(&["tools", "--json"]);
    let head = asked.join().unwrap();
    assert_eq!(head[0], "POST http://tools.example/mcp HTTP/1.1");
    assert!(head.contains(&"proxy-authorization: Basic YWRhOng=".to_owned()), "{head:?}");
}

#[test]
fn a_call_starts_only_what_it_needs() {
    // TL-6
    let config = format!("{}{}", section_with_pid("one", ""), section_with_pid("two", ""));
    let place = TestFolder::with_config(&config);
    let started = |name: &str| place.path().join(format!("{name}.pid")).exists();
    assert_eq!(place.call(&["echo", "a=1"])["success"], true);
    assert_eq!(place.call(&["nobody__x"])["error_kind"], "unknown_server");
    assert!(place.refusal(&["call", "two__add", "{"]).contains("no valid JSON"));
    assert!(!started("one") && !started("two"));
    let status = place.call(&["server_status"]);
    assert_eq!(status["result"]["servers"][1], json!({"name": "two", "tools": 0, "state": "idle"}));
    assert_eq!(place.call(&["two__add", r#"{"a":1,"b":2}"#])["server"], "two");
    assert!(!started("one") && started("two"));
    // A bare name may be anybody's; the last in the config has it.
    let ran = place.run(&["call", "add", "a=1", "b=2", "--json"]);
    assert_eq!(ran.json()["server"], "two", "{ran:?}");
    assert_eq!(ran.stderr.matches("several servers have 'add'").count(), 1, "{ran:?}");
    assert!(started("one"));
}

#[test]
fn pairs_are_typed_by_the_servers_schema() {
    let place = TestFolder::with_config(&section("s", ""));
    let sum = place.call(&["s__add", "a=40", "b=2"]);
    assert_eq!(sum["result"]["structuredContent"]["sum"].as_f64(), Some(42.0), "{sum}");
}

#[test]
fn each_call_reaches_its_own_server() {
    let config =
        format!("{}{}", section("a", "logs-input=a.log"), section("b", "logs-input=b.log"));
    let place = TestFolder::with_config(&config);
    assert_eq!(place.call(&["a__echo", "text=for a"])["result"], "for a");
    assert_eq!(place.call(&["b__echo", "text=for b"])["result"], "for b");
    let log = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    assert!(log("a.log").contains("for a") && !log("a.log").contains("for b"));
    assert!(log("b.log").contains("for b") && !log("b.log").contains("for a"));
}

const DEAD: &str = "[servers.zwave]\ncommand = \"sh\"\n\
                    args = [\"-c\", \"echo no broker >&2; echo giving up >&2; exit 3\"]\n";

const BLOCK: &str = "\
❌ Failed to initialize MCP tools after 3 attempts
   Reason: Connection to stdio server 'zwave' failed: the server exited with status 3; it gets only some environment variables (`inherit_env = true` gives all)
   MCP Server stderr: no broker | giving up
   Check: MQTT broker running
⚠️ Continuing with local tools only (get_current_datetime, search_web, control_speaker_volume, …)
";

#[test]
fn the_text_about_a_failed_server_is_exact() {
    // MC-2, MC-4, §12
    let config = format!("{NO_DELAY}{DEAD}check = \"MQTT broker running\"\n");
    let place = TestFolder::with_config(&config).variable("RUST_LOG", "off");
    for words in [&["tools"][..], &["tools", "--json"], &["call", "zwave__x"], &["resources"]] {
        let ran = place.run(words);
        assert!(ran.stderr.starts_with(BLOCK), "{words:?} {ran:?}");
    }
    let ran = place.run(&["tools", "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, BLOCK));
    assert_eq!(ran.json().as_array().unwrap().len(), 9, "{ran:?}");
    let envelope = place.call(&["zwave__x"]);
    assert_eq!(envelope["error_kind"], "unavailable");
    let error = envelope["error"].as_str().unwrap();
    assert!(error.starts_with("MCP connection failed after 3 attempts: "), "{error}");
    assert_eq!(place.call(&["echo"])["success"], true);
    assert_eq!(place.run(&["call", "echo"]).stderr, "");
}

#[test]
fn the_block_names_the_servers_that_are_up() {
    // §12
    let slow = "slow-start=1"; // up at once, but started as late as the others
    let (time, git) = (section("time", slow), section("git", ""));
    let patient = "[mcp]\nretry_base_delay = \"300ms\"\n";
    let place = TestFolder::with_config(&format!("{patient}{time}{DEAD}{git}"));
    let ran = place.run(&["tools", "--json"]);
    let last = "⚠️ Continuing with local tools (get_current_datetime, search_web, \
                control_speaker_volume, …) and servers: time, git\n";
    assert!(ran.stderr.contains(last), "{ran:?}");
    assert!(
        ran.stderr.contains("   Check: is the command installed, is what it talks to running?\n")
    );
    assert_eq!(names(&ran), ["time__echo", "time__add", "git__echo", "git__add"]);
}

#[test]
fn a_program_that_echoes_is_no_server() {
    let place =
        TestFolder::with_config(&format!("{NO_DELAY}[servers.echoes]\ncommand = \"cat\"\n"));
    let ran = place.run(&["tools", "--json"]);
    let reason = "Reason: Connection to stdio server 'echoes' failed: it sends back what it is sent, so it is not an MCP server";
    assert!(ran.stderr.contains(reason), "{ran:?}");
}

#[test]
fn without_certificates_only_remote_servers_are_affected() {
    let without = |config: &str| {
        TestFolder::with_config(config)
            .variable("SSL_CERT_FILE", "/nonexistent")
            .variable("SSL_CERT_DIR", "/nonexistent")
            .run(&["tools", "--json"])
    };
    let ran = without(&section("time", ""));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let remote = "[servers.docs]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let ran = without(&format!("{NO_DELAY}{remote}"));
    assert!(ran.stderr.contains("no server can be signed in to"), "{ran:?}");
    assert!(ran.stderr.contains("certificates"), "{ran:?}");
}

#[test]
fn attempts_are_logged() {
    // MC-2
    let place = TestFolder::with_config(&format!("{NO_DELAY}{DEAD}")).variable("RUST_LOG", "info");
    let ran = place.run(&["tools"]);
    for line in [
        "MCP connection attempt 1 of 3 to 'zwave' (delay 0s)",
        "MCP connection attempt 2 of 3 to 'zwave' (delay 0.001s)",
        "MCP connection attempt 3 of 3 to 'zwave' (delay 0.002s)",
    ] {
        assert!(ran.stderr.contains(line), "{line}: {ran:?}");
    }
}

#[test]
fn a_bare_name_keeps_the_callers_deadline() {
    // EX-3, TL-6
    let place = TestFolder::with_config(&section_with_pid("mute", "silent"));
    let envelope = place.call(&["whose_is_it", "--timeout", "400ms"]);
    assert_eq!(envelope["error"], "Tool 'whose_is_it' timed out after 0.4s");
    assert_eq!(envelope["error_kind"], "timeout");
    let pid = pid(&place, "mute");
    wait_until("the server is gone", || !runs(pid));
}

#[test]
fn no_command_leaves_a_child_behind() {
    // MC-7
    for (modes, words) in [
        ("", &["tools"][..]),
        ("ignores-stdin-end", &["tools"]),
        ("ignores-stdin-end", &["call", "kid__add", "a=1", "b=2"]),
        ("", &["call", "kid__add", "a=x"]),
        ("", &["call", "kid__nothing"]),
        ("", &["tools", "["]),
        ("", &["resources"]),
        ("", &["prompts", "nothing"]),
        ("", &["doctor"]),
    ] {
        let place = TestFolder::with_config(&section_with_pid("kid", modes));
        let ran = place.run(words);
        let pid = pid(&place, "kid");
        assert!(!runs(pid), "{words:?} {ran:?}");
    }
}

/// Starts a call that never ends, and returns when the server has it.
fn endless_call(modes: &str) -> (TestFolder, std::process::Child, u32) {
    let modes = format!("never-answers-tools-call,logs-input=log,{modes}");
    let place = TestFolder::with_config(&section_with_pid("kid", &modes));
    let call = ["call", "kid__add", r#"{"a":1,"b":2}"#, "--json"];
    let child = place.command(&call).spawn().unwrap();
    let pid = pid(&place, "kid");
    let log = place.path().join("log");
    let is_called = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("tools/call"));
    wait_until("the call is there", is_called);
    (place, child, pid)
}

fn signal(child: &std::process::Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn killed_with_9_it_leaves_nothing_behind() {
    // MC-7
    for modes in ["", "ignores-stdin-end"] {
        let (_place, mut child, pid) = endless_call(modes);
        assert!(runs(pid));
        signal(&child, "-KILL");
        child.wait().unwrap();
        wait_until("the server is gone", || !runs(pid));
    }
}

#[test]
fn an_interrupt_reaches_the_server_and_ends_it() {
    // EX-4, MC-7
    let (place, child, pid) = endless_call("");
    signal(&child, "-INT");
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status, &ran.json()["error_kind"]), (1, &json!("cancelled")), "{ran:?}");
    assert!(!runs(pid));
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    assert!(log.contains("notifications/cancelled"), "{log}");
}

#[test]
fn an_interrupt_while_connecting_ends_the_command() {
    // MC-7
    let place = TestFolder::with_config(&section_with_pid("mute", "silent"));
    let child = place.command(&["tools"]).spawn().unwrap();
    let pid = pid(&place, "mute");
    wait_until_interruptible(&child);
    signal(&child, "-INT");
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("error: interrupted"), "{ran:?}");
    // A server that was still being connected is left to its guard.
    wait_until("the server is gone", || !runs(pid));
}

#[test]
fn wrong_servers_are_told_with_file_and_line() {
    let command = format!("command = {:?}", misbehaving());
    for (config, says) in [
        ("[servers.a]\n".to_owned(), "switchboard.toml:1: server `a`: it has neither `command`"),
        (
            "\n[servers.a]\ntype = \"sse\"\n".to_owned(),
            ":2: server `a`: type = \"sse\" needs `url`",
        ),
        (
            "[servers.a]\ncommand = \"x\"\nurl = \"http://x\"\n".to_owned(),
            ":1: server `a`: it has both `command` and `url`; leave one",
        ),
        (format!("[servers.a__b]\n{command}\n"), ":1: server `a__b`: its name must not be empty"),
        (format!("[servers.\"a b\"]\n{command}\n"), ":1: server `a b`: its name must not"),
        (
            format!("[servers.a]\n{command}\nprefix = \"x__y\"\n"),
            ":1: server `a`: its prefix must not",
        ),
        (format!("[servers.a]\n{command}\nmax_concurrent = 0\n"), "nothing could run with"),
        ("[mcp]\nretry_attempts = 0\n".to_owned(), ":1: `mcp.retry_attempts`: nothing is tried"),
        ("[mcp]\nretry_atempts = 1\n".to_owned(), ":2: unknown key `retry_atempts` in [mcp]"),
        (
            "[servers.a]\ncomand = \"x\"\n".to_owned(),
            ":2: unknown key `comand` in [servers.a]; did you mean `command`?",
        ),
    ] {
        let refusal = TestFolder::with_config(&config).refusal(&["call", "echo"]);
        assert!(refusal.contains(says), "{config}\n{refusal}");
    }
    let off = "[servers.a]\nenabled = false\ncommand = \"x\"\nargs = [\"${UNSET}\"]\n";
    assert_eq!(TestFolder::with_config(off).call(&["echo"])["success"], true);
    assert_eq!(TestFolder::with_config(off).call(&["a__x"])["error_kind"], "unknown_server");
}

#[test]
fn only_enabled_tools_of_a_server_run() {
    let limited = |globs: &str| format!("{}enabled_tools = {globs}\n", section("s", "plain"));
    let place = TestFolder::with_config(&limited("[\"ec*\"]"));
    assert_eq!(place.call(&["s__echo", "text=x"])["success"], true);
    let says = place.error(&["s__add", "a=1", "b=2"]);
    assert!(says.contains("enabled_tools of server \"s\""), "{says}");
    let listed = place.run(&["tools", "--json"]).stdout;
    assert!(listed.contains("s__echo") && !listed.contains("s__add"), "{listed}");
    let wrong = TestFolder::with_config(&limited("[\"[\"]"));
    let says = wrong.refusal(&["call", "echo"]);
    assert!(says.contains(":1: server `s`: enabled_tools: "), "{says}");
}
