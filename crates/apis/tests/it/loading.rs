//! Files and URLs, failures, and changes of the config (SPEC TK-3).

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::json;
use switchboard_apis::{ApiConfig, ApiState, Apis, Description};
use switchboard_runtime::{ToolExecutor, ToolManager};
use switchboard_toolcall::{CallContext, ErrorKind, ToolCall};

use crate::responder::{Responder, json as answer};

const SPEC: &str = r#"{"openapi":"3.0.0","info":{"title":"T","version":"1"},"paths":{"/x":{"get":{"operationId":"x"}},"/y":{"get":1}}}"#;

fn configs(pairs: &[(&str, ApiConfig)]) -> IndexMap<String, ApiConfig> {
    pairs.iter().map(|(name, config)| ((*name).to_owned(), config.clone())).collect()
}

fn start(configs: &IndexMap<String, ApiConfig>, tools: &Arc<ToolManager>, eager: bool) -> Apis {
    Apis::start(configs, &IndexMap::new(), tools, None, |_| eager).unwrap()
}

fn config(openapi: &str) -> ApiConfig {
    ApiConfig { openapi: openapi.to_owned(), ..ApiConfig::default() }
}

// TK-3
#[tokio::test]
async fn an_api_is_loaded_when_it_is_needed() {
    let server = Responder::answering(answer(SPEC)).await;
    let executor = ToolExecutor::builder().build();
    let api = ApiConfig {
        headers: [("X-Key".to_owned(), "k".to_owned())].into(),
        ..config(&format!("{}/spec", server.address))
    };
    let apis = start(&configs(&[("t", api)]), executor.tools(), false);
    assert_eq!(apis.all()[0].state(), ApiState::Idle);
    let result = executor
        .execute(ToolCall::new("t__x", serde_json::Map::new()), &CallContext::default())
        .await;
    assert!(result.is_success(), "{}", result.text());
    assert!(server.last().starts_with("GET /x HTTP") && server.last().contains("x-key: k\r\n"));
    let ApiState::Ready(info) = apis.all()[0].state() else { panic!() };
    assert_eq!(info.skipped, ["GET /y: it is not an object"]);
    let status = executor.tools().servers()[0].link.as_ref().unwrap().status();
    let expected = json!({"type": "openapi", "server": {"name": "T", "version": "1"}, "protocol": "3.0.0",
        "skipped_tools": ["GET /y: it is not an object"], "state": "ready"});
    assert_eq!(status, expected);
}

// TK-3
#[tokio::test]
async fn what_cannot_be_loaded_says_why() {
    let executor = ToolExecutor::builder().build();
    let refusing =
        Responder::answering(crate::responder::response("403 Forbidden", "", "no")).await;
    let all = configs(&[
        ("file", config("/nonexistent/x.yaml")),
        ("url", config(&refusing.address)),
        ("folder", config("/")),
    ]);
    let apis = start(&all, executor.tools(), true);
    apis.wait_until_ready().await;
    for (name, says) in [
        ("file", "failed to read `/nonexistent/x.yaml`"),
        ("url", "answered 403 Forbidden: no"),
        ("folder", "failed to read `/`"),
    ] {
        let result = executor
            .execute(
                ToolCall::new(format!("{name}__x"), serde_json::Map::new()),
                &CallContext::default(),
            )
            .await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
        assert!(
            result.text().starts_with(&format!("API '{name}' is unavailable: ")),
            "{}",
            result.text()
        );
        assert!(result.text().contains(says), "{}", result.text());
    }
}

// TK-3
#[tokio::test]
async fn headers_do_not_go_where_only_the_description_is() {
    let elsewhere = Responder::answering(answer(SPEC)).await;
    let api = ApiConfig {
        base_url: Some("http://127.0.0.1:9".to_owned()),
        headers: [("Authorization".to_owned(), "Bearer secret".to_owned())].into(),
        ..config(&elsewhere.address)
    };
    Description::load("t", &api, "__", None).await.unwrap();
    assert!(!elsewhere.last().contains("secret"), "{}", elsewhere.last());
    // Nor do they go to a server that only the description names.
    let other =
        SPEC.replacen("\"paths\"", "\"servers\":[{\"url\":\"https://evil.example\"}],\"paths\"", 1);
    let fetched = Responder::answering(answer(&other)).await;
    let error = Description::load("t", &config(&fetched.address), "__", None).await.err().unwrap();
    assert!(error.contains("another origin, https://evil.example: set `base_url`"), "{error}");
}

// TK-3
#[tokio::test]
async fn a_changed_config_keeps_what_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    std::fs::write(&file, SPEC).unwrap();
    let file = ApiConfig {
        base_url: Some("http://127.0.0.1:9".to_owned()),
        ..config(file.to_str().unwrap())
    };
    let executor = ToolExecutor::builder().build();
    let tools = executor.tools();
    let apis = start(&configs(&[("a", file.clone()), ("b", file.clone())]), tools, true);
    apis.wait_until_ready().await;
    let before = apis.all();
    let other = ApiConfig { exclude: vec!["x".to_owned()], ..file.clone() };
    let skipped = [("c".to_owned(), "TOKEN is not set".to_owned())].into();
    let prepared =
        apis.prepare(&configs(&[("a", file.clone()), ("b", other), ("c", file)]), &skipped);
    tools.replace(Vec::new(), prepared.settings(), &[]).unwrap();
    apis.exchange(prepared);
    apis.wait_until_ready().await;
    let after = apis.all();
    assert!(Arc::ptr_eq(&before[0], &after[0]) && !Arc::ptr_eq(&before[1], &after[1]));
    let names: Vec<_> = tools.all().iter().map(|tool| tool.name().to_string()).collect();
    assert_eq!(names, ["a__x"]);
    assert_eq!(after[2].state(), ApiState::Skipped("TOKEN is not set".into()));
    let call = ToolCall::new("c__x", serde_json::Map::new());
    let result = executor.execute(call, &CallContext::default()).await;
    assert_eq!(result.text(), "API 'c' is skipped: TOKEN is not set");
}
