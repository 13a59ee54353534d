//! Writes whole lines, even if a caller is dropped in the middle of one.

use std::io;

use switchboard_mcp_wire::flatten;
use tokio::{io::AsyncWriteExt, process::ChildStdin, sync::Mutex};
use tokio_util::sync::CancellationToken;

/// A larger buffer is freed when it is empty.
const KEPT: usize = 1024 * 1024;

/// The write end of the server's stdin.
pub(super) struct StdinWriter {
    pipe: Mutex<Pipe>,
    /// Cancelled to release callers that wait for a server that does not read.
    closed: CancellationToken,
    /// Cancelled when the pipe breaks under a write.
    broken: CancellationToken,
}

struct Pipe {
    stdin: Option<ChildStdin>,
    /// Lines that the server must get in full. Kept here, because the caller may be dropped.
    unsent: Vec<u8>,
    /// How many bytes of them were written.
    sent: usize,
}

impl StdinWriter {
    pub(super) fn new(stdin: ChildStdin) -> Self {
        Self {
            pipe: Mutex::new(Pipe { stdin: Some(stdin), unsent: Vec::new(), sent: 0 }),
            closed: CancellationToken::new(),
            broken: CancellationToken::new(),
        }
    }

    /// Writes a message; sets `committed` once the server will get it.
    ///
    /// # Cancel safety
    /// If dropped before that, nothing is written. If dropped after it, the rest of the line is written before the next
    /// one, or by [`StdinWriter::flush`].
    pub(super) async fn send(&self, message: &[u8], committed: &mut bool) -> io::Result<()> {
        let mut pipe = self.pipe.lock().await;
        // The rest of a dropped caller's line goes first, so that at most one such line is ever kept.
        self.finish(&mut pipe).await?;
        let start = pipe.unsent.len();
        pipe.unsent.extend_from_slice(message);
        flatten(&mut pipe.unsent[start..]);
        pipe.unsent.push(b'\n');
        *committed = true;
        self.finish(&mut pipe).await
    }

    /// Writes the rest of a dropped caller's line.
    pub(super) async fn flush(&self) -> io::Result<()> {
        self.finish(&mut *self.pipe.lock().await).await
    }

    /// Closes the pipe: the server sees the end of its input.
    pub(super) async fn close(&self) {
        self.closed.cancel();
        self.pipe.lock().await.stdin = None;
    }

    /// Resolves when the pipe has broken.
    pub(super) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    async fn finish(&self, pipe: &mut Pipe) -> io::Result<()> {
        while pipe.sent < pipe.unsent.len() {
            let Some(stdin) = &mut pipe.stdin else { return Err(io::ErrorKind::BrokenPipe.into()) };
            let written = tokio::select! {
                biased;
                written = stdin.write(&pipe.unsent[pipe.sent..]) => written,
                () = self.closed.cancelled() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            match written {
                Ok(0) => return self.fail(io::ErrorKind::WriteZero.into()),
                Ok(written) => pipe.sent += written,
                Err(error) => return self.fail(error),
            }
        }
        pipe.sent = 0;
        pipe.unsent.clear();
        pipe.unsent.shrink_to(KEPT);
        Ok(())
    }

    fn fail(&self, error: io::Error) -> io::Result<()> {
        self.broken.cancel();
        Err(error)
    }
}
