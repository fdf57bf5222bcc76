//! The distribution system behind access points: flows take the route by way of the access point that serves a station.

use super::hops::Hops;
use super::spec::NetworkSpec;
use crate::network::Hop;
use crate::wlan::AssociationSpec;
use crate::{HopId, PathId, RouteId};
use airqueue_wifi::medium::StationId;

/// The access points of the stations that associate, and the routes that follow from them.
#[derive(Clone, Debug)]
pub(super) struct Roaming {
    /// The two ends of each hop over the air.
    ends: Vec<(StationId, StationId)>,
    stations: Vec<Roamer>,
}

/// A station that associates.
#[derive(Clone, Debug)]
struct Roamer {
    station: StationId,
    /// The access points that may serve the station.
    access_points: Vec<StationId>,
    /// The one that served the station last.
    present: StationId,
}

impl Roaming {
    /// `None`: no station has a choice.
    pub(super) fn new(spec: &NetworkSpec) -> Option<Box<Roaming>> {
        let roamers = spec.wlan.associations.iter().filter(|of| !of.roams.is_empty());
        let roamer = |of: &AssociationSpec| Roamer {
            station: of.station,
            access_points: of.access_points().collect(),
            present: of.access_point,
        };
        let stations: Vec<Roamer> = roamers.map(roamer).collect();
        let ends = || spec.wlan.hops.iter().map(|hop| (hop.from, hop.to)).collect();
        (!stations.is_empty()).then(|| Box::new(Roaming { ends: ends(), stations }))
    }

    /// A station has associated: each path takes the first of its routes that all stations' access points allow.
    pub(super) fn on_associated(
        &mut self,
        station: StationId,
        access_point: StationId,
        hops: &mut Hops,
    ) {
        let roamer = self.stations.iter_mut().find(|of| of.station == station);
        let Some(roamer) = roamer else { return };
        if std::mem::replace(&mut roamer.present, access_point) == access_point {
            return;
        }
        for path in (0..hops.paths.len()).map(PathId::at) {
            if hops.routes(path).nth(1).is_none() {
                continue;
            }
            let on_air = |&id: &HopId| match hops.all[id.index()].over {
                Hop::Air(hop) => Some(self.ends[hop.index()]),
                Hop::Wire(_) => None,
            };
            let touches = |route: &[HopId]| {
                let mut ends = route.iter().filter_map(on_air);
                ends.any(|(from, to)| from == station || to == station)
            };
            let allowed = |route: &[HopId]| {
                let mut ends = route.iter().filter_map(on_air);
                ends.all(|(from, to)| self.allows(from, to) && self.allows(to, from))
            };
            let concerned = hops.routes(path).any(touches);
            let route = hops.routes(path).position(allowed);
            if let Some(route) = route.filter(|_| concerned) {
                hops.take_route(path, RouteId::at(route));
            }
        }
    }

    /// Whether another station is no access point of a station but the present one.
    fn allows(&self, station: StationId, other: StationId) -> bool {
        let of = self.stations.iter().find(|of| of.station == station);
        of.is_none_or(|of| of.present == other || !of.access_points.contains(&other))
    }
}
