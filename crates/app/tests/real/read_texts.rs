//! What a model reads of the results of real servers: the table of docs/models.md, which must be what really comes.
//!
//! `SWITCHBOARD_RECORD=1` writes the table again instead.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use switchboard_testkit::{SimulatedZwave, SmallModel, ZwaveTransport};

use crate::serving::{http, part, switchboard};

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
const TYPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/typed_server.py");
const BEGIN: &str = "<!-- recorded by crates/app/tests/real/read_texts.rs -->\n";
const END: &str = "<!-- end of what is recorded -->\n";

/// Each call: the server as the table calls it, the tool and the arguments. `FOLDER` is the test's own.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let bonn = || json!({"city": "Bonn"});
    let mut calls = vec![
        ("server-everything", "everything__echo", json!({"message": "hello"})),
        (
            "server-everything",
            "everything__get-structured-content",
            json!({"location": "New York"}),
        ),
        ("server-everything", "everything__get-tiny-image", json!({})),
        ("server-everything", "everything__get-resource-links", json!({"count": 2})),
        (
            "server-filesystem",
            "filesystem__read_text_file",
            json!({"path": "FOLDER/papers/notes.md"}),
        ),
        ("server-filesystem", "filesystem__list_directory", json!({"path": "FOLDER/papers"})),
        (
            "server-filesystem",
            "filesystem__read_text_file",
            json!({"path": "FOLDER/papers/gone.md"}),
        ),
        ("server-memory", "memory__read_graph", json!({})),
        (
            "mcp-server-time",
            "time__convert_time",
            json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"}),
        ),
        ("mcp-server-git", "git__git_status", json!({"repo_path": "FOLDER/repo"})),
        (
            "mcp-server-sqlite",
            "sqlite__read_query",
            json!({"query": "SELECT 1 AS one, 'x' AS two"}),
        ),
    ];
    for (server, name) in
        [("Python SDK 1.x", "sdk1"), ("Python SDK 2.x", "sdk2"), ("FastMCP 4", "fastmcp")]
    {
        for (tool, args) in
            [("weather", bonn()), ("cities", json!({})), ("motto", bonn()), ("closed", bonn())]
        {
            calls.push((server, String::leak(format!("{name}__{tool}")), args));
        }
    }
    calls.push(("rmcp", "rmcp__weather", bonn()));
    calls.push(("rmcp", "rmcp__closed", bonn()));
    calls.push(("switchboard zwave", "zwave__verify_device", json!({"deviceName": "Switch One"})));
    calls
}

/// The example `rmcp_server` of crates/mcp-client, which a test of the whole workspace has built.
fn rmcp_server() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder.join("examples/rmcp_server");
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "-p", "switchboard-mcp-client", "--example", "rmcp_server"]);
        assert!(
            cargo.arg("--target-dir").arg(folder.parent().unwrap()).status().unwrap().success()
        );
    }
    program
}

/// The config of one server: all of them at once take longer to start than a busy machine gives them.
fn config(server: &str, folder: &Path, household: &SimulatedZwave) -> String {
    let shown = folder.display();
    let node = |name: &str| format!("{}/{name}", part("mcp-node/node_modules/.bin").display());
    let python =
        |at: &str, name: &str| format!("{}/{name}", part(&format!("{at}/venv/bin")).display());
    let typed = |at: &str| (python(at, "python"), format!("'{TYPED}', '{server}'"));
    let (command, args) = match server {
        "everything" => (node("mcp-server-everything"), "'stdio'".to_owned()),
        "filesystem" => (node("mcp-server-filesystem"), format!("'{shown}'")),
        "memory" => (node("mcp-server-memory"), String::new()),
        "time" => (python("mcp-python", "mcp-server-time"), String::new()),
        "git" => (python("mcp-python", "mcp-server-git"), String::new()),
        "sqlite" => {
            (python("mcp-sqlite", "mcp-server-sqlite"), format!("'--db-path', '{shown}/data.db'"))
        }
        "sdk1" => typed("mcp-sqlite"),
        "sdk2" => typed("mcp-python"),
        "fastmcp" => typed("mcp-fastmcp"),
        "rmcp" => (rmcp_server().display().to_string(), String::new()),
        "zwave" => (env!("CARGO_BIN_EXE_switchboard").to_owned(), "'zwave'".to_owned()),
        other => panic!("no server is called {other}"),
    };
    format!(
        "[servers.{server}]\ncommand = '{command}'\nargs = [{args}]\ntimeout = '2m'\n\
         env = {{ MEMORY_FILE_PATH = '{shown}/memory.jsonl' }}\n[zwave]\nmqtt = '{}'\n",
        household.url()
    )
}

/// What the servers find: a file, a repository and a memory.
fn furnish(folder: &Path) {
    fs::create_dir(folder.join("papers")).unwrap();
    fs::write(folder.join("papers/notes.md"), "# Notes\n\n- \"quoted\", a tab\there\n- ä, 日本\n")
        .unwrap();
    let memory = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["wrote the first program"]}"#;
    fs::write(folder.join("memory.jsonl"), memory).unwrap();
    let repo = folder.join("repo");
    fs::create_dir(&repo).unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        assert!(git.current_dir(&repo).output().unwrap().status.success(), "git {args:?}");
    };
    git(&["init", "-b", "main"]);
    git(&["commit", "--allow-empty", "-m", "first"]);
}

/// One call: what the model read, and what it read before models read text.
struct Read {
    text: String,
    before: String,
}

/// Lets a model that follows a script make the calls of one server, and returns what its messages say.
fn read(folder: &Path, calls: &[(&str, &str, Value)]) -> Vec<Read> {
    let path = folder.display().to_string();
    let call = |(position, (_, tool, args)): (usize, &(&str, &str, Value))| {
        let args: Value = serde_json::from_str(&args.to_string().replace("FOLDER", &path)).unwrap();
        json!({"id": format!("c{position}"), "name": tool, "args": args})
    };
    let tool_calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    let script = json!({"turns": [{"tool_calls": tool_calls}, {"text": "Done."}]});
    fs::write(folder.join("script.json"), script.to_string()).unwrap();
    let ask = ["ask", "-m", "script:script.json", "--json", "go"];
    let asked = switchboard(folder, &ask).output().unwrap();
    let errors = String::from_utf8_lossy(&asked.stderr).into_owned();
    let printed: Value =
        serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{errors}"));
    let exported = switchboard(folder, &["calls", "export"]).output().unwrap();
    let exported = String::from_utf8(exported.stdout).unwrap();
    let records: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages = printed["messages"].as_array().unwrap();
    let read = |call: &Value| {
        let is_reply = |message: &&Value| message["tool_call_id"] == call["id"];
        let text = messages.iter().find(is_reply).unwrap()["content"].as_str().unwrap().to_owned();
        let is_call =
            |record: &&Value| record["tool"] == call["name"] && record["arguments"] == call["args"];
        let record = records.iter().find(is_call).unwrap_or_else(|| panic!("no {call}: {errors}"));
        let before = match &record["result"] {
            // What failed read the same before, for none of these fails with structure.
            Value::Null => text.clone(),
            Value::String(text) => text.clone(),
            object => object.to_string(),
        };
        Read { text, before }
    };
    tool_calls.iter().map(read).collect()
}

/// What is another one in every run: what stands before it, where it ends, and the word in its place.
const VARIES: [(&str, char, &str); 6] = [
    ("artifact ", ']', "ID"),
    ("\"datetime\": \"", 'T', "DATE"),
    ("\"datetime\":\"", 'T', "DATE"),
    ("\\\"datetime\\\": \\\"", 'T', "DATE"),
    ("last heard ", '.', "AGE"),
    ("\"lastActiveSecondsAgo\":", ',', "AGE"),
];

/// Writes what is another one in every run as a word.
fn masked(text: &str, folder: &Path) -> String {
    let mut text = text.replace(&folder.display().to_string(), "/FOLDER");
    for (mark, end, word) in VARIES {
        let mut from = 0;
        while let Some(at) = text[from..].find(mark).map(|at| from + at + mark.len()) {
            let length =
                text[at..].find(end).unwrap_or_else(|| panic!("no {end} after {mark}: {text}"));
            text.replace_range(at..at + length, word);
            from = at;
        }
    }
    for day in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"] {
        text = text.replace(day, "DAY");
    }
    text
}

/// How many tokens the text is to SmolLM2.
fn tokens(model: &SmallModel, text: &str) -> usize {
    let address = model.url().strip_prefix("http://").unwrap();
    let body = json!({"content": text}).to_string();
    let answer = http(address, "POST", "/tokenize", "Content-Type: application/json\r\n", &body);
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
    answer["tokens"].as_array().unwrap().len()
}

fn table(folder: &Path, household: &SimulatedZwave, model: &SmallModel) -> String {
    let mut table =
        "| server | call | tokens before | tokens now | what the model reads, as a JSON string |\n\
                     |---|---|---|---|---|\n"
            .to_owned();
    let (mut all_before, mut all_now) = (0, 0);
    let of = |call: &(&str, &'static str, Value)| call.1.split_once("__").unwrap();
    for calls in calls().chunk_by(|a, b| of(a).0 == of(b).0) {
        let config = config(of(&calls[0]).0, folder, household);
        fs::write(folder.join("switchboard.toml"), config).unwrap();
        for (call, Read { text, before }) in calls.iter().zip(read(folder, calls)) {
            let (server, tool, args) = (call.0, of(call).1, &call.2);
            let (text, before) = (masked(&text, folder), masked(&before, folder));
            let (before, now) = (tokens(model, &before), tokens(model, &text));
            (all_before, all_now) = (all_before + before, all_now + now);
            let args = args.to_string().replace("FOLDER", "/FOLDER");
            let text = Value::from(text).to_string().replace('|', "\\|");
            let row = format!("| {server} | `{tool} {args}` | {before} | {now} | `{text}` |\n");
            table.push_str(&row);
        }
    }
    table + &format!("| all | | {all_before} | {all_now} | |\n")
}

// RS-3, RS-4
#[test]
fn the_documented_texts_are_what_models_read() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("here");
    fs::create_dir(&folder).unwrap();
    let cache = home.path().join("zwave");
    let household =
        SimulatedZwave::start(part("zwave").parent().unwrap(), ZwaveTransport::Mqtt, &cache);
    let model = SmallModel::start(&part("."));
    furnish(&folder);
    let recorded = table(&folder, &household, &model);
    let doc = fs::read_to_string(DOC).unwrap();
    let (before, rest) = doc.split_once(BEGIN).expect("docs/models.md has the table");
    let (documented, after) = rest.split_once(END).expect("the table ends");
    if env::var_os("SWITCHBOARD_RECORD").is_some() {
        fs::write(DOC, format!("{before}{BEGIN}{recorded}{END}{after}")).unwrap();
        return;
    }
    for (documented, recorded) in documented.lines().zip(recorded.lines()) {
        let way = "SWITCHBOARD_RECORD=1 writes the table of docs/models.md again";
        assert_eq!(documented, recorded, "{way}");
    }
    assert_eq!(documented, recorded);
}
