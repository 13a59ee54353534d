//! A connection, and what was read of it.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::poll_read_buf;

/// How much is read at once, and how much is read before anybody looks at it.
const READ: (usize, usize) = (4 << 10, 64 << 10);

/// The connection. To whoever reads it, what was read before comes first.
pub(super) struct Line<S> {
    pub(super) read: BytesMut,
    pub(super) stream: S,
}

impl<S: AsyncRead + Unpin> Line<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { read: BytesMut::new(), stream }
    }

    /// Reads what there is; false at the end.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let before = self.read.len();
        loop {
            if self.read.capacity() - self.read.len() < READ.0 / 4 {
                self.read.reserve(READ.0.max(self.read.len()));
            }
            let read = match poll_read_buf(Pin::new(&mut self.stream), cx, &mut self.read) {
                Poll::Pending if self.read.len() > before => return Poll::Ready(Ok(true)),
                read => ready!(read)?,
            };
            let is_full = self.read.len() == self.read.capacity();
            if read == 0 || !is_full || self.read.len() >= READ.1 {
                return Poll::Ready(Ok(self.read.len() > before));
            }
        }
    }

    /// Lets go of what only a large request needed.
    pub(super) fn rest(&mut self) {
        if self.read.is_empty() && self.read.capacity() > 4 * READ.0 {
            self.read = BytesMut::new();
        }
    }

    /// Whether the other side has hung up while it was waiting for something.
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // The next request, whose turn comes; what is behind it nobody reads before.
        if !self.read.is_empty() {
            return Poll::Pending;
        }
        match ready!(self.poll_more(cx)) {
            Ok(true) => Poll::Pending,
            Ok(false) | Err(_) => Poll::Ready(()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Line<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, into);
        }
        let length = self.read.len().min(into.remaining());
        into.put_slice(&self.read[..length]);
        self.read.advance(length);
        if self.read.is_empty() {
            // Its room is not needed again.
            self.read = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Line<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test]
    async fn what_has_come_is_read_at_once_and_read_again_by_others() {
        for length in [1, READ.0, READ.0 + 1, READ.1 / 2] {
            let (own, mut other) = duplex(READ.1);
            let mut line = Line::new(own);
            let sent = vec![7; length];
            other.write_all(&sent).await.unwrap();
            drop(other);
            // What comes before the end counts.
            assert!(poll_fn(|cx| line.poll_more(cx)).await.unwrap(), "{length}");
            assert_eq!(line.read, sent);
            let mut read = Vec::new();
            line.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, sent);
            assert!(!poll_fn(|cx| line.poll_more(cx)).await.unwrap(), "{length}");
        }
    }

    #[tokio::test]
    async fn nobody_can_have_more_read_than_is_looked_at() {
        let (own, mut other) = duplex(4 * READ.1);
        let mut line = Line::new(own);
        other.write_all(&vec![7; 4 * READ.1]).await.unwrap();
        assert!(poll_fn(|cx| line.poll_more(cx)).await.unwrap());
        assert!((READ.1..=2 * READ.1).contains(&line.read.len()), "{}", line.read.len());
        line.rest();
        assert!(!line.read.is_empty());
        line.read.clear();
        line.rest();
        assert_eq!(line.read.capacity(), 0);
    }

    #[tokio::test]
    async fn who_says_more_is_still_there() {
        let (own, mut other) = duplex(64);
        let mut line = Line::new(own);
        let is_gone = async |line: &mut Line<_>| {
            poll_fn(|cx| Poll::Ready(line.poll_gone(cx).is_ready())).await
        };
        assert!(!is_gone(&mut line).await);
        other.write_all(b"next").await.unwrap();
        assert!(!is_gone(&mut line).await);
        drop(other);
        assert!(!is_gone(&mut line).await, "what it asked for comes first");
        line.read.clear();
        assert!(is_gone(&mut line).await);
    }
}
