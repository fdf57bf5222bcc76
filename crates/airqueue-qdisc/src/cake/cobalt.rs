//! COBALT, the AQM of CAKE: CoDel and BLUE side by side, in the integer arithmetic of Linux's `sch_cake`.

use airqueue_core::{Drops, Packet, RandomStream, Span, Time};

/// By how much an overflow raises BLUE's probability, and an idle queue lowers it, in units of 2⁻³² (`cake_set_rate`).
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// For cycles with fewer signals than this, 1/√count comes from a table (`cobalt_cache_init`).
const CACHED: usize = 16;

/// The parameters of the queues of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CobaltParams {
    pub(super) target: Span,
    pub(super) interval: Span,
    /// How long the largest packet takes at the tin's rate.
    pub(super) mtu_time: Span,
}

/// The state of one queue.
///
/// 1/√count is in units of 2⁻³². The value starts as zero and is first computed when count changes, as in Linux's
/// `cobalt_vars_init`; the first signal of a new queue therefore follows the first late packet at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    inverse_root: u32,
    /// When the next signal is due; with a count of zero, until when the queue has a history.
    next: Time,
    /// When BLUE's probability last changed.
    blue_at: Time,
    blue: u32,
    dropping: bool,
}

/// A step of Newton's method towards 1/√count, from the previous value (`cobalt_newton_step`).
fn newton(inverse_root: u32, count: u32) -> u32 {
    let root = u64::from(inverse_root);
    let square = (root * root) >> 32;
    let factor = (3u64 << 32).wrapping_sub(u64::from(count) * square) >> 2;
    (factor.wrapping_mul(root) >> 31) as u32
}

/// 1/√n for small n: four steps each, from the value for n - 1.
const fn cached() -> [u32; CACHED] {
    let mut cache = [u32::MAX; CACHED];
    let mut count = 1;
    while count < CACHED {
        let mut root = cache[count - 1] as u64;
        let mut step = 0;
        while step < 4 {
            let square = (root * root) >> 32;
            let factor = ((3u64 << 32) - count as u64 * square) >> 2;
            root = ((factor * root) >> 31) & 0xffff_ffff;
            step += 1;
        }
        cache[count] = root as u32;
        count += 1;
    }
    cache
}

static INVERSE_ROOTS: [u32; CACHED] = cached();

impl Cobalt {
    /// Whether an empty queue may be forgotten.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.blue == 0 && self.count == 0 && now >= self.next
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.inverse_root = match INVERSE_ROOTS.get(count as usize) {
            Some(&root) => root,
            None => newton(self.inverse_root, count),
        };
    }

    /// The control law: `from` plus an interval over √count (`cobalt_control`). Linux takes the interval modulo 2³² ns.
    fn after(&self, from: Time, params: &CobaltParams) -> Time {
        let interval = u64::from(params.interval.as_nanos() as u32);
        let wait = (interval * u64::from(self.inverse_root)) >> 32;
        from.saturating_add(Span::from_nanos(wait as i64))
    }

    /// A packet was dropped for lack of room (`cobalt_queue_full`).
    pub(super) fn on_overflow(&mut self, params: &CobaltParams, now: Time) {
        if now - self.blue_at > params.target {
            self.blue = self.blue.saturating_add(BLUE_UP);
            self.blue_at = now;
        }
        self.dropping = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue had its turn without a packet (`cobalt_queue_empty`).
    pub(super) fn on_empty(&mut self, params: &CobaltParams, now: Time) {
        if self.blue > 0 && now - self.blue_at > params.target {
            self.blue = self.blue.saturating_sub(BLUE_DOWN);
            self.blue_at = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.next {
            self.set_count(self.count - 1);
            self.next = self.after(self.next, params);
        }
    }

    /// Whether the packet that would leave is dropped; the packet may be marked instead (`cobalt_should_drop`).
    ///
    /// One timer replaces CoDel's two: the interval is the time from the first late packet to the first signal, and the
    /// unit of the times between signals. While packets are not late the count falls as it rose.
    pub(super) fn drops(
        &mut self,
        params: &CobaltParams,
        now: Time,
        packet: &mut Packet,
        random: &mut RandomStream,
        drops: &mut Drops,
    ) -> bool {
        let sojourn = now - packet.enqueued;
        let four = Span::from_nanos(params.mtu_time.as_nanos().saturating_mul(4));
        let late = sojourn > params.target && sojourn > four;
        let mut since = now - self.next;
        let due = self.count > 0 && since >= Span::ZERO;
        if late {
            if !self.dropping {
                self.next = self.after(now, params);
            }
            self.count = self.count.max(1);
        }
        self.dropping = late;
        let mut dropped = false;
        if due && late {
            dropped = !drops.mark(packet);
            self.set_count(self.count.saturating_add(1));
            self.next = self.after(self.next, params);
            since = now - self.next;
        } else if due {
            while self.count > 0 && since >= Span::ZERO {
                self.set_count(self.count - 1);
                self.next = self.after(self.next, params);
                since = now - self.next;
            }
        }
        // BLUE drops even packets that could be marked: BLUE acts on flows that do not react to marks.
        dropped |= self.blue > 0 && ((random.next_u64() >> 32) as u32) < self.blue;
        if self.count == 0 {
            self.next = now.saturating_add(params.interval);
        } else if since > Span::ZERO && !dropped {
            self.next = now;
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{FlowKey, Seed};

    const PARAMS: CobaltParams = CobaltParams {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        mtu_time: Span::from_nanos(1_211_200),
    };

    fn ms(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Whether a packet that arrived at `came` and would leave at `now` is dropped.
    fn drops(cobalt: &mut Cobalt, came: Time, now: Time) -> bool {
        let mut packet = Packet::new(0, FlowKey(0), 1000, came);
        let mut random = Seed(1).stream("blue");
        cobalt.drops(&PARAMS, now, &mut packet, &mut random, &mut Drops::new())
    }

    /// Accurate to two parts per thousand, both the cached values and the values that follow by one step each.
    #[test]
    fn inverse_roots_are_close() {
        let mut cobalt = Cobalt::default();
        for count in 1..2000u32 {
            cobalt.set_count(count);
            let exact = 4_294_967_296.0 / f64::from(count).sqrt();
            let error = (f64::from(cobalt.inverse_root) - exact) / exact;
            assert!(error.abs() < 2e-3, "{count}: {error}");
        }
        assert_eq!(INVERSE_ROOTS[0], u32::MAX);
        // By hand: from 1, r (3 - 2 r²) / 2 gives 1/2, 0.625, 0.693359 and 0.706708; from there, with 3, 0.530629, 0.571832,
        // 0.577271 and 0.577350.
        let near = |count: usize, root: f64| {
            let found = f64::from(INVERSE_ROOTS[count]) / 4_294_967_296.0;
            assert!((found - root).abs() < 1e-5, "{found} for {root}");
        };
        near(1, 1.0);
        near(2, 0.706708);
        near(3, 0.577350);
    }

    /// A queue with a history signals an interval after the first late packet, and then by the control law: 100/√2 = 70.71,
    /// 57.74, 50, 44.72 and 40.82 ms later. Linux's law begins with √2, where CoDel's begins with √1.
    #[test]
    fn signals_follow_the_control_law() {
        let mut cobalt = Cobalt::default();
        cobalt.set_count(0);
        let mut signals = Vec::new();
        for t in 1..=460 {
            if drops(&mut cobalt, Time::ZERO, ms(t)) {
                signals.push(t);
            }
        }
        // Late from 6 ms on.
        assert_eq!(signals, [106, 177, 235, 285, 330, 370, 408, 444]);
    }

    /// A new queue has 1/√0 = 0: the packet after the first late one is dropped.
    #[test]
    fn a_new_queue_signals_at_once() {
        let mut cobalt = Cobalt::default();
        let signals: Vec<i64> =
            (1..=80).filter(|&t| drops(&mut cobalt, Time::ZERO, ms(t))).collect();
        assert_eq!(signals, [7, 77]);
    }

    /// The count falls as it rose: after signals at 7, 77.7 and 135 ms and packets in time the count is zero again, and
    /// an interval later the queue may be forgotten.
    #[test]
    fn punctual_packets_undo_signals() {
        let mut cobalt = Cobalt::default();
        for t in 1..=140 {
            drops(&mut cobalt, Time::ZERO, ms(t));
        }
        assert!(cobalt.count > 2);
        for t in 141..600 {
            assert!(!drops(&mut cobalt, ms(t - 1), ms(t)));
        }
        assert_eq!(cobalt.count, 0);
        assert!(!cobalt.is_at_rest(ms(600)), "the last packet left at 599 ms");
        assert!(cobalt.is_at_rest(ms(699)));
    }

    /// Four packet times are never too long, however low the rate.
    #[test]
    fn slow_links_have_a_longer_target() {
        let slow = CobaltParams { mtu_time: Span::from_millis(30), ..PARAMS };
        let mut cobalt = Cobalt::default();
        let mut random = Seed(1).stream("blue");
        let mut packet = Packet::new(0, FlowKey(0), 1000, Time::ZERO);
        for t in 1..=120 {
            assert!(!cobalt.drops(&slow, ms(t), &mut packet, &mut random, &mut Drops::new()));
        }
        assert_eq!(cobalt.count, 0);
        cobalt.drops(&slow, ms(121), &mut packet, &mut random, &mut Drops::new());
        assert_eq!(cobalt.count, 1);
    }

    /// Overflows more than a target apart add 1/256 each, and idle times subtract 1/4096 each.
    #[test]
    fn overflows_make_blue_drop() {
        let mut cobalt = Cobalt::default();
        for t in 0..256 * 6 {
            cobalt.on_overflow(&PARAMS, ms(t));
        }
        // At 6, 12, ... 1530 ms.
        assert_eq!(cobalt.blue, 255 * BLUE_UP);
        let mut random = Seed(1).stream("blue");
        let mut packet =
            Packet { ecn: airqueue_core::Ecn::Ect, ..Packet::new(0, FlowKey(0), 100, ms(0)) };
        let dropped = (0..1000).filter(|_| {
            packet.enqueued = ms(2000);
            cobalt.drops(&PARAMS, ms(2000), &mut packet, &mut random, &mut Drops::new())
        });
        // Binomial(1000, 255/256): mean 996.1, standard deviation 1.97.
        let dropped = dropped.count();
        assert!((985..=1000).contains(&dropped), "{dropped}");
        cobalt.on_empty(&PARAMS, ms(3000));
        assert_eq!(cobalt.blue, 255 * BLUE_UP - BLUE_DOWN);
        cobalt.on_empty(&PARAMS, ms(3003));
        assert_eq!(cobalt.blue, 255 * BLUE_UP - BLUE_DOWN);
    }
}
