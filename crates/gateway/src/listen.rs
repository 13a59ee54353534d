//! Connections: bounded in number, not to be held up by slow clients, drained at the end.

use std::{pin::pin, sync::Arc, time::Duration};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use switchboard_access::Peer;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::Gateway;

/// How many headers hyper takes by default.
const HYPER_MAX_HEADERS: usize = 100;

/// Serves connections until `stop` fires, then lets what runs finish within the limit.
pub(crate) async fn run(
    gateway: Gateway,
    listener: TcpListener,
    socket: Option<UnixListener>,
    stop: CancellationToken,
) {
    let config = &gateway.parts().config;
    let places = Arc::new(Semaphore::new(config.max_connections.min(Semaphore::MAX_PERMITS)));
    let drain = config.drain.0;
    // Connections finish what they are at when the gateway drains, and end when this fires.
    let ending = CancellationToken::new();
    let connections = TaskTracker::new();
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = stop.cancelled() => break,
        };
        let stream = tokio::select! {
            stream = accept(&listener) => ClientStream::Tcp(stream),
            stream = accept_own(socket.as_ref()) => ClientStream::OwnSocket(stream),
            () = stop.cancelled() => break,
        };
        let Ok(place) = place else { break };
        let connection = Connection { gateway: gateway.clone(), place };
        connections.spawn(connection.serve(stream, ending.clone()));
    }
    drop((listener, socket));
    gateway.drain();
    connections.close();
    if timeout(drain, connections.wait()).await.is_err() {
        tracing::warn!("calls still run after {}s; they are cancelled", drain.as_secs_f64());
        ending.cancel();
        // Dropping a request cancels its call and closes its record; that takes no time worth naming.
        let _ = timeout(Duration::from_secs(2), connections.wait()).await;
    }
}

/// The next connection. Where there are no more files to be had, waits until there are.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The next connection of our own user over the Unix socket; never, if there is none.
async fn accept_own(socket: Option<&UnixListener>) -> UnixStream {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        match socket.accept().await {
            Ok((stream, _)) if Peer::of_socket(&stream).is_some() => return stream,
            Ok(_) => {
                tracing::warn!("another user connected to our socket; the connection is closed")
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection on the socket");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// A connection as it was accepted.
enum ClientStream {
    Tcp(TcpStream),
    /// Of our own user, as was checked.
    OwnSocket(UnixStream),
}

/// One connection and its place among them.
struct Connection {
    gateway: Gateway,
    place: OwnedSemaphorePermit,
}

impl Connection {
    async fn serve(self, stream: ClientStream, ending: CancellationToken) {
        let Self { gateway, place: _place } = self;
        let parts = gateway.parts().clone();
        let draining = gateway.draining().clone();
        let connections = &parts.feed.metrics().connections;
        connections.inc();
        let stream = match stream {
            ClientStream::Tcp(stream) => stream,
            ClientStream::OwnSocket(stream) => {
                Box::pin(talk(gateway, stream, Peer::OwnSocket, ending)).await;
                connections.dec();
                return;
            }
        };
        // An answer is one write; waiting for more to send with it would only make it late.
        let _ = stream.set_nodelay(true);
        let peer = parts.access.peer(&stream);
        match &parts.tls {
            None => talk(gateway, stream, peer, ending).await,
            Some(tls) => {
                // Boxed, both of them: a connection without TLS need not have room for one with it.
                let agreed = Box::pin(tls.acceptor().accept(stream));
                let agreed = timeout(parts.config.header_timeout.0, agreed);
                tokio::select! {
                    agreed = agreed => match agreed {
                        Ok(Ok(stream)) => Box::pin(talk(gateway, stream, peer, ending)).await,
                        Ok(Err(error)) => tracing::debug!(%error, "a client did not agree on TLS"),
                        Err(_) => tracing::debug!("a client took too long to agree on TLS"),
                    },
                    () = draining.begun() => {}
                }
            }
        }
        connections.dec();
    }
}

/// Answers the requests of a connection until it ends.
async fn talk<S>(gateway: Gateway, stream: S, peer: Peer, ending: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let parts = gateway.parts().clone();
    let draining = gateway.draining().clone();
    let config = &parts.config;
    let mut stream = TimeoutStream::new(stream);
    // A client that does not read its answers must not hold its permit for ever.
    stream.set_write_timeout(Some(config.write_timeout.0));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let gateway = gateway.clone();
        async move { Ok::<_, std::convert::Infallible>(gateway.answer(request, peer).await) }
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout.0)
        .max_header_size(usize::try_from(config.max_head.0).unwrap_or(usize::MAX));
    // hyper keeps its default number of headers on the stack; any other costs an allocation a request.
    if config.max_headers != HYPER_MAX_HEADERS {
        server.max_headers(config.max_headers);
    }
    let io = TokioIo::new(Box::pin(stream));
    let mut connection = pin!(server.serve_connection(io, service));
    let (mut drain, mut end) = (pin!(draining.begun()), pin!(ending.cancelled()));
    let mut is_draining = false;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                break;
            }
            () = drain.as_mut(), if !is_draining => {
                is_draining = true;
                connection.as_mut().graceful_shutdown();
            }
            () = end.as_mut() => break,
        }
    }
}
