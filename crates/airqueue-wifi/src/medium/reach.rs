//! Which station hears which: a compact table, built once.

use super::grid::Grid;
use super::rising::Rising;
use super::{Capture, FrameErrors, MediumError, Propagation, Reception, StationId};
use airqueue_core::Span;
use std::ops::Range;
use std::sync::Arc;

/// What a listener can do with a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The frame only interferes with other frames.
    Interference,
    /// The medium is busy, but the frame cannot be decoded.
    Sensed,
    /// The frame can be decoded.
    Decodable,
}

/// How one station hears another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// Received power in watts; [`Signal::NOMINAL_W`] where only ranges or links are known.
    pub power_w: f64,
    /// What the listener can do with this power.
    pub level: Level,
}

impl Signal {
    /// Stands for an unknown power: equal for all stations, so that no frame captures another.
    pub const NOMINAL_W: f64 = 1.0;

    /// True if the frame can be decoded.
    pub fn decodable(self) -> bool {
        self.level == Level::Decodable
    }

    /// True if the frame makes the medium busy.
    pub fn sensed(self) -> bool {
        self.level >= Level::Sensed
    }
}

/// A listener of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachEntry {
    /// The listener.
    pub station: StationId,
    /// What the listener can do with the station's frames.
    pub level: Level,
    /// Received power in watts.
    pub power_w: f64,
}

impl ReachEntry {
    fn new(station: StationId, Signal { power_w, level }: Signal) -> ReachEntry {
        ReachEntry { station, level, power_w }
    }

    /// How the listener hears the station.
    #[inline(always)]
    pub fn signal(&self) -> Signal {
        Signal { power_w: self.power_w, level: self.level }
    }
}

/// A station in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// The station.
    pub id: StationId,
    /// Position in metres, at most [`Reach::FARTHEST_M`] from the origin along either axis.
    pub x_m: f64,
    /// Position in metres.
    pub y_m: f64,
    /// Radiated power in watts.
    pub transmit_w: f64,
}

impl Place {
    /// A station at a position in metres with ns-2's transmit power.
    pub const fn new(id: StationId, x_m: f64, y_m: f64) -> Place {
        Place { id, x_m, y_m, transmit_w: Propagation::NS2_TRANSMIT_POWER_W }
    }
}

/// One direction of a pair: `to` hears `from`. The opposite direction is a separate link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The transmitter.
    pub from: StationId,
    /// The listener.
    pub to: StationId,
    /// What the listener can do with the transmitter's frames.
    pub level: Level,
    /// Received power in watts; given for all links or for none.
    pub power_w: Option<f64>,
}

/// The table of listeners: for each station a slice of its listeners. Immutable; 16 bytes for each pair and 8 for each
/// station, shared by clones.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    table: Arc<Table>,
    powers_known: bool,
    /// The places and the propagation of which the table was made; `None`: links.
    pub(super) origin: Option<Arc<(Vec<Place>, Propagation)>>,
    /// The delay of each link, in the order of the listeners; `None`: frames are everywhere at once.
    pub(super) delays: Option<Arc<Vec<Span>>>,
}

/// How others hear one transmitter.
#[derive(Clone, Copy, Debug)]
pub struct Hearers<'a> {
    from: StationId,
    listeners_of: &'a [ReachEntry],
}

#[derive(Debug, PartialEq)]
struct Table {
    /// Where the listeners of each station begin in `listeners_of`, and the end of the last.
    offsets: Vec<usize>,
    /// Ordered by transmitter, then by listener.
    listeners_of: Vec<ReachEntry>,
    /// Number of pairs examined.
    examined: u64,
}

impl Reach {
    /// The largest number of links: 2 GiB of memory.
    pub const MOST_LINKS: usize = 1 << 27;
    /// The largest coordinate of a position, in metres.
    pub const FARTHEST_M: f64 = 1e9;

    /// The table of stations at these places with this propagation. The ids are 0 to n - 1 in any order. Examines only
    /// pairs that are near enough to matter ([`Self::pairs_examined`]).
    pub fn from_places(places: &[Place], propagation: &Propagation) -> Result<Reach, MediumError> {
        propagation.check()?;
        let places = check_places(places)?;
        let ranges: Vec<f64> = places.iter().map(|p| propagation.range_m(p.transmit_w)).collect();
        let points: Vec<(f64, f64)> = places.iter().map(|p| (p.x_m, p.y_m)).collect();
        let grid = Grid::new(&points, side_for(&ranges));
        let powers_known = matches!(propagation, Propagation::Loss { .. });
        let mut table = Table::new(places.len());
        let mut near = Rising::new(places.len());
        for (from, &range) in places.iter().zip(&ranges) {
            grid.near((from.x_m, from.y_m), range, |to| near.add(to));
            near.drain(|to| table.examine(from, &places[to as usize], propagation));
            if table.listeners_of.len() > Self::MOST_LINKS {
                return Err(MediumError::TooManyLinks);
            }
            table.offsets.push(table.listeners_of.len());
        }
        table.listeners_of.shrink_to_fit();
        let origin = Some(Arc::new((places, *propagation)));
        Ok(Reach { table: Arc::new(table), powers_known, origin, delays: None })
    }

    /// The table of exactly these links between the stations 0 to `stations` - 1.
    pub fn from_links(stations: usize, links: &[Link]) -> Result<Reach, MediumError> {
        let count = check_count(stations)?;
        if links.len() > Self::MOST_LINKS {
            return Err(MediumError::TooManyLinks);
        }
        for link in links {
            check_link(link, count)?;
        }
        let with_power = links.iter().filter(|link| link.power_w.is_some()).count();
        if with_power != 0 && with_power != links.len() {
            return Err(MediumError::SomePowers);
        }
        let mut sorted = links.to_vec();
        sorted.sort_unstable_by_key(|link| (link.from, link.to));
        for (link, next) in sorted.iter().zip(sorted.iter().skip(1)) {
            if (link.from, link.to) == (next.from, next.to) {
                return Err(MediumError::DuplicateLink { from: link.from, to: link.to });
            }
        }
        let mut table = Table::new(stations);
        table.examined = links.len() as u64;
        let hearer = |link: &Link| {
            let power_w = link.power_w.unwrap_or(Signal::NOMINAL_W);
            ReachEntry { station: link.to, level: link.level, power_w }
        };
        table.listeners_of = sorted.iter().map(hearer).collect();
        for id in 0..count {
            table.offsets.push(sorted.partition_point(|link| link.from.0 <= id));
        }
        let powers_known = with_power > 0;
        Ok(Reach { table: Arc::new(table), powers_known, origin: None, delays: None })
    }

    /// The table after a station has moved to another position in metres; `None`: the table is of links, not of
    /// places.
    pub fn moved(&self, id: StationId, x_m: f64, y_m: f64) -> Option<Result<Reach, MediumError>> {
        let (places, propagation) = &**self.origin.as_ref()?;
        let mut places = places.clone();
        let Some(place) = places.get_mut(id.index()) else {
            let stations = places.len() as u32;
            return Some(Err(MediumError::UnknownStation { id, stations }));
        };
        (place.x_m, place.y_m) = (x_m, y_m);
        let moved = Reach::from_places(&places, propagation);
        Some(moved.map(|moved| if self.is_delayed() { moved.with_speed_of_light() } else { moved }))
    }

    /// The power that arrives at a station from a transmitter at a place that is none of the stations; `None`: the table
    /// has no powers by places.
    pub fn power_from(&self, transmitter: &Place, to: StationId) -> Option<f64> {
        let (places, propagation) = &**self.origin.as_ref()?;
        let Propagation::Loss { path_loss, .. } = propagation else { return None };
        let to = places.get(to.index())?;
        let (dx, dy) = (to.x_m - transmitter.x_m, to.y_m - transmitter.y_m);
        Some(path_loss.received_w(transmitter.transmit_w, (dx * dx + dy * dy).sqrt()))
    }

    /// Number of stations.
    pub fn stations(&self) -> usize {
        self.table.offsets.len() - 1
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.table.listeners_of.len()
    }

    /// The listeners of `from`, ordered by id. Panics if the station does not exist.
    #[inline]
    pub fn listeners_of(&self, from: StationId) -> &[ReachEntry] {
        &self.table.listeners_of[self.links_of(from)]
    }

    /// The places of a station's links in the list of all.
    #[inline]
    pub(super) fn links_of(&self, from: StationId) -> Range<usize> {
        let at = from.index();
        self.table.offsets[at]..self.table.offsets[at + 1]
    }

    /// How `to` hears `from`; `None`: not at all. Panics if the station `from` does not exist.
    #[inline]
    pub fn signal(&self, from: StationId, to: StationId) -> Option<Signal> {
        self.hearers(from).signal(to)
    }

    /// How the listener of a link hears the link's transmitter. Links are numbered by transmitter, then by listener.
    #[inline(always)]
    pub fn signal_over(&self, link: usize) -> Signal {
        self.table.listeners_of[link].signal()
    }

    /// How others hear `from`, for many of them. Panics if the station `from` does not exist.
    #[inline]
    pub fn hearers(&self, from: StationId) -> Hearers<'_> {
        Hearers { from, listeners_of: self.listeners_of(from) }
    }

    /// False if the description contained no powers, so that all are [`Signal::NOMINAL_W`].
    pub fn powers_known(&self) -> bool {
        self.powers_known
    }

    /// Number of pairs examined while the table was built: the cost of building it.
    pub fn pairs_examined(&self) -> u64 {
        self.table.examined
    }

    /// A receiver for each station, ordered by id.
    pub fn receptions(&self, capture: Capture) -> Result<Vec<Reception>, MediumError> {
        if matches!(capture, Capture::Sinr { .. }) && !self.powers_known {
            return Err(MediumError::NoPowers("capture by SINR"));
        }
        (0..self.stations()).map(|_| Reception::new(capture)).collect()
    }

    /// Checks that `errors` is valid and that the medium has the powers that it needs.
    pub fn frame_errors(&self, errors: FrameErrors) -> Result<FrameErrors, MediumError> {
        if errors == FrameErrors::BySnr && !self.powers_known {
            return Err(MediumError::NoPowers("frame errors by SNR"));
        }
        errors.checked()
    }
}

impl Table {
    fn new(stations: usize) -> Table {
        let mut offsets = Vec::with_capacity(stations + 1);
        offsets.push(0);
        Table { offsets, listeners_of: Vec::new(), examined: 0 }
    }

    /// Adds `to` to the listeners of the last station, `from`, if `to` hears it.
    fn examine(&mut self, from: &Place, to: &Place, propagation: &Propagation) {
        // One entry beyond the limit shows that the limit is exceeded, without using more memory.
        if to.id == from.id || self.listeners_of.len() > Reach::MOST_LINKS {
            return;
        }
        self.examined += 1;
        let (dx, dy) = (to.x_m - from.x_m, to.y_m - from.y_m);
        let distance_m = (dx * dx + dy * dy).sqrt();
        if let Some(signal) = propagation.signal(from.transmit_w, distance_m) {
            self.listeners_of.push(ReachEntry::new(to.id, signal));
        }
    }
}

impl Hearers<'_> {
    /// How a station hears the transmitter; `None`: not at all.
    #[inline(always)]
    pub fn signal(&self, to: StationId) -> Option<Signal> {
        let Hearers { from, listeners_of } = *self;
        // Where neighbours have consecutive ids, the entry is here: the ids of the listeners are consecutive, except
        // for `from`.
        let first = listeners_of.first()?.station;
        let between = u32::from(first < from && from < to);
        let guess = to.0.wrapping_sub(first.0 + between) as usize;
        if let Some(hearer) = listeners_of.get(guess)
            && hearer.station == to
        {
            return Some(hearer.signal());
        }
        search(listeners_of, to)
    }
}

/// The signal of a listener whose place is not known.
#[inline(never)]
fn search(listeners_of: &[ReachEntry], to: StationId) -> Option<Signal> {
    let at = listeners_of.binary_search_by_key(&to, |hearer| hearer.station).ok()?;
    Some(listeners_of[at].signal())
}

fn check_count(stations: usize) -> Result<u32, MediumError> {
    match u32::try_from(stations) {
        Ok(0) => Err(MediumError::NoStations),
        Ok(count) => Ok(count),
        Err(_) => Err(MediumError::TooManyStations(stations)),
    }
}

/// The places ordered by id; the id is then the index.
fn check_places(places: &[Place]) -> Result<Vec<Place>, MediumError> {
    let stations = check_count(places.len())?;
    let mut sorted = places.to_vec();
    sorted.sort_by_key(|place| place.id);
    for (place, next) in sorted.iter().zip(sorted.iter().skip(1)) {
        if place.id == next.id {
            return Err(MediumError::DuplicateStation(place.id));
        }
    }
    sorted.iter().try_for_each(|place| check_place(place, stations))?;
    Ok(sorted)
}

fn check_place(place: &Place, stations: u32) -> Result<(), MediumError> {
    let Place { id, x_m, y_m, transmit_w } = *place;
    if id.0 >= stations {
        return Err(MediumError::UnknownStation { id, stations });
    }
    // The range does not contain NaN.
    let within = -Reach::FARTHEST_M..=Reach::FARTHEST_M;
    if !within.contains(&x_m) || !within.contains(&y_m) {
        return Err(MediumError::Position { id, x_m, y_m });
    }
    if !(transmit_w > 0.0 && transmit_w.is_finite()) {
        return Err(MediumError::TransmitPower { id, value: transmit_w });
    }
    Ok(())
}

fn check_link(link: &Link, stations: u32) -> Result<(), MediumError> {
    for id in [link.from, link.to] {
        if id.0 >= stations {
            return Err(MediumError::UnknownStation { id, stations });
        }
    }
    if link.from == link.to {
        return Err(MediumError::SelfLink(link.from));
    }
    match link.power_w {
        Some(value) if !(value > 0.0 && value.is_finite()) => {
            Err(MediumError::LinkPower { from: link.from, to: link.to, value })
        }
        _ => Ok(()),
    }
}

/// A cell width that suits most stations: the median of their ranges.
fn side_for(ranges: &[f64]) -> f64 {
    let mut sorted = ranges.to_vec();
    let (_, median, _) = sorted.select_nth_unstable_by(ranges.len() / 2, f64::total_cmp);
    if *median > 0.0 && median.is_finite() { *median } else { 1.0 }
}
