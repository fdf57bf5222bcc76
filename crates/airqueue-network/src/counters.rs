//! Packet counters. Each packet is counted once at each hop; every other figure is derived from these counters.

use crate::histogram::Histogram;
use airqueue_core::{DataRate, DropReason, Dropped, Ecn, Packet, PacketCount, Span, Time};

/// The count, the sum and the maximum of a number of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Number of durations.
    pub count: u64,
    /// Sum of the durations in nanoseconds.
    pub sum_ns: i128,
    /// Sum of the squares of the durations in square nanoseconds.
    pub squares_ns2: u128,
    /// Longest duration.
    pub greatest: Span,
}

impl Durations {
    /// Adds one duration.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.add_alike(span, 1);
    }

    /// Adds a number of equal durations, one at least.
    #[inline]
    pub(crate) fn add_alike(&mut self, span: Span, number: u64) {
        self.count += number;
        self.sum_ns += i128::from(span.as_nanos()) * i128::from(number);
        let square = u128::from(span.as_nanos().unsigned_abs()).pow(2);
        self.squares_ns2 += square * u128::from(number);
        self.greatest = self.greatest.max(span);
    }

    /// Adds the durations of another counter.
    pub fn merge(&mut self, other: &Durations) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.squares_ns2 += other.squares_ns2;
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Mean in seconds; `None` without any duration.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 * 1e-9 / self.count as f64)
    }

    /// Standard deviation in seconds; `None` without any duration.
    pub fn sd_s(&self) -> Option<f64> {
        let mean_ns = self.mean_s()? * 1e9;
        let variance = self.squares_ns2 as f64 / self.count as f64 - mean_ns * mean_ns;
        Some(libm::sqrt(variance.max(0.0)) * 1e-9)
    }

    /// Longest duration in seconds; `None` without any duration.
    pub fn greatest_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.greatest.as_secs_f64())
    }

    /// A quantile in seconds, from a histogram of the same durations; `None` without any duration.
    pub fn quantile_s<const BITS: u32>(&self, histogram: &Histogram<BITS>, q: f64) -> Option<f64> {
        // The quantile is the middle of a bucket, which may exceed the maximum.
        Some(histogram.quantile_s(q)?.min(self.greatest_s()?))
    }
}

/// Durations, and their quantiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// The durations.
    pub took: Durations,
    /// The same durations, for quantiles.
    pub times: Histogram,
}

impl Timings {
    /// Adds one duration.
    pub(crate) fn add(&mut self, took: Span) {
        self.add_alike(took, 1);
    }

    /// Adds a number of equal durations, one at least.
    #[inline]
    pub(crate) fn add_alike(&mut self, took: Span, number: u64) {
        self.took.add_alike(took, number);
        self.times.add_alike(took, number);
    }

    /// Adds other durations.
    pub fn merge(&mut self, other: &Timings) {
        self.took.merge(&other.took);
        self.times.merge(&other.times);
    }

    /// Forgets all durations, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.took = Durations::default();
        self.times.clear();
    }

    /// A quantile in seconds; `None` without any duration.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        self.took.quantile_s(&self.times, q)
    }

    /// Mean, standard deviation, median, 95th and 99th percentile, and maximum in seconds; `None` without any duration.
    pub fn figures_s(&self) -> [Option<f64>; 6] {
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| self.quantile_s(q));
        [self.took.mean_s(), self.took.sd_s(), p50, p95, p99, self.took.greatest_s()]
    }
}

/// Variation of the delay: the interarrival jitter of RFC 3550, section 6.4.1, in the integer arithmetic of its
/// appendix A.8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Delay of the previous packet, also if that packet came before counting began.
    before: Option<Span>,
    /// J, in 16ths of a nanosecond.
    now: i64,
    /// Sum of all values of J, and the number of these values.
    sum: i128,
    count: u64,
}

impl Jitter {
    /// A number of packets has arrived, all with this delay, one at least: for each `J += (|D| - J)/16`.
    #[inline]
    fn add_alike(&mut self, delay: Span, number: u64) {
        let (mut change, mut left) = (0, number);
        match self.before {
            Some(before) => change = (delay - before).as_nanos().abs(),
            // The first of all has no change.
            None => left -= 1,
        }
        self.before = Some(delay);
        self.count += left;
        for _ in 0..left {
            self.now += change - ((self.now + 8) >> 4);
            self.sum += i128::from(self.now);
            change = 0;
        }
    }

    /// Restarts the sum; J itself continues.
    fn restarted(self) -> Jitter {
        Jitter { sum: 0, count: 0, ..self }
    }

    /// Adds the values of other packets. The delays of these packets do not continue those counted here.
    fn merge(&mut self, other: &Jitter) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// Mean of J over all packets but the first of all, in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 * 1e-9 / 16.0 / self.count as f64)
    }

    /// J after the last packet, in seconds.
    #[cfg(test)]
    fn last_s(&self) -> f64 {
        self.now as f64 * 1e-9 / 16.0
    }
}

/// Data rates of data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataRates {
    /// Number of data frames.
    pub count: u64,
    /// Sum of their rates in bits per second.
    pub sum_bps: u128,
}

impl DataRates {
    #[inline]
    pub(crate) fn add(&mut self, rate: DataRate, frames: u64) {
        self.count += frames;
        self.sum_bps += u128::from(rate.as_bps()) * u128::from(frames);
    }

    /// Adds the rates of another counter.
    fn merge(&mut self, other: &DataRates) {
        self.count += other.count;
        self.sum_bps += other.sum_bps;
    }

    /// Mean rate in bits per second; `None` without any data frame.
    pub fn mean_bps(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_bps as f64 / self.count as f64)
    }
}

/// What happened to the packets of a flow on one hop, over the air or through a wire, since counting began.
///
/// These are the only packet counters. The counters of a flow and of a queue are sums of these counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets offered to the hop: to its queue, if the hop has a queue.
    pub offered: PacketCount,
    /// Packets dropped by the queue.
    pub dropped: PacketCount,
    /// Dropped packets for which the queue still had room: active queue management slows senders down.
    pub dropped_early: PacketCount,
    /// Dropped packets that were acknowledgements which later ones made redundant.
    pub filtered_acks: u64,
    /// Dropped packets that found no room in front of the station's processor.
    pub unprocessed: u64,
    /// Packets dequeued by the MAC, or by the link behind the queue.
    pub taken: PacketCount,
    /// Time from a packet's arrival in the queue to its dequeue.
    pub waited: Durations,
    /// Packets given up by the MAC, or lost in a wire.
    pub given_up: PacketCount,
    /// Packets received at the far end of the hop, without duplicates.
    pub delivered: PacketCount,
    /// Delivered packets with a congestion mark.
    pub marked: u64,
    /// Rate of the last data frame of each packet that the MAC has finished.
    pub rates: DataRates,
    /// Time that the transmissions of these packets took, with their responses; of a frame with several packets each
    /// has a share.
    pub airtime: Span,
    /// Delay of delivered packets from the source to the far end of the hop.
    pub delay: Durations,
    /// The delays of [`Self::delay`], for quantiles.
    pub delays: Histogram,
    /// Variation of the delay from packet to packet.
    pub jitter: Jitter,
}

impl HopCounters {
    /// Counters of a hop that is not the last of a route. Quantiles of the delay up to this hop are never reported, and
    /// the histograms of many hops would fill the caches.
    pub(crate) fn without_delays() -> HopCounters {
        HopCounters {
            delays: Histogram::without_buckets(),
            offered: PacketCount::default(),
            dropped: PacketCount::default(),
            dropped_early: PacketCount::default(),
            filtered_acks: 0,
            unprocessed: 0,
            taken: PacketCount::default(),
            waited: Durations::default(),
            given_up: PacketCount::default(),
            delivered: PacketCount::default(),
            marked: 0,
            rates: DataRates::default(),
            airtime: Span::ZERO,
            delay: Durations::default(),
            jitter: Jitter::default(),
        }
    }

    #[inline]
    pub(crate) fn on_dropped(&mut self, dropped: &Dropped) {
        self.dropped.add(&dropped.packet);
        match dropped.reason {
            DropReason::Aqm => self.dropped_early.add(&dropped.packet),
            DropReason::AckFilter => self.filtered_acks += 1,
            DropReason::Overrun => self.unprocessed += 1,
            _ => {}
        }
    }

    #[inline]
    pub(crate) fn on_taken(&mut self, packet: &Packet, now: Time) {
        self.taken.add(packet);
        self.waited.add(now - packet.enqueued);
    }

    /// The MAC has finished a number of packets at the same rate, which took this airtime together.
    #[inline]
    pub(crate) fn on_finished(&mut self, packets: u64, rate: DataRate, airtime: Span) {
        self.rates.add(rate, packets);
        self.airtime = self.airtime + airtime;
    }

    #[inline]
    pub(crate) fn on_delivered(&mut self, packet: &Packet, now: Time) {
        self.on_delivered_alike(packet, 1, now);
    }

    /// A number of packets has arrived, one at least, all with the size, the mark and the time of creation of this packet.
    #[inline]
    pub(crate) fn on_delivered_alike(&mut self, packet: &Packet, number: u64, now: Time) {
        let delay = now - packet.created;
        self.delivered.add_alike(u64::from(packet.size), number);
        self.marked += number * u64::from(packet.ecn == Ecn::Ce);
        self.delay.add_alike(delay, number);
        self.delays.add_alike(delay, number);
        self.jitter.add_alike(delay, number);
    }

    /// Adds the counters of the same position on another route.
    pub(crate) fn merge(&mut self, other: &HopCounters) {
        self.offered.merge(&other.offered);
        self.delivered.merge(&other.delivered);
        self.marked += other.marked;
        self.delay.merge(&other.delay);
        self.delays.merge(&other.delays);
        self.jitter.merge(&other.jitter);
        self.merge_within(other);
    }

    /// Adds the counters of another hop of the same route, without offers and deliveries: packets are offered to the
    /// first hop and delivered by the last.
    pub(crate) fn merge_within(&mut self, other: &HopCounters) {
        self.dropped.merge(&other.dropped);
        self.dropped_early.merge(&other.dropped_early);
        self.filtered_acks += other.filtered_acks;
        self.unprocessed += other.unprocessed;
        self.taken.merge(&other.taken);
        self.waited.merge(&other.waited);
        self.given_up.merge(&other.given_up);
        self.rates.merge(&other.rates);
        self.airtime = self.airtime + other.airtime;
    }

    /// Restarts counting.
    pub(crate) fn clear(&mut self) {
        // Nothing is allocated: there may be thousands of hops.
        let mut delays = std::mem::replace(&mut self.delays, Histogram::without_buckets());
        delays.clear();
        let jitter = self.jitter.restarted();
        *self = HopCounters { delays, jitter, ..HopCounters::without_delays() };
    }
}

/// What has reached the far end of a hop, or the destination of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Packets, without duplicates.
    pub counters: PacketCount,
    /// Delays of these packets from the source, summed in nanoseconds.
    pub delay_ns: i128,
}

impl Delivered {
    /// The sum of these deliveries and of those since counting began.
    pub(crate) fn plus(&self, since: &HopCounters) -> Delivered {
        self.with(&Delivered { counters: since.delivered, delay_ns: since.delay.sum_ns })
    }

    /// The sum of both deliveries.
    pub(crate) fn with(&self, other: &Delivered) -> Delivered {
        let mut sum = *self;
        sum.counters.merge(&other.counters);
        sum.delay_ns += other.delay_ns;
        sum
    }
}

/// The length of a queue, driver ring included, over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Packets that the discipline marked instead of dropping.
    pub marked: u64,
    /// Number of waiting packets, integrated over time, in packet-nanoseconds.
    pub packet_time: i128,
    /// Largest number of waiting packets.
    pub longest: u64,
}

/// What happened in a queue, discipline and driver ring together. Derived from the counters of the hops whose packets
/// wait in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets offered to the discipline.
    pub offered: PacketCount,
    /// Packets dropped by the discipline.
    pub dropped: PacketCount,
    /// Dropped packets for which the queue still had room.
    pub dropped_early: PacketCount,
    /// Dropped packets that were acknowledgements which later ones made redundant.
    pub filtered_acks: u64,
    /// Dropped packets that found no room in front of the station's processor.
    pub unprocessed: u64,
    /// Packets dequeued by the MAC, or by the link behind the queue.
    pub taken: PacketCount,
    /// Time from the arrival of packets to their dequeue.
    pub waited: Durations,
    /// The length of the queue over time.
    pub occupancy: Occupancy,
}

impl QueueCounters {
    /// Adds the counters of a hop.
    pub(crate) fn add(&mut self, hop: &HopCounters) {
        self.offered.merge(&hop.offered);
        self.dropped.merge(&hop.dropped);
        self.dropped_early.merge(&hop.dropped_early);
        self.filtered_acks += hop.filtered_acks;
        self.unprocessed += hop.unprocessed;
        self.taken.merge(&hop.taken);
        self.waited.merge(&hop.waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::FlowKey;

    #[test]
    fn the_deviation_is_that_of_all_durations() {
        let mut durations = Durations::default();
        assert_eq!(durations.sd_s(), None);
        for ms in [2, 4, 4, 4, 5, 5, 7, 9] {
            durations.add(Span::from_millis(ms));
        }
        assert!((durations.sd_s().unwrap() - 0.002).abs() < 1e-12);
        let mut merged = Durations::default();
        merged.merge(&durations);
        merged.merge(&durations);
        assert_eq!(merged.sd_s(), durations.sd_s());
    }

    #[test]
    fn packets_alike_count_as_one_by_one() {
        let created = Time::ZERO + Span::from_millis(5);
        let packet = Packet { ecn: Ecn::Ce, ..Packet::new(1, FlowKey(0), 1500, created) };
        let rate = DataRate::from_bps(54_000_000).unwrap();
        let (mut together, mut apart) = (HopCounters::default(), HopCounters::default());
        for (ms, number) in [(30, 1), (41, 5), (41, 2), (39, 43)] {
            let now = created + Span::from_millis(ms);
            together.on_delivered_alike(&packet, number, now);
            together.on_finished(number, rate, Span::from_micros(7 * number as i64));
            for _ in 0..number {
                apart.on_delivered(&packet, now);
                apart.on_finished(1, rate, Span::from_micros(7));
            }
        }
        assert_eq!(together, apart);
    }

    /// Packets sent every 20 ms and received at 50, 72, 88, 120 and 131 ms: J as RFC 3550 computes J.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut jitter = Jitter::default();
        let mut after = Vec::new();
        for (n, received_ms) in [50, 72, 88, 120, 131].into_iter().enumerate() {
            jitter.add_alike(Span::from_millis(received_ms - 20 * n as i64), 1);
            after.push(jitter.last_s() * 1e3);
        }
        // |D| is 2, 4, 12 and 9 ms.
        let exact = [0.0, 0.125, 0.367_187_5, 1.094_238_281_25, 1.588_348_388_671_875];
        for (got, exact) in after.iter().zip(exact) {
            // At each packet half of a 16th of a nanosecond is rounded.
            assert!((got - exact).abs() < 1e-6, "{after:?}");
        }
        let mean = jitter.mean_s().unwrap() * 1e3;
        assert!((mean - exact[1..].iter().sum::<f64>() / 4.0).abs() < 1e-6, "{mean}");
        let again = jitter.restarted();
        assert_eq!((again.mean_s(), again.last_s()), (None, jitter.last_s()));
    }
}
