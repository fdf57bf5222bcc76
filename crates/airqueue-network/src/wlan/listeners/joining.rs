//! Stations join groups and leave them.
//!
//! Who is in a group ([`LockstepGroup`](airqueue_wifi::mac::LockstepGroup)) and who is on its own decides what a frame costs
//! and nothing else: a station is split from its group before anything happens to it alone, and when the end
//! of a frame leaves a station knowing what others know it joins them.

use super::Listeners;
use super::classes::{HearingClass, Membership};
use airqueue_core::Time;
use airqueue_wifi::medium::StationId;

impl Listeners {
    /// The number under which a group is among the grants, behind all stations.
    #[inline]
    pub(super) fn grant_of(&self, group: usize) -> usize {
        self.macs.len() + group
    }

    /// Makes sure that a station is on its own: something is about to happen to it alone.
    #[inline]
    pub(in crate::wlan) fn split(&mut self, station: StationId) {
        if let Some(group) = self.classes.group_of(station) {
            self.take_out(station, group);
            self.grants.set(station.index(), self.macs[station.index()].next_grant());
            self.recount(group);
        }
    }

    /// Members of a group, each of them once or several times, leave it together. Whoever
    /// calls this sets their grants.
    pub(super) fn set_all_apart(&mut self, group: usize, stations: &[u32]) {
        for &station in stations {
            let station = StationId(station);
            if self.classes.group_of(station) == Some(group) {
                self.take_out(station, group);
            }
        }
        self.recount(group);
    }

    /// A station leaves its group, which is to be recounted; it is to be among the grants.
    #[inline(always)]
    fn take_out(&mut self, station: StationId, group: usize) {
        let Membership { class, place, .. } = self.classes.memberships[station.index()];
        let members = self.classes.groups[group].members();
        let heir = (members.len() > 1).then(|| members[members.len() - 1]);
        let uniform = self.classes.all[class as usize].uniform.then_some((members[0], heir));
        self.hearing.set_apart(station, group, uniform);
        let mac = &mut self.macs[station.index()];
        let left = &mut self.classes.groups[group];
        left.leave(place as usize, mac, &self.radio);
        self.classes.on_left(station);
    }

    /// The end of a frame may have left stations of a cohort with the same view of the medium, and its groups
    /// with an idle one.
    pub(super) fn gather(&mut self, class: usize, now: Time) {
        for at in (1..self.classes.all[class].groups().len()).rev() {
            self.unite(class, at, now);
        }
        let mut apart = self.classes.all[class].apart.len();
        while let Some(at) = self.last_to_join(class, apart, now) {
            self.join(class, self.classes.all[class].apart[at], now);
            apart = at;
        }
        for at in 0..self.classes.all[class].groups().len() {
            self.recount(self.classes.all[class].groups()[at] as usize);
        }
    }

    /// The last of the first so many stations on their own that may join a group: its place among them.
    #[inline]
    fn last_to_join(&self, class: usize, of: usize, now: Time) -> Option<usize> {
        let HearingClass { apart, sought, .. } = &self.classes.all[class];
        apart[..of].iter().rposition(|&station| {
            // Whoever is sought all the time would only come and go.
            Some(station) != *sought
                && self.macs[station.index()].may_join(now)
                && self.hearing.is_silent(station)
        })
    }

    /// A group that knows what one before it in the list knows dissolves in that.
    fn unite(&mut self, class: usize, at: usize, now: Time) {
        let groups = self.classes.all[class].groups();
        let group = groups[at] as usize;
        let leaving = &self.classes.groups[group];
        let agrees = |&&other: &&u32| {
            self.hearing.is_silent_at_group(other as usize)
                && leaving.agrees(&self.classes.groups[other as usize], now)
        };
        if !self.hearing.is_silent_at_group(group) {
            return;
        }
        let Some(&into) = groups[..at].iter().find(agrees) else { return };
        let into = into as usize;
        while let Some(&station) = self.classes.groups[group].members().last() {
            self.classes.hand_over(station, &mut self.macs[station.index()], into);
        }
        self.classes.dissolve(class, group);
        self.grants.set(self.grant_of(group), Time::MAX);
    }

    /// Members of a group to which the same happens that does not happen to the rest form another,
    /// which is returned, if there may be one more. [`Self::gather`] is due.
    pub(super) fn branch_off(
        &mut self,
        group: usize,
        class: usize,
        leaving: impl Iterator<Item = StationId>,
    ) -> Option<usize> {
        if self.classes.all[class].uniform && self.hearing.is_told_at_group(group) {
            // One receiver stands for all: it cannot be in both.
            return None;
        }
        let into = self.classes.found(class)?;
        self.hearing.branch_off(into, group);
        if let Ok([new, old]) = self.classes.groups.get_disjoint_mut([into, group]) {
            new.branch_off(old);
        }
        for station in leaving {
            self.classes.hand_over(station, &mut self.macs[station.index()], into);
        }
        Some(into)
    }

    #[inline(always)]
    fn recount(&mut self, group: usize) {
        self.classes.groups[group].recount(&self.radio);
        self.grants.set(self.grant_of(group), self.classes.groups[group].next_grant());
    }

    /// A station joins a group that knows what it knows, or founds one.
    fn join(&mut self, class: usize, station: StationId, now: Time) {
        let mac = &self.macs[station.index()];
        let admits = |&&group: &&u32| {
            self.hearing.is_silent_at_group(group as usize)
                && self.classes.groups[group as usize].admits(mac, now)
        };
        let found =
            self.classes.all[class].groups().iter().find(admits).map(|&group| group as usize);
        let founded = || {
            let group = self.classes.found(class)?;
            self.hearing.found_group(group);
            self.classes.groups[group].adopt(&self.macs[station.index()]);
            Some(group)
        };
        if let Some(group) = found.or_else(founded) {
            self.enter(station, group);
        }
    }

    fn enter(&mut self, station: StationId, group: usize) {
        self.classes.groups[group].join(&mut self.macs[station.index()]);
        self.classes.on_joined(station, group);
        self.grants.set(station.index(), Time::MAX);
    }

    /// Replaces the groups among the `actors`, which rise, by those of their members whose backoff ends by
    /// `now`, who are on their own from now on.
    pub(super) fn call_out(&mut self, actors: &mut Vec<u32>, now: Time) {
        let stations = self.macs.len();
        let first = actors.partition_point(|&actor| (actor as usize) < stations);
        let groups = actors.len();
        if first == groups {
            return;
        }
        for at in first..groups {
            let (group, begin) = (actors[at] as usize - stations, actors.len());
            self.classes.groups[group].due(now, &self.radio, actors);
            self.set_all_apart(group, &actors[begin..]);
        }
        actors.drain(first..groups);
        actors.sort_unstable();
        actors.dedup();
    }
}
