//! Which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet: not this machine, a private network, or one that is reserved.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = match (a, b, c) {
        // This network, carriers' networks, protocols' own, benchmarks, and what is left.
        (0 | 240..=255, ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) => true,
        _ => address.is_documentation(),
    };
    !(is_reserved
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let parts = address.segments();
    // NAT64 and 6to4 carry an address of IPv4.
    let inner = match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
        [0x2002, high, low, ..] => Some((high, low)),
        _ => None,
    };
    if let Some((high, low)) = inner {
        return is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    }
    // Everything that is given out lies in 2000::/3; documentation and tunnels are in it.
    let is_special = parts[0] == 0x2001 && (parts[1] == 0xdb8 || parts[1] == 0);
    (parts[0] & 0xe000) == 0x2000 && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn private_addresses_are_known() {
        let public =
            "1.1.1.1 8.8.8.8 100.63.0.1 172.32.0.1 2606:4700::1111 ::ffff:1.1.1.1 64:ff9b::101:101";
        for address in public.split(' ') {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        let private = "127.0.0.1 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255 \
            ::1 :: fe80::1 fd00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: ff02::1 2001:db8::1";
        for address in private.split_whitespace() {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
