//! What the lock holds back, in each mode (LK-2).

use std::fs;

use serde_json::{Value, json};

use super::{Library, changed, renamed};
use crate::{fixture::wait_until, serve::Serving};

/// The names of the tools of servers.
fn offered(library: &Library) -> Vec<String> {
    names(&library.run(&["tools", "--json"]).json())
}

fn names(listed: &Value) -> Vec<String> {
    let names = listed.as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
    names.filter(|name| name.contains("__")).map(str::to_owned).collect()
}

// LK-2
#[test]
fn what_is_new_or_changed_is_skipped_and_the_rest_works() {
    let library = Library::locked(&["books"], "");
    let mut now = changed();
    now.as_array_mut()
        .unwrap()
        .push(json!({"name": "new_tool", "inputSchema": {"type": "object"}}));
    library.says("books", "tools", &now);
    assert_eq!(offered(&library), ["books__list_files"]);
    assert_eq!(library.run(&["call", "books__list_files", "path=x"]).status, 0);
    for (tool, says) in [("read_file", "it has changed"), ("new_tool", "it is not in the lock")] {
        let envelope = library.place.call(&[&format!("books__{tool}"), "path=x"]);
        assert_eq!(envelope["error_kind"], "denied", "{envelope}");
        assert_eq!(envelope["hint"], format!("switchboard trust books {tool}"), "{envelope}");
        let error = envelope["error"].as_str().unwrap();
        assert!(error.contains(&format!("Tool 'books__{tool}' is denied: {says}")), "{envelope}");
    }
    let log = library.run(&["tools"]).stderr;
    let line = "server 'books' differs from switchboard.lock: new_tool, read_file (description), skipped until trusted; `switchboard trust books` shows what it says";
    assert_eq!(log.matches(line).count(), 1, "{log}");
    let doctor = library.run(&["doctor"]);
    assert_eq!(doctor.status, 0, "{doctor:?}");
    let says = "skipped: 'read_file' has changed; switchboard trust books read_file";
    assert!(doctor.stdout.contains(says), "{doctor:?}");
    let differs = "'read_file': description: [-Reads-]{+Deletes+} a file of the project.";
    assert!(doctor.stdout.contains(differs), "{doctor:?}");
    assert!(!doctor.stdout.contains("'new_tool': "), "{doctor:?}");
    assert!(
        doctor.stdout.contains("switchboard.lock has 5 definitions of 1 servers, enforce"),
        "{doctor:?}"
    );
}

// LK-2
#[test]
fn prompts_and_templates_are_held_back_too() {
    let library = Library::locked(&["books"], "");
    let get = || library.place.call(&["books__prompts/get", "name=review"]);
    assert_eq!(get()["success"], true);
    let arguments = json!([{"name": "history", "required": true}]);
    let prompts =
        json!([{"name": "review", "description": "Deletes code.", "arguments": arguments}]);
    library.says("books", "prompts", &prompts);
    library.says("books", "templates", &json!([{"uriTemplate": "page://{n}", "name": "other"}]));
    let listed = library.run(&["prompts", "--json"]);
    assert!(!listed.stdout.contains("review"), "{listed:?}");
    assert!(!library.run(&["resources", "--json"]).stdout.contains("page://"));
    let doctor = library.run(&["doctor"]);
    for says in [
        "waits: prompt 'review' has changed; switchboard trust books review",
        "'review': ! `history` is a new argument that has to be given",
        "'review': description: [-Reviews-]{+Deletes+} code.",
    ] {
        assert!(doctor.stdout.contains(says), "{says}: {doctor:?}");
    }
    // A process that has seen the list refuses to get it.
    let serving = Serving::start(&library.place, &["--listen", "127.0.0.1:0"]);
    wait_until("it is known", || {
        serving.ask("GET", "/api/servers/books", "", "").1["waiting"].as_array().map(Vec::len)
            == Some(2)
    });
    let doctor = library.run(&["doctor"]);
    let note = "'review': ! `history` is a new argument that has to be given";
    assert!(doctor.stdout.contains(note), "{doctor:?}");
    let (_, envelope) =
        serving.ask("POST", "/api/tools/books__prompts%2Fget/call", "", r#"{"name":"review"}"#);
    assert_eq!(envelope["error_kind"], "denied", "{envelope}");
    assert_eq!(envelope["hint"], "switchboard trust books review", "{envelope}");
}

// LK-2
#[test]
fn a_renamed_tool_is_new() {
    let library = Library::locked(&["books"], "");
    library.says("books", "tools", &renamed());
    assert_eq!(offered(&library), ["books__list_files"]);
    let error = library.place.error(&["books__load_file", "path=x"]);
    assert!(error.contains("it is not in the lock; it is `read_file`, renamed"), "{error}");
    let gone = library.place.call(&["books__read_file", "path=x"]);
    assert_eq!(gone["error_kind"], "not_found", "{gone}");
}

// LK-2
#[test]
fn each_mode_does_what_it_says() {
    let own = |mode: &str| format!("lock = \"{mode}\"\n");
    let all = |mode: &str| format!("[lock]\nmode = \"{mode}\"\n");
    // Whether there is a lock file, what the config says, how many tools are offered, and whether the log says what differs.
    let cases = [
        (true, String::new(), 1, true),
        (false, String::new(), 2, false),
        (true, all("off"), 2, false),
        (true, all("warn"), 2, true),
        (false, all("warn"), 2, true),
        (true, all("enforce"), 1, true),
        (false, all("enforce"), 0, true),
        (true, own("off"), 2, false),
        (true, own("warn"), 2, true),
        (true, own("enforce") + &all("off"), 1, true),
        (true, own("off") + &all("enforce"), 2, false),
    ];
    let library = Library::locked(&["books"], "");
    let file = library.place.path().join("switchboard.toml");
    let (config, lock) = (fs::read_to_string(&file).unwrap(), library.lock());
    library.says("books", "tools", &changed());
    for (has_file, settings, count, is_told) in cases {
        fs::write(&file, format!("{config}{settings}")).unwrap();
        match has_file {
            true => fs::write(library.lock_file(), &lock).unwrap(),
            false => fs::remove_file(library.lock_file()).unwrap(),
        }
        let ran = library.run(&["tools", "--json"]);
        assert_eq!(names(&ran.json()).len(), count, "{has_file} {settings}");
        let is_in_log = ran.stderr.contains("differs from switchboard.lock");
        assert_eq!(is_in_log, is_told, "{settings}: {ran:?}");
    }
}

// LK-2: a change in the middle of a session, before anybody is offered it.
#[test]
fn nobody_is_offered_a_change_in_the_middle_of_a_session() {
    let library = Library::locked(&["books"], "");
    let serving = Serving::start(&library.place, &["--listen", "127.0.0.1:0"]);
    let tools = || {
        let (_, tools) = serving.ask("GET", "/api/tools", "", "");
        let mut tools = tools.as_array().unwrap().clone();
        tools.retain(|tool| tool["name"].as_str().unwrap().starts_with("books__"));
        tools
    };
    wait_until("it is connected", || tools().len() == 2);
    let call = |tool: &str| {
        let path = format!("/api/tools/books__{tool}/call");
        serving.ask("POST", &path, "", r#"{"path":"x"}"#).1
    };
    let mut next = changed();
    next.as_array_mut().unwrap().push(json!({"name": "late", "inputSchema": {"type": "object"}}));
    library.says("books", "next", &next);
    // The server changes its tools during this call, and says so.
    assert_eq!(call("list_files")["success"], true);
    wait_until("the change is seen", || tools().len() == 1);
    assert!(tools().iter().all(|tool| tool["name"] == "books__list_files"), "{:?}", tools());
    for tool in ["read_file", "late"] {
        let envelope = call(tool);
        assert_eq!(envelope["error_kind"], "denied", "{envelope}");
        assert_eq!(envelope["hint"], format!("switchboard trust books {tool}"), "{envelope}");
    }
    assert_eq!(call("list_files")["success"], true);
    let shown = serving.ask("GET", "/api/servers/books", "", "").1;
    let waiting = shown["waiting"].as_array().unwrap();
    assert_eq!(waiting.len(), 2, "{shown}");
    assert_eq!((&waiting[0]["name"], &waiting[0]["change"]), (&json!("late"), &json!("new")));
    assert_eq!(
        (&waiting[1]["name"], &waiting[1]["change"]),
        (&json!("read_file"), &json!("changed"))
    );
    assert_eq!(
        waiting[1]["diff"],
        json!(["description: [-Reads-]{+Deletes+} a file of the project."])
    );

    // It changes back: nothing waits any more.
    library.says("books", "next", &crate::lock::tools());
    assert_eq!(call("list_files")["success"], true);
    wait_until("it is as it was", || tools().len() == 2);
    assert_eq!(serving.ask("GET", "/api/servers/books", "", "").1["waiting"], json!([]));
}

// LK-2
#[test]
fn a_lock_that_is_written_while_serve_runs_applies() {
    let library = Library::new(&["books"], "");
    let serving = Serving::start(&library.place, &["--listen", "127.0.0.1:0"]);
    let has = |name: &str| {
        let (_, tools) = serving.ask("GET", "/api/tools", "", "");
        tools.as_array().unwrap().iter().any(|tool| tool["name"] == name)
    };
    wait_until("it is connected", || has("books__read_file"));
    assert_eq!(library.run(&["lock"]).status, 0);
    let lock = library.lock();
    let other = lock.replace("[servers.books.tools.read_file]", "[servers.books.tools.other]");
    fs::write(library.lock_file(), other).unwrap();
    wait_until("it is held back", || !has("books__read_file") && has("books__list_files"));
    // A broken file, or none, changes nothing; the log says so.
    fs::write(library.lock_file(), "<<<<<<< ours\n").unwrap();
    let log = || fs::read_to_string(library.place.path().join("log")).unwrap();
    wait_until("it is told", || {
        log().contains("the lock stays as it was, and applies: switchboard.lock:1: ")
    });
    fs::remove_file(library.lock_file()).unwrap();
    wait_until("it is told", || log().contains("applies: `switchboard.lock` is gone"));
    assert!(!has("books__read_file") && has("books__list_files"));
    fs::write(library.lock_file(), lock).unwrap();
    wait_until("it is there again", || has("books__read_file"));
}

// LK-2: what a server says to clients of one era alone.
#[test]
fn what_is_said_in_one_era_only_is_held_back() {
    let library = Library::new(&["books"], "protocol = \"legacy\"\n");
    let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "speaker", "version": "1.0"}}});
    library.says("books", "discover", &discovered);
    library.says("books", "modern", &changed());
    assert_eq!(library.run(&["lock"]).status, 0);
    assert_eq!(offered(&library), ["books__read_file", "books__list_files"]);
    let config = library.place.path().join("switchboard.toml");
    let legacy = fs::read_to_string(&config).unwrap();
    fs::write(&config, legacy.replace("\"legacy\"", "\"2026-07-28\"")).unwrap();
    assert_eq!(offered(&library), ["books__list_files"]);
    let check = library.run(&["lock", "--check"]);
    assert!(check.status == 1 && check.stdout.contains("[-Reads-]{+Deletes+}"), "{check:?}");
    fs::write(config, legacy).unwrap();
    assert_eq!(offered(&library), ["books__read_file", "books__list_files"]);
}
