//! `sandbox`: servers and command tools that are confined (SB-1).

use std::fs;

use serde_json::Value;

use crate::test_folder::TestFolder;

/// An MCP server in Python that opens files and connections.
const SERVER: &str = r#"
import json, os, shutil, socket, sys, urllib.request

def read(path):
    return open(path).read()

def write(path):
    open(path, "w").write("written")
    return "done"

def move(paths):
    shutil.move(*paths.split(":"))
    return "moved"

def connect(address):
    host, port = address.rsplit(":", 1)
    socket.create_connection((host, int(port)), 5)
    return "connected"

def fetch(url):
    return urllib.request.urlopen(url, timeout=5).read().decode()

TOOLS = {"read": read, "write": write, "move": move, "connect": connect, "fetch": fetch}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "files", "version": "1"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"it": {"type": "string"}}, "required": ["it"]}
        result = {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in TOOLS]}
    elif method == "tools/call":
        try:
            text, failed = TOOLS[params["name"]](params["arguments"]["it"]), False
        except Exception as error:
            text, failed = f"{type(error).__name__}: {error}", True
        result = {"content": [{"type": "text", "text": str(text)}], "isError": failed}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

/// Whether this kernel can confine; where it cannot, `doctor` says so. With real parts it has to.
fn can_confine() -> bool {
    let missing = switchboard_sandbox::SandboxSupport::current().missing();
    assert!(missing.is_empty() || !cfg!(feature = "real-parts"), "{missing:?}");
    missing.is_empty()
}

/// Whether programs can be watched. With real parts they have to.
fn can_watch() -> bool {
    let is_there = std::path::Path::new("/usr/bin/strace").exists();
    assert!(is_there || !cfg!(feature = "real-parts"), "`strace` is not installed");
    is_there
}

/// A place with the server in a sandbox, a folder that it may read, one that it may write, and one that is neither.
fn place(more: &str) -> TestFolder {
    let config = format!("[servers.x]\ncommand = \"python3\"\nargs = [\"server.py\"]\n{more}");
    TestFolder::with_config(&config)
        .file("server.py", SERVER)
        .file("open/a", "readable")
        .file("work/a", "mine")
        .file("closed/a", "secret")
}

const ALLOW: &str = "sandbox = \"on\"\nsandbox_allow = { read = [\"open\"], write = [\"work\"] }\n";

fn call(place: &TestFolder, tool: &str, it: &str) -> Value {
    place.run(&["call", &format!("x__{tool}"), &format!("it={it}"), "--json"]).json()
}

// SB-1
#[test]
fn a_server_does_what_it_is_allowed_and_a_refusal_names_the_rest() {
    if !can_confine() {
        return;
    }
    let place = place(ALLOW);
    assert_eq!(call(&place, "read", "open/a")["result"], "readable");
    assert_eq!(call(&place, "write", "work/b")["result"], "done");
    let closed = place.path().join("closed/a").display().to_string();
    let refused = call(&place, "read", &closed);
    assert_eq!(refused["success"], false, "{refused}");
    let hint = refused["hint"].as_str().unwrap_or_default();
    assert!(hint.contains(&format!("sandbox_allow.read += {closed:?}")), "{refused}");
    let config = place.path().join("switchboard.toml").display().to_string();
    assert_eq!(call(&place, "read", &config)["success"], false);
    let refused = call(&place, "write", "open/b");
    let hint = refused["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("sandbox_allow.write += "), "{refused}");
    let refused = call(&place, "fetch", "http://one.example:81/");
    let hint = refused["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("sandbox_allow.connect += \"one.example:81\""), "{refused}");
    assert_eq!(call(&place, "connect", "127.0.0.1:9")["success"], false);
    // What was refused is told later, too.
    let doctor = place.run(&["doctor"]).stdout;
    assert!(doctor.contains("it was refused one.example:81"), "{doctor}");
    assert!(doctor.contains("programs can be confined: Landlock version"), "{doctor}");
    let servers = place.run(&["servers", "--json"]).json();
    assert_eq!(servers[0]["sandbox"], "on");
}

// SB-1
#[test]
fn secrets_are_not_read_where_variables_say_that_they_are() {
    if !can_confine() {
        return;
    }
    let place = place(ALLOW).file("open/kube/config", "secret").file("open/mozilla/x", "secret");
    let open = place.path().join("open");
    let place = place
        .variable("KUBECONFIG", &format!("/none:{}", open.join("kube/config").display()))
        .variable("XDG_CONFIG_HOME", &open.display().to_string())
        .variable("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    assert_eq!(call(&place, "read", "open/a")["result"], "readable");
    assert_eq!(call(&place, "read", "/dev/null")["result"], "");
    for secret in ["open/kube/config", "open/mozilla/x"] {
        let refused = call(&place, "read", secret);
        assert_eq!(refused["success"], false, "{secret}: {refused}");
    }
}

// SB-1
#[test]
fn what_cannot_be_confined_does_not_start() {
    let place = place("sandbox = \"on\"\nsandbox_allow = { connect = [\"unix:/run/x\"] }\n");
    let support = switchboard_sandbox::SandboxSupport::current();
    if support.landlock_abi >= 9 {
        return;
    }
    let ran = place.run(&["call", "x__read", "it=open/a"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("it cannot be confined: "), "{ran:?}");
    let config = fs::read_to_string(place.path().join("switchboard.toml")).unwrap();
    fs::write(place.path().join("switchboard.toml"), config.replace("\"on\"", "\"try\"")).unwrap();
    let ran = place.run(&["call", "x__connect", "it=127.0.0.1:9"]);
    assert!(ran.stderr.contains("is not fully confined"), "{ran:?}");
}

// SB-1, TK-1
#[test]
fn a_command_tool_is_confined_by_the_same_keys() {
    if !can_confine() {
        return;
    }
    let tool = r#"
[[tools]]
name = "show"
description = "Shows a file"
parameters = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
implementation = { type = "command", program = "cat", args = ["--", "{path}"] }
sandbox = "on"
sandbox_allow = { read = ["open"] }
sandbox_limits = { memory = "1GiB", processes = 32, files = 64 }
"#;
    let place = TestFolder::with_config(tool).file("open/a", "readable").file("closed/a", "secret");
    let call = |path: &str| place.run(&["call", "show", path, "--json"]).json();
    assert_eq!(call("open/a")["result"], "readable");
    let refused = call("closed/a");
    assert_eq!(refused["success"], false, "{refused}");
    let hint = refused["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("sandbox_allow.read += "), "{refused}");
}

// SB-1, TK-1
#[test]
fn an_argument_of_a_call_does_not_widen_a_sandbox() {
    if !can_confine() {
        return;
    }
    let tool = |name: &str, program: &str, args: &str| {
        format!(
            "[[tools]]\nname = \"{name}\"\ndescription = \"Shows a file\"\n\
             parameters = {{ type = \"object\", properties = {{ path = {{ type = \"string\" }} }}, required = [\"path\"] }}\n\
             implementation = {{ type = \"command\", program = \"{program}\", args = {args} }}\n\
             sandbox = \"on\"\nsandbox_allow = {{ read = [\"open\"] }}\n"
        )
    };
    let tools = tool("check", "python3", "[\"-m\", \"json.tool\", \"{path}\"]")
        + &tool("script", "python3", "[\"{path}\"]")
        + &tool("shell", "sh", "[\"-c\", \"cat \\\"$1\\\"\", \"sh\", \"{path}\"]")
        + &tool("source", "sh", "[\"{path}\"]");
    let (open, closed) = ("print('[\\'\\']')", "[\"secret\"]");
    let place = TestFolder::with_config(&tools).file("open/a", open).file("closed/a", closed);
    let place = place.file("open/b", "[\"readable\"]");
    let call = |tool: &str, path: &str| place.run(&["call", tool, path, "--json"]).json();
    for tool in ["check", "shell"] {
        assert_eq!(call(tool, "open/b")["success"], true, "{tool}: {}", call(tool, "open/b"));
    }
    assert_eq!(call("script", "open/a")["success"], true, "{}", call("script", "open/a"));
    for tool in ["check", "script", "shell", "source"] {
        let refused = call(tool, "closed/a");
        assert_eq!(refused["success"], false, "{tool}: {refused}");
        assert!(!refused.to_string().contains("secret\\\""), "{tool}: {refused}");
    }
}

// SB-1, TK-1
#[test]
fn what_a_sandbox_allows_does_not_depend_on_a_folder_that_callers_choose() {
    let tool = |program: &str, allow: &str| {
        format!(
            "[[tools]]\nname = \"show\"\ndescription = \"Shows files\"\n\
             parameters = {{ type = \"object\", properties = {{ folder = {{ type = \"string\" }} }}, required = [\"folder\"] }}\n\
             implementation = {{ type = \"command\", program = \"{program}\", cwd = \"{{folder}}\" }}\n\
             sandbox = \"on\"\nsandbox_allow = {{ read = [\"{allow}\"] }}\n"
        )
    };
    for (program, allow, word) in
        [("ls", ".", "sandbox_allow"), ("./show", "/srv", "program"), ("ls", "~", "")]
    {
        let ran = TestFolder::with_config(&tool(program, allow)).run(&["tools"]);
        assert_eq!(ran.status, if word.is_empty() { 0 } else { 2 }, "{program} {allow} {ran:?}");
        assert!(ran.stderr.contains(word), "{program} {allow} {ran:?}");
    }
}

// SB-1
#[test]
fn keys_that_cannot_be_meant_are_named() {
    for (more, word) in [
        ("sandbox = \"yes\"\n", "sandbox"),
        ("sandbox = \"on\"\nsandbox_allow = { reed = [] }\n", "reed"),
        ("sandbox = \"on\"\nsandbox_allow = { connect = [\"a.example\"] }\n", "it needs a port"),
        ("sandbox = \"on\"\nsandbox_limits = { processes = 0 }\n", "processes"),
    ] {
        let ran = place(more).run(&["tools"]);
        assert_eq!(ran.status, 2, "{more} {ran:?}");
        assert!(ran.stderr.contains(word), "{more} {ran:?}");
    }
    let ran =
        TestFolder::with_config("[servers.x]\nurl = \"http://a.example/mcp\"\nsandbox = \"on\"\n")
            .run(&["tools"]);
    assert!(ran.status == 2 && ran.stderr.contains("only a program is confined"), "{ran:?}");
}

// SB-2
#[test]
fn what_a_server_needs_is_learned_and_is_enough() {
    let place = place("").file(
        "calls.jsonl",
        "{\"tool\": \"read\", \"arguments\": {\"it\": \"open/a\"}}\n\n\
         {\"tool\": \"write\", \"arguments\": {\"it\": \"work/new\"}}\n\
         {\"tool\": \"move\", \"arguments\": {\"it\": \"from/a:to/a\"}}\n",
    );
    let place =
        ["from/a", "from/b", "to/x"].into_iter().fold(place, |place, it| place.file(it, it));
    let ran = place.run(&["sandbox", "learn", "x", "--calls", "calls.jsonl"]);
    if !can_watch() {
        assert!(ran.status == 1 && ran.stderr.contains("needs `strace`"), "{ran:?}");
        return;
    }
    assert_eq!(ran.status, 0, "{ran:?}");
    let (open, work) = (place.path().join("open/a"), place.path().join("work"));
    assert!(ran.stdout.contains("[servers.x]\nsandbox = \"on\"\n"), "{ran:?}");
    assert!(ran.stdout.contains(&open.display().to_string()), "{ran:?}");
    assert!(ran.stdout.contains(&format!("{}/**", work.display())), "{ran:?}");
    assert!(!ran.stdout.contains("closed"), "{ran:?}");
    fs::rename(place.path().join("to/a"), place.path().join("from/a")).unwrap();
    let as_json = place.run(&["sandbox", "learn", "x", "--calls", "calls.jsonl", "--json"]).json();
    assert_eq!(as_json["sandbox_allow"]["connect"], serde_json::json!([]), "{as_json}");
    if !can_confine() {
        return;
    }
    // Under what was learned it does the same, and nothing else.
    let config = place.path().join("switchboard.toml");
    let old = fs::read_to_string(&config).unwrap();
    let learned = ran.stdout.replace("[servers.x]\n", "");
    fs::write(config, old + &learned).unwrap();
    assert_eq!(call(&place, "read", "open/a")["result"], "readable");
    assert_eq!(call(&place, "write", "work/new")["result"], "done");
    assert_eq!(call(&place, "move", "from/b:to/b")["result"], "moved");
    assert!(!place.path().join("from/b").exists() && place.path().join("to/b").exists());
    assert_eq!(call(&place, "read", "closed/a")["success"], false);
}

// SB-2
#[test]
fn only_a_program_is_watched() {
    let place = TestFolder::with_config("[servers.x]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    for (server, word) in [("x", "only a program has a sandbox"), ("y", "there is no server `y`")] {
        let ran = place.run(&["sandbox", "learn", server]);
        assert!(ran.status == 2 && ran.stderr.contains(word), "{ran:?}");
    }
}

// SB-2, TK-1
#[test]
fn what_a_command_tool_needs_is_learned_from_its_calls() {
    let tool = r#"
[[tools]]
name = "show"
description = "Shows a file"
parameters = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
implementation = { type = "command", program = "cat", args = ["--", "{path}"] }
sandbox = "learn"
"#;
    let place = TestFolder::with_config(tool).file("open/a", "readable");
    let ran = place.run(&["sandbox", "learn", "show"]);
    assert!(ran.status == 2 && ran.stderr.contains("`show` is a tool"), "{ran:?}");
    let called = place.run(&["call", "show", "open/a", "--json"]).json();
    if !can_watch() {
        assert!(called.to_string().contains("needs `strace`"), "{called}");
        return;
    }
    assert_eq!(called["result"], "readable", "{called}");
    let doctor = place.run(&["doctor"]).stdout;
    let file = doctor.split("needed last is in ").nth(1).unwrap_or_else(|| panic!("{doctor}"));
    let learned = fs::read_to_string(file.lines().next().unwrap().trim()).unwrap();
    assert!(learned.contains("# for the entry of [[tools]] with name = \"show\"\n"), "{learned}");
    if !can_confine() {
        return;
    }
    // What was learned goes into the entry as it is.
    let config = tool.replace("sandbox = \"learn\"\n", &learned);
    fs::write(place.path().join("switchboard.toml"), config).unwrap();
    let called = place.run(&["call", "show", "open/a", "--json"]).json();
    assert_eq!(called["result"], "readable", "{called}");
}

// SB-2
#[test]
fn the_gateway_shows_how_a_server_is_confined_and_what_it_was_refused() {
    if !can_confine() {
        return;
    }
    let place = place(ALLOW);
    let serving = crate::serve::Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let sandbox = || serving.ask("GET", "/api/servers/x", "", "").1["sandbox"].clone();
    crate::fixture::wait_until("it is known", || sandbox()["mode"] == "on");
    assert_eq!(sandbox()["refused"], serde_json::json!([]));
    let closed = place.path().join("closed/a").display().to_string();
    let arguments = serde_json::json!({"it": closed}).to_string();
    let (_, refused) = serving.ask("POST", "/api/tools/x__read/call", "", &arguments);
    assert_eq!(refused["success"], false, "{refused}");
    let remedy = format!("to allow it: sandbox_allow.read += {closed:?}");
    let expected = serde_json::json!([{"what": closed, "remedy": remedy}]);
    assert_eq!(sandbox()["refused"], expected);
}
