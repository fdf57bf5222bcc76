//! Which of a pair's flows a real flow takes.

use airqueue_network::FlowId;
use airqueue_scenario::emulated::Flows;

/// The flows of a pair and category, each with the real flow that took it last. A new real flow takes the flow that has
/// been unused for the longest time: real flows share one only if more of them are active than there are flows.
#[derive(Clone, Debug)]
pub struct Slots {
    first: FlowId,
    /// The digest of the real flow, and the time of its last packet by [`Self::packets`].
    taken: Vec<(u64, u64)>,
    packets: u64,
}

impl Slots {
    /// Flows that no real flow has taken yet.
    pub fn new(flows: Flows) -> Slots {
        Slots { first: flows.first, taken: vec![(0, 0); flows.count as usize], packets: 0 }
    }

    /// The flow of a packet, by the digest of its real flow.
    pub fn flow(&mut self, digest: u64) -> FlowId {
        self.packets += 1;
        let same = self.taken.iter().position(|&(of, last)| last > 0 && of == digest);
        let at = same.unwrap_or_else(|| {
            let oldest = self.taken.iter().enumerate().min_by_key(|(_, (_, last))| *last);
            oldest.expect("a pair has flows").0
        });
        self.taken[at] = (digest, self.packets);
        FlowId(self.first.0 + at as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_flows_keep_their_slots_and_new_ones_take_the_oldest() {
        let mut slots = Slots::new(Flows { first: FlowId(7), count: 3 });
        let of = [10, 0, 30].map(|digest| slots.flow(digest).0);
        assert_eq!(of, [7, 8, 9]);
        assert_eq!(slots.flow(10).0, 7);
        assert_eq!(slots.flow(40).0, 8);
        assert_eq!(slots.flow(30).0, 9);
        assert_eq!(slots.flow(0).0, 7);
    }
}
