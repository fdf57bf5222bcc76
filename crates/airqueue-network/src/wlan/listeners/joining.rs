//! Stations join and leave groups.
//!
//! Whether a station is in a group ([`LockstepGroup`](airqueue_wifi::mac::LockstepGroup)) or on its own determines only
//! the cost of a frame: a station is split from its group before an event affects this station alone, and joins a group
//! when, after the end of a frame, its state agrees with that of the group.

use super::Listeners;
use super::classes::{HearingClass, Membership};
use airqueue_core::Time;
use airqueue_wifi::medium::StationId;

impl Listeners {
    /// The number of a group among the grants; groups come after all stations.
    #[inline]
    pub(super) fn grant_of(&self, group: usize) -> usize {
        self.macs.len() + group
    }

    /// Ensures that a station is on its own, before an event affects this station alone.
    #[inline]
    pub(in crate::wlan) fn split(&mut self, station: StationId) {
        if let Some(group) = self.classes.group_of(station) {
            self.take_out(station, group);
            self.grants.set(station.index(), self.macs[station.index()].next_grant());
            self.recount(group);
        }
    }

    /// Members of a group, possibly listed more than once, leave the group together. The caller sets their grants.
    pub(super) fn set_all_apart(&mut self, group: usize, stations: &[u32]) {
        for &station in stations {
            let station = StationId(station);
            if self.classes.group_of(station) == Some(group) {
                self.take_out(station, group);
            }
        }
        self.recount(group);
    }

    /// A station leaves its group. The caller recounts the group and sets the station's grant.
    #[inline(always)]
    fn take_out(&mut self, station: StationId, group: usize) {
        let Membership { class, place, .. } = self.classes.memberships[station.index()];
        let members = self.classes.groups[group].members();
        let heir = (members.len() > 1).then(|| members[members.len() - 1]);
        let uniform = self.classes.all[class as usize].uniform.then_some((members[0], heir));
        self.hearing.set_apart(station, group, uniform, &self.listeners);
        let mac = &mut self.macs[station.index()];
        let left = &mut self.classes.groups[group];
        left.leave(place as usize, mac, &self.radio);
        self.classes.on_left(station);
    }

    /// After the end of a frame: stations of a hearing class may agree on the state of the medium, and groups of the
    /// class may hear an idle medium.
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

    /// Among the first `of` stations on their own, the place of the last that may join a group.
    #[inline]
    fn last_to_join(&self, class: usize, of: usize, now: Time) -> Option<usize> {
        let HearingClass { apart, sought, .. } = &self.classes.all[class];
        apart[..of].iter().rposition(|&station| {
            // A station that is addressed all the time would only join and leave.
            Some(station) != *sought
                && self.macs[station.index()].may_join(now)
                && self.hearing.is_silent(station)
        })
    }

    /// A group whose state agrees with that of an earlier group in the list is merged into the earlier group.
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
        self.classes.unite(group, into, &mut self.macs);
        self.classes.dissolve(class, group);
        self.grants.set(self.grant_of(group), Time::MAX);
    }

    /// Members of a group, in places for which `leaves` is true, on which a frame has an effect that differs from the
    /// rest form another group, which is returned, if there may be one more. [`Self::gather`] is due.
    pub(super) fn branch_off(
        &mut self,
        group: usize,
        class: usize,
        leaves: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if self.classes.all[class].uniform && self.hearing.is_tracking_at_group(group) {
            // One receiver stands for all members, and cannot be in both groups.
            return None;
        }
        let into = self.classes.found(class)?;
        self.hearing.branch_off(into, group);
        self.classes.part(group, into, leaves);
        Some(into)
    }

    #[inline(always)]
    fn recount(&mut self, group: usize) {
        self.classes.groups[group].recount(&self.radio);
        self.grants.set(self.grant_of(group), self.classes.groups[group].next_grant());
    }

    /// A station joins a group with agreeing state, or founds a group.
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

    /// Replaces the groups among the `actors`, which are in rising order, by their members whose backoff ends by `now`.
    /// These members are on their own from now on.
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
