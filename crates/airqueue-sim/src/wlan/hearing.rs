//! Who hears what at present.
//!
//! Most frames meet no other where they are heard. What becomes of such a frame follows from how well it
//! is heard, and that is known when the network is built. A station's
//! [`Reception`] is told of frames only when two of them overlap there or the station transmits itself.

use super::air::Airings;
use airqueue_core::Time;
use airqueue_wifi::medium::{Air, End, FrameId, Outcome, Reach, Reception, Signal, StationId};

/// One who hears a station, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ear {
    station: u32,
    /// Frames make the medium busy here.
    pub(super) sensed: bool,
    /// A frame that meets no other is decoded.
    decoded: bool,
    /// The receiver is with such a frame to its end.
    engaged: bool,
}

/// Who hears whom; never changes.
#[derive(Debug)]
pub(super) struct Ears {
    reach: Reach,
    ears: Vec<Ear>,
    /// Where the ears of each station begin, and the end.
    offsets: Vec<usize>,
}

/// What a station hears.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// The place of the one frame on the air here, if it began while nothing else was.
    lone: u32,
    /// How many frames are on the air here.
    heard: u32,
    /// End of the station's own last transmission.
    deaf_until: Time,
}

/// What a receiver that has to be told of a frame is told from.
pub(super) struct OnAirNow<'a> {
    pub(super) ears: &'a Ears,
    pub(super) airings: &'a Airings,
}

/// No place of a frame.
const NONE: u32 = u32::MAX;

/// The medium at work.
#[derive(Debug)]
pub(super) struct Hearing {
    spots: Vec<Spot>,
    receptions: Vec<Reception>,
}

impl Ear {
    #[inline]
    pub(super) fn station(&self) -> usize {
        self.station as usize
    }
}

impl Ears {
    pub(super) fn new(reach: Reach, receptions: &[Reception]) -> Ears {
        let mut ears = Vec::with_capacity(reach.links());
        let mut offsets = vec![0];
        for from in 0..reach.stations() {
            for hearer in reach.hearers(StationId(from as u32)) {
                let alone = receptions[hearer.station.index()].alone(hearer.signal());
                ears.push(Ear {
                    station: hearer.station.0,
                    sensed: hearer.signal().sensed(),
                    decoded: alone.outcome.decoded(),
                    engaged: alone.engaged,
                });
            }
            offsets.push(ears.len());
        }
        Ears { reach, ears, offsets }
    }

    /// Those who hear a station.
    #[inline]
    pub(super) fn of(&self, from: StationId) -> &[Ear] {
        &self.ears[self.offsets[from.index()]..self.offsets[from.index() + 1]]
    }

    /// How one of them hears it.
    pub(super) fn signal(&self, from: StationId, station: usize) -> Signal {
        let signal = self.reach.signal(from, StationId(station as u32));
        signal.expect("a link for each ear")
    }
}

impl Hearing {
    /// A silent medium.
    pub(super) fn new(receptions: Vec<Reception>) -> Hearing {
        let silent = Spot { lone: NONE, heard: 0, deaf_until: Time::ZERO };
        Hearing { spots: vec![silent; receptions.len()], receptions }
    }

    /// A station begins to transmit.
    pub(super) fn transmit(&mut self, from: StationId, air: Air, on: &OnAirNow) {
        self.tell(from.index(), on);
        self.spots[from.index()].deaf_until = air.ends;
        self.receptions[from.index()].on_transmit(air);
    }

    /// Tells a station's receiver of the frame that was alone there.
    fn tell(&mut self, station: usize, on: &OnAirNow) {
        let lone = std::mem::replace(&mut self.spots[station].lone, NONE);
        if lone != NONE {
            self.tell_of(station, lone, on);
        }
    }

    fn tell_of(&mut self, station: usize, place: u32, on: &OnAirNow) {
        let on_air = on.airings.at(place);
        let signal = on.ears.signal(on_air.frame.from, station);
        self.receptions[station].on_begin(on_air.id, on_air.air, signal);
    }

    /// A frame begins to be heard.
    #[inline(always)]
    pub(super) fn begin(&mut self, ear: Ear, place: u32, now: Time, on: &OnAirNow) {
        let spot = &mut self.spots[ear.station()];
        spot.heard += 1;
        if spot.heard == 1 && now >= spot.deaf_until {
            spot.lone = place;
        } else {
            self.begin_among_others(ear.station(), place, on);
        }
    }

    #[cold]
    fn begin_among_others(&mut self, station: usize, place: u32, on: &OnAirNow) {
        self.tell(station, on);
        self.tell_of(station, place, on);
    }

    /// A frame ends where it was heard: what became of it.
    #[inline(always)]
    pub(super) fn end(&mut self, ear: Ear, place: u32, id: FrameId) -> End {
        let spot = &mut self.spots[ear.station()];
        spot.heard -= 1;
        if spot.lone == place {
            spot.lone = NONE;
            let outcome = if ear.decoded { Outcome::Received } else { Outcome::Undecodable };
            return End { outcome, engaged: ear.engaged, interference_w: 0.0 };
        }
        self.end_among_others(ear.station(), id)
    }

    #[cold]
    fn end_among_others(&mut self, station: usize, id: FrameId) -> End {
        self.receptions[station].on_end(id).expect("a frame that ends has begun")
    }

    /// Whether a station's receiver is with a frame at `now` that it may yet decode.
    pub(super) fn receiving(&self, station: usize, now: Time, on: &OnAirNow) -> bool {
        let reception = &self.receptions[station];
        if self.spots[station].lone == NONE {
            return reception.receiving(now);
        }
        let on_air = on.airings.at(self.spots[station].lone);
        let signal = on.ears.signal(on_air.frame.from, station);
        reception.may_decode(on_air.air.begins, signal, now)
    }
}
