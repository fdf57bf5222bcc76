//! Segmentation offload and TCP small queues: how many segments a sender hands over at once, and how much of a connection
//! waits in the network device of the sending host, as in `tcp_output.c` of Linux 6.1.
//!
//! A sender hands its device bursts of segments (`tcp_tso_autosize`), and no burst while more than a limit has not left
//! the device (`tcp_small_queue_check`). Both follow from the rate at which the connection would pace its segments. A
//! burst that would be short waits for the next acknowledgement (`tcp_tso_should_defer`).

use airqueue_core::{DataRate, Span};

/// Largest limit without pacing: `tcp_limit_output_bytes`.
const MOST_BYTES: u64 = 1 << 20;
/// Most bytes of data in a buffer of the send queue, and in a burst: `sk_gso_max_size`, 65 536 less 1 and the headers.
const MOST_BURST_BYTES: u64 = 65_536 - 1 - HEADROOM_BYTES;
/// Fewest segments that a burst may have: `tcp_min_tso_segs`.
pub(super) const FEWEST_SEGMENTS: u64 = 2;
/// A burst is longer by the largest burst, halved for each 512 microseconds of the shortest round trip
/// (`tcp_tso_rtt_log` 9).
const SHORT_TRIP: Span = Span::from_micros(512);
/// Room for headers in a buffer: `MAX_TCP_HEADER` of a kernel without radio; others have 64 bytes more.
const HEADROOM_BYTES: u64 = 256;
/// IPv4 and TCP headers with timestamps, which are in this room.
const HEADERS_BYTES: u64 = 52;
/// `struct skb_shared_info`, at the end of a buffer.
const SHARED_BYTES: u64 = 320;
/// `struct sk_buff`.
const DESCRIPTOR_BYTES: u64 = 256;
/// What the kernel counts for a burst beyond its data: a buffer of 1024 bytes for headers, and its descriptor.
const BURST_BYTES: u64 = 1024 + DESCRIPTOR_BYTES;
/// A short burst waits only if the previous one was sent within this time.
pub(super) const RECENT: Span = Span::from_millis(1);
/// A short burst does not wait if there is room for this part of the window (`tcp_tso_win_divisor`).
const WINDOW_PARTS: u64 = 3;

/// The present burst of a sender, and the part of its connection that has not left the sender's device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SmallQueue {
    /// The device says when packets have left it: it was given packets by [`SmallQueue::on_queued`].
    tells: bool,
    /// Bytes in the device, as the kernel counts bytes.
    below: u64,
    /// Segments of the present burst that have not been sent.
    burst: u64,
    /// The present burst has more than one segment.
    several: bool,
}

/// What a sender knows before a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// Segmentation offload: bursts may have more than one segment.
    pub(super) offload: bool,
    /// The rate at which segments would be paced, and the data of how much time at this rate a burst has, and may wait.
    /// `None` before the first round trip.
    pub(super) share: Option<(DataRate, Span)>,
    /// The sender paces its bursts.
    pub(super) paced: bool,
    /// Fewest segments that a burst may have.
    pub(super) fewest: u64,
    /// The shortest round trip so far.
    pub(super) shortest: Option<Span>,
    /// Data in a full segment.
    pub(super) mss_bytes: u64,
    /// The congestion window, and how much of it is not in use.
    pub(super) cwnd: u64,
    pub(super) room: u64,
    /// Segments for which the application has data and the receiver room.
    pub(super) ready: u64,
    /// Bytes of data sent before.
    pub(super) sent: u64,
    /// Data were last sent within [`RECENT`].
    pub(super) recent: bool,
    /// The acknowledgement of the first outstanding segment is near: half a round trip has passed since it was sent.
    pub(super) ack_is_near: bool,
    /// Losses are being repaired, or the tail is probed: no burst waits for acknowledgements.
    pub(super) urgent: bool,
}

/// Whether a burst may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Now.
    Send,
    /// When packets have left the device.
    Full,
    /// When more of the window is free.
    Short,
}

/// Bytes that the kernel counts for an IP packet that it has cut out of a burst (`skb_segment`, for a device that takes
/// packets in one piece): a buffer of a power of two of bytes, and its descriptor. 2304 for a packet of 1500, as `ss -tm`
/// shows.
fn counted(packet_bytes: u32) -> u64 {
    let data = u64::from(packet_bytes).saturating_sub(HEADERS_BYTES);
    (HEADROOM_BYTES + data + SHARED_BYTES).next_power_of_two() + DESCRIPTOR_BYTES
}

impl Outlook {
    /// Bytes of data that the sender would send in the time of its share.
    fn share_bytes(&self) -> u64 {
        self.share.map_or(u64::MAX, |(rate, time)| {
            (u128::from(rate.as_bps()) * time.as_nanos().max(0) as u128 / 8_000_000_000) as u64
        })
    }

    /// Most segments of a burst (`tcp_tso_segs`).
    fn most_segments(&self) -> u64 {
        if !self.offload {
            return 1;
        }
        let halvings = self
            .shortest
            .map_or(u64::MAX, |rtt| (rtt.as_nanos().max(0) / SHORT_TRIP.as_nanos()) as u64);
        let more = if halvings < 32 { MOST_BURST_BYTES >> halvings } else { 0 };
        let bytes = self.share_bytes().saturating_add(more).min(MOST_BURST_BYTES);
        (bytes / self.mss_bytes).max(self.fewest)
    }

    /// Segments that are left of the buffer in which the application's data wait.
    fn in_buffer(&self) -> u64 {
        let full = (MOST_BURST_BYTES / self.mss_bytes).max(1);
        full - self.sent / self.mss_bytes % full
    }

    /// Segments of the next burst: at most half a window, what has room in the window, and what is left of a buffer
    /// (`tcp_cwnd_test`, `tcp_mss_split_point`).
    fn segments(&self) -> u64 {
        let half = self.cwnd / self.mss_bytes / 2;
        let quota = half.min(self.room / self.mss_bytes).max(1);
        quota.min(self.most_segments()).min(self.in_buffer()).min(self.ready.max(1))
    }

    /// Whether the burst should wait until it can be longer (`tcp_tso_should_defer`).
    fn is_short(&self) -> bool {
        let room = self.room / self.mss_bytes;
        let enough = room >= self.most_segments()
            || room >= self.in_buffer()
            || self.room >= self.cwnd / WINDOW_PARTS;
        self.in_buffer() > 1 && !self.urgent && self.recent && !enough && self.ack_is_near
    }

    /// Bytes in the device up to which a burst of so many segments may follow.
    fn limit(&self, segments: u64) -> u64 {
        let two = 2 * (segments * self.mss_bytes + BURST_BYTES);
        let limit = self.share_bytes().max(two);
        if self.paced { limit } else { limit.min(MOST_BYTES) }
    }
}

impl SmallQueue {
    /// Whether the next new segment may be sent.
    pub(super) fn verdict(&mut self, outlook: impl FnOnce() -> Outlook) -> Verdict {
        if self.burst > 0 {
            return Verdict::Send;
        }
        let outlook = outlook();
        if outlook.is_short() {
            return Verdict::Short;
        }
        let segments = outlook.segments();
        if self.below > outlook.limit(segments) {
            return Verdict::Full;
        }
        (self.burst, self.several) = (segments, segments > 1);
        Verdict::Send
    }

    /// Whether the device says when packets have left it.
    pub(super) fn tells(&self) -> bool {
        self.tells
    }

    /// Whether a new segment would belong to a burst that has begun.
    pub(super) fn in_burst(&self) -> bool {
        self.burst > 0
    }

    /// Whether the new segment sent last has PSH: it is the last of several (`tcp_transmit_skb`).
    pub(super) fn pushes(&self) -> bool {
        self.burst == 0 && self.several
    }

    /// Whether a segment may be sent again: the limit is twice as high.
    pub(super) fn admits_again(&self, outlook: impl FnOnce() -> Outlook) -> bool {
        self.below <= outlook().limit(1).saturating_mul(2)
    }

    /// A new segment is sent.
    pub(super) fn on_new(&mut self) {
        self.burst = self.burst.saturating_sub(1);
    }

    /// Nothing more can be sent: the burst ends.
    pub(super) fn end_burst(&mut self) {
        (self.burst, self.several) = (0, false);
    }

    /// A packet goes to the device.
    pub(super) fn on_queued(&mut self, packet_bytes: u32) {
        self.tells = true;
        self.below += counted(packet_bytes);
    }

    /// A packet has left the device.
    pub(super) fn on_released(&mut self, packet_bytes: u32) {
        self.below -= counted(packet_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;
    const PACKET: u32 = 1500;
    /// `sk_pacing_shift` 7.
    const SHARE: Span = Span::from_nanos(1_000_000_000 >> 7);

    /// A sender far from its window's end, whose share at its rate is `share_bytes`.
    fn outlook(share_bytes: u64) -> Outlook {
        Outlook {
            offload: true,
            share: DataRate::from_bps(share_bytes * 8 * 128).map(|rate| (rate, SHARE)),
            paced: false,
            fewest: FEWEST_SEGMENTS,
            shortest: Some(Span::from_millis(20)),
            mss_bytes: MSS,
            cwnd: 10_000 * MSS,
            room: 10_000 * MSS,
            ready: u64::MAX,
            sent: 0,
            recent: true,
            ack_is_near: true,
            urgent: false,
        }
    }

    /// Segments that a sender sends until the device is full. Octets sent before are counted.
    fn until_full(queue: &mut SmallQueue, outlook: Outlook) -> u64 {
        (0..)
            .find(|&sent| match queue.verdict(|| Outlook { sent: sent * MSS, ..outlook }) {
                Verdict::Send => {
                    queue.on_new();
                    queue.on_queued(PACKET);
                    false
                }
                Verdict::Full => true,
                Verdict::Short => panic!("the window is wide"),
            })
            .unwrap()
    }

    #[test]
    fn packets_count_as_the_kernel_shows_them() {
        assert_eq!(counted(1500), 2304);
        assert_eq!(counted(576), 2048 + 256);
        assert_eq!(counted(200), 1024 + 256);
    }

    #[test]
    fn bursts_and_limits_follow_from_the_share() {
        // Two segments at least; 4 segments are 5792 bytes; 45 at most.
        for (share, segments) in [(1, 2), (4 * MSS, 4), (5 * MSS - 1, 4), (1 << 20, 45)] {
            assert_eq!(outlook(share).segments(), segments, "{share}");
        }
        // Two bursts with their overhead, or the share, or a mebibyte without pacing.
        assert_eq!(outlook(4 * MSS).limit(4), 2 * (4 * MSS + 1280));
        assert_eq!(outlook(300_000).limit(45), 300_000);
        assert_eq!(outlook(3 << 20).limit(45), 1 << 20);
        assert_eq!(Outlook { paced: true, ..outlook(3 << 20) }.limit(45), 3 << 20);
    }

    #[test]
    fn the_last_burst_begins_at_the_limit_at_most() {
        // A limit of 6912 - 4 bytes: after three packets, 6912 bytes, nothing follows, but two and two are sent.
        assert_eq!(until_full(&mut SmallQueue::default(), outlook(1)), 4);
        // 14144 bytes are 6.1 packets: bursts begin after 0 and 4 packets, not after 8.
        assert_eq!(until_full(&mut SmallQueue::default(), outlook(4 * MSS)), 8);
        // 300,000 bytes are 130.2 packets: bursts of 45 begin after 0, 45 and 90.
        assert_eq!(until_full(&mut SmallQueue::default(), outlook(300_000)), 135);
        // What the device has is never more than the limit and a burst.
        for share in (1..400_000).step_by(7919) {
            let outlook = outlook(share);
            let burst = outlook.most_segments();
            let bytes = until_full(&mut SmallQueue::default(), outlook) * 2304;
            let most = outlook.limit(burst) + burst * 2304;
            assert!(bytes <= most, "{share}: {bytes} of {most}");
        }
    }

    #[test]
    fn packets_that_leave_make_room() {
        let mut queue = SmallQueue::default();
        let slow = outlook(4 * MSS);
        let full = until_full(&mut queue, slow);
        queue.on_released(PACKET);
        assert_eq!(queue.verdict(|| slow), Verdict::Full);
        // 6 packets are 13,824 bytes, below the limit.
        queue.on_released(PACKET);
        assert_eq!(queue.verdict(|| slow), Verdict::Send);
        assert_eq!(full, 8);
    }

    #[test]
    fn segments_are_sent_again_up_to_twice_the_limit() {
        let mut queue = SmallQueue::default();
        // A limit of 5792 bytes for one segment: twice that are five packets.
        let slow = || outlook(4 * MSS);
        for sent in 0..8 {
            assert_eq!(queue.admits_again(slow), sent * 2304 <= 2 * 5792, "{sent}");
            queue.on_queued(PACKET);
        }
    }

    #[test]
    fn bursts_have_what_is_ready_and_only_with_offload() {
        let wide = outlook(20 * MSS);
        assert_eq!(wide.segments(), 20);
        assert_eq!(Outlook { ready: 7, ..wide }.segments(), 7);
        assert_eq!(
            Outlook { ready: 0, ..wide }.segments(),
            1,
            "what Nagle lets out is not counted"
        );
        assert_eq!(Outlook { offload: false, ..wide }.segments(), 1);
        let slow = outlook(MSS);
        assert_eq!(slow.segments(), 2);
        assert_eq!(Outlook { fewest: 1, ..slow }.segments(), 1);
    }

    #[test]
    fn bursts_end_with_a_buffer_and_take_half_a_window() {
        // 45 segments a buffer: four and four, and at last one.
        let slow = |sent| Outlook { sent: sent * MSS, ..outlook(4 * MSS) };
        assert_eq!([0, 40, 44, 45, 46].map(|sent| slow(sent).segments()), [4, 4, 1, 4, 4]);
        let narrow = Outlook { cwnd: 10 * MSS, room: 10 * MSS, ..outlook(1 << 20) };
        assert_eq!(narrow.segments(), 5);
        assert_eq!(Outlook { room: 3 * MSS, ..narrow }.segments(), 3);
    }

    #[test]
    fn short_paths_have_longer_bursts() {
        // The largest burst, 65,279 bytes, halved for every 512 us: 16,319 bytes and the share of 2 segments.
        let near = Outlook { shortest: Some(Span::from_micros(1100)), ..outlook(2 * MSS) };
        assert_eq!(near.segments(), (65_279 / 4 + 2 * 1448) / 1448);
    }

    #[test]
    fn a_burst_waits_for_a_near_acknowledgement_only() {
        // Room for 3 segments of a window of 100, where a burst has 20.
        let short = Outlook { cwnd: 100 * MSS, room: 3 * MSS, ..outlook(20 * MSS) };
        assert!(short.is_short());
        for enough in [
            Outlook { ack_is_near: false, ..short },
            Outlook { recent: false, ..short },
            Outlook { urgent: true, ..short },
            Outlook { room: 20 * MSS, ..short },
            Outlook { cwnd: 9 * MSS, ..short },
            Outlook { sent: 42 * MSS, ..short },
        ] {
            assert!(!enough.is_short(), "{enough:?}");
        }
    }

    #[test]
    fn without_a_round_trip_a_mebibyte_may_wait() {
        let first = Outlook { share: None, shortest: None, ..outlook(1) };
        let bytes = until_full(&mut SmallQueue::default(), first) * 2304;
        assert!((1 << 20..(1 << 20) + 45 * 2304).contains(&bytes));
    }
}
