//! Settings of individual links between stations.

use super::error::{Result, wrong};
use super::file::{File, RadioLinkTable};
use super::phy::rate_index;
use super::stations::{Named, Stations};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{Reach, StationId};
use airqueue_wifi::phy::Phy;
use std::collections::HashMap;

/// Rates of links that have their own rate.
pub(super) struct LinkRates {
    /// The rate by pair of stations, lower id first, with the place of its table.
    rates: HashMap<(usize, usize), (RateIndex, usize)>,
}

/// State while the link tables are read.
struct Reader<'a> {
    stations: &'a Stations,
    phy: &'a Phy,
    reach: &'a Reach,
    links: LinkRates,
    /// For each pair of stations: the table that names exactly these two stations, without a group.
    single: HashMap<(usize, usize), usize>,
}

impl LinkRates {
    pub(super) fn new(
        file: &File,
        stations: &Stations,
        phy: &Phy,
        reach: &Reach,
    ) -> Result<LinkRates> {
        let links = LinkRates { rates: HashMap::new() };
        let mut reader = Reader { stations, phy, reach, links, single: HashMap::new() };
        for (at, table) in file.links.iter().enumerate() {
            let key = format!("links[{at}]");
            let rate = rate_index(&file.phy, phy, format_args!("{key}.rate"), &table.rate)?;
            reader.add(&key, at, table, rate)?;
        }
        Ok(reader.links)
    }

    /// The rate of the link between two stations, if the link has its own rate.
    pub(super) fn rate(&self, one: usize, other: usize) -> Option<RateIndex> {
        Some(self.rates.get(&pair(one, other))?.0)
    }

    /// The key of the table that sets the link's rate.
    pub(super) fn key(&self, one: usize, other: usize) -> Option<String> {
        Some(format!("links[{}]", self.rates.get(&pair(one, other))?.1))
    }
}

impl Reader<'_> {
    fn add(&mut self, key: &str, at: usize, table: &RadioLinkTable, rate: RateIndex) -> Result<()> {
        let [name, other_name] = &table.between;
        let one = self.stations.find(format_args!("{key}.between[0]"), name)?;
        let other = self.stations.find(format_args!("{key}.between[1]"), other_name)?;
        let key = format!("{key}.between");
        if !one.group && !other.group {
            self.check_single(&key, at, (one.ids.start, other.ids.start))?;
        }
        let links = self.links_between(&one, &other);
        if links.is_empty() {
            let problem = format_args!(
                "{name:?} and {other_name:?} are out of reach of each other, and have no link"
            );
            return wrong(key, problem);
        }
        for (from, to) in links {
            self.stations.check_rate(format_args!("links[{at}].rate"), self.phy, rate, from, to)?;
            self.links.rates.insert(pair(from, to), (rate, at));
        }
        Ok(())
    }

    /// Rejects a second table for the same pair of stations.
    fn check_single(&mut self, key: &str, at: usize, (one, other): (usize, usize)) -> Result<()> {
        let names = [one, other].map(|id| self.stations.name(id));
        if one == other {
            return wrong(key, format_args!("{:?} has no link to itself", names[0]));
        }
        if let Some(before) = self.single.insert(pair(one, other), at) {
            let problem = format_args!(
                "links[{before}] is about {:?} and {:?} already; leave one of them out",
                names[0], names[1]
            );
            return wrong(key, problem);
        }
        Ok(())
    }

    /// The pairs of a station in `one` and a station in `other` that decode each other.
    fn links_between(&self, one: &Named, other: &Named) -> Vec<(usize, usize)> {
        let mut links = Vec::new();
        for from in one.ids.clone() {
            let listeners_of = self.reach.listeners_of(StationId(from as u32));
            let of_other = |&to: &usize| other.ids.contains(&to);
            for to in listeners_of.iter().map(|hearer| hearer.station.index()).filter(of_other) {
                if are_linked(self.reach, from, to) {
                    links.push((from, to));
                }
            }
        }
        links
    }
}

/// Whether two stations decode each other.
pub(super) fn are_linked(reach: &Reach, one: usize, other: usize) -> bool {
    decodes(reach, one, other) && decodes(reach, other, one)
}

/// Whether a station decodes the frames of another station.
pub(super) fn decodes(reach: &Reach, from: usize, to: usize) -> bool {
    let signal = reach.signal(StationId(from as u32), StationId(to as u32));
    signal.is_some_and(|signal| signal.decodable())
}

fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}
