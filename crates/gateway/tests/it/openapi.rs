//! `/openapi.json`: every route and every tool, as far as the caller may see them.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use switchboard_gateway::Config;
use switchboard_runtime::{ArtifactSource, artifacts::ArtifactContent};
use switchboard_testkit::Fake;

use crate::{TestGateway, answer, servers::TINY};

/// The document as somebody with this token gets it.
async fn document(gateway: &TestGateway, token: Option<&str>) -> Value {
    let request = gateway.get("/openapi.json");
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let (status, document) = answer(request).await;
    assert_eq!(status, 200);
    document
}

fn paths(document: &Value) -> Vec<&String> {
    document["paths"].as_object().unwrap().keys().collect()
}

// GW-1
#[tokio::test]
async fn every_route_is_documented() {
    let gateway = TestGateway::with_server(Config::default(), TINY).await;
    let document = document(&gateway, None).await;
    let expected = [
        "/api/tools",
        "/api/tool-costs",
        "/api/tools/{name}",
        "/api/tools/{name}/validate",
        "/api/tools/{name}/call",
        "/api/calls/running/{id}",
        "/api/calls",
        "/api/calls/{id}",
        "/api/turns",
        "/api/runs",
        "/api/runs/{id}",
        "/api/approvals",
        "/api/approvals/{id}",
        "/api/approvals/rules",
        "/api/approvals/rules/{id}",
        "/api/policy",
        "/api/policy/test",
        "/api/approvals/decided",
        "/api/tokens",
        "/api/tokens/{name}/tools",
        "/api/tokens/{name}",
        "/api/chats",
        "/api/chats/{id}",
        "/api/questions",
        "/api/questions/{id}",
        "/api/events",
        "/api/artifacts/{id}",
        "/api/stats",
        "/api/servers",
        "/api/servers/{name}",
        "/api/servers/{name}/resources",
        "/api/servers/{name}/prompts",
        "/api/servers/{name}/stderr",
        "/api/servers/{name}/reconnect",
        "/api/servers/{name}/stop",
        "/api/servers/{name}/start",
        "/api/servers/{name}/sign-in",
        "/api/servers/{name}/trust",
        "/api/servers/{name}/enable",
        "/api/servers/{name}/disable",
        "/api/gateway",
        "/api/session",
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/v1/chat/completions",
        "/v1/models",
        "/v1/models/{model}",
    ];
    assert_eq!(paths(&document)[..expected.len()], expected);
    let (_, called) = answer(gateway.call("echo", &json!({}))).await;
    let id = called["call_id"].as_str().unwrap();
    let kept = ArtifactContent { media_type: "text/plain".to_owned(), bytes: "kept".into() };
    let source = ArtifactSource { tool: "echo".into(), caller: None };
    let kept = gateway.executor.artifacts().put(kept, source).await.unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.replace("/servers/{name}", "/servers/tiny");
        let path = path.replace("/artifacts/{id}", &format!("/artifacts/{kept}"));
        let path = path.replace("{name}", "echo").replace("{model}", "parrot");
        let path = path.replace("{id}", id);
        for (method, operation) in operations.as_object().unwrap() {
            let method = method.to_uppercase().parse().unwrap();
            let response = gateway.client.request(method, gateway.url(&path)).send().await.unwrap();
            let status = response.status().as_str().to_owned();
            assert!(operation["responses"].get(&status).is_some(), "{path}: {status}");
            // Something may not be there, but the route is.
            if status == "404" {
                let text = response.text().await.unwrap();
                assert!(!text.contains("there is nothing at"), "{path}: {text}");
            }
        }
    }
    let model = &document["components"]["schemas"]["ChatRequest"]["properties"]["model"];
    assert_eq!(model["enum"], json!(["parrot", "shy", "priced", "keyless"]));
}

// GW-1
#[tokio::test]
async fn every_tool_is_an_operation() {
    let gateway = TestGateway::start().await;
    for name in ["k/{1}", "k__1_"] {
        gateway.executor.tools().add(Fake::echoes(name)).unwrap();
    }
    let document = document(&gateway, None).await;
    let weather = &document["paths"]["/api/tools/weather/call"]["post"];
    assert_eq!(weather["operationId"], "call_tool_weather");
    let body = &weather["requestBody"];
    let schema = "#/components/schemas/call_tool_weather.arguments";
    assert_eq!(
        (&body["required"], &body["content"]["application/json"]["schema"]["$ref"]),
        (&json!(true), &json!(schema))
    );
    let arguments = &document["components"]["schemas"]["call_tool_weather.arguments"];
    assert_eq!(arguments["required"], json!(["city"]));
    let statuses: Vec<_> = weather["responses"].as_object().unwrap().keys().collect();
    let expected =
        ["200", "400", "401", "403", "404", "413", "422", "429", "499", "500", "502", "503", "504"];
    assert_eq!(statuses, expected);
    let headers: Vec<_> =
        weather["parameters"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    let expected = [
        "text",
        "content",
        "whole",
        "Idempotency-Key",
        "X-Timeout",
        "X-Conversation",
        "X-Switchboard-Answers",
    ];
    assert_eq!(headers, expected);
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    // Names that look alike once they are plain.
    let id = |path: &str| &document["paths"][path]["post"]["operationId"];
    assert_eq!(id("/api/tools/k%2F%7B1%7D/call"), "call_tool_k__1_");
    assert_eq!(id("/api/tools/k__1_/call"), "call_tool_k__1__2");
    let call = gateway.client.post(gateway.url("/api/tools/k%2F%7B1%7D/call"));
    assert_eq!(answer(call.json(&json!({"a": 1}))).await.1["result"], json!({"a": 1}));
}

// GW-2
#[tokio::test]
async fn hidden_tools_are_not_documented() {
    let gateway = TestGateway::start().await;
    let token = gateway.token("agent", &["e*"]);
    let document = document(&gateway, Some(&token)).await;
    let tools: Vec<_> = paths(&document)
        .into_iter()
        .filter_map(|path| path.strip_prefix("/api/tools/")?.strip_suffix("/call"))
        .collect();
    assert_eq!(tools, ["{name}", "echo"]);
    assert!(!document.to_string().contains("weather"));
}

// GW-1: a component of the document has the name of its type, so a second type of the name would replace the first.
#[test]
fn no_two_types_of_the_document_have_one_name() {
    let mut files_by_name = BTreeMap::<String, Vec<String>>::new();
    add_components(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files_by_name);
    assert!(files_by_name.len() > 80, "only {} types were found", files_by_name.len());
    assert!(files_by_name.contains_key("ShownServer"), "{files_by_name:?}");
    files_by_name.retain(|_, files| files.len() > 1);
    assert!(files_by_name.is_empty(), "types share a name: {files_by_name:?}");
}

/// Adds the types below the folder that derive `ToSchema`.
fn add_components(folder: &Path, files_by_name: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_components(&path, files_by_name);
            continue;
        }
        let source = fs::read_to_string(&path).unwrap_or_default();
        for name in source.split("#[derive(").skip(1).filter_map(component) {
            files_by_name.entry(name).or_default().push(path.display().to_string());
        }
    }
}

/// Returns the name of the component that a type becomes, read from what follows its `#[derive(`. `None` if the type does
/// not derive `ToSchema`.
fn component(after_derive: &str) -> Option<String> {
    let (traits, rest) = after_derive.split_once(")]")?;
    traits.split(',').find(|name| name.trim().ends_with("ToSchema"))?;
    let (attributes, declaration) = ["struct ", "enum "]
        .iter()
        .filter_map(|keyword| rest.split_once(*keyword))
        .min_by_key(|(attributes, _)| attributes.len())?;
    let chosen = attributes.split_once("schema(as = ").map(|(_, name)| name);
    let name = chosen.unwrap_or(declaration);
    Some(name.chars().take_while(|&part| part.is_alphanumeric() || part == '_').collect())
}
