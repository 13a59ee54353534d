//! What a program says first in a tunnel.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

use super::{
    destination::normal,
    head::{RequestHead, end_of_head},
    tls::{self, Hello},
};

/// How much is read until it is known what it is.
const LARGEST: usize = 64 * 1024;

/// How long the rest of a first message may take.
const REST: Duration = Duration::from_secs(30);

/// How requests of HTTP begin.
const METHODS: [&str; 10] = [
    "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "PATCH ", "TRACE ", "CONNECT ", "PRI ",
];

/// What is known of first words.
enum FirstWords {
    /// More is needed.
    Incomplete,
    /// They are for the tunnel's host, or name none.
    Fine,
    /// They name another host.
    For(String),
}

/// Returns what the program says first, or the other host that it is for. Protocols whose server speaks first wait for
/// nothing.
pub(super) async fn first_words(
    client: &mut (impl AsyncRead + Unpin),
    mut words: Vec<u8>,
    host: &str,
) -> io::Result<Result<Vec<u8>, String>> {
    if words.is_empty() && client.read_buf(&mut words).await? == 0 {
        return Ok(Ok(words));
    }
    loop {
        match judge(&words, host) {
            FirstWords::Fine => return Ok(Ok(words)),
            FirstWords::For(other) => return Ok(Err(other)),
            FirstWords::Incomplete if words.len() > LARGEST => {
                return Ok(Err("a message that is too large to be judged".to_owned()));
            }
            FirstWords::Incomplete => {
                let read = timeout(REST, client.read_buf(&mut words)).await;
                if read.map_err(|_| io::ErrorKind::TimedOut)?? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

fn judge(words: &[u8], host: &str) -> FirstWords {
    let host = normal(host);
    if words[0] == tls::HANDSHAKE {
        return match tls::server_name(words) {
            Hello::Incomplete => FirstWords::Incomplete,
            Hello::Name(Some(name)) if normal(&name) != host => FirstWords::For(normal(&name)),
            Hello::Name(_) => FirstWords::Fine,
            Hello::Invalid => FirstWords::For("a TLS handshake that cannot be read".to_owned()),
        };
    }
    let is_method = |method: &&str| {
        let length = method.len().min(words.len());
        method.as_bytes()[..length] == words[..length]
    };
    if !METHODS.iter().any(is_method) {
        return FirstWords::Fine;
    }
    let Some(end) = end_of_head(words) else { return FirstWords::Incomplete };
    if words.starts_with(b"PRI ") {
        return FirstWords::For("HTTP/2 without TLS".to_owned());
    }
    match RequestHead::parse(&words[..end]) {
        Ok(head)
            if head.host().rsplit_once(':').map_or(head.host(), |(name, _)| normal(name))
                == host =>
        {
            FirstWords::Fine
        }
        Ok(head) => FirstWords::For(head.host()),
        Err(_) => FirstWords::For("a request that cannot be read".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(words: &[u8]) -> Result<usize, String> {
        let mut rest = &words[1..];
        let words = first_words(&mut rest, words[..1].to_vec(), "a.example").await;
        words.map_err(|error| error.to_string())?.map(|words| words.len())
    }

    // SB-1
    #[tokio::test]
    async fn a_tunnel_is_for_one_host() {
        assert_eq!(check(b"SSH-2.0-x\r\n").await, Ok(1));
        assert_eq!(check(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\nmore").await, Ok(39));
        for (words, other) in [
            (&b"GET / HTTP/1.1\r\nHost: b.example\r\n\r\n"[..], "b.example"),
            (b"GET / HTTP/1.1\r\n\r\n", ""),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2 without TLS"),
        ] {
            assert_eq!(check(words).await, Err(other.to_owned()));
        }
        let hello = |name| tls::tests::client_hello(name);
        let own = hello(Some("A.example"));
        assert_eq!(check(&own).await, Ok(own.len()));
        assert!(check(&hello(None)).await.is_ok());
        assert_eq!(check(&hello(Some("b.example"))).await, Err("b.example".to_owned()));
    }
}
