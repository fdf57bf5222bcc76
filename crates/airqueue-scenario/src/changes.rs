//! Changes during a run.

use super::capacity::{SaturatedBacklog, check_capacity};
use super::error::{Result, error, wrong};
use super::file::ChangeTable;
use super::flows::{BuiltFlows, Flows};
use super::phy::rate_index;
use super::quantity::{FrameRate, Quantity, QueueLimit};
use airqueue_core::{Limit, Span, Time};
use airqueue_network::HopId;
use airqueue_network::network::{Change, TimedChange};
use airqueue_network::wlan::HopSpec;
use airqueue_qdisc::queue::offered;
use airqueue_qdisc::{QueuePer, QueueSpec};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// The inputs from which changes are built.
pub(super) struct Changes<'a> {
    pub(super) flows: &'a Flows<'a>,
    pub(super) built: &'a BuiltFlows,
    /// For each change: the change of a flow's route, if the change is of this kind.
    pub(super) reroutes: &'a [Option<Change>],
    /// Length of the run, from the beginning of the warm-up.
    pub(super) lasts: Span,
}

impl Changes<'_> {
    /// All changes, in the file's order.
    pub(super) fn all(&self) -> Result<Vec<TimedChange>> {
        let mut changes = Vec::new();
        for (place, table) in self.flows.radio_hops.file.changes.iter().enumerate() {
            let key = format!("changes[{place}]");
            let at = self.at(&key, table)?;
            let built = self.of(&key, table, place)?;
            changes.extend(built.into_iter().map(|change| TimedChange { at, change }));
        }
        Ok(changes)
    }

    fn at(&self, key: &str, table: &ChangeTable) -> Result<Time> {
        if table.at.value <= self.lasts {
            return Ok(Time::ZERO + table.at.value);
        }
        let problem = format_args!(
            "found {:?}, expected a time within the run, which ends {} s after the beginning of its warm-up",
            table.at.text,
            self.lasts.as_secs_f64()
        );
        wrong(format_args!("{key}.at"), problem)
    }

    fn of(&self, key: &str, table: &ChangeTable, place: usize) -> Result<Vec<Change>> {
        if let Some(route) = self.reroutes[place] {
            return Ok(vec![route]);
        }
        let needs = |name: &str, other: &str| {
            wrong(key, format_args!("with the key `{name}` the key `{other}` is needed, too"))
        };
        match table {
            ChangeTable { link: Some(_), station: Some(_), .. } => {
                wrong(key, "it is of a link or of a station; leave `link` or `station` out")
            }
            ChangeTable { link: Some(_), queue_limit: Some(_), .. } => {
                needs("queue_limit", "station")
            }
            ChangeTable { link: Some(_), flow: Some(_), .. }
            | ChangeTable { link: None, station: None, flow: Some(_), .. } => {
                needs("flow", "station` or `via")
            }
            ChangeTable { link: Some(link), rate: Some(rate), .. } => self.rate(key, link, rate),
            ChangeTable { link: Some(_), rate: None, .. } => needs("link", "rate"),
            ChangeTable { rate: Some(_), .. } => needs("rate", "link"),
            ChangeTable { station: Some(station), queue_limit: Some(limit), flow, .. } => {
                let found =
                    self.flows.radio_hops.stations.find(format_args!("{key}.station"), station)?;
                match flow {
                    None => self.limit(key, found.ids, limit),
                    Some(flow) if !found.group => {
                        self.flow_limit(key, found.ids.start, flow, limit)
                    }
                    Some(_) => {
                        let problem =
                            format_args!("{station:?} is a group; name one of its members");
                        wrong(format_args!("{key}.station"), problem)
                    }
                }
            }
            ChangeTable { station: Some(_), .. } => needs("station", "queue_limit"),
            ChangeTable { queue_limit: Some(_), .. } => needs("queue_limit", "station"),
            _ => wrong(
                key,
                "it changes nothing; give `link` and `rate`, `station` and `queue_limit`, or `flow` and `via`",
            ),
        }
    }

    /// Changes the rate of the hops between two stations.
    fn rate(&self, key: &str, names: &[String; 2], rate: &FrameRate) -> Result<Vec<Change>> {
        let radio_hops = &self.flows.radio_hops;
        let mut ends = [0; 2];
        for (at, name) in names.iter().enumerate() {
            let key = format!("{key}.link[{at}]");
            let found = radio_hops.stations.find(&key, name)?;
            if found.group {
                return wrong(key, format_args!("{name:?} is a group; name one of its members"));
            }
            ends[at] = found.ids.start;
        }
        let [a, b] = ends;
        let rate =
            rate_index(&radio_hops.file.phy, radio_hops.phy, format_args!("{key}.rate"), rate)?;
        let mut changes = Vec::new();
        for (at, hop) in self.built.hops.iter().enumerate() {
            let (from, to) = (hop.from.index(), hop.to.index());
            if (from, to) != (a, b) && (from, to) != (b, a) {
                continue;
            }
            if hop.rate_control.is_some() {
                let problem = format_args!(
                    "rate control looks for the rate of {:?}; leave the change out, or give the stations or \
                     the flow a rate",
                    hop.name
                );
                return wrong(format_args!("{key}.rate"), problem);
            }
            let changed = HopSpec { rate, ..hop.clone() };
            radio_hops.stations.check_rate(
                format_args!("{key}.rate"),
                radio_hops.phy,
                rate,
                from,
                to,
            )?;
            radio_hops.check_size(key, &changed)?;
            changes.push(Change::Rate { hop: HopId::at(at), rate });
        }
        if changes.is_empty() {
            let [a, b] = names;
            let problem =
                format_args!("no flow goes from {a:?} to {b:?} or back; name the ends of a hop");
            return wrong(format_args!("{key}.link"), problem);
        }
        Ok(changes)
    }

    /// Changes the limit of all queues of some stations.
    fn limit(
        &self,
        key: &str,
        stations: std::ops::Range<usize>,
        limit: &Quantity<QueueLimit>,
    ) -> Result<Vec<Change>> {
        let limit = limit.value;
        let mut kept = SaturatedBacklog::default();
        for (at, hop) in self.built.hops.iter().enumerate() {
            if stations.contains(&hop.from.index()) {
                self.check_capacity(key, at, limit, &mut kept)?;
            }
        }
        let categories = |station: usize| {
            let queues = self.flows.radio_hops.stations.specs[station].queues.len();
            let station = StationId(station as u32);
            AccessCategory::first(queues).map(move |ac| Change::Limit { station, ac, limit })
        };
        Ok(stations.flat_map(categories).collect())
    }

    /// Changes the limit of a flow's queue.
    fn flow_limit(
        &self,
        key: &str,
        station: usize,
        flow: &str,
        limit: &Quantity<QueueLimit>,
    ) -> Result<Vec<Change>> {
        let found = &self.built.flows[self.built.find(key, flow)?];
        let key = format!("{key}.flow");
        let name = self.flows.radio_hops.stations.name(station);
        let sends = |hop: &HopId| self.built.hops[hop.index()].from.index() == station;
        // All of the flow's routes through the station.
        let hops: Vec<HopId> =
            found.routes().flatten().filter_map(|hop| hop.over_air()).filter(sends).collect();
        let first = hops.first().ok_or_else(|| {
            error(&key, format_args!("{name:?} does not send the packets of {flow:?}"))
        })?;
        let queue = self.queue(&self.built.hops[first.index()]);
        let Some(by) = queue.discipline.facts().apart else {
            let problem = format_args!(
                "the queue of {name:?} keeps no flows apart; give it discipline = {}, or leave `flow` out",
                offered(|facts| facts.apart.is_some())
            );
            return wrong(key, problem);
        };
        let limit = limit.value;
        let mut kept = SaturatedBacklog::default();
        let link = |hop: &HopSpec| (hop.from, hop.ac, hop.to);
        for (at, hop) in self.built.hops.iter().enumerate() {
            let shares = |other: &HopId| link(&self.built.hops[other.index()]) == link(hop);
            if hops.contains(&HopId::at(at)) || by == QueuePer::Link && hops.iter().any(shares) {
                self.check_capacity(&key, at, limit, &mut kept)?;
            }
        }
        Ok(hops.into_iter().map(|hop| Change::HopLimit { hop, limit }).collect())
    }

    /// The queue of a hop's packets.
    fn queue(&self, hop: &HopSpec) -> &QueueSpec {
        &self.flows.radio_hops.stations.specs[hop.from.index()].queues[hop.ac.index()]
    }

    /// Checks that under the new limit there is still room for the hop's packets.
    fn check_capacity(
        &self,
        key: &str,
        at: usize,
        limit: Limit,
        kept: &mut SaturatedBacklog,
    ) -> Result<()> {
        let (hop, saturated) = (&self.built.hops[at], self.built.saturated.contains(&at));
        let queue = QueueSpec { limit, ..*self.queue(hop) };
        let name = self.flows.radio_hops.stations.name(hop.from.index());
        check_capacity(key, name, &queue, hop, saturated, kept)
    }
}
