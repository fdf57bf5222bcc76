//! Who hears what at present.
//!
//! Most frames meet no other where they are heard. What becomes of such a frame follows from how well it
//! is heard, and that is known when the network is built. A station's
//! [`Reception`] is told of frames only when two of them overlap there or the station transmits itself.

use super::classes::{HearingClasses, NONE};
use super::on_air::FramesOnAir;
use airqueue_core::Time;
use airqueue_wifi::medium::{Air, End, FrameId, Reach, Reception, RxOutcome, Signal, StationId};
use std::ops::Range;

/// What a frame comes to that meets no other: whether it is sensed, decoded, and the receiver is with it to its end, one
/// bit each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone(u8);

/// One who hears a station, or a cohort of such, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    to: u32,
    pub(super) alone: Alone,
}

/// Who hears whom; never changes.
#[derive(Debug)]
pub(super) struct ListenerTable {
    reach: Reach,
    /// By transmitter: the stations that are in no cohort, those of them that take no part last, then the cohorts.
    listeners: Vec<Listener>,
    /// For each transmitter, and the end.
    begins: Vec<Begins>,
    /// Somebody wants to know what stations hear that take no part.
    all_listen: bool,
}

/// Where the ears for a transmitter begin.
#[derive(Clone, Copy, Debug)]
struct Begins {
    single: u32,
    watchers: u32,
    classes: u32,
}

/// What is heard at one place.
#[derive(Clone, Copy, Debug)]
struct ReceiverState {
    /// The place of the one frame on the air here, if it began while nothing else was.
    lone: u32,
    /// How many frames are on the air here.
    heard: u32,
    /// End of the station's own last transmission.
    deaf_until: Time,
}

/// What a receiver that has to be told of a frame is told from.
pub(super) struct OnAirNow<'a> {
    pub(super) listeners: &'a ListenerTable,
    pub(super) on_air_frames: &'a FramesOnAir,
}

/// What each listener hears of the frames on the medium.
#[derive(Debug)]
pub(super) struct Hearing {
    /// Of stations on their own.
    receivers: Vec<ReceiverState>,
    /// Of groups.
    groups: Vec<ReceiverState>,
    /// Of members of a group to which all frames are equally strong only the first is told of frames.
    receptions: Vec<Reception>,
}

impl Alone {
    const SENSED: u8 = 1;
    const DECODED: u8 = 2;
    const ENGAGED: u8 = 4;
    /// What a station's frames come to right beside it.
    pub(super) const NEARBY: Alone = Alone(Alone::SENSED | Alone::DECODED | Alone::ENGAGED);

    fn new(signal: Signal, reception: &Reception) -> Alone {
        let end = reception.alone(signal);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let decoded = bit(end.outcome.decoded(), Alone::DECODED);
        Alone(bit(signal.sensed(), Alone::SENSED) | decoded | bit(end.engaged, Alone::ENGAGED))
    }

    /// One for each link, in the order of the reach.
    pub(super) fn of_links(reach: &Reach, receptions: &[Reception]) -> Vec<Alone> {
        let stations = (0..reach.stations() as u32).map(StationId);
        let listeners_of = stations.flat_map(|from| reach.listeners_of(from));
        listeners_of.map(|h| Alone::new(h.signal(), &receptions[h.station.index()])).collect()
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// It makes the medium busy.
    #[inline(always)]
    pub(super) fn is_sensed(self) -> bool {
        self.0 & Alone::SENSED != 0
    }

    #[inline(always)]
    pub(super) fn end(self) -> End {
        let decoded = self.0 & Alone::DECODED != 0;
        let outcome = if decoded { RxOutcome::Received } else { RxOutcome::Undecodable };
        let engaged = self.0 & Alone::ENGAGED != 0;
        End { outcome, engaged, ignored: false, interference_w: 0.0, overlapped: false }
    }
}

impl Listener {
    /// The station, of one outside cohorts.
    #[inline]
    pub(super) fn station(&self) -> StationId {
        StationId(self.to)
    }

    /// The place of the cohort, of one.
    #[inline]
    pub(super) fn class(&self) -> usize {
        self.to as usize
    }
}

impl ListenerTable {
    /// `takes_part`: of each station, whether packets come from there or go there.
    pub(super) fn new(
        reach: Reach,
        alone: &[Alone],
        classes: &HearingClasses,
        takes_part: &[bool],
    ) -> ListenerTable {
        let (mut listeners, mut begins) = (Vec::new(), Vec::with_capacity(reach.stations() + 1));
        let (mut watchers, mut many) = (Vec::new(), Vec::new());
        let mut last = vec![NONE; classes.all.len()];
        let mut links = alone.iter();
        for from in 0..reach.stations() as u32 {
            let single = listeners.len() as u32;
            for (hearer, &alone) in reach.listeners_of(StationId(from)).iter().zip(links.by_ref()) {
                let class = classes.memberships[hearer.station.index()].class;
                if class == NONE && takes_part[hearer.station.index()] {
                    listeners.push(Listener { to: hearer.station.0, alone });
                } else if class == NONE {
                    watchers.push(Listener { to: hearer.station.0, alone });
                } else if std::mem::replace(&mut last[class as usize], from) != from {
                    many.push(Listener { to: class, alone });
                }
            }
            let first_watcher = listeners.len() as u32;
            listeners.append(&mut watchers);
            begins.push(Begins {
                single,
                watchers: first_watcher,
                classes: listeners.len() as u32,
            });
            listeners.append(&mut many);
        }
        let end = listeners.len() as u32;
        begins.push(Begins { single: end, watchers: end, classes: end });
        listeners.shrink_to_fit();
        ListenerTable { reach, listeners, begins, all_listen: false }
    }

    /// From now on there are no watchers. True if there may have been some.
    pub(super) fn let_all_listen(&mut self) -> bool {
        !std::mem::replace(&mut self.all_listen, true)
    }

    /// The stations outside cohorts that hear one and take no part: where they are in the list.
    #[inline]
    pub(super) fn watchers(&self, from: StationId) -> Range<usize> {
        let Begins { watchers, classes, .. } = self.begins[from.index()];
        if self.all_listen { 0..0 } else { watchers as usize..classes as usize }
    }

    /// The stations outside cohorts that hear one and are no [`Self::watchers`], and the cohorts whose stations,
    /// itself excepted, do: where they are in the list.
    #[inline]
    pub(super) fn of(&self, from: StationId) -> (Range<usize>, Range<usize>) {
        let Begins { single, watchers, classes } = self.begins[from.index()];
        let end = self.begins[from.index() + 1].single;
        let singles = if self.all_listen { classes } else { watchers };
        (single as usize..singles as usize, classes as usize..end as usize)
    }

    /// An entry of the list.
    #[inline]
    pub(super) fn at(&self, at: usize) -> Listener {
        self.listeners[at]
    }

    /// How one of them hears it.
    pub(super) fn signal(&self, from: StationId, station: StationId) -> Signal {
        self.reach.signal(from, station).expect("a link for each ear")
    }
}

impl ReceiverState {
    const SILENT: ReceiverState = ReceiverState { lone: NONE, heard: 0, deaf_until: Time::ZERO };

    /// Receivers here have been told of what is on the air.
    fn is_told(&self) -> bool {
        self.heard > 0 && self.lone == NONE
    }
}

impl Hearing {
    /// A silent medium.
    pub(super) fn new(receptions: Vec<Reception>, groups: usize) -> Hearing {
        let receivers = vec![ReceiverState::SILENT; receptions.len()];
        Hearing { receivers, groups: vec![ReceiverState::SILENT; groups], receptions }
    }

    /// A station begins to transmit.
    pub(super) fn transmit(&mut self, from: StationId, air: Air, on: &OnAirNow) {
        self.tell(from, on);
        self.receivers[from.index()].deaf_until = air.ends;
        self.receptions[from.index()].on_transmit(air);
    }

    /// Tells a station's receiver of the frame that was alone there.
    fn tell(&mut self, station: StationId, on: &OnAirNow) {
        let lone = std::mem::replace(&mut self.receivers[station.index()].lone, NONE);
        if lone != NONE {
            self.tell_of(station, lone, on);
        }
    }

    #[inline(always)]
    fn tell_of(&mut self, station: StationId, place: u32, on: &OnAirNow) {
        let on_air = on.on_air_frames.at(place);
        let signal = on.listeners.signal(on_air.from, station);
        self.receptions[station.index()].on_begin(on_air.id, on_air.air, signal);
    }

    /// A frame begins to be heard by a station on its own.
    #[inline(always)]
    pub(super) fn begin(&mut self, station: StationId, place: u32, now: Time, on: &OnAirNow) {
        let receiver = &mut self.receivers[station.index()];
        receiver.heard += 1;
        if receiver.heard == 1 && now >= receiver.deaf_until {
            receiver.lone = place;
        } else {
            self.begin_among_others(station, place, on);
        }
    }

    #[cold]
    fn begin_among_others(&mut self, station: StationId, place: u32, on: &OnAirNow) {
        self.tell(station, on);
        self.tell_of(station, place, on);
    }

    /// The same for a group; `told`: those of its members that are to be told.
    #[inline]
    pub(super) fn begin_at_group(
        &mut self,
        group: usize,
        told: &[StationId],
        place: u32,
        on: &OnAirNow,
    ) {
        let receiver = &mut self.groups[group];
        receiver.heard += 1;
        if receiver.heard == 1 {
            receiver.lone = place;
            return;
        }
        // The one that was alone there until now, and the one that begins.
        let lone = std::mem::replace(&mut receiver.lone, NONE);
        for of in [lone, place].into_iter().filter(|&of| of != NONE) {
            for &member in told {
                self.tell_of(member, of, on);
            }
        }
    }

    /// A frame ends where a station on its own heard it: what became of it.
    #[inline(always)]
    pub(super) fn end(&mut self, station: StationId, alone: Alone, place: u32, id: FrameId) -> End {
        if self.end_alone(station, place) {
            return alone.end();
        }
        self.receivers[station.index()].heard -= 1;
        self.end_among_others(station, id)
    }

    /// The same if it met no other there; false, and nothing has changed, if it did.
    #[inline(always)]
    pub(super) fn end_alone(&mut self, station: StationId, place: u32) -> bool {
        let receiver = &mut self.receivers[station.index()];
        let alone = receiver.lone == place;
        if alone {
            (receiver.heard, receiver.lone) = (receiver.heard - 1, NONE);
        }
        alone
    }

    #[cold]
    fn end_among_others(&mut self, station: StationId, id: FrameId) -> End {
        self.end_told(station, id)
    }

    /// The same for a station whose receiver was told.
    #[inline(always)]
    pub(super) fn end_told(&mut self, station: StationId, id: FrameId) -> End {
        self.receptions[station.index()].on_end(id).expect("a frame that ends has begun")
    }

    /// A frame ends at a group. Whether it was alone there; otherwise receivers were told of it.
    #[inline(always)]
    pub(super) fn end_at_group(&mut self, group: usize, place: u32) -> bool {
        let receiver = &mut self.groups[group];
        receiver.heard -= 1;
        let alone = receiver.lone == place;
        if alone {
            receiver.lone = NONE;
        }
        alone
    }

    /// What others left of a part of the frame that ended last where a station, whose receiver was told, heard it.
    pub(super) fn beside(&self, told: StationId, part: Air, signal: Signal) -> Option<f64> {
        self.receptions[told.index()].beside(part, signal)
    }

    /// A group that was empty gets members, who hear nothing.
    pub(super) fn found_group(&mut self, group: usize) {
        self.groups[group] = ReceiverState::SILENT;
    }

    /// The same, of members of another group, who hear what that hears.
    pub(super) fn branch_off(&mut self, group: usize, other: usize) {
        self.groups[group] = self.groups[other];
    }

    /// Whether receivers of a group have been told of what is on the air there.
    pub(super) fn is_told_at_group(&self, group: usize) -> bool {
        self.groups[group].is_told()
    }

    /// A station is about to leave its group and hears from now on what that hears.
    /// `uniform`: the first and the second member of those who stood for all, if anyone did.
    pub(super) fn set_apart(
        &mut self,
        station: StationId,
        group: usize,
        uniform: Option<(StationId, Option<StationId>)>,
    ) {
        let ReceiverState { lone, heard, .. } = self.groups[group];
        let receiver = &mut self.receivers[station.index()];
        (receiver.lone, receiver.heard) = (lone, heard);
        let Some((first, heir)) = uniform.filter(|_| self.groups[group].is_told()) else { return };
        let to = if first == station { heir } else { Some(station) };
        if let Some(to) = to
            && let Ok([from, to]) = self.receptions.get_disjoint_mut([first.index(), to.index()])
        {
            to.hear_as(from);
        }
    }

    /// Whether a station on its own hears nothing.
    #[inline]
    pub(super) fn is_silent(&self, station: StationId) -> bool {
        self.receivers[station.index()].heard == 0
    }

    /// Whether a group hears nothing.
    #[inline]
    pub(super) fn is_silent_at_group(&self, group: usize) -> bool {
        self.groups[group].heard == 0
    }

    /// Whether the receiver of a station on its own is with a frame at `now` that it may yet decode.
    pub(super) fn receiving(&self, station: StationId, now: Time, on: &OnAirNow) -> bool {
        let reception = &self.receptions[station.index()];
        if self.receivers[station.index()].lone == NONE {
            return reception.receiving(now);
        }
        let on_air = on.on_air_frames.at(self.receivers[station.index()].lone);
        let signal = on.listeners.signal(on_air.from, station);
        reception.may_decode(on_air.air.begins, signal, now)
    }
}
