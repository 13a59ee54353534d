//! Reads the head of an answer: what matters of it to us, and how its body is framed.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use httparse::{Header, ParserConfig, Status};

use super::{
    Broken,
    body::{Between, Body},
};

/// How long a head may be, and how many headers it may have.
const MOST: (usize, usize) = (64 << 10, 128);

/// The head of an answer, as far as anything of it matters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<Bytes>,
    pub(crate) location: Option<Bytes>,
    pub(crate) session: Option<Bytes>,
}

/// A head, and what it says of the connection.
pub(super) struct Read {
    pub(super) head: Head,
    pub(super) body: Body,
    /// Whether the connection stays open after the body.
    pub(super) keeps: bool,
}

/// Takes a head from what was read; none, where its end has not come yet.
pub(super) fn parse(read: &mut BytesMut) -> Result<Option<Read>, Broken> {
    loop {
        let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST.1];
        let mut response = httparse::Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            read,
            &mut headers,
        );
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) if read.len() < MOST.0 => return Ok(None),
            Ok(Status::Partial) => return Err(wrong("the head of its answer has no end")),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let code = response.code.unwrap_or_default();
        let status = StatusCode::from_u16(code).map_err(|_| wrong("its status is none"))?;
        let mut said = Said { newer: response.version == Some(1), ..Said::default() };
        for header in response.headers.iter() {
            said.take(header)?;
        }
        let (framed, keeps) = (said.body(status), said.keeps());
        let [content_type, location, session] = [said.content_type, said.location, said.session]
            .map(|value| value.map(Bytes::copy_from_slice));
        drop(read.split_to(length));
        match code {
            101 => return Err(wrong("it changes the protocol")),
            // Only says that an answer will come.
            100..200 => {}
            _ => {
                let head = Head { status, content_type, location, session };
                let keeps = keeps && framed != Body::UntilClosed;
                return Ok(Some(Read { head, body: framed, keeps }));
            }
        }
    }
}

/// What the headers say, as they stand in the text.
#[derive(Default)]
struct Said<'a> {
    newer: bool,
    close: bool,
    keep_alive: bool,
    length: Option<u64>,
    /// Whether the body comes in chunks; none, where no coding is named.
    chunked: Option<bool>,
    content_type: Option<&'a [u8]>,
    location: Option<&'a [u8]>,
    session: Option<&'a [u8]>,
}

impl<'a> Said<'a> {
    fn take(&mut self, header: &Header<'a>) -> Result<(), Broken> {
        let (name, value) = (header.name, header.value);
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // Most headers are none of these, which their lengths tell.
        match name.len() {
            12 if is("content-type") => self.content_type = self.content_type.or(Some(value)),
            8 if is("location") => self.location = self.location.or(Some(value)),
            14 if is("mcp-session-id") => self.session = self.session.or(Some(value)),
            14 if is("content-length") => {
                let length = str::from_utf8(value).ok().and_then(|text| length(text.trim()));
                match (length, self.length) {
                    (Some(length), None) => self.length = Some(length),
                    (Some(length), Some(before)) if length == before => {}
                    _ => return Err(wrong("the length of its answer is none")),
                }
            }
            17 if is("transfer-encoding") => {
                let last = words(value).last();
                self.chunked = Some(last.is_some_and(|last| last.eq_ignore_ascii_case(b"chunked")));
            }
            10 if is("connection") => {
                for word in words(value) {
                    self.close |= word.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= word.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keeps(&self) -> bool {
        // Who names a length and a coding means something that others may understand otherwise.
        let is_plain = self.length.is_none() || self.chunked.is_none();
        !self.close && (self.newer || self.keep_alive) && is_plain
    }

    fn body(&self, status: StatusCode) -> Body {
        match (self.chunked, self.length) {
            _ if status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED => {
                Body::Ended
            }
            (Some(true), _) => Body::Between(Between::Before),
            (Some(false), _) | (None, None) => Body::UntilClosed,
            (None, Some(0)) => Body::Ended,
            (None, Some(length)) => Body::Length(length),
        }
    }
}

fn length(text: &str) -> Option<u64> {
    // A sign is no digit.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn wrong(what: &str) -> Broken {
    Broken::NotHttp(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        let mut read = BytesMut::from(text);
        match parse(&mut read) {
            Ok(None) => "more".to_owned(),
            Err(broken) => broken.to_string(),
            Ok(Some(Read { head, body, keeps })) => {
                let status = head.status.as_u16();
                let kind = head.content_type.unwrap_or_default();
                let kind = String::from_utf8_lossy(&kind);
                format!("{status} {kind} {body:?} {keeps} {}", String::from_utf8_lossy(&read))
            }
        }
    }

    // MC-1
    #[test]
    fn a_head_says_how_its_body_ends() {
        let not = "the server does not speak HTTP: ";
        let no_length = format!("{not}the length of its answer is none");
        let cases = [
            (
                "1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\n\r\nhi",
                "200 a/b Length(2) true hi",
            ),
            ("1.1 200\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n", "200  Length(2) true "),
            ("1.1 200\r\ncontent-length: 0\r\n\r\n", "200  Ended true "),
            ("1.1 204\r\ncontent-length: 9\r\n\r\n", "204  Ended true "),
            ("1.1 304 Not Modified\r\n\r\n", "304  Ended true "),
            ("1.1 200\r\ntransfer-encoding: gzip, Chunked\r\n\r\n", "200  Between(Before) true "),
            (
                "1.1 200\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n",
                "200  Between(Before) false ",
            ),
            ("1.1 200\r\ntransfer-encoding: gzip\r\n\r\n", "200  UntilClosed false "),
            ("1.1 200\r\n\r\n", "200  UntilClosed false "),
            (
                "1.1 200\r\nconnection: x, Close\r\ncontent-length: 2\r\n\r\n",
                "200  Length(2) false ",
            ),
            ("1.0 200\r\ncontent-length: 2\r\n\r\n", "200  Length(2) false "),
            (
                "1.0 200\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n",
                "200  Length(2) true ",
            ),
            (
                "1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length: 2\r\n\r\n",
                "200  Length(2) true ",
            ),
            ("1.1 100 Continue\r\n\r\n", "more"),
            ("1.1 200\r\ncontent-le", "more"),
            ("1.1 101\r\n\r\n", &format!("{not}it changes the protocol")),
            ("1.1 200\r\ncontent-length: +2\r\n\r\n", &no_length),
            ("1.1 200\r\ncontent-length: \r\n\r\n", &no_length),
            ("1.1 200\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n", &no_length),
            ("1.1 200\r\ncontent-length: 99999999999999999999\r\n\r\n", &no_length),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(&format!("HTTP/{text}")), expected, "{text:?}");
        }
    }

    // MC-6
    #[test]
    fn a_head_without_end_is_none() {
        let header = format!("a: {}\r\n", "x".repeat(20_000));
        let text = format!("HTTP/1.1 200\r\n{}", header.repeat(5));
        assert_eq!(
            parsed(&text),
            "the server does not speak HTTP: the head of its answer has no end"
        );
        let many = "a: b\r\n".repeat(MOST.1 + 1);
        let text = format!("HTTP/1.1 200\r\n{many}\r\n");
        assert!(parsed(&text).starts_with("the server does not speak HTTP: "));
    }
}
