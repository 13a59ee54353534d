//! What is promised of all routes: each is documented, and none that is only read changes anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use serde_json::{Value, json};
use switchboard_gateway::Config;
use switchboard_runtime::{ArtifactSource, artifacts::ArtifactContent};
use switchboard_testkit::Fake;

use crate::{TestGateway, answer, servers::TINY};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The files whose routes are for browsers and for OAuth clients, not for programs that read `/openapi.json`.
const UNDOCUMENTED: [&str; 4] = ["console.rs", "metadata.rs", "oauth.rs", "sign_in_page.rs"];

// GW-1
#[tokio::test]
async fn every_route_in_the_code_is_documented_and_every_documented_one_is_in_the_code() {
    let gateway = TestGateway::start().await;
    let (_, document) = answer(gateway.get("/openapi.json")).await;
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        // Tools are operations of their own, over one route.
        if operations["post"]["operationId"].as_str().is_some_and(|id| id.starts_with("call_tool_"))
        {
            continue;
        }
        for method in operations.as_object().unwrap().keys() {
            documented.insert(format!("{method} {path}"));
        }
    }
    let mut served = BTreeSet::new();
    for (file, source) in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        if !UNDOCUMENTED.contains(&file.as_str()) {
            served.extend(routes(&file, &source));
        }
    }
    assert!(served.contains("delete /api/calls/{id}"), "{served:?}");
    assert_eq!(served, documented);
}

/// The source files of the crate by name.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// The methods and paths that are given to axum's router in `source`.
fn routes(file: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for call in source.split(".route(").skip(1) {
        // Other things are called so, too; routes have a path and a method.
        let Some((path, rest)) = call.trim_start().split_once(',') else { continue };
        let handlers = &rest[..end_of_call(rest)];
        let declared = format!("let {} = ", handlers.trim());
        let handlers = match source.split_once(&declared) {
            Some((_, declared)) => declared.split(';').next().unwrap(),
            None => handlers,
        };
        let methods = METHODS.into_iter().filter(|method| is_called(handlers, method));
        let methods: Vec<_> = methods.collect();
        if methods.is_empty() {
            continue;
        }
        let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"'));
        let path = path.unwrap_or_else(|| panic!("{file}: a route's path is not a literal"));
        found.extend(methods.into_iter().map(|method| format!("{method} {path}")));
    }
    found
}

/// Where the parenthesis closes that was opened before `text`.
fn end_of_call(text: &str) -> usize {
    let mut open = 1;
    let closes = |c: char| {
        open += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open == 0
    };
    text.find(closes).unwrap_or(text.len())
}

fn is_called(handlers: &str, method: &str) -> bool {
    let call = format!("{method}(");
    handlers.match_indices(&call).any(|(at, _)| {
        !handlers[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
    })
}

// GW-1
#[tokio::test]
async fn reading_a_route_changes_nothing() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    gateway.executor.tools().add(Fake::echoes("delete_x")).unwrap();
    let (_, called) = answer(gateway.call("echo", &json!({}))).await;
    let id = called["call_id"].as_str().unwrap();
    let text = ArtifactContent { media_type: "text/plain".to_owned(), bytes: "text".into() };
    let source = ArtifactSource { tool: "echo".into(), caller: None };
    let artifact = gateway.executor.artifacts().put(text, source).await.unwrap().to_string();
    let held = tokio::spawn(gateway.call("delete_x", &json!({})).send());
    while answer(gateway.get("/api/approvals")).await.1["approvals"] == json!([]) {
        tokio::task::yield_now().await;
    }

    let (_, document) = answer(gateway.get("/openapi.json")).await;
    let before = state(&gateway).await;
    let mut read = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        if operations.get("get").is_none() {
            continue;
        }
        let known = path.replace("/servers/{name}", "/servers/tiny");
        let known = known.replace("/artifacts/{id}", &format!("/artifacts/{artifact}"));
        let known = known.replace("{name}", "echo").replace("{model}", "parrot");
        let response = gateway.get(&known.replace("{id}", id)).send().await.unwrap();
        assert!(response.status().as_u16() < 500, "{path}: {}", response.status());
        // A stream of events has no end; its beginning is enough.
        drop(response);
        assert_eq!(state(&gateway).await, before, "after GET {path}");
        read += 1;
    }
    assert!(read > 15, "{read} routes were read");
    assert!(!held.is_finished(), "the held call still waits");
    held.abort();
}

/// What a request might change: what tools have done, calls, approvals, questions, servers, and the files of all of them.
async fn state(gateway: &TestGateway) -> (Vec<Value>, BTreeMap<String, Vec<u8>>) {
    let mut state = vec![json!(gateway.witness.seen())];
    for path in ["/api/calls", "/api/approvals", "/api/approvals/rules", "/api/questions"] {
        state.push(answer(gateway.get(path)).await.1);
    }
    for server in answer(gateway.get("/api/servers")).await.1.as_array().unwrap() {
        state.push(json!([server["name"], server["state"], server["restarts"]]));
    }
    let mut files = BTreeMap::new();
    add_files(gateway._folder.path(), &mut files);
    (state, files)
}

/// Adds the files of a folder, but for the index of records, which follows the journal in its own time.
fn add_files(folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            add_files(&path, files);
        } else if !name.contains("index") {
            files.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
}
