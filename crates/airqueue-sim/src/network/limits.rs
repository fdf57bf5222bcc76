//! Limits of queues that change while a network runs.

use super::engine::Network;
use airqueue_core::Limit;

impl Network {
    /// Changes the limit of a station's queue for an access category, now, by the rules of
    /// [`Wlan::set_limit`](crate::wlan::Wlan::set_limit).
    ///
    /// # Panics
    ///
    /// If there is no such queue.
    pub fn set_limit(&mut self, station: usize, category: usize, limit: Limit) {
        let now = self.now();
        self.radio.queue.advance_to(now);
        self.radio.model.set_limit(station, category, limit, &mut self.radio.queue);
        self.pass_on(now);
    }

    /// The same of what one of the radio's flows has for itself: false where all wait in one queue
    /// ([`Wlan::set_flow_limit`](crate::wlan::Wlan::set_flow_limit)).
    ///
    /// # Panics
    ///
    /// If the radio has no such flow.
    pub fn set_flow_limit(&mut self, radio: usize, limit: Limit) -> bool {
        let now = self.now();
        self.radio.queue.advance_to(now);
        let changed = self.radio.model.set_flow_limit(radio as u32, limit, &mut self.radio.queue);
        self.pass_on(now);
        changed
    }
}
