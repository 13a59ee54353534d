//! Supervises the process: detects its end, describes it, and ends all processes that are left.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use switchboard_process::Signal;
use tokio::{process::Child, task::JoinHandle, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::StdioShared;
use switchboard_process::guard::{NOT_STARTED, PATIENCE};

/// How long we wait for the other signs of an end after the first: a process that closes its pipes has usually
/// ended, and then its exit status says more; one that has ended may have left responses in the pipe.
const SIGNS: Duration = Duration::from_secs(1);

/// When a guard should have ended everything: it waits twice, for the end of input and for SIGTERM.
const OVERDUE: Duration = PATIENCE.saturating_mul(4);

/// The process, or the guard that started it, and the tasks that read from it.
pub(super) struct ChildProcess {
    child: Child,
    guarded: bool,
    shared: Arc<StdioShared>,
    reader: JoinHandle<()>,
    stderr: JoinHandle<()>,
    ended: bool,
}

impl ChildProcess {
    pub(super) fn new(
        child: Child,
        guarded: bool,
        shared: Arc<StdioShared>,
        reader: impl Future<Output = ()> + Send + 'static,
        stderr: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        if !guarded {
            shared.group.led_by(&child);
        }
        let (reader, stderr) = (tokio::spawn(reader), tokio::spawn(stderr));
        Self { child, guarded, shared, reader, stderr, ended: false }
    }

    /// Runs until the server has ended or is to be closed; then ends what is left. `ended` fires on return.
    pub(super) async fn run(mut self, closing: CancellationToken, ended: DropGuard) {
        let reason = self.ending(&closing).await;
        tracing::debug!(server = %self.shared.name, %reason, "the connection has ended");
        if closing.is_cancelled() {
            self.shared.say_goodbye().await;
        }
        self.shared.pending.lose(&reason);
        self.shared.writer.close().await;
        self.end().await;
        self.ended = true;
        drop(ended);
    }

    /// Waits for the end and describes it.
    async fn ending(&mut self, closing: &CancellationToken) -> String {
        let shared = Arc::clone(&self.shared);
        let silent = tokio::select! {
            status = self.child.wait() => return self.exited(status).await,
            _ = &mut self.reader => "the server closed its output",
            () = shared.writer.broken() => "the server closed its input",
            () = closing.cancelled() => return "the connection was closed".to_owned(),
        };
        match timeout(SIGNS, self.child.wait()).await {
            Ok(status) => self.exited(status).await,
            Err(_) => silent.to_owned(),
        }
    }

    /// Describes how the process ended, after its last output was read.
    async fn exited(&mut self, status: io::Result<ExitStatus>) -> String {
        self.drain().await;
        let status = match status {
            Ok(status) => status,
            Err(error) => return format!("the server is gone: {error}"),
        };
        match (status.code(), status.signal()) {
            (None, signal) if self.guarded => {
                format!("the server's guard was killed by signal {}", signal.unwrap_or_default())
            }
            (Some(code), _) if self.guarded && code == i32::from(NOT_STARTED) => {
                self.not_started().unwrap_or_else(|| exit_status(code))
            }
            (Some(code @ 129..=192), _) if self.guarded => killed(code - 128),
            (Some(code), _) => exit_status(code),
            (None, signal) => killed(signal.unwrap_or_default()),
        }
    }

    /// Returns the guard's message about a command that it could not start, which is not output of the server.
    fn not_started(&self) -> Option<String> {
        let said = self.shared.tail.take_last(|line| line.starts_with("cannot start '"))?;
        self.shared.never_started.store(true, Ordering::Release);
        Some(said)
    }

    /// Ends what is left. The server has seen the end of its input; signals come next.
    async fn end(&mut self) {
        if self.guarded {
            self.end_by_guard().await;
        } else {
            self.end_by_signals().await;
        }
        self.drain().await;
        // A process that has left the group may hold the pipes open; it is not ours to end.
        self.reader.abort();
        self.stderr.abort();
    }

    /// Lets the guard end the processes, unless it is dead or stuck.
    async fn end_by_guard(&mut self) {
        let status = timeout(OVERDUE, self.child.wait()).await;
        let done = matches!(&status, Ok(Ok(status)) if status.code().is_some());
        if !done {
            self.shared.group.signal(Signal::KILL);
            // The child is reaped even if that fails.
            let _ = self.child.kill().await;
        }
    }

    async fn end_by_signals(&mut self) {
        let _ = timeout(PATIENCE, self.child.wait()).await;
        self.shared.group.signal(Signal::TERM);
        let _ = timeout(PATIENCE, self.everybody_left()).await;
        self.shared.group.signal(Signal::KILL);
        // Killed processes take a moment to end.
        let _ = timeout(PATIENCE, self.everybody_left()).await;
    }

    async fn everybody_left(&mut self) {
        let _ = self.child.wait().await;
        while !self.shared.group.is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until all output is read, at most `SIGNS` for each pipe: another process may keep it open.
    async fn drain(&mut self) {
        for task in [&mut self.reader, &mut self.stderr] {
            if !task.is_finished() {
                let _ = timeout(SIGNS, task).await;
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // The runtime is shutting down. A guard sees our pipes close; without one there is no time for an orderly end.
        if !self.ended && !self.guarded {
            self.shared.group.signal(Signal::KILL);
        }
    }
}

fn exit_status(code: i32) -> String {
    format!("the server exited with status {code}")
}

fn killed(signal: i32) -> String {
    format!("the server was killed by signal {signal}")
}
