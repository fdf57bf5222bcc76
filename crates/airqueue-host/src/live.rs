//! Control and counters of an emulation while it runs.

use crate::clock::monotonic;
use crate::emulator::{Emulator, State};
use airqueue_core::{Span, Time};
use airqueue_emulator::{Change, Lateness, Snapshot};
use std::time::Duration;

/// How often, and how many times at most, it is looked whether the loop has made a change: a loop that has ended makes
/// none.
const LOOK_EVERY: Duration = Duration::from_micros(100);
const MOST_LOOKS: usize = 1000;

/// All counters of an emulation, and of its loop, at a moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The moment on the wall clock.
    pub at: Time,
    /// The network.
    pub network: Snapshot,
    /// How late packets were written.
    pub lateness: Lateness,
    /// How long packets may have waited to be read.
    pub read_lateness: Lateness,
    /// Packets that a device did not take.
    pub unwritten: u64,
    /// Wall-clock time since the end of the warm-up.
    pub elapsed: Span,
    /// CPU time of the loop in this time.
    pub cpu: Span,
}

impl Emulator {
    /// Changes the network now (`Emulated::change` of the scenario), or, before
    /// real time has begun, at the present moment of the warm-up. Returns the time of the change in the network, as soon
    /// as a running loop has made the change.
    pub fn change(&self, changes: &[Change]) -> Time {
        let at = self.with(|state| {
            let present = state.emulation.now();
            let at = state.offset.map_or(present, |offset| (monotonic() + offset).max(present));
            state.emulation.change(changes, at);
            at
        });
        // The change comes before the next packet for which the loop waits.
        self.wake();
        let made = |state: &mut State| state.emulation.next_at().is_none_or(|next| next > at);
        for _ in 0..MOST_LOOKS {
            if !self.started() || self.with(made) {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        at
    }

    /// The counters at this moment.
    pub fn moment(&self) -> Moment {
        self.with(State::moment)
    }
}

impl State {
    fn moment(&mut self) -> Moment {
        Moment {
            at: monotonic(),
            network: self.emulation.snapshot(),
            lateness: self.lateness.clone(),
            read_lateness: self.read_lateness.clone(),
            unwritten: self.unwritten,
            elapsed: self.elapsed,
            cpu: self.cpu,
        }
    }
}
