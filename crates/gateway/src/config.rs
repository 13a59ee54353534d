//! The gateway's settings.

use std::time::Duration;

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, Size};

/// The settings of `[serve]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen: an address and a port.
    pub listen: String,
    /// Names by which clients may reach us, beside the address itself.
    pub hosts: Vec<String>,
    /// Web pages that may call us, as origins; `*` is not one.
    pub origins: Vec<String>,
    /// Whether a token is demanded on loopback too.
    pub require_token: bool,
    /// How large a request may be.
    pub max_body: Size,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How long a client may take to send the head of a request, or its body.
    pub header_timeout: HumanDuration,
    /// How long calls may go on after we are told to stop.
    pub drain: HumanDuration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7300".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            require_token: false,
            max_body: Size(4 << 20),
            max_connections: 20_000,
            header_timeout: HumanDuration(Duration::from_secs(10)),
            drain: HumanDuration(Duration::from_secs(10)),
        }
    }
}
