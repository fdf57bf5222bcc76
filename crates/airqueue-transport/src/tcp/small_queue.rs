//! TCP small queues: how much of a connection waits in the network device of the sending host, as
//! `tcp_small_queue_check` and `tcp_tso_autosize` of Linux's `tcp_output.c` decide.
//!
//! A sender hands its device a burst of segments at a time, and no burst while more than the limit has not left the
//! device. Both follow from the rate at which the connection would pace its segments.

use airqueue_core::DataRate;

/// Of each second of the pacing rate so much is the limit, and one burst: 8 ms, as mac80211 sets for the sockets of its
/// stations (`sk_pacing_shift` 7).
const PACING_SHIFT: u32 = 7;
/// Largest limit: `tcp_limit_output_bytes`.
const MOST_BYTES: u64 = 1 << 20;
/// Largest burst in bytes of data: `sk_gso_max_size`, less the headers.
const MOST_BURST_BYTES: u64 = 65_536 - 1 - 320;
/// Fewest segments of a burst: `tcp_min_tso_segs`.
const FEWEST_SEGMENTS: u64 = 2;
/// What the kernel counts for a packet beyond the IP packet: 2304 bytes for a packet of 1500, as `ss -tm` shows.
const OVERHEAD_BYTES: u64 = 804;

/// The part of a connection that has not left the sender's device.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmallQueue {
    /// Bytes in the device, as the kernel counts bytes.
    below: u64,
    /// Segments of the present burst that have not been sent.
    burst: u64,
}

/// Bytes that the kernel counts for an IP packet.
fn counted(packet_bytes: u32) -> u64 {
    u64::from(packet_bytes) + OVERHEAD_BYTES
}

impl SmallQueue {
    /// Whether the next segment has to wait until a packet leaves the device. `rate`: the pacing rate, once it is known;
    /// `mss_bytes` and `packet_bytes`: the sizes of a full segment without and with its headers.
    pub fn holds(
        &mut self,
        rate: impl FnOnce() -> Option<DataRate>,
        mss_bytes: u32,
        packet_bytes: u32,
    ) -> bool {
        if self.burst > 0 {
            return false;
        }
        let share = rate().map_or(u64::MAX, |rate| (rate.as_bps() / 8) >> PACING_SHIFT);
        let segments = share.min(MOST_BURST_BYTES) / u64::from(mss_bytes);
        let segments = segments.max(FEWEST_SEGMENTS);
        let limit = share.min(MOST_BYTES).max(2 * segments * counted(packet_bytes));
        if self.below > limit {
            return true;
        }
        self.burst = segments;
        false
    }

    /// There is nothing to send: the burst ends.
    pub fn on_idle(&mut self) {
        self.burst = 0;
    }

    /// A packet goes to the device.
    pub fn on_sent(&mut self, packet_bytes: u32) {
        self.burst = self.burst.saturating_sub(1);
        self.below += counted(packet_bytes);
    }

    /// A packet has left the device.
    pub fn on_left(&mut self, packet_bytes: u32) {
        self.below -= counted(packet_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1448 bytes that a sender sends before it has to wait.
    fn until_held(queue: &mut SmallQueue, rate: Option<DataRate>) -> u64 {
        (0..)
            .find(|_| {
                queue.holds(|| rate, 1448, 1500) || {
                    queue.on_sent(1500);
                    false
                }
            })
            .unwrap()
    }

    #[test]
    fn the_limit_is_a_share_of_the_rate_and_the_last_burst_exceeds_it() {
        // 300 Mb/s: 37.5 MB/s, of which 1/128 is 292,968 bytes; 45 segments a burst.
        let rate = DataRate::from_bps(300_000_000);
        let sent = until_held(&mut SmallQueue::default(), rate);
        // 135 segments are 311,040 bytes as the kernel counts them: the first multiple of 45 above the limit.
        assert_eq!(sent, 135);
    }

    #[test]
    fn slow_senders_have_two_bursts_of_two_and_one_more() {
        // 128 bytes: the limit is two bursts of two segments, which is not exceeded before the third burst.
        let rate = DataRate::from_bps(128 * 8 * 128);
        assert_eq!(until_held(&mut SmallQueue::default(), rate), 6);
    }

    #[test]
    fn a_packet_that_leaves_makes_room_and_an_idle_sender_begins_a_burst_anew() {
        let rate = DataRate::from_bps(128 * 8 * 128);
        let mut queue = SmallQueue::default();
        until_held(&mut queue, rate);
        queue.on_left(1500);
        assert!(queue.holds(|| rate, 1448, 1500));
        queue.on_left(1500);
        assert_eq!(until_held(&mut queue, rate), 2);
        let mut queue = SmallQueue::default();
        assert!(!queue.holds(|| rate, 1448, 1500));
        queue.on_sent(1500);
        queue.on_idle();
        // A burst of two follows, not the rest of the first: 5 of at most 4 and another burst.
        assert_eq!(until_held(&mut queue, rate), 4);
    }

    #[test]
    fn without_a_round_trip_a_megabyte_may_wait() {
        let sent = until_held(&mut SmallQueue::default(), None);
        assert!((1 << 20..(1 << 20) + 45 * 2304).contains(&(sent * 2304)));
    }
}
