//! Which addresses are of the public internet: what strangers name must not lead into the network that we are in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is of the public internet.
pub fn is_public(address: IpAddr) -> bool {
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
        // An address of IPv4, mapped: the connection is made to that.
        (0, 0) if [c, d, e, f] == [0, 0, 0, 0xffff] => {
            is_public_v4(Ipv4Addr::from((u32::from(g) << 16) | u32::from(h)))
        }
        // NAT64: as public as the address in it.
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => {
            is_public_v4(Ipv4Addr::from((u32::from(g) << 16) | u32::from(h)))
        }
        // 6to4.
        (0x2002, _) => is_public_v4(Ipv4Addr::from((u32::from(b) << 16) | u32::from(c))),
        // Special purposes, Teredo, documentation.
        (0x2001, 0..0x200 | 0xdb8) | (0x3fff, 0..0x1000) => false,
        // Global unicast; everything else, also `::127.0.0.1`, is not.
        _ => (0x2000..0x4000).contains(&a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-1, AU-4
    #[test]
    fn private_addresses_are_told_from_public_ones() {
        for public in [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2002:101:101::1",
        ] {
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
            "198.18.0.1",
            "192.0.0.8",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2001:db8::1",
            "2001::1",
            "192.88.99.1",
            "192.88.99.255",
            "2001:0:1::1",
            "2001:1ff::1",
            "3fff::1",
            "3fff:fff::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }
}
