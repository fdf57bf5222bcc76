//! The flows of a scenario: those of groups become one for each member.

use super::error::{Result, error, wrong};
use super::file::{BehaviourName, File, FlowTable, RttName, SourceName};
use super::mac::is_qos;
use super::phy::rate_index;
use super::queue::limits;
use super::rates::RateControls;
use super::stations::Stations;
use crate::wlan::{Discipline, FlowSpec, RttReport};
use airqueue_core::{DataRate, Ecn, Limit, Span, Time};
use airqueue_transport::traffic::{Arrivals, Source, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{Reach, StationId};
use airqueue_wifi::phy::frames::{
    FCS_BYTES, HEADER_BYTES, LLC_SNAP_BYTES, NS2_OVERHEAD_BYTES, QOS_HEADER_BYTES,
};
use airqueue_wifi::phy::{AccessCategory, Phy};
use std::collections::{HashMap, HashSet};
use std::iter::repeat_n;

/// The most flows.
const MOST_FLOWS: usize = 100_000;

/// What flows are made from.
pub(super) struct Flows<'a> {
    pub(super) file: &'a File,
    pub(super) stations: &'a Stations,
    pub(super) phy: &'a Phy,
    /// The rate of data frames.
    pub(super) rate: RateIndex,
    pub(super) reach: &'a Reach,
}

impl Flows<'_> {
    /// All flows.
    pub(super) fn all(&self) -> Result<Vec<FlowSpec>> {
        let mut all = Vec::new();
        let (mut names, mut kept) = (HashSet::new(), HashMap::new());
        let controls = RateControls::new(self.file, self.stations, self.phy)?;
        for (at, table) in self.file.flows.iter().enumerate() {
            let (key, first) = (format!("flows[{at}]"), all.len());
            check_name(&key, table)?;
            self.add(&key, table, &controls, &mut all)?;
            for flow in &all[first..] {
                if !names.insert(flow.name.clone()) {
                    let problem = format_args!("a flow before it is called {:?} too", flow.name);
                    return wrong(format_args!("{key}.name"), problem);
                }
                self.check_queue(&key, flow, &mut kept)?;
            }
        }
        Ok(all)
    }

    fn add(
        &self,
        key: &str,
        table: &FlowTable,
        controls: &RateControls<'_>,
        all: &mut Vec<FlowSpec>,
    ) -> Result<()> {
        let pairs = self.pairs(key, table)?;
        let count = pairs.len();
        if count > MOST_FLOWS - all.len() {
            let flows = all.len() + count;
            return wrong(
                key,
                format_args!("with it there are {flows} flows, more than {MOST_FLOWS}"),
            );
        }
        let phy_rate = table.phy_rate.as_ref();
        let phy_rate = phy_rate
            .map(|rate| rate_index(&self.file.phy, self.phy, format_args!("{key}.phy_rate"), rate))
            .transpose()?;
        let source = self.source(key, table)?;
        let report = report(key, table)?;
        for (at, (from, to)) in pairs.into_iter().enumerate() {
            self.check_pair(key, from, to)?;
            let mut source = source;
            source.start += offset(&source, at, count);
            let old = self.without_qos(from, to).is_some();
            let rate_control = controls.of(key, table, (from, to), old)?;
            let rate = match &rate_control {
                Some(control) => control.rates[0],
                None => phy_rate.unwrap_or_else(|| self.rate_between(from, to)),
            };
            self.check_rate(key, rate, from, to)?;
            let flow = FlowSpec {
                name: self.name(table, at, count, from, to),
                from: StationId(from as u32),
                to: StationId(to as u32),
                queue: self.queue(key, table, from)?,
                rate,
                rate_control,
                overhead_bytes: self.overhead(from, to),
                source,
                ecn: if table.ecn { Ecn::Ect } else { Ecn::NotEct },
                report,
                collected: false,
            };
            self.check_size(key, &flow)?;
            all.push(flow);
        }
        Ok(())
    }

    /// From whom to whom.
    fn pairs(&self, key: &str, table: &FlowTable) -> Result<Vec<(usize, usize)>> {
        let from = self.stations.find(format_args!("{key}.from"), &table.from)?;
        let to = self.stations.find(format_args!("{key}.to"), &table.to)?;
        let (sources, sinks) = (from.ids.len(), to.ids.len());
        Ok(match (from.group, to.group) {
            (true, true) if sources != sinks => {
                let problem = format_args!(
                    "{:?} has {sinks} members and {:?} has {sources}; groups must be equally large, \
                     each member of one sends to the one with its number in the other",
                    table.to, table.from
                );
                return wrong(format_args!("{key}.to"), problem);
            }
            (true, false) => from.ids.zip(repeat_n(to.ids.start, sources)).collect(),
            (false, true) => repeat_n(from.ids.start, sinks).zip(to.ids).collect(),
            _ => from.ids.zip(to.ids).collect(),
        })
    }

    fn name(&self, table: &FlowTable, at: usize, count: usize, from: usize, to: usize) -> String {
        match &table.name {
            None => format!("{}->{}", self.stations.name(from), self.stations.name(to)),
            Some(name) if count == 1 => name.clone(),
            Some(name) => format!("{name}{}", at + 1),
        }
    }

    fn source(&self, key: &str, table: &FlowTable) -> Result<SourceSpec> {
        let start = Time::ZERO + table.start.value;
        let stop = table.stop.as_ref().map_or(Time::MAX, |stop| Time::ZERO + stop.value);
        if stop <= start {
            let start = &table.start.text;
            let problem = format_args!("a flow must stop after its start, {start}");
            return wrong(format_args!("{key}.stop"), problem);
        }
        let size_bytes = table.size.value;
        let arrivals = match (table.source, self.mean_rate(key, table)?) {
            (SourceName::Saturated, None) => Arrivals::Saturated,
            (SourceName::Cbr, Some(rate)) => Arrivals::Constant(rate),
            (SourceName::Poisson, Some(rate)) => Arrivals::Poisson(rate),
            (SourceName::External, None) => external(key, table)?,
            (SourceName::External, Some(_)) => {
                return wrong(key, "packets from outside come when they come; leave the rate out");
            }
            (SourceName::Saturated, Some(_)) => {
                let problem = "a saturated source has no rate; leave the rate out, or give source \
                               = \"cbr\" or \"poisson\"";
                return wrong(format_args!("{key}.source"), problem);
            }
            (_, None) => return wrong(key, "missing key `rate`, or `packet_rate`"),
        };
        Ok(SourceSpec { arrivals, size_bytes, start, stop })
    }

    fn mean_rate(&self, key: &str, table: &FlowTable) -> Result<Option<DataRate>> {
        match (&table.rate, &table.packet_rate) {
            (Some(_), Some(_)) => {
                wrong(format_args!("{key}.packet_rate"), "rate is given too; leave one of them out")
            }
            (Some(rate), None) => Ok(Some(rate.value)),
            (None, Some(packets)) => {
                let bps = packets.value * 8.0 * f64::from(table.size.value);
                let rate = DataRate::from_bps(bps.round() as u64);
                let least = "with that size it is less than 1 b/s";
                rate.map(Some).ok_or_else(|| error(format_args!("{key}.packet_rate"), least))
            }
            (None, None) => Ok(None),
        }
    }

    /// Which of the sender's queues.
    fn queue(&self, key: &str, table: &FlowTable, from: usize) -> Result<usize> {
        match (is_qos(&self.stations.specs[from].mac), table.category) {
            (true, category) => {
                Ok(category.map_or(AccessCategory::BestEffort, AccessCategory::from) as usize)
            }
            (false, None) => Ok(0),
            (false, Some(_)) => {
                let name = self.stations.name(from);
                let problem = format_args!(
                    "{name:?} has DCF and no access categories; leave the key out, or give it access \
                     = \"edca\""
                );
                wrong(format_args!("{key}.category"), problem)
            }
        }
    }

    /// What one station's rates, the other's, and those of all say.
    fn rate_between(&self, from: usize, to: usize) -> RateIndex {
        let own = [from, to].into_iter().filter_map(|id| self.stations.rates[id]);
        own.min_by_key(|&rate| self.phy.rate(rate)).unwrap_or(self.rate)
    }

    /// QoS data go between stations that both are QoS stations (IEEE 802.11-2016, 10.8).
    fn overhead(&self, from: usize, to: usize) -> u32 {
        if matches!(self.file.behaviour, BehaviourName::Ns2) {
            return NS2_OVERHEAD_BYTES;
        }
        let header = match self.without_qos(from, to) {
            None => QOS_HEADER_BYTES,
            Some(_) => HEADER_BYTES,
        };
        header + LLC_SNAP_BYTES + FCS_BYTES
    }

    /// The one of two stations that is no QoS station.
    fn without_qos(&self, from: usize, to: usize) -> Option<usize> {
        [from, to].into_iter().find(|&id| !is_qos(&self.stations.specs[id].mac))
    }

    /// Stations of 802.11n and later have QoS, and those without understand no such frame.
    fn check_rate(&self, key: &str, rate: RateIndex, from: usize, to: usize) -> Result<()> {
        match (self.phy.mcs(rate), self.without_qos(from, to)) {
            (Some(mcs), Some(old)) => {
                let name = self.stations.name(old);
                let problem = format_args!(
                    "its rate is {mcs}, but {name:?} has DCF and is so older than 802.11n; give the \
                     station a rate such as \"54 Mb/s\", or access = \"edca\""
                );
                wrong(key, problem)
            }
            _ => Ok(()),
        }
    }

    fn check_pair(&self, key: &str, from: usize, to: usize) -> Result<()> {
        let (sender, receiver) = (self.stations.name(from), self.stations.name(to));
        if from == to {
            return wrong(
                format_args!("{key}.to"),
                format_args!("{sender:?} would send to itself"),
            );
        }
        let decodes = |from: usize, to: usize| {
            let signal = self.reach.signal(StationId(from as u32), StationId(to as u32));
            signal.is_some_and(|signal| signal.decodable())
        };
        for (from, to) in [(from, to), (to, from)] {
            if !decodes(from, to) {
                let (from, to) = (self.stations.name(from), self.stations.name(to));
                let problem = format_args!(
                    "{sender:?} and {receiver:?} are out of reach: {to:?} cannot decode the frames \
                     of {from:?}"
                );
                return wrong(format_args!("{key}.to"), problem);
            }
        }
        Ok(())
    }

    fn check_size(&self, key: &str, flow: &FlowSpec) -> Result<()> {
        let most_bytes = flow.rates().map(|rate| self.phy.max_mpdu_bytes(rate)).min();
        let most_bytes = most_bytes.expect("a flow has rates");
        let most = most_bytes - flow.overhead_bytes;
        let size = flow.source.size_bytes;
        if !(20..=most).contains(&size) {
            let problem = format_args!(
                "found {size} B, expected an IP packet of 20 to {most} B: a frame adds {} B to it \
                 and has at most {most_bytes} B",
                flow.overhead_bytes
            );
            return wrong(format_args!("{key}.size"), problem);
        }
        let chance = airqueue_core::Seed(0).stream("");
        Source::new(flow.source, chance).map(drop).map_err(|problem| error(key, problem))
    }

    /// Every saturated flow keeps a packet in its queue, and no flow sends what its queue cannot hold.
    fn check_queue(&self, key: &str, flow: &FlowSpec, kept: &mut Kept) -> Result<()> {
        let station = &self.stations.specs[flow.from.index()];
        let (name, queue) = (&station.name, &station.queues[flow.queue]);
        let size = u64::from(flow.source.size_bytes) + u64::from(queue.link_layer_bytes);
        let all = kept.entry((flow.from, flow.queue)).or_default();
        let mut own = (0, 0);
        // Where flows are kept apart each has the limit for itself.
        let apart = matches!(queue.discipline, Discipline::DeficitRoundRobin { .. });
        let (packets, bytes) = if apart { &mut own } else { all };
        if flow.source.arrivals == Arrivals::Saturated {
            if matches!(queue.discipline, Discipline::Red(_)) {
                let problem = format_args!(
                    "the queue of {name:?} has the discipline \"red\", and what it drops of a saturated \
                     flow would be offered again at once; give the source a rate"
                );
                return wrong(format_args!("{key}.source"), problem);
            }
            *packets += 1;
            *bytes += size;
        }
        for limit in limits(queue) {
            let (needed, most, unit) = match limit {
                Limit::Packets(most) => (*packets, u64::from(most), "packets"),
                Limit::Bytes(most) => (size.max(*bytes), most, "B"),
            };
            if needed > most {
                let problem = format_args!(
                    "the queue of {name:?} holds {most} {unit}, but its flows need room for {needed}: a \
                     packet, and one of each saturated flow"
                );
                return wrong(key, problem);
            }
        }
        Ok(())
    }
}

/// Packets and bytes that saturated flows keep in queues.
type Kept = HashMap<(StationId, usize), (u64, u64)>;

/// A name goes into tables and files.
fn check_name(key: &str, table: &FlowTable) -> Result<()> {
    let fits = |name: &String| {
        (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control)
    };
    match &table.name {
        Some(name) if !fits(name) => {
            let shown: String = name.chars().take(100).collect();
            let problem = format_args!("found {shown:?}, expected 1 to 100 characters of one line");
            wrong(format_args!("{key}.name"), problem)
        }
        _ => Ok(()),
    }
}

/// What receivers say.
fn report(key: &str, table: &FlowTable) -> Result<Option<RttReport>> {
    match (&table.rdqm_rtt, table.rdqm_rtt_kind) {
        (None, Some(_)) => {
            let problem =
                "its receiver reports nothing without rdqm_rtt; give that too, or leave it out";
            wrong(format_args!("{key}.rdqm_rtt_kind"), problem)
        }
        (None, None) => Ok(None),
        (Some(rtt), kind) => {
            Ok(Some(RttReport { base: rtt.value, smoothed: kind == Some(RttName::Smoothed) }))
        }
    }
}

/// Nobody can say beforehand when packets come from outside.
fn external(key: &str, table: &FlowTable) -> Result<Arrivals> {
    let late = (table.start.value > Span::ZERO).then_some("start");
    match late.or(table.stop.as_ref().map(|_| "stop")) {
        Some(name) => {
            let problem = "packets from outside come when they come; leave the key out";
            wrong(format_args!("{key}.{name}"), problem)
        }
        None => Ok(Arrivals::External),
    }
}

/// By how much the `at`th of `count` flows of a group begins later: flows at a constant rate would else
/// all send at the same instants.
fn offset(source: &SourceSpec, at: usize, count: usize) -> Span {
    let Arrivals::Constant(rate) = source.arrivals else { return Span::ZERO };
    let interval = i128::from(rate.time_for(source.size_bytes).as_nanos());
    Span::from_nanos((interval * at as i128 / count as i128) as i64)
}
