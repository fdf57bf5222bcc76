//! Max-min fair rates of the flows, and the domain that limits each of them.

use super::{Busy, Domains, TOLERANCE};

/// The domain that limits one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The link in the middle, by its index.
    pub centre: usize,
    /// The flow's hops within the domain, counted from 0 at the source: M of them.
    pub hops: Vec<usize>,
    /// How much of its time the domain is used: measured, or at max-min fair rates.
    pub utilisation: f64,
    /// Whether the domain is full; if not, the flow gets its demand.
    pub full: bool,
}

impl Domains<'_> {
    /// The max-min fair rates of the flows in bit/s: no domain is used for more than its time, no flow gets more than
    /// its demand.
    ///
    /// All rates rise together until a domain is full or a demand is met; the rates of those flows are then fixed, and
    /// the others rise on (progressive filling).
    pub fn max_min_rates_bps(&self) -> Vec<f64> {
        let flows = &self.mesh.flows;
        let demand: Vec<f64> =
            flows.iter().map(|flow| flow.demand_bps.unwrap_or(f64::INFINITY)).collect();
        let mut rates = vec![0.0; flows.len()];
        let mut rising = vec![true; flows.len()];
        while rising.contains(&true) {
            let levels = self.levels(&rates, &rising);
            let lowest = levels.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            let wanted = (0..flows.len()).filter(|&flow| rising[flow]).map(|flow| demand[flow]);
            let level = wanted.fold(lowest, f64::min);
            let mut stopped: Vec<bool> = demand.iter().map(|&wanted| wanted <= level).collect();
            for (load, full_at) in self.load.iter().zip(&levels) {
                if full_at.is_some_and(|at| at <= level * (1.0 + TOLERANCE)) {
                    load.iter().for_each(|&(flow, _)| stopped[flow] = true);
                }
            }
            for flow in 0..flows.len() {
                if rising[flow] {
                    rates[flow] = level;
                    rising[flow] = !stopped[flow];
                }
            }
        }
        rates
    }

    /// Of each domain, the rate of the rising flows at which it is full; `None` where no flow rises.
    fn levels(&self, rates: &[f64], rising: &[bool]) -> Vec<Option<f64>> {
        let of = |load: &Vec<(usize, f64)>| {
            let (mut used, mut slope) = (0.0, 0.0);
            for &(flow, air) in load {
                if rising[flow] { slope += air } else { used += air * rates[flow] }
            }
            (slope > 0.0).then(|| f64::max(0.0, 1.0 - used) / slope)
        };
        self.load.iter().map(of).collect()
    }

    /// The bottleneck of each flow: a full domain in which no flow is faster, else the most used one that it crosses;
    /// of equals the one with the fewest hops of the flow, then the first. With measured busy times only the domains
    /// that they leave are looked at.
    pub fn bottlenecks(&self, busy: Option<&Busy>) -> Vec<Bottleneck> {
        let rates = self.max_min_rates_bps();
        let utilisation = self.utilisation(&rates);
        let fastest: Vec<f64> = self
            .load
            .iter()
            .map(|load| load.iter().map(|&(flow, _)| rates[flow]).fold(0.0, f64::max))
            .collect();
        let full = |domain: usize| utilisation[domain] >= 1.0 - TOLERANCE;
        let of_flow = |flow: usize| {
            let among = match busy {
                Some(busy) => self.likely(flow, busy),
                None => self.crossed[flow].iter().map(|&(domain, _)| domain).collect(),
            };
            let limits = |&domain: &usize| {
                full(domain) && fastest[domain] <= rates[flow] * (1.0 + TOLERANCE)
            };
            let mut limiting: Vec<usize> = among.iter().copied().filter(limits).collect();
            if limiting.is_empty() {
                limiting = highest(among, &utilisation);
            }
            let centre = self.of_equals(&limiting, flow);
            let (utilisation, full) = match busy {
                Some(busy) => self.busy(centre, busy),
                None => (utilisation[centre], full(centre)),
            };
            Bottleneck { centre, hops: self.hops(centre, flow), utilisation, full }
        };
        (0..self.mesh.flows.len()).map(of_flow).collect()
    }

    /// Of these domains, which ascend, the one with the fewest hops of a flow, the first of them; a flow crosses at least the domain of its first hop.
    fn of_equals(&self, domains: &[usize], flow: usize) -> usize {
        let chosen = |domain| domains.binary_search(domain).is_ok();
        let candidates = self.crossed[flow].iter().filter(|(domain, _)| chosen(domain));
        let fewest = candidates.min_by_key(|&&(domain, hops)| (hops, domain));
        fewest.map_or(self.mesh.flows[flow].hops[0], |&(domain, _)| domain)
    }
}

fn highest(mut domains: Vec<usize>, utilisation: &[f64]) -> Vec<usize> {
    let most = domains.iter().map(|&domain| utilisation[domain]).fold(0.0, f64::max);
    domains.retain(|&domain| utilisation[domain] >= most * (1.0 - TOLERANCE));
    domains
}
