//! CoDel (RFC 8289): drops or marks packets at the head once the queue's delay has stayed above a target for a whole
//! interval, and then at a rising rate until the delay is below the target.

use crate::Behaviour;
use crate::discipline::{Around, Facts, LEAST_INTERVAL, Parameters, Place};
use crate::fifo::{Fifo, has_room};
use airqueue_core::keys::check::{any, least, plain, some};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DropReason, Drops, Limit, LinkFeedback, Packet, QueueDisc, Span, Time,
    take,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of CoDel, named as in `tc qdisc add ... codel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParams {
    /// The acceptable standing delay (RFC 8289, section 4.3).
    pub target: Span,
    /// How long the delay must stay above the target; about the longest round-trip time of the flows (section 4.3).
    pub interval: Span,
    /// A backlog of at most this many bytes, link layer included, is never too long: it may be the one packet that the
    /// link waits for (section 5.6).
    pub mtu: u32,
    /// Marks packets that are ECN-capable instead of dropping them.
    pub ecn: bool,
    /// Also marks every ECN-capable packet that has waited longer than this: a Linux addition, for
    /// transports that count marks (DCTCP).
    pub ce_threshold: Option<Span>,
    /// How 1/√count is computed. The RFC's behaviour computes the exact value. Linux's makes one step of Newton's
    /// method from the previous value, in 16 bits: the second drop of a cycle comes 0.5 intervals after the first, not
    /// 0.71, and the third 0.56 after the second, not 0.58.
    pub behaviour: Behaviour,
}

impl Default for CodelParams {
    /// 5 ms, 100 ms, an Ethernet frame of 1514 bytes and no ECN: the defaults of the RFC and of tc.
    fn default() -> CodelParams {
        CodelParams {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            mtu: 1514,
            ecn: false,
            ce_threshold: None,
            behaviour: Behaviour::Rfc,
        }
    }
}

impl CodelParams {
    /// The parameters for slow stations, of Linux 4.12 to 6.15 (`sta_update_codel_params`).
    pub(crate) fn for_slow_stations(self) -> CodelParams {
        let (target, interval) = (Span::from_millis(50), Span::from_millis(300));
        CodelParams { target, interval, ecn: false, ..self }
    }
}

/// CoDel, with the parameters of `tc qdisc add ... codel`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodelTable {
    /// The acceptable standing delay. The default is `5 ms`.
    pub target: Option<Quantity<Duration>>,
    /// Time for which the delay must have been above the target. The default is `100 ms`.
    pub interval: Option<Quantity<Duration>>,
    /// A backlog of up to this many bytes is never too long. The default is `1514 B`.
    pub mtu: Option<Quantity<Size>>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is false.
    pub ecn: Option<bool>,
    /// Also marks every ECN-capable packet that has waited longer than this. The default is never.
    pub ce_threshold: Option<Quantity<Duration>>,
    /// How the rate of drops is computed: as in the RFC or as in Linux. The default is rfc.
    pub behaviour: Option<Behaviour>,
}

impl Parameters for CodelParams {
    type Table = CodelTable;
    const NAME: &'static str = "CoDel";
    const ABOUT: &'static str =
        "CoDel (RFC 8289): drops at the head while the delay stays above a target.";

    fn check(tables: &Layers<'_, CodelTable>, _: &Around) -> Result<CodelParams> {
        let mut params = CodelParams::default();
        take!(params.target, tables.target, plain);
        take!(params.interval, tables.interval, least(LEAST_INTERVAL, "1 ms"));
        take!(params.mtu, tables.mtu, plain);
        take!(params.ecn, tables.ecn, any);
        take!(params.ce_threshold, tables.ce_threshold, some);
        take!(params.behaviour, tables.behaviour, any);
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts { drops_waiting: true, ..Facts::default() }
    }

    fn make(&self, place: Place) -> BoxedQueue {
        Box::new(Codel::new(*self, place.limit).with_link_layer(place.link_layer))
    }
}

/// The state of one queue under CoDel, and its control law (RFC 8289, sections 5.3 to 5.6). The caller stores the
/// packets.
///
/// The RFC leaves marking open; this code follows Linux's `codel_impl.h`: the marked packet leaves, and counts as the
/// drop that the mark replaces. Where the RFC and Linux differ otherwise, this code follows the RFC:
///
/// * Linux approximates 1/√count, as [`Behaviour::Linux`] does. [`Behaviour::Rfc`] takes a square root, which IEEE 754
///   rounds correctly on every machine.
/// * `first_above` ends inclusively here and exclusively in Linux, where time has units of 1.024 µs.
///
/// On a return to dropping within 16 intervals, both continue with the number of drops of the previous cycle (`count` -
/// `last_count`), which corrects the published article; both compare the backlog with one MTU (older kernels: with the
/// largest packet so far).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    /// When the delay will have been above the target for an interval; `None`: the delay is below the target.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    /// About 2¹⁶/√count, for [`Behaviour::Linux`].
    inverse_root: u16,
    dropping: bool,
}

/// The packet at the head of the queue, and whether it may be dropped.
struct Head {
    packet: Option<Packet>,
    ok_to_drop: bool,
}

impl Control {
    /// The packet to send now. `take` takes the oldest packet out of the queue and returns the packet with the backlog
    /// in bytes that remains. (RFC 8289, section 5.5, `dequeue`.)
    pub(crate) fn dequeue(
        &mut self,
        params: &CodelParams,
        now: Time,
        mut take: impl FnMut() -> Option<(Packet, u64)>,
        drops: &mut Drops,
    ) -> Option<Packet> {
        let mut head = self.head(params, now, &mut take);
        if self.dropping {
            self.dropping = head.ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                self.improve_root();
                let marked = self.slow_down(params, now, &mut head, &mut take, drops);
                self.dropping = head.ok_to_drop;
                if self.dropping {
                    self.drop_next = self.next_drop(self.drop_next, params);
                }
                if marked {
                    break;
                }
            }
        } else if head.ok_to_drop {
            self.slow_down(params, now, &mut head, &mut take, drops);
            self.dropping = true;
            self.start_cycle(params, now);
        }
        if let (Some(packet), Some(threshold)) = (&mut head.packet, params.ce_threshold)
            && now - packet.enqueued > threshold
        {
            drops.mark(packet);
        }
        head.packet
    }

    /// Makes the signal stronger: `packets` were dropped for other reasons.
    pub(crate) fn add_drops(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Takes a packet out and checks its delay (section 5.6, `dodequeue`).
    fn head(
        &mut self,
        params: &CodelParams,
        now: Time,
        take: &mut impl FnMut() -> Option<(Packet, u64)>,
    ) -> Head {
        let Some((packet, backlog)) = take() else {
            self.first_above = None;
            return Head { packet: None, ok_to_drop: false };
        };
        let mut ok_to_drop = false;
        if now - packet.enqueued < params.target || backlog <= u64::from(params.mtu) {
            self.first_above = None;
        } else if let Some(first_above) = self.first_above {
            ok_to_drop = now >= first_above;
        } else {
            self.first_above = Some(now.saturating_add(params.interval));
        }
        Head { packet: Some(packet), ok_to_drop }
    }

    /// Marks the packet at the head, or drops it and takes the next packet. Returns whether a packet was marked.
    fn slow_down(
        &mut self,
        params: &CodelParams,
        now: Time,
        head: &mut Head,
        take: &mut impl FnMut() -> Option<(Packet, u64)>,
        drops: &mut Drops,
    ) -> bool {
        if let Some(packet) = &mut head.packet {
            if params.ecn && drops.mark(packet) {
                return true;
            }
            drops.push(*packet, DropReason::Aqm);
        }
        *head = self.head(params, now, take);
        false
    }

    /// Begins a drop cycle. If the last cycle ended recently, the new cycle starts near the last cycle's rate (section
    /// 5.5).
    fn start_cycle(&mut self, params: &CodelParams, now: Time) {
        let drops = self.count.saturating_sub(self.last_count);
        let since = (now - self.drop_next).as_nanos();
        let recent = since < params.interval.as_nanos().saturating_mul(16);
        if drops > 1 && recent {
            self.count = drops;
            self.improve_root();
        } else {
            self.count = 1;
            self.inverse_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.next_drop(now, params);
    }

    /// A step of Newton's method, r ← r (3 - count r²) / 2, rounded and wrapped as Linux's `codel_Newton_step` does:
    /// after many drops at once, neither converges.
    fn improve_root(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let factor = (3u64 << 32).wrapping_sub(u64::from(self.count) * square);
        self.inverse_root = ((factor >> 2).wrapping_mul(root) >> (31 + 16)) as u16;
    }

    /// The control law (section 5.4): `from` plus an interval over √count.
    fn next_drop(&self, from: Time, params: &CodelParams) -> Time {
        let interval = params.interval.as_nanos();
        let wait = match params.behaviour {
            Behaviour::Rfc => {
                (interval as f64 / f64::from(self.count.max(1)).sqrt()).round() as i64
            }
            Behaviour::Linux => {
                ((i128::from(interval) * i128::from(self.inverse_root)) >> 16) as i64
            }
        };
        from.saturating_add(Span::from_nanos(wait))
    }
}

/// One queue under CoDel, with a hard limit that drops arrivals. (tc: `codel`.)
#[derive(Clone, Debug)]
pub struct Codel {
    params: CodelParams,
    limit: Limit,
    waiting: Fifo,
    control: Control,
    /// The packet that `peek` has decided on.
    decided: Option<Packet>,
}

impl Codel {
    /// An empty queue that counts IP bytes.
    pub fn new(params: CodelParams, limit: Limit) -> Codel {
        let (waiting, control) = (Fifo::default(), Control::default());
        Codel { params, limit, waiting, control, decided: None }
    }

    /// The queue counts `bytes` on top of each IP packet. Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> Codel {
        self.waiting.set_link_layer(bytes);
        self
    }

    fn decide(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        let take = || Some((self.waiting.pop()?, self.waiting.bytes()));
        self.control.dequeue(&self.params, now, take, drops)
    }
}

impl QueueDisc for Codel {
    fn enqueue(&mut self, packet: Packet, now: Time, drops: &mut Drops) {
        let cost = self.waiting.cost(&packet);
        if has_room(self.limit, self.len_packets(), self.len_bytes(), cost) {
            self.waiting.push(packet, now);
        } else {
            drops.push(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops) -> Option<Packet> {
        self.decided.take().or_else(|| self.decide(now, drops))
    }

    fn peek(&mut self, now: Time, drops: &mut Drops) -> Option<&Packet> {
        self.decided = self.dequeue(now, drops);
        self.decided.as_ref()
    }

    fn len_packets(&self) -> usize {
        self.waiting.len() + usize::from(self.decided.is_some())
    }

    fn len_bytes(&self) -> u64 {
        self.waiting.bytes() + self.decided.as_ref().map_or(0, |packet| self.waiting.cost(packet))
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }
}

impl ByNeighbour for Codel {}

impl LinkFeedback for Codel {}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{Ecn, FlowKey};
    use proptest::prelude::*;

    const LIMIT: Limit = Limit::Packets(10_000);

    fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn filled(queue: &mut Codel, packets: u64, size: u32, ecn: Ecn, now: Time) {
        let mut drops = Drops::new();
        for id in 0..packets {
            queue.enqueue(
                Packet { ecn, ..Packet::new(id, FlowKey(0), size, now) },
                now,
                &mut drops,
            );
        }
        assert!(drops.as_slice().is_empty());
    }

    /// Dequeues a packet each millisecond; returns the milliseconds in which packets were dropped, and marked.
    fn signals(queue: &mut Codel, from: i64, to: i64) -> (Vec<i64>, Vec<i64>) {
        let (mut dropped, mut marked) = (Vec::new(), Vec::new());
        let mut drops = Drops::new();
        for t in from..=to {
            let before = drops.marks();
            queue.dequeue(ms(t), &mut drops);
            dropped.extend(drops.drain().map(|_| t));
            marked.extend((before..drops.marks()).map(|_| t));
        }
        (dropped, marked)
    }

    /// Above the target from 5 ms on, for an interval at 105 ms. Then the control law, by hand, in ms: 105,
    /// then 105 + 100/√1 = 205, + 100/√2 = 275.71, + 100/√3 = 333.45, + 100/√4 = 383.45, + 100/√5 = 428.17,
    /// then + 100/√6 = 468.99 and so on; each drop comes at the next millisecond.
    const SCHEDULE: [i64; 9] = [105, 205, 276, 334, 384, 429, 469, 507, 543];

    #[test]
    fn drops_follow_the_control_law() {
        let mut q = Codel::new(CodelParams::default(), LIMIT);
        filled(&mut q, 2000, 1000, Ecn::NotEct, Time::ZERO);
        assert_eq!(signals(&mut q, 1, 560), (SCHEDULE.to_vec(), vec![]));
    }

    /// Newton's steps r (3 - n r²) / 2 from r = 1, by hand: 1/2, 0.5625, 0.4878, 0.4416, 0.4041. Drops after 205 ms are
    /// therefore at 255, 311.25, 360.02, 404.2 and 444.6 ms.
    #[test]
    fn linux_approximates_the_control_law() {
        let params = CodelParams { behaviour: Behaviour::Linux, ..CodelParams::default() };
        let mut q = Codel::new(params, LIMIT);
        filled(&mut q, 2000, 1000, Ecn::NotEct, Time::ZERO);
        assert_eq!(signals(&mut q, 1, 450).0, [105, 205, 255, 312, 361, 405, 445]);
        // One step leaves 3/2 e² of a relative error e, which starts as 1/(2 n); 16 bits leave an error of some units.
        let mut control = Control { count: 1, inverse_root: u16::MAX, ..Control::default() };
        for count in 2..=10_000u32 {
            control.count = count;
            control.improve_root();
            let exact = 65_536.0 / f64::from(count).sqrt();
            let error = (f64::from(control.inverse_root) - exact).abs();
            assert!(count < 10 || error < 3.0 + exact / f64::from(count * count), "{count}");
        }
    }

    #[test]
    fn marks_follow_the_same_law_and_lose_nothing() {
        let params = CodelParams { ecn: true, ..CodelParams::default() };
        let mut q = Codel::new(params, LIMIT);
        filled(&mut q, 2000, 1000, Ecn::Ect, Time::ZERO);
        assert_eq!(signals(&mut q, 1, 560), (vec![], SCHEDULE.to_vec()));
        assert_eq!(q.len_packets(), 2000 - 560);
        let mut q = Codel::new(params, LIMIT);
        filled(&mut q, 2000, 1000, Ecn::NotEct, Time::ZERO);
        assert_eq!(signals(&mut q, 1, 560), (SCHEDULE.to_vec(), vec![]));
    }

    /// Dropping ends when the delay is below the target, and resumes near the last rate soon after: 9 drops in the
    /// first cycle, so that the second cycle starts with a count of 8.
    #[test]
    fn a_new_cycle_begins_with_the_rate_of_the_last() {
        let mut q = Codel::new(CodelParams::default(), LIMIT);
        filled(&mut q, 2000, 1000, Ecn::NotEct, Time::ZERO);
        signals(&mut q, 1, 560);
        let mut drops = Drops::new();
        while q.dequeue(ms(560), &mut drops).is_some() {}
        assert!(drops.as_slice().is_empty(), "the next drop is at 576 ms");
        filled(&mut q, 2000, 1000, Ecn::NotEct, ms(600));
        // 605 ms: above. 705 ms: drop, then 100/√8 = 35.36 and 100/√9 = 33.33 ms later.
        assert_eq!(signals(&mut q, 601, 780).0, [705, 741, 774]);
        // More than 16 intervals later the last cycle is forgotten.
        while q.dequeue(ms(780), &mut drops).is_some() {}
        filled(&mut q, 2000, 1000, Ecn::NotEct, ms(3000));
        assert_eq!(signals(&mut q, 3001, 3210).0, [3105, 3205]);
    }

    /// Every packet waits 50 ms, ten times the target; but at most one packet waits behind it.
    #[test]
    fn a_backlog_of_one_packet_is_never_too_long() {
        let drops_with = |size| {
            let mut q = Codel::new(CodelParams::default(), LIMIT);
            let mut drops = Drops::new();
            for t in (0..10_000).step_by(50) {
                filled(&mut q, 1, size, Ecn::NotEct, ms(t));
                if q.len_packets() > 1 {
                    q.dequeue(ms(t), &mut drops);
                }
            }
            drops.as_slice().len()
        };
        assert_eq!(drops_with(1514), 0);
        assert!(drops_with(1515) > 0);
    }

    #[test]
    fn the_threshold_marks_whatever_waited_longer() {
        let ce_threshold = Some(Span::from_millis(1));
        let mut q = Codel::new(CodelParams { ce_threshold, ..CodelParams::default() }, LIMIT);
        filled(&mut q, 4, 1000, Ecn::Ect, Time::ZERO);
        assert_eq!(signals(&mut q, 0, 3), (vec![], vec![2, 3]));
    }

    #[test]
    fn a_peeked_packet_counts_until_it_leaves() {
        let mut q = Codel::new(CodelParams::default(), Limit::Packets(2)).with_link_layer(14);
        filled(&mut q, 2, 1000, Ecn::NotEct, Time::ZERO);
        let mut drops = Drops::new();
        q.peek(ms(1), &mut drops);
        assert_eq!((q.len_packets(), q.len_bytes()), (2, 2028));
        q.enqueue(Packet::new(2, FlowKey(0), 1, ms(1)), ms(1), &mut drops);
        assert_eq!(drops.as_slice()[0].reason, DropReason::Tail);
    }

    proptest! {
        /// The control law in whole numbers: wait² · count equals interval², to within rounding.
        #[test]
        fn the_law_is_the_inverse_square_root(interval in 1i64..2_000_000_000, count in 1u32..) {
            let params = CodelParams { interval: Span::from_nanos(interval), ..Default::default() };
            let control = Control { count, ..Control::default() };
            let wait = i128::from(control.next_drop(Time::ZERO, &params).as_nanos());
            let (square, count) = (i128::from(interval) * i128::from(interval), i128::from(count));
            // wait is exact to half a nanosecond: (2 wait - 1)² count <= 4 interval² <= (2 wait + 1)² count.
            prop_assert!(wait == 0 || (2 * wait - 1).pow(2) * count <= 4 * square);
            prop_assert!(4 * square <= (2 * wait + 1).pow(2) * count);
        }
    }
}
