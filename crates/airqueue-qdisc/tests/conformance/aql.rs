//! The airtime queue limits of mac80211's queues, held to a model of the kernel's rules that shares no code with them.
//!
//! The model is written after Linux 6.1, in whole microseconds: `net/mac80211/airtime.c` for what a packet is expected to take
//! (`ieee80211_calc_expected_tx_airtime`, `ieee80211_calc_rx_airtime`, `ieee80211_calc_legacy_rate_duration`),
//! `include/net/mac80211.h` for how it is stored (`ieee80211_info_set_tx_time_est`), `net/mac80211/sta_info.c` for what is
//! pending (`ieee80211_sta_update_pending_airtime`), and `net/mac80211/tx.c` for what may leave
//! (`ieee80211_txq_airtime_check`). Where the kernel has one last rate for each station, each category has its own here.

use airqueue_core::{
    AirRate, ByNeighbour, DataRate, Device, Drops, FlowKey, LinkFeedback, NeighbourId, Packet,
    QueueDisc, Seed, Sent, Span, Time,
};
use airqueue_qdisc::{AqlParams, Mac80211, Mac80211Params};
use proptest::prelude::*;
use std::collections::BTreeMap;

const CATEGORIES: usize = 4;
const STATIONS: usize = 3;
/// Voice packets are not aggregated.
const VOICE: usize = 3;

/// A rate as the kernel's tables have it.
#[derive(Clone, Copy, Debug)]
enum Rate {
    /// In units of 100 kb/s, with the microseconds of preamble and SIFS.
    Legacy(u32, u32),
    /// The time of 1024 bytes in 1/1024 µs, streams, and whether the format is HE.
    Scheme(u32, u32, bool),
}

/// 1, 11, 6 and 54 Mb/s; VHT20 MCS 0, 2, 4 and 9 of one stream (the latter as the table has it), VHT80 MCS 9 and HE80 MCS 11
/// of two.
const RATES: [Rate; 10] = [
    Rate::Legacy(10, 202),
    Rate::Legacy(110, 106),
    Rate::Legacy(60, 36),
    Rate::Legacy(540, 36),
    Rate::Scheme(1_290_528, 1, false),
    Rate::Scheme(430_176, 1, false),
    Rate::Scheme(161_312, 1, false),
    Rate::Scheme(96_960, 1, false),
    Rate::Scheme(10_756, 2, false),
    Rate::Scheme(6_990, 2, true),
];
const SLOWEST: usize = 2;

impl Rate {
    fn of_ours(self) -> AirRate {
        match self {
            Rate::Legacy(units, overhead_us) => {
                let rate = DataRate::from_bps(u64::from(units) * 100_000).unwrap();
                AirRate::Legacy { rate, overhead_us }
            }
            Rate::Scheme(kilobyte, streams, is_he) => {
                AirRate::Scheme { kilobyte, streams: streams as u8, is_he }
            }
        }
    }

    /// What is stored with a packet of so many IP bytes, sent with an Ethernet header of 14 bytes.
    fn stored_us(self, ip_bytes: u32, category: usize) -> u32 {
        let len = ip_bytes + 14 + 38;
        let us = match self {
            Rate::Legacy(units, overhead) => overhead + len * 8 * 10 / units,
            Rate::Scheme(kilobyte, streams, is_he) => {
                let (time, overhead) = (kilobyte * len / 1024 / 1024, 36 + (streams << 2));
                let shift = if category == VOICE {
                    0
                } else if kilobyte > 400 * 1024 {
                    1
                } else if kilobyte > 250 * 1024 {
                    2
                } else if kilobyte > 150 * 1024 {
                    3
                } else if kilobyte > 70 * 1024 {
                    4
                } else if !is_he || kilobyte > 20 * 1024 {
                    5
                } else {
                    6
                };
                (time + (overhead >> shift)).max(4)
            }
        };
        us.min(4095) >> 2 << 2
    }
}

/// The kernel's counters, in microseconds.
#[derive(Default)]
struct Kernel {
    pending: [[u32; STATIONS]; CATEGORIES],
    total: u32,
    last: [[Option<Rate>; STATIONS]; CATEGORIES],
    stored: BTreeMap<u64, u32>,
}

impl Kernel {
    fn registers(&mut self, packet: &Packet, category: usize) {
        let station = packet.neighbour.index();
        let rate = self.last[category][station].unwrap_or(RATES[SLOWEST]);
        let us = rate.stored_us(packet.size, category);
        self.stored.insert(packet.id, us);
        self.pending[category][station] += us;
        self.total += us;
    }

    fn releases(&mut self, packet: &Packet, category: usize) {
        let us = self.stored.remove(&packet.id).expect("a packet in the device");
        self.pending[category][packet.neighbour.index()] -= us;
        self.total -= us;
    }

    fn lets_go(&self, category: usize, station: usize, limits: [u32; 3]) -> bool {
        let [low, high, threshold] = limits;
        let pending = self.pending[category][station];
        pending < low || self.total < threshold && pending < high
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// The next packet for a station leaves, if it may.
    Leave { category: usize, station: usize, size: u32 },
    /// A packet in the device is reported, sent at a rate.
    Report { which: prop::sample::Index, rate: Option<usize> },
    /// A packet in the device is kept for a station that sleeps.
    Aside { which: prop::sample::Index },
    /// Such a packet is taken up again.
    TakeUp { which: prop::sample::Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let leave = (0..CATEGORIES, 0..STATIONS, 40_u32..1501)
        .prop_map(|(category, station, size)| Step::Leave { category, station, size });
    let report = (any::<prop::sample::Index>(), prop::option::of(0..RATES.len()))
        .prop_map(|(which, rate)| Step::Report { which, rate });
    let aside = any::<prop::sample::Index>().prop_map(|which| Step::Aside { which });
    let take_up = any::<prop::sample::Index>().prop_map(|which| Step::TakeUp { which });
    prop::collection::vec(prop_oneof![6 => leave, 3 => report, 1 => aside, 1 => take_up], 1..400)
}

/// Queues of a device's categories, beside the model.
struct Both {
    queues: Vec<Mac80211>,
    kernel: Kernel,
    limits: [u32; 3],
    in_device: Vec<(usize, Packet)>,
    aside: Vec<(usize, Packet)>,
    next: u64,
}

impl Both {
    fn new(limits: [u32; 3]) -> Both {
        let [low, high, threshold] = limits.map(|us| Span::from_micros(us.into()));
        let aql = Some(AqlParams { low, high, threshold, ..AqlParams::default() });
        let device = Device { slowest: RATES[SLOWEST].of_ours(), ..Device::default() };
        let queue = |category| {
            let mut queue = Mac80211::new(
                Mac80211Params { aql, flows: 4, ..Mac80211Params::default() },
                &mut Seed(1).stream("hash"),
            );
            let airtime = device.airtime.share();
            queue.set_device(&Device { airtime, aggregates: category != VOICE, ..device });
            queue
        };
        Both {
            queues: (0..CATEGORIES).map(queue).collect(),
            kernel: Kernel::default(),
            limits,
            in_device: Vec::new(),
            aside: Vec::new(),
            next: 0,
        }
    }

    fn leave(&mut self, category: usize, station: usize, size: u32) {
        let (neighbour, mut drops) = (NeighbourId(station as u16), Drops::new());
        let flow = FlowKey(station as u32);
        let packet = Packet { neighbour, ..Packet::new(self.next, flow, size, Time::ZERO) };
        self.next += 1;
        let queue = &mut self.queues[category];
        queue.enqueue(packet, Time::ZERO, &mut drops);
        let expected = self.kernel.lets_go(category, station, self.limits);
        let left = queue.dequeue_for_neighbour(neighbour, Time::ZERO, &mut drops);
        assert_eq!(left.is_some(), expected);
        if let Some(packet) = left {
            self.kernel.registers(&packet, category);
            self.in_device.push((category, packet));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Leave { category, station, size } => self.leave(category, station, size),
            Step::Report { which, rate } if !self.in_device.is_empty() => {
                let at = which.index(self.in_device.len());
                let (category, packet) = self.in_device.remove(at);
                self.kernel.releases(&packet, category);
                if let Some(rate) = rate {
                    self.kernel.last[category][packet.neighbour.index()] = Some(RATES[rate]);
                }
                let rate = rate.map(|rate| RATES[rate].of_ours());
                let (acknowledged, airtime) = (true, Span::from_micros(100));
                let sent = Sent { packet, acknowledged, airtime, rate, feedback: None };
                self.queues[category].on_sent(&sent, Time::ZERO);
            }
            Step::Aside { which } if !self.in_device.is_empty() => {
                let (category, packet) = self.in_device.remove(which.index(self.in_device.len()));
                self.kernel.releases(&packet, category);
                self.queues[category].on_put_aside(&packet);
                self.aside.push((category, packet));
            }
            Step::TakeUp { which } if !self.aside.is_empty() => {
                let (category, packet) = self.aside.remove(which.index(self.aside.len()));
                self.kernel.registers(&packet, category);
                self.queues[category].on_taken_up(&packet);
                self.in_device.push((category, packet));
            }
            _ => {}
        }
    }

    /// Each queue lets go of packets for the stations that the model names, of those for whom it has packets.
    fn check(&mut self) {
        for (category, queue) in self.queues.iter_mut().enumerate() {
            for station in 0..STATIONS {
                let neighbour = NeighbourId(station as u16);
                let flow = FlowKey(station as u32);
                let packet = Packet { neighbour, ..Packet::new(u64::MAX, flow, 40, Time::ZERO) };
                let mut drops = Drops::new();
                // A copy has counters of its own: the packet leaves no trace.
                let mut copy = queue.clone();
                copy.enqueue(packet, Time::ZERO, &mut drops);
                let lets_go = copy.peek_for_neighbour(neighbour, Time::ZERO, &mut drops).is_some();
                let expected = self.kernel.lets_go(category, station, self.limits);
                assert_eq!(lets_go, expected, "category {category}, station {station}");
            }
        }
    }
}

proptest! {
    /// After each of many random steps the same queues may hand out packets for the same stations.
    #[test]
    fn the_limits_are_those_of_the_kernel(
        steps in steps(),
        limits in prop_oneof![Just([5000, 12_000, 24_000]), Just([1500, 5000, 8000]), Just([4, 300, 700])],
    ) {
        let mut both = Both::new(limits);
        for step in steps {
            both.step(step);
            both.check();
        }
    }
}

/// One category's packets hold back those of another above its low limit alone: the threshold is the device's.
#[test]
fn the_threshold_is_for_all_categories() {
    let mut both = Both::new([5000, 12_000, 24_000]);
    let mut fill = |category, station| {
        let before = both.in_device.len();
        (0..20).for_each(|_| both.leave(category, station, 1500));
        both.in_device.len() - before
    };
    // At 6 Mb/s a packet takes 36 + 2069 µs, 2104 as stored: six reach 12 ms, twelve reach 24 ms, three reach 5 ms.
    assert_eq!([fill(0, 0), fill(1, 0), fill(1, 1), fill(2, 1), fill(3, 2)], [6, 6, 3, 3, 3]);
}
