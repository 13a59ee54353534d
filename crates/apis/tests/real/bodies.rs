//! What is in the bodies of GitHub's requests, which Prism does not check, is checked with Ajv (`bodies.mjs`).

use std::{
    io::Write,
    process::{Command, Stdio},
};

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_apis::{ApiConfig, Description};
use switchboard_testkit::{ProviderServer, Reply, parts::part};
use switchboard_toolcall::CallContext;

use crate::{example, github::description};

/// How much of the bodies has to match GitHub's own schemas.
const ACCEPTED: f64 = 0.95;

/// What `bodies.mjs` prints.
#[derive(Debug, Deserialize)]
struct BodyReport {
    /// How many requests are of operations with JSON bodies.
    checked: usize,
    wrong: Vec<String>,
    /// How many requests have no JSON body.
    other: usize,
    /// Of how many a required member was left out, to see that this is noticed.
    dropped: usize,
    unnoticed: Vec<String>,
}

/// Calls these tools at a server that answers all requests, and has what it got checked.
async fn check(calls: &[(String, Value)]) -> BodyReport {
    let server = ProviderServer::start(calls.iter().map(|_| Reply::json(200, &json!({})))).await;
    let base_url = Some(server.url());
    let config = ApiConfig { openapi: description(), base_url, ..ApiConfig::default() };
    let github = Description::load("github", &config, "__", None).await.unwrap();
    for (name, args) in calls {
        let tool = github.tools.iter().find(|tool| tool.spec().name == *name).unwrap();
        let called = tool.call(args.clone(), &CallContext::default()).await;
        assert!(called.is_ok(), "{name} {args}: {called:?}");
    }
    let requests = server.captured();
    assert_eq!(requests.len(), calls.len());
    let requests = requests.iter().map(|request| {
        let content_type = request.header("content-type");
        json!({"method": request.method, "path": request.path, "content_type": content_type, "body": request.body})
    });
    validate(&requests.collect())
}

fn validate(requests: &Value) -> BodyReport {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/bodies.mjs");
    let mut node = Command::new("node");
    node.args([script, &part("apis/node_modules"), &description()]);
    let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    node.stdin.take().unwrap().write_all(requests.to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

// TK-3
#[tokio::test]
async fn bodies_match_githubs_own_schemas() {
    let text = std::fs::read_to_string(description()).unwrap();
    let config = ApiConfig { openapi: description(), ..ApiConfig::default() };
    let github = Description::compile(&text, "github", &config, "__", None).unwrap();
    let specs = github.tools.iter().map(|tool| tool.spec());
    let calls: Vec<_> =
        specs.map(|spec| (spec.name.clone(), example::arguments(&spec.parameters))).collect();
    let report = check(&calls).await;
    println!(
        "{} of {} bodies match; {} requests without a JSON body; {} noticed of {} without a required member",
        report.checked - report.wrong.len(),
        report.checked,
        report.other,
        report.dropped - report.unnoticed.len(),
        report.dropped
    );
    println!("{}", report.wrong.join("\n"));
    assert!(report.checked > 300 && report.checked + report.other == calls.len(), "{report:?}");
    #[expect(clippy::cast_precision_loss, reason = "some hundreds")]
    let share = (report.checked - report.wrong.len()) as f64 / report.checked as f64;
    assert!(share >= ACCEPTED, "{report:#?}");
    assert!(report.dropped > 100 && report.unnoticed.is_empty(), "{report:#?}");
}

// TK-3: the check can fail.
#[tokio::test]
async fn wrong_bodies_do_not_match() {
    let repository = json!({"owner": "o", "repo": "r"});
    let cases = [
        ("issues_create", json!({"body": "no title"})),
        ("issues_create", json!({"title": ["a list"]})),
        ("issues_create", json!({"title": "t", "labels": "no list"})),
        ("issues_create", json!({"title": "t", "assignees": [1]})),
        ("pulls_create", json!({"base": "main"})),
        ("pulls_create", json!({"base": "main", "head": "h", "draft": "maybe"})),
        ("issues_update", json!({"issue_number": 1, "state": "sideways"})),
    ];
    let calls = cases.map(|(name, mut args)| {
        args.as_object_mut().unwrap().extend(repository.as_object().unwrap().clone());
        (format!("github__{name}"), args)
    });
    let report = check(&calls).await;
    assert_eq!(report.wrong.len(), calls.len(), "{report:#?}");
    let right =
        [("github__issues_create".to_owned(), json!({"owner": "o", "repo": "r", "title": "t"}))];
    let report = check(&right).await;
    assert_eq!((report.checked, report.wrong.len()), (1, 0), "{report:#?}");
}
