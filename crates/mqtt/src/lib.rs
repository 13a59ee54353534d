//! What all who speak MQTT share: where a broker is, how to get in, whom to believe, and which topics can be ours.
//!
//! What is said over it is each crate's own.
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
