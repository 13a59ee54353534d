//! Reads the server's stdout, in order, and skips what is not a message (MC-5).

use std::sync::Arc;

use switchboard_mcp_wire::{
    IncomingMessage, NotJsonRpc, RpcError,
    lines::{LineSplitter, TooLong, WireLine, messages, unreadable_answer},
};
use switchboard_process::excerpt::excerpt;
use tokio::{io::AsyncReadExt, process::ChildStdout};

use super::{StdioShared, rate_limit::MessageRateLimit};
use crate::transport::Failure;

/// How many characters are logged of a line that is not a message.
const SHOWN: usize = 200;

/// Reads until the server closes its stdout.
pub(super) async fn read(mut stdout: ChildStdout, shared: Arc<StdioShared>, limit: usize) {
    let mut reader = StdoutReader { shared, warned: false, rate_limit: MessageRateLimit::new() };
    let mut lines = LineSplitter::new(limit);
    while stdout.read_buf(lines.room()).await.is_ok_and(|length| length > 0) {
        while let Some(line) = lines.next() {
            reader.handle(line);
            reader.rate_limit.wait().await;
        }
    }
    if let Some(line) = lines.finish() {
        reader.handle(line);
    }
}

struct StdoutReader {
    shared: Arc<StdioShared>,
    /// Whether the warning about output that is not a message was logged.
    warned: bool,
    rate_limit: MessageRateLimit,
}

impl StdoutReader {
    fn handle(&mut self, line: WireLine<'_>) {
        match line {
            WireLine::Whole(line) => {
                let (shared, rate_limit) = (&self.shared, &mut self.rate_limit);
                let read = messages(line, |message| {
                    if !matches!(message, IncomingMessage::Response { .. }) {
                        rate_limit.count();
                    }
                    shared.take(message);
                });
                if let Err(error) = read {
                    self.rate_limit.count();
                    self.garbage(line, &error);
                }
            }
            WireLine::TooLong(line) => self.too_long(&line),
        }
    }

    fn garbage(&mut self, line: &[u8], error: &NotJsonRpc) {
        let name = &self.shared.name;
        let text = "the server wrote a line that is not a message";
        // One warning is enough; a chatty server must not fill the log.
        if std::mem::replace(&mut self.warned, true) {
            tracing::debug!(server = %name, %error, line = %excerpt(line, SHOWN), "{text}");
        } else {
            tracing::warn!(server = %name, %error, line = %excerpt(line, SHOWN), "{text}");
        }
        if let Some(id) = unreadable_answer(line) {
            self.shared.answer_unusable(id, "the server's answer is not valid UTF-8");
        }
    }

    fn too_long(&mut self, line: &TooLong) {
        let name = &self.shared.name;
        let start = excerpt(&line.head, SHOWN);
        tracing::warn!(server = %name, bytes = line.bytes, %start, "the server wrote a line that is too long; it is skipped");
        if let Some(id) = line.answers() {
            let reason = format!("the server's answer is too large: {} bytes", line.bytes);
            self.shared.answer_unusable(id, &reason);
        }
    }
}

impl StdioShared {
    /// Delivers a response to its request; passes other messages to the inbox.
    fn take(&self, message: IncomingMessage) {
        match message {
            IncomingMessage::Response { id: Some(id), outcome } => {
                if !self.pending.settle(id, outcome.map_err(Failure::Rpc)) {
                    tracing::debug!(server = %self.name, id, "a response to an unknown request was dropped");
                }
            }
            IncomingMessage::Response { id: None, outcome } => self.unaddressed(&outcome.err()),
            message => self.inbox.take(message),
        }
    }

    fn unaddressed(&self, error: &Option<RpcError>) {
        let reason = error.as_ref().map(|error| excerpt(error.message.as_bytes(), SHOWN));
        let reason = reason.unwrap_or_default();
        tracing::debug!(server = %self.name, %reason, "an answer to no request of ours");
    }

    fn answer_unusable(&self, id: u64, reason: &str) {
        self.pending.settle(id, Err(Failure::Protocol(reason.to_owned())));
    }
}
