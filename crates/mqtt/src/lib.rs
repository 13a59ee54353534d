//! What all who speak MQTT share: where a broker is, how to get in, whom to believe, and which topics can be ours.
//!
//! What is said over it is each crate's own.

mod broker_address;
mod prefix;
mod trust;

pub use broker_address::{BrokerAddress, BrokerAddressError};
pub use prefix::{PrefixError, prefix};
pub use trust::{TrustError, trust};
