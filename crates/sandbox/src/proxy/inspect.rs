//! What a program says first in a tunnel.

use std::{io, net::IpAddr, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

use super::{
    destination::normal,
    tls::{self, Hello},
};

/// How much is read until it is known what it is.
const LARGEST: usize = 64 * 1024;

/// How long the rest of a first message may take.
const REST: Duration = Duration::from_secs(30);

/// What first words are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FirstWords {
    /// Those of a protocol that names no host, or a TLS handshake with the host of the tunnel.
    Other(Vec<u8>),
    /// A request of HTTP, which has to be judged as all that follow it.
    Request(Vec<u8>),
    /// They name another host.
    OtherHost(String),
}

/// What is known of first words.
enum ProtocolGuess {
    /// More is needed.
    Incomplete,
    Other,
    Request,
    OtherHost(String),
}

/// Returns what the program says first. Protocols whose server speaks first wait for nothing.
pub(super) async fn first_words(
    client: &mut (impl AsyncRead + Unpin),
    mut words: Vec<u8>,
    host: &str,
) -> io::Result<FirstWords> {
    if words.is_empty() && client.read_buf(&mut words).await? == 0 {
        return Ok(FirstWords::Other(words));
    }
    loop {
        match classify(&words, host) {
            ProtocolGuess::Other => return Ok(FirstWords::Other(words)),
            ProtocolGuess::Request => return Ok(FirstWords::Request(words)),
            ProtocolGuess::OtherHost(other) => return Ok(FirstWords::OtherHost(other)),
            ProtocolGuess::Incomplete if words.len() > LARGEST => {
                let other = "a message that is too large to be judged".to_owned();
                return Ok(FirstWords::OtherHost(other));
            }
            ProtocolGuess::Incomplete => {
                let read = timeout(REST, client.read_buf(&mut words)).await;
                if read.map_err(|_| io::ErrorKind::TimedOut)?? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

fn classify(bytes: &[u8], host: &str) -> ProtocolGuess {
    if bytes[0] != tls::HANDSHAKE {
        return classify_line(bytes);
    }
    let host = normal(host);
    match tls::server_name(bytes) {
        Hello::Incomplete => ProtocolGuess::Incomplete,
        Hello::Name(Some(name)) if normal(&name) == host => ProtocolGuess::Other,
        Hello::Name(Some(name)) => ProtocolGuess::OtherHost(normal(&name)),
        // Addresses are not named in handshakes.
        Hello::Name(None) if host.parse::<IpAddr>().is_ok() => ProtocolGuess::Other,
        Hello::Name(None) => {
            ProtocolGuess::OtherHost("a TLS handshake that names no server".to_owned())
        }
        Hello::Invalid => {
            ProtocolGuess::OtherHost("a TLS handshake that cannot be read".to_owned())
        }
    }
}

/// Tells requests of HTTP from other protocols by their first line, as servers do: they skip empty lines before it, know
/// methods of any name, and end it at a line feed.
fn classify_line(bytes: &[u8]) -> ProtocolGuess {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    let Some(start) = start else { return ProtocolGuess::Incomplete };
    let bytes = &bytes[start..];
    let method = bytes.iter().take_while(|byte| is_of_method(**byte)).count();
    match bytes.get(method) {
        None => return ProtocolGuess::Incomplete,
        Some(b' ' | b'\t') if method > 0 => {}
        Some(_) => return ProtocolGuess::Other,
    }
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let line = &bytes[..end.unwrap_or(bytes.len())];
    let is_strange = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\r' | b'\t');
    if line.iter().any(is_strange) {
        return ProtocolGuess::OtherHost("a request that cannot be read".to_owned());
    }
    let has_version = line.windows(5).any(|part| part.eq_ignore_ascii_case(b"HTTP/"));
    match end {
        None => ProtocolGuess::Incomplete,
        Some(_) if !has_version => ProtocolGuess::Other,
        Some(_) => ProtocolGuess::Request,
    }
}

/// Whether a byte can be part of a method's name.
fn is_of_method(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check_for(words: &[u8], host: &str) -> Result<&'static str, String> {
        let mut rest = &words[1..];
        match first_words(&mut rest, words[..1].to_vec(), host).await {
            Ok(FirstWords::Other(_)) => Ok("other"),
            Ok(FirstWords::Request(_)) => Ok("request"),
            Ok(FirstWords::OtherHost(other)) => Err(other),
            Err(error) => Err(error.kind().to_string()),
        }
    }

    async fn check(words: &[u8]) -> Result<&'static str, String> {
        check_for(words, "a.example").await
    }

    // SB-1
    #[tokio::test]
    async fn a_handshake_is_for_the_host_of_the_tunnel() {
        let hello = |name| tls::tests::client_hello(name);
        assert_eq!(check(&hello(Some("A.example"))).await, Ok("other"));
        assert_eq!(check(&hello(Some("b.example"))).await, Err("b.example".to_owned()));
        let none = Err("a TLS handshake that names no server".to_owned());
        assert_eq!(check(&hello(None)).await, none);
        assert_eq!(check_for(&hello(None), "192.0.2.1").await, Ok("other"));
        assert_eq!(check_for(&hello(None), "2001:db8::1").await, Ok("other"));
    }

    // SB-1
    #[tokio::test]
    async fn a_request_is_known_by_its_first_line() {
        for words in [
            &b"GET / HTTP/1.1\r\n"[..],
            b"\r\nGET / HTTP/1.1\r\n",
            b"\n\n\nGET / HTTP/1.1\r\n",
            b"PROPFIND / HTTP/1.1\r\n",
            b"x-any /\thttp/1.0\n",
            b"PRI * HTTP/2.0\r\n",
        ] {
            assert_eq!(check(words).await, Ok("request"), "{}", words.escape_ascii());
        }
        for words in [
            &b"SSH-2.0-x\r\n"[..],
            b"EHLO a.example\r\n",
            b"*1\r\n$4\r\nPING\r\n",
            b"CONNECT {\"verbose\":false}\r\n",
            b"AMQP\0\0\x09\x01",
            b"\0\0\0\x08\x04\xd2\x16\x2f",
            b"\x10\x0c\0\x04MQTT",
        ] {
            assert_eq!(check(words).await, Ok("other"), "{}", words.escape_ascii());
        }
        let strange = check(b"GET /\0 HTTP/1.1\r\n").await;
        assert_eq!(strange, Err("a request that cannot be read".to_owned()));
    }
}
