//! Frames that take time to their listeners: each listener begins and ends hearing a frame at a time of its own.
//!
//! Where frames are everywhere at once, the MAC of a sender holds a frame until its end, and nothing here is used. A frame on
//! its way outlasts what its sender does next, so that the frame and its packets are kept here until the last listener has
//! heard its end.

use super::Listeners;
use super::rx_end::Ending;
use crate::wlan::tap::{FrameReception, Socket};
use airqueue_core::{Span, Time};
use airqueue_wifi::mac::{Frame, FrameKind, Msdu, Scoreboard};
use airqueue_wifi::medium::Air;

/// A frame on its way.
#[derive(Debug)]
struct Flight {
    frame: Frame,
    scoreboard: Scoreboard,
    /// The packets of a data frame, with their sequence numbers.
    sent: Vec<(u64, Msdu)>,
    /// The delay of each listener and the listener's place in the table, by rising delay.
    listeners: Vec<(Span, u32)>,
    /// How many of them have heard the beginning, and the end.
    begun: usize,
    ended: usize,
    /// The fate of the frame at those that have heard its end, for a tap.
    receptions: Vec<FrameReception>,
}

/// The frames on their way, by their places among the frames on the air.
#[derive(Debug, Default)]
pub(super) struct Flights {
    all: Vec<Flight>,
}

/// A frame of which nothing is on its way any more.
pub(in crate::wlan) struct Landed<'a> {
    pub(in crate::wlan) frame: Frame,
    pub(in crate::wlan) sent: &'a [(u64, Msdu)],
    pub(in crate::wlan) receptions: &'a [FrameReception],
    /// When the frame was on the air at its sender.
    pub(in crate::wlan) air: Air,
}

impl Flight {
    fn new(frame: Frame) -> Flight {
        Flight {
            frame,
            scoreboard: Scoreboard::default(),
            sent: Vec::new(),
            listeners: Vec::new(),
            begun: 0,
            ended: 0,
            receptions: Vec::new(),
        }
    }

    /// Keeps another frame, in the same memory.
    fn reuse(&mut self, frame: Frame) {
        self.frame = frame;
        self.sent.clear();
        self.listeners.clear();
        self.receptions.clear();
        (self.begun, self.ended) = (0, 0);
    }
}

impl Flights {
    /// The packets of a frame, with their sequence numbers.
    pub(super) fn sent(&self, place: u32) -> impl Iterator<Item = (u64, &Msdu)> {
        self.all[place as usize].sent.iter().map(|(sequence, msdu)| (*sequence, msdu))
    }

    /// The place for a frame that sets off.
    fn room_for(&mut self, place: u32, frame: Frame) -> &mut Flight {
        let place = place as usize;
        while self.all.len() <= place {
            self.all.push(Flight::new(frame));
        }
        self.all[place].reuse(frame);
        &mut self.all[place]
    }
}

impl Listeners {
    /// Whether frames take time to their listeners.
    #[inline]
    pub(in crate::wlan) fn are_delayed(&self) -> bool {
        self.flights.is_some()
    }

    /// The frame that ends at a listener, or at all.
    #[inline(always)]
    pub(in crate::wlan) fn frame_of(&self, ending: &Ending) -> &Frame {
        match &self.flights {
            Some(flights) => &flights.all[ending.place as usize].frame,
            None => self.macs[ending.from.index()].frame(),
        }
    }

    /// The first packet of a data frame that ends whose sequence number is one of these.
    pub(in crate::wlan) fn first_sent(
        &self,
        ending: &Ending,
        is: impl Fn(u64) -> bool,
    ) -> Option<Msdu> {
        let first = match &self.flights {
            Some(flights) => flights.sent(ending.place).find(|(sequence, _)| is(*sequence)),
            None => {
                let sender = &self.macs[ending.from.index()];
                sender.sent(sender.frame().ac).find(|(sequence, _)| is(*sequence))
            }
        };
        first.map(|(_, msdu)| *msdu)
    }

    /// The contents of a block ack that ends.
    pub(super) fn scoreboard_of(&self, ending: &Ending) -> &Scoreboard {
        match &self.flights {
            Some(flights) => &flights.all[ending.place as usize].scoreboard,
            None => self.macs[ending.from.index()].scoreboard(),
        }
    }

    fn flight(&self, place: u32) -> &Flight {
        &self.flights.as_ref().expect("frames are delayed").all[place as usize]
    }

    fn flight_mut(&mut self, place: u32) -> &mut Flight {
        &mut self.flights.as_mut().expect("frames are delayed").all[place as usize]
    }

    /// A frame that has begun at its sender sets off to its listeners.
    pub(super) fn set_off(&mut self, place: u32) {
        let from = self.on_air_frames.at(place).from;
        let Some(flights) = &mut self.flights else { return };
        let (mac, table) = (&self.macs[from.index()], self.listeners.now());
        let frame = *mac.frame();
        let flight = flights.room_for(place, frame);
        match frame.kind {
            FrameKind::BlockAck => flight.scoreboard = *mac.scoreboard(),
            FrameKind::Data => {
                flight.sent.extend(mac.sent(frame.ac).map(|(sequence, msdu)| (sequence, *msdu)));
            }
            _ => {}
        }
        let delay = |at: usize| table.reach().delay(from, table.at(at).station());
        flight.listeners.extend(table.of(from).0.map(|at| (delay(at), at as u32)));
        flight.listeners.sort_unstable();
    }

    /// When the next listeners of a frame hear its beginning.
    pub(in crate::wlan) fn next_begin(&self, place: u32) -> Option<Time> {
        let flight = self.flight(place);
        let (delay, _) = flight.listeners.get(flight.begun)?;
        Some(self.on_air_frames.at(place).air.begins + *delay)
    }

    /// When the next listeners of a frame hear its end.
    pub(in crate::wlan) fn next_end(&self, place: u32) -> Option<Time> {
        let flight = self.flight(place);
        let (delay, _) = flight.listeners.get(flight.ended)?;
        Some(self.on_air_frames.at(place).air.ends + *delay)
    }

    /// The beginning of a frame reaches its next listeners, now.
    pub(in crate::wlan) fn reach_next(&mut self, place: u32, now: Time) {
        while self.next_begin(place) == Some(now) {
            let flight = self.flight_mut(place);
            let (_, at) = flight.listeners[flight.begun];
            flight.begun += 1;
            let version = self.on_air_frames.at(place).version;
            let listener = self.listeners.for_frame(version).at(at as usize);
            let listener = listener.heard_as(self.alone(listener, place));
            self.begin_at(listener, place, now);
        }
    }

    /// The sender of a frame is done with the frame now.
    pub(in crate::wlan) fn send_whole(&mut self, place: u32, now: Time) -> Ending {
        let on_air = *self.on_air_frames.at(place);
        self.macs[on_air.from.index()].on_transmitted(now, &self.radio);
        self.ending_at(place, Span::ZERO)
    }

    /// The end of a frame reaches its next listeners, now. [`Self::poll_touched`] is due.
    pub(in crate::wlan) fn leave_next<const TAPPED: bool>(
        &mut self,
        place: u32,
        now: Time,
        tap: &mut Socket,
    ) -> Ending {
        let delay = now - self.on_air_frames.at(place).air.ends;
        let mut ending = self.ending_at(place, delay);
        while self.next_end(place) == Some(now) {
            let flight = self.flight_mut(place);
            let (_, at) = flight.listeners[flight.ended];
            flight.ended += 1;
            let listener = self.listeners.for_frame(ending.version).at(at as usize);
            let listener = listener.heard_as(self.alone(listener, place));
            self.end_at::<TAPPED>(listener, &mut ending, tap);
        }
        if TAPPED {
            tap.move_receptions(&mut self.flight_mut(place).receptions);
        }
        self.touched.sort_unstable();
        ending
    }

    /// A frame as it ends at a listener with this delay.
    fn ending_at(&self, place: u32, delay: Span) -> Ending {
        let (on_air, frame) = (*self.on_air_frames.at(place), &self.flight(place).frame);
        let now = on_air.air.ends + delay;
        Ending {
            begins: on_air.air.begins + delay,
            ..Ending::new(on_air, place, frame, now, &self.radio)
        }
    }

    /// The last listener has heard the end of a frame, or there is none.
    pub(in crate::wlan) fn land(&mut self, place: u32) {
        self.on_air_frames.end(place);
    }

    /// A frame of which nothing is on its way any more.
    pub(in crate::wlan) fn landed(&self, place: u32) -> Landed<'_> {
        let air = self.on_air_frames.at(place).air;
        let Flight { frame, sent, receptions, .. } = self.flight(place);
        Landed { frame: *frame, sent, receptions, air }
    }
}
