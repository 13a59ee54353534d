//! The Unix socket over which commands of the same user and config use this gateway.

use switchboard_gateway::{About, AboutGateway};
use tokio::net::UnixListener;

use crate::{
    own_gateway::{
        OwnGateway,
        socket::{self, Bound, OwnSocket},
    },
    settings::Loaded,
    terminal::{self, text},
};

/// Listens on the socket, or says why not; the gateway serves all the same.
pub(super) async fn listen(loaded: &Loaded) -> Option<(UnixListener, OwnSocket)> {
    match socket::bind(loaded) {
        Ok(Bound::Here(listener, socket)) => Some((listener, socket)),
        Ok(Bound::Nowhere) => None,
        Ok(Bound::Taken(socket)) => {
            let address = OwnGateway::address_behind(socket).await;
            let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
            terminal::tell(&format!(
                "a gateway with this config is running already{at}; commands such as `switchboard call` use that one"
            ));
            None
        }
        Err(reason) => {
            let reason = text::one_line(&reason);
            terminal::tell(&format!(
                "warning: there is no socket for `switchboard call` and others, which therefore run alone: {reason}"
            ));
            None
        }
    }
}

/// Says of the gateway what it serves now.
pub(super) fn describe(about: &About, address: Option<String>, loaded: &Loaded) {
    let config = loaded.file.as_ref().map(|file| file.display().to_string());
    let config_digest = loaded.digest.clone();
    let address = address.or_else(|| about.get().address.clone());
    about.set(AboutGateway { address, config, config_digest, ..AboutGateway::default() });
}

/// Where a gateway of this user listens that has this port.
pub(super) async fn at_port(listen: &str) -> Option<String> {
    let (_, port) = listen.rsplit_once(':')?;
    for socket in socket::all() {
        if let Some(address) = OwnGateway::address_behind(socket).await
            && address.ends_with(&format!(":{port}"))
        {
            return Some(address);
        }
    }
    None
}
