//! The HTTP client that talks to models, and to whatever else takes a key.

use std::{net::IpAddr, time::Duration};

use reqwest::{Client, Url, redirect};

/// Creates a client for the service at `url`: without redirects, and without a proxy for this machine.
///
/// # Errors
/// HTTP cannot be used here at all.
pub fn client(url: &Url, connect_timeout: Duration) -> Result<Client, reqwest::Error> {
    // Fails if the host has installed a provider already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        // A redirect must not leak the key.
        .redirect(redirect::Policy::none());
    match is_here(url) {
        true => builder.no_proxy().build(),
        false => builder.build(),
    }
}

/// Whether the address is this machine, which no proxy is in front of.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
