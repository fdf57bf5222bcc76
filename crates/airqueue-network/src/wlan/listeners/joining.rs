//! Stations join crowds and leave them.
//!
//! Who is in a crowd ([`Crowd`](airqueue_wifi::mac::Crowd)) and who is on its own decides what a frame costs
//! and nothing else: a station is split from its crowd before anything happens to it alone, and when the end
//! of a frame leaves a station knowing what others know it joins them.

use super::Listeners;
use super::groups::{Cohort, Seat};
use airqueue_core::Time;
use airqueue_wifi::medium::StationId;

impl Listeners {
    /// The number under which a crowd is among the grants, behind all stations.
    #[inline]
    pub(super) fn grant_of(&self, crowd: usize) -> usize {
        self.macs.len() + crowd
    }

    /// Makes sure that a station is on its own: something is about to happen to it alone.
    #[inline]
    pub(in crate::wlan) fn split(&mut self, station: StationId) {
        if let Some(crowd) = self.cohorts.crowd_of(station) {
            self.take_out(station, crowd);
            self.grants.set(station.index(), self.macs[station.index()].next_grant());
            self.recount(crowd);
        }
    }

    /// Members of a crowd, each of them once or several times, leave it together. Whoever
    /// calls this sets their grants.
    pub(super) fn set_all_apart(&mut self, crowd: usize, stations: &[u32]) {
        for &station in stations {
            let station = StationId(station);
            if self.cohorts.crowd_of(station) == Some(crowd) {
                self.take_out(station, crowd);
            }
        }
        self.recount(crowd);
    }

    /// A station leaves its crowd, which is to be recounted; it is to be among the grants.
    #[inline(always)]
    fn take_out(&mut self, station: StationId, crowd: usize) {
        let Seat { cohort, place, .. } = self.cohorts.seats[station.index()];
        let members = self.cohorts.crowds[crowd].members();
        let heir = (members.len() > 1).then(|| members[members.len() - 1]);
        let uniform = self.cohorts.all[cohort as usize].uniform.then_some((members[0], heir));
        self.hearing.set_apart(station, crowd, uniform);
        let mac = &mut self.macs[station.index()];
        let left = &mut self.cohorts.crowds[crowd];
        left.leave(place as usize, mac, &self.radio);
        self.cohorts.on_left(station);
    }

    /// The end of a frame may have left stations of a cohort with the same view of the medium, and its crowds
    /// with an idle one.
    pub(super) fn gather(&mut self, cohort: usize, now: Time) {
        for at in (1..self.cohorts.all[cohort].crowds().len()).rev() {
            self.unite(cohort, at, now);
        }
        let mut apart = self.cohorts.all[cohort].apart.len();
        while let Some(at) = self.last_to_join(cohort, apart, now) {
            self.join(cohort, self.cohorts.all[cohort].apart[at], now);
            apart = at;
        }
        for at in 0..self.cohorts.all[cohort].crowds().len() {
            self.recount(self.cohorts.all[cohort].crowds()[at] as usize);
        }
    }

    /// The last of the first so many stations on their own that may join a crowd: its place among them.
    #[inline]
    fn last_to_join(&self, cohort: usize, of: usize, now: Time) -> Option<usize> {
        let Cohort { apart, sought, .. } = &self.cohorts.all[cohort];
        apart[..of].iter().rposition(|&station| {
            // Whoever is sought all the time would only come and go.
            Some(station) != *sought
                && self.macs[station.index()].may_join(now)
                && self.hearing.is_silent(station)
        })
    }

    /// A crowd that knows what one before it in the list knows dissolves in that.
    fn unite(&mut self, cohort: usize, at: usize, now: Time) {
        let crowds = self.cohorts.all[cohort].crowds();
        let crowd = crowds[at] as usize;
        let leaving = &self.cohorts.crowds[crowd];
        let agrees = |&&other: &&u32| {
            self.hearing.is_silent_at_crowd(other as usize)
                && leaving.agrees(&self.cohorts.crowds[other as usize], now)
        };
        if !self.hearing.is_silent_at_crowd(crowd) {
            return;
        }
        let Some(&into) = crowds[..at].iter().find(agrees) else { return };
        let into = into as usize;
        while let Some(&station) = self.cohorts.crowds[crowd].members().last() {
            self.cohorts.hand_over(station, &mut self.macs[station.index()], into);
        }
        self.cohorts.dissolve(cohort, crowd);
        self.grants.set(self.grant_of(crowd), Time::MAX);
    }

    /// Members of a crowd to which the same happens that does not happen to the rest form another,
    /// which is returned, if there may be one more. [`Self::gather`] is due.
    pub(super) fn branch_off(
        &mut self,
        crowd: usize,
        cohort: usize,
        leaving: impl Iterator<Item = StationId>,
    ) -> Option<usize> {
        if self.cohorts.all[cohort].uniform && self.hearing.is_told_at_crowd(crowd) {
            // One receiver stands for all: it cannot be in both.
            return None;
        }
        let into = self.cohorts.found(cohort)?;
        self.hearing.branch_off(into, crowd);
        if let Ok([new, old]) = self.cohorts.crowds.get_disjoint_mut([into, crowd]) {
            new.branch_off(old);
        }
        for station in leaving {
            self.cohorts.hand_over(station, &mut self.macs[station.index()], into);
        }
        Some(into)
    }

    #[inline(always)]
    fn recount(&mut self, crowd: usize) {
        self.cohorts.crowds[crowd].recount(&self.radio);
        self.grants.set(self.grant_of(crowd), self.cohorts.crowds[crowd].next_grant());
    }

    /// A station joins a crowd that knows what it knows, or founds one.
    fn join(&mut self, cohort: usize, station: StationId, now: Time) {
        let mac = &self.macs[station.index()];
        let admits = |&&crowd: &&u32| {
            self.hearing.is_silent_at_crowd(crowd as usize)
                && self.cohorts.crowds[crowd as usize].admits(mac, now)
        };
        let found =
            self.cohorts.all[cohort].crowds().iter().find(admits).map(|&crowd| crowd as usize);
        let founded = || {
            let crowd = self.cohorts.found(cohort)?;
            self.hearing.found_crowd(crowd);
            self.cohorts.crowds[crowd].adopt(&self.macs[station.index()]);
            Some(crowd)
        };
        if let Some(crowd) = found.or_else(founded) {
            self.enter(station, crowd);
        }
    }

    fn enter(&mut self, station: StationId, crowd: usize) {
        self.cohorts.crowds[crowd].join(&mut self.macs[station.index()]);
        self.cohorts.on_joined(station, crowd);
        self.grants.set(station.index(), Time::MAX);
    }

    /// Replaces the crowds among the `actors`, which rise, by those of their members whose backoff ends by
    /// `now`, who are on their own from now on.
    pub(super) fn call_out(&mut self, actors: &mut Vec<u32>, now: Time) {
        let stations = self.macs.len();
        let first = actors.partition_point(|&actor| (actor as usize) < stations);
        let crowds = actors.len();
        if first == crowds {
            return;
        }
        for at in first..crowds {
            let (crowd, begin) = (actors[at] as usize - stations, actors.len());
            self.cohorts.crowds[crowd].due(now, &self.radio, actors);
            self.set_all_apart(crowd, &actors[begin..]);
        }
        actors.drain(first..crowds);
        actors.sort_unstable();
        actors.dedup();
    }
}
