//! The receiving end of a connection.

use super::batch::Merged;
use super::compressed::Compressed;
use super::handshake::{Handshake, Progress};
use super::ranges::{Range, Ranges};
use super::receive_window::ReceiveWindow;
use super::rto::smooth;
use super::segment::Segment;
use super::spec::{AckEvery, AckTimer, Opening, SpecError, TcpSpec, clock_value};
use airqueue_core::{Ecn, SackBlocks, Span, Time};

/// Receives segments, delivers their bytes in order, and acknowledges them. The application reads at once what has arrived in
/// order.
///
/// After [`Receiver::on_segment`], [`Receiver::on_batched`], [`Receiver::end_batch`] and [`Receiver::on_timer`] the caller
/// sends the segments from [`Receiver::poll_transmit`] until none is left.
#[derive(Clone, Debug)]
pub struct Receiver {
    spec: TcpSpec,
    handshake: Handshake,
    /// The next octet expected.
    next: u64,
    /// The octets that have arrived beyond `next`, and how many they are.
    ahead: Ranges,
    ahead_octets: u64,
    /// FIN's octet, once it is known.
    fin: Option<u64>,
    /// Segments of the present batch that are merged and not processed yet.
    merged: Option<Merged>,
    /// Segments with data or FIN, merged segments as one.
    units: u64,
    /// In-order segments that have not been acknowledged.
    held: u32,
    /// One of them had PSH.
    pushed: bool,
    /// An acknowledgement is to be sent at once.
    due: bool,
    /// When the delayed acknowledgement is to be sent.
    deadline: Time,
    /// Acknowledgements of octets beyond a hole that are not sent at once.
    compressed: Compressed,
    /// The octet of the last acknowledgement: Last.ACK.sent of RFC 7323.
    last_ack: u64,
    /// The timestamp to echo: TS.Recent of RFC 7323.
    recent: Option<Time>,
    /// Acknowledgements carry ECN-Echo.
    echo_congestion: bool,
    rtt: RttSeen,
    window: ReceiveWindow,
    counters: ReceiverCounters,
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments with data or FIN.
    pub segments: u64,
    /// Segments without new data among them.
    pub duplicates: u64,
    /// Segments among them that arrived before a segment that was sent earlier.
    pub out_of_order: u64,
    /// Acknowledgements sent, without those of the handshake.
    pub acknowledgements: u64,
}

/// Round-trip times measured by a receiver: from an acknowledgement to the first segment that echoes its timestamp.
#[derive(Clone, Copy, Debug, Default)]
struct RttSeen {
    echoed: Option<Time>,
    least: Option<Span>,
    smoothed: Option<Span>,
}

impl Receiver {
    /// The receiving end of a connection.
    ///
    /// # Errors
    ///
    /// If the specification is invalid.
    pub fn new(spec: &TcpSpec) -> Result<Receiver, SpecError> {
        spec.check()?;
        Ok(Receiver::of(spec))
    }

    /// Turns into the receiving end of a new connection with the same specification.
    pub fn restart(&mut self) {
        *self = Receiver::of(&self.spec);
    }

    fn of(spec: &TcpSpec) -> Receiver {
        let active = spec.opening == Opening::ByReceiver;
        let open = spec.opening == Opening::Open;
        Receiver {
            spec: *spec,
            handshake: Handshake::new(active, open, spec.sender.rto, spec.ecn),
            next: 1,
            ahead: Ranges::default(),
            ahead_octets: 0,
            fin: None,
            merged: None,
            units: 0,
            held: 0,
            pushed: false,
            due: false,
            deadline: Time::MAX,
            compressed: Compressed::default(),
            last_ack: 1,
            recent: None,
            echo_congestion: false,
            rtt: RttSeen::default(),
            window: ReceiveWindow::new(
                spec.mss_bytes,
                spec.receiver.most_window_bytes().unwrap_or(TcpSpec::LINUX_BUFFER_BYTES / 2),
            ),
            counters: ReceiverCounters::default(),
        }
    }

    /// Opens the connection if this end is the active opener ([`Opening::ByReceiver`]).
    pub fn open(&mut self) {
        self.handshake.open();
    }

    /// Whether the connection is open, as seen by this end.
    pub fn is_open(&self) -> bool {
        self.handshake.is_open()
    }

    /// Bytes delivered in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.next - 1 - u64::from(self.is_finished())
    }

    /// Bytes that have arrived, in order or not, each counted once.
    pub fn arrived_bytes(&self) -> u64 {
        self.next - 1 + self.ahead_octets - u64::from(self.fin.is_some())
    }

    /// Whether all data and the FIN have been delivered.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// The counters so far.
    pub fn counters(&self) -> ReceiverCounters {
        self.counters
    }

    /// The shortest round-trip time measured by timestamps; `None` before the first sample, and without timestamps.
    pub fn base_rtt(&self) -> Option<Span> {
        self.rtt.least
    }

    /// The round-trip time measured by timestamps, smoothed as in RFC 6298; `None` as for [`Receiver::base_rtt`].
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed
    }

    /// Processes a segment that has arrived alone.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        self.on_batched(segment, now);
        self.end_batch(now);
    }

    /// Processes a segment of a batch: of the segments that have arrived at this instant. [`Receiver::end_batch`] follows
    /// after the last segment. With [`ReceiverSpec::batches`](super::ReceiverSpec::batches) a merged segment is processed
    /// when the next segment does not continue it; otherwise each segment counts as a batch.
    pub fn on_batched(&mut self, segment: &Segment, now: Time) {
        if !self.spec.receiver.batches {
            self.process(&Merged::of(segment), now);
            self.read(now);
            return;
        }
        if self.merged.as_mut().is_some_and(|merged| merged.merge(segment)) {
            return;
        }
        if let Some(before) = self.merged.replace(Merged::of(segment)) {
            self.process(&before, now);
        }
    }

    /// The batch has ended: the application reads what has arrived.
    pub fn end_batch(&mut self, now: Time) {
        if let Some(merged) = self.merged.take() {
            self.process(&merged, now);
            self.read(now);
        }
    }

    /// Whether [`Receiver::end_batch`] has to follow.
    pub fn in_batch(&self) -> bool {
        self.merged.is_some()
    }

    fn process(&mut self, merged: &Merged, now: Time) {
        let segment = &merged.segment;
        let progress = self.handshake.on_segment(segment);
        self.note_timestamps(segment, now);
        let has_data = segment.payload_bytes > 0 || segment.fin;
        if progress != Progress::Nothing && has_data {
            self.note_congestion(segment);
            self.on_data(merged, now);
        }
    }

    /// Linux acknowledges every second segment when the application reads (`tcp_cleanup_rbuf`): while received data are
    /// unread, the receive buffer has no room for the window that was last advertised, and `__tcp_ack_snd_check` waits.
    fn read(&mut self, now: Time) {
        if self.has_window() {
            self.window.on_read(self.next, self.rtt.smoothed, now);
        }
        // A segment with PSH does not wait for another (`ICSK_ACK_PUSHED`).
        self.due |= self.pushed || self.held >= self.segments_per_ack();
    }

    /// Whether the receive window is kept track of.
    fn has_window(&self) -> bool {
        self.spec.receiver.buffer_bytes.is_some() || self.spec.receiver.at_once_growing
    }

    fn note_timestamps(&mut self, segment: &Segment, now: Time) {
        let Some(stamps) = segment.timestamps else { return };
        // RFC 7323, section 4.3: with delayed acknowledgements the echo is the timestamp of the earliest
        // unacknowledged segment, with a hole that of the last segment in order.
        if segment.seq <= self.last_ack && self.recent.is_none_or(|old| stamps.value >= old) {
            self.recent = Some(stamps.value);
        }
        if let (Some(echo), Some(clock)) = (stamps.echo, self.spec.timestamps) {
            self.rtt.on_echo(echo, clock_value(now, clock));
        }
    }

    /// RFC 3168, section 6.1.3: ECN-Echo from a mark on until the sender sends CWR.
    fn note_congestion(&mut self, segment: &Segment) {
        if self.spec.ecn {
            self.echo_congestion &= !segment.cwr;
            self.echo_congestion |= segment.ecn == Ecn::Ce;
        }
    }

    fn on_data(&mut self, merged: &Merged, now: Time) {
        let segment = &merged.segment;
        self.counters.segments += u64::from(merged.count);
        self.units += 1;
        let (start, end) = (segment.seq, segment.end());
        if segment.fin {
            self.fin = Some(end - 1);
        }
        if start > self.next {
            // RFC 5681, section 4.2.
            let new = self.ahead.insert(Range { start, end });
            self.ahead_octets += new;
            if new > 0 && self.has_window() {
                // Acknowledgements do not depend on this growth: all of them are for the hole.
                let bytes = segment.payload_bytes.into();
                self.window.on_data(bytes, self.next, self.ahead_octets, now);
            }
            let with_new_data = merged.segments_in(new);
            self.counters.duplicates += u64::from(merged.count - with_new_data);
            self.counters.out_of_order += u64::from(with_new_data);
            self.acknowledge_hole(now);
        } else if end <= self.next {
            self.counters.duplicates += u64::from(merged.count);
            self.due = true; // RFC 9293, section 3.10.7.4: what is not acceptable is answered
        } else {
            let fills = !self.ahead.is_empty();
            let with_new_data = merged.segments_in(end - self.next);
            self.counters.duplicates += u64::from(merged.count - with_new_data);
            self.ahead.remove_below(end);
            self.next = self.ahead.take_from(end);
            self.ahead_octets = self.ahead.octets();
            self.held += with_new_data;
            self.pushed |= self.spec.receiver.batches && segment.psh;
            // At once if the segment fills a gap or a part of a gap: RFC 5681, section 4.2. No segment that could
            // share the acknowledgement comes after FIN.
            let bytes = segment.payload_bytes.into();
            let grows =
                self.has_window() && self.window.on_data(bytes, self.next, self.ahead_octets, now);
            let grows = grows && self.spec.receiver.at_once_growing;
            if self.is_finished() || self.is_beginning() || grows {
                self.due = true;
            } else if fills {
                // The hole is another one, or there is none any more.
                self.acknowledge_hole(now);
            } else if self.deadline == Time::MAX {
                self.deadline = self.ack_deadline(now);
            }
        }
    }

    /// Segments have arrived beyond a hole, or into it: at once, or with Linux's compression the fourth and later ones together.
    fn acknowledge_hole(&mut self, now: Time) {
        let compresses = self.spec.receiver.compresses && self.spec.sack && !self.ahead.is_empty();
        self.due |= !compresses
            || self.is_beginning()
            || self.compressed.goes(self.next, self.rtt.least, now);
    }

    /// Whether each merged segment is acknowledged at once.
    fn is_beginning(&self) -> bool {
        self.units <= u64::from(self.spec.receiver.at_once_first)
    }

    /// When the acknowledgement of a segment that arrived at `now` is sent at the latest.
    fn ack_deadline(&self, now: Time) -> Time {
        let delay = self.spec.receiver.delay;
        match self.spec.receiver.timer {
            AckTimer::Segment => now + delay,
            AckTimer::Ticks => {
                let since = now.as_nanos().rem_euclid(delay.as_nanos());
                now + Span::from_nanos(delay.as_nanos() - since)
            }
        }
    }

    /// The application sends data, which carry the acknowledgement of all that has arrived: the acknowledgement does not
    /// wait. Without anything to acknowledge nothing is sent.
    pub fn acknowledge(&mut self) {
        self.due |= self.held > 0;
    }

    /// Number of segments for which the next acknowledgement is sent.
    fn segments_per_ack(&self) -> u32 {
        match self.spec.receiver.acknowledge {
            AckEvery::Fixed(n) => n,
            AckEvery::Dynamic(from) => {
                let number = self.delivered_bytes().div_ceil(u64::from(self.spec.mss_bytes));
                1 + from.iter().filter(|&&first| number >= first).count() as u32
            }
        }
    }

    /// When [`Receiver::on_timer`] is to be called; [`Time::MAX`]: never.
    pub fn next_timer(&self) -> Time {
        self.deadline.min(self.compressed.deadline()).min(self.handshake.next_timer())
    }

    /// Processes expired timers; does nothing if called early.
    pub fn on_timer(&mut self, now: Time) {
        self.handshake.on_timer(now);
        self.due |= now >= self.deadline.min(self.compressed.deadline());
    }

    /// The next segment to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.handshake.poll_transmit(now) {
            return Some(self.finish(segment, now));
        }
        if !self.due {
            return None;
        }
        self.due = false;
        (self.held, self.pushed) = (0, false);
        self.deadline = Time::MAX;
        self.compressed.on_sent();
        self.last_ack = self.next;
        self.counters.acknowledgements += 1;
        let ack = Segment {
            ece: self.echo_congestion,
            sack: self.sack_blocks(),
            ..Segment::bare(1, Some(self.next))
        };
        Some(self.finish(ack, now))
    }

    /// RFC 2018, section 4: the block with the latest arrival first; three of them fit next to timestamps.
    fn sack_blocks(&self) -> SackBlocks {
        if !self.spec.sack || self.ahead.is_empty() {
            return SackBlocks::default();
        }
        let (blocks, len) = self.ahead.latest::<{ SackBlocks::MOST }>();
        let most = SackBlocks::MOST - usize::from(self.spec.timestamps.is_some());
        blocks[..len.min(most)].into()
    }

    fn finish(&mut self, mut segment: Segment, now: Time) -> Segment {
        if self.has_window() {
            let bytes = self.window.announced(self.next, self.ahead_octets);
            if self.spec.receiver.buffer_bytes.is_some() {
                segment.window_bytes = bytes.min(u64::from(Segment::UNLIMITED - 1)) as u32;
            }
        }
        self.spec.finish(segment, self.recent, now)
    }
}

impl RttSeen {
    fn on_echo(&mut self, echo: Time, now: Time) {
        if self.echoed.is_some_and(|last| echo <= last) {
            return;
        }
        self.echoed = Some(echo);
        let rtt = now - echo;
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.smoothed = Some(smooth(self.smoothed, rtt));
    }
}
