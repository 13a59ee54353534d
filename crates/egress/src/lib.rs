//! Which addresses may be requested on behalf of strangers: only those of the public internet, and none of the network that we
//! are in.
//!
//! ```
//! use switchboard_egress::is_public;
//!
//! assert!(is_public("1.1.1.1".parse().unwrap()) && !is_public("169.254.169.254".parse().unwrap()));
//! ```

mod public_address;
mod resolver;

pub use public_address::is_public;
pub use resolver::{HostNetwork, PublicResolver, host_network, is_private_literal};
