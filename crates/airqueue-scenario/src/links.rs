//! Settings of individual links between stations.

use super::error::{Result, wrong};
use super::file::{File, RadioLinkTable};
use super::phy::rate_index;
use super::stations::Stations;
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{Reach, StationId};
use airqueue_wifi::phy::Phy;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

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
            check_given(&key, table)?;
            let rate = table.rate.as_ref();
            let rate =
                rate.map(|rate| rate_index(&file.phy, phy, format_args!("{key}.rate"), rate));
            reader.add(&key, at, table, rate.transpose()?)?;
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
    fn add(
        &mut self,
        key: &str,
        at: usize,
        table: &RadioLinkTable,
        rate: Option<RateIndex>,
    ) -> Result<()> {
        let [name, other_name] = &table.between;
        let one = self.stations.find(format_args!("{key}.between[0]"), name)?;
        let other = self.stations.find(format_args!("{key}.between[1]"), other_name)?;
        let key = format!("{key}.between");
        if !one.group && !other.group {
            self.check_single(&key, at, (one.ids.start, other.ids.start))?;
        }
        let links = pairs_between(self.reach, &one.ids, &other.ids, |(from, to)| {
            are_linked(self.reach, from, to)
        });
        if links.is_empty() {
            let problem = format_args!(
                "{name:?} and {other_name:?} are out of reach of each other, and have no link"
            );
            return wrong(key, problem);
        }
        let Some(rate) = rate else { return Ok(()) };
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
}

/// Rejects a table that sets nothing.
fn check_given(key: &str, table: &RadioLinkTable) -> Result<()> {
    let any = table.rate.is_some()
        || table.rate_trace.is_some()
        || table.snr.is_some()
        || table.snr_trace.is_some()
        || table.shadowing.is_some()
        || table.fading.is_some();
    if any {
        return Ok(());
    }
    let problem = "it sets nothing; give rate, rate_trace, snr, snr_trace, shadowing or fading";
    wrong(key, problem)
}

/// The pairs of a station in `one` and a station in `other` of which either hears the other, and that are wanted; lower id
/// first.
pub(super) fn pairs_between(
    reach: &Reach,
    one: &Range<usize>,
    other: &Range<usize>,
    wanted: impl Fn((usize, usize)) -> bool,
) -> BTreeSet<(usize, usize)> {
    let mut pairs = BTreeSet::new();
    for (of, rest) in [(one, other), (other, one)] {
        for from in of.clone() {
            for hearer in reach.listeners_of(StationId(from as u32)) {
                let to = hearer.station.index();
                if rest.contains(&to) && wanted((from, to)) {
                    pairs.insert(pair(from, to));
                }
            }
        }
    }
    pairs
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
