//! MC-6, MC-7: servers that end, and servers that we end.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;
use switchboard_mcp_client::{Failure, StdioConfig, Transport};

use super::support::{
    Directory, Server, bounded, config, number_in, processes, running, unguarded, until,
};

/// What calls in flight and `lost` say when a call ends the connection.
async fn lost_in_call(config: &StdioConfig) -> String {
    let server = Server::start_with(config);
    let (first, second) = bounded(futures_util::future::join(
        server.call("echo", json!({})),
        server.call("echo", json!({})),
    ))
    .await;
    let reason = bounded(server.transport.lost()).await;
    for failure in [first.unwrap_err(), second.unwrap_err()] {
        assert!(matches!(&failure, Failure::Lost(text) if *text == reason), "{failure}");
    }
    // Late callers hear the same, at once, and any number of times.
    let late = bounded(server.call("echo", json!({}))).await.unwrap_err();
    assert_eq!(late.to_string(), reason);
    assert_eq!(bounded(server.transport.lost()).await, reason);
    let late = bounded(server.transport.notify("notifications/late", None)).await.unwrap_err();
    assert_eq!(late.to_string(), reason);
    server.close().await;
    reason
}

// MC-6: calls in flight end, never hang, and say how the server ended.
#[tokio::test]
async fn calls_in_flight_end_with_the_server() {
    for start in [config, unguarded] {
        let exited = lost_in_call(&start("exits-on-call")).await;
        assert_eq!(exited, "the server exited with status 3");
        let closed = lost_in_call(&start("closes-stdout")).await;
        assert_eq!(closed, "the server closed its output");
    }
}

// MC-6: the last answer before an exit counts.
#[tokio::test]
async fn an_answer_just_before_the_end_is_delivered() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start("exits-after=1"));
        assert_eq!(server.echo("last words").await, "last words");
        let reason = bounded(server.transport.lost()).await;
        assert_eq!(reason, "the server exited with status 3");
        server.close().await;
    }
}

// MC-6
#[tokio::test]
async fn a_killed_server_is_lost_by_that_signal() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start(""));
        let group = server.group().await;
        let pid = Pid::from_raw(i32::try_from(group).unwrap()).unwrap();
        kill_process_group(pid, Signal::KILL).unwrap();
        let reason = bounded(server.transport.lost()).await;
        assert_eq!(reason, "the server was killed by signal 9");
        server.close().await;
    }
}

// MC-7: also when the guard itself is killed, nothing of the server is left.
#[tokio::test]
async fn a_killed_guard_leaves_nothing() {
    let directory = Directory::new("killed-guard");
    let file = directory.file("pid");
    let modes = format!("ignores-stdin-end,ignores-sigterm,spawns-grandchild={}", file.display());
    let server = Server::start(&modes);
    let group = server.group().await;
    number_in(&file).await;
    let child = processes().into_iter().find(|process| process.pid == group).unwrap();
    kill_process(Pid::from_raw(i32::try_from(child.parent).unwrap()).unwrap(), Signal::KILL)
        .unwrap();
    let reason = bounded(server.transport.lost()).await;
    assert_eq!(reason, "the server's guard was killed by signal 9");
    until("the group is gone", || running(group).is_empty()).await;
    server.close().await;
}

/// Closes a server that is in the middle of a call; nothing runs afterwards.
async fn close_leaves_nothing(test: &str, start: fn(&str) -> StdioConfig, modes: &str) {
    let directory = Directory::new(test);
    let file = directory.file("pid");
    let modes = format!("{modes},never-answers-tools-call,spawns-grandchild={}", file.display());
    let server = Server::start_with(&start(&modes));
    let group = server.group().await;
    let grandchild = number_in(&file).await;
    assert!(running(group).contains(&grandchild), "{modes}");
    let closed = async {
        bounded(server.request("ping", &json!({}))).await.unwrap();
        server.close().await;
    };
    let (failure, ()) = tokio::join!(server.call("echo", json!({})), closed);
    assert_eq!(failure.unwrap_err().to_string(), "the connection was closed");
    assert_eq!(bounded(server.transport.lost()).await, "the connection was closed");
    // The dead among them may take a moment to disappear; nobody may run.
    assert_eq!(running(group), [0_u32; 0], "{modes}");
    server.close().await;
}

// MC-7: SIGTERM, then SIGKILL, for the whole group.
#[tokio::test]
async fn close_ends_the_whole_group() {
    close_leaves_nothing("close-polite", config, "").await;
    close_leaves_nothing("close-stubborn", config, "ignores-stdin-end,ignores-sigterm").await;
}

// MC-7
#[tokio::test]
async fn close_ends_the_whole_group_without_a_guard() {
    close_leaves_nothing("close-alone", unguarded, "").await;
    close_leaves_nothing("close-alone-stubborn", unguarded, "ignores-stdin-end,ignores-sigterm")
        .await;
}

// MC-7: dropping is as good as closing.
#[tokio::test]
async fn drop_ends_the_whole_group() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start("ignores-stdin-end"));
        let group = server.group().await;
        drop(server);
        until("the group is gone", || running(group).is_empty()).await;
    }
}

// MC-7: a runtime that goes away under the server takes it along.
#[test]
fn the_runtimes_end_is_the_servers_end() {
    for start in [config, unguarded] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (server, group) = runtime.block_on(async {
            let server = Server::start_with(&start("ignores-stdin-end"));
            let group = server.group().await;
            (server, group)
        });
        drop(runtime);
        drop(server);
        let waiting = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        waiting.block_on(until("the group is gone", || running(group).is_empty()));
    }
}

// MC-7: children are reaped.
#[tokio::test]
async fn nobody_is_left_a_zombie() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start(""));
        server.echo("hello").await;
        let group = server.group().await;
        let child = processes().into_iter().find(|process| process.pid == group).unwrap();
        let ours = if child.parent == std::process::id() { group } else { child.parent };
        server.close().await;
        assert!(!processes().iter().any(|process| process.pid == ours), "{ours} is still there");
    }
}
