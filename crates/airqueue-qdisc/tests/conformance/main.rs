//! Guarantees of every queue discipline to its caller, checked on random sequences of calls. [`registered`] covers
//! every registered discipline, with random tables of its keys; the cases here are configurations that tables cannot
//! describe, or that act often within some milliseconds.

mod aql;
mod registered;
mod trial;

use airqueue_core::{DataRate, Limit, LinkQueue, RandomStream, Seed, Span};
use airqueue_qdisc::{
    AckFilter, Adaptive, AdaptiveParams, AqlParams, Behaviour, Cake, CakeParams, Codel,
    CodelParams, Diffserv, DropFrom, DropTail, FqCodel, FqCodelParams, Isolation, Mac80211,
    Mac80211Params, PerFlow, Pie, PieParams, QueuePer, Rdqm, RdqmParams, RdqmWeight, Red,
    RedParams, Sfq, SfqParams,
};
use proptest::prelude::*;
use trial::{Full, calls, conform};

fn rng() -> RandomStream {
    Seed(7).stream("queue")
}

/// A CoDel that drops or marks often within some milliseconds.
fn hasty_codel() -> CodelParams {
    CodelParams {
        target: Span::from_micros(500),
        interval: Span::from_millis(5),
        ecn: true,
        ..CodelParams::default()
    }
}

/// RED and PIE that drop and mark often.
fn hasty_red() -> RedParams {
    RedParams { min: 1, max: 8, max_p: 0.5, weight: 0.3, ecn: true, ..RedParams::default() }
}

fn hasty_pie() -> PieParams {
    PieParams {
        target: Span::from_millis(2),
        update: Span::from_millis(1),
        alpha: 12.5,
        beta: 125.0,
        max_burst: Span::from_millis(3),
        ecn: true,
        mark_up_to: 0.5,
        ..PieParams::default()
    }
}

/// Few queues that flows of several stations must share, and a limit that holds packets back.
fn hasty_mac80211() -> Mac80211Params {
    let aql = AqlParams {
        low: Span::from_micros(900),
        high: Span::from_millis(3),
        threshold: Span::from_millis(4),
        multicast: Span::from_millis(2),
    };
    let aql = Some(aql);
    Mac80211Params { codel: hasty_codel(), flows: 2, limit: 20, aql, ..Mac80211Params::default() }
}

/// A rate that these packets exceed now and then, and a short interval.
fn hasty_cake() -> CakeParams {
    CakeParams {
        rate: DataRate::from_bps(8_000_000),
        rtt: Span::from_millis(5),
        memory_limit: Some(20_000),
        ..CakeParams::default()
    }
}

fn hasty_adaptive() -> AdaptiveParams {
    AdaptiveParams {
        rtt: Span::from_millis(20),
        floor_bytes: 0,
        window: Span::from_millis(50),
        ..AdaptiveParams::default()
    }
}

macro_rules! conforms {
    ($full:expr; $($name:ident: $make:expr;)*) => {
        proptest! { $(
            #[test]
            fn $name(calls in calls()) {
                conform(|| $make, $full, &calls);
            }
        )* }
    };
}

conforms! {
    Full::Arrivals;
    pfifo: DropTail::new(Limit::Packets(9));
    pfifo_of_nothing: DropTail::new(Limit::Packets(0));
    bfifo: DropTail::new(Limit::Bytes(6000)).with_link_layer(14);
    per_flow_pfifo: PerFlow::new(|_| DropTail::new(Limit::Packets(5)));
    codel: Codel::new(hasty_codel(), Limit::Packets(20)).with_link_layer(14);
    codel_of_nothing: Codel::new(hasty_codel(), Limit::Bytes(0));
    codel_as_in_linux: Codel::new(CodelParams { behaviour: Behaviour::Linux, ..hasty_codel() }, Limit::Packets(20));
    red: Red::new(hasty_red(), Limit::Packets(20), rng()).with_link_layer(14);
    red_by_size: Red::new(RedParams { in_bytes: true, min: 500, max: 3000, gentle: true, by_size: true, hard_drop: true, ..hasty_red() }, Limit::Bytes(9000), rng());
    red_of_nothing: Red::new(RedParams { min: 0, max: 0, ..hasty_red() }, Limit::Packets(0), rng());
    pie: Pie::new(hasty_pie(), Limit::Packets(20), rng());
    pie_by_size: Pie::new(PieParams { by_size: true, derandomize: false, ..hasty_pie() }, Limit::Bytes(9000), rng()).with_link_layer(14);
    pie_as_in_linux: Pie::new(PieParams { behaviour: Behaviour::Linux, ..hasty_pie() }, Limit::Packets(20), rng());
    pie_of_nothing: Pie::new(hasty_pie(), Limit::Packets(0), rng());
    deficit_round_robin: PerFlow::new(|_| DropTail::new(Limit::Packets(5)).with_link_layer(14)).with_quantum(1500);
    deficit_round_robin_by_link: PerFlow::new(|_| DropTail::new(Limit::Packets(5))).by(QueuePer::Link).with_quantum(300);
    deficit_round_robin_of_codel: PerFlow::new(|_| Codel::new(hasty_codel(), Limit::Packets(9))).with_quantum(1);
    boxed: Box::new(DropTail::new(Limit::Packets(9))) as Box<dyn LinkQueue>;
    per_link_pfifo: PerFlow::new(|_| DropTail::new(Limit::Packets(5))).by(QueuePer::Link);
}

conforms! {
    Full::Waiting;
    pfifo_head_drop: DropTail::new(Limit::Packets(9)).dropping_from(DropFrom::Head);
    bfifo_head_drop: DropTail::new(Limit::Bytes(6000)).dropping_from(DropFrom::Head);
    per_flow_head_drop: PerFlow::new(|_| DropTail::new(Limit::Bytes(3000)).dropping_from(DropFrom::Head));
    fq_codel: FqCodel::new(FqCodelParams { codel: hasty_codel(), flows: 3, limit: 20, ..FqCodelParams::default() }, &mut rng());
    fq_codel_of_nothing: FqCodel::new(FqCodelParams { limit: 0, ..FqCodelParams::default() }, &mut rng()).with_link_layer(14);
    cake: Cake::new(hasty_cake(), rng());
    cake_by_precedence: Cake::new(CakeParams { diffserv: Diffserv::Precedence, isolation: Isolation::Hosts, memory_limit: Some(6000), ..hasty_cake() }, rng()).with_link_layer(14);
    cake_filtering: Cake::new(CakeParams { ack_filter: AckFilter::AckFilter, isolation: Isolation::Blind, ..hasty_cake() }, rng()).with_link_layer(14);
    cake_filtering_more: Cake::new(CakeParams { ack_filter: AckFilter::AckFilterAggressive, memory_limit: Some(3000), ..hasty_cake() }, rng());
    cake_without_rate: Cake::new(CakeParams { rate: None, isolation: Isolation::Blind, ..hasty_cake() }, rng());
    cake_of_nothing: Cake::new(CakeParams { rate: DataRate::from_bps(1_000_000), overhead: Some(-2000), rtt: Span::ZERO, mtu: 0, memory_limit: Some(0), ..hasty_cake() }, rng());
    mac80211: Mac80211::new(hasty_mac80211(), &mut rng()).with_link_layer(14);
    mac80211_by_turns: Mac80211::new(Mac80211Params { airtime: None, aql: None, ..hasty_mac80211() }, &mut rng());
    mac80211_of_nothing: Mac80211::new(Mac80211Params { flows: 0, quantum: 0, limit: 0, airtime: Some(Span::ZERO), aql: Some(AqlParams { low: Span::ZERO, high: Span::ZERO, threshold: Span::ZERO, multicast: Span::ZERO }), ..hasty_mac80211() }, &mut rng());
}

conforms! {
    Full::Own;
    adaptive: Adaptive::new(hasty_adaptive(), Limit::Packets(20), &mut rng());
    adaptive_of_nothing: Adaptive::new(AdaptiveParams { rtt: Span::ZERO, ..hasty_adaptive() }, Limit::Bytes(0), &mut rng()).with_link_layer(14);
    rdqm: Rdqm::new(RdqmParams::default(), Limit::Packets(20)).with_link_layer(14);
    rdqm_by_rtt: Rdqm::new(RdqmParams { weight: RdqmWeight::Rtt, beyond_limit: false, floor: false, expiry: Span::from_millis(5), expiry_rtts: 1 }, Limit::Bytes(9000));
    rdqm_of_nothing: Rdqm::new(RdqmParams { expiry: Span::ZERO, ..RdqmParams::default() }, Limit::Packets(0));
}

conforms! {
    Full::Any;
    sfq: Sfq::new(SfqParams { quantum: 300, depth: 6, divisor: 3, ..SfqParams::default() }, Limit::Packets(12), rng()).with_link_layer(14);
    sfq_head_drop: Sfq::new(SfqParams { depth: 6, headdrop: true, ..SfqParams::default() }, Limit::Bytes(9000), rng());
    sfq_perturbed: Sfq::new(SfqParams { depth: 6, divisor: 3, perturb: Some(Span::from_millis(2)), ..SfqParams::default() }, Limit::Packets(12), rng());
    sfq_of_nothing: Sfq::new(SfqParams { quantum: 0, depth: 0, flows: 0, divisor: 0, headdrop: true, perturb: Some(Span::ZERO) }, Limit::Packets(0), rng());
}
