//! The description of associations.

use crate::wlan::spec::{WlanError, WlanSpec};
use airqueue_core::{Span, Time};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{CategoryConfig, Mac};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames;

/// A station leaves its access point for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roam {
    /// When.
    pub at: Time,
    /// The other access point.
    pub to: StationId,
}

/// A station that associates with an access point before it sends and receives data.
#[derive(Clone, Debug, PartialEq)]
pub struct AssociationSpec {
    /// The station.
    pub station: StationId,
    /// The first access point, which sends beacons.
    pub access_point: StationId,
    /// When the station begins to look for it.
    pub first: Span,
    /// When the station leaves for other access points, by rising time.
    pub roams: Vec<Roam>,
    /// How long the station looks for an access point, on other channels, before it authenticates.
    pub search: Span,
    /// Whether both ends agree on keys by four EAPOL-Key messages after the association (WPA2).
    pub keys: bool,
    /// How long the station waits for the next frame of the access point before it begins anew.
    pub timeout: Span,
    /// The rate of the frames of both ends: a rate before 802.11n.
    pub rate: RateIndex,
    /// Channel access of the station's frames; that of the access point's is that of its beacons.
    pub access: CategoryConfig,
}

impl AssociationSpec {
    /// `IEEE80211_AUTH_TIMEOUT` and `IEEE80211_ASSOC_TIMEOUT` of Linux's mac80211.
    pub const TIMEOUT: Span = Span::from_millis(200);

    /// Whether a station is an access point that the station may associate with.
    pub fn may_join(&self, access_point: StationId) -> bool {
        self.access_points().any(|of| of == access_point)
    }

    /// The access points that may serve the station, the first one first; some may be there twice.
    pub fn access_points(&self) -> impl Iterator<Item = StationId> {
        std::iter::once(self.access_point).chain(self.roams.iter().map(|roam| roam.to))
    }
}

impl WlanSpec {
    /// Gives the MACs of stations that associate their access category of management frames. Access points have theirs.
    pub(in crate::wlan) fn add_handshakes(&self, macs: &mut [Mac]) {
        for of in &self.associations {
            macs[of.station.index()].add_management(of.access, &self.radio);
        }
    }

    /// Checks the associations.
    pub(in crate::wlan) fn check_associations(&self) -> Result<(), WlanError> {
        for (at, of) in self.associations.iter().enumerate() {
            let others = &self.associations[..at];
            self.check_association(of, others).map_err(|problem| WlanError::Association {
                station: self.name(of.station),
                problem,
            })?;
        }
        Ok(())
    }

    fn check_association(
        &self,
        of: &AssociationSpec,
        others: &[AssociationSpec],
    ) -> Result<(), &'static str> {
        let known = of.station.index() < self.stations.len();
        if !known || others.iter().any(|other| other.station == of.station) {
            return Err("there is no such station, or it associates already");
        }
        let managed = self.sleepers.iter().map(|sleeper| sleeper.station);
        if managed.chain(self.beacons.iter().map(|of| of.station)).any(|id| id == of.station) {
            return Err(
                "a station that sends beacons, sleeps, or tells of its scans does not associate",
            );
        }
        if self.absences.iter().any(|other| other.station == of.station && other.is_scan()) {
            return Err("a station that scans does not associate");
        }
        let decodes = |from, to| self.reach.signal(from, to).is_some_and(|s| s.decodable());
        for ap in of.access_points() {
            if !self.beacons.iter().any(|beacons| beacons.station == ap) {
                return Err("its access point sends no beacons");
            }
            if !decodes(ap, of.station) || !decodes(of.station, ap) {
                return Err("it and its access point cannot decode each other");
            }
        }
        if !of.roams.is_sorted_by_key(|roam| roam.at) {
            return Err("it roams in the order of time");
        }
        if of.first < Span::ZERO || of.search < Span::ZERO || of.timeout <= Span::ZERO {
            return Err("the times must not be negative, and it must wait for an answer");
        }
        let longest = frames::key_bytes(2, true);
        if !self.is_old(of.rate) || self.radio.phy.max_mpdu_bytes(of.rate) < longest {
            return Err("the rate of its frames must be one before 802.11n");
        }
        Ok(())
    }
}
