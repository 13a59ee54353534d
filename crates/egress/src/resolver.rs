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

/// Where a host is, as its addresses say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostNetwork {
    /// On the public internet, as far as is known: no address is private, or there is none. What such a host names must be
    /// public too.
    Public,
    /// In a private network, at these addresses. Whoever relies on that must connect to no other address of the host: the next
    /// answer of its name server may have public ones.
    Private(Vec<IpAddr>),
}

/// Finds out where a host is.
pub async fn host_network(url: &Url) -> HostNetwork {
    let found: Vec<IpAddr> = match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => found.map(|address| address.ip()).collect(),
            Err(_) => Vec::new(),
        },
        None => Vec::new(),
    };
    network_of(found)
}

/// A host with both kinds of addresses counts as private at the private ones: a public address can be anybody's.
fn network_of(addresses: Vec<IpAddr>) -> HostNetwork {
    let private: Vec<_> = addresses.into_iter().filter(|address| !is_public(*address)).collect();
    match private.is_empty() {
        true => HostNetwork::Public,
        false => HostNetwork::Private(private),
    }
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

    // AU-1
    #[tokio::test]
    async fn a_host_that_is_not_known_to_be_private_is_public() {
        let private = |address: &str| HostNetwork::Private(vec![address.parse().unwrap()]);
        for (url, network) in [
            ("https://1.1.1.1/mcp", HostNetwork::Public),
            ("https://10.0.0.1/mcp", private("10.0.0.1")),
            ("https://[::1]/mcp", private("::1")),
            // A name server that is silent for a moment must not make a host private.
            ("https://no-such-name.invalid/mcp", HostNetwork::Public),
        ] {
            assert_eq!(host_network(&Url::parse(url).unwrap()).await, network, "{url}");
        }
        let here = host_network(&Url::parse("http://localhost:1/mcp").unwrap()).await;
        assert!(matches!(here, HostNetwork::Private(_)), "{here:?}");
    }

    // AU-1: a private address among public ones would else switch the check off and leave the connection public.
    #[test]
    fn a_host_with_both_kinds_of_addresses_is_private_at_the_private_ones() {
        let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let mixed = network_of(all(&["1.1.1.1", "10.0.0.1", "2606:4700::1111", "fd12::1"]));
        assert_eq!(mixed, HostNetwork::Private(all(&["10.0.0.1", "fd12::1"])));
    }
}
