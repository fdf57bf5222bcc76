//! Which stations hear alike, and which of them are on their own at present.

use super::tables::Alone;
use crate::wlan::spec::WlanSpec;
use airqueue_core::Span;
use airqueue_wifi::mac::{LockstepGroup, Mac};
use airqueue_wifi::medium::{Capture, Reach, StationId};

/// Largest number of groups of one hearing class; stations that fit in none are on their own.
const MOST_GROUPS: usize = 8;
/// Number of groups of a small class, and for how many stations of a larger class there is a group: every group is
/// visited by every frame, and a frame that a few members hear otherwise costs less if these are on their own.
const FEW_GROUPS: usize = 4;
const STATIONS_A_GROUP: usize = 5;
/// No hearing class, or no group.
pub(super) const NONE: u32 = u32::MAX;

/// Stations that hear all transmitters alike, each other included, and count alike: at least two, and at least as many
/// as are to be simulated together.
#[derive(Debug)]
pub(super) struct HearingClass {
    /// Whether every frame is equally strong at all of them.
    equally_strong: bool,
    /// Whether overlapping frames have the same outcome at all of them, whose first member's receiver then stands for all.
    pub(super) uniform: bool,
    /// Stations of the class that are in no group.
    pub(super) apart: Vec<StationId>,
    /// The groups with members, then the empty groups.
    groups: [u32; MOST_GROUPS],
    /// Number of groups with members, and number of all groups.
    founded: usize,
    most: usize,
    /// The station to which the last exchange was addressed.
    asked: Option<StationId>,
    /// The station to which the last two exchanges were addressed, if there is one: the next exchange probably is, too.
    pub(super) sought: Option<StationId>,
}

/// The place of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Membership {
    /// The hearing class; [`NONE`]: no other station hears and counts alike.
    pub(super) class: u32,
    /// The group; [`NONE`]: the station is on its own.
    pub(super) group: u32,
    /// The place in the group, or among the stations of the class outside groups.
    pub(super) place: u32,
}

/// All hearing classes of a network.
#[derive(Debug)]
pub(super) struct HearingClasses {
    pub(super) all: Vec<HearingClass>,
    pub(super) groups: Vec<LockstepGroup>,
    pub(super) memberships: Vec<Membership>,
}

impl HearingClass {
    /// The groups with members, in the order of their founding.
    #[inline]
    pub(super) fn groups(&self) -> &[u32] {
        &self.groups[..self.founded]
    }
}

impl HearingClasses {
    /// Every station is on its own.
    pub(super) fn new(spec: &WlanSpec, alone: &[Alone], macs: &[Mac]) -> HearingClasses {
        let reach = &spec.reach;
        let nowhere = Membership { class: NONE, group: NONE, place: 0 };
        let mut memberships = vec![nowhere; macs.len()];
        let (mut all, mut groups) = (Vec::new(), Vec::new());
        let enough = |stations: &Vec<StationId>| stations.len() >= spec.together.max(2);
        for stations in alike(reach, alone, macs).into_iter().filter(enough) {
            let first = groups.len() as u32;
            let numbers = std::array::from_fn(|at| first + at as u32);
            for (place, &station) in stations.iter().enumerate() {
                let class = all.len() as u32;
                memberships[station.index()] =
                    Membership { class, group: NONE, place: place as u32 };
            }
            let like = &macs[stations[0].index()];
            let most = number_of_groups(stations.len());
            groups.extend((0..most).map(|_| LockstepGroup::new(like, stations.len())));
            all.push(HearingClass {
                equally_strong: true,
                uniform: true,
                apart: stations,
                groups: numbers,
                founded: 0,
                most,
                asked: None,
                sought: None,
            });
        }
        let mut classes = HearingClasses { all, groups, memberships };
        classes.compare_powers(reach);
        // Where all frames that overlap collide, nobody without a tap sees which of them the receiver stays with.
        let all_collide = spec.capture.unwrap_or(spec.radio.rules.capture) == Capture::None;
        for class in &mut classes.all {
            class.uniform = class.equally_strong || all_collide;
        }
        classes
    }

    /// No station hears like another.
    pub(super) fn none(stations: usize) -> HearingClasses {
        let nowhere = Membership { class: NONE, group: NONE, place: 0 };
        let memberships = vec![nowhere; stations];
        HearingClasses { all: Vec::new(), groups: Vec::new(), memberships }
    }

    /// Finds out in which classes frames are equally strong.
    fn compare_powers(&mut self, reach: &Reach) {
        let mut powers = vec![(NONE, 0.0); self.all.len()];
        if powers.is_empty() {
            return;
        }
        for from in 0..reach.stations() as u32 {
            for hearer in reach.listeners_of(StationId(from)) {
                let class = self.memberships[hearer.station.index()].class;
                if class == NONE {
                    continue;
                }
                let known = &mut powers[class as usize];
                if known.0 != from {
                    *known = (from, hearer.power_w);
                }
                self.all[class as usize].equally_strong &= known.1 == hearer.power_w;
            }
        }
    }

    /// From now on the power of frames matters at each member. Returns the groups in which it did not matter before.
    pub(super) fn tell_powers_apart(&mut self) -> Vec<usize> {
        let mut groups = Vec::new();
        for class in self.all.iter_mut().filter(|class| class.uniform && !class.equally_strong) {
            class.uniform = false;
            groups.extend(class.groups().iter().map(|&group| group as usize));
        }
        groups
    }

    /// The group of a station.
    #[inline]
    pub(super) fn group_of(&self, station: StationId) -> Option<usize> {
        let group = self.memberships[station.index()].group;
        (group != NONE).then_some(group as usize)
    }

    /// A frame begins an exchange with a station.
    #[inline]
    pub(super) fn on_asked(&mut self, station: StationId) {
        if let Some(class) = self.all.get_mut(self.memberships[station.index()].class as usize) {
            class.sought = class.asked.filter(|&asked| asked == station);
            class.asked = Some(station);
        }
    }

    /// An empty group, if the class may have another group.
    pub(super) fn found(&mut self, class: usize) -> Option<usize> {
        let class = &mut self.all[class];
        let group = class.groups[..class.most].get(class.founded)?;
        class.founded += 1;
        Some(*group as usize)
    }

    /// A station that is on its own has joined a group as its last member.
    pub(super) fn on_joined(&mut self, station: StationId, group: usize) {
        let Membership { class, place, .. } = self.memberships[station.index()];
        let apart = &mut self.all[class as usize].apart;
        apart.swap_remove(place as usize);
        if let Some(&moved) = apart.get(place as usize) {
            self.memberships[moved.index()].place = place;
        }
        let place = self.groups[group].members().len() as u32 - 1;
        self.memberships[station.index()] = Membership { class, group: group as u32, place };
    }

    /// The members in some places of a group move to an empty group of the class, with the same state.
    #[inline]
    pub(super) fn part(&mut self, group: usize, into: usize, leaves: impl Fn(usize) -> bool) {
        let Ok([from, to]) = self.groups.get_disjoint_mut([group, into]) else { return };
        from.part(to, leaves);
        self.number_members(group, 0);
        self.number_members(into, 0);
    }

    /// All members of a group move to another group of the class, whose view agrees.
    pub(super) fn unite(&mut self, group: usize, into: usize, macs: &mut [Mac]) {
        let Ok([from, to]) = self.groups.get_disjoint_mut([group, into]) else { return };
        let first = to.members().len();
        let beyond = to.unite(from);
        if beyond != Span::ZERO {
            for station in &to.members()[first..] {
                macs[station.index()].add_busy_time(beyond);
            }
        }
        self.number_members(into, first);
    }

    /// Notes the places of the members of a group, from the one at `first` on.
    #[inline]
    fn number_members(&mut self, group: usize, first: usize) {
        let members = &self.groups[group].members()[first..];
        for (place, station) in (first as u32..).zip(members) {
            let membership = &mut self.memberships[station.index()];
            (membership.group, membership.place) = (group as u32, place);
        }
    }

    /// Removes a group without members from the list.
    pub(super) fn dissolve(&mut self, class: usize, group: usize) {
        let class = &mut self.all[class];
        if let Some(at) = class.groups().iter().position(|&other| other == group as u32) {
            class.groups[at..class.founded].rotate_left(1);
            class.founded -= 1;
        }
    }

    /// A station has left its group, and the group's last member has taken its place.
    pub(super) fn on_left(&mut self, station: StationId) {
        let Membership { class, group, place } = self.memberships[station.index()];
        let members = self.groups[group as usize].members();
        if let Some(&moved) = members.get(place as usize) {
            self.memberships[moved.index()].place = place;
        }
        let empty = members.is_empty();
        if empty {
            self.dissolve(class as usize, group as usize);
        }
        let apart = &mut self.all[class as usize].apart;
        apart.push(station);
        let place = apart.len() as u32 - 1;
        self.memberships[station.index()] = Membership { class, group: NONE, place };
    }
}

/// How many groups a hearing class may have.
fn number_of_groups(stations: usize) -> usize {
    (stations / STATIONS_A_GROUP).clamp(FEW_GROUPS, MOST_GROUPS).min(stations)
}

/// The stations of each hearing class, by rising id: at first all that count alike are together, and each transmitter
/// parts those that hear it differently.
fn alike(reach: &Reach, alone: &[Alone], macs: &[Mac]) -> Vec<Vec<StationId>> {
    let mut parting = Parting::new(macs);
    let mut rest = alone;
    for from in (0..reach.stations() as u32).map(StationId) {
        let listeners = reach.listeners_of(from);
        let (here, others) = rest.split_at(listeners.len());
        rest = others;
        let hearers = listeners.iter().map(|hearer| hearer.station);
        // Each station hears itself as it would hear another station nearby, so that adjacent stations can hear alike.
        let own = std::iter::once((from, Alone::NEARBY));
        parting.part(own.chain(hearers.zip(here.iter().copied())));
    }
    parting.classes()
}

/// The parts into which stations have fallen so far.
struct Parting {
    /// The part of each station.
    part_of: Vec<u32>,
    /// Number of stations in each part.
    sizes: Vec<u32>,
    /// For each part and outcome, how many of its stations hear the present transmitter so.
    hearers: Vec<[u32; Alone::KINDS]>,
    /// For each part and outcome, the part to which these stations go.
    goes_to: Vec<[u32; Alone::KINDS]>,
    /// The parts of which any station hears the present transmitter.
    heard: Vec<u32>,
}

impl Parting {
    /// Stations that count alike are together.
    fn new(macs: &[Mac]) -> Parting {
        let (mut first_of, mut sizes) = (Vec::<&Mac>::new(), Vec::new());
        let part_of = macs.iter().map(|mac| {
            let known = first_of.iter().position(|first| LockstepGroup::count_alike(first, mac));
            let part = known.unwrap_or_else(|| {
                first_of.push(mac);
                sizes.push(0);
                sizes.len() - 1
            });
            sizes[part] += 1;
            part as u32
        });
        let part_of = part_of.collect();
        let parts = sizes.len();
        let (hearers, goes_to) = (vec![[0; Alone::KINDS]; parts], vec![[0; Alone::KINDS]; parts]);
        Parting { part_of, sizes, hearers, goes_to, heard: Vec::new() }
    }

    /// Stations part that hear a transmitter differently; those that hear nothing of it stay where they are.
    fn part(&mut self, hearers: impl Iterator<Item = (StationId, Alone)> + Clone) {
        let mut run = (NONE, 0, 0);
        for (station, alone) in hearers.clone() {
            let (part, kind) = (self.part_of[station.index()], alone.bits());
            if (part, kind) != (run.0, run.1) {
                self.count(std::mem::replace(&mut run, (part, kind, 0)));
            }
            run.2 += 1;
        }
        self.count(run);
        let mut parted = false;
        while let Some(part) = self.heard.pop() {
            parted |= self.divide(part as usize);
        }
        if parted {
            for (station, alone) in hearers {
                let part = &mut self.part_of[station.index()];
                *part = self.goes_to[*part as usize][usize::from(alone.bits())];
            }
        }
    }

    /// Counts stations of a part that hear the present transmitter alike.
    #[inline]
    fn count(&mut self, (part, kind, stations): (u32, u8, u32)) {
        if stations == 0 {
            return;
        }
        let hearers = &mut self.hearers[part as usize];
        if *hearers == [0; Alone::KINDS] {
            self.heard.push(part);
        }
        hearers[usize::from(kind)] += stations;
    }

    /// Finds out where the stations of a part go. True if not all stay.
    fn divide(&mut self, part: usize) -> bool {
        let hearers = std::mem::take(&mut self.hearers[part]);
        self.goes_to[part] = [part as u32; Alone::KINDS];
        let mut parted = false;
        for (kind, &count) in hearers.iter().enumerate() {
            // Who stays last keeps the part.
            if count > 0 && count < self.sizes[part] {
                self.goes_to[part][kind] = self.sizes.len() as u32;
                self.sizes[part] -= count;
                self.sizes.push(count);
                self.hearers.push([0; Alone::KINDS]);
                self.goes_to.push([0; Alone::KINDS]);
                parted = true;
            }
        }
        parted
    }

    /// The parts, by their first stations.
    fn classes(self) -> Vec<Vec<StationId>> {
        let mut classes: Vec<_> = vec![Vec::new(); self.sizes.len()];
        for (station, part) in (0..).map(StationId).zip(self.part_of) {
            classes[part as usize].push(station);
        }
        classes.sort_unstable();
        classes
    }
}
