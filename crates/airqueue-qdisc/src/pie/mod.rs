//! PIE (RFC 8033): drops or marks arrivals with a probability that a controller adjusts so that the delay of the queue
//! stays at a target.

mod controller;

use crate::Behaviour;
use crate::discipline::{Around, Facts, LEAST_INTERVAL, Parameters, Place};
use crate::fifo::{Fifo, has_room};
use airqueue_core::keys::check::{any, least, plain, within};
use airqueue_core::keys::{Layers, Result};
use airqueue_core::quantity::{Duration, Quantity, Size};
use airqueue_core::{
    BoxedQueue, ByNeighbour, DropReason, Drops, Limit, LinkFeedback, Packet, QueueDisc,
    RandomStream, Span, Time, take,
};
use controller::Controller;
use schemars::JsonSchema;
use serde::Deserialize;

/// The parameters of PIE. tc has the same names; its `alpha` and `beta` are 16 times these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParams {
    /// The target delay, QDELAY_REF.
    pub target: Span,
    /// The interval between updates of the probability, T_UPDATE; less than a microsecond counts as a microsecond.
    pub update: Span,
    /// Per second, how much the difference from the target changes the probability.
    pub alpha: f64,
    /// Per second, how much a change of the delay changes the probability.
    pub beta: f64,
    /// How long a burst passes after a time without congestion, MAX_BURST.
    pub max_burst: Span,
    /// Marks packets that are ECN-capable instead of dropping them, up to a probability of `mark_up_to`.
    pub ecn: bool,
    /// The probability above which ECN-capable packets are dropped too (section 5.1: `mark_ecnth`).
    pub mark_up_to: f64,
    /// The probability is proportional to a packet's size, and is the controller's for `mean_packet` (tc: `bytemode`).
    pub by_size: bool,
    /// Bytes of a packet of mean size, MEAN_PKTSIZE. Nothing is dropped while at most two such packets wait. (Linux:
    /// the MTU of the device, and less than two.)
    pub mean_packet: u32,
    /// Spreads the drops evenly (section 5.4). Linux always does so.
    pub derandomize: bool,
    /// Whether PIE follows the RFC or Linux where they differ; [`Pie`] lists the differences.
    pub behaviour: Behaviour,
}

impl Default for PieParams {
    /// 15 ms, every 15 ms, 0.125 and 1.25, 150 ms, no ECN (if used up to 10 %), 1024 bytes, drops spread
    /// evenly: the defaults of the RFC and of tc.
    fn default() -> PieParams {
        PieParams {
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_millis(150),
            ecn: false,
            mark_up_to: 0.1,
            by_size: false,
            mean_packet: 1024,
            derandomize: true,
            behaviour: Behaviour::Rfc,
        }
    }
}

/// PIE.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PieTable {
    /// The target delay. The default is `15 ms`.
    pub target: Option<Quantity<Duration>>,
    /// Interval between updates of the probability. The default is `15 ms`.
    pub update: Option<Quantity<Duration>>,
    /// Change of the probability per second of difference from the target. The default is 0.125.
    #[schemars(range(min = 0, max = 1000))]
    pub alpha: Option<f64>,
    /// Change of the probability per second of change of the delay. The default is 1.25.
    #[schemars(range(min = 0, max = 1000))]
    pub beta: Option<f64>,
    /// Burst allowance: how long a burst passes without drops. The default is `150 ms`.
    pub max_burst: Option<Quantity<Duration>>,
    /// Whether ECN-capable packets are marked instead of dropped. The default is false.
    pub ecn: Option<bool>,
    /// The probability above which ECN-capable packets are dropped too. The default is 0.1.
    #[schemars(range(min = 0, max = 1))]
    pub mark_up_to: Option<f64>,
    /// Whether the probability is proportional to a packet's size. The default is false.
    pub by_size: Option<bool>,
    /// The mean size of packets; a backlog of two such packets is never too long. The default is `1024 B`.
    pub mean_packet: Option<Quantity<Size>>,
    /// Whether drops are spread evenly. The default is true.
    pub derandomize: Option<bool>,
    /// The behaviour where the RFC and Linux differ. The default is rfc.
    pub behaviour: Option<Behaviour>,
}

impl Parameters for PieParams {
    type Table = PieTable;
    const NAME: &'static str = "PIE";
    const ABOUT: &'static str =
        "PIE (RFC 8033): drops arrivals so that the delay stays at a target.";

    fn check(tables: &Layers<'_, PieTable>, _: &Around) -> Result<PieParams> {
        let mut params = PieParams::default();
        take!(params.target, tables.target, plain);
        take!(params.update, tables.update, least(LEAST_INTERVAL, "1 ms"));
        take!(params.alpha, tables.alpha, within(0.0..=1000.0));
        take!(params.beta, tables.beta, within(0.0..=1000.0));
        take!(params.max_burst, tables.max_burst, plain);
        take!(params.ecn, tables.ecn, any);
        take!(params.mark_up_to, tables.mark_up_to, within(0.0..=1.0));
        take!(params.by_size, tables.by_size, any);
        take!(params.mean_packet, tables.mean_packet, least(1, "1 B"));
        take!(params.derandomize, tables.derandomize, any);
        take!(params.behaviour, tables.behaviour, any);
        Ok(params)
    }

    fn facts(&self) -> Facts {
        Facts::default()
    }

    fn make(&self, place: Place) -> BoxedQueue {
        Box::new(Pie::new(*self, place.limit, place.rng).with_link_layer(place.link_layer))
    }
}

/// A queue under PIE with a hard limit. (tc: `pie`.)
///
/// The delay follows from the time stamp of the packet that left last (RFC 8033, section 4.3, the second method, and
/// Linux's default), not from an estimate of the departure rate: on a link whose rate changes from packet to packet the
/// time stamp is right and the estimate is late. PIE needs no timer, since the delay changes only when a packet leaves:
/// the next call makes the updates that are due.
///
/// For the controller, a packet leaves at `peek`, as in Linux: the delay is measured before a shaper lets the packet
/// go.
///
/// As in Linux, section 5.3, which switches PIE off on an idle queue, is left out, and the probability grows by another
/// 2 % per update while the delay exceeds 250 ms. Where Linux (`sch_pie.c`) departs from the RFC,
/// [`PieParams::behaviour`] decides:
///
/// * The burst allowance: in the RFC each update subtracts an interval, and an arrival without congestion restores the
///   allowance. In Linux each departure subtracts the time since the previous departure, and an update restores the
///   allowance.
/// * The delay below which arrivals are not dropped: the delay of the last update, or in Linux of the last departure.
/// * The decay while there is no delay: by 2 %, or in Linux by 1/64, but not while packets wait.
/// * The backlog below which arrivals are not dropped: at most two packets, or in Linux less than two.
///
/// Linux counts its update interval in ticks of the kernel and adds one: the default of 15 ms is 30 ms at 100
/// ticks a second, 20 ms at 250 and 16 ms at 1000.
#[derive(Clone, Debug)]
pub struct Pie {
    params: PieParams,
    limit: Limit,
    waiting: Fifo,
    rng: RandomStream,
    controller: Controller,
    /// The sum of the probabilities of the packets accepted since the last drop or mark.
    accumulated: f64,
    /// When the controller's next update is due; `None`: no packet has come yet.
    next_update: Option<Time>,
    /// The packet that `peek` has decided on.
    decided: Option<Packet>,
}

impl Pie {
    /// An empty queue that counts IP bytes. `rng` gives the random numbers.
    pub fn new(params: PieParams, limit: Limit, rng: RandomStream) -> Pie {
        let params = PieParams { update: params.update.max(Span::from_micros(1)), ..params };
        let controller = Controller::new(params.max_burst);
        Pie {
            params,
            limit,
            waiting: Fifo::default(),
            rng,
            controller,
            accumulated: 0.0,
            next_update: None,
            decided: None,
        }
    }

    /// The queue counts `bytes` on top of each IP packet. Only for an empty queue.
    pub fn with_link_layer(mut self, bytes: u32) -> Pie {
        self.waiting.set_link_layer(bytes);
        self
    }

    /// The probability with which arrivals are dropped or marked.
    pub fn probability(&self) -> f64 {
        self.controller.probability
    }

    /// Makes the updates that are due.
    fn catch_up(&mut self, now: Time) {
        let every = self.params.update;
        let next = *self.next_update.get_or_insert_with(|| now.saturating_add(every));
        if now < next {
            return;
        }
        let due = (now - next).as_nanos() / every.as_nanos() + 1;
        let waiting = self.waiting.len() > 0 || self.decided.is_some();
        self.controller.update_times(due, &self.params, waiting);
        let passed = Span::from_nanos(due.saturating_mul(every.as_nanos()));
        self.next_update = Some(next.saturating_add(passed));
    }

    /// Takes out the oldest packet, and reports its delay to the controller.
    fn take(&mut self, now: Time) -> Option<Packet> {
        let packet = self.waiting.pop()?;
        let alone = self.waiting.len() == 0;
        let delay = if alone { Span::ZERO } else { now - packet.enqueued };
        self.controller.on_departure(delay, now, &self.params);
        Some(packet)
    }

    /// Whether an arrival is chosen at random to be dropped or marked (section 4.1; 5.4).
    fn is_chosen(&mut self, packet: &Packet) -> bool {
        if self.controller.burst_allowance > Span::ZERO
            || self.controller.spares(self.len_bytes(), &self.params)
        {
            return false;
        }
        let mut p = self.controller.probability;
        if self.params.by_size {
            let mean = f64::from(self.params.mean_packet.max(1));
            p = (p * self.waiting.cost(packet) as f64 / mean).min(1.0);
        }
        if self.params.derandomize {
            self.accumulated = if p > 0.0 { self.accumulated + p } else { 0.0 };
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        self.rng.bernoulli(p)
    }
}

impl QueueDisc for Pie {
    fn enqueue(&mut self, mut packet: Packet, now: Time, drops: &mut Drops) {
        self.catch_up(now);
        let chosen = self.is_chosen(&packet);
        let may_mark = self.params.ecn
            && self.controller.probability <= self.params.mark_up_to
            && packet.ecn.is_capable();
        let cost = self.waiting.cost(&packet);
        let has_room = has_room(self.limit, self.len_packets(), self.len_bytes(), cost);
        if chosen || !has_room {
            self.accumulated = 0.0;
        }
        if chosen && !may_mark {
            drops.push(packet, DropReason::Aqm);
        } else if !has_room {
            drops.push(packet, DropReason::Tail);
        } else {
            if chosen {
                drops.mark(&mut packet);
            }
            self.waiting.push(packet, now);
        }
        // Section 4.4: the next burst may pass.
        if self.params.behaviour == Behaviour::Rfc && self.controller.is_calm(&self.params) {
            self.controller.burst_allowance = self.params.max_burst;
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops) -> Option<Packet> {
        self.catch_up(now);
        self.decided.take().or_else(|| self.take(now))
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

impl ByNeighbour for Pie {}

impl LinkFeedback for Pie {}

#[cfg(test)]
mod tests {
    use super::controller::tests::{controller, ms};
    use super::*;
    use airqueue_core::{Ecn, FlowKey, Seed};

    const TICK: i64 = 15;

    fn pie(params: PieParams) -> Pie {
        Pie::new(params, Limit::Packets(1_000_000), Seed(1).stream("pie"))
    }

    #[test]
    fn nothing_is_dropped_while_the_burst_lasts_or_little_waits() {
        let mut q = pie(PieParams { derandomize: false, ..PieParams::default() });
        q.controller = Controller { probability: 1.0, ..controller(1.0, 100, 100) };
        let mut drops = Drops::new();
        let mut dropped = |q: &mut Pie| {
            q.enqueue(Packet::new(0, FlowKey(0), 1000, ms(1)), ms(1), &mut drops);
            drops.drain().count() == 1
        };
        q.controller.burst_allowance = Span::from_millis(1);
        assert!(!dropped(&mut q), "the burst is let through");
        q.controller.burst_allowance = Span::ZERO;
        assert!(!dropped(&mut q) && !dropped(&mut q), "at most 2048 bytes wait");
        assert!(dropped(&mut q));
        q.controller = controller(0.19, 100, 7);
        assert!((0..100).all(|_| !dropped(&mut q)), "the last delay was below half the target");
        q.controller = controller(0.2, 100, 7);
        assert!((0..100).any(|_| dropped(&mut q)));
    }

    /// At 150 ms, ten updates after the last arrival without congestion, the burst allowance is used up.
    #[test]
    fn the_burst_allowance_runs_out_with_time() {
        let mut q = pie(PieParams::default());
        let mut drops = Drops::new();
        for t in 0..=149 {
            (0..3).for_each(|_| {
                q.enqueue(Packet::new(0, FlowKey(0), 1000, ms(t)), ms(t), &mut drops)
            });
            q.dequeue(ms(t), &mut drops);
        }
        assert!(q.controller.burst_allowance > Span::ZERO && drops.as_slice().is_empty());
        assert!(q.probability() > 0.0);
        for t in 150..=2000 {
            (0..3).for_each(|_| {
                q.enqueue(Packet::new(0, FlowKey(0), 1000, ms(t)), ms(t), &mut drops)
            });
            q.dequeue(ms(t), &mut drops);
        }
        assert_eq!(q.controller.burst_allowance, Span::ZERO);
        assert!(!drops.as_slice().is_empty());
    }

    /// A packet that `peek` has returned has left for the controller, but still counts in the queue.
    #[test]
    fn the_delay_is_judged_when_a_packet_is_first_seen() {
        let mut q = pie(PieParams::default());
        let mut drops = Drops::new();
        (0..2)
            .for_each(|id| q.enqueue(Packet::new(id, FlowKey(0), 1000, ms(0)), ms(0), &mut drops));
        q.peek(ms(5), &mut drops);
        assert_eq!(
            (q.controller.delay, q.len_packets(), q.len_bytes()),
            (Span::from_millis(5), 2, 2000)
        );
        assert_eq!(q.dequeue(ms(9), &mut drops).unwrap().id, 0);
        assert_eq!(q.controller.delay, Span::from_millis(5));
    }

    /// Between 0.85 and 8.5 of the sum of probabilities (section 5.4): with 1/16 at least 14 packets from one drop to
    /// the next, and at most 136.
    #[test]
    fn drops_keep_their_distance() {
        let mut q = pie(PieParams { update: Span::from_secs(1000), ..PieParams::default() });
        q.controller = controller(1.0 / 16.0, 100, 100);
        let mut drops = Drops::new();
        let mut last = None;
        for id in 0..100_000u64 {
            q.enqueue(Packet::new(id, FlowKey(0), 1000, ms(0)), ms(0), &mut drops);
            if drops.drain().count() == 1
                && let Some(last) = last.replace(id)
            {
                assert!((14..=136).contains(&(id - last)), "{}", id - last);
            }
        }
        assert!(last.is_some());
    }

    #[test]
    fn marks_end_at_ten_percent() {
        let run = |probability, ecn| {
            let update = Span::from_secs(1000);
            let mut q = pie(PieParams { ecn: true, update, ..PieParams::default() });
            q.controller = controller(probability, 100, 100);
            let mut drops = Drops::new();
            for id in 0..1000 {
                q.enqueue(
                    Packet { ecn, ..Packet::new(id, FlowKey(0), 1000, ms(0)) },
                    ms(0),
                    &mut drops,
                );
            }
            (drops.marks() > 0, !drops.as_slice().is_empty())
        };
        assert_eq!(run(0.1, Ecn::Ect), (true, false));
        assert_eq!(run(0.11, Ecn::Ect), (false, true));
        assert_eq!(run(0.1, Ecn::NotEct), (false, true));
    }

    /// One update per interval or all updates at once give the same result. An idle time of centuries ends too.
    #[test]
    fn missed_updates_are_made_up_for() {
        let started = || {
            let mut q = pie(PieParams::default());
            q.catch_up(ms(0));
            q.controller = controller(0.3, 40, 30);
            q
        };
        let (mut often, mut once) = (started(), started());
        (1..=50 * TICK).for_each(|t| often.catch_up(ms(t)));
        once.catch_up(ms(50 * TICK));
        assert_eq!(often.controller, once.controller);
        assert_eq!(often.next_update, once.next_update);
        once.catch_up(Time::from_nanos(i64::MAX));
        assert_eq!(once.probability(), 1.0);
        assert_eq!(once.next_update, Some(Time::MAX));
        let mut hasty = pie(PieParams { update: Span::ZERO, ..PieParams::default() });
        hasty.catch_up(ms(0));
        hasty.catch_up(ms(1_000_000));
        once.controller.delay = Span::ZERO;
        once.controller.update_times(10_000, &PieParams::default(), false);
        assert_eq!(once.probability(), 0.0);
    }
}
