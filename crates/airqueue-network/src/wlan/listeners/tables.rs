//! Which station hears which, and how it hears a frame that meets no other.

use super::classes::{HearingClasses, NONE};
use super::rx_end::RxEnd;
use airqueue_wifi::medium::{End, Reach, Reception, RxOutcome, Signal, StationId};
use std::ops::Range;

/// The outcome of a frame that meets no other frame, one bit each: sensed, decoded, and the receiver stays with the
/// frame to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alone(u8);

/// A listener of a transmitter, or a hearing class of listeners, and the outcome of the transmitter's frames there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listener {
    to: u32,
    /// The place of the link from the transmitter in the reach; [`NONE`]: to be looked up.
    link: u32,
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

impl Alone {
    const SENSED: u8 = 1;
    const DECODED: u8 = 2;
    const ENGAGED: u8 = 4;
    /// Number of outcomes.
    pub(super) const KINDS: usize = 8;
    /// The outcome of a station's frames right beside the station.
    pub(super) const NEARBY: Alone = Alone(Alone::SENSED | Alone::DECODED | Alone::ENGAGED);
    /// The outcome of a frame that is not noticed.
    pub(super) const UNHEARD: Alone = Alone(0);

    pub(super) fn new(signal: Signal, reception: &Reception) -> Alone {
        let end = reception.alone(signal);
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let decoded = bit(end.outcome.decoded(), Alone::DECODED);
        Alone(bit(signal.sensed(), Alone::SENSED) | decoded | bit(end.engaged, Alone::ENGAGED))
    }

    /// The outcome for each link, in the order of the reach.
    pub(super) fn of_links(reach: &Reach, receptions: &[Reception]) -> Vec<Alone> {
        let mut alone = Vec::with_capacity(reach.links());
        for from in (0..reach.stations() as u32).map(StationId) {
            let listeners = reach.listeners_of(from).iter();
            alone.extend(listeners.map(|h| Alone::new(h.signal(), &receptions[h.station.index()])));
        }
        alone
    }

    /// The effect of the end of the frame on a station that is not addressed.
    #[inline(always)]
    pub(super) fn to_others(self) -> RxEnd {
        let end = self.end();
        RxEnd::to_others(&end, end.outcome.decoded())
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
        End { outcome, engaged, ignored: false, overlapped: false }
    }
}

impl Listener {
    /// The station, for an entry outside hearing classes.
    #[inline]
    pub(super) fn station(&self) -> StationId {
        StationId(self.to)
    }

    /// The place of the link from the transmitter in the reach; [`NONE`]: to be looked up.
    #[inline]
    pub(super) fn link(&self) -> u32 {
        self.link
    }

    /// The same listener, where the signal of this frame differs from others.
    #[inline]
    pub(super) fn heard_as(&self, alone: Alone) -> Listener {
        Listener { alone, ..*self }
    }

    /// A member, for an entry that is a class.
    #[inline]
    pub(super) fn member(&self, station: StationId) -> Listener {
        Listener { to: station.0, ..*self }
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
        let mut links = (0..).zip(alone);
        let contenders = takes_part.iter().filter(|&&part| part).count();
        let mut silences_all = Vec::with_capacity(reach.stations());
        for from in 0..reach.stations() as u32 {
            let single = listeners.len() as u32;
            let mut silenced = usize::from(takes_part[from as usize]);
            let hearers = reach.listeners_of(StationId(from)).iter();
            for (hearer, (link, &alone)) in hearers.zip(links.by_ref()) {
                let contends = takes_part[hearer.station.index()];
                silenced += usize::from(contends && alone.is_sensed());
                let class = classes.memberships[hearer.station.index()].class;
                if class == NONE && takes_part[hearer.station.index()] {
                    listeners.push(Listener { to: hearer.station.0, link, alone });
                } else if class == NONE {
                    watchers.push(Listener { to: hearer.station.0, link, alone });
                } else if std::mem::replace(&mut last[class as usize], from) != from {
                    many.push(Listener { to: class, link: NONE, alone });
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

    /// Entries of the list.
    #[inline]
    pub(super) fn all(&self, range: Range<usize>) -> &[Listener] {
        &self.listeners[range]
    }

    /// The signal of a transmitter at one of its listeners, over a link of [`Listener::link`].
    #[inline(always)]
    pub(super) fn signal_over(&self, link: u32, from: StationId, station: StationId) -> Signal {
        if link == NONE {
            self.signal(from, station)
        } else {
            self.reach.signal_over(link as usize)
        }
    }

    /// The signal of a transmitter at one of its listeners.
    #[inline]
    pub(super) fn signal(&self, from: StationId, station: StationId) -> Signal {
        self.reach.signal(from, station).expect("a link for each listener")
    }
}
