//! Every operation of GitHub's API is a tool, or is skipped with a reason.

use std::{collections::HashSet, time::Instant};

use indexmap::IndexMap;
use switchboard_apis::{ApiConfig, ApiState, Apis, Description};
use switchboard_runtime::{ToolExecutor, validate::SchemaCheck};
use switchboard_testkit::parts::part;
use switchboard_toolcall::Strictness;

use crate::example;

pub(crate) fn description() -> String {
    part("apis/node_modules/@octokit/openapi/generated/api.github.com.json")
}

// TK-3
#[tokio::test]
async fn every_operation_of_github_is_a_tool_or_skipped_with_a_reason() {
    let text = std::fs::read_to_string(description()).unwrap();
    let config = ApiConfig { openapi: description(), ..ApiConfig::default() };
    let began = Instant::now();
    let github = Description::compile(&text, "github", &config, "__", None).unwrap();
    let took = began.elapsed();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let methods = ["get", "put", "post", "delete", "patch", "head", "options"];
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.map(|item| {
        item.as_object().unwrap().keys().filter(|key| methods.contains(&key.as_str())).count()
    });
    assert_eq!(github.tools.len() + github.skipped.len(), operations.sum::<usize>());
    let skipped: Vec<_> = github
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.operation, skipped.reason))
        .collect();
    // It goes to another host.
    assert_eq!(skipped.len(), 1, "{skipped:#?}");
    assert!(skipped[0].contains("https://uploads.github.com"), "{skipped:#?}");
    let size: usize =
        github.tools.iter().map(|tool| tool.spec().parameters.to_string().len()).sum();
    println!("{} tools in {took:?}, {size} bytes of schemas", github.tools.len());
    let (mut names, mut refused) = (HashSet::new(), Vec::new());
    for tool in &github.tools {
        let spec = tool.spec();
        assert!(spec.name.len() <= 64 && spec.name.starts_with("github__"), "{}", spec.name);
        assert!(names.insert(&spec.name), "{}", spec.name);
        assert!(!spec.description.is_empty() && spec.description.chars().count() <= 1001);
        let check = SchemaCheck::compile(&spec.parameters, Strictness::Strict).unwrap();
        let args = example::arguments(&spec.parameters);
        if !check.accepts(&args) {
            refused.push(format!("{} {args}", spec.name));
        }
    }
    // What the examples cannot guess: texts that match a pattern, or alternatives.
    assert!(refused.len() < github.tools.len() / 20, "{refused:#?}");
}

// TK-3
#[tokio::test]
async fn the_executor_takes_all_of_them() {
    let executor = ToolExecutor::builder().build();
    let config = ApiConfig { openapi: description(), ..ApiConfig::default() };
    let configs = IndexMap::from([("github".to_owned(), config)]);
    let apis = Apis::start(&configs, &IndexMap::new(), executor.tools(), None, |_| true).unwrap();
    let began = Instant::now();
    apis.wait_until_ready().await;
    println!("loaded and checked in {:?}", began.elapsed());
    let ApiState::Ready(info) = apis.all()[0].state() else {
        panic!("{:?}", apis.all()[0].state())
    };
    assert_eq!(info.skipped.len(), 1, "{:#?}", info.skipped);
    assert!(executor.tools().all().len() > 1000);
}
