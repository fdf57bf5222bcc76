//! How soon routers agree with the global observer after a change, and what their messages take:
//! `cargo bench -p airqueue-control --bench mesh`.

// A benchmark reads the clock.
#![allow(clippy::disallowed_methods)]

#[path = "../tests/mesh/changes.rs"]
mod changes;
// The tests do more with it.
#[allow(dead_code)]
#[path = "../tests/mesh/net.rs"]
mod net;
#[path = "../tests/mesh/world.rs"]
mod world;

use airqueue_control::mesh::sizing::{Domains, Flow, Link, Mesh};
use airqueue_control::mesh::{MOST_FLOWS, MOST_HOPS, MOST_ROUTERS, Policy};
use airqueue_core::{Seed, Span};
use net::Net;
use std::collections::BTreeSet;
use std::time::Instant;
use world::World;

/// Convergence times in s, bytes a second in the second half of the observed time of each router with flows, and of the
/// busiest router while the mesh changes.
#[derive(Default)]
struct Found {
    times: Vec<f64>,
    steady: Vec<f64>,
    changing: Vec<f64>,
}

fn observe(world: World, loss: f64, seed: u64, found: &mut Found) {
    let mut net = Net::new(world, Policy::default(), loss, seed);
    let mut draw = Seed(seed).stream("changes");
    for _ in 0..4 {
        let before = net.sent.clone();
        let start = net.now;
        found.times.push(net.converge(Span::from_secs(25)).as_secs_f64());
        let bytes = |net: &Net, node: usize| (net.sent[node].0 - before[node].0) as f64;
        let most = (0..net.world.nodes).map(|node| bytes(&net, node)).fold(0.0, f64::max);
        found.changing.push(most / (net.now - start).as_secs_f64());
        changes::change(&mut net.world, &mut draw);
        net.tell();
    }
    net.run(Span::from_secs(60));
    let before = net.sent.clone();
    net.run(Span::from_secs(300));
    let sent = net.sent.iter().zip(&before).filter(|(now, then)| now.1 > then.1);
    found.steady.extend(sent.map(|(now, then)| (now.0 - then.0) as f64 / 300.0));
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}

fn report(name: &str, loss: f64, found: &mut Found) {
    let mut of = |q: f64| {
        [&mut found.times, &mut found.changing, &mut found.steady].map(|values| quantile(values, q))
    };
    let ([time, changing, steady], [worst, most_changing, most_steady]) = (of(0.5), of(1.0));
    println!(
        "{name:12} {:3.0} % lost: agreed after {time:4.1} s (worst {worst:4.1}); bytes/s of a router in 25 s after a \
         change {changing:4.0} (most {most_changing:4.0}), later {steady:3.0} (most {most_steady:3.0})",
        loss * 100.0
    );
}

/// The longest computation that neighbours can make a router do: as many flows and hops as routers size together, among as
/// many routers as they know, which all hear each other.
fn largest() {
    let (nodes, hops) = (MOST_ROUTERS, MOST_HOPS / MOST_FLOWS);
    let route = |flow: usize| (0..=hops).map(move |hop| (flow + hop * (1 + flow % 7)) % nodes);
    let mut ends = BTreeSet::new();
    for flow in 0..MOST_FLOWS {
        ends.extend(route(flow).zip(route(flow).skip(1)));
    }
    let ends: Vec<_> = ends.into_iter().collect();
    let flow = |flow: usize| Flow {
        hops: route(flow)
            .zip(route(flow).skip(1))
            .filter_map(|link| ends.binary_search(&link).ok())
            .collect(),
        demand_bps: Some(1e3 + flow as f64),
        other_delay_s: 0.0,
    };
    let link = |&(sender, receiver): &(usize, usize)| {
        let rate_bps = 1e6 + sender as f64;
        Link { sender, receiver, rate_bps, round_trip_s: 5e-3, channel: 1 }
    };
    let mesh = Mesh {
        nodes,
        hears: (0..nodes).flat_map(|a| (0..a).map(move |b| (b, a))).collect(),
        links: ends.iter().map(link).collect(),
        flows: (0..MOST_FLOWS).map(flow).collect(),
    };
    let began = Instant::now();
    let sized = Domains::new(&mesh).map(|domains| domains.buffers(None, 1460.0, 1).len());
    let took_ms = began.elapsed().as_secs_f64() * 1e3;
    println!(
        "largest mesh: {} flows over {} links in {took_ms:.0} ms",
        sized.unwrap_or(0),
        ends.len()
    );
}

fn main() {
    largest();
    for loss in [0.0, 0.3] {
        for (name, world) in world::papers() {
            let mut found = Found::default();
            (0..5).for_each(|seed| observe(world.clone(), loss, seed, &mut found));
            report(name, loss, &mut found);
        }
        let mut found = Found::default();
        (0..100).for_each(|seed| observe(world::random(seed), loss, seed, &mut found));
        report("100 random", loss, &mut found);
    }
}
