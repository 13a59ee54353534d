//! As much of HTTP/1.1 as a server for tests needs: one request, one reply in pieces, and the connection closes.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A received request.
#[derive(Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    /// The path and what follows it.
    pub(crate) path: String,
    /// The headers, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Reads one request whose length is said in its head.
pub(crate) async fn read(stream: &mut TcpStream) -> io::Result<ReceivedRequest> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0_usize);
    while bytes.len() < head + 4 + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let body = bytes.split_off(head + 4);
    Ok(ReceivedRequest { method, path, headers, body })
}

/// Writes the head of a reply that comes in pieces.
pub(crate) async fn write_head(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
) -> io::Result<()> {
    let mut head =
        format!("HTTP/1.1 {status} Told\r\ntransfer-encoding: chunked\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await
}

/// Writes one piece.
pub(crate) async fn write_chunk(stream: &mut TcpStream, chunk: &[u8]) -> io::Result<()> {
    // An empty one would be the end.
    if chunk.is_empty() {
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
    framed.extend_from_slice(chunk);
    framed.extend_from_slice(b"\r\n");
    stream.write_all(&framed).await
}

/// Ends a reply as it should end.
pub(crate) async fn write_end(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n").await?;
    stream.shutdown().await
}

/// Ends a reply in its middle.
pub(crate) async fn write_cut(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await
}
