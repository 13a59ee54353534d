//! Addresses that may be requested on behalf of a stranger: only those of the public internet.

use std::{io, net::SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use switchboard_toolcall::is_public;

/// Resolves names to public addresses only. The connection is made to the very addresses that were checked, so a name cannot
/// resolve to another one afterwards.
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One private address among public ones is no accident.
            match found.iter().all(|address| is_public(address.ip())) {
                true => Ok(Box::new(found.into_iter()) as Addrs),
                false => Err(io::Error::other("its name is that of a private address").into()),
            }
        })
    }
}
