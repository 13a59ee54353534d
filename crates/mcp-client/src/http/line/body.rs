//! Takes the body of an answer out of what comes over the connection.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

use super::Broken;

/// How long what stands between chunks may be: extensions of their sizes, and trailers.
const MOST_BETWEEN: usize = 16 << 10;

/// What is left of the body of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Nothing.
    Ended,
    /// So many bytes.
    Length(u64),
    /// So many bytes of a chunk, and what follows it.
    Chunk(u64),
    /// Chunks that name their sizes.
    Between(Between),
    /// Everything until the connection ends.
    UntilClosed,
}

/// A place outside of the chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    /// Before the size of the next.
    Before,
    /// Before the line end that follows one.
    After,
    /// Behind the last; so many bytes of trailers came already.
    Last(usize),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A piece.
    Piece(Bytes),
    /// Nothing: the body is whole.
    End,
    /// Whatever it is, it must be read first.
    Read,
}

impl Body {
    /// Takes the next piece from what was read.
    pub(super) fn next(&mut self, read: &mut BytesMut) -> Result<Next, Broken> {
        loop {
            match *self {
                Self::Ended => return Ok(Next::End),
                _ if read.is_empty() => return Ok(Next::Read),
                Self::UntilClosed => return Ok(Next::Piece(read.split().freeze())),
                Self::Length(left) => {
                    let (piece, left) = take(read, left);
                    *self = if left == 0 { Self::Ended } else { Self::Length(left) };
                    return Ok(Next::Piece(piece));
                }
                Self::Chunk(left) => {
                    let (piece, left) = take(read, left);
                    let after = Self::Between(Between::After);
                    *self = if left == 0 { after } else { Self::Chunk(left) };
                    return Ok(Next::Piece(piece));
                }
                Self::Between(place) => match place.step(read)? {
                    Some(next) => *self = next,
                    None => return Ok(Next::Read),
                },
            }
        }
    }

    /// Takes note that nothing more will come; returns whether the body is whole.
    pub(super) fn closed(&mut self) -> bool {
        if *self == Self::UntilClosed {
            *self = Self::Ended;
        }
        *self == Self::Ended
    }

    /// How many bytes are sure to come.
    pub(super) fn announced(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunk(left) => *left,
            _ => 0,
        }
    }
}

/// As much of what is left as was read, and what is left then.
fn take(read: &mut BytesMut, left: u64) -> (Bytes, u64) {
    let taken = usize::try_from(left).unwrap_or(usize::MAX).min(read.len());
    (read.split_to(taken).freeze(), left - taken as u64)
}

impl Between {
    /// Goes on to the next place; none, where more must be read.
    fn step(self, read: &mut BytesMut) -> Result<Option<Body>, Broken> {
        match self {
            Self::Before => match httparse::parse_chunk_size(read) {
                Ok(Status::Complete((length, size))) => {
                    read.advance(length);
                    let last = Body::Between(Self::Last(0));
                    Ok(Some(if size == 0 { last } else { Body::Chunk(size) }))
                }
                Ok(Status::Partial) if read.len() < MOST_BETWEEN => Ok(None),
                _ => Err(wrong()),
            },
            Self::After => match &read[..read.len().min(2)] {
                b"\r\n" => {
                    read.advance(2);
                    Ok(Some(Body::Between(Self::Before)))
                }
                b"\r" => Ok(None),
                _ => Err(wrong()),
            },
            Self::Last(before) => match read.windows(2).position(|two| two == b"\r\n") {
                _ if before + read.len() > MOST_BETWEEN => Err(wrong()),
                None => Ok(None),
                Some(end) => {
                    read.advance(end + 2);
                    let more = Body::Between(Self::Last(before + end + 2));
                    Ok(Some(if end == 0 { Body::Ended } else { more }))
                }
            },
        }
    }
}

fn wrong() -> Broken {
    Broken::NotHttp("the chunks of its answer cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a body in chunks comes to when its text arrives in pieces of `size` bytes.
    fn chunks(text: &str, size: usize) -> Result<String, String> {
        let mut body = Body::Between(Between::Before);
        let (mut read, mut whole) = (BytesMut::new(), Vec::new());
        let mut pieces = text.as_bytes().chunks(size);
        loop {
            match body.next(&mut read).map_err(|broken| broken.to_string())? {
                Next::Piece(piece) => whole.extend_from_slice(&piece),
                Next::End => {
                    return Ok(format!("{}|{}", String::from_utf8_lossy(&whole), read.len()));
                }
                Next::Read => match pieces.next() {
                    Some(piece) => read.extend_from_slice(piece),
                    None => return Err(format!("closed: {}", body.closed())),
                },
            }
        }
    }

    // MC-1
    #[test]
    fn chunks_become_a_body_however_they_arrive() {
        let unreadable = "the server does not speak HTTP: the chunks of its answer cannot be read";
        let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(2 * MOST_BETWEEN));
        let cases = [
            ("5\r\nhello\r\n0\r\n\r\n", Ok("hello|0")),
            ("5\r\nhello\r\n6;a=b\r\n world\r\n00\r\nx: y\r\nz: a\r\n\r\n", Ok("hello world|0")),
            ("0\r\n\r\n", Ok("|0")),
            ("5\r\nhel", Err("closed: false")),
            ("5\r\nhello\r\n", Err("closed: false")),
            ("5\r\nhello\r\n0\r\nx: y\r\n", Err("closed: false")),
            ("5\r\nhelloworld\r\n", Err(unreadable)),
            ("hello", Err(unreadable)),
            ("-5\r\nhello\r\n", Err(unreadable)),
        ];
        for (text, expected) in cases {
            for size in [1, 2, 3, 7, text.len()] {
                let found = chunks(text, size);
                let found = found.as_deref().map_err(String::as_str);
                assert_eq!(found, expected, "{text:?} by {size}");
            }
        }
        // Nobody may have us keep what never becomes a chunk.
        assert_eq!(chunks(&long, 1000).unwrap_err(), unreadable);
        let trailers = format!("0\r\n{}\r\n", "x: y\r\n".repeat(MOST_BETWEEN / 4));
        assert_eq!(chunks(&trailers, 1000).unwrap_err(), unreadable);
    }

    // MC-1
    #[test]
    fn a_length_is_a_length() {
        let mut read = BytesMut::from("hello world");
        let mut body = Body::Length(5);
        assert_eq!(body.announced(), 5);
        assert_eq!(body.next(&mut read).unwrap(), Next::Piece("hello".into()));
        assert_eq!(body.next(&mut read).unwrap(), Next::End);
        assert_eq!(read, " world");
        let mut body = Body::UntilClosed;
        assert_eq!(body.next(&mut read).unwrap(), Next::Piece(" world".into()));
        assert_eq!(body.next(&mut read).unwrap(), Next::Read);
        assert!(body.closed());
    }
}
