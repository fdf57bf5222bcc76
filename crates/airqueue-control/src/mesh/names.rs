//! Numbers of routers and flows that all routers make alike from what packets and radios tell.

use super::statement::{FlowNumber, RouterId};
use crate::flows::{End, Mac, Protocol};
use std::net::IpAddr;

/// FNV-1a. Values that are equal by chance do not matter where this is used: two routers of a mesh of 128 have the same number
/// once in 500,000 meshes.
pub(super) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// 32 bits of it, as its authors advise.
fn folded(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let hash = fnv1a(bytes);
    (hash >> 32) as u32 ^ hash as u32
}

impl RouterId {
    /// The number of the router whose interface in the mesh has an address.
    pub fn of_mac(address: Mac) -> RouterId {
        RouterId(folded(address))
    }
}

impl FlowNumber {
    /// All that goes from the router where it enters the mesh to the router where it leaves the mesh.
    pub fn between(enters: RouterId, leaves: RouterId) -> FlowNumber {
        FlowNumber(folded(enters.0.to_be_bytes().into_iter().chain(leaves.0.to_be_bytes())))
    }

    /// What goes from one end of a connection to the other.
    pub fn of_ends(from: End, to: End, protocol: Protocol) -> FlowNumber {
        let bytes = |end: End| {
            let address = match end.address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            address.into_iter().chain(end.port.to_be_bytes())
        };
        let kind = [u8::from(protocol == Protocol::Tcp)];
        FlowNumber(folded(bytes(from).chain(bytes(to)).chain(kind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of draft-eastlake-fnv, appendix C.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_flow_has_a_direction() {
        let [a, b] = [[2, 0, 0, 0, 0, 0], [2, 0, 0, 0, 1, 0]].map(RouterId::of_mac);
        assert_ne!(FlowNumber::between(a, b), FlowNumber::between(b, a));
        let end = |last| End { address: IpAddr::from([10, 0, 0, last]), port: 5001 };
        let flow = |from, to, protocol| FlowNumber::of_ends(end(from), end(to), protocol);
        assert_ne!(flow(1, 2, Protocol::Udp), flow(2, 1, Protocol::Udp));
        assert_ne!(flow(1, 2, Protocol::Udp), flow(1, 2, Protocol::Tcp));
    }
}
