//! The queues of a station.

use super::error::{Result, wrong};
use super::file::{
    AdaptiveTable, CakeTable, CodelTable, DisciplineName, DrrTable, FqCodelTable, Mac80211Table,
    PieTable, QueueTable, RdqmTable, RedTable, SfqTable,
};
use super::quantity::{Dimension, Quantity, Size};
use airqueue_core::keys::{Given, Layers};
use airqueue_core::{Limit, Span};
use airqueue_network::queue::{Discipline, QueueSpec};
use airqueue_qdisc::mac80211::LEAST_TURN;
use airqueue_qdisc::{
    AdaptiveParams, AqlParams, CakeParams, CodelParams, DropFrom, FqCodelParams, KeptApart,
    Mac80211Params, PieParams, RdqmParams, RedParams, SfqParams, red, sfq,
};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// As in Linux.
const MOST_FLOW_QUEUES: u32 = 65_536;
const LEAST_FQ_CODEL_QUANTUM: u32 = 256;
/// Of CAKE, as in tc.
const MOST_OVERHEAD: u32 = 256;
/// CAKE's own limit is one of memory.
const NO_LIMIT: Limit = Limit::Packets(u32::MAX);
/// A turn of less would pass mostly without a packet, and rounds of turns take time.
const LEAST_QUANTUM: u32 = 64;
/// What is done at intervals is made up for one by one when a queue has rested.
const LEAST_INTERVAL: Span = Span::from_millis(1);
/// Far longer than any flow is silent.
const MOST_EXPIRY_RTTS: u32 = 1000;

/// A setting's key and value, or nothing and the default.
macro_rules! take {
    ($into:expr, $layers:ident.$key:ident, $check:expr) => {
        if let Some(given) = $layers.find(stringify!($key), |table| table.$key.as_ref()) {
            $into = given.check($check)?;
        }
    };
}

/// What the MAC of a station that aggregates finds packets for one receiver in, behind a discipline that cannot be
/// searched for them.
const AGGREGATING_RING: usize = 64;

/// Each of a station's queues.
pub(super) fn queue(layers: &Layers<'_, QueueTable>, aggregates: bool) -> Result<QueueSpec> {
    let name = discipline(layers);
    let mut spec = QueueSpec::new(match name {
        DisciplineName::DropTail | DisciplineName::Drr | DisciplineName::Rdqm => Limit::Packets(50),
        DisciplineName::FqCodel => Limit::Packets(FqCodelParams::default().limit),
        DisciplineName::Mac80211 => Limit::Packets(Mac80211Params::default().limit),
        DisciplineName::Sfq => Limit::Packets(sfq::MOST_DEPTH),
        DisciplineName::Cake => NO_LIMIT,
        _ => Limit::Packets(1000),
    });
    use DisciplineName::{DropTail, Drr, Mac80211, Rdqm};
    let searched = [DropTail, Drr, Rdqm, Mac80211].contains(&name);
    if aggregates && !searched {
        spec.ring_packets = AGGREGATING_RING;
    }
    take!(spec.limit, layers.limit, plain);
    take!(spec.ring_packets, layers.ring, |ring| Ok::<_, &str>(ring.value as usize));
    take!(spec.link_layer_bytes, layers.link_layer, plain);
    spec.discipline = match name {
        DisciplineName::DropTail => Discipline::DropTail(drop_from(layers)),
        DisciplineName::Codel => {
            Discipline::Codel(codel(&layers.within("codel", |q| q.codel.as_ref()))?)
        }
        DisciplineName::FqCodel => {
            let own = layers.within("fq_codel", |q| q.fq_codel.as_ref());
            Discipline::FqCodel(fq_codel(&own, spec.limit)?)
        }
        DisciplineName::Red => Discipline::Red(red(&layers.within("red", |q| q.red.as_ref()))?),
        DisciplineName::Pie => Discipline::Pie(pie(&layers.within("pie", |q| q.pie.as_ref()))?),
        DisciplineName::Sfq => {
            Discipline::Sfq(self::sfq(&layers.within("sfq", |q| q.sfq.as_ref()))?)
        }
        DisciplineName::Cake => {
            let params = cake(&layers.within("cake", |q| q.cake.as_ref()), spec.limit)?;
            if spec.limit == NO_LIMIT {
                spec.limit = Limit::Bytes(params.memory());
            }
            Discipline::Cake(params)
        }
        DisciplineName::Drr => {
            let (by, quantum) = drr(&layers.within("drr", |q| q.drr.as_ref()))?;
            Discipline::DeficitRoundRobin { by, quantum, drop_from: drop_from(layers) }
        }
        DisciplineName::Adaptive => {
            Discipline::Adaptive(adaptive(&layers.within("adaptive", |q| q.adaptive.as_ref()))?)
        }
        DisciplineName::Rdqm => {
            Discipline::Rdqm(rdqm(&layers.within("rdqm", |q| q.rdqm.as_ref()))?)
        }
        DisciplineName::Mac80211 => {
            let own = layers.within("mac80211", |q| q.mac80211.as_ref());
            Discipline::Mac80211(mac80211(&own, spec.limit)?)
        }
    };
    Ok(spec)
}

/// Which discipline a station's queues have.
pub(super) fn discipline(layers: &Layers<'_, QueueTable>) -> DisciplineName {
    layers.find("discipline", |q| q.discipline.as_ref()).map_or_else(Default::default, |n| *n.value)
}

/// Refuses what would change nothing: keys in `table`, which is called `key`, of disciplines that none of its
/// queues has.
pub(super) fn check_used(
    key: impl Display,
    table: &QueueTable,
    queues: &[DisciplineName],
) -> Result<()> {
    let has = |name| queues.contains(&name);
    if let Some(other) = table.tables().find(|&name| !has(name)) {
        let word = other.word();
        let problem = format_args!(
            "{}; give discipline = {word:?} beside it, or leave it out",
            not_used(queues)
        );
        return wrong(format_args!("{key}.{word}"), problem);
    }
    if table.drop_from.is_some() && !queues.iter().any(|name| name.drops_from()) {
        let problem = format_args!("{}; leave it out", not_used(queues));
        return wrong(format_args!("{key}.drop_from"), problem);
    }
    Ok(())
}

/// How much always fits into a queue, whatever it decides while it works: no more than each of these.
pub(super) fn limits(queue: &QueueSpec) -> impl Iterator<Item = Limit> {
    let other = match queue.discipline {
        Discipline::FqCodel(params) => Some(Limit::Bytes(params.memory_limit)),
        Discipline::Mac80211(params) => Some(Limit::Bytes(params.memory_limit)),
        Discipline::Cake(params) => Some(Limit::Bytes(params.memory())),
        Discipline::Adaptive(params) => Some(Limit::Bytes(params.floor_bytes)),
        // All in one queue, or each in another.
        Discipline::Sfq(params) => Some(Limit::Packets(params.depth.min(params.flows))),
        _ => None,
    };
    std::iter::once(queue.limit).chain(other)
}

fn not_used(queues: &[DisciplineName]) -> String {
    match queues {
        [only] => format!("the queue has the discipline {:?}", only.word()),
        _ => "no queue has the discipline for it".to_owned(),
    }
}

fn drop_from(layers: &Layers<'_, QueueTable>) -> DropFrom {
    let given = layers.find("drop_from", |q| q.drop_from.as_ref());
    given.map_or(DropFrom::Tail, |from| DropFrom::from(*from.value))
}

type Checked<T> = std::result::Result<T, String>;

/// Any value of a quantity.
fn plain<D: Dimension>(given: &Quantity<D>) -> Checked<D::Value> {
    Ok(given.value)
}

fn some<D: Dimension>(given: &Quantity<D>) -> Checked<Option<D::Value>> {
    Ok(Some(given.value))
}

fn flag(given: &bool) -> Checked<bool> {
    Ok(*given)
}

/// A word for something.
fn named<N: Copy, T: From<N>>(given: &N) -> Checked<T> {
    Ok(T::from(*given))
}

/// At least so much.
fn least<D: Dimension>(least: D::Value, written: &str) -> impl Fn(&Quantity<D>) -> Checked<D::Value>
where
    D::Value: PartialOrd,
{
    move |given| {
        if given.value >= least {
            Ok(given.value)
        } else {
            Err(format!("found {:?}, expected at least {written:?}", given.text))
        }
    }
}

/// At most so much.
fn most<D: Dimension>(most: D::Value, written: &str) -> impl Fn(&Quantity<D>) -> Checked<D::Value>
where
    D::Value: PartialOrd,
{
    move |given| {
        if given.value <= most {
            Ok(given.value)
        } else {
            Err(format!("found {:?}, expected at most {written:?}", given.text))
        }
    }
}

fn within(range: RangeInclusive<f64>) -> impl Fn(&f64) -> Checked<f64> {
    move |given| {
        if range.contains(given) {
            Ok(*given)
        } else {
            Err(format!("found {given}, expected {} to {}", range.start(), range.end()))
        }
    }
}

fn at_most(most: u32) -> impl Fn(&u32) -> Checked<u32> {
    move |&given| {
        (given <= most)
            .then_some(given)
            .ok_or_else(|| format!("found {given}, expected at most {most}"))
    }
}

/// At least one.
fn one_to(most: u32) -> impl Fn(&u32) -> Checked<u32> {
    move |&given| {
        (1..=most)
            .contains(&given)
            .then_some(given)
            .ok_or_else(|| format!("found {given}, expected 1 to {most}"))
    }
}

fn codel(layers: &Layers<'_, CodelTable>) -> Result<CodelParams> {
    let mut params = CodelParams::default();
    take!(params.target, layers.target, plain);
    take!(params.interval, layers.interval, least(LEAST_INTERVAL, "1 ms"));
    take!(params.mtu, layers.mtu, plain);
    take!(params.ecn, layers.ecn, flag);
    take!(params.ce_threshold, layers.ce_threshold, some);
    take!(params.behaviour, layers.behaviour, named);
    Ok(params)
}

/// A limit in bytes beside `limit`.
fn memory_limit(limit: Limit) -> impl Fn(&Quantity<Size>) -> Checked<u64> {
    move |given| match limit {
        Limit::Packets(_) => plain(given).map(u64::from),
        Limit::Bytes(_) => {
            Err("limit is in bytes, and says the same; leave one of them out".into())
        }
    }
}

fn mac80211(layers: &Layers<'_, Mac80211Table>, limit: Limit) -> Result<Mac80211Params> {
    let mut params = Mac80211Params::default();
    let (mut fair, mut limited) = (true, true);
    take!(fair, layers.airtime_fairness, flag);
    take!(params.airtime, layers.turn, |turn| least(LEAST_TURN, "50 us")(turn).map(Some));
    params.airtime = params.airtime.filter(|_| fair);
    let mut aql = AqlParams::default();
    take!(limited, layers.aql, flag);
    take!(aql.low, layers.aql_low, plain);
    take!(aql.high, layers.aql_high, plain);
    take!(aql.threshold, layers.aql_threshold, plain);
    params.aql = limited.then_some(aql);
    take!(params.codel.target, layers.target, plain);
    take!(params.codel.interval, layers.interval, least(LEAST_INTERVAL, "1 ms"));
    take!(params.codel.ecn, layers.ecn, flag);
    take!(params.flows, layers.flows, one_to(MOST_FLOW_QUEUES));
    take!(params.quantum, layers.quantum, least(LEAST_QUANTUM, "64 B"));
    take!(params.memory_limit, layers.memory_limit, memory_limit(limit));
    Ok(params)
}

fn fq_codel(layers: &Layers<'_, FqCodelTable>, limit: Limit) -> Result<FqCodelParams> {
    let mut params = FqCodelParams::default();
    take!(params.codel.target, layers.target, plain);
    take!(params.codel.interval, layers.interval, least(LEAST_INTERVAL, "1 ms"));
    take!(params.codel.mtu, layers.mtu, plain);
    take!(params.codel.ecn, layers.ecn, flag);
    take!(params.codel.ce_threshold, layers.ce_threshold, some);
    take!(params.codel.behaviour, layers.behaviour, named);
    take!(params.flows, layers.flows, one_to(MOST_FLOW_QUEUES));
    take!(params.quantum, layers.quantum, least(LEAST_FQ_CODEL_QUANTUM, "256 B"));
    take!(params.memory_limit, layers.memory_limit, memory_limit(limit));
    take!(params.drop_batch, layers.drop_batch, least(1, "1 packet"));
    Ok(params)
}

/// A threshold, and whether it is in bytes.
fn threshold(limit: Limit) -> (u64, bool) {
    match limit {
        Limit::Packets(packets) => (u64::from(packets), false),
        Limit::Bytes(bytes) => (bytes, true),
    }
}

fn red(layers: &Layers<'_, RedTable>) -> Result<RedParams> {
    let mut params = RedParams::default();
    if let Some(min) = layers.find("min", |r| r.min.as_ref()) {
        (params.min, params.in_bytes) = threshold(min.value.value);
        params.max = 3 * params.min;
    }
    if let Some(max) = layers.find("max", |r| r.max.as_ref()) {
        let (value, in_bytes) = threshold(max.value.value);
        if in_bytes != params.in_bytes {
            return wrong(
                max.key,
                "it is in another unit than min; both are in packets or in bytes",
            );
        }
        if value <= params.min {
            let problem = format_args!("found {:?}, expected more than min", max.value.text);
            return wrong(max.key, problem);
        }
        params.max = value;
    }
    take!(params.max_p, layers.probability, within(0.0..=1.0));
    take!(params.weight, layers.weight, within(1e-9..=1.0));
    take!(params.gentle, layers.gentle, flag);
    take!(params.ecn, layers.ecn, flag);
    take!(params.hard_drop, layers.hard_drop, flag);
    take!(params.by_size, layers.by_size, flag);
    take!(params.mean_packet, layers.mean_packet, least(1, "1 B"));
    take!(params.rate, layers.rate, plain);
    if let Some(burst) = layers.find("burst", |r| r.burst.as_ref()) {
        params.weight = weight_of(&burst, layers, &params)?;
    }
    Ok(params)
}

/// The weight that tc derives from a burst.
fn weight_of(
    burst: &Given<'_, Quantity<super::quantity::Packets>>,
    layers: &Layers<'_, RedTable>,
    params: &RedParams,
) -> Result<f64> {
    if layers.find("weight", |r| r.weight.as_ref()).is_some() {
        return wrong(
            &burst.key,
            "it stands for a weight, which is there too; leave one of them out",
        );
    }
    let min = params.min as f64;
    let min = if params.in_bytes { min / f64::from(params.mean_packet) } else { min };
    burst.check(|burst| {
        red::weight_for_burst(burst.value, min).ok_or_else(|| {
            let text = &burst.text;
            format!(
                "found {text:?}, expected at least as many as min, {min:.1} packets of mean size"
            )
        })
    })
}

fn pie(layers: &Layers<'_, PieTable>) -> Result<PieParams> {
    let mut params = PieParams::default();
    take!(params.target, layers.target, plain);
    take!(params.update, layers.update, least(LEAST_INTERVAL, "1 ms"));
    take!(params.alpha, layers.alpha, within(0.0..=1000.0));
    take!(params.beta, layers.beta, within(0.0..=1000.0));
    take!(params.max_burst, layers.max_burst, plain);
    take!(params.ecn, layers.ecn, flag);
    take!(params.mark_up_to, layers.mark_up_to, within(0.0..=1.0));
    take!(params.by_size, layers.by_size, flag);
    take!(params.mean_packet, layers.mean_packet, least(1, "1 B"));
    take!(params.derandomize, layers.derandomize, flag);
    take!(params.behaviour, layers.behaviour, named);
    Ok(params)
}

fn sfq(layers: &Layers<'_, SfqTable>) -> Result<SfqParams> {
    let mut params = SfqParams::default();
    take!(params.quantum, layers.quantum, least(LEAST_QUANTUM, "64 B"));
    take!(params.depth, layers.depth, one_to(sfq::MOST_DEPTH));
    take!(params.flows, layers.flows, one_to(sfq::MOST_FLOWS));
    take!(params.divisor, layers.divisor, one_to(sfq::MOST_DIVISOR));
    take!(params.headdrop, layers.headdrop, flag);
    take!(params.perturb, layers.perturb, |given| {
        least(LEAST_INTERVAL, "1 ms")(given).map(Some)
    });
    Ok(params)
}

fn cake(layers: &Layers<'_, CakeTable>, limit: Limit) -> Result<CakeParams> {
    let mut params = CakeParams::default();
    take!(params.rate, layers.rate, some);
    take!(params.overhead, layers.overhead, |given| {
        most(MOST_OVERHEAD, "256 B")(given).map(|bytes| Some(bytes as i32))
    });
    take!(params.mpu, layers.mpu, most(MOST_OVERHEAD, "256 B"));
    take!(params.diffserv, layers.tins, named);
    take!(params.isolation, layers.isolation, named);
    take!(params.rtt, layers.rtt, least(LEAST_INTERVAL, "1 ms"));
    take!(params.mtu, layers.mtu, plain);
    take!(params.memory_limit, layers.memory_limit, |given| memory_limit(limit)(given).map(Some));
    if let Limit::Bytes(bytes) = limit {
        params.memory_limit = Some(bytes);
    }
    Ok(params)
}

fn drr(layers: &Layers<'_, DrrTable>) -> Result<(KeptApart, u32)> {
    let (mut by, mut quantum) = (KeptApart::Flow, 1500);
    take!(by, layers.by, named);
    take!(quantum, layers.quantum, least(LEAST_QUANTUM, "64 B"));
    Ok((by, quantum))
}

fn rdqm(layers: &Layers<'_, RdqmTable>) -> Result<RdqmParams> {
    let mut params = RdqmParams::default();
    take!(params.weight, layers.weight, named);
    take!(params.beyond_limit, layers.beyond_limit, flag);
    take!(params.floor, layers.floor, flag);
    take!(params.expiry, layers.expiry, plain);
    take!(params.expiry_rtts, layers.expiry_rtts, at_most(MOST_EXPIRY_RTTS));
    Ok(params)
}

fn adaptive(layers: &Layers<'_, AdaptiveTable>) -> Result<AdaptiveParams> {
    let mut params = AdaptiveParams::default();
    take!(params.rtt, layers.rtt, plain);
    take!(params.rate, layers.rate, some);
    take!(params.floor_bytes, layers.floor, |given| plain(given).map(u64::from));
    take!(params.window, layers.window, least(LEAST_INTERVAL, "1 ms"));
    Ok(params)
}
