//! What is on the air.

use airqueue_core::Time;
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::{Air, FrameId};

/// A frame on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    pub(super) id: FrameId,
    pub(super) frame: Frame,
    pub(super) begins: Time,
}

/// All frames on the air, by a number that is free again when the frame has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Airings {
    places: Vec<OnAir>,
    free: Vec<u32>,
    next: u64,
}

impl Airings {
    /// A frame begins.
    pub(super) fn begin(&mut self, frame: Frame, air: Air) -> (u32, FrameId) {
        self.next += 1;
        let on_air = OnAir { id: FrameId(self.next), frame, begins: air.begins };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = on_air;
                place
            }
            None => {
                self.places.push(on_air);
                self.places.len() as u32 - 1
            }
        };
        (place, on_air.id)
    }

    /// It has ended.
    pub(super) fn end(&mut self, place: u32) -> OnAir {
        self.free.push(place);
        self.places[place as usize]
    }
}
