//! Requests without TLS inside of a tunnel: each of them has to be for the tunnel's host, not only the first.

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy},
    sync::oneshot,
};

use super::head::{ProxyBody, RequestHead};

/// The largest head, and the longest line of a body in chunks.
const LARGEST: u64 = 32 * 1024;

/// How a response begins after which both sides speak another protocol.
const SWITCHED: &[u8] = b"HTTP/1.1 101";

/// The host that requests have to be for.
#[derive(Clone, Copy)]
pub(super) struct TunnelHost<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
}

/// Why what the program says goes no further.
pub(super) enum TunnelError {
    /// A request is for another host, or cannot be judged.
    OtherHost(String),
    /// The connection ended.
    Io(io::Error),
}

impl From<io::Error> for TunnelError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Passes on requests until the program ends the connection. `switched` tells whether the first response says that another
/// protocol follows.
pub(super) async fn pass_on(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    tunnel: TunnelHost<'_>,
    switched: oneshot::Receiver<bool>,
) -> Result<(), TunnelError> {
    let mut first_response = Some(switched);
    while let Some(bytes) = read_head(from).await? {
        let head = RequestHead::parse(&bytes)
            .map_err(|_| TunnelError::OtherHost("a request that cannot be read".to_owned()))?;
        let body = head.in_tunnel(tunnel.host, tunnel.port).map_err(TunnelError::OtherHost)?;
        to.write_all(&bytes).await?;
        let response = first_response.take();
        match body {
            ProxyBody::None => {}
            ProxyBody::Sized(length) => {
                copy(&mut (&mut *from).take(length), to).await?;
            }
            ProxyBody::Chunked => pass_on_chunks(from, to).await?,
            ProxyBody::WebSocket => {
                let Some(response) = response else {
                    return Err(TunnelError::OtherHost(
                        "another protocol after a request".to_owned(),
                    ));
                };
                // Until the server has agreed, what follows could be a request.
                if response.await.unwrap_or(false) {
                    copy(from, to).await?;
                    break;
                }
            }
        }
    }
    Ok(to.shutdown().await?)
}

/// Reads the head of a request; `None` if there is no further one.
async fn read_head(from: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Vec<u8>>, TunnelError> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let start = head.len();
        read_line(from, &mut head).await?;
        if head.is_empty() {
            return Ok(None);
        }
        // An empty line ends a head, so none stands before it.
        if start == 0 && head == b"\r\n" || head.len() as u64 > LARGEST {
            return Err(TunnelError::OtherHost("a request that cannot be read".to_owned()));
        }
    }
    Ok(Some(head))
}

/// Passes on a body in chunks, with the headers that may follow it.
async fn pass_on_chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<(), TunnelError> {
    loop {
        let mut line = Vec::new();
        read_line(from, &mut line).await?;
        let length = chunk_length(&line)
            .ok_or_else(|| TunnelError::OtherHost("a body that cannot be read".to_owned()))?;
        to.write_all(&line).await?;
        if length == 0 {
            break;
        }
        copy(&mut (&mut *from).take(length), to).await?;
        pass_on_line(from, to, |line| line == b"\r\n").await?;
    }
    let is_trailer = |line: &[u8]| line.ends_with(b"\r\n");
    while pass_on_line(from, to, is_trailer).await? != b"\r\n" {}
    Ok(())
}

async fn pass_on_line(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    is_right: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, TunnelError> {
    let mut line = Vec::new();
    read_line(from, &mut line).await?;
    if !is_right(&line) {
        return Err(TunnelError::OtherHost("a body that cannot be read".to_owned()));
    }
    to.write_all(&line).await?;
    Ok(line)
}

/// Reads up to the end of a line; nothing if there is nothing any more.
async fn read_line(from: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<()> {
    let start = line.len();
    from.take(LARGEST).read_until(b'\n', line).await?;
    match line[start..].last() {
        None if start == 0 => Ok(()),
        Some(b'\n') => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// The length in the line before a chunk: digits, and what may be said of it after a `;`.
fn chunk_length(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let text = std::str::from_utf8(line).ok().filter(|text| !text.contains(char::is_control))?;
    let digits = text.split(';').next().unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Passes on what a server says, and tells whether its first response switches to another protocol.
pub(super) async fn responses(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    switched: oneshot::Sender<bool>,
) -> io::Result<()> {
    let mut first = Vec::new();
    while first.len() < SWITCHED.len() {
        let start = first.len();
        if from.read_buf(&mut first).await? == 0 {
            break;
        }
        to.write_all(&first[start..]).await?;
    }
    // Nobody asks where no request does.
    let _ = switched.send(first.starts_with(SWITCHED));
    super::finish(from, to).await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(said: &str, is_switched: bool) -> Result<String, String> {
        let said = said.replace('\n', "\r\n");
        let mut passed = Vec::new();
        let (sender, receiver) = oneshot::channel();
        sender.send(is_switched).unwrap();
        let tunnel = TunnelHost { host: "a.example", port: 80 };
        match pass_on(&mut said.as_bytes(), &mut passed, tunnel, receiver).await {
            Ok(()) => Ok(String::from_utf8(passed).unwrap().replace("\r\n", "\n")),
            Err(TunnelError::OtherHost(other)) => Err(other),
            Err(TunnelError::Io(error)) => Err(error.kind().to_string()),
        }
    }

    const FIRST: &str = "GET / HTTP/1.1\nHost: a.example\n\n";

    // SB-1
    #[tokio::test]
    async fn every_request_of_a_tunnel_is_passed_on_as_it_is() {
        for rest in [
            "",
            "GET http://a.example/ HTTP/1.1\nHost: a.example:80\n\n",
            "OPTIONS * HTTP/1.1\nHost: A.example\n\n",
            "PROPFIND /x HTTP/1.1\nHost: a.example\nContent-Length: 3\n\nabcGET / HTTP/1.1\nHost: a.example\n\n",
            "POST / HTTP/1.1\nHost: a.example\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n0\nT: x\n\nGET / HTTP/1.0\nHost: a.example\n\n",
        ] {
            let said = format!("{FIRST}{rest}");
            assert_eq!(check(&said, false).await, Ok(said.clone()), "{said}");
        }
        let socket = "GET / HTTP/1.1\nHost: a.example\nConnection: Upgrade\nUpgrade: websocket\n\n";
        let said = format!("{socket}\0frames\nGET / HTTP/1.1\nHost: b.example\n\n");
        assert_eq!(check(&said, true).await, Ok(said.clone()));
        assert_eq!(check(&said, false).await, Err("a request that cannot be read".to_owned()));
    }

    // SB-1
    #[tokio::test]
    async fn a_later_request_to_another_host_goes_no_further() {
        for (rest, other) in [
            ("GET / HTTP/1.1\nHost: b.example\n\n", "b.example"),
            ("GET / HTTP/1.1\nHost: a.example:81\n\n", "a.example:81"),
            ("GET http://b.example/ HTTP/1.1\nHost: a.example\n\n", "b.example"),
            ("GET http://a.example:81/ HTTP/1.1\nHost: a.example\n\n", "a.example:81"),
            ("GET ftp://a.example/ HTTP/1.1\nHost: a.example\n\n", "ftp://a.example/"),
            ("CONNECT b.example:443 HTTP/1.1\nHost: a.example\n\n", "b.example:443"),
            (
                "GET / HTTP/1.1\nHost: a.example\nHost: b.example\n\n",
                "a request that cannot be read",
            ),
            ("GET / HTTP/1.1\n\n", ""),
            ("PRI * HTTP/2.0\n\nSM\n\n", "a request that cannot be read"),
            ("GET / HTTP/1.1\nHost: a.example\nUpgrade: h2c\n\n", "another protocol than HTTP/1.1"),
            (
                "GET / HTTP/1.1\nHost: a.example\nUpgrade: websocket\n\n",
                "another protocol after a request",
            ),
            ("\nGET / HTTP/1.1\nHost: a.example\n\n", "a request that cannot be read"),
            (
                "POST / HTTP/1.1\nHost: a.example\nContent-Length: 1\nTransfer-Encoding: chunked\n\n",
                "a request that cannot be read",
            ),
            (
                "POST / HTTP/1.1\nHost: a.example\nTransfer-Encoding: gzip, chunked\n\n",
                "a request that cannot be read",
            ),
            (
                "POST / HTTP/1.1\nHost: a.example\nContent-Length: +1\n\n",
                "a request that cannot be read",
            ),
            (
                "POST / HTTP/1.1\nHost: a.example\nTransfer-Encoding: chunked\n\n+3\nabc\n0\n\n",
                "a body that cannot be read",
            ),
            (
                "POST / HTTP/1.1\nHost: a.example\nTransfer-Encoding: chunked\n\n3\nabcd\n0\n\n",
                "a body that cannot be read",
            ),
        ] {
            let said = format!("{FIRST}{rest}");
            assert_eq!(check(&said, false).await, Err(other.to_owned()), "{rest}");
        }
        let large = format!("GET / HTTP/1.1\nHost: a.example\nX: {}\n\n", "x".repeat(40_000));
        assert!(check(&large, false).await.is_err());
    }
}
