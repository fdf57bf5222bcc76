//! The segments that are under way.

use airqueue_core::Payload;
use airqueue_transport::tcp::Segment;

/// A segment, and which of the connections of its flow it belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) segment: Segment,
    pub(super) connection: u32,
}

/// Segments by the handles that packets carry. Places are used again: nothing is allocated once as many
/// have been under way as ever will be.
#[derive(Debug, Default)]
pub(super) struct SegmentStore {
    places: Vec<Stored>,
    free: Vec<u32>,
}

impl SegmentStore {
    /// Keeps a segment until it is taken.
    pub(super) fn put(&mut self, stored: Stored) -> Payload {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = stored;
            return Payload(place);
        }
        self.places.push(stored);
        Payload(self.places.len() as u32 - 1)
    }

    /// How many have been put in and not taken.
    pub(super) fn kept(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Takes a segment out. A packet carries each handle once.
    pub(super) fn take(&mut self, payload: Payload) -> Stored {
        self.free.push(payload.0);
        self.places[payload.0 as usize]
    }
}
