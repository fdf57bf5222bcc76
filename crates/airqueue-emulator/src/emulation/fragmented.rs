//! Routers that fragment packets of IPv4 for the next link (RFC 791, section 3.2; RFC 1812, section 4.2.2.7).
//!
//! A packet that is too large for a link on its way travels to the router before the link. The router's fragments are
//! packets of their own in the queues from there on. Among the packets of the pair they take the place of the whole packet.

use super::Emulation;
use super::held::{Held, Narrow};
use crate::fragments::Fragments;
use crate::header;

impl Emulation {
    /// The route that a packet of this size takes at first on its way along a route, and the link for which the packet is
    /// fragmented behind.
    pub(super) fn leg(&self, route: usize, size: u32) -> (usize, Option<Narrow>) {
        let whole = &self.routes[route];
        let Some(router) = whole.routers.iter().find(|router| size > router.mtu_bytes) else {
            return (route, None);
        };
        let leg = self.route(whole.from, router.router).expect("there is a route to each router");
        (leg, Some(Narrow { mtu_bytes: router.mtu_bytes, to: whole.to }))
    }

    /// A router passes on a packet in fragments.
    pub(super) fn pass_on_fragments(&mut self, held: &mut Held, narrow: Narrow) {
        let router = self.routes[held.route].to;
        let route = self.route(router, narrow.to).expect("there is a route from each router");
        header::pass_routers(&mut held.bytes, 1);
        let fragments = Fragments::new(&held.bytes, narrow.mtu_bytes);
        let fragments = fragments.filter(|of| self.has_room(of.count().packets));
        let counters = &mut self.routes[held.pair].counters;
        let size = held.bytes.len() as u64;
        let Some(mut fragments) = fragments else {
            if held.is_carried() {
                counters.dropped.add_size(size);
            }
            return;
        };
        if held.is_carried() {
            let made = fragments.count();
            counters.offered.packets += made.packets - 1;
            counters.offered.bytes += made.bytes - size;
        }
        let mut bytes = std::mem::take(&mut self.fragment);
        while fragments.next_into(&mut bytes) {
            let header = header::of_fragment(&bytes);
            let payload = self.hold_for(route, &bytes, &header, held.purpose);
            let fragment = &mut self.held[payload.0 as usize];
            (fragment.pair, fragment.sent, fragment.ecn) = (held.pair, held.sent, held.ecn);
            self.offer_held(payload, &header);
        }
        self.fragment = bytes;
    }
}
