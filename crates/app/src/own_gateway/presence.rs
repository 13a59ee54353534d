//! Whether the gateway still runs.

use std::time::Duration;

use tokio::{io::AsyncReadExt, net::UnixStream, time::sleep};

use super::OwnGateway;

/// How long to wait between two attempts to connect.
const STEP: Duration = Duration::from_millis(250);

impl OwnGateway {
    /// Waits until the process that listens on the socket has ended; another one may have taken its place by then.
    pub(crate) async fn ended(&self) {
        let mut known = None;
        while let Ok(mut stream) = UnixStream::connect(&self.socket).await {
            let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
            if known.is_some() && process != known {
                return;
            }
            known = process;
            // The connection ends with the gateway, or when the gateway closes it because nothing is requested.
            while stream.read(&mut [0; 64]).await.is_ok_and(|size| size > 0) {}
            sleep(STEP).await;
        }
    }

    /// Whether a process listens on the socket.
    pub(crate) async fn runs(&self) -> bool {
        UnixStream::connect(&self.socket).await.is_ok()
    }

    /// Waits until a process listens on the socket again.
    pub(crate) async fn back(&self) {
        while !self.runs().await {
            sleep(STEP).await;
        }
    }
}
