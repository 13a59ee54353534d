//! Whether the gateway still runs.

use std::time::Duration;

use tokio::{
    io::AsyncReadExt,
    net::UnixStream,
    time::{sleep, timeout},
};

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

    /// Waits until a process listens on the socket again.
    pub(crate) async fn back(&self) {
        while UnixStream::connect(&self.socket).await.is_err() {
            sleep(STEP).await;
        }
    }

    /// Waits until no server of the gateway is connecting any more, `limit` at most: before that it lists some tools only.
    pub(crate) async fn servers_settled(&self, limit: Duration) {
        let settled = async {
            while let Ok(servers) = self.servers().await
                && servers.iter().any(|server| server["state"] == "connecting")
            {
                sleep(STEP).await;
            }
        };
        // Those that take longer appear when they are connected.
        _ = timeout(limit, settled).await;
    }
}
