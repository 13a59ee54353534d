//! Real clients against a gateway: OpenAI's own, LangChain's, and what reads `/openapi.json`.
//!
//! `cargo xtask test` installs them and says where they are. One that is not there fails its test; none is skipped.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod test_gateway;

use test_gateway::TestGateway;

/// What a Python program prints, line by line.
async fn python(gateway: &TestGateway, file: &str) -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real");
    let output = gateway.run("python", &[&format!("{folder}/{file}")]).await;
    output.lines().map(str::to_owned).collect()
}

// GW-1
#[tokio::test(flavor = "multi_thread")]
async fn openais_own_client() {
    let gateway = TestGateway::start().await;
    let expected = [
        "models: parrot",
        "answer: I heard {\"n\":1} (stop, 30 tokens)",
        "stream: Let me see | I heard {\"n\":2} (stop, 30 tokens)",
        "own: get_weather {\"city\":\"Oslo\"} (tool_calls)",
        "own answer: I heard rain and {\"n\":3}",
        "own stream: get_weather {\"city\":\"Oslo\"} (tool_calls)",
        "unknown model: 404 model_not_found",
        "bad request: 400 n",
        "failure: 502, tools run: 1",
        "failure in the stream: it burns",
        "parsed: city='Oslo'",
        "async: I heard you",
    ];
    assert_eq!(python(&gateway, "openai_client.py").await, expected);
}

// FT-3, FT-5
#[tokio::test(flavor = "multi_thread")]
async fn openais_own_client_in_two_profiles() {
    let gateway = TestGateway::start().await;
    let expected = [
        "renamed: I heard {\"n\":1}",
        "renamed hides: I heard Error: Unknown tool \"echo\"",
        "searching: I heard {\"temp\":21}",
        "searching found: True",
        "searching hides: I heard Error: Unknown tool \"repeat\"",
        "no profile: 404",
    ];
    assert_eq!(python(&gateway, "openai_profiles.py").await, expected);
}

// GW-1
#[tokio::test(flavor = "multi_thread")]
async fn langchains_client() {
    let gateway = TestGateway::start().await;
    let expected = [
        "invoke: I heard {\"n\":1} (30 tokens)",
        "stream: Let me see | I heard {\"n\":2} (30 tokens)",
        "own: get_weather {'city': 'Oslo'}",
        "own answer: I heard rain in Oslo and {\"n\":3}",
        "structured: {'city': 'Oslo'}",
    ];
    assert_eq!(python(&gateway, "langchain_client.py").await, expected);
}

// GW-1
#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_valid() {
    let gateway = TestGateway::start().await;
    assert_eq!(python(&gateway, "validate_document.py").await, ["valid: 3.1.0, 69 operations"]);
}

// GW-1
#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing() {
    let gateway = TestGateway::start().await;
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/schemathesis.toml");
    let document = format!("{}/openapi.json", gateway.url);
    let args = ["--config-file", config, "run", &document, "--checks", "all", "--no-color"];
    let output = gateway.run("schemathesis", &args).await;
    assert!(output.contains("Tested: 67"), "{output}");
}
