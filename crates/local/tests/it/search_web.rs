//! `search_web` as each provider answers it.

use serde_json::{Value, json};

use crate::responder::{Responder, call, provider_at};

async fn search(provider: &str, body: &str, args: Value) -> (Value, String) {
    let responder = Responder::with_json(body).await;
    let tool = provider_at(provider, &responder.address);
    let answer = call(&tool, args).await.unwrap();
    (answer, responder.requests().remove(0))
}

#[tokio::test]
async fn searxng() {
    // LT-3
    let body = include_str!("answers/searxng.json");
    let (answer, request) = search("searxng", body, json!({"query": " rust & c++ "})).await;
    insta::assert_json_snapshot!(answer);
    assert!(
        request.starts_with("GET /search?q=rust+%26+c%2B%2B&format=json HTTP/1.1\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn searxng_of_older_days() {
    // Answers are text in older versions.
    let body = r#"{"query":"ip","number_of_results":0,"results":[],"answers":["203.0.113.7"],"corrections":[],
        "infoboxes":[],"suggestions":[],"unresponsive_engines":[["google","timeout"]]}"#;
    let (answer, _) = search("searxng", body, json!({"query": "ip"})).await;
    assert_eq!(answer, json!({"query": "ip", "results": [], "answer": "203.0.113.7"}));
}

#[tokio::test]
async fn brave() {
    // LT-3
    let body = include_str!("answers/brave.json");
    let args = json!({"query": "rust", "max_results": 2.0});
    let (answer, request) = search("brave", body, args).await;
    insta::assert_json_snapshot!(answer);
    let line = "GET /res/v1/web/search?q=rust&count=2&text_decorations=false&result_filter=web HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("x-subscription-token: BSA-secret\r\n"), "{request}");
}

#[tokio::test]
async fn brave_finds_nothing() {
    let body = r#"{"type":"search","query":{"original":"qxzqxz"},"mixed":{"type":"mixed"}}"#;
    let (answer, _) = search("brave", body, json!({"query": "qxzqxz"})).await;
    assert_eq!(answer, json!({"query": "qxzqxz", "results": []}));
}

#[tokio::test]
async fn duckduckgo() {
    // LT-3
    let body = include_str!("answers/duckduckgo.json");
    let args = json!({"query": "rust", "max_results": 20});
    let (answer, request) = search("duckduckgo", body, args).await;
    insta::assert_json_snapshot!(answer);
    let line = "GET /?q=rust&format=json&no_html=1&no_redirect=1&skip_disambig=1 HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
}

#[tokio::test]
async fn duckduckgo_computes_in_its_own_way() {
    let body = r#"{"Abstract":"","AbstractText":"","AbstractURL":"","Answer":{"from":"calculator","result":""},
        "AnswerType":"calc","Definition":"","Heading":"","Infobox":"","RelatedTopics":[],"Results":[],"Type":"E"}"#;
    let (answer, _) = search("duckduckgo", body, json!({"query": "2+2"})).await;
    assert_eq!(answer, json!({"query": "2+2", "results": []}));
}

#[tokio::test]
async fn as_many_as_asked_for() {
    // LT-3
    let entry = r#"{"url":"https://example.org/","title":"t","content":"c"}"#;
    let body = format!(r#"{{"results":[{}]}}"#, vec![entry; 30].join(","));
    for (args, expected) in [
        (json!({"query": "x"}), 5),
        (json!({"query": "x", "max_results": null}), 5),
        (json!({"query": "x", "max_results": 12}), 12),
        (json!({"query": "x", "max_results": 20}), 20),
    ] {
        let (answer, _) = search("searxng", &body, args).await;
        assert_eq!(answer["results"].as_array().unwrap().len(), expected);
    }
}

#[tokio::test]
async fn below_a_path_and_behind_a_password() {
    let responder = Responder::with_json(r#"{"results":[]}"#).await;
    let address = format!("user:pass@{}/searx/", responder.address);
    let tool = provider_at("searxng", &address);
    call(&tool, json!({"query": "x"})).await.unwrap();
    let request = responder.requests().remove(0);
    assert!(request.starts_with("GET /searx/search?q=x&format=json "), "{request}");
    assert!(request.contains("authorization: Basic dXNlcjpwYXNz\r\n"), "{request}");
}
