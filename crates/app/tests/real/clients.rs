//! Real MCP clients before the binary, over streamable HTTP and stdio, with a real server behind it.

use std::{ffi::OsStr, path::Path};

use serde_json::{Value, json};

use crate::serving::{Serving, part, program};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real");

fn config() -> String {
    let server = part("mcp-python/venv/bin/mcp-server-time");
    format!(
        "[servers.time]\ncommand = '{}'\nargs = ['--local-timezone', 'UTC']\n",
        server.display()
    )
}

/// Runs a client against `serve`, then against `serve --stdio`, and returns what each saw.
fn over_both(python: &str, script: &str, mode: &[&str]) -> [Value; 2] {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &config());
    let url = format!("http://{}/mcp", serving.address);
    let python = part(python);
    let over_http = client(folder.path(), &python, script, &[mode, &[&url]].concat());
    // Both may run at once on one store.
    let config = ["--config", "switchboard.toml"];
    let command = [&[env!("CARGO_BIN_EXE_switchboard"), "serve", "--stdio"], &config[..]].concat();
    let over_stdio = client(folder.path(), &python, script, &[mode, &command].concat());
    serving.stop();
    [over_http, over_stdio]
}

/// What a client prints last, as JSON.
pub(crate) fn client(
    folder: &Path,
    interpreter: impl AsRef<OsStr>,
    script: &str,
    words: &[&str],
) -> Value {
    let mut command = program(interpreter, folder);
    let output = command.arg(format!("{FOLDER}/{script}")).args(words).output().unwrap();
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} {words:?}\n{said}\n{errors}");
    serde_json::from_str(said.lines().last().unwrap()).unwrap()
}

/// Looks at what a client saw of the built-ins and of the server behind.
pub(crate) fn listed_and_called(seen: &Value) {
    let tools: Vec<&str> =
        seen["tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for tool in ["echo", "math_eval", "time__convert_time", "time__get_current_time"] {
        assert!(tools.contains(&tool), "{tool}: {tools:?}");
    }
    let answer = |id: &str, key: &str| seen["answers"][id][key].clone();
    assert_eq!(answer("c1", "status"), "success");
    assert_eq!(answer("c1", "text"), r#"{"result":42}"#);
    assert_eq!(answer("c1", "structured"), json!({"result": 42}));
    assert_eq!(answer("c2", "structured")["time_difference"], "+9.0h", "{seen}");
    assert_eq!(answer("c3", "status"), "error");
    assert!(answer("c3", "text").as_str().unwrap().contains("missing 'expression'"), "{seen}");
}

// GW-1, GW-2
#[test]
fn a_langgraph_agent_runs_our_tools() {
    for seen in over_both("mcp-clients/venv/bin/python", "langgraph_client.py", &[]) {
        listed_and_called(&seen);
    }
}

// GW-1, GW-2
#[test]
fn the_python_sdk_runs_our_tools_in_each_mode() {
    let modes = [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")];
    for (mode, version) in modes {
        for seen in over_both("mcp-python/venv/bin/python", "python_client.py", &[mode]) {
            assert_eq!(seen["version"], version, "{mode}");
            listed_and_called(&seen);
        }
    }
}
