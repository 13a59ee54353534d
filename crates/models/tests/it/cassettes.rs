//! Recording and replaying, and what a real model once said.

use std::path::PathBuf;

use serde_json::json;
use switchboard_models::{
    FailureKind, Message, ModelConfig, Provider, Request, Secret, StopReason, connect,
};
use switchboard_testkit::{Cassette, ProviderServer, Reply, Scrub, cassette::CassetteError};

use crate::{
    common::{told, unused_address},
    light::{FOLDER, KEPT, converse},
};

/// A file of its own for each test, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("switchboard-cassette-{}-{name}.json", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary folder harms nobody.
        _ = std::fs::remove_file(&self.0);
    }
}

/// What a client with this key is told when it says something; `Err` with the failure in words.
async fn ask(url: &str, key: &str, said: &str) -> Result<String, (FailureKind, String)> {
    let mut config = ModelConfig::new(Provider::OpenAi, "m");
    config.base_url = Some(format!("{url}/v1"));
    config.api_key = Some(Secret::new(key));
    config.max_retries = Some(0);
    let messages = [Message::User(said.into())];
    let turn = connect(&config).unwrap().ask(&Request::new(&messages), &|_| {}).await;
    turn.map(|turn| told(&turn)).map_err(|error| (error.kind, error.message))
}

/// A provider that answers once with text, once with a key that it does not like, and once in half.
async fn provider() -> ProviderServer {
    let text = |text: &str| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    ProviderServer::start([
        // Pieces that end in the middle of a character and of the key.
        Reply::events(&[&*text("Grüße, ACME; your key is hunter2-hunter2"), end]).in_pieces(7),
        Reply::json(401, &json!({"error": {"message": "wrong key sk-proj-0123456789abcdef"}}))
            .with_header("set-cookie", "session=1")
            .with_header("request-id", "req_1"),
        Reply::events(&[text("Half")]).cut(),
    ])
    .await
}

#[tokio::test]
async fn what_was_recorded_is_said_again() {
    let (scratch, provider) = (Scratch::new("again"), provider().await);
    let hiding = || Scrub::hiding(["ACME"]);
    let recording = Cassette::record(&provider.url(), &scratch.0, hiding()).await.unwrap();
    let mut heard = Vec::new();
    for said in ["one", "two", "three"] {
        heard.push(ask(&recording.url(), "hunter2-hunter2", said).await);
    }
    assert_eq!(heard[0], Ok("Answer | Grüße, ACME; your key is hunter2-hunter2 | ".to_owned()));
    assert_eq!(heard[1].clone().unwrap_err().0, FailureKind::Auth);
    assert_eq!(heard[2].clone().unwrap_err().0, FailureKind::Cut);
    let exchanges = recording.settled().await;
    assert!(exchanges[0].response.chunks.len() > 10, "{exchanges:?}");
    drop((recording, provider));

    let replay = Cassette::replay(&scratch.0, hiding()).await.unwrap();
    assert_eq!(replay.exchanges(), exchanges);
    for (said, heard) in ["one", "two", "three"].into_iter().zip(heard) {
        let hidden = |text: String| {
            let text = text.replace("ACME", "****").replace("hunter2-hunter2", "***************");
            text.replace("sk-proj-0123456789abcdef", "************************")
        };
        let expected = heard.map(hidden).map_err(|(kind, text)| (kind, hidden(text)));
        // Whoever replays it has another key, or none.
        assert_eq!(ask(&replay.url(), "another-one", said).await, expected);
    }
    assert!(replay.exchanges().is_empty() && replay.mismatches().is_empty());
}

#[tokio::test]
async fn no_key_reaches_the_disk() {
    let (scratch, provider) = (Scratch::new("keys"), provider().await);
    let hiding = Scrub::hiding(["ACME"]);
    let recording = Cassette::record(&provider.url(), &scratch.0, hiding).await.unwrap();
    for said in ["my key is hunter2-hunter2", "ACME", "three"] {
        let _ = ask(&recording.url(), "hunter2-hunter2", said).await;
    }
    // The endpoint itself was asked with the key.
    assert_eq!(provider.captured()[0].header("authorization"), Some("Bearer hunter2-hunter2"));
    recording.settled().await;
    let text = scratch.text();
    let together: String =
        recording.settled().await.iter().map(|exchange| format!("{exchange:?}")).collect();
    for secret in ["hunter2", "ACME", "sk-proj", "session=1", "authorization"] {
        assert!(!text.contains(secret) && !together.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("req_1") && text.contains("my key is ****"), "{text}");
}

#[tokio::test]
async fn a_request_that_was_not_recorded_is_told_how_it_differs() {
    let (scratch, provider) = (Scratch::new("differs"), provider().await);
    let recording = Cassette::record(&provider.url(), &scratch.0, Scrub::default()).await.unwrap();
    ask(&recording.url(), "another-one", "one").await.unwrap();
    recording.settled().await;
    let replay = Cassette::replay(&scratch.0, Scrub::default()).await.unwrap();
    let (kind, text) = ask(&replay.url(), "another-one", "other").await.unwrap_err();
    let difference = r#"request 1 was recorded otherwise: the body at `/messages/0/content` was "one", now "other""#;
    assert_eq!(kind, FailureKind::Rejected);
    assert!(text.ends_with(difference), "{text}");
    ask(&replay.url(), "another-one", "one").await.unwrap();
    let (_, text) = ask(&replay.url(), "another-one", "one").await.unwrap_err();
    assert!(
        text.ends_with("all 1 requests were asked already, and now POST /v1/chat/completions"),
        "{text}"
    );
    assert_eq!(replay.mismatches().len(), 2);
}

#[tokio::test]
async fn what_cannot_be_used_says_so() {
    let scratch = Scratch::new("none");
    let missing = Cassette::replay(&scratch.0, Scrub::default()).await.unwrap_err();
    assert!(
        matches!(missing, CassetteError::Read(..)) && missing.to_string().contains("-none.json")
    );
    std::fs::write(&scratch.0, "[]").unwrap();
    let other = Cassette::replay(&scratch.0, Scrub::default()).await.unwrap_err();
    assert!(other.to_string().ends_with("is not a cassette"), "{other}");
    // Nobody is at the other end: the client is told, and nothing is kept.
    let recording =
        Cassette::record(&unused_address(), &scratch.0, Scrub::default()).await.unwrap();
    let (_, text) = ask(&recording.url(), "another-one", "x").await.unwrap_err();
    assert!(text.contains("the cassette could not reach its endpoint"), "{text}");
    assert!(recording.settled().await.is_empty());
}

// ML-1, ML-3: what SmolLM2 under llama.cpp said, over three wires, without SmolLM2.
#[tokio::test]
async fn a_real_models_call_is_understood() {
    for (provider, file) in KEPT {
        let cassette =
            Cassette::replay(format!("{FOLDER}/{file}"), Scrub::default()).await.unwrap();
        let turns = converse(&cassette.url(), provider).await;
        let call = &turns[0].message.tool_calls[0];
        let expected =
            format!(r#"ToolUse |  | {} set_light {{"room":"kitchen","state":"on"}}"#, call.id);
        assert_eq!(told(&turns[0]), expected);
        assert!(turns[0].usage.input_tokens > 100 && turns[0].usage.output_tokens > 10);
        assert_eq!(turns[1].stop, StopReason::MaxTokens);
        assert!(!turns[1].message.content.is_empty());
        assert_eq!((cassette.mismatches(), cassette.exchanges()), (Vec::new(), Vec::new()));
    }
}
