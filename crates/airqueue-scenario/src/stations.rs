//! The stations of a scenario: each group becomes its members.

use super::error::{Result, error, hint, wrong};
use super::file::{AccessName, BehaviourName, File, MacTable, StationTable};
use super::mac::{access, is_qos, mac};
use super::phy::rate_index;
use airqueue_core::keys::Layers;
use airqueue_core::{Limit, NeighbourFacts, Span};
use airqueue_network::network::ProcessorSpec;
use airqueue_network::wlan::StationSpec;
use airqueue_qdisc::queue::{check_used, offered};
use airqueue_qdisc::{DisciplineName, Link, QueueSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::phy::Phy;
use airqueue_wifi::rate_control::RateControlName;
use std::collections::HashMap;
use std::fmt::Display;
use std::ops::Range;

/// Largest number of stations.
pub(super) const MOST_STATIONS: usize = 100_000;
/// Largest total number of packets in the driver rings of stations, or of wired links: memory for them is reserved.
const MOST_RING_PACKETS: usize = 1 << 22;
/// Largest total number of hashed flow queues in all stations, or on all wired links: some 100 bytes each.
const MOST_FLOW_QUEUES: usize = 1 << 22;

/// All stations.
#[derive(Default)]
pub(super) struct Stations {
    pub(super) specs: Vec<StationSpec>,
    /// The rate of each station's frames, if the station has its own rate.
    pub(super) rates: Vec<Option<RateIndex>>,
    /// The rate control of each station, if the station names its own.
    pub(super) rate_controls: Vec<Option<RateControlName>>,
    /// The processor of each station, if the station has one.
    pub(super) processors: Vec<Option<ProcessorSpec>>,
    /// The members of each table.
    pub(super) members: Vec<Range<usize>>,
    by_name: HashMap<String, Named>,
    /// The queue disciplines of all queues.
    pub(super) disciplines: Vec<DisciplineName>,
}

/// The stations that a name stands for.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) ids: Range<usize>,
    pub(super) group: bool,
}

/// The memory that queues reserve.
#[derive(Default)]
pub(super) struct Memory {
    ring_packets: usize,
    flow_queues: usize,
}

impl Memory {
    /// Adds the needs of a queue whose table is `key`.
    pub(super) fn add(&mut self, key: impl Display, queue: &QueueSpec) -> Result<()> {
        let (name, flows) = queue.discipline.facts().queues.unwrap_or_default();
        self.ring_packets += queue.ring_packets;
        self.flow_queues += flows as usize;
        if self.ring_packets > MOST_RING_PACKETS {
            let problem =
                format_args!("all rings together hold more than {MOST_RING_PACKETS} packets");
            return wrong(format_args!("{key}.ring"), problem);
        }
        if self.flow_queues > MOST_FLOW_QUEUES {
            let problem = format_args!(
                "all queues together hash flows to more than {MOST_FLOW_QUEUES} places"
            );
            return wrong(format_args!("{key}.{name}"), problem);
        }
        Ok(())
    }
}

/// Packets that wait for a processor: Linux's `netdev_max_backlog`.
const ROOM_PACKETS: u32 = 1000;
/// Most packets that may wait: memory for them is reserved.
const MOST_ROOM_PACKETS: u32 = 1 << 20;

/// The processor of a table's stations, if they have one.
fn processor(key: &str, table: &StationTable) -> Result<Option<ProcessorSpec>> {
    let room = table.processing_room.as_ref().map(|room| room.value);
    let Some(rate) = &table.processing_rate else {
        return match room {
            Some(_) => wrong(
                format_args!("{key}.processing_room"),
                "without processing_rate nothing waits there; give both, or leave it out",
            ),
            None => Ok(None),
        };
    };
    let each = Span::from_secs_f64(1.0 / rate.value);
    if !(rate.value > 0.0 && each > Span::ZERO && each < Span::from_secs(1000)) {
        let problem = format_args!("found {}, expected 0.001 to 1e9 packets/s", rate.text);
        return wrong(format_args!("{key}.processing_rate"), problem);
    }
    match room.unwrap_or(ROOM_PACKETS) {
        room @ 1..=MOST_ROOM_PACKETS => Ok(Some(ProcessorSpec { each, room: room as usize })),
        room => wrong(
            format_args!("{key}.processing_room"),
            format_args!("found {room}, expected 1 to {MOST_ROOM_PACKETS} packets"),
        ),
    }
}

/// The least airtime weight: with lower ones very many turns would pass for each packet.
const LEAST_WEIGHT: u16 = 50;

/// The airtime weight of a table's stations.
fn airtime_weight(key: &str, table: &StationTable) -> Result<u16> {
    let Some(given) = table.airtime_weight else { return Ok(NeighbourFacts::USUAL_WEIGHT) };
    let weight = u16::try_from(given).ok().filter(|&weight| weight >= LEAST_WEIGHT);
    weight.ok_or_else(|| {
        let problem = format_args!(
            "found {given}, expected {LEAST_WEIGHT} to 65535; only the ratios of weights matter, so multiply all of them alike"
        );
        error(format_args!("{key}.airtime_weight"), problem)
    })
}

/// Checks a station name, which also appears in flows, queues and columns.
pub(super) fn check_name(key: &str, name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    let shown: String = name.chars().take(64).collect();
    wrong(key, format_args!("found {shown:?}, expected 1 to 64 letters, digits, '_' or '-'"))
}

/// A queue of a station of this behaviour; `key` is the key of its limit, if the file gives a limit.
pub(super) fn behaving(
    queue: QueueSpec,
    behaviour: BehaviourName,
    key: Option<String>,
) -> Result<QueueSpec> {
    let profile = behaviour.profile();
    let mut queue = queue.counting_in_hand(profile.limits_count_in_hand);
    if let (true, None, Some(usual)) = (queue.counts_in_hand, &key, profile.usual_limit) {
        queue.limit = Limit::Packets(usual);
    }
    match queue.limit {
        Limit::Packets(packets) if queue.counts_in_hand && packets < profile.least_limit => {
            let (name, least) = (profile.name, profile.least_limit);
            let problem = format_args!(
                "found {packets}, expected at least {least} packets: {name}'s limits count the frame that the MAC holds"
            );
            wrong(key.unwrap_or_default(), problem)
        }
        _ => Ok(queue),
    }
}

/// Checks a station's own access parameters.
fn check_access(
    key: &str,
    table: &StationTable,
    macs: &Layers<'_, MacTable>,
    phy: &Phy,
) -> Result<()> {
    match access(macs, phy) {
        AccessName::Dcf if table.mac.edca.is_some() => {
            let problem = "the station has DCF; give access = \"edca\" beside it";
            wrong(format_args!("{key}.mac.edca"), problem)
        }
        AccessName::Edca if table.mac.dcf.is_some() => {
            wrong(format_args!("{key}.mac.dcf"), "the station has EDCA; leave it out")
        }
        _ => Ok(()),
    }
}

impl Stations {
    pub(super) fn new(file: &File, phy: &Phy) -> Result<Stations> {
        let mut stations = Stations::default();
        for (at, table) in file.stations.iter().enumerate() {
            stations.add(&format!("stations[{at}]"), table, file, phy)?;
        }
        if stations.specs.is_empty() {
            return wrong("stations", "there are none; give at least one");
        }
        stations.check_memory()?;
        stations.check_used(&file.mac)?;
        check_used("queue", &file.queue, &stations.disciplines)?;
        stations.check_weights(file)?;
        Ok(stations)
    }

    fn add(&mut self, key: &str, table: &StationTable, file: &File, phy: &Phy) -> Result<()> {
        check_name(&format!("{key}.name"), &table.name)?;
        let first = self.specs.len();
        let count = match table.count {
            Some(0) => return wrong(format_args!("{key}.count"), "found 0, expected at least 1"),
            count => count.unwrap_or(1) as usize,
        };
        if count > MOST_STATIONS - first {
            let all = first + count;
            let problem =
                format_args!("with it there are {all} stations, more than {MOST_STATIONS}");
            return wrong(format_args!("{key}.count"), problem);
        }
        let ids = first..first + count;
        self.add_name(key, &table.name, Named { ids: ids.clone(), group: table.count.is_some() })?;
        let (spec, discipline) = self.spec(key, table, file, phy)?;
        if !self.disciplines.contains(&discipline) {
            self.disciplines.push(discipline);
        }
        if let (Some(_), Some(_)) = (&table.rate, table.rate_control.filter(|name| name.looks())) {
            let problem = "rate_control looks for it; leave one of them out";
            return wrong(format_args!("{key}.rate"), problem);
        }
        let rate = table.rate.as_ref();
        let rate = rate
            .map(|rate| rate_index(&file.phy, phy, format_args!("{key}.rate"), rate))
            .transpose()?;
        let processor = processor(key, table)?;
        for id in ids.clone() {
            let mut spec = spec.clone();
            if table.count.is_some() {
                spec.name = format!("{}{}", table.name, id - first + 1);
                self.add_name(key, &spec.name, Named { ids: id..id + 1, group: false })?;
            }
            self.specs.push(spec);
            self.rates.push(rate);
            self.rate_controls.push(table.rate_control);
            self.processors.push(processor);
        }
        self.members.push(ids);
        Ok(())
    }

    fn spec(
        &self,
        key: &str,
        table: &StationTable,
        file: &File,
        phy: &Phy,
    ) -> Result<(StationSpec, DisciplineName)> {
        let macs = Layers::new(vec![
            (format!("{key}.mac"), &table.mac.0),
            ("mac".to_owned(), &file.mac.0),
        ]);
        let queues = Layers::new(vec![
            (format!("{key}.queue"), &*table.queue),
            ("queue".to_owned(), &*file.queue),
        ]);
        check_access(key, table, &macs, phy)?;
        let mac = mac(&macs, phy, file.behaviour.profile())?;
        let discipline = DisciplineName::of(&queues);
        check_used(format_args!("{key}.queue"), &table.queue, &[discipline])?;
        let link = Link::Air { aggregates: mac.aggregation.is_some() };
        let limit = queues.find("limit", |queue| queue.limit.as_ref()).map(|limit| limit.key);
        let queue = behaving(QueueSpec::check(&queues, link)?, file.behaviour, limit)?;
        let queues = vec![queue; mac.categories.len()];
        let airtime_weight = airtime_weight(key, table)?;
        Ok((StationSpec { name: table.name.clone(), mac, queues, airtime_weight }, discipline))
    }

    fn add_name(&mut self, key: &str, name: &str, named: Named) -> Result<()> {
        match self.by_name.insert(name.to_owned(), named) {
            None => Ok(()),
            Some(_) => wrong(
                format_args!("{key}.name"),
                format_args!("a station or group before it is called {name:?} too"),
            ),
        }
    }

    /// The station or group of this name, if there is one.
    pub(super) fn get(&self, name: &str) -> Option<&Named> {
        self.by_name.get(name)
    }

    /// The station or group that a key names.
    pub(super) fn find(&self, key: impl Display, name: &str) -> Result<Named> {
        let found = self.get(name).cloned();
        found.ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let hint = hint(name, self.names());
            error(key, format_args!("there is no station or group {shown:?}{hint}"))
        })
    }

    /// The names of stations and groups, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Rejects parameters of a channel access function that no station uses.
    fn check_used(&self, mac: &MacTable) -> Result<()> {
        let some = |qos: bool| self.specs.iter().any(|spec| is_qos(&spec.mac) == qos);
        if mac.edca.is_some() && !some(true) {
            return wrong("mac.edca", "no station has EDCA; give mac.access = \"edca\"");
        }
        if mac.dcf.is_some() && !some(false) {
            return wrong("mac.dcf", "no station has DCF; leave it out");
        }
        Ok(())
    }

    /// Rejects airtime weights that no queue looks at.
    fn check_weights(&self, file: &File) -> Result<()> {
        let shares = |name: DisciplineName| name.by_itself().facts().shares_airtime;
        let given = file.stations.iter().position(|table| table.airtime_weight.is_some());
        let later = file.changes.iter().filter_map(|change| change.queue.as_ref()?.discipline);
        match given {
            Some(at) if !self.disciplines.iter().copied().chain(later).any(shares) => {
                let offered = offered(|facts| facts.shares_airtime);
                let problem = format_args!(
                    "no station's queue shares airtime; give discipline = {offered} to the one that sends, or leave it out"
                );
                wrong(format_args!("stations[{at}].airtime_weight"), problem)
            }
            _ => Ok(()),
        }
    }

    /// Limits the memory reserved for rings and flow queues.
    fn check_memory(&self) -> Result<()> {
        let mut memory = Memory::default();
        for (at, members) in self.members.iter().enumerate() {
            for queue in self.specs[members.clone()].iter().flat_map(|spec| &spec.queues) {
                memory.add(format_args!("stations[{at}].queue"), queue)?;
            }
        }
        Ok(())
    }

    /// Whether a station has a queue for each access category, as QoS stations do.
    pub(super) fn has_categories(&self, id: usize) -> bool {
        is_qos(&self.specs[id].mac)
    }

    /// Of two stations, the station without QoS.
    pub(super) fn without_qos(&self, from: usize, to: usize) -> Option<usize> {
        [from, to].into_iter().find(|&id| !self.has_categories(id))
    }

    /// Checks a rate: stations of 802.11n and later have QoS, and stations without QoS do not decode such frames.
    pub(super) fn check_rate(
        &self,
        key: impl Display,
        phy: &Phy,
        rate: RateIndex,
        from: usize,
        to: usize,
    ) -> Result<()> {
        match (phy.mcs(rate), self.without_qos(from, to)) {
            (Some(mcs), Some(old)) => {
                let name = self.name(old);
                let problem = format_args!(
                    "its rate is {mcs}, but {name:?} has DCF and is so older than 802.11n; give the \
                     station a rate such as \"54 Mb/s\", or access = \"edca\""
                );
                wrong(key, problem)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn name(&self, id: usize) -> &str {
        &self.specs[id].name
    }
}
