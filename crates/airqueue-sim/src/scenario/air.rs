//! The hops of flows over the air.

use super::error::{Result, wrong};
use super::file::{BehaviourName, CategoryName, File, FlowTable};
use super::mac::is_qos;
use super::phy::rate_index;
use super::rates::RateControls;
use super::stations::Stations;
use crate::wlan::{FlowSpec, RttReport};
use airqueue_core::Ecn;
use airqueue_transport::traffic::SourceSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{Reach, StationId};
use airqueue_wifi::phy::frames::{
    FCS_BYTES, HEADER_BYTES, LLC_SNAP_BYTES, NS2_OVERHEAD_BYTES, QOS_HEADER_BYTES,
};
use airqueue_wifi::phy::{AccessCategory, Phy};

/// What hops are made from.
pub(super) struct Air<'a> {
    pub(super) file: &'a File,
    pub(super) stations: &'a Stations,
    pub(super) phy: &'a Phy,
    /// The rate of data frames.
    pub(super) rate: RateIndex,
    pub(super) reach: &'a Reach,
    pub(super) controls: RateControls<'a>,
}

/// What a flow wants of a hop.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) name: String,
    pub(super) from: usize,
    pub(super) to: usize,
    /// How its packets come to its queue, and how large they are at most.
    pub(super) source: SourceSpec,
    pub(super) category: Option<CategoryName>,
    pub(super) ecn: Ecn,
    pub(super) report: Option<RttReport>,
    /// Its packets are carried on, or told of.
    pub(super) collected: bool,
}

impl Air<'_> {
    /// The hop of a flow.
    pub(super) fn hop(&self, key: &str, table: &FlowTable, wish: Wish) -> Result<FlowSpec> {
        let Wish { from, to, .. } = wish;
        self.check_pair(key, table, from, to)?;
        let phy_rate = table.phy_rate.as_ref();
        let phy_rate = phy_rate
            .map(|rate| rate_index(&self.file.phy, self.phy, format_args!("{key}.phy_rate"), rate))
            .transpose()?;
        let old = self.without_qos(from, to).is_some();
        let rate_control = self.controls.of(key, table, (from, to), old)?;
        let rate = match &rate_control {
            Some(control) => control.rates[0],
            None => phy_rate.unwrap_or_else(|| self.rate_between(from, to)),
        };
        self.check_rate(key, rate, from, to)?;
        let flow = FlowSpec {
            queue: self.queue(wish.category, from),
            name: wish.name,
            from: StationId(from as u32),
            to: StationId(to as u32),
            rate,
            rate_control,
            overhead_bytes: self.overhead(from, to),
            source: wish.source,
            ecn: wish.ecn,
            report: wish.report,
            collected: wish.collected,
        };
        self.check_size(key, &flow)?;
        Ok(flow)
    }

    /// Which of the sender's queues.
    fn queue(&self, category: Option<CategoryName>, from: usize) -> usize {
        if !self.has_categories(from) {
            return 0;
        }
        category.map_or(AccessCategory::BestEffort, AccessCategory::from) as usize
    }

    /// Whether a station has a queue for each access category.
    pub(super) fn has_categories(&self, station: usize) -> bool {
        is_qos(&self.stations.specs[station].mac)
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
    pub(super) fn check_rate(
        &self,
        key: &str,
        rate: RateIndex,
        from: usize,
        to: usize,
    ) -> Result<()> {
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

    fn check_pair(&self, key: &str, table: &FlowTable, from: usize, to: usize) -> Result<()> {
        let key = format!("{key}.{}", if table.via.is_empty() { "to" } else { "via" });
        let (sender, receiver) = (self.stations.name(from), self.stations.name(to));
        if from == to {
            return wrong(key, format_args!("{sender:?} would send to itself"));
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
                return wrong(key, problem);
            }
        }
        Ok(())
    }

    pub(super) fn check_size(&self, key: &str, flow: &FlowSpec) -> Result<()> {
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
        Ok(())
    }
}
