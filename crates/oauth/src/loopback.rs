//! Listens on loopback, once, for where the browser ends.

use std::{io, net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};
use url::Url;

use super::error::Error;

/// How long one connection may take to send its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing is accepted after an error, as the next try may fail at once too.
const PAUSE: Duration = Duration::from_millis(100);
/// How many connections are read at once. Browsers open some that they do not use.
const MOST: usize = 64;
/// The longest request line and headers.
const MAX_BYTES: u64 = 64 << 10;

/// Listens on a free port of 127.0.0.1 for one redirect. Closes when it is dropped.
#[derive(Debug)]
pub struct LoopbackListener {
    listener: TcpListener,
    redirect: Url,
}

/// A browser that has come back, and waits for a page that says what came of it.
#[derive(Debug)]
pub struct WaitingBrowser(BufReader<TcpStream>);

impl WaitingBrowser {
    /// Shows whether the sign-in succeeded.
    pub async fn respond(self, outcome: Result<(), &Error>) {
        match outcome {
            Ok(()) => {
                let next = "You can close this page and go back to the terminal.";
                respond(self.0, "200 OK", "Signed in", next).await;
            }
            Err(error) => {
                let next = format!("{error}. Go back to the terminal and try again.");
                respond(self.0, "400 Bad Request", "Not signed in", &next).await;
            }
        }
    }
}

impl LoopbackListener {
    /// Listens for a redirect to `path`.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn new(path: &str) -> Result<Self, Error> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(Error::Listen)?;
        let port = listener.local_addr().map_err(Error::Listen)?.port();
        let redirect = Url::parse(&format!("http://127.0.0.1:{port}/{path}"))
            .map_err(|error| Error::Metadata(error.to_string()))?;
        Ok(Self { listener, redirect })
    }

    /// Where the browser is to be sent.
    pub fn redirect(&self) -> &Url {
        &self.redirect
    }

    /// Waits for a request to the redirect's path that `check` accepts or refuses. One that it accepts is returned, together with
    /// the browser, which waits for what comes of it. Other requests, such as those for an icon, are answered with 404.
    ///
    /// # Errors
    /// As `check`; the browser then shows the error.
    pub async fn receive<T>(
        &self,
        check: impl Fn(&Url) -> Option<Result<T, Error>>,
    ) -> Result<(T, WaitingBrowser), Error> {
        self.receive_from(|| self.listener.accept(), check).await
    }

    async fn receive_from<T, A>(
        &self,
        accept: impl Fn() -> A,
        check: impl Fn(&Url) -> Option<Result<T, Error>>,
    ) -> Result<(T, WaitingBrowser), Error>
    where
        A: Future<Output = io::Result<(TcpStream, SocketAddr)>>,
    {
        let mut connections = JoinSet::new();
        loop {
            let (stream, line) = tokio::select! {
                accepted = accept(), if connections.len() < MOST => {
                    match accepted {
                        Ok((stream, _)) => drop(connections.spawn(read(stream))),
                        // No file descriptor is free, or a browser has hung up already.
                        Err(error) => {
                            tracing::debug!(%error, "a connection of the browser was not accepted");
                            sleep(PAUSE).await;
                        }
                    }
                    continue;
                }
                Some(Ok(read)) = connections.join_next() => read,
                else => continue,
            };
            let checked = line.and_then(|target| {
                let url = self.redirect.join(&target).ok()?;
                check(&url).filter(|_| url.path() == self.redirect.path())
            });
            match checked {
                Some(Ok(received)) => return Ok((received, WaitingBrowser(stream))),
                Some(Err(error)) => {
                    WaitingBrowser(stream).respond(Err(&error)).await;
                    return Err(error);
                }
                None => {
                    respond(
                        stream,
                        "404 Not Found",
                        "Not found",
                        "This page only waits for a sign-in.",
                    )
                    .await
                }
            }
        }
    }
}

/// Reads a request, and returns the target of a GET.
async fn read(stream: TcpStream) -> (BufReader<TcpStream>, Option<String>) {
    let mut stream = BufReader::new(stream);
    let target = timeout(PATIENCE, request_line(&mut stream)).await.ok().flatten();
    (stream, target)
}

/// Reads a request to the end of its headers, and returns the target of a GET.
async fn request_line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut limited = stream.take(MAX_BYTES);
    let mut first = String::new();
    limited.read_line(&mut first).await.ok()?;
    let mut line = String::new();
    while limited.read_line(&mut line).await.ok()? > 2 {
        line.clear();
    }
    let target = first.strip_prefix("GET ")?.split(' ').next()?;
    target.starts_with('/').then(|| target.to_owned())
}

/// Answers with a page for people. Whoever has closed the browser misses nothing.
async fn respond(mut stream: BufReader<TcpStream>, status: &str, title: &str, text: &str) {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let page = format!(
        "<!doctype html><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>{title} – Switchboard</title>\
         <body style=\"font:1.1rem system-ui;max-width:32rem;margin:4rem auto;padding:0 1rem\"><h1>{title}</h1><p>{escaped}</p>"
    );
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n",
        page.len()
    );
    _ = stream.write_all(head.as_bytes()).await;
    _ = stream.write_all(page.as_bytes()).await;
    _ = stream.shutdown().await;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // AU-1: a process without free file descriptors cannot accept; it must not take a whole processor meanwhile.
    #[tokio::test(start_paused = true)]
    async fn an_error_of_accept_is_not_tried_again_at_once() {
        let listener = LoopbackListener::new("callback").await.unwrap();
        let tries = Cell::new(0);
        let fail = async || {
            tries.set(tries.get() + 1);
            Err(io::Error::other("too many open files"))
        };
        let receiving = listener.receive_from(fail, |_| None::<Result<(), Error>>);
        assert!(timeout(Duration::from_secs(10), receiving).await.is_err());
        assert!((10..=101).contains(&tries.get()), "{} tries", tries.get());
    }
}
