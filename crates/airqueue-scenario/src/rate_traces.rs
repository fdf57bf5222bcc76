//! Recorded rates of links: each step is a change during the run.

use super::changes::Changes;
use super::error::{Result, wrong};
use super::phy::rate_index;
use super::signals::{MOST_STEPS, rate_steps};
use airqueue_core::Time;
use airqueue_network::HopId;
use airqueue_network::network::{Change, TimedChange};

impl Changes<'_> {
    /// The changes of all recorded rates, link by link.
    pub(super) fn of_rate_traces(&self) -> Result<Vec<TimedChange>> {
        let radio_hops = &self.flows.radio_hops;
        let mut changes = Vec::new();
        for (at, table) in radio_hops.file.links.iter().enumerate() {
            let Some(trace) = &table.rate_trace else { continue };
            let key = format!("links[{at}].rate_trace");
            let steps = rate_steps(&key, trace)?;
            let hops = self.hops_between(&format!("links[{at}]"), &table.between)?;
            if hops.is_empty() {
                let [one, other] = &table.between;
                let problem = format_args!(
                    "no flow goes over the air between {one:?} and {other:?}; leave it out"
                );
                return wrong(key, problem);
            }
            let rates = trace.rate.as_deref().unwrap_or_default();
            let index = |(at, rate)| {
                rate_index(
                    &radio_hops.file.phy,
                    radio_hops.phy,
                    format_args!("{key}.rate[{at}]"),
                    rate,
                )
            };
            let indices: Vec<_> = rates.iter().enumerate().map(index).collect::<Result<_>>()?;
            for (at, rate) in rates.iter().enumerate() {
                // Each rate is checked against each hop once.
                self.rate(&format!("{key}.rate[{at}]"), rate, |from, to| {
                    hops.iter().any(|&(_, ends)| ends == (from, to))
                })?;
            }
            let end = Time::ZERO + self.lasts;
            for (at, place) in steps.until(end) {
                if changes.len() + hops.len() > MOST_STEPS {
                    let problem =
                        format_args!("with it there are more than {MOST_STEPS} changes of rates");
                    return wrong(key, problem);
                }
                let rate = indices[place as usize];
                let change =
                    |&(hop, _): &(HopId, _)| TimedChange { at, change: Change::Rate { hop, rate } };
                changes.extend(hops.iter().map(change));
            }
        }
        Ok(changes)
    }

    /// The hops between two stations or groups, in both directions, with their ends.
    fn hops_between(&self, key: &str, names: &[String; 2]) -> Result<Vec<(HopId, (usize, usize))>> {
        let stations = self.flows.radio_hops.stations;
        let one = stations.find(format_args!("{key}.between[0]"), &names[0])?.ids;
        let other = stations.find(format_args!("{key}.between[1]"), &names[1])?.ids;
        let hops = self.built.hops.iter().enumerate();
        let ends = hops.map(|(at, hop)| (HopId::at(at), (hop.from.index(), hop.to.index())));
        let between = |&(_, (from, to)): &(HopId, (usize, usize))| {
            from != to
                && (one.contains(&from) && other.contains(&to)
                    || one.contains(&to) && other.contains(&from))
        };
        Ok(ends.filter(between).collect())
    }
}
