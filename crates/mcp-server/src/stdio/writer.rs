//! Writes messages as lines, all available ones at once.

use std::{future::poll_fn, task::Poll};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::outbox::OutboxReader;

/// Writes until all senders are gone, or the pipe is closed.
pub(super) async fn write(mut messages: OutboxReader, mut output: impl AsyncWrite + Unpin) {
    let mut lines = Vec::new();
    loop {
        lines.clear();
        let more = poll_fn(|cx| {
            loop {
                match messages.poll_next(cx) {
                    Poll::Ready(Some((_, message))) => {
                        lines.extend_from_slice(&message);
                        lines.push(b'\n');
                    }
                    Poll::Pending if lines.is_empty() => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(true),
                    Poll::Ready(None) => return Poll::Ready(false),
                }
            }
        })
        .await;
        if output.write_all(&lines).await.is_err() || output.flush().await.is_err() {
            tracing::debug!("the client reads no more");
            return;
        }
        if !more {
            // The other end may be gone already.
            _ = output.shutdown().await;
            return;
        }
    }
}
