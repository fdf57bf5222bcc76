//! The device between the two hosts.

use airqueue_core::{Packet, Time};
use airqueue_network::bottleneck::Bottleneck;
use airqueue_network::outcome::Outcome;
use airqueue_probe::client::Direction;
use std::collections::VecDeque;
use std::fmt::Debug;

/// The direction of a packet, relative to the present plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathDirection {
    /// The direction that the plan loads.
    Forward,
    /// The opposite direction.
    Reverse,
}

/// A device with queues, as a state machine: after any call take the outcomes with
/// [`Self::poll_outcome`], and call [`Self::on_deadline`] at [`Self::next_deadline`]. Within one instant,
/// deadlines come before arrivals.
pub trait Device: Debug + Send + Sync {
    /// Makes this direction the loaded one.
    fn load(&mut self, direction: Direction);

    /// A packet arrives.
    fn enqueue(&mut self, packet: Packet, direction: PathDirection, now: Time);

    /// When `on_deadline` must be called next.
    fn next_deadline(&self) -> Option<Time>;

    /// Handles a deadline.
    fn on_deadline(&mut self, now: Time);

    /// The next outcome, in order of time.
    fn poll_outcome(&mut self) -> Option<(PathDirection, Outcome)>;

    /// Packets and bytes (link layer included) waiting in the loaded direction, in all stages, packets in service
    /// excluded.
    fn waiting(&self) -> (u64, u64);
}

/// A bottleneck in the loaded direction; the opposite direction has no device.
#[derive(Debug)]
pub struct OneWay {
    bottleneck: Bottleneck,
    passed: VecDeque<Packet>,
}

impl OneWay {
    /// A path with this bottleneck.
    pub fn new(bottleneck: Bottleneck) -> OneWay {
        OneWay { bottleneck, passed: VecDeque::new() }
    }
}

impl Device for OneWay {
    fn load(&mut self, _direction: Direction) {}

    fn enqueue(&mut self, packet: Packet, direction: PathDirection, now: Time) {
        match direction {
            PathDirection::Forward => self.bottleneck.enqueue(packet, now),
            PathDirection::Reverse => self.passed.push_back(packet),
        }
    }

    fn next_deadline(&self) -> Option<Time> {
        self.bottleneck.next_deadline()
    }

    fn on_deadline(&mut self, now: Time) {
        self.bottleneck.on_deadline(now);
    }

    fn poll_outcome(&mut self) -> Option<(PathDirection, Outcome)> {
        let passed = self
            .passed
            .pop_front()
            .map(|packet| (PathDirection::Reverse, Outcome::Delivered(packet)));
        passed.or_else(|| {
            self.bottleneck.poll_outcome().map(|outcome| (PathDirection::Forward, outcome))
        })
    }

    fn waiting(&self) -> (u64, u64) {
        self.bottleneck.waiting()
    }
}
