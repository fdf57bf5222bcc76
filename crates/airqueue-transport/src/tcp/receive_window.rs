//! The receive window of Linux 6.1, as far as it decides which segments are acknowledged at once.
//!
//! A window that grows acknowledges: `tcp_grow_window` lets the next acknowledgement go at once. The window grows by twice
//! the data that arrive (`tcp_grow_window`), up to what the buffer has room for, and the buffer grows with the data that the
//! application reads in a round trip (`tcp_rcv_space_adjust`). Senders are not held up by the window here.

use airqueue_core::{Span, Time};

/// The first window: 45 segments of 1448 bytes in a buffer of 128 KiB (`tcp_rmem`), of which half is for headers.
const FIRST_BYTES: u64 = 65_160;
/// The largest: half of the largest buffer of `tcp_rmem`, 6 MiB.
const MOST_BYTES: u64 = 6 << 19;
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
    /// The window that the buffer has room for: `window_clamp`.
    clamp: u64,
    /// Octets up to which the application has read.
    read: u64,
    /// Most data read in a round trip, and the octet and time from which the present round trip counts: `rcvq_space`.
    most: u64,
    from: u64,
    since: Option<Time>,
}

impl ReceiveWindow {
    /// The window of a new connection.
    pub(super) fn new(mss_bytes: u32) -> ReceiveWindow {
        let mss = u64::from(mss_bytes);
        ReceiveWindow {
            mss,
            window: FIRST_BYTES,
            clamp: FIRST_BYTES,
            read: 1,
            most: FIRST_SEGMENTS * mss,
            from: 1,
            since: None,
        }
    }

    /// Data have arrived in order, up to the octet `next`, in one segment or merged ones. Returns whether the window has
    /// grown.
    pub(super) fn on_data(&mut self, bytes: u64, next: u64) -> bool {
        // What has not been read takes room of the buffer. A segment of 1448 bytes counts as 2304 (`truesize`), and half of
        // the buffer is for data.
        let unread = next.saturating_sub(self.read) * 4 / 5;
        let room = self.clamp.saturating_sub(unread).saturating_sub(self.window);
        if room == 0 || bytes < SHORTEST_BYTES {
            return false;
        }
        self.window += room.min(2 * bytes.max(self.mss));
        true
    }

    /// The application has read everything before the octet `next`. `rtt`: the round trip as the receiver knows it.
    pub(super) fn on_read(&mut self, next: u64, rtt: Option<Span>, now: Time) {
        self.read = next;
        let since = *self.since.get_or_insert(now);
        if rtt.is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let copied = next - self.from;
        if copied > self.most {
            let wanted = 2 * copied + SPARE_SEGMENTS * self.mss;
            let more = u128::from(wanted) * u128::from(copied - self.most) / u128::from(self.most);
            let wanted = u128::from(wanted) + 2 * more;
            self.clamp = self.clamp.max(wanted.min(MOST_BYTES.into()) as u64);
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
        let mut window = ReceiveWindow::new(MSS as u32);
        let mut next = 1;
        window.on_read(next, Some(RTT), at(0));
        let trips = segments.iter().zip(1..).map(|(&segments, trip)| {
            let mut grew = 0;
            for _ in 0..segments {
                next += MSS;
                grew += u64::from(window.on_data(MSS, next));
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
        let mut window = ReceiveWindow::new(MSS as u32);
        window.on_read(1, Some(RTT), at(0));
        let next = 1 + 20 * MSS;
        window.on_read(next, Some(RTT), at(20));
        // Room for 123 segments, each of which takes two of it by growing and 0.8 by waiting.
        let grew = (1..=100).filter(|n| window.on_data(MSS, next + n * MSS)).count();
        assert_eq!(grew, (123.0_f64 / 2.8).ceil() as usize);
        // When they have been read, growth goes on.
        window.on_read(next + 100 * MSS, Some(RTT), at(21));
        assert!(window.on_data(MSS, next + 101 * MSS));
    }

    #[test]
    fn short_segments_and_unknown_round_trips_do_not_count() {
        let mut window = ReceiveWindow::new(MSS as u32);
        window.on_read(1, None, at(0));
        window.on_read(1 + 100 * MSS, None, at(1000));
        assert!(!window.on_data(MSS, 1 + 101 * MSS));
        window.on_read(1 + 101 * MSS, Some(RTT), at(1000));
        assert!(!window.on_data(127, 1 + 101 * MSS + 127));
        assert!(window.on_data(128, 1 + 101 * MSS + 255));
    }
}
