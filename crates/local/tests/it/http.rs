//! `http` tools against a server of bytes (TK-2); real servers are in `tests/real/http.rs`.

use switchboard_toolcall::{ErrorKind, serde_json::json};

use crate::{
    defined::{answer, binary, failure},
    responder::{Responder, response},
};

fn get(address: &str) -> String {
    format!("{{ type = 'http', url = 'http://{address}/x' }}")
}

/// What the tool answers to a body of this type.
async fn answered(content_type: &str, body: &[u8]) -> String {
    let mut bytes = response("200 OK", content_type, "").into_bytes();
    let length = format!("Content-Length: {}", body.len());
    bytes = String::from_utf8(bytes).unwrap().replace("Content-Length: 0", &length).into_bytes();
    bytes.extend_from_slice(body);
    let server = Responder::answering(bytes).await;
    answer(&get(&server.address), json!({})).await
}

// TK-2
#[tokio::test]
async fn the_body_is_the_result() {
    for (content_type, body, expected) in [
        (
            "application/json",
            &b"{\"n\": 12345678901234567890.10}"[..],
            r#"{"n":12345678901234567890.10}"#,
        ),
        ("application/problem+json; charset=utf-8", b"[1, 2]", "[1,2]"),
        ("application/json", b"", ""),
        ("text/plain", "späť\n".as_bytes(), "späť\n"),
        ("text/html; charset=ISO-8859-1", b"sp\xe4t", "spät"),
        ("text/plain; charset=\"Shift_JIS\"", b"\x93\xfa\x96\x7b", "日本"),
        ("text/plain; charset=utf-16le", b"\xe5\x65\x2c\x67", "日本"),
        ("text/plain", b"\xff\xfe\xe5\x65", "日"),
        ("text/plain", b"sp\xe4t", "spät"),
        ("text/plain; charset=no-such", "späť".as_bytes(), "späť"),
        ("application/json; charset=iso-8859-1", b"\"sp\xe4t\"", "spät"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/x-ndjson", b"{}\n{}\n", "{}\n{}\n"),
        ("", b"plain", "plain"),
        ("image/png", b"", ""),
    ] {
        assert_eq!(answered(content_type, body).await, expected, "{content_type}");
    }
}

// TK-2, RS-6
#[tokio::test]
async fn anything_else_is_an_artifact() {
    for (content_type, body, kind, media_type, data) in [
        ("image/png", "x", "image", "image/png", "eA=="),
        ("application/pdf; x=y", "%PDF", "blob", "application/pdf", "JVBERg=="),
        ("", "a\0b", "blob", "application/octet-stream", "YQBi"),
    ] {
        let server = Responder::answering(response("200 OK", content_type, body)).await;
        let (is_kind, is_type, is_data) = binary(&get(&server.address), json!({})).await;
        assert_eq!(
            (is_kind.as_str(), is_type.as_str(), is_data.as_str()),
            (kind, media_type, data)
        );
    }
}

// TK-2
#[tokio::test]
async fn an_answer_that_cannot_be_used_is_told() {
    for (bytes, says) in [
        (
            response("200 OK", "application/json", "<html>"),
            "answered with invalid JSON, although its type is JSON: expected value at line 1 column 1; it begins: <html>",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx".to_owned(),
            "answered in the encoding 'gzip', which it was not asked for",
        ),
        (
            response("404 Not Found", "text/plain", " no such city\n"),
            "answered 404 Not Found: no such city",
        ),
        (
            response("500 Internal Server Error", "text/plain", ""),
            "answered 500 Internal Server Error",
        ),
        (
            response("403 Forbidden", "image/png", "xx"),
            "answered 403 Forbidden: 2 bytes of image/png",
        ),
        (
            response("429 Too Many Requests", "application/json", "{\"error\": 1}")
                .replace("Connection", "Retry-After: 30\r\nConnection"),
            "answered 429 Too Many Requests (Retry-After: 30): {\"error\": 1}",
        ),
    ] {
        let server = Responder::answering(bytes).await;
        let (kind, text) = failure(&get(&server.address), json!({})).await;
        assert_eq!(kind, ErrorKind::ToolError, "{text}");
        assert_eq!(text, format!("{} {says}", server.address));
    }
    let long = "x".repeat(100_000);
    let server = Responder::answering(response("400 Bad Request", "text/plain", &long)).await;
    let (_, text) = failure(&get(&server.address), json!({})).await;
    assert!(text.ends_with('…') && text.len() < 2200, "{text}");
}

// TK-2, RS-4
#[tokio::test]
async fn a_server_that_is_not_there_or_breaks_off_is_unavailable() {
    let (kind, text) = failure(&get("127.0.0.1:1"), json!({})).await;
    assert_eq!(kind, ErrorKind::Unavailable);
    assert_eq!(text, "Tool 'tried' is unavailable: 127.0.0.1:1 could not be reached");
    for bytes in [
        "",
        "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ] {
        let server = Responder::answering(bytes).await;
        let (kind, text) = failure(&get(&server.address), json!({})).await;
        assert_eq!(kind, ErrorKind::Unavailable, "{bytes:?}: {text}");
        let expected =
            format!("Tool 'tried' is unavailable: {} broke off its answer (", server.address);
        assert!(text.starts_with(&expected), "{bytes:?}: {text}");
    }
}

// TK-2
#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let server =
        Responder::answering(response("200 OK", "text/plain", &"x".repeat(17 << 20))).await;
    let (kind, text) = failure(&get(&server.address), json!({})).await;
    assert_eq!(
        (kind, text),
        (ErrorKind::ToolError, format!("{} answered with more than 16 MiB", server.address))
    );
}

// TK-2
#[tokio::test]
async fn what_is_sent_is_what_the_config_says() {
    let server = Responder::with_json("{}").await;
    let implementation = format!(
        "{{ type = 'http', method = 'delete', url = 'http://ada:secret@{}/v1/{{path}}?x=1', query = {{ q = '{{text}}', n = '{{count}}' }}, \
         headers = {{ X-Text = '{{text}}', Authorization = 'Bearer t' }} }}",
        server.address
    );
    answer(&implementation, json!({"path": "a/b c", "text": "ü"})).await;
    let request = server.requests().remove(0);
    assert!(request.starts_with("DELETE /v1/a%2Fb%20c?x=1&q=%C3%BC HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nx-text: ü\r\n"), "{request}");
    assert!(!request.contains("content-length"), "{request}");
}
