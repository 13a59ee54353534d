//! Reads a request, where it is as plain as nearly all are.

use std::{mem::MaybeUninit, ops::Range};

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

/// Reads requests, and keeps the head of the last one: clients send the same again and again, but for the body's length.
#[derive(Default)]
pub(super) struct Heads(Option<Head>);

impl Heads {
    /// Takes the request that was read, if it is one and nothing else: whole, posted to `/mcp`, and with no header that asks
    /// for more than an answer. Otherwise leaves all of it.
    pub(super) fn take(&mut self, read: &mut BytesMut, limits: Limits) -> Option<Request<Content>> {
        if !read.starts_with(BEGINNING) {
            return None;
        }
        let text = read.split().freeze();
        let request = self.again(&text, limits).or_else(|| {
            self.0 = Some(Head::parse(&text, limits)?);
            self.again(&text, limits)
        });
        if request.is_none() {
            *read = text.into();
        }
        request
    }

    fn again(&self, text: &Bytes, limits: Limits) -> Option<Request<Content>> {
        self.0.as_ref()?.request(text, limits)
    }
}

/// The head of a plain request.
struct Head {
    text: Bytes,
    /// Where the body's length stands in it.
    length: Range<usize>,
    headers: HeaderMap,
}

impl Head {
    fn parse(text: &[u8], limits: Limits) -> Option<Self> {
        let mut room = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS];
        let mut parsed = httparse::Request::new(&mut []);
        let status = ParserConfig::default().parse_request_with_uninit_headers(
            &mut parsed,
            text,
            &mut room[..limits.headers],
        );
        let Ok(Status::Complete(end)) = status else { return None };
        // Of its own: what is kept must not keep the body too.
        let kept = Bytes::copy_from_slice(&text[..end]);
        let place = |value: &[u8]| {
            let start = value.as_ptr().addr() - text.as_ptr().addr();
            start..start + value.len()
        };
        let mut headers = HeaderMap::with_capacity(parsed.headers.len());
        let mut length = None;
        for Header { name, value } in parsed.headers.iter() {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            match name {
                header::CONTENT_LENGTH if length.is_some() => return None,
                header::CONTENT_LENGTH => length = Some(place(value)),
                header::CONNECTION if value.eq_ignore_ascii_case(b"keep-alive") => {}
                header::CONNECTION
                | header::TRANSFER_ENCODING
                | header::EXPECT
                | header::UPGRADE => return None,
                _ => {}
            }
            let value = HeaderValue::from_maybe_shared(kept.slice(place(value))).ok()?;
            headers.append(name, value);
        }
        Some(Self { text: kept, length: length?, headers })
    }

    /// The request that the text is, if it has this head but for the length, and a body of the length that it says.
    fn request(&self, text: &Bytes, limits: Limits) -> Option<Request<Content>> {
        let rest = text.strip_prefix(&self.text[..self.length.start])?;
        // `+5` is hyper's to make sense of.
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (length, rest) = rest.split_at(digits);
        let body = rest.strip_prefix(&self.text[self.length.end..])?;
        let length = str::from_utf8(length).ok()?;
        if length.parse() != Ok(body.len()) || text.len() - body.len() > limits.head {
            return None;
        }
        let mut headers = self.headers.clone();
        let length = HeaderValue::from_maybe_shared(text.slice_ref(length.as_bytes())).ok()?;
        headers.insert(header::CONTENT_LENGTH, length);
        let mut request = Request::new(Content::Whole(text.slice_ref(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/mcp");
        *request.headers_mut() = headers;
        Some(request)
    }
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
        match Heads::default().take(&mut read, LIMITS) {
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
        assert!(
            Heads::default().take(&mut BytesMut::from(pair.as_bytes()), LIMITS).is_none(),
            "two at once"
        );
    }

    fn request(headers: &str, length: &str, body: &str) -> BytesMut {
        let text = format!(
            "POST /mcp HTTP/1.1\r\n{headers}Content-Length: {length}\r\nB: 2\r\n\r\n{body}"
        );
        BytesMut::from(text.as_bytes())
    }

    #[test]
    fn a_head_that_comes_again_is_read_as_at_first() {
        let mut heads = Heads::default();
        let long = "x".repeat(1000);
        for (headers, body) in [
            ("A: 1\r\n", "{}"),
            ("A: 1\r\n", "[]"),
            ("A: 1\r\n", &long),
            ("A: 1\r\n", ""),
            ("A: 2\r\n", "{}"),
            ("a:  2\r\n", "{}"),
            ("A: 1\r\nA: 2\r\n", "{}"),
            ("", "{}"),
        ] {
            let read = request(headers, &body.len().to_string(), body);
            let taken = |heads: &mut Heads| heads.take(&mut read.clone(), LIMITS).unwrap();
            let (again, first) = (taken(&mut heads), taken(&mut Heads::default()));
            assert_eq!(again.headers(), first.headers());
            assert_eq!(again.headers()[header::CONTENT_LENGTH], body.len().to_string());
            let Content::Whole(content) = again.into_body() else { panic!("it is whole") };
            assert_eq!(content, body);
        }
    }

    #[test]
    fn a_head_that_was_good_before_excuses_nothing() {
        // One digit more makes the head longer than it may be.
        const TEN: &str = "10";
        let mut heads = Heads::default();
        let limits = Limits { head: request("", "2", "").len(), ..LIMITS };
        assert!(heads.take(&mut request("", "2", "{}"), limits).is_some());
        for (length, body) in
            [("3", "{}"), ("1", "{}"), ("+2", "{}"), ("", ""), ("2", "{}POST"), (TEN, "0123456789")]
        {
            let mut read = request("", length, body);
            let text = read.clone();
            assert!(heads.take(&mut read, limits).is_none(), "{length} {body}");
            assert_eq!(read, text);
        }
        assert!(heads.take(&mut request("", "2", "[]"), limits).is_some());
        assert!(heads.take(&mut request("", TEN, "0123456789"), LIMITS).is_some());
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
            let mut read = BytesMut::from(text.as_bytes());
            let taken = Heads::default().take(&mut read, Limits::of(&config));
            assert_eq!(taken.is_some(), is_taken, "{max_headers} {head}");
        }
    }
}
