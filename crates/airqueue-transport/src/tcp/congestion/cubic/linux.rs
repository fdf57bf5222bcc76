//! CUBIC as in Linux's `tcp_cubic.c`: in whole segments, with HyStart, and with the differences from RFC 9438.

use super::hystart::HyStart;
use crate::tcp::congestion::{Acked, Controller};
use airqueue_core::{Span, Time};

/// C, in segments per cubic second.
const C: f64 = 0.4;
/// β in 1024ths.
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// Acknowledged segments, in eighths of a window, for one more segment where Reno is faster: 8 (1 + β) / 3 (1 - β).
const RENO_EIGHTHS: u64 = 15;
/// Acknowledged segments for one more segment, at most, while no window at a loss is known.
const FIRST_GROWTH: u64 = 20;
/// The fastest growth: half a window per round trip.
const FASTEST: u64 = 2;
/// The slowest growth: one segment per this many windows.
const SLOWEST: u64 = 100;
/// Round-trip samples this soon after a loss are ignored.
const SETTLING: Span = Span::from_secs(1);

/// Linux's CUBIC. RFC 9438, unlike Linux, grows the window as fast as Reno once the old window is reached again, looks
/// ahead by the smoothed round-trip time, and keeps the old window after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct LinuxCubic {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged that do not make up a whole segment yet.
    bytes: u64,
    /// Segments acknowledged since the window last grew.
    counted: u64,
    /// The window at the last loss, reduced for fast convergence; 0: not known.
    last_max: u64,
    shortest: Option<Span>,
    hystart: HyStart,
    epoch: Option<Epoch>,
}

/// The growth since the last loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Time,
    /// K, in seconds.
    k: f64,
    origin: u64,
    /// The window of Reno, and the segments counted for it.
    reno: u64,
    reno_counted: u64,
}

impl LinuxCubic {
    /// A controller with an initial window of `initial_bytes` and segments of `mss_bytes`. `paced`: the segments are
    /// paced.
    pub fn new(mss_bytes: u32, initial_bytes: u64, paced: bool) -> LinuxCubic {
        let mss = u64::from(mss_bytes);
        LinuxCubic {
            mss,
            cwnd: (initial_bytes / mss).max(1),
            ssthresh: u64::MAX,
            bytes: 0,
            counted: 0,
            last_max: 0,
            shortest: None,
            hystart: HyStart::new(paced),
            epoch: None,
        }
    }

    /// `bictcp_update`: the number of acknowledged segments for one more segment.
    fn segments_for_one(&mut self, acked: u64, now: Time) -> u64 {
        let cwnd = self.cwnd;
        let mut epoch = self.epoch.unwrap_or_else(|| {
            let origin = self.last_max.max(cwnd);
            let k = libm::cbrt((origin - cwnd) as f64 / C);
            Epoch { began: now, k, origin, reno: cwnd, reno_counted: 0 }
        });
        epoch.reno_counted += acked;
        let ahead = self.shortest.unwrap_or(Span::ZERO);
        let t = (now - epoch.began + ahead).as_secs_f64() - epoch.k;
        let distance = (C * t * t * t).abs() as u64;
        let target =
            if t < 0.0 { epoch.origin.saturating_sub(distance) } else { epoch.origin + distance };
        let mut count = if target > cwnd { cwnd / (target - cwnd) } else { SLOWEST * cwnd };
        if self.last_max == 0 {
            count = count.min(FIRST_GROWTH);
        }
        let needed = (cwnd * RENO_EIGHTHS / 8).max(1);
        while epoch.reno_counted > needed {
            epoch.reno_counted -= needed;
            epoch.reno += 1;
        }
        if epoch.reno > cwnd {
            count = count.min(cwnd / (epoch.reno - cwnd));
        }
        self.epoch = Some(epoch);
        count.max(FASTEST)
    }

    /// `tcp_cong_avoid_ai`
    fn avoid(&mut self, acked: u64, now: Time) {
        let count = self.segments_for_one(acked, now);
        if self.counted >= count {
            self.counted = 0;
            self.cwnd += 1;
        }
        self.counted += acked;
        self.cwnd += self.counted / count;
        self.counted %= count;
    }

    /// `bictcp_recalc_ssthresh`, with fast convergence.
    fn remember_loss(&mut self) {
        self.last_max = if self.cwnd < self.last_max {
            self.cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            self.cwnd
        };
        self.epoch = None;
        self.counted = 0;
        self.ssthresh = (self.cwnd * BETA / BETA_SCALE).max(2);
    }
}

impl Controller for LinuxCubic {
    /// `cubictcp_acked`: takes round-trip samples and decides whether slow start ends. It does so for windows that do not
    /// limit the sender too, since Linux 5.16.
    fn on_round_trip(&mut self, ack: &Acked) {
        let settling = self.epoch.is_some_and(|epoch| ack.now - epoch.began < SETTLING);
        let Some(rtt) = ack.rtt.filter(|_| !settling) else { return };
        self.shortest = Some(self.shortest.map_or(rtt, |least| least.min(rtt)));
        self.hystart.on_sample(rtt);
        if self.cwnd < self.ssthresh && self.hystart.ends(ack, rtt, self.cwnd as f64) {
            self.ssthresh = self.cwnd;
        }
    }

    fn on_ack(&mut self, ack: &Acked) {
        self.bytes += ack.bytes;
        let mut acked = self.bytes / self.mss;
        self.bytes %= self.mss;
        if self.cwnd < self.ssthresh {
            let step = acked.min(self.ssthresh - self.cwnd);
            self.cwnd += step;
            acked -= step;
        }
        if acked > 0 {
            self.avoid(acked, ack.now);
        }
    }

    /// `cubictcp_cwnd_event`: the pause does not count.
    fn on_restart(&mut self, now: Time, pause: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began = now.min(epoch.began + pause);
        }
    }

    fn on_congestion(&mut self, _: u64) {
        self.remember_loss();
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, _: u64, again: bool) {
        if !again {
            self.remember_loss();
        }
        // `bictcp_reset`: forgets all knowledge of the path.
        self.last_max = 0;
        self.shortest = None;
        self.hystart.restart();
        self.epoch = None;
        self.counted = 0;
        self.cwnd = 1;
    }

    fn cap(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.min((bytes / self.mss).max(1));
    }

    fn cwnd_bytes(&self) -> u64 {
        self.cwnd * self.mss
    }

    fn ssthresh_bytes(&self) -> u64 {
        self.ssthresh.saturating_mul(self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::acked;

    const MSS: u64 = 1000;

    fn new(segments: u64) -> LinuxCubic {
        LinuxCubic::new(MSS as u32, segments * MSS, false)
    }

    /// A window's worth of acknowledgements each `rtt_ms`, evenly spread, for `seconds`.
    fn run(cubic: &mut LinuxCubic, rtt_ms: i64, seconds: f64, mut each: impl FnMut(f64, u64)) {
        let rtt = Span::from_millis(rtt_ms);
        let mut t = 0.0;
        while t < seconds {
            each(t, cubic.cwnd);
            let now = Time::ZERO + Span::from_secs_f64(t);
            let ack = Acked { rtt: Some(rtt), ..acked(MSS, now) };
            cubic.on_round_trip(&ack);
            cubic.on_ack(&ack);
            t += rtt.as_secs_f64() / cubic.cwnd as f64;
        }
    }

    /// As in RFC 9438: from 0.7 · 1000 segments back to 1000 in cbrt(300 / 0.4) s, and beyond, within 1 %.
    #[test]
    fn it_follows_the_cubic() {
        let mut cubic = new(1000);
        cubic.on_congestion(0);
        assert_eq!(cubic.cwnd, 700);
        let k = (300.0f64 / 0.4).cbrt();
        run(&mut cubic, 100, 15.0, |t, cwnd| {
            let curve = 0.4 * (t - k).powi(3) + 1000.0;
            assert!((cwnd as f64 / curve - 1.0).abs() < 0.01, "at {t}: {cwnd} for {curve}");
        });
    }

    /// On a short path 8/15 of a segment per round trip, also beyond the last window. Within 3 % or the segment that
    /// is being counted.
    #[test]
    fn it_is_as_fast_as_reno() {
        let mut cubic = new(100);
        cubic.on_congestion(0);
        let rounds = 120.0;
        run(&mut cubic, 1, rounds / 1e3, |_, _| {});
        let gained = cubic.cwnd as f64 - 70.0;
        assert!((gained - 8.0 / 15.0 * rounds).abs() < 0.03 * gained + 1.0, "{gained}");
    }

    /// `cubictcp_cwnd_event`: an idle minute does not count as time since the loss.
    #[test]
    fn a_pause_does_not_count() {
        let after = |pause: Span| {
            let mut cubic = new(1000);
            cubic.on_congestion(0);
            let at = |ms| Time::ZERO + Span::from_millis(ms);
            (0..=3000).for_each(|ms| cubic.on_ack(&acked(MSS, at(ms))));
            cubic.on_restart(at(3000) + pause, pause);
            (3001..=5000).for_each(|ms| cubic.on_ack(&acked(MSS, at(ms) + pause)));
            cubic.cwnd
        };
        assert_eq!(after(Span::from_secs(60)), after(Span::ZERO));
    }

    /// Fast convergence, and the threshold of β.
    #[test]
    fn it_makes_room_for_others() {
        let mut cubic = new(100);
        cubic.on_congestion(0);
        assert_eq!((cubic.last_max, cubic.cwnd), (100, 70));
        cubic.on_congestion(0);
        assert_eq!((cubic.last_max, cubic.cwnd), (70 * 1741 / 2048, 49));
    }

    /// A timeout forgets the old window: beyond the threshold the window grows by a twentieth per round trip, which is
    /// one segment per twenty acknowledged segments.
    #[test]
    fn after_a_timeout_it_does_not_know_the_path() {
        let mut cubic = new(100);
        cubic.on_timeout(0, false);
        assert_eq!((cubic.cwnd, cubic.ssthresh, cubic.last_max), (1, 70, 0));
        run(&mut cubic, 100, 2.0, |_, _| {});
        let before = cubic.cwnd;
        assert!(before >= 70);
        (0..200).for_each(|_| cubic.on_ack(&acked(MSS, Time::ZERO + Span::from_secs(2))));
        assert_eq!(cubic.cwnd, before + 10);
    }

    /// A round-trip time that grows with the window ends slow start before a loss.
    #[test]
    fn slow_start_ends_at_a_queue() {
        let mut cubic = new(10);
        for n in 0..400 {
            let rtt = Span::from_millis(100 + (n - 20i64).max(0));
            let now = Time::ZERO + Span::from_millis(3 * n);
            let una = n as u64 * MSS;
            let high = una + cubic.cwnd_bytes();
            let ack = Acked { rtt: Some(rtt), una, high, ..acked(MSS, now) };
            cubic.on_round_trip(&ack);
            cubic.on_ack(&ack);
        }
        assert!((30..80).contains(&cubic.ssthresh), "{}", cubic.ssthresh);
    }
}
