//! Real MCP servers do their whole work in a sandbox (SB-1).

use std::{fs, path::Path, process::Command, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serving::{part, switchboard};

/// A server with what it may do, and calls with what their results hold.
struct Confined {
    config: String,
    calls: Vec<(&'static str, Value, &'static str)>,
    /// A call that the sandbox refuses, with what its hint names.
    refused: Option<(&'static str, Value, &'static str)>,
}

/// Calls a tool; returns the whole result.
fn call(folder: &Path, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let output = switchboard(folder, &["call", tool, &arguments, "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{tool}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn check(folder: &TempDir, server: &Confined) {
    assert_eq!(switchboard_sandbox::SandboxSupport::current().missing(), Vec::<String>::new());
    fs::write(folder.path().join("switchboard.toml"), &server.config).unwrap();
    for (tool, arguments, expected) in &server.calls {
        let result = call(folder.path(), tool, arguments);
        assert_eq!(result["success"], true, "{tool}: {result}");
        assert!(result["result"].to_string().contains(expected), "{tool}: {result}");
    }
    if let Some((tool, arguments, hint)) = &server.refused {
        let result = call(folder.path(), tool, arguments);
        assert_eq!(result["success"], false, "{tool}: {result}");
        assert!(result["hint"].as_str().unwrap_or_default().contains(hint), "{tool}: {result}");
    }
}

/// A folder with a home that is not the user's.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["work", "closed"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("a.txt"), "a note").unwrap();
    }
    folder
}

fn section(program: &Path, args: &[String], allow: &str) -> String {
    format!(
        "[servers.x]\ncommand = {program:?}\nargs = {args:?}\nsandbox = \"on\"\nsandbox_allow = {{ {allow} }}\n"
    )
}

#[test]
fn servers_of_npm_work_in_a_sandbox() {
    let folder = place();
    let bin = |name: &str| part(&format!("mcp-node/node_modules/.bin/{name}"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = format!("write = [{:?}]", path("work"));
    // The server itself would let the closed folder be read; its sandbox does not.
    let files = section(&bin("mcp-server-filesystem"), &[path("work"), path("closed")], &write);
    check(
        &folder,
        &Confined {
            config: files,
            calls: vec![
                ("x__read_text_file", json!({"path": path("work/a.txt")}), "a note"),
                ("x__write_file", json!({"path": path("work/b.txt"), "content": "new"}), "Success"),
                ("x__create_directory", json!({"path": path("work/c")}), "Success"),
                (
                    "x__move_file",
                    json!({"source": path("work/b.txt"), "destination": path("work/c/b.txt")}),
                    "Success",
                ),
                (
                    "x__edit_file",
                    json!({"path": path("work/c/b.txt"), "edits": [{"oldText": "new", "newText": "newer"}]}),
                    "newer",
                ),
                ("x__directory_tree", json!({"path": path("work")}), "b.txt"),
                ("x__search_files", json!({"path": path("work"), "pattern": "**/*.txt"}), "a.txt"),
            ],
            refused: Some((
                "x__read_text_file",
                json!({"path": path("closed/a.txt")}),
                "sandbox_allow.read += ",
            )),
        },
    );
    let memory = section(&bin("mcp-server-memory"), &[], &write);
    let memory =
        format!("{memory}env = {{ MEMORY_FILE_PATH = {:?} }}\n", path("work/memory.jsonl"));
    check(
        &folder,
        &Confined {
            config: memory,
            calls: vec![
                (
                    "x__create_entities",
                    json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}),
                    "Ada",
                ),
                ("x__search_nodes", json!({"query": "counts"}), "Ada"),
            ],
            refused: None,
        },
    );
    let everything = section(&bin("mcp-server-everything"), &["stdio".to_owned()], "");
    check(
        &folder,
        &Confined {
            config: everything,
            calls: vec![
                ("x__echo", json!({"message": "hello"}), "hello"),
                ("x__get-sum", json!({"a": 2, "b": 3}), "5"),
            ],
            refused: None,
        },
    );
}

#[test]
fn servers_of_pypi_work_in_a_sandbox() {
    let folder = place();
    let bin = |name: &str| part(&format!("mcp-python/venv/bin/{name}"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    check(
        &folder,
        &Confined {
            config: section(&bin("mcp-server-time"), &[], ""),
            calls: vec![("x__get_current_time", json!({"timezone": "Asia/Tokyo"}), "Tokyo")],
            refused: None,
        },
    );
    let script = "git init -q . && git config user.name a && git config user.email a@a.example && git add . && git commit -qm first";
    let mut git = Command::new("sh");
    assert!(
        git.args(["-c", script])
            .current_dir(folder.path().join("work"))
            .status()
            .unwrap()
            .success()
    );
    fs::write(folder.path().join("work/new.txt"), "new").unwrap();
    let repo = path("work");
    let write = format!("write = [{repo:?}]");
    check(
        &folder,
        &Confined {
            config: section(&bin("mcp-server-git"), &[], &write),
            calls: vec![
                ("x__git_add", json!({"repo_path": repo, "files": ["new.txt"]}), "staged"),
                ("x__git_commit", json!({"repo_path": repo, "message": "second"}), "committed"),
                ("x__git_log", json!({"repo_path": repo}), "second"),
                (
                    "x__git_create_branch",
                    json!({"repo_path": repo, "branch_name": "other"}),
                    "other",
                ),
                ("x__git_checkout", json!({"repo_path": repo, "branch_name": "other"}), "other"),
            ],
            refused: None,
        },
    );
}

#[test]
fn more_servers_of_pypi_work_in_a_sandbox() {
    let folder = place();
    let bin = |name: &str| part(&format!("mcp-python/venv/bin/{name}"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = format!("write = [{:?}]", path("work"));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        use std::io::{Read, Write};
        for mut link in server.incoming().map_while(Result::ok) {
            let _ = link.read(&mut [0; 4096]);
            let text = "A page about bees";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length:";
            let _ = link.write_all(format!("{head} {}\r\n\r\n{text}", text.len()).as_bytes());
        }
    });
    let connect = format!("connect = [\"127.0.0.1:{port}\"]");
    let args = ["--ignore-robots-txt", "--allow-private-ips"].map(str::to_owned);
    check(
        &folder,
        &Confined {
            config: section(&bin("mcp-server-fetch"), &args, &connect),
            calls: vec![("x__fetch", json!({"url": format!("http://127.0.0.1:{port}/")}), "bees")],
            refused: Some((
                "x__fetch",
                json!({"url": "http://elsewhere.example/"}),
                "sandbox_allow.connect += ",
            )),
        },
    );
    let sqlite = part("mcp-sqlite/venv/bin/mcp-server-sqlite");
    let args = ["--db-path".to_owned(), path("work/data.db")];
    check(
        &folder,
        &Confined {
            config: section(&sqlite, &args, &write),
            calls: vec![
                ("x__create_table", json!({"query": "CREATE TABLE bees (name TEXT)"}), "success"),
                ("x__write_query", json!({"query": "INSERT INTO bees VALUES ('Maja')"}), "1"),
                ("x__read_query", json!({"query": "SELECT * FROM bees"}), "Maja"),
            ],
            refused: None,
        },
    );
}
