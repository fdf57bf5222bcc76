//! The hops of flows over the air.

use super::error::{Result, wrong};
use super::file::{CategoryName, File, FlowTable};
use super::links::{LinkRates, decodes};
use super::medium::Medium;
use super::phy::rate_index;
use super::rates::RateControls;
use super::stations::Stations;
use airqueue_network::wlan::{HopSpec, RttReport};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames::{FCS_BYTES, HEADER_BYTES, LLC_SNAP_BYTES, QOS_HEADER_BYTES};
use airqueue_wifi::phy::{AccessCategory, Phy};
use airqueue_wifi::rate_control::RateControlName;
use std::ops::Deref;

/// The inputs from which hops are built.
pub(super) struct RadioHops<'a> {
    pub(super) file: &'a File,
    pub(super) stations: &'a Stations,
    pub(super) phy: &'a Phy,
    /// Default rate of data frames.
    pub(super) rate: RateIndex,
    pub(super) medium: &'a Medium,
    pub(super) links: &'a LinkRates,
    pub(super) controls: RateControls<'a>,
}

/// The rate settings of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowRates {
    pub(super) phy_rate: Option<RateIndex>,
    pub(super) rate_control: Option<RateControlName>,
}

/// The rates that frames may have.
pub(super) enum Rates<'a> {
    /// A fixed rate.
    Given([RateIndex; 1]),
    /// The rates among which rate control chooses.
    Among(&'a [RateIndex]),
}

impl Deref for Rates<'_> {
    type Target = [RateIndex];
    fn deref(&self) -> &[RateIndex] {
        match self {
            Rates::Given(rate) => rate,
            Rates::Among(rates) => rates,
        }
    }
}

/// The requirements of a flow for a hop.
#[derive(Clone, Debug)]
pub(super) struct HopRequest {
    pub(super) name: String,
    pub(super) from: usize,
    pub(super) to: usize,
    /// Size of the largest packets, in IP bytes.
    pub(super) size_bytes: u32,
    pub(super) category: Option<CategoryName>,
    pub(super) report: Option<RttReport>,
}

impl RadioHops<'_> {
    /// The rate settings of a flow.
    pub(super) fn flow_rates(&self, key: &str, table: &FlowTable) -> Result<FlowRates> {
        let phy_rate = table
            .phy_rate
            .as_ref()
            .map(|rate| rate_index(&self.file.phy, self.phy, format_args!("{key}.phy_rate"), rate));
        Ok(FlowRates { phy_rate: phy_rate.transpose()?, rate_control: table.rate_control })
    }

    /// The hop of a flow, whose route is given (`named`) or found.
    pub(super) fn hop(
        &self,
        key: &str,
        named: bool,
        flow_rates: FlowRates,
        request: HopRequest,
    ) -> Result<HopSpec> {
        let HopRequest { from, to, .. } = request;
        self.check_pair(key, named, from, to)?;
        let old = self.stations.without_qos(from, to).is_some();
        let rate_control = self.controls.of(key, flow_rates, (from, to), old)?;
        let rate = match &rate_control {
            Some(control) => control.rates[0],
            None => flow_rates.phy_rate.unwrap_or_else(|| self.rate_between(from, to)),
        };
        self.stations.check_rate(key, self.phy, rate, from, to)?;
        let hop = HopSpec {
            ac: self.access_category(request.category, from),
            name: request.name,
            from: StationId(from as u32),
            to: StationId(to as u32),
            rate,
            rate_control,
            overhead_bytes: self.overhead(from, to),
            size_bytes: request.size_bytes,
            report: request.report,
            to_all: false,
        };
        self.check_size(key, &hop)?;
        Ok(hop)
    }

    /// The hop of a flow to all stations in range: at the slowest basic rate unless the flow has another, without QoS,
    /// which stations that lack QoS would not decode.
    pub(super) fn hop_to_all(
        &self,
        key: &str,
        flow_rates: FlowRates,
        request: HopRequest,
    ) -> Result<HopSpec> {
        let rate = flow_rates.phy_rate.unwrap_or_else(|| self.phy.slowest_basic());
        if self.phy.mcs(rate).is_some() {
            let problem = "packets to all stations have a rate before 802.11n, such as \"6 Mb/s\"";
            return wrong(format_args!("{key}.phy_rate"), problem);
        }
        let overhead = self.file.behaviour.profile().overhead_bytes;
        let from = StationId(request.from as u32);
        let hop = HopSpec {
            ac: self.access_category(request.category, request.from),
            name: request.name,
            from,
            to: from,
            rate,
            rate_control: None,
            overhead_bytes: overhead.unwrap_or(HEADER_BYTES + LLC_SNAP_BYTES + FCS_BYTES),
            size_bytes: request.size_bytes,
            report: None,
            to_all: true,
        };
        self.check_size(key, &hop)?;
        Ok(hop)
    }

    /// The access category of the sender.
    pub(super) fn access_category(
        &self,
        category: Option<CategoryName>,
        from: usize,
    ) -> AccessCategory {
        if !self.stations.has_categories(from) {
            return AccessCategory::FIRST;
        }
        category.map_or(AccessCategory::BEST_EFFORT, AccessCategory::from)
    }

    /// The link's own rate, otherwise the lower of the two stations' own rates, otherwise the default rate.
    fn rate_between(&self, from: usize, to: usize) -> RateIndex {
        if let Some(rate) = self.links.rate(from, to) {
            return rate;
        }
        let own = [from, to].into_iter().filter_map(|id| self.stations.rates[id]);
        own.min_by_key(|&rate| self.phy.rate(rate)).unwrap_or(self.rate)
    }

    /// The rates that frames of a flow may have between two stations.
    pub(super) fn rates(&self, flow_rates: FlowRates, from: usize, to: usize) -> Rates<'_> {
        let old = self.stations.without_qos(from, to).is_some();
        match self.controls.among(flow_rates, (from, to), old) {
            Some(rates) => Rates::Among(rates),
            None => {
                Rates::Given([flow_rates.phy_rate.unwrap_or_else(|| self.rate_between(from, to))])
            }
        }
    }

    /// QoS data are exchanged only between two QoS stations (IEEE 802.11-2016, 10.8).
    pub(super) fn overhead(&self, from: usize, to: usize) -> u32 {
        if let Some(bytes) = self.file.behaviour.profile().overhead_bytes {
            return bytes;
        }
        let header = match self.stations.without_qos(from, to) {
            None => QOS_HEADER_BYTES,
            Some(_) => HEADER_BYTES,
        };
        header + LLC_SNAP_BYTES + FCS_BYTES
    }

    fn check_pair(&self, key: &str, named: bool, from: usize, to: usize) -> Result<()> {
        let key = format!("{key}.{}", if named { "via" } else { "to" });
        let (sender, receiver) = (self.stations.name(from), self.stations.name(to));
        if from == to {
            return wrong(key, format_args!("{sender:?} would send to itself"));
        }
        for (from, to) in [(from, to), (to, from)] {
            if !decodes(&self.medium.reach, from, to) {
                let (from, to) = (self.stations.name(from), self.stations.name(to));
                let problem = format_args!(
                    "{sender:?} and {receiver:?} are out of reach: {to:?} cannot decode the frames \
                     of {from:?}; say with via who passes them on, or give [routing]"
                );
                return wrong(key, problem);
            }
        }
        Ok(())
    }

    pub(super) fn check_size(&self, key: &str, hop: &HopSpec) -> Result<()> {
        let most_bytes = hop.rates().map(|rate| self.phy.max_mpdu_bytes(rate)).min();
        let most_bytes = most_bytes.expect("a hop has rates");
        let most = most_bytes - hop.overhead_bytes;
        let size = hop.size_bytes;
        if !(20..=most).contains(&size) {
            let problem = format_args!(
                "found {size} B, expected an IP packet of 20 to {most} B: a frame adds {} B to it \
                 and has at most {most_bytes} B",
                hop.overhead_bytes
            );
            return wrong(format_args!("{key}.size"), problem);
        }
        Ok(())
    }
}
