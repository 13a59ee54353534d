//! What all users of MQTT share: a broker's address, credentials and TLS, and topic prefixes.
//!
//! The messages are up to each crate.
//!
//! ```
//! use switchboard_mqtt::{BrokerAddress, prefix};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = BrokerAddress::parse("mqtt://home:secret@127.0.0.1:1883")?;
//! assert!(!broker.to_string().contains("secret"));
//! // The options of a new rumqttc client.
//! let options = broker.options()?;
//!
//! assert_eq!(prefix("/zwave/")?, "zwave");
//! assert!(BrokerAddress::parse("http://127.0.0.1").is_err());
//! # Ok(()) }
//! ```

mod broker_address;
mod prefix;
mod trust;

pub use broker_address::{BrokerAddress, BrokerAddressError};
pub use prefix::{PrefixError, prefix};
pub use trust::{TrustError, trust};
