//! The specification of a connection, shared by both ends.

use super::congestion::{CongestionName, CubicBehaviour, Growth, Unmet};
use super::pacing::Pacing;
use super::recovery::LossDetection;
use super::rto::{Estimator, RtoSpec};
use super::segment::{HeaderSize, Segment, Timestamps};
use airqueue_core::{Span, Time};
use thiserror::Error;

/// A connection with data in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSpec {
    /// Bytes of data in a full segment, at least 1.
    pub mss_bytes: u32,
    /// The sizes of headers.
    pub header: HeaderSize,
    /// The end that opens the connection.
    pub opening: Opening,
    /// Timestamps with a clock of this resolution (RFC 7323, section 5.4: 1 ms to 1 s); `None`: no timestamps.
    pub timestamps: Option<Span>,
    /// Selective acknowledgements (RFC 2018), with recovery by RFC 6675; without SACK, recovery is NewReno's (RFC
    /// 6582).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// The sending end.
    pub sender: SenderSpec,
    /// The receiving end.
    pub receiver: ReceiverSpec,
}

/// The value at `now` of a clock with resolution `clock`.
pub(super) fn clock_value(now: Time, clock: Span) -> Time {
    Time::from_nanos(now.as_nanos() - now.as_nanos().rem_euclid(clock.as_nanos()))
}

/// The end that sends the first SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The end that sends the data: an upload.
    BySender,
    /// The end that receives the data: a download.
    ByReceiver,
    /// Neither: the connection is open from the start, as with ns-2's one-way agents.
    Open,
}

/// The behaviour of the sending end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSpec {
    /// Largest number of outstanding segments: the receiver's window, W*. At least 1.
    pub window_segments: u32,
    /// The initial window.
    pub initial_window: InitialWindow,
    /// The congestion controller.
    pub congestion: CongestionName,
    /// The variant of CUBIC, if the controller is CUBIC.
    pub cubic: CubicBehaviour,
    /// How acknowledgements open the window; Linux's CUBIC has its own rule.
    pub growth: Growth,
    /// The quantity of which a loss leaves a share.
    pub halving: Halving,
    /// The rules of fast recovery without selective acknowledgements.
    pub fast_recovery: FastRecovery,
    /// The retransmission timer.
    pub rto: RtoSpec,
    /// How losses are detected.
    pub loss_detection: LossDetection,
    /// One new segment for each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// The window after a pause of a timeout without sending (RFC 5681, section 4.1).
    pub idle_restart: IdleRestart,
    /// Nagle's algorithm: a small segment waits while octets are outstanding (RFC 896).
    pub nagle: bool,
    /// An active opener with data acknowledges the other end's SYN with its first data segment (RFC 9293, section
    /// 3.5), not before.
    pub opens_with_data: bool,
    /// Whether and how segments are paced.
    pub pacing: Pacing,
    /// Segmentation offload: segments are handed over in bursts, of what the pacing rate sends in 1/1024 s, or in the time of
    /// `small_queue` above a device that says when packets have left it. The last segment of a longer burst has PSH.
    pub segmentation_offload: bool,
    /// TCP small queues: data for this much time at the pacing rate may wait in a device of the sender's own host that
    /// says when packets have left it ([`Sender::on_queued`](super::Sender::on_queued)); `None`: any amount.
    pub small_queue: Option<Span>,
}

/// The initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// Ten segments, or the limit of RFC 6928, section 2, for large segments.
    Rfc6928,
    /// This many segments, at least 1.
    Segments(u32),
}

/// The quantity of which a loss leaves a share, and how the recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halving {
    /// The outstanding data (RFC 5681, equation 4); at the end of recovery the window is reduced to avoid a burst (RFC
    /// 6582, section 3.2, step 3, option 1).
    Outstanding,
    /// The window, fractions of a segment included, and a burst may follow: ns-2's `slowdown`, and its
    /// `exit_recovery_fix_`, which is off. The threshold is whole segments and two at least, and it alone; every timeout
    /// halves anew. With windows of a few segments that makes a difference.
    Window,
}

/// The rules of fast recovery without selective acknowledgements, beyond [`Halving`]. Each rule matters with windows
/// of a few segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastRecovery {
    /// The acknowledgement that ends a recovery opens the window, like any other.
    pub last_ack_opens_window: bool,
    /// A partial acknowledgement of more bytes than the inflation reduces the window permanently by the difference;
    /// one segment of inflation stays.
    pub partial_ack_shrinks_window: bool,
    /// After a recovery no other recovery begins until a segment sent since then has been acknowledged.
    pub once_per_flight: bool,
    /// The retransmission that begins a recovery restarts the timer.
    pub first_retransmission_restarts_timer: bool,
    /// After a timeout each of the first two duplicates allows one new segment, though no recovery can begin.
    pub limited_transmit_after_timeout: bool,
}

impl FastRecovery {
    /// The rules of NewReno (RFC 6582).
    pub const RFC_6582: FastRecovery = FastRecovery {
        last_ack_opens_window: false,
        partial_ack_shrinks_window: false,
        once_per_flight: false,
        first_retransmission_restarts_timer: false,
        limited_transmit_after_timeout: false,
    };

    /// The rules of ns-2's `Agent/TCP/Newreno`: `recv_newack_helper`, `partialnewack`, `bug_fix_`, `reset_rtx_timer`
    /// and `send_one`, in the order of the fields.
    pub const NS2: FastRecovery = FastRecovery {
        last_ack_opens_window: true,
        partial_ack_shrinks_window: true,
        once_per_flight: true,
        first_retransmission_restarts_timer: true,
        limited_transmit_after_timeout: true,
    };
}

/// Upper limit of the congestion window after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// The window before the pause: no limit.
    Off,
    /// The initial window.
    InitialWindow,
    /// One segment, as in ns-2.
    OneSegment,
}

/// The behaviour of the receiving end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSpec {
    /// Number of in-order segments for one acknowledgement.
    pub acknowledge: AckEvery,
    /// The longest delay of an acknowledgement; RFC 1122, section 4.2.3.2: below 0.5 s.
    pub delay: Span,
    /// The timer that measures this delay.
    pub timer: AckTimer,
    /// Number of segments at the beginning that are acknowledged at once: one in ns-2's sinks, sixteen in Linux, while
    /// the sender's window is still small. Merged segments count as one.
    pub at_once_first: u32,
    /// The largest receive buffer, half of which is for data, as in Linux (`tcp_rmem`): the window begins with 45 segments
    /// of 1448 bytes, grows with the data, and holds the sender up where it is smaller than the congestion window.
    /// `None`: no limit.
    pub buffer_bytes: Option<u64>,
    /// Segments are acknowledged at once while the receive window grows, as in Linux (`tcp_grow_window`): most of a slow
    /// start's.
    pub at_once_growing: bool,
    /// Beyond a hole the first three selective acknowledgements are sent at once, and later ones together, as in Linux
    /// (`tcp_comp_sack`).
    pub compresses: bool,
    /// Segments that arrive at one instant are merged before they are processed, and are counted for an acknowledgement
    /// when all have arrived: generic receive offload (GRO), and an application that reads after the batch, as in
    /// Linux. A segment with PSH is acknowledged then. Without it each segment is processed as if it had arrived alone.
    pub batches: bool,
}

/// The timer of delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimer {
    /// A timer that starts with the first segment that is not acknowledged yet.
    Segment,
    /// A clock that ticks at multiples of the delay from time zero on: waiting acknowledgements are sent at the next
    /// tick, as in 4.4BSD's fast timer, and in ns-2's `FullTcp`, where all connections share the clock too.
    Ticks,
}

/// Number of segments for one acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckEvery {
    /// Always this many, at least 1.
    Fixed(u32),
    /// One for the segments before the first of these numbers, counted from 1; then two, three, and from the last
    /// number on four: E. Altman and T. Jiménez, "Novel delayed ACK techniques for improving TCP performance in
    /// multihop wireless networks", PWC 2003, with the numbers 2, 5 and 9.
    Dynamic([u64; 3]),
}

/// Why a specification was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum SpecError {
    #[error("segments of {0} bytes; TCP has 1 to 65495")]
    Mss(u32),
    #[error("headers of {0} bytes; TCP over IPv4 has 40 to 100")]
    Header(u32),
    #[error("a receive buffer of {0} bytes; it has to hold two segments of data and more")]
    Buffer(u64),
    #[error("{0} of no segments; at least one has to be allowed")]
    NoSegments(&'static str),
    #[error("{what} is {value}; it has to be positive")]
    NotPositive { what: &'static str, value: Span },
    #[error("the longest timeout, {longest}, is below the shortest, {shortest}")]
    Timeouts { shortest: Span, longest: Span },
    #[error("the numbers of dynamic delayed acknowledgements, {0:?}, do not rise")]
    Dynamic([u64; 3]),
    #[error("pacing at {0} windows per round trip; it has to be a positive number")]
    Pacing(f64),
    #[error("adaptive pacing over a path of no hops")]
    NoHops,
    #[error("{0}")]
    Congestion(Unmet),
}

impl ReceiverSpec {
    /// The largest window: half of the largest buffer, since the other half is for headers and what else a segment takes;
    /// `None`: no limit.
    pub fn most_window_bytes(&self) -> Option<u64> {
        self.buffer_bytes.map(|bytes| bytes / 2)
    }
}

impl TcpSpec {
    /// A connection as the RFCs recommend, with segments of `mss_bytes` bytes of data: timestamps of 1 ms, SACK,
    /// NewReno, an initial window of ten segments, every second segment acknowledged within 200 ms. The receive window
    /// has no limit.
    pub fn standard(mss_bytes: u32) -> TcpSpec {
        TcpSpec {
            mss_bytes,
            header: HeaderSize::Options,
            opening: Opening::BySender,
            timestamps: Some(Span::from_millis(1)),
            sack: true,
            ecn: false,
            sender: SenderSpec {
                window_segments: u32::MAX,
                initial_window: InitialWindow::Rfc6928,
                congestion: CongestionName::NewReno,
                cubic: CubicBehaviour::Rfc9438,
                growth: Growth::Bytes { segments_per_ack: 1 },
                halving: Halving::Outstanding,
                fast_recovery: FastRecovery::RFC_6582,
                rto: RtoSpec::RFC_6298,
                loss_detection: LossDetection::Counting,
                limited_transmit: true,
                idle_restart: IdleRestart::InitialWindow,
                nagle: true,
                opens_with_data: false,
                pacing: Pacing::Off,
                segmentation_offload: false,
                small_queue: None,
            },
            receiver: ReceiverSpec {
                acknowledge: AckEvery::Fixed(2),
                delay: Span::from_millis(200),
                timer: AckTimer::Segment,
                at_once_first: 0,
                buffer_bytes: None,
                at_once_growing: false,
                compresses: false,
                batches: false,
            },
        }
    }

    /// The one-way `Agent/TCP/Newreno` and `Agent/TCPSink` of ns-2 with their defaults: no handshake, headers of 40
    /// bytes, a window of 20 segments, an initial window of two segments, one acknowledgement for each segment, the
    /// coarse clock.
    pub fn ns2(mss_bytes: u32) -> TcpSpec {
        let standard = TcpSpec::standard(mss_bytes);
        TcpSpec {
            header: HeaderSize::Fixed(40),
            opening: Opening::Open,
            timestamps: None,
            sack: false,
            sender: SenderSpec {
                window_segments: 20,
                initial_window: InitialWindow::Segments(2),
                growth: Growth::PerAck,
                halving: Halving::Window,
                fast_recovery: FastRecovery::NS2,
                rto: RtoSpec::NS2,
                idle_restart: IdleRestart::OneSegment,
                nagle: false,
                opens_with_data: true,
                ..standard.sender
            },
            receiver: ReceiverSpec {
                acknowledge: AckEvery::Fixed(1),
                delay: Span::from_millis(100),
                timer: AckTimer::Segment,
                at_once_first: 1,
                buffer_bytes: None,
                at_once_growing: false,
                compresses: false,
                batches: false,
            },
            ..standard
        }
    }

    /// Linux's largest receive buffer (`tcp_rmem`), on machines with 768 MiB of memory or more.
    pub const LINUX_BUFFER_BYTES: u64 = 6 << 20;

    /// The time for which mac80211 lets data of its own station wait in the station: 1/128 s (`sk_pacing_shift` 7).
    pub const RADIO_QUEUE: Span = Span::from_nanos(1_000_000_000 >> 7);

    /// Linux with its defaults: CUBIC with HyStart, slow start by all bytes acknowledged, Linux's timeout, loss
    /// detection by time, sixteen segments acknowledged at once, and more while the receive window grows, then every
    /// second segment within 40 ms, but the segments of a batch together.
    /// `docs/linux-tcp.md` lists the differences from Linux and the accuracy.
    pub fn linux(mss_bytes: u32) -> TcpSpec {
        let standard = TcpSpec::standard(mss_bytes);
        TcpSpec {
            sender: SenderSpec {
                congestion: CongestionName::Cubic,
                cubic: CubicBehaviour::Linux,
                growth: Growth::Bytes { segments_per_ack: u32::MAX },
                rto: RtoSpec::LINUX,
                loss_detection: LossDetection::Timing,
                segmentation_offload: true,
                small_queue: Some(TcpSpec::RADIO_QUEUE),
                ..standard.sender
            },
            receiver: ReceiverSpec {
                delay: Span::from_millis(40),
                at_once_first: 16,
                buffer_bytes: Some(TcpSpec::LINUX_BUFFER_BYTES),
                at_once_growing: true,
                compresses: true,
                batches: true,
                ..standard.receiver
            },
            ..standard
        }
    }

    /// Header length of a segment with data, in bytes.
    pub fn data_header_bytes(&self) -> u32 {
        self.header.with_data(self.timestamps.is_some())
    }

    /// Length of the largest IP packet without data, in bytes.
    pub fn most_bare_bytes(&self) -> u32 {
        self.header.most()
    }

    /// Completes a segment: timestamps, with `echo` from the other end, and the header length.
    pub(super) fn finish(&self, mut segment: Segment, echo: Option<Time>, now: Time) -> Segment {
        segment.timestamps =
            self.timestamps.map(|clock| Timestamps { value: clock_value(now, clock), echo });
        segment.header_bytes = self.header.bytes(&segment);
        segment
    }

    /// The initial window in bytes, from `mss_bytes` and the rule.
    pub(super) fn initial_window_bytes(&self) -> u64 {
        let mss = u64::from(self.mss_bytes);
        match self.sender.initial_window {
            InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
            InitialWindow::Segments(n) => u64::from(n) * mss,
        }
    }

    /// Upper limit of the congestion window after a pause, in bytes.
    pub(super) fn restart_window_bytes(&self) -> u64 {
        match self.sender.idle_restart {
            IdleRestart::Off => u64::MAX,
            IdleRestart::InitialWindow => self.initial_window_bytes(),
            IdleRestart::OneSegment => u64::from(self.mss_bytes),
        }
    }

    /// Checks the specification.
    pub(super) fn check(&self) -> Result<(), SpecError> {
        if !(1..=65_495).contains(&self.mss_bytes) {
            return Err(SpecError::Mss(self.mss_bytes));
        }
        if let HeaderSize::Fixed(bytes) = self.header
            && !(40..=100).contains(&bytes)
        {
            return Err(SpecError::Header(bytes));
        }
        let some = |what, n| if n == 0 { Err(SpecError::NoSegments(what)) } else { Ok(()) };
        some("a window", self.sender.window_segments)?;
        if let (Some(bytes), Some(window)) =
            (self.receiver.buffer_bytes, self.receiver.most_window_bytes())
            && window < 2 * u64::from(self.mss_bytes)
        {
            return Err(SpecError::Buffer(bytes));
        }
        if let InitialWindow::Segments(n) = self.sender.initial_window {
            some("an initial window", n)?;
        }
        match self.receiver.acknowledge {
            AckEvery::Fixed(n) => some("an acknowledgement", n)?,
            AckEvery::Dynamic(at) if at[0] >= at[1] || at[1] >= at[2] => {
                return Err(SpecError::Dynamic(at));
            }
            AckEvery::Dynamic(_) => {}
        }
        let requirements = self.sender.congestion.requirements();
        requirements.unmet(self).map_or(Ok(()), |unmet| Err(SpecError::Congestion(unmet)))?;
        self.check_times()
    }

    fn check_times(&self) -> Result<(), SpecError> {
        let rto = &self.sender.rto;
        let clock = match rto.estimator {
            Estimator::Rfc6298 { granularity } => granularity,
            Estimator::Ticks { tick } => tick,
        };
        let spans = [
            ("the delay of acknowledgements", self.receiver.delay),
            ("the clock of the retransmission timer", clock),
            ("the first timeout", rto.initial),
            ("the shortest timeout", rto.shortest),
            ("the clock of timestamps", self.timestamps.unwrap_or(Span::from_nanos(1))),
        ];
        if let Some(&(what, value)) = spans.iter().find(|(_, span)| *span <= Span::ZERO) {
            return Err(SpecError::NotPositive { what, value });
        }
        if rto.longest < rto.shortest {
            return Err(SpecError::Timeouts { shortest: rto.shortest, longest: rto.longest });
        }
        self.sender.pacing.check()
    }
}
