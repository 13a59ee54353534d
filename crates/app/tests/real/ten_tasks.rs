//! Ten tasks over eight real servers, whose tools are all offered to the model, or searched for (SPEC FT-3).
//!
//! A scripted model does them in every run. `SWITCHBOARD_RECORD=1` lets SmolLM2 try them too, and writes the table of
//! docs/finding-tools.md.

use std::{
    collections::HashMap,
    env, fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::Command,
    thread,
};

use serde_json::{Value, json};
use switchboard_runtime::{ToolExecutor, tool_cost::ToolCosts};
use switchboard_testkit::{Fake, ProviderServer, Reply, SmallModel};

use crate::serving::{Serving, http, part, wait_for};

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/finding-tools.md");
const TYPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/typed_server.py");
const BEGIN: &str = "<!-- recorded by crates/app/tests/real/ten_tasks.rs -->\n";
const END: &str = "<!-- end of what is recorded -->\n";

const SERVERS: [&str; 8] =
    ["everything", "fetch", "filesystem", "git", "memory", "sqlite", "time", "typed"];

/// The ways in which a model gets tools: the name, and `[agent] tool_budget`.
const MODES: [(&str, &str); 2] = [("list", "'off'"), ("search", "0")];

/// Something that one call does.
struct Task {
    question: &'static str,
    tool: &'static str,
    args: Value,
    /// What the tool's result has in it.
    expected: &'static str,
}

/// The tasks; their files are in `folder`, and a web page at `page`.
fn tasks(folder: &Path, page: &str) -> Vec<Task> {
    let path = |name: &str| folder.join(name).display().to_string();
    let task = |question, tool, args, expected| Task { question, tool, args, expected };
    let query = "SELECT animal FROM zoo WHERE legs = 8";
    vec![
        task(
            "Send the message 'blue whale' back to me",
            "everything__echo",
            json!({"message": "blue whale"}),
            "Echo: blue whale",
        ),
        task("What is the sum of 2 and 40?", "everything__get-sum", json!({"a": 2, "b": 40}), "42"),
        task(
            "Fetch the web page about otters",
            "fetch__fetch",
            json!({"url": page}),
            "Otters hold hands",
        ),
        task(
            "Read the text file notes.md",
            "filesystem__read_text_file",
            json!({"path": path("papers/notes.md")}),
            "The code is 7f3a",
        ),
        task(
            "Create a directory for drafts",
            "filesystem__create_directory",
            json!({"path": path("papers/drafts")}),
            "Successfully created",
        ),
        task(
            "Show the log of commits in the git repository",
            "git__git_log",
            json!({"repo_path": path("repo")}),
            "a commit about otters",
        ),
        task(
            "Search the knowledge graph for Ada",
            "memory__search_nodes",
            json!({"query": "Ada"}),
            "wrote the first program",
        ),
        task(
            "Execute a SELECT query on the SQLite database: which animal has eight legs?",
            "sqlite__read_query",
            json!({"query": query}),
            "octopus",
        ),
        task(
            "Convert the time 12:00 from Tokyo to the timezone of Kolkata",
            "time__convert_time",
            json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"}),
            "08:30:00+05:30",
        ),
        task(
            "What is the weather in the city of Bonn?",
            "typed__weather",
            json!({"city": "Bonn"}),
            "sunny",
        ),
    ]
}

/// What the servers find: files, a repository, a memory and a database.
fn furnish(folder: &Path) {
    fs::create_dir(folder.join("papers")).unwrap();
    fs::write(folder.join("papers/notes.md"), "# Notes\n\nThe code is 7f3a.\n").unwrap();
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
    git(&["commit", "--allow-empty", "-m", "a commit about otters"]);
    let table = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                 c.execute('CREATE TABLE zoo (animal TEXT, legs INT)'); \
                 c.execute(\"INSERT INTO zoo VALUES ('octopus', 8), ('otter', 4)\"); c.commit()";
    let mut python = Command::new("python3");
    python.args(["-c", table]).arg(folder.join("data.db"));
    assert!(python.status().unwrap().success());
}

/// Serves a page until the test ends, and returns its address.
fn web_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            // Up to the empty line.
            lines.find(String::is_empty);
            let text = "Otters hold hands while they sleep.\n";
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            );
            // Clients may have hung up.
            _ = (&stream).write_all(answer.as_bytes());
        }
    });
    format!("http://{address}/otters.txt")
}

/// The config with all servers and one model.
fn config(folder: &Path, budget: &str, model: &str) -> String {
    let shown = folder.display();
    let node = |name: &str| format!("{}/{name}", part("mcp-node/node_modules/.bin").display());
    let python =
        |at: &str, name: &str| format!("{}/{name}", part(&format!("{at}/venv/bin")).display());
    let mut config = format!("[agent]\ntool_budget = {budget}\nmax_iterations = 4\n\n{model}");
    for server in SERVERS {
        let (command, args) = match server {
            "everything" => (node("mcp-server-everything"), "'stdio'".to_owned()),
            "fetch" => (
                python("mcp-python", "mcp-server-fetch"),
                "'--allow-private-ips', '--ignore-robots-txt'".to_owned(),
            ),
            "filesystem" => (node("mcp-server-filesystem"), format!("'{shown}'")),
            "git" => (python("mcp-python", "mcp-server-git"), String::new()),
            "memory" => (node("mcp-server-memory"), String::new()),
            "sqlite" => (
                python("mcp-sqlite", "mcp-server-sqlite"),
                format!("'--db-path', '{shown}/data.db'"),
            ),
            "time" => (python("mcp-python", "mcp-server-time"), String::new()),
            _ => (python("mcp-fastmcp", "python"), format!("'{TYPED}', 'fastmcp'")),
        };
        config += &format!(
            "[servers.{server}]\ncommand = '{command}'\nargs = [{args}]\ntimeout = '2m'\n\
             env = {{ MEMORY_FILE_PATH = '{shown}/memory.jsonl' }}\n"
        );
    }
    config
}

/// The settings of a model `it`.
fn model(name: &str, url: &str) -> String {
    format!(
        "[models.it]\nprovider = 'openai'\nmodel = '{name}'\nbase_url = '{url}/v1'\napi_key = 'none'\n\
         temperature = 0\nmax_tokens = 64\ncontext = 128_000\nidle_timeout = '5m'\nmax_retries = 0\n"
    )
}

/// A gateway whose servers are all connected.
fn started(folder: &Path, config: &str) -> Serving {
    let serving = Serving::start(folder, config);
    wait_for("all servers are connected", || {
        let servers = http(&serving.address, "GET", "/api/servers", "", "");
        let servers: Value = serde_json::from_str(&servers).ok()?;
        let ready = servers.as_array()?.iter().filter(|server| server["state"] == "ready").count();
        (ready == SERVERS.len()).then_some(())
    });
    serving
}

/// Asks the model `it`; it may fail.
fn ask(serving: &Serving, question: &str) -> Value {
    let body = json!({"model": "it", "messages": [{"role": "user", "content": question}]});
    serving.post("/v1/chat/completions", &[], &body)
}

/// A turn of a model on OpenAI's wire that calls a tool.
fn calls(tool: &str, args: &Value) -> Reply {
    let function = json!({"name": tool, "arguments": args.to_string()});
    let call = json!({"id": format!("call_{tool}"), "type": "function", "function": function});
    turn(json!({"role": "assistant", "content": null, "tool_calls": [call]}), "tool_calls")
}

fn turn(message: Value, reason: &str) -> Reply {
    let choice = json!({"index": 0, "message": message, "finish_reason": reason});
    Reply::json(
        200,
        &json!({"id": "x", "object": "chat.completion", "model": "it", "choices": [choice],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}),
    )
}

/// About how many tokens a text takes.
fn tokens(text: String) -> usize {
    let executor = ToolExecutor::default();
    executor.tools().add(Fake::echoes("t").with(|spec| spec.description = text)).unwrap();
    ToolCosts::count(&executor.tools().listed(), &HashMap::new()).total_tokens
}

/// What a mode came to.
#[derive(Default)]
struct ModeResult {
    /// The tokens of the first request's definitions.
    first: usize,
    /// The tokens of all requests.
    all: usize,
    done: usize,
}

/// A model that knows what to do; each task has to be done.
async fn scripted(folder: &Path, page: &str, (mode, budget): (&str, &str)) -> ModeResult {
    let tasks = tasks(folder, page);
    let mut replies = Vec::new();
    for task in &tasks {
        if mode == "search" {
            replies.push(calls("tool_search", &json!({"query": task.question})));
        }
        replies.push(calls(task.tool, &task.args));
        replies.push(turn(json!({"role": "assistant", "content": "Done."}), "stop"));
    }
    let requests = replies.len() / tasks.len();
    let provider = ProviderServer::start(replies).await;
    let config = config(folder, budget, &model("scripted", &provider.url()));
    let (place, questions) =
        (folder.to_owned(), tasks.iter().map(|task| task.question).collect::<Vec<_>>());
    let ran = tokio::task::spawn_blocking(move || {
        let serving = started(&place, &config);
        for question in questions {
            let answer = ask(&serving, question);
            assert_eq!(answer["choices"][0]["message"]["content"], "Done.", "{question}: {answer}");
        }
        serving.stop();
    });
    ran.await.unwrap();
    let sent: Vec<_> = provider.captured().into_iter().map(|captured| captured.body).collect();
    assert_eq!(sent.len(), tasks.len() * requests);
    let mut result =
        ModeResult { first: tokens(sent[0]["tools"].to_string()), ..ModeResult::default() };
    for (task, sent) in tasks.iter().zip(sent.chunks(requests)) {
        let last = &sent[requests - 1];
        let told = last["messages"].as_array().unwrap().last().unwrap();
        assert!(
            told["content"].as_str().unwrap().contains(task.expected),
            "{}: {told}",
            task.question
        );
        let is_offered = |body: &Value| {
            let tools = body["tools"].as_array().unwrap().iter();
            tools.into_iter().any(|tool| tool["function"]["name"] == task.tool)
        };
        // In one mode from the beginning, in the other once it is found.
        assert_eq!(
            sent.iter().map(is_offered).collect::<Vec<_>>(),
            match mode {
                "search" => vec![false, true, true],
                _ => vec![true, true],
            },
            "{}",
            task.question
        );
        let of_body =
            |body: &Value| tokens(body["tools"].to_string()) + tokens(body["messages"].to_string());
        result.all += sent.iter().map(of_body).sum::<usize>();
        result.done += 1;
    }
    result
}

/// A small model that tries; nothing is expected of it. Its tokens are those that its server counted.
fn small(folder: &Path, page: &str, (_, budget): (&str, &str), url: &str) -> ModeResult {
    let config = config(folder, budget, &model(SmallModel::NAME, url));
    let serving = started(folder, &config);
    let mut result = ModeResult::default();
    for task in tasks(folder, page) {
        let answer = ask(&serving, task.question);
        let used = answer["usage"]["prompt_tokens"].as_u64().unwrap_or_default();
        result.all += usize::try_from(used).unwrap();
        let calls = http(&serving.address, "GET", "/api/calls?limit=4", "", "");
        let calls: Value = serde_json::from_str(&calls).unwrap();
        let own = calls.as_array().unwrap().iter().find(|call| call["tool"] == task.tool);
        let is_done = own.is_some_and(|call| {
            let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
            http(&serving.address, "GET", &path, "", "").contains(task.expected)
        });
        result.done += usize::from(is_done);
        println!("{}: {is_done}: {}", task.question, answer);
    }
    serving.stop();
    result
}

/// A new folder with what the servers find.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().canonicalize().unwrap().join("here");
    fs::create_dir(&folder).unwrap();
    furnish(&folder);
    (home, folder)
}

// FT-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_tasks_over_eight_servers_are_done_in_both_modes() {
    let page = web_page();
    let mut rows = Vec::new();
    let mut row = |model: &str, mode: &str, first: String, result: &ModeResult| {
        rows.push(format!(
            "| {model} | {mode} | {first} | {} | {} of 10 |\n",
            result.all, result.done
        ));
    };
    let mut firsts = Vec::new();
    for mode in MODES {
        let (_home, folder) = place();
        let result = scripted(&folder, &page, mode).await;
        row("scripted", mode.0, result.first.to_string(), &result);
        firsts.push(result.first);
    }
    assert!(firsts[1] * 4 < firsts[0] && firsts[1] < 2000, "{firsts:?}");
    if env::var_os("SWITCHBOARD_RECORD").is_none() {
        return;
    }
    let smol = SmallModel::start(&part("."));
    for mode in MODES {
        let (_home, folder) = place();
        let (url, page) = (smol.url().to_owned(), page.clone());
        let tried = tokio::task::spawn_blocking(move || small(&folder, &page, mode, &url));
        row("SmolLM2-135M", mode.0, "–".to_owned(), &tried.await.unwrap());
    }
    let doc = fs::read_to_string(DOC).unwrap();
    let (before, rest) = doc.split_once(BEGIN).expect("docs/finding-tools.md has the table");
    let (_, after) = rest.split_once(END).expect("the table ends");
    let head = "| model | tools | tokens of the first definitions | tokens of all requests | tasks done |\n|---|---|---|---|---|\n";
    let table = format!("{head}{}", rows.concat());
    fs::write(DOC, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
}
