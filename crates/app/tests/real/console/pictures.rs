//! Takes the pictures of docs/console.md: every section, with calls of real servers and a model's conversation.

use std::{fs, path::Path};

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};

use super::{SCENE, events, run, say, with_model};
use crate::serving::{Serving, part};

/// What a model says that asks for the time in two cities, counts, and answers with a table.
fn long_turns() -> [Reply; 3] {
    let call = |index: usize, tool: &str, arguments: &str| json!({"index": index, "id": format!("{tool}{index}"), "function": {"name": tool, "arguments": arguments}});
    let calls =
        |calls: Vec<Value>| json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]});
    let end =
        |reason: &str| json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = |read: u64, wrote: u64| json!({"choices": [], "usage": {"prompt_tokens": read, "completion_tokens": wrote}});
    let times = vec![
        call(0, "time__get_current_time", r#"{"timezone":"Europe/Berlin"}"#),
        call(1, "time__get_current_time", r#"{"timezone":"Asia/Tokyo"}"#),
    ];
    let sums = vec![
        call(0, "math_eval", r#"{"expression":"8 hours to minutes"}"#),
        call(1, "files__list_directory", r#"{"path":"."}"#),
    ];
    let table = "It is later in **Tokyo**:\n\n| city | ahead by |\n|---|---:|\n| Berlin | 0 h |\n| Tokyo | 8 h |\n\nYour notes have a page about [time zones](https://www.iana.org/time-zones).";
    [
        events(&[
            say("Let me look at the **time** in both places."),
            calls(times),
            end("tool_calls"),
            usage(812, 41),
        ]),
        events(&[
            say("And what that is in minutes:"),
            calls(sums),
            end("tool_calls"),
            usage(1002, 53),
        ]),
        events(&[say(table), end("stop"), usage(1192, 65)]),
    ]
}

/// Programs by the names under which people know them, so that pictures show commands as people write them.
fn launchers(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let (python, node) = (part("mcp-python/venv/bin"), part("mcp-node/node_modules/.bin"));
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::create_dir_all(folder.join("notes")).unwrap();
    fs::write(folder.join("notes/time-zones.md"), "# Time zones\n").unwrap();
    for (name, script) in [
        ("uvx", format!("program=$1; shift; exec '{}'/$program \"$@\"", python.display())),
        (
            "npx",
            format!(
                "program=${{2#@modelcontextprotocol/}}; shift 2; exec '{}'/mcp-$program \"$@\"",
                node.display()
            ),
        ),
    ] {
        let file = folder.join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

const SERVERS_OF_PICTURES: &str = r#"
[servers.time]
command = "uvx"
args = ["mcp-server-time", "--local-timezone", "UTC"]
[servers.things]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-everything", "stdio"]
[servers.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "notes"]
[servers.tickets]
command = "tickets-mcp"
check = "Is tickets-mcp installed?"
[servers.memory]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-memory"]
enabled = false
"#;

/// Fewer would be a section without its picture.
const PICTURES: usize = 30;

/// With `SWITCHBOARD_PICTURES`, which `cargo xtask console` sets, they become those of the documentation.
// GW-1
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures() {
    let kept = std::env::var_os("SWITCHBOARD_PICTURES").map(std::path::PathBuf::from);
    let folder = tempfile::tempdir().unwrap();
    let target = kept.unwrap_or_else(|| folder.path().join("pictures"));
    fs::create_dir_all(&target).unwrap();
    let model = ProviderServer::start([]).await;
    for reply in std::iter::repeat_n(long_turns(), 4).flatten() {
        model.push(reply);
    }
    let policy = "[policy]\nask = ['scene', 'files__write_*']\ndeny = ['files__move_file']\nask_timeout = '15m'\n";
    let model_with_price = with_model(&model) + "price = { input = 1, output = 10 }\n";
    let config = format!("{policy}{model_with_price}{SERVERS_OF_PICTURES}{SCENE}");
    launchers(folder.path());
    let (at, words) = (folder.path().to_owned(), target.to_str().unwrap().to_owned());
    tokio::task::spawn_blocking(move || {
        let serving = Serving::start(&at, &config);
        run(&at, "pictures", &[&format!("http://{}", serving.address), &words]);
        serving.stop();
    })
    .await
    .unwrap();
    let taken = fs::read_dir(&target).unwrap().count();
    assert!(taken >= PICTURES, "{taken} pictures");
}
