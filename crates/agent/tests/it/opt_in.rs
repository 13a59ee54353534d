//! The steps of the test with a real Ollama, with what a real Ollama once said: they pass where they should, and fail
//! where they should.

use futures_util::FutureExt;
use serde_json::json;
use switchboard_testkit::{ProviderServer, Reply};

#[path = "../ollama/steps.rs"]
mod steps;

/// Recordings of a real Ollama.
const TAGS: &str = include_str!("../../../models/tests/recordings/tags.json");
const CALL: &str = include_str!("../../../models/tests/recordings/chat-tool-stream.ndjson");
const TEXT: &str = include_str!("../../../models/tests/recordings/chat-stream.ndjson");

fn recorded(text: &str) -> Reply {
    Reply::new(200, "application/x-ndjson", text)
}

fn says(text: &str) -> Reply {
    let line = json!({"message": {"role": "assistant", "content": text}, "done": true, "done_reason": "stop"});
    Reply::lines(&[line.to_string()])
}

/// Whether a step passes at an Ollama that gives these replies.
async fn passes<F: Future<Output = ()>>(
    replies: Vec<Reply>,
    step: impl FnOnce(String) -> F,
) -> bool {
    let server = ProviderServer::start(replies).await;
    std::panic::AssertUnwindSafe(step(server.url())).catch_unwind().await.is_ok()
}

// ML-1, ML-2
#[tokio::test]
async fn the_steps_pass_and_fail_where_they_should() {
    let tags = || vec![Reply::new(200, "application/json", TAGS)];
    for (model, passed) in [("home", true), ("home:latest", true), ("qwen3:0.6b", false)] {
        let step = async |url: String| steps::is_installed(&url, model).await;
        assert_eq!(passes(tags(), step).await, passed, "{model}");
    }
    let listing = async |url: String| steps::lists_its_tools(&url, "home").await;
    assert!(passes(vec![says("1. `get_weather`\n2. Set Light")], listing).await);
    assert!(!passes(vec![says("I have get_weather.")], listing).await);
    let calling = async |url: String| steps::calls_one(&url, "home").await;
    assert!(passes(vec![recorded(CALL), recorded(TEXT)], calling).await);
    // It only talks; it calls with another name, which is told to it, and then gives up.
    assert!(!passes(vec![recorded(TEXT)], calling).await);
    let wrong = CALL.replace("\"city\"", "\"town\"");
    assert!(!passes(vec![recorded(&wrong), says("Sorry.")], calling).await);
}
