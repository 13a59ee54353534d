//! The access log.

use serde_json::json;
use switchboard_gateway::Config;
use switchboard_testkit::Logs;
use tracing::Level;

use crate::{TestGateway, answer};

fn lines(logs: &Logs) -> Vec<String> {
    logs.lines().into_iter().filter(|line| line.contains("switchboard::access")).collect()
}

// EX-6
#[tokio::test]
async fn each_request_leaves_a_line_where_that_is_wanted() {
    let logs = Logs::collect(Level::INFO);
    let gateway = TestGateway::configured(Config { access_log: true, ..Config::default() }).await;
    let token = gateway.token("agent-7", &["*"]);
    let (_, envelope) = answer(gateway.call("echo", &json!({})).bearer_auth(token)).await;
    answer(gateway.get("/api/tools?secret=1").bearer_auth("sb_wrong")).await;
    // The line is written when the answer has been sent, which the client may see a little earlier.
    while lines(&logs).len() < 2 {
        tokio::task::yield_now().await;
    }
    let lines = lines(&logs);
    // The body ends with a newline.
    let bytes = envelope.to_string().len() + 1;
    for part in [
        "INFO",
        "method=POST",
        "path=\"/api/tools/echo/call\"",
        "status=200",
        "caller=\"agent-7\"",
        &format!("bytes={bytes}"),
        "duration_ms=",
    ] {
        assert!(lines[0].contains(part), "{part} in {}", lines[0]);
    }
    assert!(lines[1].contains("status=401") && lines[1].contains("caller=\"-\""), "{}", lines[1]);
    assert!(!lines[1].contains("secret"), "{}", lines[1]);
}

#[tokio::test]
async fn by_default_there_is_none() {
    let logs = Logs::collect(Level::INFO);
    let gateway = TestGateway::start().await;
    answer(gateway.call("echo", &json!({}))).await;
    answer(gateway.get("/healthz")).await;
    assert_eq!(lines(&logs), Vec::<String>::new());
}
