//! `Moment`: the counters of an emulation at a moment, and the figures of the time between two moments.

use crate::dicts::{Named, RefusedDict};
use crate::live_dicts::{
    DelaysBelowDict, LiveDict, LivePairDict, LiveQueueDict, LiveStationDict, TotalPairDict,
    TotalQueueDict, TotalStationDict, TotalsDict,
};
use airqueue_core::{PacketCount, Span};
use airqueue_emulator::{PairCounters, Snapshot};
use airqueue_host::live::Moment;
use airqueue_network::histogram::Histogram;
use airqueue_scenario::emulated::Emulated;
use airqueue_scenario::live::{QueueNow, StationNow};
use pyo3::prelude::*;
use std::sync::Arc;

/// The delays of a pair are counted below the powers of two from 2^17 ns (0.13 ms) to 2^34 ns (17 s).
const POWERS: (u32, u32) = (17, 34);

/// The names of what a moment has, in its order.
pub(crate) struct Names {
    pairs: Vec<String>,
    stations: Vec<String>,
    queues: Vec<String>,
}

impl Names {
    pub(crate) fn new(emulated: &Emulated) -> Names {
        let nodes = &emulated.nodes;
        let pairs = nodes.iter().flat_map(|from| {
            let others = nodes.iter().filter(move |to| to.name != from.name);
            others.map(move |to| format!("{}->{}", from.name, to.name))
        });
        Names {
            pairs: pairs.collect(),
            stations: emulated.scenario.station_names().to_vec(),
            queues: emulated.scenario.queue_names().map(str::to_owned).collect(),
        }
    }
}

/// The counters of an emulation at a moment.
#[pyclass(name = "Moment", module = "airqueue._native", frozen)]
pub(crate) struct PyMoment {
    moment: Moment,
    names: Arc<Names>,
}

impl PyMoment {
    pub(crate) fn new(moment: Moment, names: &Arc<Names>) -> PyMoment {
        PyMoment { moment, names: names.clone() }
    }
}

fn named<T, D>(names: &[String], values: &[T], dict: impl Fn(usize, &T) -> D) -> Named<D> {
    let named = names.iter().zip(values).enumerate();
    Named(named.map(|(at, (name, value))| (name.clone(), dict(at, value))).collect())
}

#[pymethods]
impl PyMoment {
    /// The figures of the time since an earlier moment of the same emulation.
    fn since(&self, before: &PyMoment) -> LiveDict {
        let (now, then) = (&self.moment, &before.moment);
        let seconds = (now.at - then.at).as_secs_f64();
        let Snapshot { pairs, stations, queues, held, .. } = &now.network;
        let before = &then.network;
        let Names { pairs: pair_names, stations: station_names, queues: queue_names } =
            &*self.names;
        let late = &now.lateness;
        LiveDict {
            duration_s: seconds,
            elapsed_s: now.elapsed.as_secs_f64(),
            late_p99_s: late.quantile_since_s(&then.lateness, 0.99),
            read_late_p99_s: now.read_lateness.quantile_since_s(&then.read_lateness, 0.99),
            unwritten_packets: now.unwritten - then.unwritten,
            held_packets: *held,
            cpu_ratio: ratio(now.cpu - then.cpu, now.elapsed - then.elapsed),
            pairs: named(pair_names, pairs, |at, pair| live_pair(pair, &before.pairs[at], seconds)),
            stations: named(station_names, stations, |at, station| {
                live_station(station, &before.stations[at], now.at - then.at)
            }),
            queues: named(queue_names, queues, |at, queue| live_queue(queue, &before.queues[at])),
        }
    }

    /// Wall-clock time since the end of the warm-up.
    #[getter]
    fn elapsed_s(&self) -> f64 {
        self.moment.elapsed.as_secs_f64()
    }

    /// The counters since real time began.
    fn totals(&self) -> TotalsDict {
        let Moment { network, lateness, elapsed, cpu, unwritten, .. } = &self.moment;
        let names = &*self.names;
        let refused = network.refused.iter().map(|&(refusal, count, answered_packets)| {
            let PacketCount { packets, bytes } = count;
            (refusal.name().to_owned(), RefusedDict { packets, bytes, answered_packets })
        });
        TotalsDict {
            elapsed_s: elapsed.as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            written_packets: lateness.all.count,
            late_sum_s: lateness.all.sum_ns as f64 * 1e-9,
            late_packets: lateness.late,
            read_late_packets: self.moment.read_lateness.late,
            unwritten_packets: *unwritten,
            held_packets: network.held,
            pairs: named(&names.pairs, &network.pairs, |_, pair| total_pair(pair)),
            stations: named(&names.stations, &network.stations, |_, of| TotalStationDict {
                airtime_s: of.sent.as_secs_f64(),
                busy_s: of.busy.as_secs_f64(),
                away: of.away,
            }),
            queues: named(&names.queues, &network.queues, |_, of| TotalQueueDict {
                packets: of.packets,
                bytes: of.bytes,
                offered_packets: of.counters.offered.packets,
                dropped_packets: of.counters.dropped.packets,
                marked_packets: of.counters.occupancy.marked,
            }),
            refused: Named(refused.collect()),
        }
    }
}

fn ratio(part: Span, whole: Span) -> Option<f64> {
    (whole > Span::ZERO).then(|| part.as_secs_f64() / whole.as_secs_f64())
}

fn live_pair(now: &PairCounters, before: &PairCounters, seconds: f64) -> LivePairDict {
    let between = now.since(before);
    let bps = |count: PacketCount| (seconds > 0.0).then(|| 8.0 * count.bytes as f64 / seconds);
    LivePairDict {
        offered_bps: bps(between.offered),
        delivered_bps: bps(between.delivered),
        offered_packets: between.offered.packets,
        delivered_packets: between.delivered.packets,
        dropped_packets: between.dropped.packets,
        given_up_packets: between.lost.packets,
        marked_packets: between.marked,
        delay_p50_s: between.delays.quantile_s(0.5),
        delay_p95_s: between.delays.quantile_s(0.95),
    }
}

fn live_station(now: &StationNow, before: &StationNow, interval: Span) -> LiveStationDict {
    LiveStationDict {
        airtime_ratio: ratio(now.sent - before.sent, interval),
        busy_ratio: ratio(now.busy - before.busy, interval),
        away: now.away,
    }
}

fn live_queue(now: &QueueNow, before: &QueueNow) -> LiveQueueDict {
    LiveQueueDict {
        packets: now.packets,
        bytes: now.bytes,
        dropped_packets: now.counters.dropped.packets - before.counters.dropped.packets,
    }
}

/// How many values of a histogram are below each power of two of nanoseconds from one to another.
pub(crate) fn below<const BITS: u32>(
    of: &Histogram<BITS>,
    (from, to): (u32, u32),
) -> Vec<DelaysBelowDict> {
    let below = |(below_s, packets)| DelaysBelowDict { below_s, packets };
    of.below_powers(from, to).map(below).collect()
}

fn total_pair(of: &PairCounters) -> TotalPairDict {
    TotalPairDict {
        offered_packets: of.offered.packets,
        offered_bytes: of.offered.bytes,
        delivered_packets: of.delivered.packets,
        delivered_bytes: of.delivered.bytes,
        dropped_packets: of.dropped.packets,
        given_up_packets: of.lost.packets,
        marked_packets: of.marked,
        delay_sum_s: of.delay.sum_ns as f64 * 1e-9,
        delays_below: below(&of.delays, POWERS),
    }
}
