//! Writes an answer: in one piece where it is known whole, and otherwise piece by piece as it comes.

use std::{
    future::poll_fn,
    io::{self, Write as _},
    pin::Pin,
    task::Poll,
};

use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use http::{StatusCode, header, response};
use hyper::body::Body as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::{super::line::Line, date::Date};

/// What is copied, to be sent in one piece; more follows uncopied.
const ONE_PIECE: usize = 16 << 10;

/// How much room is kept for the next answer.
const KEPT: usize = 4 << 10;

/// How the end of a body is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// By its length.
    Length(u64),
    /// By a piece that is empty.
    Chunks,
    /// There is none, by what the status means.
    Nothing,
}

/// Answers of one connection.
#[derive(Default)]
pub(super) struct Writer {
    /// What is to be sent next.
    out: BytesMut,
    date: Date,
}

impl Writer {
    /// Sends an answer; `closes` says that it is the last on this connection.
    pub(super) async fn send<S>(
        &mut self,
        line: &mut Line<S>,
        response: Response,
        closes: bool,
    ) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (head, mut body) = response.into_parts();
        let framing = framing(head.status, &body);
        self.head(&head, framing, closes);
        if framing == Framing::Chunks {
            // What comes may come late: that it will should be known at once.
            self.flush(line).await?;
        }
        let mut left = match framing {
            Framing::Length(length) => length,
            Framing::Chunks => u64::MAX,
            Framing::Nothing => 0,
        };
        while left > 0 {
            let Some(data) = next(&mut body, line).await? else { break };
            match framing {
                Framing::Chunks => {
                    self.chunk(line, data).await?;
                    self.flush(line).await?;
                }
                _ => {
                    left = left.checked_sub(data.len() as u64).ok_or(io::ErrorKind::InvalidData)?;
                    self.piece(line, data).await?;
                }
            }
        }
        match framing {
            Framing::Chunks => self.out.extend_from_slice(b"0\r\n\r\n"),
            // Nobody could tell where the next answer begins.
            _ if left > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
        self.flush(line).await
    }

    fn head(&mut self, head: &response::Parts, framing: Framing, closes: bool) {
        let out = &mut self.out;
        out.clear();
        out.reserve(512);
        let reason = head.status.canonical_reason().unwrap_or("");
        put(
            out,
            &[b"HTTP/1.1 ", head.status.as_str().as_bytes(), b" ", reason.as_bytes(), b"\r\n"],
        );
        for (name, value) in &head.headers {
            // How it is framed is said below.
            if name != header::CONTENT_LENGTH && name != header::TRANSFER_ENCODING {
                put(out, &[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
            }
        }
        match framing {
            Framing::Length(length) => number(out, b"content-length: ", format_args!("{length}")),
            Framing::Chunks => put(out, &[b"transfer-encoding: chunked\r\n"]),
            Framing::Nothing => {}
        }
        if closes {
            put(out, &[b"connection: close\r\n"]);
        }
        if !head.headers.contains_key(header::DATE) {
            put(out, &[b"date: ", self.date.now().as_bytes(), b"\r\n"]);
        }
        put(out, &[b"\r\n"]);
    }

    async fn chunk<S>(&mut self, line: &mut Line<S>, data: Bytes) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        // An empty one would be the end.
        if data.is_empty() {
            return Ok(());
        }
        number(&mut self.out, b"", format_args!("{:x}", data.len()));
        self.piece(line, data).await?;
        put(&mut self.out, &[b"\r\n"]);
        Ok(())
    }

    async fn piece<S>(&mut self, line: &mut Line<S>, data: Bytes) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if self.out.len() + data.len() <= ONE_PIECE {
            self.out.extend_from_slice(&data);
            return Ok(());
        }
        self.flush(line).await?;
        line.write_all(&data).await
    }

    async fn flush<S>(&mut self, line: &mut Line<S>) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        line.write_all(&self.out).await?;
        match self.out.capacity() > KEPT {
            true => self.out = BytesMut::new(),
            false => self.out.clear(),
        }
        line.flush().await
    }
}

fn framing(status: StatusCode, body: &Body) -> Framing {
    let is_bare = status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    match body.size_hint().exact() {
        _ if is_bare => Framing::Nothing,
        Some(length) => Framing::Length(length),
        None => Framing::Chunks,
    }
}

/// The next data of a body, unless nobody waits for it any more.
async fn next<S>(body: &mut Body, line: &mut Line<S>) -> io::Result<Option<Bytes>>
where
    S: AsyncRead + Unpin,
{
    let frame = poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
        Poll::Ready(frame) => Poll::Ready(Ok(frame)),
        Poll::Pending => line.poll_gone(cx).map(|()| Err(io::ErrorKind::ConnectionAborted)),
    });
    let Some(frame) = frame.await? else { return Ok(None) };
    // Trailers, which nobody here sends, are no data.
    Ok(Some(frame.map_err(io::Error::other)?.into_data().unwrap_or_default()))
}

fn put(out: &mut BytesMut, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

/// Writes a number and the end of its line.
fn number(out: &mut BytesMut, before: &[u8], number: std::fmt::Arguments<'_>) {
    out.extend_from_slice(before);
    let mut text = [0; 20];
    let mut room = &mut text[..];
    // As long as the longest number.
    _ = room.write_fmt(number);
    let left = room.len();
    out.extend_from_slice(&text[..text.len() - left]);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    /// What is sent for these answers, dates aside, and whether all of them could be.
    async fn sent(answers: Vec<Response>) -> (String, bool) {
        let (own, mut other) = duplex(1 << 20);
        let mut line = Line::new(own);
        let mut writer = Writer::default();
        let mut well = true;
        for answer in answers {
            well &= writer.send(&mut line, answer, false).await.is_ok();
        }
        drop(line);
        let mut text = String::new();
        other.read_to_string(&mut text).await.unwrap();
        let lines = text.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
        (lines.collect(), well)
    }

    #[tokio::test]
    async fn bodies_are_framed_by_what_is_known_of_them() {
        let pieces = ["one", "", "second"].map(|piece| Ok::<_, io::Error>(Bytes::from(piece)));
        let long = "x".repeat(2 * ONE_PIECE);
        let bare = Response::builder().status(204).body(Body::empty()).unwrap();
        let accepted = Response::builder().status(202).body(Body::empty()).unwrap();
        let answers = vec![
            Response::new(Body::from("hello")),
            accepted,
            bare,
            Response::new(Body::from_stream(stream::iter(pieces))),
            Response::new(Body::from(long.clone())),
        ];
        let expected = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello\
             HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n\
             HTTP/1.1 204 No Content\r\n\r\n\
             HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n6\r\nsecond\r\n0\r\n\r\n\
             HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{long}",
            long.len()
        );
        assert_eq!(sent(answers).await, (expected, true));
    }

    #[tokio::test(start_paused = true)]
    async fn that_a_stream_comes_is_told_before_anything_comes_of_it() {
        let (own, mut other) = duplex(1 << 10);
        let mut line = Line::new(own);
        let nothing = stream::pending::<io::Result<Bytes>>();
        let answer = Response::new(Body::from_stream(nothing));
        let mut writer = Writer::default();
        let mut head = Vec::with_capacity(1 << 10);
        tokio::select! {
            _ = writer.send(&mut line, answer, false) => panic!("it has no end"),
            read = other.read_buf(&mut head) => read.unwrap(),
            () = tokio::time::sleep(std::time::Duration::from_secs(1)) => panic!("nothing is told"),
        };
        assert!(head.ends_with(b"\r\n\r\n"), "{}", String::from_utf8_lossy(&head));
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_not_ended_as_if_it_were_whole() {
        let pieces = [Ok(Bytes::from("some")), Err(io::Error::other("broken"))];
        let answer = Response::new(Body::from_stream(stream::iter(pieces)));
        let (text, well) = sent(vec![answer]).await;
        assert!(text.ends_with("4\r\nsome\r\n"), "{text}");
        assert!(!well);
    }
}
