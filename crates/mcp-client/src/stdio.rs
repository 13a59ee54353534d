//! A server that is a child process: messages are lines on its stdin and stdout.
//!
//! The child runs in a process group of its own, under a guard if there is one, so that none of its processes outlives us
//! (MC-7). Output that is not a message does no harm (MC-5). Connecting, restarting and the protocol's eras are left to the
//! session.

mod spawn;
mod pending;
mod writer;
mod reader;
mod rate_limit;
mod stderr;
mod child;

use std::{
    collections::BTreeMap,
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::value::RawValue;
use switchboard_mcp_wire::{Outgoing, RpcError};
use switchboard_process::{ProcessGroup, ProcessGuard};
use switchboard_sandbox::Sandbox;
use switchboard_toolcall::BoxFuture;
use tokio::{
    runtime::Handle,
    time::{sleep, timeout},
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    stderr_log::StderrLog,
    transport::{Failure, SharedInbox, Transport, TransportRequest},
};
use child::ChildProcess;
use pending::{PendingRequests, RequestTicket};
use stderr::StderrTail;
use writer::StdinWriter;

pub(crate) use switchboard_process::StartError;

/// How long the server may take to read the cancellations of pending calls, before its stdin is closed.
const GOODBYE: Duration = Duration::from_millis(250);

/// The largest message that is read by default: 64 MiB.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024 * 1024;

/// How to start a server.
#[derive(Clone)]
pub struct StdioConfig {
    /// The program, looked up in `PATH` if it is a bare name.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables for it, besides the few that every child gets.
    pub env: BTreeMap<String, String>,
    /// Whether it gets all of our environment.
    pub inherit_env: bool,
    /// The working directory; ours if `None`.
    pub cwd: Option<PathBuf>,
    /// Ends the child if we are killed. Without a guard, it only ends if we shut down in an orderly way.
    pub guard: Option<ProcessGuard>,
    /// What confines it, if anything does.
    pub sandbox: Option<Arc<Sandbox>>,
    /// The largest message that is read, in bytes; a longer one is skipped.
    pub max_message: usize,
    /// Keeps the lines of its stderr, also after it has ended.
    pub log: Option<Arc<StderrLog>>,
}

impl StdioConfig {
    /// Creates the settings of a command without arguments, with a minimal environment and no guard.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit_env: false,
            cwd: None,
            guard: None,
            sandbox: None,
            max_message: MAX_MESSAGE,
            log: None,
        }
    }
}

impl fmt::Debug for StdioConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are often secrets.
        f.debug_struct("StdioConfig")
            .field("command", &self.command)
            .field("args", &self.args)
            .field("env", &self.env.keys())
            .field("inherit_env", &self.inherit_env)
            .field("cwd", &self.cwd)
            .field("guard", &self.guard)
            .field("is_confined", &self.sandbox.is_some())
            .field("max_message", &self.max_message)
            .finish()
    }
}

/// A running server and the pipes to it.
pub struct StdioTransport {
    shared: Arc<StdioShared>,
    /// Cancelled to end the server, also when the transport is dropped.
    closing: DropGuard,
    /// Cancelled when all processes of the server are gone.
    ended: CancellationToken,
    runtime: Handle,
    /// Kept for as long as the server runs.
    sandbox: Option<Arc<Sandbox>>,
}

/// What the transport and its tasks share.
struct StdioShared {
    name: String,
    inbox: SharedInbox,
    pending: PendingRequests,
    writer: StdinWriter,
    tail: StderrTail,
    log: Option<Arc<StderrLog>>,
    group: ProcessGroup,
    /// Set if the guard could not start the command.
    never_started: AtomicBool,
    /// Tasks that tell the server of cancelled requests.
    taken_back: TaskTracker,
}

impl StdioTransport {
    /// Starts the server; `name` is its name in logs. Must be called within a tokio runtime.
    ///
    /// Under a guard, a command that cannot be started shows as a connection that is lost at once, with that reason.
    ///
    /// # Errors
    /// Fails if no process could be started.
    pub fn start(
        name: &str,
        config: &StdioConfig,
        inbox: SharedInbox,
    ) -> Result<Arc<Self>, StartError> {
        let (child, pipes) = spawn::spawn(config)?;
        let shared = Arc::new(StdioShared {
            name: name.to_owned(),
            inbox,
            pending: PendingRequests::default(),
            writer: StdinWriter::new(pipes.stdin),
            tail: StderrTail::default(),
            log: config.log.clone(),
            group: ProcessGroup::default(),
            never_started: AtomicBool::new(false),
            taken_back: TaskTracker::new(),
        });
        let reader = reader::read(pipes.stdout, Arc::clone(&shared), config.max_message);
        let stderr = stderr::read(pipes.stderr, Arc::clone(&shared));
        let (closing, ended) = (CancellationToken::new(), CancellationToken::new());
        let guarded = config.guard.is_some();
        let life = ChildProcess::new(child, guarded, Arc::clone(&shared), reader, stderr);
        tokio::spawn(life.run(closing.clone(), ended.clone().drop_guard()));
        let closing = closing.drop_guard();
        let sandbox = config.sandbox.clone();
        Ok(Arc::new(Self { shared, closing, ended, runtime: Handle::current(), sandbox }))
    }

    /// Returns the id of the server's process group, which is that of its first process. Under a guard, it is known a
    /// moment after the start.
    pub fn process_group(&self) -> Option<u32> {
        self.shared.group.number()
    }
}

impl Transport for StdioTransport {
    fn request<'a>(
        &'a self,
        request: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>> {
        Box::pin(async move {
            let (mut ticket, answer) = RequestTicket::open(&self.shared, &self.runtime, &request)?;
            // If the pipe is broken, the connection is lost, and the response below is that error.
            let _ = self.shared.writer.send(&request.message, ticket.committed()).await;
            let outcome = answer.await;
            ticket.close();
            outcome.unwrap_or_else(|_| Err(Failure::Lost("the connection is gone".to_owned())))
        })
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { self.shared.send(&Outgoing::notification(method, params)).await })
    }

    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { self.shared.send(&Outgoing::response(id, &outcome)).await })
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        Box::pin(self.shared.pending.lost())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.closing.token().cancel();
            self.ended.cancelled().await;
        })
    }

    fn never_started(&self) -> bool {
        self.shared.never_started.load(Ordering::Acquire)
    }

    fn stderr_tail(&self) -> Vec<String> {
        self.shared.tail.lines()
    }

    fn sandbox(&self) -> Option<&Arc<Sandbox>> {
        self.sandbox.as_ref()
    }
}

impl StdioShared {
    /// Waits a moment until the server has been told of requests that were cancelled just before the connection is closed.
    async fn say_goodbye(&self) {
        let told = async {
            while !self.pending.is_empty() {
                sleep(GOODBYE / 50).await;
            }
            self.taken_back.close();
            self.taken_back.wait().await;
        };
        // Pending requests fail with a closed connection; a server that does not read is not waited for.
        _ = timeout(GOODBYE, told).await;
    }

    /// Sends a message that has no response.
    async fn send(&self, message: &Outgoing<'_>) -> Result<(), Failure> {
        match self.writer.send(&message.to_bytes(), &mut false).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Failure::Lost(self.pending.lost().await)),
        }
    }
}
