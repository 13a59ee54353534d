//! Names of hosts, and the addresses behind them.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::is_public;

/// Resolves names to public addresses only. The connection is made to the very addresses that were checked, so a name cannot
/// resolve to another one afterwards.
#[derive(Clone, Copy, Debug, Default)]
pub struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One private address among public ones is no accident.
            match found.iter().all(|address| is_public(address.ip())) {
                true => Ok(Box::new(found.into_iter()) as Addrs),
                false => {
                    Err(io::Error::other("it is in a private network, and who names it is not")
                        .into())
                }
            }
        })
    }
}

/// Whether all addresses of a server are public; false if that cannot be found out.
pub async fn is_public_host(url: &Url) -> bool {
    let found: Vec<IpAddr> = match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => found.map(|address| address.ip()).collect(),
            Err(_) => Vec::new(),
        },
        None => Vec::new(),
    };
    !found.is_empty() && found.into_iter().all(is_public)
}

/// Whether the host is written as an address, and that is not public.
pub fn is_private_literal(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1, AU-4
    #[tokio::test]
    async fn a_server_is_public_if_all_its_addresses_are() {
        for (url, is_public) in [
            ("https://1.1.1.1/mcp", true),
            ("https://10.0.0.1/mcp", false),
            ("http://localhost:1/mcp", false),
            ("https://[::1]/mcp", false),
            ("https://no-such-name.invalid/mcp", false),
        ] {
            assert_eq!(is_public_host(&Url::parse(url).unwrap()).await, is_public, "{url}");
        }
    }
}
