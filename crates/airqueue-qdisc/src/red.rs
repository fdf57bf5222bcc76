//! RED, random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993): drops or marks arrivals
//! with a probability that grows with the average length of the queue.

use crate::discipline::{Around, Facts, Parameters, Place};
use crate::fifo::Fifo;
use airqueue_core::keys::check::{any, least, plain, within};
use airqueue_core::keys::{Layers, Result, wrong};
use airqueue_core::quantity::{Packets, Quantity, QueueLimit, Rate, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DataRate, DropReason, Drops, Limit, LinkFeedback, Packet, QueueDisc,
    RandomStream, Span, Time, take,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedParams {
    /// The queue's length counts bytes, link layer included, instead of packets. tc always counts bytes.
    pub in_bytes: bool,
    /// The average length below which nothing is dropped, in packets or bytes (tc: `min`).
    pub min: u64,
    /// The average length from which every arrival is dropped (tc: `max`).
    pub max: u64,
    /// The probability at an average just below `max` (tc: `probability`).
    pub max_p: f64,
    /// The weight of the present length in the average, w_q. tc derives a power of two from `burst`.
    pub weight: f64,
    /// Between `max` and its double the probability grows from `max_p` to 1 (Floyd, "Recommendations on
    /// using the gentle variant of RED", 2000).
    pub gentle: bool,
    /// Marks packets that are ECN-capable instead of dropping them.
    pub ecn: bool,
    /// Drops ECN-capable packets too where every arrival is dropped (RFC 3168, section 7; tc: `harddrop`).
    pub hard_drop: bool,
    /// The probability is proportional to a packet's size, and is the nominal probability for `mean_packet`.
    pub by_size: bool,
    /// Bytes of a packet of mean size (tc: `avpkt`).
    pub mean_packet: u32,
    /// The rate of the link, from which RED estimates how many packets could have left in an idle time (tc:
    /// `bandwidth`).
    pub rate: DataRate,
}

impl Default for RedParams {
    /// Lengths in packets, thresholds 5 and 15, probability at most 2 %, weight 0.002: the values of the article's
    /// sections 4 and 5. For idle times 1000 bytes and 10 Mb/s, as in tc.
    fn default() -> RedParams {
        RedParams {
            in_bytes: false,
            min: 5,
            max: 15,
            max_p: 0.02,
            weight: 0.002,
            gentle: false,
            ecn: false,
            hard_drop: false,
            by_size: false,
            mean_packet: 1000,
            rate: DataRate::from_bps(10_000_000).expect("not zero"),
        }
    }
}

/// RED.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedTable {
    /// The average length below which nothing is dropped, in packets or bytes. The default is `5 packets`.
    pub min: Option<Quantity<QueueLimit>>,
    /// The average length from which every arrival is dropped, in the unit of min. The default is three times min.
    pub max: Option<Quantity<QueueLimit>>,
    /// The probability just below max. The default is 0.02.
    #[schemars(range(min = 0, max = 1))]
    pub probability: Option<f64>,
    /// The weight of the present length in the average. The default is 0.002.
    #[schemars(range(max = 1))]
    pub weight: Option<f64>,
    /// Instead of weight: the burst from which tc derives the weight.
    pub burst: Option<Quantity<Packets>>,
    /// Whether the probability grows to 1 between max and its double. The default is false.
    pub gentle: Option<bool>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is false.
    pub ecn: Option<bool>,
    /// Whether ECN-capable packets are dropped too where every arrival is dropped. The default is false.
    pub hard_drop: Option<bool>,
    /// Whether the probability is proportional to a packet's size. The default is false.
    pub by_size: Option<bool>,
    /// The mean size of packets. The default is `1000 B`.
    pub mean_packet: Option<Quantity<Size>>,
    /// The rate of the link, for idle times. The default is `10 Mb/s`.
    pub rate: Option<Quantity<Rate>>,
}

/// A threshold, and whether it is in bytes.
fn threshold(limit: Limit) -> (u64, bool) {
    match limit {
        Limit::Packets(packets) => (u64::from(packets), false),
        Limit::Bytes(bytes) => (bytes, true),
    }
}

impl RedParams {
    /// Checks both thresholds, which have the same unit.
    fn check_thresholds(&mut self, tables: &Layers<'_, RedTable>) -> Result<()> {
        if let Some(min) = tables.find("min", |red| red.min.as_ref()) {
            (self.min, self.in_bytes) = threshold(min.value.value);
            self.max = 3 * self.min;
        }
        if let Some(max) = tables.find("max", |red| red.max.as_ref()) {
            let (value, in_bytes) = threshold(max.value.value);
            if in_bytes != self.in_bytes {
                let problem = "it is in another unit than min; both are in packets or in bytes";
                return wrong(max.key, problem);
            }
            if value <= self.min {
                let problem = format_args!("found {:?}, expected more than min", max.value.text);
                return wrong(max.key, problem);
            }
            self.max = value;
        }
        Ok(())
    }

    /// Sets the weight that tc derives from a burst, if the tables have a burst.
    fn check_burst(&mut self, tables: &Layers<'_, RedTable>) -> Result<()> {
        let Some(burst) = tables.find("burst", |red| red.burst.as_ref()) else { return Ok(()) };
        if tables.find("weight", |red| red.weight.as_ref()).is_some() {
            let problem = "it stands for a weight, which is there too; leave one of them out";
            return wrong(burst.key, problem);
        }
        let min = self.min as f64;
        let min = if self.in_bytes { min / f64::from(self.mean_packet) } else { min };
        self.weight = burst.check(|burst| {
            weight_for_burst(burst.value, min).ok_or_else(|| {
                let text = &burst.text;
                format!(
                    "found {text:?}, expected at least as many as min, {min:.1} packets of mean size"
                )
            })
        })?;
        Ok(())
    }
}

impl Parameters for RedParams {
    type Table = RedTable;
    const NAME: &'static str = "RED";
    const ABOUT: &'static str =
        "RED (Floyd and Jacobson, 1993): drops arrivals by the average length of the queue.";

    fn check(tables: &Layers<'_, RedTable>, _: &Around) -> Result<RedParams> {
        let mut params = RedParams::default();
        params.check_thresholds(tables)?;
        take!(params.max_p, tables.probability, within(0.0..=1.0));
        take!(params.weight, tables.weight, within(1e-9..=1.0));
        take!(params.gentle, tables.gentle, any);
        take!(params.ecn, tables.ecn, any);
        take!(params.hard_drop, tables.hard_drop, any);
        take!(params.by_size, tables.by_size, any);
        take!(params.mean_packet, tables.mean_packet, least(1, "1 B"));
        take!(params.rate, tables.rate, plain);
        params.check_burst(tables)?;
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts { refuses_for_ever: true, ..Facts::default() }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        Box::new(Red::new(*self, place.limit, place.rng).with_link_layer(place.link_layer))
    }
}

/// The weight that tc derives from `burst` packets and a lower threshold of `min` packets of mean size: the greatest
/// power of two with which the average stays a packet below `min` when `burst` packets arrive at once at an empty queue
/// (the article's section 6.1, equation 3). `None` if tc finds no weight: `burst` is smaller than `min`, or too large.
pub fn weight_for_burst(burst: u32, min: f64) -> Option<f64> {
    let burst = f64::from(burst);
    let above = burst + 1.0 - min;
    let weight = |log: i32| libm::ldexp(1.0, -log);
    let weights = (1..32).map(weight);
    weights.filter(|_| above >= 1.0).find(|w| above <= (1.0 - libm::pow(1.0 - w, burst)) / w)
}

/// RED's decision on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// The packet was chosen at random.
    Early,
    /// The average is so long that every arrival is dropped.
    Forced,
}

/// A queue under RED with a hard limit. (tc: `red`.)
///
/// All arithmetic is in floating point, where Linux (`include/net/red.h`) uses integers. In Linux,
///
/// * the weight is a power of two and the average is rounded down to 2⁻ᵂˡᵒᵍ bytes;
/// * after an idle time, (1 - w)ᵐ comes from a table of 256 powers of two, with a straight line for the first part;
/// * one random number serves all arrivals between two drops, uniform up to 1/p_b, which gives the same distribution as
///   the article's p_a = p_b / (1 - count · p_b) for each packet while p_b is constant;
/// * the packet with which the average rises above `min` begins a new count and cannot be dropped;
/// * an idle time begins when `dequeue` finds no packet, here when the last packet leaves. Shapers (tbf, htb) do not
///   call an empty queue: under them Linux never notices an idle time.
///
/// The article's Figure 2 counts the first packet after a drop as passed, whereas the article's formula in section 7
/// and Linux do not; here the packet does not count either.
#[derive(Clone, Debug)]
pub struct Red {
    params: RedParams,
    limit: Limit,
    waiting: Fifo,
    rng: RandomStream,
    average: f64,
    /// Packets accepted between the thresholds since the last drop or mark.
    passed: u64,
    /// Since when the queue is empty without an update of the average.
    idle_since: Option<Time>,
}

impl Red {
    /// An empty queue that counts IP bytes. `rng` gives the random numbers.
    pub fn new(params: RedParams, limit: Limit, rng: RandomStream) -> Red {
        let waiting = Fifo::default();
        Red { params, limit, waiting, rng, average: 0.0, passed: 0, idle_since: None }
    }

    /// The queue counts `bytes` on top of each IP packet. Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> Red {
        self.waiting.set_link_layer(bytes);
        self
    }

    /// The average length, in packets or bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Updates the average at an arrival (section 4). An idle time counts as the packets of mean size that could have
    /// left in this time, each of which would have found an empty queue.
    fn average_arrival(&mut self, now: Time) {
        let keep = 1.0 - self.params.weight;
        if let Some(since) = &mut self.idle_since {
            let idle = (now - *since).max(Span::ZERO);
            let packet_s =
                f64::from(self.params.mean_packet.max(1)) * 8.0 / self.params.rate.as_bps() as f64;
            self.average *= libm::pow(keep, idle.as_secs_f64() / packet_s);
            *since = now;
        } else {
            let length = if self.params.in_bytes {
                self.waiting.bytes() as f64
            } else {
                self.waiting.len() as f64
            };
            self.average += (length - self.average) * self.params.weight;
        }
    }

    /// Section 4, Figure 2, and the gentle variant.
    fn judge(&mut self, packet: &Packet) -> Verdict {
        let RedParams { max_p, gentle, by_size, mean_packet, .. } = self.params;
        let (average, min, max) = (self.average, self.params.min as f64, self.params.max as f64);
        if average < min {
            self.passed = 0;
            return Verdict::Pass;
        }
        let mut p = if average < max {
            max_p * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            self.passed = 0;
            return Verdict::Forced;
        };
        if by_size {
            p *= self.waiting.cost(packet) as f64 / f64::from(mean_packet.max(1));
        }
        let left = 1.0 - self.passed as f64 * p;
        if self.rng.bernoulli(if left > p { p / left } else { 1.0 }) {
            self.passed = 0;
            Verdict::Early
        } else {
            self.passed += 1;
            Verdict::Pass
        }
    }
}

impl QueueDisc for Red {
    fn enqueue(&mut self, mut packet: Packet, now: Time, drops: &mut Drops) {
        self.average_arrival(now);
        let verdict = self.judge(&packet);
        let may_mark = match verdict {
            Verdict::Pass => false,
            Verdict::Early => self.params.ecn && packet.ecn.is_capable(),
            Verdict::Forced => self.params.ecn && !self.params.hard_drop && packet.ecn.is_capable(),
        };
        if verdict != Verdict::Pass && !may_mark {
            drops.push(packet, DropReason::Aqm);
        } else if !self.waiting.has_room(self.limit, &packet) {
            drops.push(packet, DropReason::Tail);
        } else {
            if may_mark {
                drops.mark(&mut packet);
            }
            self.waiting.push(packet, now);
            self.idle_since = None;
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Packet> {
        let packet = self.waiting.pop()?;
        if self.waiting.len() == 0 {
            self.idle_since = Some(now);
        }
        Some(packet)
    }

    fn peek(&mut self, _now: Time, _drops: &mut Drops) -> Option<&Packet> {
        self.waiting.front()
    }

    fn len_packets(&self) -> usize {
        self.waiting.len()
    }

    fn len_bytes(&self) -> u64 {
        self.waiting.bytes()
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

impl ByNeighbour for Red {}

impl LinkFeedback for Red {}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{Ecn, FlowKey, Seed};

    fn red(params: RedParams, limit: u32) -> Red {
        Red::new(params, Limit::Packets(limit), Seed(1).stream("red"))
    }

    fn offer(q: &mut Red, size: u32, ecn: Ecn, now: Time) -> (Vec<DropReason>, u64) {
        let mut drops = Drops::new();
        q.enqueue(Packet { ecn, ..Packet::new(0, FlowKey(0), size, now) }, now, &mut drops);
        (drops.as_slice().iter().map(|d| d.reason).collect(), drops.marks())
    }

    /// w = 1/4, lengths 0, 1, 2, 3 found by the arrivals: 0, 1/4, 11/16, 81/64.
    #[test]
    fn the_average_is_that_of_the_lengths_found() {
        for (in_bytes, unit) in [(false, 1.0), (true, 1014.0)] {
            let params = RedParams { weight: 0.25, min: 1 << 40, in_bytes, ..Default::default() };
            let mut q = red(params, 10).with_link_layer(14);
            let averages: Vec<f64> = (0..4)
                .map(|_| {
                    offer(&mut q, 1000, Ecn::NotEct, Time::ZERO);
                    q.average() / unit
                })
                .collect();
            assert_eq!(averages, [0.0, 1.0 / 4.0, 11.0 / 16.0, 81.0 / 64.0]);
        }
    }

    /// 1000 bytes at 10 Mb/s take 0.8 ms: in 2.4 ms three packets would have left.
    #[test]
    fn idle_time_counts_as_packets_that_found_nothing() {
        let mut q = red(RedParams { weight: 0.5, min: 1 << 40, ..Default::default() }, 10);
        (0..3).for_each(|_| drop(offer(&mut q, 1000, Ecn::NotEct, Time::ZERO)));
        let before = q.average();
        let mut drops = Drops::new();
        while q.dequeue(Time::ZERO, &mut drops).is_some() {}
        offer(&mut q, 1000, Ecn::NotEct, Time::ZERO + Span::from_micros(2400));
        assert!((q.average() - before / 8.0).abs() < 1e-12, "{}", q.average());
        while q.dequeue(Time::ZERO, &mut drops).is_some() {}
        offer(&mut q, 1000, Ecn::NotEct, Time::from_nanos(i64::MAX));
        assert_eq!(q.average(), 0.0);
    }

    /// A queue with a constant average: weight 0 after the average has been set.
    fn standing(params: RedParams, average: f64) -> Red {
        let mut q = red(RedParams { weight: 0.0, ..params }, u32::MAX);
        q.average = average;
        q
    }

    /// Numbers of arrivals from one drop to the next, `n` times.
    fn gaps(q: &mut Red, size: u32, n: usize) -> Vec<u32> {
        let gap = |q: &mut Red| {
            let mut gap = 1;
            while offer(q, size, Ecn::NotEct, Time::ZERO).0.is_empty() {
                gap += 1;
                q.waiting.pop();
            }
            gap
        };
        (0..n).map(|_| gap(q)).collect()
    }

    /// Section 7: with p_b = 1/50 the distance of drops is uniform on 1 to 50. Chi-squared of 5000
    /// over 10 cells, 9 degrees of freedom: P(X² > 33.72) = 1e-4.
    #[test]
    fn drops_are_spread_evenly() {
        let params = RedParams { max_p: 0.04, ..RedParams::default() };
        let gaps = gaps(&mut standing(params, 10.0), 1000, 5000);
        assert!(gaps.iter().all(|gap| (1..=50).contains(gap)));
        let mut cells = [0f64; 10];
        gaps.iter().for_each(|gap| cells[(gap - 1) as usize / 5] += 1.0);
        let chi: f64 = cells.iter().map(|n| (n - 500.0) * (n - 500.0) / 500.0).sum();
        assert!(chi < 33.72, "{chi}");
    }

    /// The mean distance is (1/p_b + 1)/2; its standard error over 2000 drops is below 1.3 %.
    #[test]
    fn probability_follows_the_average_and_the_size() {
        let mean = |params, average, size| {
            let gaps = gaps(&mut standing(params, average), size, 2000);
            gaps.iter().sum::<u32>() as f64 / 2000.0
        };
        let near = |found: f64, p: f64| {
            let expected = (1.0 / p + 1.0) / 2.0;
            assert!((found / expected - 1.0).abs() < 0.04, "{found}, expected {expected}");
        };
        let params = RedParams::default();
        near(mean(params, 7.5, 1000), 0.005);
        near(mean(params, 14.0, 1000), 0.018);
        let by_size = RedParams { by_size: true, ..params };
        near(mean(by_size, 10.0, 1500), 0.015);
        near(mean(by_size, 10.0, 250), 0.0025);
        // From 15 to 30 the probability grows from 0.02 to 1; at 18 by a fifth of the difference.
        near(mean(RedParams { gentle: true, ..params }, 18.0, 1000), 0.02 + 0.98 / 5.0);
    }

    /// The average of the lengths that the packets of a burst find, 0 to one less than their number, stays
    /// a packet below the threshold, and would not with twice the weight.
    #[test]
    fn bursts_have_the_weights_of_tc() {
        let average = |weight: f64, burst: u32| {
            (0..burst).fold(0.0, |avg, found| avg + (f64::from(found) - avg) * weight)
        };
        for (burst, min) in
            [(33, 32.0), (35, 32.0), (55, 30.0), (100, 32.0), (20, 5.0), (1000, 83.3)]
        {
            let weight = weight_for_burst(burst, min).unwrap();
            assert!(average(weight, burst) <= min - 1.0 + 1e-9, "{burst} {min} {weight}");
            assert!(weight == 0.5 || average(2.0 * weight, burst) > min - 1.0, "{burst} {min}");
            assert_eq!(libm::log2(weight).fract(), 0.0);
        }
        assert_eq!(weight_for_burst(32, 32.0), Some(0.5));
        assert_eq!(weight_for_burst(31, 32.0), None);
        assert_eq!(weight_for_burst(u32::MAX, 32.0), None);
    }

    #[test]
    fn above_the_upper_threshold_nothing_passes() {
        let forced =
            |params, average, ecn| offer(&mut standing(params, average), 1000, ecn, Time::ZERO);
        let params = RedParams { ecn: true, ..RedParams::default() };
        let dropped = (vec![DropReason::Aqm], 0);
        assert_eq!(forced(params, 15.0, Ecn::NotEct), dropped);
        assert_eq!(forced(params, 15.0, Ecn::Ect), (vec![], 1));
        assert_eq!(forced(RedParams { hard_drop: true, ..params }, 15.0, Ecn::Ect), dropped);
        assert_eq!(forced(RedParams { gentle: true, ..params }, 30.0, Ecn::NotEct), dropped);
        assert_eq!(forced(RedParams { ecn: false, ..params }, 15.0, Ecn::Ect), dropped);
    }

    #[test]
    fn a_full_queue_drops_whatever_the_average_says() {
        let mut q = red(RedParams::default(), 2);
        let reasons: Vec<_> =
            (0..4).flat_map(|_| offer(&mut q, 1000, Ecn::Ect, Time::ZERO).0).collect();
        assert_eq!(reasons, [DropReason::Tail; 2]);
    }
}
