//! Real MCP servers do their whole work in a sandbox: under settings that a person wrote, and under those that are learned (SB-1, SB-2).

mod browser;
mod network;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serving::{part, switchboard};

/// A server with what it may do, and calls with what their results hold.
struct Confined {
    /// Its section without a sandbox.
    section: String,
    /// What a person allows.
    allow: String,
    /// Fills its folder anew.
    prepare: fn(&Path),
    calls: Vec<(&'static str, Value, &'static str)>,
    /// A call that the sandbox refuses, with what its hint names.
    refused: Option<(&'static str, Value, &'static str)>,
}

/// Calls a tool; returns the whole result.
fn call(folder: &Path, tool: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let output = in_place(folder, &["call", tool, &arguments, "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{tool}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The binary with a home that is not the user's.
fn in_place(folder: &Path, words: &[&str]) -> Command {
    let mut command = switchboard(folder, words);
    let home = folder.join("home");
    command.env("XDG_CONFIG_HOME", home.join(".config")).env("HOME", home);
    // Registries may be reached through mirrors with certificates of their own.
    let certificates = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];
    command.envs(certificates.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command
}

/// Does the whole work: watched, then under what was learned, then under what a person wrote.
fn check(folder: &TempDir, server: &Confined) {
    assert_eq!(switchboard_sandbox::SandboxSupport::current().missing(), Vec::<String>::new());
    let folder = folder.path();
    let config = folder.join("switchboard.toml");
    let line = |(tool, arguments, _): &(&str, Value, &str)| {
        json!({"tool": tool, "arguments": arguments}).to_string() + "\n"
    };
    fs::write(folder.join("calls.jsonl"), server.calls.iter().map(line).collect::<String>())
        .unwrap();
    (server.prepare)(folder);
    fs::write(&config, &server.section).unwrap();
    let learn = ["sandbox", "learn", "x", "--calls", "calls.jsonl"];
    let learned = in_place(folder, &learn).output().unwrap();
    assert!(learned.status.success(), "{learned:?}");
    let learned = String::from_utf8(learned.stdout).unwrap().replace("[servers.x]\n", "");
    println!("{learned}");
    let written = format!("sandbox = \"on\"\nsandbox_allow = {{ {} }}\n", server.allow);
    for sandbox in [learned, written] {
        (server.prepare)(folder);
        fs::write(&config, format!("{}{sandbox}", server.section)).unwrap();
        for (tool, arguments, expected) in &server.calls {
            let result = call(folder, tool, arguments);
            assert_eq!(result["success"], true, "{tool}: {result}\n{sandbox}");
            assert!(result["result"].to_string().contains(expected), "{tool}: {result}\n{sandbox}");
        }
    }
    if let Some((tool, arguments, hint)) = &server.refused {
        let result = call(folder, tool, arguments);
        assert_eq!(result["success"], false, "{tool}: {result}");
        assert!(result["hint"].as_str().unwrap_or_default().contains(hint), "{tool}: {result}");
    }
}

/// A folder with a home that is not the user's.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("home")).unwrap();
    prepare(folder.path());
    folder
}

/// Fills the folder of a server, and one that it may not read.
fn prepare(folder: &Path) {
    for name in ["work", "closed"] {
        let _ = fs::remove_dir_all(folder.join(name));
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("a.txt"), "a note").unwrap();
    }
}

/// The same as a repository with one commit.
fn prepare_repository(folder: &Path) {
    prepare(folder);
    let script = "git init -q -b main . && git config user.name a && git config user.email a@a.example && git add . && git commit -qm first";
    let mut git = Command::new("sh");
    git.args(["-c", script]).current_dir(folder.join("work"));
    assert!(git.status().unwrap().success());
    fs::write(folder.join("work/new.txt"), "new").unwrap();
}

fn section(program: &Path, args: &[String]) -> String {
    format!("[servers.x]\ncommand = {program:?}\nargs = {args:?}\n")
}

fn node(name: &str) -> PathBuf {
    part(&format!("mcp-node/node_modules/.bin/{name}"))
}

fn python(name: &str) -> PathBuf {
    part(&format!("mcp-python/venv/bin/{name}"))
}

#[test]
fn the_filesystem_server_works_in_a_sandbox() {
    let folder = place();
    let path = |name: &str| folder.path().join(name).display().to_string();
    // The server itself would let the closed folder be read; its sandbox does not.
    check(
        &folder,
        &Confined {
            section: section(&node("mcp-server-filesystem"), &[path("work"), path("closed")]),
            allow: format!("write = [{:?}]", path("work")),
            prepare,
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
                ("x__list_directory", json!({"path": path("work")}), "a.txt"),
                ("x__list_directory_with_sizes", json!({"path": path("work")}), "a.txt"),
                ("x__get_file_info", json!({"path": path("work/a.txt")}), "size"),
                (
                    "x__read_multiple_files",
                    json!({"paths": [path("work/a.txt"), path("work/c/b.txt")]}),
                    "newer",
                ),
                ("x__list_allowed_directories", json!({}), "work"),
            ],
            refused: Some((
                "x__read_text_file",
                json!({"path": path("closed/a.txt")}),
                "sandbox_allow.read += ",
            )),
        },
    );
}

#[test]
fn the_memory_server_works_in_a_sandbox() {
    let folder = place();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let variable = format!("env = {{ MEMORY_FILE_PATH = {:?} }}\n", path("work/memory.jsonl"));
    let relation = json!({"relations": [{"from": "Ada", "to": "Bob", "relationType": "knows"}]});
    let person =
        |name: &str| json!({"name": name, "entityType": "person", "observations": ["counts"]});
    check(
        &folder,
        &Confined {
            section: section(&node("mcp-server-memory"), &[]) + &variable,
            allow: format!("write = [{:?}]", path("work")),
            prepare,
            calls: vec![
                ("x__create_entities", json!({"entities": [person("Ada"), person("Bob")]}), "Ada"),
                ("x__create_relations", relation.clone(), "knows"),
                (
                    "x__add_observations",
                    json!({"observations": [{"entityName": "Ada", "contents": ["writes"]}]}),
                    "writes",
                ),
                ("x__search_nodes", json!({"query": "writes"}), "Ada"),
                ("x__open_nodes", json!({"names": ["Bob"]}), "Bob"),
                (
                    "x__delete_observations",
                    json!({"deletions": [{"entityName": "Ada", "observations": ["writes"]}]}),
                    "success",
                ),
                ("x__delete_relations", relation, "success"),
                ("x__delete_entities", json!({"entityNames": ["Bob"]}), "success"),
                ("x__read_graph", json!({}), "Ada"),
            ],
            refused: None,
        },
    );
}

#[test]
fn the_everything_server_works_in_a_sandbox() {
    let folder = place();
    check(
        &folder,
        &Confined {
            section: section(&node("mcp-server-everything"), &["stdio".to_owned()]),
            allow: String::new(),
            prepare,
            calls: vec![
                ("x__echo", json!({"message": "hello"}), "hello"),
                ("x__get-sum", json!({"a": 2, "b": 3}), "5"),
                ("x__get-annotated-message", json!({"messageType": "error"}), "Error"),
                ("x__get-env", json!({}), "PATH"),
                ("x__get-resource-links", json!({"count": 2}), "resource"),
                (
                    "x__get-resource-reference",
                    json!({"resourceType": "Text", "resourceId": 1}),
                    "resource",
                ),
                ("x__get-structured-content", json!({"location": "New York"}), "temperature"),
                ("x__get-tiny-image", json!({}), "image"),
                (
                    "x__trigger-long-running-operation",
                    json!({"duration": 0.1, "steps": 2}),
                    "completed",
                ),
            ],
            refused: None,
        },
    );
}

#[test]
fn the_time_server_works_in_a_sandbox() {
    let folder = place();
    let noon = json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"});
    check(
        &folder,
        &Confined {
            section: section(&python("mcp-server-time"), &[]),
            allow: String::new(),
            prepare,
            calls: vec![
                ("x__get_current_time", json!({"timezone": "Asia/Tokyo"}), "Tokyo"),
                ("x__convert_time", noon, "03:00"),
            ],
            refused: None,
        },
    );
}

#[test]
fn the_git_server_works_in_a_sandbox() {
    let folder = place();
    let repo = folder.path().join("work").display().to_string();
    check(
        &folder,
        &Confined {
            section: section(&python("mcp-server-git"), &[]),
            allow: format!("write = [{repo:?}]"),
            prepare: prepare_repository,
            calls: vec![
                ("x__git_status", json!({"repo_path": repo}), "new.txt"),
                ("x__git_add", json!({"repo_path": repo, "files": ["new.txt"]}), "staged"),
                ("x__git_diff_staged", json!({"repo_path": repo}), "new"),
                ("x__git_reset", json!({"repo_path": repo}), "reset"),
                ("x__git_add", json!({"repo_path": repo, "files": ["new.txt"]}), "staged"),
                ("x__git_commit", json!({"repo_path": repo, "message": "second"}), "committed"),
                ("x__git_log", json!({"repo_path": repo}), "second"),
                ("x__git_show", json!({"repo_path": repo, "revision": "HEAD"}), "second"),
                ("x__git_diff", json!({"repo_path": repo, "target": "HEAD~1"}), "new"),
                ("x__git_diff_unstaged", json!({"repo_path": repo}), ""),
                (
                    "x__git_create_branch",
                    json!({"repo_path": repo, "branch_name": "other"}),
                    "other",
                ),
                ("x__git_checkout", json!({"repo_path": repo, "branch_name": "other"}), "other"),
                ("x__git_branch", json!({"repo_path": repo, "branch_type": "local"}), "other"),
            ],
            refused: None,
        },
    );
}

#[test]
fn the_fetch_server_works_in_a_sandbox() {
    let folder = place();
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
    let args = ["--ignore-robots-txt", "--allow-private-ips"].map(str::to_owned);
    check(
        &folder,
        &Confined {
            section: section(&python("mcp-server-fetch"), &args),
            allow: format!("connect = [\"127.0.0.1:{port}\"]"),
            prepare,
            calls: vec![("x__fetch", json!({"url": format!("http://127.0.0.1:{port}/")}), "bees")],
            refused: Some((
                "x__fetch",
                json!({"url": "http://elsewhere.example/"}),
                "sandbox_allow.connect += ",
            )),
        },
    );
}

#[test]
fn the_sqlite_server_works_in_a_sandbox() {
    let folder = place();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let args = ["--db-path".to_owned(), path("work/data.db")];
    check(
        &folder,
        &Confined {
            section: section(&part("mcp-sqlite/venv/bin/mcp-server-sqlite"), &args),
            allow: format!("write = [{:?}]", path("work")),
            prepare,
            calls: vec![
                ("x__create_table", json!({"query": "CREATE TABLE bees (name TEXT)"}), "success"),
                ("x__write_query", json!({"query": "INSERT INTO bees VALUES ('Maja')"}), "1"),
                ("x__read_query", json!({"query": "SELECT * FROM bees"}), "Maja"),
                ("x__list_tables", json!({}), "bees"),
                ("x__describe_table", json!({"table_name": "bees"}), "name"),
                ("x__append_insight", json!({"insight": "Bees are few"}), "added"),
            ],
            refused: None,
        },
    );
}

// SB-2: what a launcher installs within its sandbox, it runs there.
#[test]
fn npx_installs_and_runs_a_server_in_its_sandbox() {
    let folder = place();
    let (tool, arguments) = ("x__read_graph", json!({}));
    let config = |sandbox: &str| {
        "[servers.x]\ncommand = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-memory@2026.8.31\"]\n\
         env = { MEMORY_FILE_PATH = \"/tmp/none.jsonl\", npm_config_update_notifier = \"false\" }\n\
         sandbox = \"on\"\n"
            .to_owned()
            + sandbox
    };
    fs::write(folder.path().join("switchboard.toml"), config("")).unwrap();
    assert_eq!(call(folder.path(), tool, &arguments)["success"], false);
    let allowed = config("sandbox_allow = { preset = [\"npx\"] }\n");
    fs::write(folder.path().join("switchboard.toml"), allowed).unwrap();
    let result = call(folder.path(), tool, &arguments);
    assert_eq!(result["success"], true, "{result}");
    assert!(folder.path().join("home/.npm/_npx").exists());
}

// SB-2
#[test]
fn uvx_installs_and_runs_a_server_in_its_sandbox() {
    let folder = place();
    let uvx = part("uv/venv/bin/uvx");
    let config = section(&uvx, &["mcp-server-time==2026.10.19".to_owned()])
        + "sandbox = \"on\"\nsandbox_allow = { preset = [\"uvx\"] }\n";
    fs::write(folder.path().join("switchboard.toml"), config).unwrap();
    let result = call(folder.path(), "x__get_current_time", &json!({"timezone": "Asia/Tokyo"}));
    assert_eq!(result["success"], true, "{result}");
    assert!(folder.path().join("home/.cache/uv").exists());
}
