//! The TCP segments in transit.

use airqueue_core::{Payload, TcpHeader};
use airqueue_transport::tcp::Segment;

/// A segment, and the number of its connection within the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) segment: Segment,
    pub(super) connection: u32,
}

/// Segments by the handles that packets carry. Places are reused: the store allocates nothing once it has held the
/// largest number of segments in transit.
#[derive(Debug, Default)]
pub(super) struct SegmentStore {
    places: Vec<Stored>,
    free: Vec<u32>,
}

impl SegmentStore {
    /// Stores a segment until it is taken.
    pub(super) fn put(&mut self, stored: Stored) -> Payload {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = stored;
            return Payload(place);
        }
        self.places.push(stored);
        Payload(self.places.len() as u32 - 1)
    }

    /// Number of segments stored.
    pub(super) fn kept(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The header of a stored segment, as queues read headers.
    pub(super) fn header(&self, payload: Payload) -> TcpHeader {
        let Stored { segment, connection } = &self.places[payload.0 as usize];
        segment.tcp_header(*connection)
    }

    /// Takes a segment out. Each handle is used once.
    pub(super) fn take(&mut self, payload: Payload) -> Stored {
        self.free.push(payload.0);
        self.places[payload.0 as usize]
    }
}
