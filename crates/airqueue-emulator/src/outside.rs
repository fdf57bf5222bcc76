//! Addresses beyond the nodes.

use std::net::IpAddr;

/// Whether a router carries packets from and to this address: the address of one host, on any link.
pub fn is_routed(address: IpAddr) -> bool {
    let only_here = match address {
        IpAddr::V4(of) => of.is_broadcast() || of.is_link_local() || of.octets()[0] == 0,
        IpAddr::V6(of) => of.is_unicast_link_local(),
    };
    !(only_here || address.is_multicast() || address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_single_hosts_are_routed() {
        for text in ["192.0.2.1", "10.0.0.1", "223.255.255.254", "2001:db8::1", "fd00::1"] {
            assert!(is_routed(text.parse().unwrap()), "{text}");
        }
    }

    // RFC 6890, section 2.2; RFC 4291, section 2.4.
    #[test]
    fn addresses_of_many_hosts_or_of_this_link_are_not() {
        let of_v4 = ["0.0.0.0", "0.1.2.3", "127.0.0.53", "169.254.1.1", "224.0.0.251"];
        let of_v6 = ["::", "::1", "fe80::1", "febf::1", "ff02::fb"];
        for text in of_v4.iter().chain(&of_v6).chain(&["255.255.255.255"]) {
            assert!(!is_routed(text.parse().unwrap()), "{text}");
        }
    }
}
