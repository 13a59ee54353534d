//! Captures a program's output, limited in size.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// The beginning and the end of a program's output; what does not fit in between is counted and dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most_head: usize,
    most_tail: usize,
    written: u64,
}

impl CapturedOutput {
    /// Creates an empty capture that keeps this many bytes of the beginning and of the end.
    pub fn keeping(most_head: usize, most_tail: usize) -> Self {
        Self { most_head, most_tail, ..Self::default() }
    }

    /// Adds a chunk.
    pub fn add(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.most_head - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.most_tail)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.most_tail);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Adds everything that can be read, until the end or an error.
    pub(crate) async fn read(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; CHUNK];
        while let Ok(length @ 1..) = from.read(&mut chunk).await {
            self.add(&chunk[..length]);
        }
    }

    /// Returns how many bytes were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns how many bytes are missing between the beginning and the end.
    pub fn missing(&self) -> u64 {
        self.written - (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the beginning and the end; if nothing is missing, they follow on each other.
    pub fn into_parts(self) -> (Vec<u8>, Vec<u8>) {
        (self.head, self.tail.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // TK-1
    #[test]
    fn beginning_and_end_are_kept_however_the_bytes_come() {
        let all: Vec<u8> = (0..100).collect();
        for step in 1..=100 {
            let mut captured = CapturedOutput::keeping(10, 20);
            all.chunks(step).for_each(|chunk| captured.add(chunk));
            assert_eq!((captured.written(), captured.missing()), (100, 70), "{step}");
            let (head, tail) = captured.into_parts();
            assert_eq!((head, tail), (all[..10].to_vec(), all[80..].to_vec()), "{step}");
        }
        let mut short = CapturedOutput::keeping(10, 20);
        short.add(&all[..25]);
        assert_eq!(short.missing(), 0);
        let (head, tail) = short.into_parts();
        assert_eq!([head, tail].concat(), all[..25]);
    }
}
