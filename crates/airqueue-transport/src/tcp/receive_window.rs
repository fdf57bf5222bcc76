//! The receive window of Linux 6.1: what a receiver lets a sender have outstanding, and which segments it acknowledges at once
//! for the window's sake.
//!
//! The window grows by twice the data that arrive (`tcp_grow_window`), up to what the buffer has room for, and the buffer
//! grows with the data that the application reads in a round trip (`tcp_rcv_space_adjust`). A window that grows acknowledges:
//! `tcp_grow_window` lets the next acknowledgement go at once.

use airqueue_core::{Span, Time};

/// The first window: 45 segments of 1448 bytes in a buffer of 128 KiB (`tcp_rmem`), of which half is for headers.
const FIRST_BYTES: u64 = 65_160;
/// A window below this share of the buffer's data is announced as none (`__tcp_select_window`).
const LEAST_SHARE: u64 = 16;
/// Segments that a sender has in its first round trip: `TCP_INIT_CWND`.
const FIRST_SEGMENTS: u64 = 10;
/// Segments that the buffer has room for beside twice the data of a round trip.
const SPARE_SEGMENTS: u64 = 16;
/// Shorter segments do not let the window grow.
const SHORTEST_BYTES: u64 = 128;

/// The window of a receiver, and the size that its buffer allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    /// Data in a full segment.
    mss: u64,
    /// `rcv_ssthresh`.
    window: u64,
    /// The window that the buffer has room for, and the most it will have: `window_clamp`, half of the buffer.
    clamp: u64,
    most_clamp: u64,
    /// The octet after the last one announced: an announced window does not shrink.
    edge: u64,
    /// Octets up to which the application has read.
    read: u64,
    /// Most data read in a round trip, and the octet and time from which the present round trip counts: `rcvq_space`.
    most: u64,
    from: u64,
    since: Option<Time>,
    /// The window whose arrival is being timed: its last octet, and since when.
    timed: Option<(u64, Time)>,
    /// The shortest time in which a window has arrived: a round trip of a full window, and more of others.
    shortest: Option<Span>,
}

impl ReceiveWindow {
    /// The window of a new connection, which grows up to `most_bytes`.
    pub(super) fn new(mss_bytes: u32, most_bytes: u64) -> ReceiveWindow {
        let mss = u64::from(mss_bytes);
        let first = ReceiveWindow::first(Some(most_bytes));
        ReceiveWindow {
            mss,
            window: first,
            clamp: first,
            most_clamp: most_bytes,
            edge: 0,
            read: 1,
            most: FIRST_SEGMENTS * mss,
            from: 1,
            since: None,
            timed: None,
            shortest: None,
        }
    }

    /// The first window of those that grow up to `most_bytes`; `None`: no limit.
    pub(super) fn first(most_bytes: Option<u64>) -> u64 {
        most_bytes.map_or(u64::MAX - 1, |most| FIRST_BYTES.min(most))
    }

    /// What the buffer has room for beside all data that nobody has read: those before the octet `next`, and `ahead` octets
    /// beyond a hole. A segment of 1448 bytes counts as 2304 (`truesize`), and half of the buffer is for data (`tcp_space`).
    fn space(&self, next: u64, ahead: u64) -> u64 {
        let unread = (next.saturating_sub(self.read) + ahead) * 4 / 5;
        self.clamp.saturating_sub(unread)
    }

    /// The window to announce with the octet `next` expected, and `ahead` octets beyond a hole (`tcp_select_window`).
    pub(super) fn announced(&mut self, next: u64, ahead: u64) -> u64 {
        let space = self.space(next, ahead);
        let none = space < self.clamp / LEAST_SHARE || space < self.mss;
        let window = if none { 0 } else { space.min(self.window) };
        self.edge = self.edge.max(next + window);
        self.edge - next
    }

    /// Data have arrived in one segment or merged ones, after which the octet `next` is expected, and `ahead` octets are
    /// beyond a hole. Returns whether the window has grown.
    pub(super) fn on_data(&mut self, bytes: u64, next: u64, ahead: u64, now: Time) -> bool {
        self.time(next, now);
        let room = self.space(next, ahead).saturating_sub(self.window);
        if room == 0 || bytes < SHORTEST_BYTES {
            return false;
        }
        self.window += room.min(2 * bytes.max(self.mss));
        true
    }

    /// Times the arrival of a window (`tcp_rcv_rtt_measure`).
    fn time(&mut self, next: u64, now: Time) {
        if let Some((until, since)) = self.timed {
            if next < until {
                return;
            }
            let took = (now - since).max(Span::from_micros(1));
            self.shortest = Some(self.shortest.map_or(took, |shortest| shortest.min(took)));
        }
        self.timed = Some((self.edge.max(next), now));
    }

    /// The application has read everything before the octet `next`. `rtt`: the round trip by timestamps; without them the
    /// arrival of a window tells.
    pub(super) fn on_read(&mut self, next: u64, rtt: Option<Span>, now: Time) {
        self.read = next;
        let since = *self.since.get_or_insert(now);
        let rtt = rtt.or(self.shortest);
        if rtt.is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let copied = next - self.from;
        if copied > self.most {
            let wanted = 2 * copied + SPARE_SEGMENTS * self.mss;
            let more = u128::from(wanted) * u128::from(copied - self.most) / u128::from(self.most);
            let wanted = u128::from(wanted) + 2 * more;
            self.clamp = self.clamp.max(wanted.min(self.most_clamp.into()) as u64);
            self.most = copied;
        }
        self.from = next;
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const RTT: Span = Span::from_millis(20);

    fn at(ms: i64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Reads so many segments in each round trip from octet 1 on; returns how many let the window grow, by round trip.
    fn grown(segments: &[u64]) -> Vec<u64> {
        let mut window = ReceiveWindow::new(MSS as u32, 3 << 20);
        let mut next = 1;
        window.on_read(next, Some(RTT), at(0));
        let trips = segments.iter().zip(1..).map(|(&segments, trip)| {
            let mut grew = 0;
            for _ in 0..segments {
                next += MSS;
                grew += u64::from(window.on_data(MSS, next, 0, at(20 * trip - 1)));
                window.on_read(next, Some(RTT), at(20 * trip - 1));
            }
            window.on_read(next, Some(RTT), at(20 * trip));
            grew
        });
        trips.collect()
    }

    #[test]
    fn a_window_grows_with_slow_start() {
        // Ten segments are what the first round trip is taken to have. Twenty: 2·20 + 16 segments, and twice as much
        // again for each part that they are more than ten: 168. So the third has room for 123 segments, two for each.
        // The fifth has room for 3·(2·80 + 16) segments, 528, and the window is 45 + 2·(40 + 80) at its beginning.
        assert_eq!(grown(&[10, 20, 40, 80, 160]), [0, 0, 40, 80, (528 - 285_u64).div_ceil(2)]);
        // Steady flows: the window is large enough after (168 - 45)/2 = 61.5 segments.
        assert_eq!(grown(&[20, 20, 20, 20, 20, 20, 20]), [0, 20, 20, 20, 2, 0, 0]);
    }

    #[test]
    fn the_largest_window_ends_the_growth() {
        let grew: u64 = grown(&[10, 20, 40, 80, 160, 320, 640, 1280, 2560]).iter().sum();
        // In three round trips the last segment finds room for less than twice its data.
        let whole = ((6 << 19) - 65_160_u64).div_ceil(2 * MSS);
        assert!((whole..=whole + 4).contains(&grew), "{grew}, {whole}");
    }

    #[test]
    fn unread_data_take_room() {
        let mut window = ReceiveWindow::new(MSS as u32, 3 << 20);
        window.on_read(1, Some(RTT), at(0));
        let next = 1 + 20 * MSS;
        window.on_read(next, Some(RTT), at(20));
        // Room for 123 segments, each of which takes two of it by growing and 0.8 by waiting.
        let grew = (1..=100).filter(|n| window.on_data(MSS, next + n * MSS, 0, at(20))).count();
        assert_eq!(grew, (123.0_f64 / 2.8).ceil() as usize);
        // When they have been read, growth goes on.
        window.on_read(next + 100 * MSS, Some(RTT), at(21));
        assert!(window.on_data(MSS, next + 101 * MSS, 0, at(21)));
    }

    #[test]
    fn short_segments_and_unknown_round_trips_do_not_count() {
        let mut window = ReceiveWindow::new(MSS as u32, 3 << 20);
        window.on_read(1, None, at(0));
        window.on_read(1 + 100 * MSS, None, at(1000));
        assert!(!window.on_data(MSS, 1 + 101 * MSS, 0, at(1000)));
        window.on_read(1 + 101 * MSS, Some(RTT), at(1000));
        assert!(!window.on_data(127, 1 + 101 * MSS + 127, 0, at(1000)));
        assert!(window.on_data(128, 1 + 101 * MSS + 255, 0, at(1000)));
    }

    #[test]
    fn what_is_announced_does_not_shrink() {
        let mut window = ReceiveWindow::new(MSS as u32, 3 << 20);
        window.on_read(1, Some(RTT), at(0));
        assert_eq!(window.announced(1, 0), FIRST_BYTES);
        // 20 segments beyond a hole take 16 of the room for 45, and the window keeps its end.
        assert_eq!(window.announced(1 + MSS, 20 * MSS), FIRST_BYTES - MSS);
        // In a buffer of four segments nothing is left beside two unread ones, until they are read.
        let mut small = ReceiveWindow::new(MSS as u32, 2 * MSS);
        assert_eq!(small.announced(1, 0), 2 * MSS);
        let next = 1 + 2 * MSS;
        assert_eq!(small.announced(next, 0), 0);
        small.on_read(next, Some(RTT), at(1));
        assert_eq!(small.announced(next, 0), 2 * MSS);
    }

    #[test]
    fn without_timestamps_the_arrival_of_a_window_is_timed() {
        let mut window = ReceiveWindow::new(MSS as u32, 3 << 20);
        let mut next = 1;
        // A segment less in a round trip than the first window has.
        for trip in 0..4 {
            for _ in 0..44 {
                window.announced(next, 0);
                next += MSS;
                window.on_data(MSS, next, 0, at(20 * trip));
                window.on_read(next, None, at(20 * trip));
            }
        }
        assert_eq!(window.shortest, Some(RTT));
        assert!(window.announced(next, 0) > FIRST_BYTES, "the window has grown");
    }
}
