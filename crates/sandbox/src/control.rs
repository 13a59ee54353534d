//! Our end of the socket from which the confining process fetches its policy, and over which it hands us the socket of the
//! proxy.

#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::{io, path::Path, path::PathBuf, sync::Arc};

use tokio::{
    io::{AsyncWriteExt, Interest},
    net::{TcpListener, UnixListener, UnixStream},
    task::AbortHandle,
};

use crate::{
    policy::{BoxPolicy, BoxReport},
    proxy::{EgressProxy, ProxyClients},
    refusals::{RefusalLog, SandboxRefusal},
};

/// The largest report that is read.
const LARGEST: usize = 64 * 1024;

/// Removes control groups when the program is gone.
struct TaskGroupFolders(Vec<PathBuf>);

/// The processes of a confined program, once it has begun.
#[cfg(target_os = "linux")]
pub(crate) type SharedTree = Arc<OnceLock<crate::memory::ProcessTree>>;

/// Nothing is known of processes on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) type SharedTree = ();

/// Hands out the policy once, then serves the proxy until it is aborted; `tree` is filled when the program begins.
///
/// # Errors
/// The socket cannot be made.
pub(crate) fn serve(
    socket: &Path,
    owner: &str,
    policy: &BoxPolicy,
    mut proxy: EgressProxy,
    tree: SharedTree,
) -> io::Result<AbortHandle> {
    let listener = UnixListener::bind(socket)?;
    let memory = policy.memory;
    let policy = serde_json::to_vec(policy).map_err(io::Error::other)?;
    let owner = owner.to_owned();
    let serving = tokio::spawn(async move {
        let (report, socket, process) = match exchange(&listener, &policy).await {
            Ok(exchanged) => exchanged,
            Err(error) => return tracing::debug!(owner, %error, "no sandbox was set up"),
        };
        drop(listener);
        for problem in &report.missing {
            tracing::warn!("'{owner}' is not fully confined: {problem}");
        }
        let _groups = TaskGroupFolders(report.task_groups);
        if report.has_own_network {
            proxy.clients = ProxyClients::All;
        }
        let refusals = Arc::clone(&proxy.refusals);
        let serving = async {
            match socket {
                Some(socket) => Arc::new(proxy).serve(socket).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = serving => {}
            () = watch_memory(process, memory, &refusals, tree) => {}
        }
    });
    Ok(serving.abort_handle())
}

/// Ends the program when its processes have more memory than they may; does not return unless they do.
#[cfg(target_os = "linux")]
async fn watch_memory(process: Option<i32>, limit: u64, refusals: &RefusalLog, tree: SharedTree) {
    let Some(process) = process else { return std::future::pending().await };
    let taken = tree.get_or_init(|| crate::memory::ProcessTree::of(process)).exceeds(limit).await;
    let (taken, limit) = (taken >> 20, limit >> 20);
    let text = format!(
        "{taken} MiB of memory for all its processes, where {limit} MiB are allowed, and ended"
    );
    refusals.record(SandboxRefusal::Memory(text));
}

#[cfg(not(target_os = "linux"))]
async fn watch_memory(_: Option<i32>, _: u64, _: &RefusalLog, (): SharedTree) {
    std::future::pending().await
}

/// Sends the policy and receives the report, with the proxy's socket and the number of the process.
async fn exchange(
    listener: &UnixListener,
    policy: &[u8],
) -> io::Result<(BoxReport, Option<TcpListener>, Option<i32>)> {
    let (mut link, _) = listener.accept().await?;
    let process = link.peer_cred()?.pid();
    let length = u32::try_from(policy.len()).map_err(io::Error::other)?;
    link.write_all(&length.to_be_bytes()).await?;
    link.write_all(policy).await?;
    let (report, socket) = link.async_io(Interest::READABLE, || receive(&link)).await?;
    let report = serde_json::from_slice(&report).map_err(io::Error::other)?;
    let socket = socket.map(|socket| {
        socket.set_nonblocking(true)?;
        TcpListener::from_std(socket)
    });
    Ok((report, socket.transpose()?, process))
}

/// Reads a message and the socket that comes with it.
#[cfg(target_os = "linux")]
fn receive(link: &UnixStream) -> io::Result<(Vec<u8>, Option<std::net::TcpListener>)> {
    use std::mem::MaybeUninit;

    use rustix::{
        io::IoSliceMut,
        net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    };

    let mut report = vec![0; LARGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut more = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(link, &mut [IoSliceMut::new(&mut report)], &mut more, flags)?;
    report.truncate(received.bytes);
    let socket = more.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    Ok((report, socket.map(Into::into)))
}

#[cfg(not(target_os = "linux"))]
fn receive(_: &UnixStream) -> io::Result<(Vec<u8>, Option<std::net::TcpListener>)> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

impl Drop for TaskGroupFolders {
    fn drop(&mut self) {
        // Empty by now, or the system keeps them until the last process is gone.
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}
