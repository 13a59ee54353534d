//! Versions, names, choices, and what is skipped (SPEC TK-3).

use serde_json::json;
use switchboard_apis::{ApiConfig, Description};

use crate::responder::{Responder, call, json as answer, tool, tools};

const SWAGGER: &str = r#"{"swagger": "2.0", "info": {"title": "T", "version": "2"}, "host": "x.example", "basePath": "/v1",
  "consumes": ["application/json"], "produces": ["application/json"],
  "parameters": {"limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 100, "default": 10}},
  "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "x-nullable": true}}}},
  "paths": {
    "/pets": {
      "get": {"summary": "Lists pets", "parameters": [{"$ref": "\#/parameters/limit"},
        {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "pipes"},
        {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
        {"name": "csv", "in": "query", "type": "array", "items": {"type": "string"}}]},
      "post": {"operationId": "addPet", "parameters": [{"name": "pet", "in": "body", "required": true, "schema": {"$ref": "\#/definitions/Pet"}}]}},
    "/files": {"post": {"operationId": "upload", "parameters": [
      {"name": "file", "in": "formData", "type": "file", "required": true}, {"name": "n", "in": "formData", "type": "integer"}]}},
    "/form": {"post": {"operationId": "form", "parameters": [{"name": "a", "in": "formData", "type": "string"}]}}}}"#;

// TK-3
#[tokio::test]
async fn swagger_2_is_read() {
    let api = Responder::answering(answer("{}")).await;
    let pets = tools(&SWAGGER.replace("\\#", "#"), &api.address);
    assert_eq!(
        (pets.title.as_deref(), pets.version.as_deref(), &*pets.format),
        (Some("T"), Some("2"), "2.0")
    );
    assert_eq!(pets.skipped, []);
    let list = tool(&pets, "get_pets");
    assert_eq!(list.spec().description, "Lists pets");
    assert_eq!(
        list.spec().parameters["properties"]["limit"],
        json!({"type": "integer", "maximum": 100, "default": 10})
    );
    call(
        &pets,
        "get_pets",
        json!({"limit": 3, "tags": ["a", "b"], "ids": ["1", "2"], "csv": ["x", "y"]}),
    )
    .await
    .unwrap();
    assert!(
        api.last().starts_with("GET /pets?limit=3&tags=a%7Cb&ids=1&ids=2&csv=x,y HTTP"),
        "{}",
        api.last()
    );
    let add = tool(&pets, "addPet");
    assert_eq!(add.spec().parameters["properties"]["name"], json!({"type": ["string", "null"]}));
    call(&pets, "addPet", json!({"name": "Tom"})).await.unwrap();
    assert!(api.last().ends_with("{\"name\":\"Tom\"}"));
    call(&pets, "upload", json!({"file": "UE5H", "n": 3})).await.unwrap();
    assert!(
        api.last().contains("filename=\"file\"") && api.last().contains("name=\"n\"\r\n\r\n3\r\n"),
        "{}",
        api.last()
    );
    call(&pets, "form", json!({"a": "b c"})).await.unwrap();
    assert!(api.last().ends_with("\r\n\r\na=b+c"));
}

// TK-3
#[test]
fn include_and_exclude_choose() {
    let spec = r#"{"openapi":"3.1.0","servers":[{"url":"https://x.example"}],"paths":{
        "/a":{"get":{"operationId":"things/list"},"post":{"operationId":"things/add"}},"/b":{"get":{"operationId":"other"},"delete":{}}}}"#;
    let names = |include: &[&str], exclude: &[&str]| {
        let owned = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect();
        let config = ApiConfig {
            openapi: "x".to_owned(),
            include: owned(include),
            exclude: owned(exclude),
            ..ApiConfig::default()
        };
        let made = Description::compile(spec, "api", &config, "__", None).unwrap();
        let names: Vec<_> =
            made.tools.iter().map(|tool| tool.spec().name.replace("api__", "")).collect();
        names.join(" ")
    };
    assert_eq!(names(&[], &[]), "things_list things_add other delete_b");
    assert_eq!(names(&["things/*"], &["*add"]), "things_list");
    assert_eq!(names(&["GET *"], &[]), "things_list other");
    assert_eq!(names(&[], &["DELETE *", "things_*"]), "other");
}

// TK-3
#[test]
fn what_cannot_be_a_tool_is_skipped_with_the_reason() {
    let spec = r##"{"openapi":"3.0.0","paths":{
        "/ok":{"get":{"operationId":"ok","parameters":[{"name":"a","in":"query"}]}},
        "/gone":{"get":{"parameters":[{"$ref":"#/components/parameters/gone"}]}},
        "/elsewhere":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"https://x.example/s.json"}}}}}},
        "/circle":{"$ref":"#/paths/~1circle"},
        "/mixed":{"post":{"requestBody":{"content":{"multipart/mixed":{}}}}},
        "/servers":{"get":{"servers":[{"url":"https://uploads.example"}]}},
        "/header":{"get":{"parameters":[{"name":"Content-Length","in":"header","required":true}]}},
        "/nameless":{"get":{"parameters":[{"in":"query"}]}},
        "/text":{"get":"nonsense"},
        "no/slash":{"get":{}},
        "x-vendor":{"get":{}}}}"##;
    let made = tools(spec, "http://127.0.0.1:1");
    assert_eq!(made.tools.len(), 1);
    let reasons: Vec<_> = made
        .skipped
        .iter()
        .map(|skipped| format!("{}: {}", skipped.operation, skipped.reason))
        .collect();
    for expected in [
        "/circle: its references lead in a circle",
        "GET /gone: it refers to `#/components/parameters/gone`, which is not there",
        "POST /elsewhere: it refers to `https://x.example/s.json`, which is not in the description",
        "POST /mixed: its body is `multipart/mixed`, which is not supported",
        "GET /servers: its server is `https://uploads.example`, not the API's",
        "GET /header: its header `Content-Length`: this header is set as the request needs it",
        "GET /nameless: a parameter in `query` has no name",
        "GET /text: it is not an object",
        "GET no/slash: its path does not begin with one `/`",
    ] {
        assert!(
            reasons.iter().any(|reason| reason.starts_with(expected)),
            "{expected}\n{reasons:#?}"
        );
    }
    assert_eq!(reasons.len(), 9, "{reasons:#?}");
}
