//! Which stations hear the same, and which of them are on their own at present.

use super::hearing::Alone;
use crate::wlan::spec::WlanSpec;
use airqueue_wifi::mac::{Crowd, Mac};
use airqueue_wifi::medium::{Reach, StationId};
use std::collections::BTreeMap;

/// Crowds of one cohort at most; stations that fit in none are on their own.
const MOST_CROWDS: usize = 4;
/// No cohort, no crowd.
pub(super) const NONE: u32 = u32::MAX;

/// Stations that hear alike whoever transmits, each other included, and count alike: at least two, and as many as are to be
/// simulated together.
#[derive(Debug)]
pub(super) struct Cohort {
    /// Every frame is as strong at all of them.
    pub(super) uniform: bool,
    /// Those in no crowd.
    pub(super) apart: Vec<StationId>,
    /// The crowds with members, then the others.
    crowds: [u32; MOST_CROWDS],
    /// How many of them have members, and how many there are.
    founded: usize,
    most: usize,
    /// The one that others began an exchange with last.
    asked: Option<StationId>,
    /// The same, if it was so twice in a row: it is probably the next, too.
    pub(super) sought: Option<StationId>,
}

/// Where a station is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// [`NONE`]: nobody else hears what it hears and counts as it does.
    pub(super) cohort: u32,
    /// [`NONE`]: it is on its own.
    pub(super) crowd: u32,
    /// Its place in the crowd, or among those of the cohort that are in none.
    pub(super) place: u32,
}

/// All of a network's cohorts.
#[derive(Debug)]
pub(super) struct Cohorts {
    pub(super) all: Vec<Cohort>,
    pub(super) crowds: Vec<Crowd>,
    pub(super) seats: Vec<Seat>,
}

impl Cohort {
    /// The crowds with members, in the order in which they were founded.
    #[inline]
    pub(super) fn crowds(&self) -> &[u32] {
        &self.crowds[..self.founded]
    }
}

impl Cohorts {
    /// Every station is on its own.
    pub(super) fn new(spec: &WlanSpec, alone: &[Alone], macs: &[Mac]) -> Cohorts {
        let reach = &spec.reach;
        let nowhere = Seat { cohort: NONE, crowd: NONE, place: 0 };
        let mut seats = vec![nowhere; macs.len()];
        let (mut all, mut crowds) = (Vec::new(), Vec::new());
        let enough = |stations: &Vec<StationId>| stations.len() >= spec.together.max(2);
        for stations in alike(reach, alone, macs).into_iter().filter(enough) {
            let first = crowds.len() as u32;
            let numbers = std::array::from_fn(|at| first + at as u32);
            for (place, &station) in stations.iter().enumerate() {
                let cohort = all.len() as u32;
                seats[station.index()] = Seat { cohort, crowd: NONE, place: place as u32 };
            }
            let like = &macs[stations[0].index()];
            let most = MOST_CROWDS.min(stations.len());
            crowds.extend((0..most).map(|_| Crowd::new(like, stations.len())));
            all.push(Cohort {
                uniform: true,
                apart: stations,
                crowds: numbers,
                founded: 0,
                most,
                asked: None,
                sought: None,
            });
        }
        let mut cohorts = Cohorts { all, crowds, seats };
        cohorts.compare_powers(reach);
        cohorts
    }

    /// Finds out which are uniform.
    fn compare_powers(&mut self, reach: &Reach) {
        let mut powers = vec![(NONE, 0.0); self.all.len()];
        for from in 0..reach.stations() as u32 {
            for hearer in reach.hearers(StationId(from)) {
                let cohort = self.seats[hearer.station.index()].cohort;
                if cohort == NONE {
                    continue;
                }
                let known = &mut powers[cohort as usize];
                if known.0 != from {
                    *known = (from, hearer.power_w);
                }
                self.all[cohort as usize].uniform &= known.1 == hearer.power_w;
            }
        }
    }

    /// The crowd that a station is in.
    #[inline]
    pub(super) fn crowd_of(&self, station: StationId) -> Option<usize> {
        let crowd = self.seats[station.index()].crowd;
        (crowd != NONE).then_some(crowd as usize)
    }

    /// A frame begins an exchange with a station.
    #[inline]
    pub(super) fn on_asked(&mut self, station: StationId) {
        if let Some(cohort) = self.all.get_mut(self.seats[station.index()].cohort as usize) {
            cohort.sought = cohort.asked.filter(|&asked| asked == station);
            cohort.asked = Some(station);
        }
    }

    /// A crowd without members, if the cohort may have another.
    pub(super) fn found(&mut self, cohort: usize) -> Option<usize> {
        let cohort = &mut self.all[cohort];
        let crowd = cohort.crowds[..cohort.most].get(cohort.founded)?;
        cohort.founded += 1;
        Some(*crowd as usize)
    }

    /// A station that is on its own has joined a crowd as its last member.
    pub(super) fn on_joined(&mut self, station: StationId, crowd: usize) {
        let Seat { cohort, place, .. } = self.seats[station.index()];
        let apart = &mut self.all[cohort as usize].apart;
        apart.swap_remove(place as usize);
        if let Some(&moved) = apart.get(place as usize) {
            self.seats[moved.index()].place = place;
        }
        let place = self.crowds[crowd].members().len() as u32 - 1;
        self.seats[station.index()] = Seat { cohort, crowd: crowd as u32, place };
    }

    /// A member of one crowd of a cohort moves to another, which knows the same.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, station: StationId, mac: &mut Mac, to: usize) {
        let Seat { crowd, place, .. } = self.seats[station.index()];
        let Ok([from, into]) = self.crowds.get_disjoint_mut([crowd as usize, to]) else { return };
        from.hand_over(place as usize, mac, into);
        if let Some(&moved) = from.members().get(place as usize) {
            self.seats[moved.index()].place = place;
        }
        let place = into.members().len() as u32 - 1;
        self.seats[station.index()] =
            Seat { crowd: to as u32, place, ..self.seats[station.index()] };
    }

    /// Takes a crowd that has lost all its members off the list.
    pub(super) fn dissolve(&mut self, cohort: usize, crowd: usize) {
        let cohort = &mut self.all[cohort];
        if let Some(at) = cohort.crowds().iter().position(|&other| other == crowd as u32) {
            cohort.crowds[at..cohort.founded].rotate_left(1);
            cohort.founded -= 1;
        }
    }

    /// A station has left its crowd, and its last member has taken that seat.
    pub(super) fn on_left(&mut self, station: StationId) {
        let Seat { cohort, crowd, place } = self.seats[station.index()];
        let members = self.crowds[crowd as usize].members();
        if let Some(&moved) = members.get(place as usize) {
            self.seats[moved.index()].place = place;
        }
        let empty = members.is_empty();
        if empty {
            self.dissolve(cohort as usize, crowd as usize);
        }
        let apart = &mut self.all[cohort as usize].apart;
        apart.push(station);
        let place = apart.len() as u32 - 1;
        self.seats[station.index()] = Seat { cohort, crowd: NONE, place };
    }
}

/// The stations of each cohort, by rising id.
fn alike(reach: &Reach, alone: &[Alone], macs: &[Mac]) -> Vec<Vec<StationId>> {
    let heard = Heard::new(reach, alone);
    let mut groups: BTreeMap<&[u64], Vec<Vec<StationId>>> = BTreeMap::new();
    for (station, mac) in (0..).map(StationId).zip(macs) {
        let groups = groups.entry(heard.by(station)).or_default();
        let same = |group: &&mut Vec<StationId>| Crowd::count_alike(&macs[group[0].index()], mac);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(station),
            None => groups.push(vec![station]),
        }
    }
    let mut all: Vec<_> = groups.into_values().flatten().collect();
    all.sort_unstable();
    all
}

/// What each station hears: by rising id of the transmitter, that and what its frames come to. Each hears
/// itself as it would hear another nearby, so that stations next to each other can hear the same.
struct Heard {
    offsets: Vec<usize>,
    entries: Vec<u64>,
}

impl Heard {
    fn new(reach: &Reach, alone: &[Alone]) -> Heard {
        let stations = reach.stations();
        let links = || {
            let mut at = 0;
            (0..stations as u32).flat_map(move |from| {
                let others = reach.hearers(StationId(from)).iter();
                let first = at;
                at += others.len();
                let others = others.zip(&alone[first..]).map(|(h, alone)| (h.station, *alone));
                std::iter::once((StationId(from), Alone::NEARBY))
                    .chain(others)
                    .map(move |(to, alone)| (from, to, alone))
            })
        };
        let mut offsets = vec![0; stations + 1];
        for (_, to, _) in links() {
            offsets[to.index() + 1] += 1;
        }
        for station in 0..stations {
            offsets[station + 1] += offsets[station];
        }
        let mut entries = vec![0; offsets[stations]];
        let mut next = offsets.clone();
        for (from, to, alone) in links() {
            entries[next[to.index()]] = u64::from(from) << 8 | u64::from(alone.bits());
            next[to.index()] += 1;
        }
        Heard { offsets, entries }
    }

    fn by(&self, station: StationId) -> &[u64] {
        &self.entries[self.offsets[station.index()]..self.offsets[station.index() + 1]]
    }
}
