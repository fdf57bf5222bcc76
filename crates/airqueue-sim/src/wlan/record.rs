//! What a network counts while it runs. Counting begins anew at the end of the warm-up.

use super::histogram::Histogram;
use airqueue_core::{DataRate, Ecn, Packet, Span, Time};
use airqueue_qdisc::Tally;
use airqueue_wifi::mac::{Frame, FrameKind};
use airqueue_wifi::medium::Outcome;

/// A number of lengths of time, their sum and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub sum_ns: i128,
    /// The greatest.
    pub greatest: Span,
}

impl Durations {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.count += 1;
        self.sum_ns += i128::from(span.as_nanos());
        self.greatest = self.greatest.max(span);
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Durations) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Their mean in seconds, if there is one.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 * 1e-9 / self.count as f64)
    }
}

/// How much delays vary: the interarrival jitter of RFC 3550, section 6.4.1, in the whole numbers of its appendix A.8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jitter {
    /// Delay of the packet before, whenever counting began.
    before: Option<Span>,
    /// J, in 16ths of a nanosecond.
    now: i64,
    /// The sum of all values of J, and how many there were.
    sum: i128,
    count: u64,
}

impl Jitter {
    /// A packet has arrived that was so long on its way: `J += (|D| - J)/16`.
    #[inline]
    fn add(&mut self, delay: Span) {
        if let Some(before) = self.before {
            let change = (delay - before).as_nanos().abs();
            self.now += change - ((self.now + 8) >> 4);
            self.sum += i128::from(self.now);
            self.count += 1;
        }
        self.before = Some(delay);
    }

    /// Counting begins anew, and J goes on.
    fn restarted(self) -> Jitter {
        Jitter { sum: 0, count: 0, ..self }
    }

    /// Adds the values of other packets, whose delays these do not follow on.
    fn merge(&mut self, other: &Jitter) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The mean of J over all packets but the very first, in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 * 1e-9 / 16.0 / self.count as f64)
    }

    /// J after the last packet, in seconds.
    #[cfg(test)]
    fn last_s(&self) -> f64 {
        self.now as f64 * 1e-9 / 16.0
    }
}

/// Rates of data frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataRates {
    /// How many.
    pub count: u64,
    /// Their sum in bits per second.
    pub sum_bps: u128,
}

impl DataRates {
    #[inline]
    pub(super) fn add(&mut self, rate: DataRate) {
        self.count += 1;
        self.sum_bps += u128::from(rate.as_bps());
    }

    /// Adds those of others.
    pub(crate) fn merge(&mut self, other: &DataRates) {
        self.count += other.count;
        self.sum_bps += other.sum_bps;
    }

    /// Their mean in bits per second, if there is one.
    pub fn mean_bps(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_bps as f64 / self.count as f64)
    }
}

/// What became of a flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowTally {
    /// Made by the source.
    pub offered: Tally,
    /// Dropped by a queue.
    pub dropped: Tally,
    /// Given up by the MAC.
    pub given_up: Tally,
    /// Decoded by the destination, each once.
    pub delivered: Tally,
    /// Of these the ones with a mark of congestion.
    pub marked: u64,
    /// At which rates the packets were sent last that the MAC is done with.
    pub rates: DataRates,
    /// From the source to the destination, of those delivered.
    pub delay: Durations,
    /// The same, for quantiles.
    pub delays: Histogram,
    /// How much it varies from packet to packet.
    pub jitter: Jitter,
}

/// What happened in a queue: discipline and ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTally {
    /// Offered to the discipline.
    pub offered: Tally,
    /// Dropped by it.
    pub dropped: Tally,
    /// Of these the ones that it would have had room for: active queue management slows senders down.
    pub dropped_early: Tally,
    /// Packets that it marked and did not drop for that reason.
    pub marked: u64,
    /// Taken by the MAC.
    pub taken: Tally,
    /// From their arrival to the MAC, of those taken.
    pub waited: Durations,
    /// Packets waiting, summed over time in nanoseconds.
    pub packet_time: i128,
    /// The most packets that waited.
    pub longest: u64,
}

/// Frames and their time on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirTally {
    /// Frames.
    pub frames: u64,
    /// Their time on the air.
    pub time: Span,
}

/// What a station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationTally {
    /// RTS, CTS, data, ACK, CF-End, block ack and requests for one that it sent, in this order.
    pub sent: [AirTally; 7],
    /// Of its data frames those that their receiver did not decode.
    pub data_lost: AirTally,
    /// Of the first frames of its exchanges (RTS, or data without RTS) those that were destroyed where they
    /// were to be received: by others, or because the receiver was busy with another or transmitted.
    pub collided: u64,
    /// The same, lost to noise.
    pub bit_errors: u64,
}

impl FlowTally {
    #[inline]
    pub(crate) fn on_delivery(&mut self, packet: &Packet, now: Time) {
        let delay = now - packet.created;
        self.delivered.add(packet);
        self.marked += u64::from(packet.ecn == Ecn::Ce);
        self.delay.add(delay);
        self.delays.add(delay);
        self.jitter.add(delay);
    }

    /// Adds what became of the packets that went another way.
    pub(crate) fn merge(&mut self, other: &FlowTally) {
        self.offered.merge(&other.offered);
        self.dropped.merge(&other.dropped);
        self.given_up.merge(&other.given_up);
        self.delivered.merge(&other.delivered);
        self.marked += other.marked;
        self.rates.merge(&other.rates);
        self.delay.merge(&other.delay);
        self.delays.merge(&other.delays);
        self.jitter.merge(&other.jitter);
    }

    pub(crate) fn clear(&mut self) {
        let mut delays = std::mem::take(&mut self.delays);
        delays.clear();
        let jitter = self.jitter.restarted();
        *self = FlowTally { delays, jitter, ..FlowTally::default() };
    }
}

fn place(kind: FrameKind) -> usize {
    match kind {
        FrameKind::Rts => 0,
        FrameKind::Cts => 1,
        FrameKind::Data => 2,
        FrameKind::Ack => 3,
        FrameKind::CfEnd => 4,
        FrameKind::BlockAck => 5,
        FrameKind::BlockAckRequest => 6,
    }
}

impl AirTally {
    #[inline]
    fn add(&mut self, time: Span) {
        self.frames += 1;
        self.time = self.time + time;
    }
}

impl StationTally {
    /// A frame has been sent.
    #[inline]
    pub(super) fn on_sent(&mut self, kind: FrameKind, time: Span) {
        self.sent[place(kind)].add(time);
    }

    /// What became of one of its frames at its receiver; `lost`: it was not decoded.
    #[inline]
    pub(super) fn on_outcome(&mut self, frame: &Frame, outcome: Outcome, lost: bool, time: Span) {
        if !lost {
            return;
        }
        if frame.kind == FrameKind::Data {
            self.data_lost.add(time);
        }
        if frame.opens {
            self.collided += u64::from(!outcome.decoded());
            self.bit_errors += u64::from(outcome.decoded());
        }
    }

    /// Frames of a kind.
    pub fn sent_of(&self, kind: FrameKind) -> AirTally {
        self.sent[place(kind)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets sent every 20 ms and received at 50, 72, 88, 120 and 131 ms: J as RFC 3550 computes it.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut jitter = Jitter::default();
        let mut after = Vec::new();
        for (n, received_ms) in [50, 72, 88, 120, 131].into_iter().enumerate() {
            jitter.add(Span::from_millis(received_ms - 20 * n as i64));
            after.push(jitter.last_s() * 1e3);
        }
        // |D| is 2, 4, 12 and 9 ms.
        let exact = [0.0, 0.125, 0.367_187_5, 1.094_238_281_25, 1.588_348_388_671_875];
        for (got, exact) in after.iter().zip(exact) {
            // Half of a 16th of a nanosecond is rounded at each packet.
            assert!((got - exact).abs() < 1e-6, "{after:?}");
        }
        let mean = jitter.mean_s().unwrap() * 1e3;
        assert!((mean - exact[1..].iter().sum::<f64>() / 4.0).abs() < 1e-6, "{mean}");
        let again = jitter.restarted();
        assert_eq!((again.mean_s(), again.last_s()), (None, jitter.last_s()));
    }
}
