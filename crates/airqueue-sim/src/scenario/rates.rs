//! How the flows of a scenario find the rates of their frames.

use super::error::{Result, wrong};
use super::file::{File, FlowTable, RateControlName};
use super::phy::rates;
use super::stations::Stations;
use crate::wlan::{Algorithm, RateControlSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::phy::Phy;
use std::sync::Arc;

/// What rate controls are made from.
pub(super) struct RateControls<'a> {
    file: &'a File,
    stations: &'a Stations,
    /// The rates that they look among, and those to and from stations that are older than 802.11n.
    all: Arc<[RateIndex]>,
    old: Arc<[RateIndex]>,
}

impl<'a> RateControls<'a> {
    pub(super) fn new(
        file: &'a File,
        stations: &'a Stations,
        phy: &Phy,
    ) -> Result<RateControls<'a>> {
        let [all, old] = [rates(&file.phy, phy, false)?, rates(&file.phy, phy, true)?];
        Ok(RateControls { file, stations, all: all.into(), old: old.into() })
    }

    /// That of a flow from one station to another; `old`: one of them is older than 802.11n. `None`: the rate is
    /// given.
    pub(super) fn of(
        &self,
        key: &str,
        table: &FlowTable,
        (from, to): (usize, usize),
        old: bool,
    ) -> Result<Option<RateControlSpec>> {
        let Some(algorithm) = self.algorithm(key, table, (from, to))? else { return Ok(None) };
        let rates = if old { &self.old } else { &self.all };
        Ok(Some(RateControlSpec { algorithm, rates: rates.clone() }))
    }

    fn algorithm(
        &self,
        key: &str,
        table: &FlowTable,
        (from, to): (usize, usize),
    ) -> Result<Option<Algorithm>> {
        let looks = |name: Option<RateControlName>| name.and_then(RateControlName::algorithm);
        if table.phy_rate.is_some() {
            return match looks(table.rate_control) {
                None => Ok(None),
                Some(_) => wrong(
                    format_args!("{key}.phy_rate"),
                    "rate_control looks for it; leave one of them out",
                ),
            };
        }
        let named = table.rate_control.or(self.stations.rate_controls[from]);
        let rated = [from, to].into_iter().find(|&id| self.stations.rates[id].is_some());
        match (named, rated) {
            (Some(_), Some(station)) if looks(named).is_some() => {
                let problem = format_args!(
                    "rate control looks for its rate, but {:?} has a rate of its own; leave one of them out",
                    self.stations.name(station)
                );
                wrong(format_args!("{key}.rate_control"), problem)
            }
            (Some(_), _) => Ok(looks(named)),
            (None, Some(_)) => Ok(None),
            (None, None) => Ok(looks(self.file.phy.rate_control)),
        }
    }
}
