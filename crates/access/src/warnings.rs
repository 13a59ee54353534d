//! Warnings at the start about settings that may be mistakes.

use std::net::SocketAddr;

use crate::{Access, Config, connection_user};

impl Access {
    /// Logs warnings about settings that open or close more than expected.
    pub(crate) fn warn(&self, config: &Config, address: SocketAddr) {
        let is_local = address.ip().is_loopback();
        if !is_local && !self.is_tls {
            tracing::warn!(
                "listening on {address} without TLS: whoever is on the way can read the tokens; \
                 set `[serve.tls]`, or put a proxy that speaks TLS in front"
            );
        }
        let is_secure =
            self.is_tls || self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
        let is_for_others = !is_local || !config.hosts.is_empty();
        if is_for_others && !is_secure {
            tracing::warn!(
                "the console's cookie is not `Secure`: browsers send it without TLS too; set `[serve.tls]`, or \
                 `[serve] public_url` to the https address of the proxy in front"
            );
        }
        if self.demands_token {
            return;
        }
        if !self.tokens.is_empty() || self.jwt.is_some() {
            tracing::warn!(
                "tokens limit nobody who runs as the same user: on loopback a program may leave its token out and do \
                 everything; `[serve] require_token = true` demands one"
            );
        }
        if !connection_user::works(self.lookup, address) {
            tracing::warn!(
                "a token is needed on loopback too: this system does not tell which user a connection is of; make one \
                 with `switchboard token new --name NAME`"
            );
        }
    }
}
