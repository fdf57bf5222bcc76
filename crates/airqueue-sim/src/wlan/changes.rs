//! What is changed in a network while it runs.

use super::engine::{Event, Wlan};
use super::flow::Flow;
use crate::event::EventQueue;
use airqueue_core::Limit;
use airqueue_wifi::RateIndex;

impl Wlan {
    /// Changes the limit of a station's queue for an access category, now; where it keeps flows or links apart, that of
    /// each. What waits in it stays, also beyond the limit: no packet is dropped but by its arrival. A ring behind the
    /// queue has as much room as before.
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn set_limit(
        &mut self,
        station: usize,
        category: usize,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) {
        let interface = self.queue_at(station, category);
        self.interfaces[interface].queue.stages.set_limit(limit);
        self.refill(interface, queue);
    }

    /// Changes the limit of the queue that a flow has for itself at the station that sends it or, where queues are
    /// for links, that it shares with the other flows of its link; by the rules of [`Self::set_limit`]. False, and
    /// nothing changes, where all flows wait in one queue.
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    pub fn set_flow_limit(
        &mut self,
        flow: u32,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let &Flow { interface, hop, .. } = &self.flows[flow as usize];
        let changed = self.interfaces[interface].queue.stages.set_limit_of(flow, hop, limit);
        if changed {
            self.refill(interface, queue);
        }
        changed
    }

    /// Changes the rate of a flow's data frames, now. Packets that its MAC has in hand are sent at the rate that they
    /// were taken with.
    ///
    /// # Panics
    ///
    /// If there is no such flow, or rate control looks for its rate.
    pub fn set_rate(&mut self, flow: u32, rate: RateIndex) {
        let flow = &mut self.flows[flow as usize];
        assert!(flow.control.is_none(), "rate control looks for it");
        flow.rate = rate;
    }

    /// The place of a station's queue for an access category, among all of the network.
    fn queue_at(&self, station: usize, category: usize) -> usize {
        let at = self.first_queue[station] + category;
        assert!(at < self.first_queue[station + 1], "the station has no such queue");
        at
    }

    /// Saturated flows for which there had been no room offer their packets again.
    fn refill(&mut self, interface: usize, queue: &mut EventQueue<Event>) {
        let now = queue.now();
        self.top_up(interface, now);
        self.feed(interface, now, queue);
        self.conclude(queue);
    }
}
