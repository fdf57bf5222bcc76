//! Rate control of a scenario's flows.

use super::error::{Result, wrong};
use super::file::File;
use super::links::LinkRates;
use super::phy::rates;
use super::radio_hops::FlowRates;
use super::stations::Stations;
use airqueue_network::wlan::RateControlSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::phy::Phy;
use airqueue_wifi::rate_control::RateControlName;
use std::sync::Arc;

/// The inputs from which rate controls are built.
pub(super) struct RateControls<'a> {
    file: &'a File,
    stations: &'a Stations,
    links: &'a LinkRates,
    /// The rates for rate control, and those to and from stations older than 802.11n.
    all: Arc<[RateIndex]>,
    old: Arc<[RateIndex]>,
}

impl<'a> RateControls<'a> {
    pub(super) fn new(
        file: &'a File,
        stations: &'a Stations,
        links: &'a LinkRates,
        phy: &Phy,
    ) -> Result<RateControls<'a>> {
        let [all, old] = [rates(&file.phy, phy, false)?, rates(&file.phy, phy, true)?];
        Ok(RateControls { file, stations, links, all: all.into(), old: old.into() })
    }

    /// The rate control of a flow from one station to another; `old`: one of them is older than 802.11n. `None`: the
    /// rate is fixed.
    pub(super) fn of(
        &self,
        key: &str,
        flow_rates: FlowRates,
        (from, to): (usize, usize),
        old: bool,
    ) -> Result<Option<RateControlSpec>> {
        self.check(key, flow_rates, (from, to))?;
        let Some(algorithm) = self.algorithm(flow_rates, (from, to)) else { return Ok(None) };
        Ok(Some(RateControlSpec { algorithm, rates: self.rates(old).clone() }))
    }

    /// The rates among which rate control chooses. `None`: the rate is fixed.
    pub(super) fn among(
        &self,
        flow_rates: FlowRates,
        (from, to): (usize, usize),
        old: bool,
    ) -> Option<&[RateIndex]> {
        self.algorithm(flow_rates, (from, to)).map(|_| &**self.rates(old))
    }

    fn rates(&self, old: bool) -> &Arc<[RateIndex]> {
        if old { &self.old } else { &self.all }
    }

    fn algorithm(
        &self,
        flow_rates: FlowRates,
        (from, to): (usize, usize),
    ) -> Option<RateControlName> {
        if flow_rates.phy_rate.is_some() {
            return None;
        }
        match flow_rates.rate_control.or(self.stations.rate_controls[from]) {
            Some(named) => looking(named),
            None if self.is_rated(from, to) => None,
            None => self.file.phy.rate_control.and_then(looking),
        }
    }

    /// Rejects rate control where the rate is given.
    fn check(&self, key: &str, flow_rates: FlowRates, (from, to): (usize, usize)) -> Result<()> {
        let looks = |name: Option<RateControlName>| name.and_then(looking);
        if flow_rates.phy_rate.is_some() {
            return match looks(flow_rates.rate_control) {
                None => Ok(()),
                Some(_) => wrong(
                    format_args!("{key}.phy_rate"),
                    "rate_control looks for it; leave one of them out",
                ),
            };
        }
        let named = flow_rates.rate_control.or(self.stations.rate_controls[from]);
        match self.rated(from, to).filter(|_| looks(named).is_some()) {
            None => Ok(()),
            Some(rated) => {
                let problem = format_args!(
                    "rate control looks for its rate, but {rated} has a rate of its own; leave one of them out"
                );
                wrong(format_args!("{key}.rate_control"), problem)
            }
        }
    }

    /// Whether either station or the link has its own rate.
    fn is_rated(&self, from: usize, to: usize) -> bool {
        let stations = &self.stations.rates;
        stations[from].is_some() || stations[to].is_some() || self.links.rate(from, to).is_some()
    }

    /// The name of the station or link with its own rate.
    fn rated(&self, from: usize, to: usize) -> Option<String> {
        let station = [from, to].into_iter().find(|&id| self.stations.rates[id].is_some());
        let station = station.map(|id| format!("{:?}", self.stations.name(id)));
        self.links.key(from, to).or(station)
    }
}

/// A rate control that chooses the rate; `None`: the rate is fixed.
fn looking(name: RateControlName) -> Option<RateControlName> {
    name.looks().then_some(name)
}
