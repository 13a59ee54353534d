//! Reads a request, where it is as plain as nearly all are.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use httparse::{Header, ParserConfig, Status};

use crate::{Config, content::Content};

/// How a plain request begins.
const BEGINNING: &[u8] = b"POST /mcp HTTP/1.1\r\n";

/// How many headers it has at most.
const HEADERS: usize = 64;

/// How long its head may be, and how many headers it may have.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    head: usize,
    headers: usize,
}

impl Limits {
    pub(super) fn of(config: &Config) -> Self {
        let head = usize::try_from(config.max_head.0).unwrap_or(usize::MAX);
        Self { head, headers: config.max_headers.min(HEADERS) }
    }
}

/// Takes the request that was read, if it is one and nothing else: whole, posted to `/mcp`, and with no header that asks for
/// more than an answer. Otherwise leaves all of it.
pub(super) fn take(read: &mut BytesMut, limits: Limits) -> Option<Request<Content>> {
    if !read.starts_with(BEGINNING) {
        return None;
    }
    let text = read.split().freeze();
    let request = parse(&text, limits);
    if request.is_none() {
        *read = text.into();
    }
    request
}

fn parse(text: &Bytes, limits: Limits) -> Option<Request<Content>> {
    let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS];
    let mut parsed = httparse::Request::new(&mut []);
    let status = ParserConfig::default().parse_request_with_uninit_headers(
        &mut parsed,
        text,
        &mut room[..limits.headers],
    );
    let Ok(Status::Complete(head)) = status else { return None };
    if head > limits.head {
        return None;
    }
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    let mut length = None;
    for Header { name, value } in parsed.headers.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        match name {
            header::CONTENT_LENGTH if length.is_some() => return None,
            header::CONTENT_LENGTH => length = Some(number(value)?),
            header::CONNECTION if value.eq_ignore_ascii_case(b"keep-alive") => {}
            header::CONNECTION | header::TRANSFER_ENCODING | header::EXPECT | header::UPGRADE => {
                return None;
            }
            _ => {}
        }
        headers.append(name, HeaderValue::from_maybe_shared(text.slice_ref(value)).ok()?);
    }
    let body = text.slice(head..);
    if length != Some(body.len()) {
        return None;
    }
    let mut request = Request::new(Content::Whole(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static("/mcp");
    *request.headers_mut() = headers;
    Some(request)
}

/// A number in digits alone: `+5` and ` 5` are others' to make sense of.
fn number(text: &[u8]) -> Option<usize> {
    let digits = text.iter().all(u8::is_ascii_digit).then_some(text)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use switchboard_toolcall::Size;

    use super::*;

    const BODY: &str = "{\"jsonrpc\":\"2.0\"}";

    const LIMITS: Limits = Limits { head: 4096, headers: 20 };

    /// Whether a request with these headers is taken; if not, all of it must be left.
    #[track_caller]
    fn is_taken(beginning: &str, headers: &str, body: &str) -> bool {
        let text = format!("{beginning}Host: localhost\r\n{headers}\r\n{body}");
        let mut read = BytesMut::from(text.as_bytes());
        match take(&mut read, LIMITS) {
            Some(request) => {
                assert!(read.is_empty());
                let Content::Whole(body) = request.into_body() else { panic!("it is whole") };
                assert_eq!(body, BODY);
                true
            }
            None => {
                assert_eq!(read, text);
                false
            }
        }
    }

    #[test]
    fn whole_posts_are_taken() {
        let plain = "POST /mcp HTTP/1.1\r\n";
        assert!(is_taken(plain, "Content-Length: 17\r\n", BODY));
        assert!(is_taken(plain, "Connection: Keep-Alive\r\ncontent-length: 17\r\n", BODY));
        assert!(is_taken(plain, "X: \t \u{e9}\r\nContent-Length: 17\r\n", BODY));
    }

    #[test]
    fn everything_else_is_left() {
        let plain = "POST /mcp HTTP/1.1\r\n";
        let length = "Content-Length: 17\r\n";
        let cases = [
            (plain, "Content-Length: 18\r\n", BODY),
            (plain, "Content-Length: 16\r\n", BODY),
            (plain, "Content-Length: +17\r\n", BODY),
            (plain, "Content-Length: 17,17\r\n", BODY),
            (plain, "Content-Length: 99999999999999999999999999\r\n", BODY),
            (plain, "Content-Length:\r\n", ""),
            (plain, "Content-Length: 17\r\nContent-Length: 17\r\n", BODY),
            (plain, "", BODY),
            (plain, "Transfer-Encoding: chunked\r\n", "0\r\n\r\n"),
            (plain, "Content-Length: 17\r\nTransfer-Encoding: chunked\r\n", BODY),
            (plain, "Content-Length: 17\r\nConnection: close\r\n", BODY),
            (plain, "Content-Length: 17\r\nConnection: keep-alive, Upgrade\r\n", BODY),
            (plain, "Content-Length: 17\r\nUpgrade: h2c\r\n", BODY),
            (plain, "Content-Length: 17\r\nExpect: 100-continue\r\n", BODY),
            (plain, "Content-Length: 17\r\nX Y: 1\r\n", BODY),
            (plain, "Content-Length: 17\r\n folded: 1\r\n", BODY),
            ("POST /mcp HTTP/1.0\r\n", length, BODY),
            ("POST /mcp?a=b HTTP/1.1\r\n", length, BODY),
            ("POST /mcp/ HTTP/1.1\r\n", length, BODY),
            ("POST http://localhost/mcp HTTP/1.1\r\n", length, BODY),
            ("PUT /mcp HTTP/1.1\r\n", length, BODY),
            ("GET /mcp HTTP/1.1\r\n", "", ""),
            ("POST /mc", "", ""),
        ];
        for (beginning, headers, body) in cases {
            assert!(!is_taken(beginning, headers, body), "{beginning}{headers}");
        }
        let pair = format!("{plain}{length}\r\n{BODY}").repeat(2);
        assert!(take(&mut BytesMut::from(pair.as_bytes()), LIMITS).is_none(), "two at once");
    }

    #[test]
    fn no_larger_head_is_taken_than_allowed() {
        let head = "POST /mcp HTTP/1.1\r\nA: 1\r\nContent-Length: 17\r\n\r\n";
        let text = format!("{head}{BODY}");
        let (long, length) = (1 << 20, head.len());
        let cases = [
            (1, long, false),
            (2, long, true),
            (1000, long, true),
            (2, length, true),
            (2, length - 1, false),
        ];
        for (max_headers, head, is_taken) in cases {
            let config = Config { max_headers, max_head: Size(head as u64), ..Config::default() };
            let taken = take(&mut BytesMut::from(text.as_bytes()), Limits::of(&config));
            assert_eq!(taken.is_some(), is_taken, "{max_headers} {head}");
        }
    }
}
