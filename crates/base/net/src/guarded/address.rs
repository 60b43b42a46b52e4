//! What kind of place an address is. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who can be reached at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody on the Internet.
    Public,
    /// This machine, its network, or nobody: private, loopback, link-local, shared, reserved, multicast.
    Private,
    /// The service that tells a machine in a cloud its own keys. Nobody means it.
    Metadata,
}

/// An address inside another one counts as what is inside.
pub fn class(address: IpAddr) -> Class {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => class_v6(address),
    }
}

/// Besides all of 169.254.0.0/16.
const METADATA_V4: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// What the registry of special addresses holds that isn't for everybody: first address and length of the prefix.
const SPECIAL_V4: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

fn class_v4(address: Ipv4Addr) -> Class {
    if address.is_link_local() || address == METADATA_V4 {
        return Class::Metadata;
    }
    let bits = address.to_bits();
    let within = |(first, length): &([u8; 4], u32)| {
        let shift = 32 - length;
        bits >> shift == u32::from_be_bytes(*first) >> shift
    };
    match SPECIAL_V4.iter().any(within) {
        true => Class::Private,
        false => Class::Public,
    }
}

fn class_v6(address: Ipv6Addr) -> Class {
    if address == METADATA_V6 {
        return Class::Metadata;
    }
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let (high, low) = (u32::from(high), u32::from(low));
        class_v4(Ipv4Addr::from_bits(high << 16 | low))
    };
    let last = v4(parts[6], parts[7]);
    match parts {
        // Mapped, and NAT64: somebody on the way takes the IPv4 address out again.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => last,
        // 6to4
        [0x2002, high, low, ..] => v4(high, low),
        // Compatible, translated, and NAT64 of somebody's own: never for everybody.
        [0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => match last {
            Class::Metadata => Class::Metadata,
            _ => Class::Private,
        },
        // Teredo and other protocols; what stands in books.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Class::Private,
        // All that is given out to anybody.
        [0x2000..=0x3fff, ..] => Class::Public,
        _ => Class::Private,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Class, addresses: &[&str]) {
        for address in addresses {
            assert_eq!(class(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn everybodys_addresses() {
        let v4 = ["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255"];
        check(Class::Public, &v4);
        let v4 = ["100.128.0.1", "172.15.255.255", "172.32.0.0", "192.167.1.1"];
        check(Class::Public, &v4);
        let v4 = ["128.0.0.1", "198.17.0.1", "198.20.0.0", "223.255.255.255"];
        check(Class::Public, &v4);
        let v6 = ["2606:4700:4700::1111", "2a00::1", "2001:4860:4860::8888"];
        check(Class::Public, &v6);
        let inside = ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"];
        check(Class::Public, &inside);
    }

    // spec: terminal-and-safety §13.19
    #[test]
    fn addresses_of_this_network() {
        let v4 = ["0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1"];
        check(Class::Private, &v4);
        let v4 = ["100.127.255.255", "127.255.255.255", "172.16.0.1"];
        check(Class::Private, &v4);
        let v4 = ["172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1"];
        check(Class::Private, &v4);
        let v4 = ["192.168.1.1", "198.18.0.1", "198.19.255.255"];
        check(Class::Private, &v4);
        let v4 = ["198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1"];
        check(Class::Private, &v4);
        check(Class::Private, &["240.0.0.1", "255.255.255.255"]);
        let v6 = ["::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd12::1"];
        check(Class::Private, &v6);
        let v6 = ["ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1"];
        check(Class::Private, &v6);
        let v6 = ["2001::1", "2001:2::1", "2001:10::1", "2001:20::1", "4000::"];
        check(Class::Private, &v6);
    }

    #[test]
    fn an_address_inside_another_one_counts() {
        let mapped = ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:100.64.0.1"];
        check(Class::Private, &mapped);
        let nat64 = ["64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::8.8.8.8"];
        check(Class::Private, &nat64);
        check(Class::Private, &["2002:7f00:1::", "2002:c0a8:101::1"]);
        check(Class::Private, &["::127.0.0.1", "::8.8.8.8"]);
        check(Class::Private, &["::ffff:0:127.0.0.1"]);
    }

    // spec: terminal-and-safety §13.19
    #[test]
    fn what_tells_machines_their_keys() {
        let v4 = ["169.254.169.254", "169.254.170.2", "169.254.169.253"];
        check(Class::Metadata, &v4);
        let others = ["169.254.0.1", "100.100.100.200", "fd00:ec2::254"];
        check(Class::Metadata, &others);
        let inside = ["::ffff:169.254.169.254", "::ffff:100.100.100.200"];
        check(Class::Metadata, &inside);
        let inside = ["::169.254.169.254", "64:ff9b::a9fe:a9fe"];
        check(Class::Metadata, &inside);
        let inside = ["2002:a9fe:a9fe::", "::ffff:0:169.254.169.254"];
        check(Class::Metadata, &inside);
        check(Class::Metadata, &["64:ff9b:1::169.254.169.254"]);
    }
}
