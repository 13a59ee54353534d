//! Z-Wave devices as tools (SPEC HM-1).
//!
//! [`connect`] creates a [`Network`] from the settings: zwave-js-ui's MQTT gateway (`mqtt/`) or zwave-js-server's WebSocket
//! (`server/`). [`tools`] creates the six tools over any network. Running and serving the tools is left to others.
//!
//! ```no_run
//! use serde_json::json;
//! use switchboard_runtime::ToolExecutor;
//! use switchboard_zwave::{Config, connect, tools};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config { mqtt: Some("mqtt://127.0.0.1:1883".to_owned()), ..Default::default() };
//! let network = connect(&config)?;
//! let executor = ToolExecutor::default();
//! for tool in tools(network, &config) {
//!     executor.tools().add_shared(tool)?;
//! }
//! let result = executor.call("list_devices", json!({})).await;
//! println!("{}", result.text());
//! # Ok(()) }
//! ```

mod config;
mod network;
mod mqtt;
mod server;
mod replies;
mod reports;
mod unicode;
mod find;
mod device;
mod time;
mod list;
mod control;
mod sensors;
mod health;
mod schemas;
mod tools;

use std::sync::Arc;

pub use config::Config;
pub use network::{
    Error, Hop, HopState, Network, NodeStatus, ValueId, ValueReading, WriteAck, ZwaveNode,
};
pub use tools::{ARGUMENT_ALIASES, tools};

use mqtt::MqttNetwork;
use server::ServerNetwork;

/// Connects to the configured network, in the background: it need not be reachable yet.
///
/// Must be called within a tokio runtime.
///
/// # Errors
/// Fails if the settings are invalid.
pub fn connect(config: &Config) -> Result<Arc<dyn Network>, Error> {
    let ca = config.ca.as_deref();
    match (&config.mqtt, &config.server) {
        (Some(_), Some(_)) => Err(Error::TwoWays),
        (None, Some(address)) => Ok(Arc::new(ServerNetwork::connect(address, ca)?)),
        (address, None) => {
            let address = address.as_deref().unwrap_or(config::DEFAULT_BROKER);
            let mut address = switchboard_mqtt::BrokerAddress::parse(address)?;
            if let Some(ca) = ca {
                address = address.trusting(ca)?;
            }
            Ok(Arc::new(MqttNetwork::connect(address, &config.prefix, config.gateway.as_deref())?))
        }
    }
}
