//! A film: the player at the receiver, and how long each stall lasted.

use crate::counters::Timings;
use airqueue_core::Time;
use airqueue_transport::traffic::{Player, VideoCounters};

/// What shows a film.
#[derive(Debug)]
pub(super) struct Film {
    player: Player,
    /// The stalls that are over.
    stalls: Timings,
}

impl Film {
    pub(super) fn new(player: Player) -> Film {
        Film { player, stalls: Timings::default() }
    }

    /// Requests the next segment: its bytes.
    pub(super) fn request(&mut self, now: Time) -> u64 {
        self.player.request(now)
    }

    /// A segment has come whole. Returns when to request the next.
    pub(super) fn on_segment(&mut self, now: Time) -> Time {
        let next = self.player.on_segment(now);
        if let Some(stall) = self.player.take_stall() {
            self.stalls.add(stall);
        }
        next
    }

    /// The flow ends: nothing more is shown.
    pub(super) fn end(&mut self, now: Time) {
        self.player.end(now);
    }

    pub(super) fn start_counting(&mut self, now: Time) {
        self.player.start_counting(now);
        self.stalls.clear();
    }

    /// What the player did until now since counting began, and the stalls that ended in this time.
    pub(super) fn counters(&self, now: Time) -> (VideoCounters, &Timings) {
        (self.player.counters(now), &self.stalls)
    }
}
