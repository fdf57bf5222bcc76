//! The keys of stations that associate with access points, and the routes by way of these.

use super::error::{Result, wrong};
use super::file::{AssociationTable, File};
use super::flows::{BuiltFlows, FlowDraft, Flows, Origin};
use super::nodes::Leg;
use super::power::{Given, Power, positive};
use super::quantity::{Duration, Quantity};
use super::reroutes::parts;
use airqueue_core::{Span, Time};
use airqueue_network::wlan::{AssociationSpec, Roam};
use airqueue_wifi::medium::StationId;

impl Given<'_> {
    /// The associations of all stations. The frames of their access points have windows that grow.
    pub(super) fn associations(
        &self,
        file: &File,
        power: &mut Power,
    ) -> Result<Vec<AssociationSpec>> {
        let mut associations = Vec::new();
        for (at, ids) in self.stations.members.iter().enumerate() {
            let table = &file.stations[at];
            let Some(association) = &table.association else { continue };
            let key = format!("stations[{at}]");
            let beside =
                [("power_save", table.power_save.is_some()), ("scans", table.scans.is_some())];
            if let Some((name, _)) = beside.into_iter().find(|&(_, given)| given) {
                let problem = format_args!(
                    "a station with `association` has no `{name}`; leave one of the two out"
                );
                return wrong(key, problem);
            }
            for id in ids.clone() {
                associations.push(self.association(
                    &format!("{key}.association"),
                    association,
                    id,
                    power,
                )?);
            }
        }
        for of in &mut power.beacons {
            let joins = |association: &AssociationSpec| association.may_join(of.station);
            if associations.iter().any(joins) {
                // Nobody acknowledges beacons: their window never grows.
                let grown = self.access(of.station.index()).w_max;
                of.access.w_max = of.access.w_min.max(grown);
            }
        }
        Ok(associations)
    }

    fn association(
        &self,
        key: &str,
        table: &AssociationTable,
        id: usize,
        power: &Power,
    ) -> Result<AssociationSpec> {
        let station = |id: usize| StationId(id as u32);
        let first = self.access_point(key, table.access_point.as_ref(), id, &power.beacons)?;
        let mut roams: Vec<Roam> = Vec::with_capacity(table.roams.len());
        for (at, roam) in table.roams.iter().enumerate() {
            let key = format!("{key}.roams[{at}]");
            let to = self.named_access_point(format!("{key}.to"), &roam.to, id, &power.beacons)?;
            let begins = Time::ZERO + roam.at.value;
            if roams.last().is_some_and(|before| before.at > begins) {
                return wrong(
                    format_args!("{key}.at"),
                    "it is before the entry before it; give rising times",
                );
            }
            roams.push(Roam { at: begins, to: station(to) });
        }
        let time =
            |given: &Option<Quantity<Duration>>| given.as_ref().map_or(Span::ZERO, |of| of.value);
        let timeout = positive(key, "timeout", table.timeout.as_ref())?;
        Ok(AssociationSpec {
            station: station(id),
            access_point: station(first),
            first: time(&table.at),
            roams,
            search: time(&table.search),
            keys: table.keys.unwrap_or(true),
            timeout: timeout.unwrap_or(AssociationSpec::TIMEOUT),
            rate: self.rate(&format!("{key}.rate"), table.rate.as_ref())?,
            access: self.access(id),
        })
    }
}

/// Gives flows of stations that roam their routes by way of the other access points.
pub(super) fn add_routes(
    flows: &Flows<'_>,
    built: &mut BuiltFlows,
    associations: &[AssociationSpec],
) -> Result<()> {
    let roamers: Vec<&AssociationSpec> =
        associations.iter().filter(|of| !of.roams.is_empty()).collect();
    for flow in 0..built.flows.len() {
        let mut routes = vec![parts(&built.flows[flow].route, built)];
        for roamer in &roamers {
            for route in routes.clone() {
                for ap in roamer.access_points() {
                    let other: Vec<Leg> =
                        route.iter().map(|leg| by_way_of(leg, roamer, ap)).collect();
                    if !routes.contains(&other) {
                        routes.push(other);
                    }
                }
            }
        }
        for legs in &routes[1..] {
            add_route(flows, built, flow, legs)?;
        }
    }
    Ok(())
}

/// A hop between a station and one of its access points, with another access point in its place.
fn by_way_of(leg: &Leg, roamer: &AssociationSpec, ap: StationId) -> Leg {
    let station = roamer.station.index();
    let joins = |id: usize| roamer.may_join(StationId(id as u32));
    match *leg {
        Leg::Air(from, to) if to == station && joins(from) => Leg::Air(ap.index(), to),
        Leg::Air(from, to) if from == station && joins(to) => Leg::Air(from, ap.index()),
        other => other,
    }
}

fn add_route(flows: &Flows<'_>, built: &mut BuiltFlows, flow: usize, legs: &[Leg]) -> Result<()> {
    let Origin { table, flow_rates, from, to } = built.origins[flow];
    let key = &format!("flows[{table}]");
    let name = built.flows[flow].name.clone();
    if built.flows[flow].traffic.is_saturated() {
        let problem = format_args!(
            "{name:?} fills the queue of the station that it begins at, for its first hop, and one of its stations \
             roams; give it a rate, or source = \"tcp\""
        );
        return wrong(key, problem);
    }
    let table = &flows.radio_hops.file.flows[table];
    let draft = FlowDraft { key, table, via: None, flow_rates, name, from, to };
    flows.add_route(&draft, legs, flow, built)
}
