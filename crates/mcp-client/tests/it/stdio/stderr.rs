//! MC-4: stderr is captured, bounded, and never mixed with stdout.

use switchboard_mcp_client::Transport;

use super::support::{Server, bounded, config, unguarded, until};

// MC-4
#[tokio::test]
async fn the_last_lines_are_kept() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start("stderr-lines=120"));
        server.echo("hello").await;
        let expected: Vec<_> = (71..=120).map(|number| format!("line {number}")).collect();
        until("all lines are read", || server.transport.stderr_tail().last() == expected.last())
            .await;
        assert_eq!(server.transport.stderr_tail(), expected);
        assert_eq!(server.heard.all(), [""; 0]);
        server.close().await;
        assert_eq!(server.transport.stderr_tail(), expected);
    }
}

// MC-4: the tail is complete when the loss is told.
#[tokio::test]
async fn the_last_words_are_there_when_the_server_is_lost() {
    for start in [config, unguarded] {
        let server = Server::start_with(&start("dies-at-start"));
        assert_eq!(bounded(server.transport.lost()).await, "the server exited with status 1");
        assert_eq!(server.transport.stderr_tail(), ["fatal: the device is not there"]);
    }
}

// MC-4: a flood is read, so that the server does not block, and not kept.
#[tokio::test]
async fn a_flood_is_survived() {
    let server = Server::start("stderr-flood=50000");
    for text in ["one", "two"] {
        assert_eq!(server.echo(text).await, text);
    }
    let tail = server.transport.stderr_tail();
    assert_eq!(tail.len(), 50);
    server.close().await;
}

// MC-4: lines are shortened.
#[tokio::test]
async fn a_long_line_is_shortened() {
    // A guard may say its line in the middle of the long one, which then shows as two.
    let server = Server::start_with(&unguarded("stderr-long-line"));
    until("it is read", || server.transport.stderr_tail().len() == 2).await;
    let tail = server.transport.stderr_tail();
    assert!(tail[0].starts_with("xxx") && tail[0].ends_with('…'));
    assert!(tail[0].chars().count() <= 501);
    assert_eq!(tail[1], "after");
    server.close().await;
}
