//! `command` tools as people use them (TK-1, MC-7).

use std::{fs, path::Path, process::Command, thread, time::Duration};

use serde_json::json;

use crate::test_folder::TestFolder;

/// A tool that writes its number and that of a child to the file `pids`, and stays until it is ended.
const STAYS: &str = r#"
[[tools]]
name = "stays"
description = "Stays"
timeout = "60s"
parameters = { type = "object", properties = { ignore = { type = "string" } } }
implementation = { type = "command", program = "sh", args = ["stays.sh", "{ignore}"] }
"#;

const SCRIPT: &str = r#"
[ "$1" = ignore ] && trap '' TERM
sleep 1000 & echo $! >pids.new; echo $$ >>pids.new; mv pids.new pids
while :; do sleep 1000; done
"#;

fn staying() -> TestFolder {
    TestFolder::with_config(STAYS).file("stays.sh", SCRIPT)
}

fn is_running(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1000 {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} does not happen");
}

fn pids(folder: &Path) -> Vec<String> {
    let read = || fs::read_to_string(folder.join("pids")).ok();
    until("the program starts", read).lines().map(str::to_owned).collect()
}

fn gone(pids: &[String]) {
    until("the program is ended", || (!pids.iter().any(|pid| is_running(pid))).then_some(()));
}

// TK-1, MC-7: whatever ends the caller, and also a program that ignores SIGTERM.
#[test]
fn a_program_ends_with_its_caller() {
    for signal in ["-9", "-INT"] {
        for ignore in ["ignore=ignore", "ignore=no"] {
            let place = staying();
            let mut caller = place.command(&["call", "stays", ignore]).spawn().unwrap();
            let pids = pids(place.path());
            assert!(pids.iter().all(|pid| is_running(pid)), "{pids:?}");
            let caller_pid = caller.id().to_string();
            assert!(Command::new("kill").args([signal, &caller_pid]).status().unwrap().success());
            caller.wait().unwrap();
            gone(&pids);
        }
    }
}

// TK-1, EX-3
#[test]
fn a_program_ends_at_the_deadline() {
    let place = staying();
    let envelope = place.call(&["stays", "--timeout", "2s", "ignore=ignore"]);
    assert_eq!(envelope["error_kind"], "timeout", "{envelope}");
    let text = "Tool 'stays' timed out after 2s; side effects may have happened";
    assert_eq!(envelope["error"], text);
    gone(&pids(place.path()));
}

// TK-1: through the binary, with its guard; a failure says why.
#[test]
fn a_program_answers_a_call() {
    let place = TestFolder::with_config(
        r#"
        [[tools]]
        name = "say"
        description = "Says something"
        parameters = { type = "object", properties = { text = { type = "string" }, status = { type = "integer" } } }
        implementation = { type = "command", program = "sh", args = ["say.sh", "{text}"], env = { STATUS = "{status}" } }
        [[tools]]
        name = "nothing"
        description = "Is not there"
        implementation = { type = "command", program = "no-such-program" }
        "#,
    )
    .file("say.sh", "echo \"said $1\"; echo sorry >&2; exit ${STATUS:-0}");
    assert_eq!(place.call(&["say", "text=$(id); x"])["result"], "said $(id); x");
    let failed = place.call(&["say", "status=7"]);
    assert_eq!(failed["error"], "sh exited with status 7\nsorry");
    assert_eq!(failed["error_kind"], "tool_error");
    let missing = place.call(&["nothing"]);
    let text =
        "Tool 'nothing' is unavailable: cannot start 'no-such-program': No such file or directory";
    assert_eq!(missing["error"], text);
    assert_eq!(missing["error_kind"], "unavailable");
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    let says = "tool `nothing`: the program `no-such-program` is not there, or may not be executed";
    assert!(doctor.stdout.contains(says), "{doctor:?}");
    assert!(!doctor.stdout.contains("tool `say`"), "{doctor:?}");
}

// TK-1, TK-2, TK-4
#[test]
fn what_a_definition_cannot_say_is_named_with_file_and_line() {
    for (definition, says) in [
        (
            "implementation = { type = 'command', program = 'git', args = ['{coutn}'] }",
            "switchboard.toml:2: tool `t`: `args[0]`: `{coutn}` stands for no parameter; did you mean `{count}`?",
        ),
        (
            "implementation = { type = 'command', args = ['x'] }",
            "switchboard.toml:2: tool `t`: type `command` needs `program`",
        ),
        (
            "implementation = { type = 'command', program = 'git', url = 'http://h/' }",
            "switchboard.toml:2: tool `t`: `url` is only for http",
        ),
        (
            "implementation = { type = 'command', program = 'git', output = 'xml' }",
            "`implementation.output`: expected one of `text`, `json`, got `xml`",
        ),
        (
            "implementation = { type = 'http' }",
            "switchboard.toml:2: tool `t`: type `http` needs `url`",
        ),
        (
            "implementation = { type = 'http', url = 'https://{count}.example/' }",
            "switchboard.toml:2: tool `t`: `url`: no `{name}` may stand in scheme, host or port",
        ),
        (
            "implementation = { type = 'http', url = 'https://[x/' }",
            "switchboard.toml:2: tool `t`: `url`: ",
        ),
        (
            "implementation = { type = 'mock', mock_response = 1 }\narguments.count = { fixed = 'many' }",
            "switchboard.toml:2: tool `t`: `arguments`: the fixed values do not fit `parameters`: 'count' must be integer, got string",
        ),
        (
            "implementation = { type = 'mock', mock_response = 1 }\narguments.coutn = { fixed = 1 }",
            "switchboard.toml:2: tool `t`: `arguments.coutn`: it is not a parameter; did you mean `count`?",
        ),
        (
            "implementation = { type = 'mock', mock_response = 1 }\narguments.count = { fixd = 1 }",
            "unknown key `fixd` in `arguments.count` of tool `t`; did you mean `fixed`?",
        ),
    ] {
        let config = format!(
            "\n[[tools]]\nname = 't'\ndescription = 'd'\nparameters = {{ type = 'object', properties = {{ count = {{ type = 'integer' }} }} }}\n{definition}\n"
        );
        let refusal = TestFolder::with_config(&config).refusal(&["tools"]);
        assert!(refusal.contains(says), "{definition}\n{refusal}");
    }
}

// PO-3
#[test]
fn a_found_config_with_such_tools_is_trusted_first() {
    let config = "[[tools]]\nname = 'log'\ndescription = 'd'\nimplementation = { type = 'command', program = 'touch', args = ['ran'] }\n\
                  [[tools]]\nname = 'get'\ndescription = 'd'\nimplementation = { type = 'http', url = 'https://api.example/x' }\n";
    let place = TestFolder::with_config(config).finding();
    let refusal = place.refusal(&["call", "log"]);
    assert!(refusal.contains("start    touch ran (tool log)"), "{refusal}");
    assert!(refusal.contains("connect  https://api.example/x (tool get)"), "{refusal}");
    assert!(!place.path().join("ran").exists());
}

// TK-4: the example of docs/local-tools.md, and what of it is shown, sent and recorded.
#[test]
fn a_fixed_argument_is_not_shown_and_always_sent() {
    let place = TestFolder::with_config(
        "[[tools]]\nname = 'time_in_tokyo'\ndescription = 'The time in Tokyo'\n\
         implementation = { type = 'builtin', handler = 'get_current_datetime' }\narguments.timezone = { fixed = 'Asia/Tokyo' }\n",
    );
    for words in [&["time_in_tokyo"][..], &["time_in_tokyo", "timezone=Europe/Paris"]] {
        assert_eq!(place.call(words)["result"]["timezone"], "Asia/Tokyo");
    }
    let tools = place.run(&["tools", "--json"]).json();
    let shown =
        tools.as_array().unwrap().iter().find(|tool| tool["name"] == "time_in_tokyo").unwrap();
    assert_eq!(shown["parameters"], json!({"type": "object", "properties": {}}));
    let calls = place.run(&["calls", "--json"]).json();
    for call in calls.as_array().unwrap() {
        assert_eq!(call["arguments"], json!({"timezone": "Asia/Tokyo"}), "{call}");
    }
}
