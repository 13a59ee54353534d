//! The life of a connection.

use std::time::Duration;

use serde_json::json;
use switchboard_mcp_client::{Server, ServerConfig, ServerState, Share, Start};
use switchboard_runtime::toolcall::{CallContext, ErrorKind, HumanDuration, ToolCall};
use switchboard_testkit::Fake;
use tokio::time::Instant;

use super::{TestServers, example, misbehaving, until};

pub(crate) fn missing() -> ServerConfig {
    ServerConfig { command: Some("no-such-program-anywhere".to_owned()), ..Default::default() }
}

// MC-2, MC-3: calls of a failed server fail at once, other servers' calls do not.
#[tokio::test(start_paused = true)]
async fn a_dead_server_fails_fast_and_alone() {
    let test = TestServers::with(Duration::from_secs(2), [("ghost", missing())]);
    test.executor.tools().add(Fake::answers("local", json!("fine"))).unwrap();
    // While it is being tried, only calls to it wait.
    let began = Instant::now();
    assert_eq!(test.call("local", json!({})).await.text(), "fine");
    assert_eq!(began.elapsed(), Duration::ZERO);
    let result = test.call("ghost__tool", json!({})).await;
    assert_eq!(began.elapsed().as_secs(), 6);
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    let text = result.text();
    let expected =
        "MCP connection failed after 3 attempts: Connection to stdio server 'ghost' failed";
    assert!(text.starts_with(expected), "{text}");
    // Now it is known, and costs nothing.
    let began = Instant::now();
    assert_eq!(test.call("ghost__tool", json!({})).await.text(), text);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

// MC-8: a server that lacks a value is known, and nothing of it ever starts.
#[tokio::test(start_paused = true)]
async fn a_skipped_server_says_why_and_is_never_started() {
    let reason = "the environment variable TOKEN is not set";
    let (skipped, share) = (Some(reason.to_owned()), Share::Session);
    let config = ServerConfig { skipped, share, prefix: Some("p".to_owned()), ..missing() };
    let test = TestServers::with(Duration::from_secs(2), [("docs", config)]);
    let server = test.servers.get("docs").unwrap();
    let says = format!("Server 'docs' is skipped: {reason}");
    let began = Instant::now();
    test.servers.wait_until_ready().await;
    for act in [Server::reconnect, Server::halt, Server::resume] {
        act(&server);
        for name in ["docs__x", "p__x", "docs__resources/read"] {
            let result = test.call(name, json!({"uri": "x"})).await;
            assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{name}");
            assert_eq!(result.text(), says, "{name}");
        }
    }
    assert_eq!((began.elapsed(), server.starts()), (Duration::ZERO, 0));
    let status = switchboard_runtime::ServerLink::status(&*server);
    assert_eq!((&status["state"], &status["error"]), (&"skipped".into(), &reason.into()));
    test.servers.close().await;
}

// MC-2: it goes on being tried, and its tools appear when it is back.
#[tokio::test]
async fn a_failed_server_comes_back() {
    let program = std::env::temp_dir().join(format!("switchboard-back-{}", std::process::id()));
    let command = Some(program.display().to_string());
    let test = TestServers::configured(ServerConfig { command, ..misbehaving("") }).await;
    let server = test.servers.get("s").unwrap().clone();
    assert!(matches!(server.state(), ServerState::Failed(_)));
    assert!(test.tool_names().is_empty());
    std::os::unix::fs::symlink(example("misbehaving_server"), &program).unwrap();
    until(|| !test.tool_names().is_empty()).await;
    until(|| matches!(server.state(), ServerState::Ready(_))).await;
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    test.servers.close().await;
    std::fs::remove_file(&program).unwrap();
}

// MC-3, EX-3: waiting for a server counts against the deadline, and can be cancelled.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_server_keeps_the_deadline() {
    let test = TestServers::with(Duration::from_secs(20), [("slow", missing())]);
    let cx = CallContext::default().with_timeout(Duration::from_secs(5));
    let result = test.executor.execute(ToolCall::new("slow__x", Default::default()), &cx).await;
    assert_eq!(result.text(), "Tool 'slow__x' timed out after 5s");
}

// MC-6: the server dies in the middle of a call, and is there again for the next.
#[tokio::test]
async fn a_server_that_dies_is_started_again() {
    let test = TestServers::misbehaving("exits-on-call").await;
    for _ in 0..3 {
        let result = test.call("s__echo", json!({"text": "hi"})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{}", result.text());
        let expected = "Tool 's__echo' is unavailable: MCP server 's' could not be reached";
        assert_eq!(result.text(), expected);
    }
    assert!(test.servers.get("s").unwrap().starts() >= 3);
    test.servers.close().await;
}

// MC-6: calls in flight end, all of them, and none hangs.
#[tokio::test]
async fn calls_in_flight_end_with_the_server() {
    let test = TestServers::misbehaving("exits-on-call").await;
    let calls = (0..20).map(|n| test.call("s__echo", json!({"text": n.to_string()})));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable), "{}", result.text());
    }
    test.servers.close().await;
}

// MC-1: a probe that is not answered is followed by `initialize` on the same pipe.
#[tokio::test]
async fn silence_on_the_probe_is_followed_by_initialize() {
    let test = TestServers::misbehaving("silent-on-discover").await;
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    assert_eq!(test.servers.get("s").unwrap().starts(), 1);
    test.servers.close().await;
}

// MC-1
#[tokio::test]
async fn a_modern_server_is_met_in_its_era() {
    let test = TestServers::misbehaving("modern").await;
    let ServerState::Ready(session) = test.servers.get("s").unwrap().state() else {
        panic!("not ready")
    };
    assert_eq!(session.era().version(), "2026-07-28");
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    test.servers.close().await;
}

// MC-4: what the server said before it died is told.
#[tokio::test]
async fn the_last_words_of_a_server_are_told() {
    let test = TestServers::misbehaving("dies-at-start").await;
    let told = test.failures.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    assert!(!told[0].stderr.is_empty());
    assert!(told[0].block(&[], &[]).contains(&told[0].stderr.join(" | ")));
    test.servers.close().await;
}

// MC-7: lazy start, and stop when idle.
#[tokio::test]
async fn a_server_on_demand_sleeps_until_it_is_needed() {
    let config = ServerConfig {
        start: Start::OnDemand,
        idle_stop: Some(HumanDuration(Duration::from_millis(50))),
        ..misbehaving("")
    };
    let test = TestServers::configured(config).await;
    let server = test.servers.get("s").unwrap().clone();
    assert!(matches!(server.state(), ServerState::Idle));
    assert_eq!(server.starts(), 0);
    assert_eq!(test.call("s__echo", json!({"text": "hi"})).await.text(), "hi");
    until(|| matches!(server.state(), ServerState::Idle)).await;
    assert_eq!(test.call("s__echo", json!({"text": "again"})).await.text(), "again");
    // On a busy machine it may fall asleep once more before the call reaches it.
    assert!(server.starts() >= 2, "{}", server.starts());
    test.servers.close().await;
}

// MC-6: a slow call is not a lost connection.
#[tokio::test]
async fn a_slow_call_leaves_the_connection_alone() {
    let test = TestServers::misbehaving("never-answers-tools-call").await;
    let cx = CallContext::default().with_timeout(Duration::from_millis(50));
    for _ in 0..3 {
        let call = ToolCall::new("s__echo", Default::default());
        let result = test.executor.execute(call, &cx).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
    }
    assert_eq!(test.servers.get("s").unwrap().starts(), 1);
    test.servers.close().await;
}

// MC-3: a server that is stopped says so.
#[tokio::test]
async fn a_stopped_server_says_so() {
    let test = TestServers::misbehaving("").await;
    test.servers.close().await;
    let result = test.call("s__echo", json!({"text": "hi"})).await;
    assert_eq!(result.text(), "MCP server 's' has been stopped");
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
}
