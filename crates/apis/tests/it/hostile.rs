//! Descriptions and arguments that mean harm (SPEC TK-3).

use serde_json::{Value, json};
use switchboard_apis::{ApiConfig, Description};
use switchboard_toolcall::ErrorKind;

use crate::responder::{Responder, call, json as answer, tools};

const SPEC: &str = r#"{"openapi":"3.0.0","paths":{"/files/{name}":{"get":{"operationId":"read","parameters":[
    {"name":"name","in":"path","required":true,"schema":{"type":"string"}},
    {"name":"X-Note","in":"header","schema":{"type":"string"}},{"name":"c","in":"cookie","schema":{"type":"string"}},
    {"name":"q","in":"query","schema":{"type":"string"}}]}}}}"#;

// TK-3
#[tokio::test]
async fn arguments_change_nothing_around_them() {
    let api = Responder::answering(answer("{}")).await;
    let made = tools(SPEC, &format!("{}/v1", api.address));
    for name in ["..", ".", "%2e%2e", "../../admin", "a/../b", "..\\x", "%252e%252e", ""] {
        let error = call(&made, "read", json!({ "name": name })).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters, "{name}");
    }
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b"] {
        let error = call(&made, "read", json!({"name": "a", "X-Note": value})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParameters, "{value:?}");
    }
    assert_eq!(api.count(), 0);
    let args = json!({"name": "a/b?c#d@e\r\n", "c": "x\r\nSet: y", "q": "a&admin=1#x"});
    call(&made, "read", args).await.unwrap();
    let request = api.last();
    assert!(
        request
            .starts_with("GET /v1/files/a%2Fb%3Fc%23d%40e%0D%0A?q=a%26admin%3D1%23x HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("cookie: c=x%0D%0ASet%3A%20y\r\n"), "{request}");
}

// TK-3
#[test]
fn paths_of_a_description_stay_at_their_host() {
    let paths = [
        "//evil.example/x",
        "/../../x",
        "/a/%2e%2e/b",
        "/x#y",
        "/a\\b",
        "/a\r\nb",
        "@evil.example/",
    ];
    let paths: serde_json::Map<String, Value> =
        paths.iter().map(|path| ((*path).to_owned(), json!({"get": {}}))).collect();
    let spec = json!({"openapi": "3.0.0", "paths": paths}).to_string();
    let made = tools(&spec, "https://api.example/v1");
    assert_eq!((made.tools.len(), made.skipped.len()), (0, 7));
    assert!(made.skipped.iter().all(|skipped| !skipped.operation.contains(char::is_control)));
}

// TK-3
#[test]
fn texts_and_names_hide_nothing() {
    let spec = json!({"openapi": "3.0.0", "info": {"title": "a\u{1b}]0;x\u{7}b\nc", "version": "1"}, "paths": {"/x": {"get": {
        "operationId": "other__tool\u{202e}\u{0}", "summary": "Reads\u{200b} it\u{1b}[31m", "description": "x".repeat(5000),
        "parameters": [{"name": "a\u{202e}b", "in": "query", "description": "\u{2066}z", "schema": {"type": "string"}}]}}}});
    let made = tools(&spec.to_string(), "https://api.example");
    let spec = made.tools[0].spec();
    assert_eq!(spec.name, "api__other_tool");
    assert!(
        spec.description.starts_with("Reads it[31m\n\nxxx")
            && spec.description.chars().count() <= 1001
    );
    assert_eq!(
        spec.parameters["properties"],
        json!({"a_b": {"type": "string", "description": "z"}})
    );
    assert!(!made.title.unwrap().contains(char::is_control));
}

// TK-3
#[test]
fn a_small_description_cannot_become_a_large_tool() {
    let mut schemas = serde_json::Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", (n + 1) % 40)});
        schemas.insert(format!("S{n}"), json!({"type": "object", "properties": {"a": next, "b": next, "self": {"$ref": format!("#/components/schemas/S{n}")}}}));
    }
    let body =
        json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}});
    let spec = json!({"openapi": "3.0.0", "paths": {"/x": {"post": {"operationId": "x", "requestBody": body}}}, "components": {"schemas": schemas}});
    let made = tools(&spec.to_string(), "https://api.example");
    let schema = &made.tools[0].spec().parameters;
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 40);
    assert!(schema.to_string().len() < 10_000);

    // A large enumeration that every operation refers to is bounded in all.
    let values: Vec<_> = (0..40_000).map(|n| format!("value number {n}")).collect();
    let paths: serde_json::Map<String, Value> = (0..200)
        .map(|n| {
            (
                format!("/p{n}"),
                json!({"get": {"parameters": [
        {"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/E"}}]}}),
            )
        })
        .collect();
    let spec = json!({"openapi": "3.0.0", "paths": paths, "components": {"schemas": {"E": {"type": "string", "enum": values}}}});
    let made = tools(&spec.to_string(), "https://api.example");
    assert!((10..40).contains(&made.tools.len()), "{}", made.tools.len());
    assert!(made.skipped[0].reason.contains("its schema is larger than"), "{:?}", made.skipped[0]);
}

// TK-3
#[test]
fn ten_megabytes_are_read() {
    let text = "Lorem ipsum ".repeat(80);
    let paths: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("/p{n}/{{id}}"), json!({"get": {
        "operationId": format!("op{n}"), "description": text, "responses": {"200": {"description": text}}}}))).collect();
    let spec = json!({"openapi": "3.0.0", "paths": paths}).to_string();
    assert!(spec.len() > 9_500_000, "{}", spec.len());
    let made = tools(&spec, "https://api.example");
    assert_eq!((made.tools.len(), made.skipped.len()), (5_000, 0));
}

// TK-3
#[test]
fn what_is_no_description_is_refused() {
    let config = ApiConfig { openapi: "x".to_owned(), ..ApiConfig::default() };
    for text in [
        "",
        "[]",
        "null",
        "{}",
        "{\"openapi\":3}",
        "<html></html>",
        &"[".repeat(10_000),
        &"{\"a\":".repeat(10_000),
    ] {
        assert!(Description::compile(text, "api", &config, "__", None).is_err());
    }
}
