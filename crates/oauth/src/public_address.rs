//! Which addresses a server of the public internet may name: none of the network that we are in.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Resolves names to public addresses only. The connection is made to the addresses that were checked.
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            match found.iter().all(|address| is_public(address.ip())) {
                true => Ok(Box::new(found.into_iter()) as Addrs),
                false => Err(io::Error::other(
                    "it is in a private network, and the server that names it is not",
                )
                .into()),
            }
        })
    }
}

/// Whether all addresses of a server are public; false if that cannot be found out.
pub(super) async fn is_public_host(url: &Url) -> bool {
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
pub(super) fn is_private_literal(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(_)) | None => false,
    }
}

/// Whether an address is of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b)))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    match (a, b) {
        // NAT64: as public as the address in it.
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => {
            is_public_v4(Ipv4Addr::from((u32::from(g) << 16) | u32::from(h)))
        }
        // 6to4.
        (0x2002, _) => is_public_v4(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c))),
        // Special purposes, Teredo, documentation.
        (0x2001, 0..0x200 | 0xdb8) | (0x3fff, 0..0x1000) => false,
        // Global unicast; everything else, also `::ffff:10.0.0.1`, is not.
        _ => (0x2000..0x4000).contains(&a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1
    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for public in ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::1",
            "198.18.0.1",
            "192.0.0.8",
            "192.88.99.1",
            "2001::1",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    // AU-1
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
