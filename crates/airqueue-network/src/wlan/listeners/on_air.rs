//! The frames on the air.

use airqueue_wifi::medium::{Air, FrameId, StationId};

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameOnAir {
    pub(super) id: FrameId,
    /// The transmitter, which holds the frame: [`Mac::frame`](airqueue_wifi::mac::Mac::frame).
    pub(super) from: StationId,
    pub(super) air: Air,
    /// Which stations hear the frame: those that heard its transmitter when the frame began.
    pub(super) version: u32,
}

/// All frames on the air, by a number that is reused after the end of the frame.
#[derive(Clone, Debug, Default)]
pub(super) struct FramesOnAir {
    places: Vec<FrameOnAir>,
    free: Vec<u32>,
    next: u64,
}

impl FramesOnAir {
    /// A frame begins.
    #[inline]
    pub(super) fn begin(&mut self, from: StationId, air: Air, version: u32) -> u32 {
        self.next += 1;
        let on_air = FrameOnAir { id: FrameId(self.next), from, air, version };
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = on_air;
                place
            }
            None => {
                self.places.push(on_air);
                self.places.len() as u32 - 1
            }
        }
    }

    /// A frame on the air.
    #[inline]
    pub(super) fn at(&self, place: u32) -> &FrameOnAir {
        &self.places[place as usize]
    }

    /// The frame of a station that began last among those on the air.
    pub(super) fn last_of(&self, from: StationId) -> Option<&FrameOnAir> {
        let used = (0..).zip(&self.places).filter(|(place, _)| !self.free.contains(place));
        used.map(|(_, on_air)| on_air).filter(|of| of.from == from).max_by_key(|of| of.id)
    }

    /// Whether no frame is on the air.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// All frames on the air, in the order in which they began.
    pub(super) fn all(&self) -> Vec<u32> {
        let is_used = |place: &u32| !self.free.contains(place);
        let mut used: Vec<u32> = (0..self.places.len() as u32).filter(is_used).collect();
        used.sort_unstable_by_key(|&place| self.at(place).id);
        used
    }

    /// A frame has ended.
    pub(super) fn end(&mut self, place: u32) {
        self.free.push(place);
    }
}
