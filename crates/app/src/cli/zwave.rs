//! Arguments of `switchboard zwave`.

use std::path::PathBuf;

use clap::Args;
use switchboard_zwave::Config;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard zwave                         zwave-js-ui at this machine's MQTT
  switchboard zwave --mqtt mqtt://user:secret@nas:1883 --gateway Home
  switchboard zwave --server ws://nas:3000  a zwave-js-server (Home Assistant)

In the config of an MCP client:
  [servers.zwave]
  command = \"switchboard\"
  args = [\"zwave\", \"--mqtt\", \"mqtt://nas:1883\"]

What is not given comes from [zwave] in the config. Logs go to stderr.

Exit status: 0 the client is gone or we were told to stop, 2 wrong usage or config.")]
pub(crate) struct ZwaveArgs {
    /// The MQTT broker of zwave-js-ui [default: mqtt://127.0.0.1:1883]
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) mqtt: Option<String>,

    /// What the gateway's topics begin with [default: zwave]
    #[arg(long, value_name = "TOPIC", conflicts_with = "server")]
    pub(crate) prefix: Option<String>,

    /// The gateway's name in zwave-js-ui's MQTT settings [default: the only one there is]
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    pub(crate) gateway: Option<String>,

    /// A zwave-js-server, in place of a broker
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// CA certificate (PEM) that the certificate of the broker or server must chain to [default: those of this machine]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
}

impl ZwaveArgs {
    /// The settings, with what was said here in their place.
    pub(crate) fn over(&self, mut config: Config) -> Config {
        if self.server.is_some() {
            config.mqtt = None;
            config.server.clone_from(&self.server);
        }
        if self.mqtt.is_some() {
            config.server = None;
            config.mqtt.clone_from(&self.mqtt);
        }
        if let Some(prefix) = &self.prefix {
            config.prefix.clone_from(prefix);
        }
        if self.gateway.is_some() {
            config.gateway.clone_from(&self.gateway);
        }
        if self.ca.is_some() {
            config.ca.clone_from(&self.ca);
        }
        config
    }
}
