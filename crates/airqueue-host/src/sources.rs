//! Replies from the address to which the request was sent.
//!
//! A socket bound to the wildcard address sends from whatever address the route suggests. On a
//! host with several addresses that may not be the one that the peer, its NAT or its firewall
//! knows. So a table of fixed size keeps the local address of the last datagram from each peer. A
//! stranger can evict an entry; the route then chooses the address, as it would without the table.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

const SLOTS: usize = 1024;

/// Local addresses by peer.
pub struct Sources {
    slots: Vec<Option<(usize, SocketAddr, IpAddr)>>,
}

impl Default for Sources {
    fn default() -> Self {
        Sources { slots: vec![None; SLOTS] }
    }
}

impl Sources {
    fn slot(
        &mut self,
        socket: usize,
        peer: SocketAddr,
    ) -> &mut Option<(usize, SocketAddr, IpAddr)> {
        let mut hasher = DefaultHasher::new();
        (socket, peer).hash(&mut hasher);
        &mut self.slots[hasher.finish() as usize % SLOTS]
    }

    /// A datagram from `peer` was sent to `local`. Multicast and broadcast cannot be answered from.
    pub fn learn(&mut self, socket: usize, peer: SocketAddr, local: IpAddr) {
        let broadcast = local == IpAddr::from([255; 4]);
        if !local.is_multicast() && !local.is_unspecified() && !broadcast {
            *self.slot(socket, peer) = Some((socket, peer, local));
        }
    }

    /// The address to send to `peer` from.
    pub fn source(&mut self, socket: usize, peer: SocketAddr) -> Option<IpAddr> {
        self.slot(socket, peer).filter(|(s, p, _)| (*s, *p) == (socket, peer)).map(|(_, _, l)| l)
    }

    /// The host cannot send from the address to `peer`.
    pub fn forget(&mut self, socket: usize, peer: SocketAddr) {
        *self.slot(socket, peer) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_its_own_source() {
        let mut s = Sources::default();
        let peer: SocketAddr = "10.0.0.1:5".parse().unwrap();
        let local: IpAddr = "10.0.0.7".parse().unwrap();
        s.learn(0, peer, local);
        s.learn(0, "10.0.0.2:5".parse().unwrap(), "255.255.255.255".parse().unwrap());
        assert_eq!(s.source(0, peer), Some(local));
        assert_eq!(s.source(1, peer), None);
        assert_eq!(s.source(0, "10.0.0.2:5".parse().unwrap()), None);
        s.forget(0, peer);
        assert_eq!(s.source(0, peer), None);
    }
}
