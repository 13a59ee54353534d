//! Accepts connections: a bounded number, with timeouts for slow clients, and drained on shutdown.

use std::{pin::pin, sync::Arc, time::Duration};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use switchboard_access::ConnectionUser;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{Gateway, openai};

/// The number of headers that hyper accepts by default.
const HYPER_MAX_HEADERS: usize = 100;

/// Serves connections until `stop` fires, then lets running requests finish within the limit.
pub(crate) async fn run(
    gateway: Gateway,
    listener: TcpListener,
    socket: Option<UnixListener>,
    stop: CancellationToken,
) {
    let config = &gateway.parts().config;
    let places = Arc::new(Semaphore::new(config.max_connections.min(Semaphore::MAX_PERMITS)));
    let drain = config.drain.0;
    // Connections finish their requests when the gateway drains, and are closed when this fires.
    let ending = CancellationToken::new();
    let connections = TaskTracker::new();
    let resuming = tokio::spawn(openai::resume_all(gateway.parts().clone()));
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
        let connection = ClientConnection { gateway: gateway.clone(), place };
        connections.spawn(connection.serve(stream, ending.clone()));
    }
    drop((listener, socket));
    resuming.abort();
    gateway.drain();
    connections.close();
    if timeout(drain, connections.wait()).await.is_err() {
        tracing::warn!("calls still run after {}s; they are cancelled", drain.as_secs_f64());
        ending.cancel();
        // Dropping a request cancels its call and closes its record, which takes almost no time.
        let _ = timeout(Duration::from_secs(2), connections.wait()).await;
    }
}

/// Returns the next connection. If there are no file descriptors left, waits until there are.
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

/// Returns the next connection of our own user over the Unix socket; waits forever if there is no socket.
async fn accept_own(socket: Option<&UnixListener>) -> UnixStream {
    let Some(socket) = socket else { return std::future::pending().await };
    loop {
        match socket.accept().await {
            Ok((stream, _)) if ConnectionUser::of_socket(&stream).is_some() => return stream,
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

/// An accepted connection.
enum ClientStream {
    Tcp(TcpStream),
    /// From a process of our own user, as was checked.
    OwnSocket(UnixStream),
}

/// One connection, and its permit.
struct ClientConnection {
    gateway: Gateway,
    place: OwnedSemaphorePermit,
}

impl ClientConnection {
    async fn serve(self, stream: ClientStream, ending: CancellationToken) {
        let Self { gateway, place: _place } = self;
        let parts = gateway.parts().clone();
        let draining = gateway.draining().clone();
        let connections = &parts.feed.metrics().connections;
        connections.inc();
        let stream = match stream {
            ClientStream::Tcp(stream) => stream,
            ClientStream::OwnSocket(stream) => {
                Box::pin(talk(gateway, stream, ConnectionUser::OwnSocket, ending)).await;
                connections.dec();
                return;
            }
        };
        // A response is one write; waiting for more data would only delay it.
        let _ = stream.set_nodelay(true);
        let peer = parts.access.peer(&stream);
        match &parts.tls {
            None => talk(gateway, stream, peer, ending).await,
            Some(tls) => {
                // Both are boxed, so that a connection without TLS does not reserve the memory of one with it.
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

/// Serves the requests of a connection until it ends.
async fn talk<S>(gateway: Gateway, stream: S, peer: ConnectionUser, ending: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let parts = gateway.parts().clone();
    let draining = gateway.draining().clone();
    let config = &parts.config;
    let mut stream = TimeoutStream::new(stream);
    // A client that does not read its responses must not hold its permit forever.
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
    // hyper keeps its default number of headers on the stack; any other number costs an allocation per request.
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
