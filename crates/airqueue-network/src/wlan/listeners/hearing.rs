//! What each listener hears at present.
//!
//! Most frames meet no other frame at their listeners. The outcome of such a frame depends only on its signal, and is
//! computed when the network is built. A station's [`Reception`] tracks frames only when two frames overlap at the
//! station or the station itself transmits.

use super::classes::{HearingClasses, NONE};
use super::on_air::FramesOnAir;
use airqueue_core::Time;
use airqueue_wifi::medium::{Air, End, FrameId, Reach, Reception, RxOutcome, Signal, StationId};
use std::ops::Range;

/// The outcome of a frame that meets no other frame, one bit each: sensed, decoded, and the receiver stays with the
/// frame to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone(u8);

/// A listener of a transmitter, or a hearing class of listeners, and the outcome of the transmitter's frames there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    to: u32,
    pub(super) alone: Alone,
}

/// Which station hears which.
#[derive(Debug)]
pub(super) struct ListenerTable {
    reach: Reach,
    /// By transmitter: the listeners in no hearing class, among them last those without flows, then the hearing
    /// classes.
    listeners: Vec<Listener>,
    /// The start of each transmitter's listeners, then the end of the list.
    begins: Vec<Begins>,
    /// For each transmitter, whether all other stations with flows sense its frames.
    silences_all: Vec<bool>,
    /// Whether stations without flows listen too, because of a tap.
    all_listen: bool,
}

/// Which station hears which now, and which heard which when frames began that are still on the air.
#[derive(Debug)]
pub(super) struct Tables {
    now: ListenerTable,
    version: u32,
    old: Vec<(u32, ListenerTable)>,
}

/// Where the listeners of a transmitter begin, by kind.
#[derive(Clone, Copy, Debug)]
struct Begins {
    single: u32,
    watchers: u32,
    classes: u32,
}

/// The frames on the air at one place.
#[derive(Clone, Copy, Debug)]
struct ReceiverState {
    /// The place of the only frame on the air here, if this frame began on a silent medium.
    lone: u32,
    /// Number of frames on the air here.
    frames: u32,
    /// End of the station's own last transmission.
    deaf_until: Time,
}

/// The frames on the air, as receivers get them.
pub(super) struct OnAirNow<'a> {
    pub(super) listeners: &'a Tables,
    pub(super) on_air_frames: &'a FramesOnAir,
}

/// The frames that each listener hears at present.
#[derive(Debug)]
pub(super) struct Hearing {
    /// The receivers of stations on their own.
    receivers: Vec<ReceiverState>,
    /// The receivers of groups.
    groups: Vec<ReceiverState>,
    /// If overlapping frames have the same outcome at all members of a group, only the first member tracks frames.
    receptions: Vec<Reception>,
}

impl Alone {
    const SENSED: u8 = 1;
    const DECODED: u8 = 2;
    const ENGAGED: u8 = 4;
    /// The outcome of a station's frames right beside the station.
    pub(super) const NEARBY: Alone = Alone(Alone::SENSED | Alone::DECODED | Alone::ENGAGED);

    fn new(signal: Signal, reception: &Reception) -> Alone {
        let end = reception.alone(signal);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let decoded = bit(end.outcome.decoded(), Alone::DECODED);
        Alone(bit(signal.sensed(), Alone::SENSED) | decoded | bit(end.engaged, Alone::ENGAGED))
    }

    /// The outcome for each link, in the order of the reach.
    pub(super) fn of_links(reach: &Reach, receptions: &[Reception]) -> Vec<Alone> {
        let stations = (0..reach.stations() as u32).map(StationId);
        let listeners_of = stations.flat_map(|from| reach.listeners_of(from));
        listeners_of.map(|h| Alone::new(h.signal(), &receptions[h.station.index()])).collect()
    }

    pub(super) fn bits(self) -> u8 {
        self.0
    }

    /// Whether the frame makes the medium busy.
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
    /// The station, for an entry outside hearing classes.
    #[inline]
    pub(super) fn station(&self) -> StationId {
        StationId(self.to)
    }

    /// The place of the hearing class, for an entry that is a class.
    #[inline]
    pub(super) fn class(&self) -> usize {
        self.to as usize
    }
}

impl Tables {
    pub(super) fn new(now: ListenerTable) -> Tables {
        Tables { now, version: 0, old: Vec::new() }
    }

    /// The table for frames that begin now.
    #[inline(always)]
    pub(super) fn now(&self) -> &ListenerTable {
        &self.now
    }

    /// The number of this table.
    #[inline(always)]
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// The table for a frame on the air.
    #[inline(always)]
    pub(super) fn for_frame(&self, version: u32) -> &ListenerTable {
        if version == self.version { &self.now } else { self.former(version) }
    }

    #[cold]
    fn former(&self, version: u32) -> &ListenerTable {
        let found = self.old.iter().find(|(of, _)| *of == version);
        &found.expect("the table of a frame on the air is kept").1
    }

    /// Frames that begin from now on have another table; `used`: whether a frame on the air has the table with a number.
    pub(super) fn replace(&mut self, mut now: ListenerTable, used: impl Fn(u32) -> bool) {
        now.all_listen = self.now.all_listen;
        let before = std::mem::replace(&mut self.now, now);
        self.old.push((self.version, before));
        self.version += 1;
        self.old.retain(|(version, _)| used(*version));
    }

    /// [`ListenerTable::let_all_listen`] of all tables.
    pub(super) fn let_all_listen(&mut self) -> bool {
        for (_, table) in &mut self.old {
            table.let_all_listen();
        }
        self.now.let_all_listen()
    }
}

impl ListenerTable {
    /// Who hears which transmitter.
    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// `takes_part`: for each station, whether packets are sent from or to the station.
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
        let contenders = takes_part.iter().filter(|&&part| part).count();
        let mut silences_all = Vec::with_capacity(reach.stations());
        for from in 0..reach.stations() as u32 {
            let single = listeners.len() as u32;
            let mut silenced = usize::from(takes_part[from as usize]);
            for (hearer, &alone) in reach.listeners_of(StationId(from)).iter().zip(links.by_ref()) {
                let contends = takes_part[hearer.station.index()];
                silenced += usize::from(contends && alone.is_sensed());
                let class = classes.memberships[hearer.station.index()].class;
                if class == NONE && takes_part[hearer.station.index()] {
                    listeners.push(Listener { to: hearer.station.0, alone });
                } else if class == NONE {
                    watchers.push(Listener { to: hearer.station.0, alone });
                } else if std::mem::replace(&mut last[class as usize], from) != from {
                    many.push(Listener { to: class, alone });
                }
            }
            silences_all.push(silenced == contenders);
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
        ListenerTable { reach, listeners, begins, silences_all, all_listen: false }
    }

    /// Whether all other stations with flows sense the frames of a transmitter.
    #[inline]
    pub(super) fn silences_all(&self, from: StationId) -> bool {
        self.silences_all[from.index()]
    }

    /// From now on there are no watchers. True if there may have been any before.
    pub(super) fn let_all_listen(&mut self) -> bool {
        !std::mem::replace(&mut self.all_listen, true)
    }

    /// The listeners outside hearing classes without flows: their range in the list.
    #[inline]
    pub(super) fn watchers(&self, from: StationId) -> Range<usize> {
        let Begins { watchers, classes, .. } = self.begins[from.index()];
        if self.all_listen { 0..0 } else { watchers as usize..classes as usize }
    }

    /// The other listeners outside hearing classes, which are not [`Self::watchers`], and the hearing classes that hear
    /// the transmitter (itself excepted): their ranges in the list.
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

    /// The signal of a transmitter at one of its listeners.
    pub(super) fn signal(&self, from: StationId, station: StationId) -> Signal {
        self.reach.signal(from, station).expect("a link for each listener")
    }
}

impl ReceiverState {
    const SILENT: ReceiverState = ReceiverState { lone: NONE, frames: 0, deaf_until: Time::ZERO };

    /// Whether the receivers here track the frames on the air.
    fn is_tracking(&self) -> bool {
        self.frames > 0 && self.lone == NONE
    }
}

impl Hearing {
    /// A silent medium.
    pub(super) fn new(receptions: Vec<Reception>, groups: usize) -> Hearing {
        let receivers = vec![ReceiverState::SILENT; receptions.len()];
        Hearing { receivers, groups: vec![ReceiverState::SILENT; groups], receptions }
    }

    /// The receivers of all stations.
    pub(super) fn receptions(&self) -> &[Reception] {
        &self.receptions
    }

    /// A station begins to transmit.
    pub(super) fn transmit(&mut self, from: StationId, air: Air, on: &OnAirNow) {
        self.track_lone(from, on);
        self.receivers[from.index()].deaf_until = air.ends;
        self.receptions[from.index()].on_transmit(air);
    }

    /// A station transmits a frame that meets no other frame anywhere.
    #[inline]
    pub(super) fn transmit_alone(&mut self, from: StationId, air: Air) {
        self.receivers[from.index()].deaf_until = air.ends;
        self.receptions[from.index()].on_transmit(air);
    }

    /// Hands the frame that was the only one so far to a station's receiver.
    fn track_lone(&mut self, station: StationId, on: &OnAirNow) {
        let lone = std::mem::replace(&mut self.receivers[station.index()].lone, NONE);
        if lone != NONE {
            self.track(station, lone, on);
        }
    }

    #[inline(always)]
    fn track(&mut self, station: StationId, place: u32, on: &OnAirNow) {
        let on_air = on.on_air_frames.at(place);
        let signal = on.listeners.for_frame(on_air.version).signal(on_air.from, station);
        self.receptions[station.index()].on_begin(on_air.id, on_air.air, signal);
    }

    /// A frame begins at a station on its own.
    #[inline(always)]
    pub(super) fn begin(&mut self, station: StationId, place: u32, now: Time, on: &OnAirNow) {
        let receiver = &mut self.receivers[station.index()];
        receiver.frames += 1;
        if receiver.frames == 1 && now >= receiver.deaf_until {
            receiver.lone = place;
        } else {
            self.begin_among_others(station, place, on);
        }
    }

    #[cold]
    fn begin_among_others(&mut self, station: StationId, place: u32, on: &OnAirNow) {
        self.track_lone(station, on);
        self.track(station, place, on);
    }

    /// A frame begins at a group; `trackers`: the members whose receivers track frames.
    #[inline]
    pub(super) fn begin_at_group(
        &mut self,
        group: usize,
        trackers: &[StationId],
        place: u32,
        on: &OnAirNow,
    ) {
        let receiver = &mut self.groups[group];
        receiver.frames += 1;
        if receiver.frames == 1 {
            receiver.lone = place;
            return;
        }
        // The frame that was the only one until now, and the frame that begins.
        let lone = std::mem::replace(&mut receiver.lone, NONE);
        for of in [lone, place].into_iter().filter(|&of| of != NONE) {
            for &member in trackers {
                self.track(member, of, on);
            }
        }
    }

    /// A frame ends at a station on its own: returns its outcome.
    #[inline(always)]
    pub(super) fn end(&mut self, station: StationId, alone: Alone, place: u32, id: FrameId) -> End {
        if self.end_alone(station, place) {
            return alone.end();
        }
        self.receivers[station.index()].frames -= 1;
        self.end_among_others(station, id)
    }

    /// Ends a frame that met no other frame at a station on its own; false, without any change, if the frame met
    /// another.
    #[inline(always)]
    pub(super) fn end_alone(&mut self, station: StationId, place: u32) -> bool {
        let receiver = &mut self.receivers[station.index()];
        let alone = receiver.lone == place;
        if alone {
            (receiver.frames, receiver.lone) = (receiver.frames - 1, NONE);
        }
        alone
    }

    #[cold]
    fn end_among_others(&mut self, station: StationId, id: FrameId) -> End {
        self.end_tracked(station, id)
    }

    /// A frame ends at a station whose receiver tracks it: returns its outcome.
    #[inline(always)]
    pub(super) fn end_tracked(&mut self, station: StationId, id: FrameId) -> End {
        self.receptions[station.index()].on_end(id).expect("a frame that ends has begun")
    }

    /// A frame ends at a group. True if the frame met no other frame there; otherwise receivers track it.
    #[inline(always)]
    pub(super) fn end_at_group(&mut self, group: usize, place: u32) -> bool {
        let receiver = &mut self.groups[group];
        receiver.frames -= 1;
        let alone = receiver.lone == place;
        if alone {
            receiver.lone = NONE;
        }
        alone
    }

    /// The rest that overlapping frames left of a part of the last ended frame, at a station whose receiver tracks
    /// frames.
    pub(super) fn beside(&self, tracker: StationId, part: Air, signal: Signal) -> Option<f64> {
        self.receptions[tracker.index()].beside(part, signal)
    }

    /// An empty group gets members, who hear nothing.
    pub(super) fn found_group(&mut self, group: usize) {
        self.groups[group] = ReceiverState::SILENT;
    }

    /// An empty group gets members of another group, who hear what that group hears.
    pub(super) fn branch_off(&mut self, group: usize, other: usize) {
        self.groups[group] = self.groups[other];
    }

    /// Whether receivers of a group track the frames on the air there.
    pub(super) fn is_tracking_at_group(&self, group: usize) -> bool {
        self.groups[group].is_tracking()
    }

    /// From now on each member of a group tracks frames, not only the first.
    pub(super) fn track_at_each(&mut self, group: usize, members: &[StationId]) {
        let [first, others @ ..] = members else { return };
        for other in others.iter().filter(|_| self.groups[group].is_tracking()) {
            let pair = self.receptions.get_disjoint_mut([first.index(), other.index()]);
            if let Ok([from, to]) = pair {
                to.hear_as(from);
            }
        }
    }

    /// A station is about to leave its group and continues to hear what the group hears. `uniform`: the first and
    /// second member of a group in which the first stands for all, if it is such a group.
    pub(super) fn set_apart(
        &mut self,
        station: StationId,
        group: usize,
        uniform: Option<(StationId, Option<StationId>)>,
    ) {
        let ReceiverState { lone, frames, .. } = self.groups[group];
        let receiver = &mut self.receivers[station.index()];
        (receiver.lone, receiver.frames) = (lone, frames);
        let Some((first, heir)) = uniform.filter(|_| self.groups[group].is_tracking()) else {
            return;
        };
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
        self.receivers[station.index()].frames == 0
    }

    /// Whether a group hears nothing.
    #[inline]
    pub(super) fn is_silent_at_group(&self, group: usize) -> bool {
        self.groups[group].frames == 0
    }

    /// Whether the receiver of a station is at `now` busy with a frame that began on a silent medium, and that the
    /// receiver may still decode.
    #[inline]
    pub(super) fn may_decode_alone(
        &self,
        station: StationId,
        begins: Time,
        signal: Signal,
        now: Time,
    ) -> bool {
        self.receptions[station.index()].may_decode(begins, signal, now)
    }

    /// Whether the receiver of a station on its own is at `now` busy with a frame that the receiver may still decode.
    pub(super) fn receiving(&mut self, station: StationId, now: Time, on: &OnAirNow) -> bool {
        let reception = &mut self.receptions[station.index()];
        if self.receivers[station.index()].lone == NONE {
            return reception.receiving(now);
        }
        let on_air = on.on_air_frames.at(self.receivers[station.index()].lone);
        let signal = on.listeners.for_frame(on_air.version).signal(on_air.from, station);
        reception.may_decode(on_air.air.begins, signal, now)
    }
}
