//! Changes during a run.

use super::capacity::{SaturatedBacklog, check_capacity};
use super::error::{Result, error, probability, wrong};
use super::file::ChangeTable;
use super::flows::{BuiltFlows, Flows};
use super::nodes::Nodes;
use super::phy::rate_index;
use super::quantity::{FrameRate, Quantity, QueueLimit};
use super::stations::{Memory, behaving};
use airqueue_core::keys::Layers;
use airqueue_core::{Limit, Span, Time};
use airqueue_network::HopId;
use airqueue_network::network::{Change, TimedChange};
use airqueue_network::wlan::HopSpec;
use airqueue_qdisc::queue::{check_used, offered};
use airqueue_qdisc::{DisciplineName, Link, QueueGiven, QueuePer, QueueSpec};
use airqueue_wifi::medium::{Reach, StationId};
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
    /// All changes: those of recorded rates, then those of the file in its order.
    pub(super) fn all(&self) -> Result<Vec<TimedChange>> {
        let mut changes = self.of_rate_traces()?;
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
        check_keys(key, table)?;
        match table {
            ChangeTable { link: Some(link), rate: Some(rate), .. } => {
                self.link_rate(key, link, rate)
            }
            ChangeTable { station: Some(station), .. } => self.station(key, station, table),
            ChangeTable { host: Some(host), .. } => self.host(key, host, table),
            _ => wrong(
                key,
                "it changes nothing; give `link` and `rate`, `station` and `queue_limit`, `host` and `rate`, or \
                 `flow` and `via`",
            ),
        }
    }

    /// Changes the rate of the hops between two stations.
    fn link_rate(&self, key: &str, names: &[String; 2], rate: &FrameRate) -> Result<Vec<Change>> {
        let mut ends = [0; 2];
        for (at, name) in names.iter().enumerate() {
            let key = format!("{key}.link[{at}]");
            let found = self.flows.radio_hops.stations.find(&key, name)?;
            if found.group {
                return wrong(key, format_args!("{name:?} is a group; name one of its members"));
            }
            ends[at] = found.ids.start;
        }
        let [a, b] = ends;
        let changes =
            self.rate(key, rate, |from, to| (from, to) == (a, b) || (from, to) == (b, a))?;
        if changes.is_empty() && !self.has_real_nodes() {
            let [a, b] = names;
            let problem =
                format_args!("no flow goes from {a:?} to {b:?} or back; name the ends of a hop");
            return wrong(format_args!("{key}.link"), problem);
        }
        Ok(changes)
    }

    /// Whether real programs may use what no flow of the file uses. Emulations have flows for these, and no marks of real nodes.
    fn has_real_nodes(&self) -> bool {
        let file = self.flows.radio_hops.file;
        let marked = file.stations.iter().any(|of| of.real) || file.hosts.iter().any(|of| of.real);
        marked || file.others_real
    }

    /// Changes stations.
    fn station(&self, key: &str, name: &str, table: &ChangeTable) -> Result<Vec<Change>> {
        let found = self.flows.radio_hops.stations.find(format_args!("{key}.station"), name)?;
        let mut changes = Vec::new();
        if let Some(rate) = &table.rate {
            let of = &found.ids;
            changes
                .extend(self.rate(key, rate, |from, to| of.contains(&from) || of.contains(&to))?);
            if changes.is_empty() && !self.has_real_nodes() {
                let problem = format_args!("no flow goes from or to {name:?} over the air");
                return wrong(format_args!("{key}.station"), problem);
            }
        }
        if let Some(limit) = &table.queue_limit {
            if table.queue.is_some() {
                let problem = "the new queue has a limit of its own; leave `queue_limit` out";
                return wrong(key, problem);
            }
            changes.extend(match &table.flow {
                None => self.limit(key, found.ids.clone(), limit)?,
                Some(flow) if !found.group => self.flow_limit(key, found.ids.start, flow, limit)?,
                Some(_) => {
                    let problem = format_args!("{name:?} is a group; name one of its members");
                    return wrong(format_args!("{key}.station"), problem);
                }
            });
        }
        changes.extend(self.access(key, found.ids.clone(), table)?);
        if let Some(queue) = &table.queue {
            changes.extend(self.replaced(key, found.ids.clone(), queue)?);
        }
        if let Some([x, y]) = &table.position {
            if found.group {
                let problem = format_args!("{name:?} is a group; name one of its members");
                return wrong(format_args!("{key}.station"), problem);
            }
            changes.push(self.moved(key, found.ids.start, [x.value, y.value])?);
        }
        if let Some(away) = table.away {
            let station = |id| StationId(id as u32);
            changes.extend(found.ids.map(|id| Change::Away { station: station(id), away }));
        }
        Ok(changes)
    }

    /// Moves a station.
    fn moved(&self, key: &str, id: usize, [x_m, y_m]: [f64; 2]) -> Result<Change> {
        let key = format!("{key}.position");
        if self.flows.radio_hops.medium.places.is_empty() {
            let problem = "without medium.ranges or medium.path_loss stations have no positions; give one of them, or \
                           leave it out";
            return wrong(key, problem);
        }
        let within = -Reach::FARTHEST_M..=Reach::FARTHEST_M;
        if !within.contains(&x_m) || !within.contains(&y_m) {
            return wrong(key, "it is beyond 1e9 m");
        }
        Ok(Change::Move { station: StationId(id as u32), x_m, y_m })
    }

    /// Changes the wired links of hosts.
    fn host(&self, key: &str, name: &str, table: &ChangeTable) -> Result<Vec<Change>> {
        let rate = match &table.rate {
            None => None,
            Some(FrameRate::Legacy(rate)) => Some(rate.value),
            Some(FrameRate::Scheme(_)) => {
                let problem = format_args!(
                    "{name:?} has a wired link; give bits per second, such as \"10 Mb/s\""
                );
                return wrong(format_args!("{key}.rate"), problem);
            }
        };
        let to_host = table.rate_to_host.as_ref().map(|rate| rate.value).or(rate);
        let loss = table.loss.map(|loss| probability(format_args!("{key}.loss"), loss));
        let (loss, delay) = (loss.transpose()?, table.delay.as_ref().map(|delay| delay.value));
        let mut changes = Vec::new();
        for wire in self.flows.nodes.wires_of(format_args!("{key}.host"), name)? {
            let unlimited = self.flows.nodes.wires[wire.index()].rate.is_none();
            if delay == Some(Span::ZERO) && unlimited {
                let problem = format_args!(
                    "the wired link of {name:?} has no rate in hosts, and would take no time; give it a rate there"
                );
                return wrong(format_args!("{key}.delay"), problem);
            }
            let rate = if Nodes::leads_to_host(wire) { to_host } else { rate };
            changes.extend(rate.map(|rate| Change::WireRate { wire, rate }));
            changes.extend(delay.map(|delay| Change::WireDelay { wire, delay }));
            changes.extend(loss.map(|loss| Change::WireLoss { wire, loss }));
        }
        Ok(changes)
    }

    /// Changes the rate of some of the hops, by their stations.
    pub(super) fn rate(
        &self,
        key: &str,
        rate: &FrameRate,
        changes: impl Fn(usize, usize) -> bool,
    ) -> Result<Vec<Change>> {
        let radio_hops = &self.flows.radio_hops;
        let rate =
            rate_index(&radio_hops.file.phy, radio_hops.phy, format_args!("{key}.rate"), rate)?;
        let mut changed = Vec::new();
        for (at, hop) in self.built.hops.iter().enumerate() {
            let (from, to) = (hop.from.index(), hop.to.index());
            if !changes(from, to) {
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
            radio_hops.stations.check_rate(
                format_args!("{key}.rate"),
                radio_hops.phy,
                rate,
                from,
                to,
            )?;
            radio_hops.check_size(key, &HopSpec { rate, ..hop.clone() })?;
            changed.push(Change::Rate { hop: HopId::at(at), rate });
        }
        Ok(changed)
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
        for station in stations.clone() {
            for queue in &self.flows.radio_hops.stations.specs[station].queues {
                let queue = QueueSpec { limit, ..*queue };
                let key = Some(format!("{key}.queue_limit"));
                behaving(queue, self.flows.radio_hops.file.behaviour, key)?;
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
        if self.is_replaced(station)? {
            let problem = format_args!(
                "another change replaces the queue of {name:?}; leave `flow` out, or the other change"
            );
            return wrong(key, problem);
        }
        let sends = |hop: &HopId| self.built.hops[hop.index()].from.index() == station;
        // All of the flow's routes through the station.
        let hops: Vec<HopId> = found
            .routes_of_lanes()
            .flatten()
            .filter_map(|hop| hop.over_air())
            .filter(sends)
            .collect();
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

    /// Whether a change of the file replaces the queues of a station.
    fn is_replaced(&self, station: usize) -> Result<bool> {
        let changes = self.flows.radio_hops.file.changes.iter();
        for (at, table) in changes.enumerate().filter(|(_, table)| table.queue.is_some()) {
            let Some(name) = &table.station else { continue };
            let found = self.flows.radio_hops.stations.find(format_args!("changes[{at}]"), name)?;
            if found.ids.contains(&station) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces all queues of some stations.
    fn replaced(
        &self,
        key: &str,
        stations: std::ops::Range<usize>,
        given: &QueueGiven,
    ) -> Result<Vec<Change>> {
        let key = format!("{key}.queue");
        let Flows { radio_hops, .. } = self.flows;
        if radio_hops.file.buffers.is_some() {
            return wrong(key, "the limits of all queues follow `buffers`; leave it out");
        }
        if given.link_layer.is_some() {
            return wrong(format_args!("{key}.link_layer"), "it stays as it is; leave it out");
        }
        let tables = Layers::new(vec![(key.clone(), &**given)]);
        check_used(&key, given, &[DisciplineName::of(&tables)])?;
        let (mut changes, mut memory) = (Vec::new(), Memory::default());
        let mut kept = SaturatedBacklog::default();
        for id in stations {
            let station = &radio_hops.stations.specs[id];
            let link = Link::Air { aggregates: station.mac.aggregation.is_some() };
            let spec = QueueSpec::check(&tables, link)?;
            let limit = given.limit.as_ref().map(|_| format!("{key}.limit"));
            let spec = behaving(spec, radio_hops.file.behaviour, limit)?;
            for (ac, before) in AccessCategory::first(station.queues.len()).zip(&station.queues) {
                let queue = QueueSpec { link_layer_bytes: before.link_layer_bytes, ..spec };
                memory.add(&key, &queue)?;
                let station = StationId(id as u32);
                changes.push(Change::Queue { station, ac, queue });
            }
            let hops = self.built.hops.iter().enumerate();
            for (at, hop) in hops.filter(|(_, hop)| hop.from.index() == id) {
                let before = self.queue(hop).link_layer_bytes;
                let queue = QueueSpec { link_layer_bytes: before, ..spec };
                let saturated = self.built.saturated.contains(&at);
                check_capacity(&key, &station.name, &queue, hop, saturated, &mut kept)?;
            }
        }
        Ok(changes)
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

/// Checks that a change is of one thing, and that this thing has what changes.
fn check_keys(key: &str, table: &ChangeTable) -> Result<()> {
    let parts = [
        ("link", table.link.is_some()),
        ("station", table.station.is_some()),
        ("host", table.host.is_some()),
    ];
    let values: [(_, _, &[_]); 12] = [
        ("rate", table.rate.is_some(), &["link", "station", "host"]),
        ("rate_to_host", table.rate_to_host.is_some(), &["host"]),
        ("queue_limit", table.queue_limit.is_some(), &["station"]),
        ("queue", table.queue.is_some(), &["station"]),
        ("txop", table.txop.is_some(), &["station"]),
        ("aifsn", table.aifsn.is_some(), &["station"]),
        ("cw_min", table.cw_min.is_some(), &["station"]),
        ("cw_max", table.cw_max.is_some(), &["station"]),
        ("away", table.away.is_some(), &["station"]),
        ("position", table.position.is_some(), &["station"]),
        ("delay", table.delay.is_some(), &["host"]),
        ("loss", table.loss.is_some(), &["host"]),
    ];
    let mut given = parts.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    let (part, other) = (given.next(), given.next());
    if let (Some(part), Some(other)) = (part, other) {
        let problem =
            format_args!("it is of a {part} or of a {other}; leave `{part}` or `{other}` out");
        return wrong(key, problem);
    }
    for (name, _, of) in values.iter().filter(|(_, given, _)| *given) {
        if part.is_none_or(|part| !of.contains(&part)) {
            return needs(key, name, of);
        }
    }
    if table.flow.is_some() && part != Some("station") {
        return needs(key, "flow", &["station", "via"]);
    }
    let access = table.txop.is_some()
        || table.aifsn.is_some()
        || table.cw_min.is_some()
        || table.cw_max.is_some();
    if table.category.is_some() && !access {
        return needs(key, "category", &["txop", "aifsn", "cw_min"]);
    }
    for (one, other, given) in [
        ("cw_min", "cw_max", table.cw_min.is_some() && table.cw_max.is_none()),
        ("cw_max", "cw_min", table.cw_max.is_some() && table.cw_min.is_none()),
    ] {
        if given {
            return needs(key, one, &[other]);
        }
    }
    let others = access
        || table.rate.is_some()
        || table.queue.is_some()
        || table.away.is_some()
        || table.position.is_some();
    if table.flow.is_some() && others {
        return wrong(key, "with the key `flow` only `queue_limit` changes; leave the others out");
    }
    let Some(part) = part else { return Ok(()) };
    let of_part = values.iter().filter(|(_, _, of)| of.contains(&part));
    if of_part.clone().any(|(_, given, _)| *given) {
        return Ok(());
    }
    needs(key, part, &of_part.map(|(name, _, _)| *name).collect::<Vec<_>>())
}

fn needs(key: &str, name: &str, others: &[&str]) -> Result<()> {
    let others = others.join("` or `");
    wrong(key, format_args!("with the key `{name}` the key `{others}` is needed, too"))
}
