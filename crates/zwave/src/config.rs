//! The settings of Z-Wave.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::HumanDuration;

/// The broker that is used if neither a broker nor a server is set.
pub(crate) const DEFAULT_BROKER: &str = "mqtt://127.0.0.1:1883";

/// The settings of `[zwave]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The broker of zwave-js-ui, `mqtt://[USER:PASSWORD@]HOST[:PORT]` or `mqtts://…`; `mqtt://127.0.0.1:1883` without any.
    pub mqtt: Option<String>,
    /// What topics of the gateway begin with.
    pub prefix: String,
    /// The gateway's name, as in its MQTT settings; detected if there is only one.
    pub gateway: Option<String>,
    /// The address of a zwave-js-server, `ws://HOST:PORT` or `wss://…`, in place of a broker.
    pub server: Option<String>,
    /// A PEM file with CAs of the broker or the server; the system's if unset.
    pub ca: Option<PathBuf>,
    /// How long a write may take to be confirmed by the device.
    pub confirm_within: HumanDuration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mqtt: None,
            prefix: "zwave".to_owned(),
            gateway: None,
            server: None,
            ca: None,
            confirm_within: HumanDuration(Duration::from_secs(4)),
        }
    }
}
