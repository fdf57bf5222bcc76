//! Routes in graphs against an exhaustive search, and the airtime metric against the standard's formula.

use airqueue_core::{DataRate, Span};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{CategoryConfig, MacConfig};
use airqueue_wifi::phy::{AccessCategory, Conventions, Phy, Preamble, Protection, dsss, ofdm};
use airqueue_wifi::routing::{Cost, Graph, ShortestPaths, airtime_cost, test_exchange};
use proptest::prelude::*;
use std::collections::HashMap;

/// Links of one direction each, with their costs.
type Links = HashMap<(usize, usize), u32>;

/// Stations and their links: a tree, which connects all stations, and random links.
fn networks(most: usize, costs: u32) -> impl Strategy<Value = (usize, Links)> {
    (2..=most).prop_flat_map(move |stations| {
        let cost = 1..=costs;
        let tree =
            prop::collection::vec((any::<prop::sample::Index>(), cost.clone()), stations - 1);
        let other = ((0..stations, 0..stations), cost);
        let others = prop::collection::vec(other, 0..3 * stations);
        (tree, others).prop_map(move |(tree, others)| {
            let mut links: Links = others.into_iter().filter(|((a, b), _)| a != b).collect();
            for (at, (before, cost)) in tree.into_iter().enumerate() {
                let (one, other) = (at + 1, before.index(at + 1));
                links.insert((one, other), cost);
                links.insert((other, one), cost);
            }
            (stations, links)
        })
    })
}

fn graph(stations: usize, links: &Links) -> Graph {
    Graph::new(stations, |to| {
        let mut into: Vec<_> = links.iter().filter(|((_, end), _)| *end == to).collect();
        into.sort_unstable();
        into.into_iter()
            .map(|(&(from, _), &cost)| (from, Cost::new(cost).unwrap()))
            .collect::<Vec<_>>()
    })
}

/// Cost and hops from each station to the station `to`, by the algorithm of Bellman and Ford.
fn bellman_ford(stations: usize, links: &Links, to: usize) -> Vec<Option<(u64, usize)>> {
    let mut best = vec![None; stations];
    best[to] = Some((0, 0));
    for _ in 0..stations {
        for (&(from, through), &cost) in links {
            let Some((further, hops)) = best[through] else { continue };
            let found = (further + u64::from(cost), hops + 1);
            if best[from].is_none_or(|known| found < known) {
                best[from] = Some(found);
            }
        }
    }
    best
}

fn cost_of(route: &[usize], links: &Links) -> Option<u64> {
    route.windows(2).map(|hop| links.get(&(hop[0], hop[1])).map(|&cost| u64::from(cost))).sum()
}

/// Every route that passes no station twice.
fn all_routes(
    route: &mut Vec<usize>,
    to: usize,
    stations: usize,
    links: &Links,
    all: &mut Vec<Vec<usize>>,
) {
    let at = *route.last().unwrap();
    if at == to {
        all.push(route.clone());
        return;
    }
    for next in 0..stations {
        if links.contains_key(&(at, next)) && !route.contains(&next) {
            route.push(next);
            all_routes(route, to, stations, links, all);
            route.pop();
        }
    }
}

proptest! {
    /// Earlier queries, in any order, do not change a route.
    #[test]
    fn routes_are_valid_and_none_is_cheaper(
        (stations, links) in networks(24, 9),
        asked in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 1..40),
    ) {
        let mut paths = ShortestPaths::new(graph(stations, &links));
        for (from, to) in asked {
            let (from, to) = (from.index(stations), to.index(stations));
            let route = paths.between(from, to).unwrap();
            let best = bellman_ford(stations, &links, to)[from];
            prop_assert_eq!((route[0], route[route.len() - 1]), (from, to));
            let found = cost_of(&route, &links).map(|cost| (cost, route.len() - 1));
            prop_assert_eq!(found, best);
            prop_assert_eq!(paths.cost(from, to), best.map(|(cost, _)| cost));
        }
    }

    /// With few different costs many routes are equal.
    #[test]
    fn of_equal_routes_the_shortest_and_then_the_first_is_taken(
        (stations, links) in networks(7, 2),
    ) {
        let mut paths = ShortestPaths::new(graph(stations, &links));
        for from in 0..stations {
            for to in 0..stations {
                let mut all = Vec::new();
                all_routes(&mut vec![from], to, stations, &links, &mut all);
                let first = all.into_iter().min_by_key(|route| {
                    (cost_of(route, &links), route.len(), route.clone())
                });
                prop_assert_eq!(paths.between(from, to), first);
            }
        }
    }

    #[test]
    fn parts_of_a_network_are_distinguished((one, links) in networks(12, 3), (other, more) in networks(12, 3)) {
        let mut links = links;
        links.extend(more.into_iter().map(|((a, b), cost)| ((a + one, b + one), cost)));
        let graph = graph(one + other, &links);
        let reaching = graph.reaching(one);
        for (station, &reaches) in reaching.iter().enumerate() {
            prop_assert_eq!(reaches, station >= one);
        }
        let mut paths = ShortestPaths::new(graph);
        prop_assert_eq!(paths.between(0, one), None);
        prop_assert_eq!(paths.cost(one, 0), None);
        prop_assert!(paths.between(one, one + other - 1).is_some());
    }
}

#[test]
fn a_link_has_one_direction() {
    let links = Links::from([((0, 1), 1), ((1, 2), 1)]);
    let mut paths = ShortestPaths::new(graph(3, &links));
    assert_eq!(paths.between(0, 2), Some(vec![0, 1, 2]));
    assert_eq!(paths.between(2, 0), None);
    assert_eq!(paths.between(1, 1), Some(vec![1]));
}

fn rate(phy: &Phy, kbps: u64) -> RateIndex {
    phy.rate_index(DataRate::from_bps(kbps * 1000).unwrap()).unwrap()
}

fn micros(us: i64) -> Span {
    Span::from_micros(us)
}

/// Computed by hand: 1024 B and 36 B of headers.
#[test]
fn the_test_frame_takes_what_the_layers_say() {
    let b = dsss(Preamble::Long, Conventions::STANDARD);
    let mac = MacConfig::new(vec![CategoryConfig::dcf(&b)]);
    // DIFS, preamble, 8480 bits at 11 Mb/s up to a whole µs, SIFS, preamble, 112 bits at 2 Mb/s.
    let at_11 = micros(50 + 192 + 771 + 10 + 192 + 56);
    assert_eq!(test_exchange(&b, &mac, AccessCategory::FIRST, rate(&b, 11_000), 36), at_11);
    // At 1 Mb/s the acknowledgement has that rate too.
    let at_1 = micros(50 + 192 + 8480 + 10 + 192 + 112);
    assert_eq!(test_exchange(&b, &mac, AccessCategory::FIRST, rate(&b, 1_000), 36), at_1);
    let a = ofdm(Conventions::STANDARD);
    let mac = MacConfig::new(vec![CategoryConfig { aifsn: 3, ..CategoryConfig::dcf(&a) }]);
    // AIFS, preamble, 8502 bits in 40 symbols of 216, SIFS, preamble and 134 bits in 2 symbols of 96.
    let at_54 = micros(43 + 20 + 160 + 16 + 20 + 8);
    assert_eq!(test_exchange(&a, &mac, AccessCategory::FIRST, rate(&a, 54_000), 36), at_54);
}

#[test]
fn protection_is_overhead() {
    let b = dsss(Preamble::Long, Conventions::STANDARD);
    let bare = MacConfig::new(vec![CategoryConfig::dcf(&b)]);
    let exchange =
        |mac: &MacConfig| test_exchange(&b, mac, AccessCategory::FIRST, rate(&b, 11_000), 36);
    // RTS of 160 bits and CTS of 112 at 2 Mb/s, each with its preamble and SIFS.
    let (rts, cts) = (micros(192 + 80 + 10), micros(192 + 56 + 10));
    let threshold = |bytes| MacConfig { rts_threshold_bytes: bytes, ..bare.clone() };
    assert_eq!(exchange(&threshold(1059)), exchange(&bare) + rts + cts);
    assert_eq!(exchange(&threshold(1060)), exchange(&bare));
    let to_self = MacConfig { protection: Protection::CtsToSelf, ..bare.clone() };
    assert_eq!(exchange(&to_self), exchange(&bare) + cts);
    let slow = MacConfig { protection_rate: Some(rate(&b, 1_000)), ..to_self };
    assert_eq!(exchange(&slow), exchange(&bare) + micros(192 + 112 + 10));
}

#[test]
fn losses_divide_by_what_arrives() {
    let cost = |loss| airtime_cost(micros(1500), loss).map(Cost::get);
    assert_eq!(cost(0.0), Some(1_500_000));
    assert_eq!(cost(0.25), Some(2_000_000));
    assert_eq!(cost(0.5), Some(3_000_000));
    assert_eq!(cost(0.999), Some(1_500_000_000));
    assert_eq!(cost(0.9999), None);
    assert_eq!(cost(1.0), None);
    assert_eq!(cost(f64::NAN), None);
}
