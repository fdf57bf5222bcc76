//! What a connection is made of: one description that both of its ends are built from.

use super::congestion::{CongestionName, CubicBehaviour, Growth, Unmet};
use super::pacing::Pacing;
use super::recovery::LossDetection;
use super::rto::{Estimator, RtoSpec};
use super::segment::{HeaderSize, Segment, Timestamps};
use airqueue_core::{Span, Time};
use thiserror::Error;

/// A connection that carries data one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSpec {
    /// Bytes of data in a full segment, at least 1.
    pub mss_bytes: u32,
    /// How large headers are.
    pub header: HeaderSize,
    /// Who opens the connection.
    pub opening: Opening,
    /// Timestamps with a clock of this resolution (RFC 7323, section 5.4: 1 ms to 1 s); `None`: none.
    pub timestamps: Option<Span>,
    /// Selective acknowledgements (RFC 2018), and recovery with them (RFC 6675); without, recovery is
    /// NewReno's (RFC 6582).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// The sending end.
    pub sender: SenderSpec,
    /// The receiving end.
    pub receiver: ReceiverSpec,
}

/// What a clock of resolution `clock` says at `now`.
pub(super) fn clock_value(now: Time, clock: Span) -> Time {
    Time::from_nanos(now.as_nanos() - now.as_nanos().rem_euclid(clock.as_nanos()))
}

/// Who sends the first SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The end that sends the data: an upload.
    BySender,
    /// The end that receives the data: a download.
    ByReceiver,
    /// Nobody: the connection is there, as ns-2's one-way agents have it.
    Open,
}

/// How the sending end behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSpec {
    /// The most segments that may be outstanding: the receiver's window, W*. At least 1.
    pub window_segments: u32,
    /// How many segments the first flight has.
    pub initial_window: InitialWindow,
    /// What governs the congestion window.
    pub congestion: CongestionName,
    /// Whose CUBIC it is, if it is CUBIC.
    pub cubic: CubicBehaviour,
    /// How acknowledgements open the window; Linux's CUBIC has a way of its own.
    pub growth: Growth,
    /// What a loss takes its share of.
    pub halving: Halving,
    /// The rules of fast recovery, where there are no selective acknowledgements.
    pub fast_recovery: FastRecovery,
    /// The retransmission timer.
    pub rto: RtoSpec,
    /// How loss is noticed.
    pub loss_detection: LossDetection,
    /// New segments for the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// What the window shrinks to when nothing was sent for a timeout (RFC 5681, section 4.1).
    pub idle_restart: IdleRestart,
    /// A small segment waits while anything is outstanding (RFC 896).
    pub nagle: bool,
    /// Who opens the connection and has data acknowledges the other side's SYN with the first of them (RFC 9293,
    /// section 3.5), and not before.
    pub opens_with_data: bool,
    /// Whether segments are spread over time.
    pub pacing: Pacing,
}

/// The congestion window that a connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// Ten segments, or what RFC 6928, section 2, allows for large ones.
    Rfc6928,
    /// This many segments, at least 1.
    Segments(u32),
}

/// What a loss leaves a share of, and how the recovery from it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halving {
    /// What was outstanding (RFC 5681, equation 4), and the window is then cut so that no burst follows
    /// (RFC 6582, section 3.2, step 3, option 1).
    Outstanding,
    /// The window, fractions of a segment included, and a burst may follow: ns-2's `slowdown`, and its
    /// `exit_recovery_fix_`, which is off. The threshold is whole segments and two at least, and it alone; every timeout
    /// halves anew. With windows of a few segments that makes a difference.
    Window,
}

/// The rules of fast recovery without selective acknowledgements, beyond [`Halving`]. Windows of a few segments feel
/// each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastRecovery {
    /// The acknowledgement that ends a recovery opens the window, as any other does.
    pub last_ack_opens_window: bool,
    /// A partial acknowledgement of more bytes than duplicates have added takes the rest from the window for good, and
    /// one segment of the addition stays.
    pub partial_ack_shrinks_window: bool,
    /// After a recovery no other begins before a segment sent since then has been acknowledged.
    pub once_per_flight: bool,
    /// The retransmission that begins a recovery starts the timer anew.
    pub first_retransmission_restarts_timer: bool,
    /// After a timeout the first two duplicates let a segment each go, though no recovery can begin.
    pub limited_transmit_after_timeout: bool,
}

impl FastRecovery {
    /// NewReno's (RFC 6582).
    pub const RFC_6582: FastRecovery = FastRecovery {
        last_ack_opens_window: false,
        partial_ack_shrinks_window: false,
        once_per_flight: false,
        first_retransmission_restarts_timer: false,
        limited_transmit_after_timeout: false,
    };

    /// That of ns-2's `Agent/TCP/Newreno`: `recv_newack_helper`, `partialnewack`, `bug_fix_`, `reset_rtx_timer` and
    /// `send_one`, in the order of the fields.
    pub const NS2: FastRecovery = FastRecovery {
        last_ack_opens_window: true,
        partial_ack_shrinks_window: true,
        once_per_flight: true,
        first_retransmission_restarts_timer: true,
        limited_transmit_after_timeout: true,
    };
}

/// The most that a congestion window is after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// What it was before.
    Off,
    /// The initial window.
    InitialWindow,
    /// One segment, as in ns-2.
    OneSegment,
}

/// How the receiving end behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSpec {
    /// How many segments in order one acknowledgement answers.
    pub acknowledge: AckEvery,
    /// The longest that an acknowledgement waits for them; RFC 1122, section 4.2.3.2: below 0.5 s.
    pub delay: Span,
    /// What measures that.
    pub timer: AckTimer,
    /// How many segments at the beginning are acknowledged at once: one by ns-2's sinks, sixteen by Linux,
    /// where the sender's window is still small.
    pub at_once_first: u32,
}

/// What measures how long acknowledgements wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTimer {
    /// A timer that starts with the first segment that waits.
    Segment,
    /// A clock that ticks whatever arrives, at multiples of the delay from time zero on: those that wait go out with its
    /// next tick, as in 4.4BSD's fast timer, and in ns-2's `FullTcp`, where all connections have the same clock too.
    Ticks,
}

/// How many segments one acknowledgement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckEvery {
    /// Always this many, at least 1.
    Fixed(u32),
    /// One for the segments before the first of these numbers, counted from 1; then two, three, and from
    /// the last on four: E. Altman and T. Jiménez, "Novel delayed ACK techniques for improving TCP
    /// performance in multihop wireless networks", PWC 2003, where the numbers are 2, 5 and 9.
    Dynamic([u64; 3]),
}

/// What no connection can be.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum SpecError {
    #[error("segments of {0} bytes; TCP has 1 to 65495")]
    Mss(u32),
    #[error("headers of {0} bytes; TCP over IPv4 has 40 to 100")]
    Header(u32),
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

impl TcpSpec {
    /// What the RFCs ask of a connection, with segments of `mss_bytes` bytes of data: timestamps of
    /// 1 ms, SACK, NewReno, ten segments at first, every second segment acknowledged within 200 ms. The
    /// window is as good as unlimited.
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
            },
            receiver: ReceiverSpec {
                acknowledge: AckEvery::Fixed(2),
                delay: Span::from_millis(200),
                timer: AckTimer::Segment,
                at_once_first: 0,
            },
        }
    }

    /// The one-way `Agent/TCP/Newreno` and `Agent/TCPSink` of ns-2 with their defaults: no handshake,
    /// headers of 40 bytes, a window of 20 segments, two segments at first, one acknowledgement for each,
    /// the coarse clock.
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
            },
            ..standard
        }
    }

    /// Linux with its defaults: its CUBIC with HyStart, slow start by all the bytes acknowledged, its
    /// timeout, loss noticed by time, sixteen segments acknowledged at once and then every second one
    /// within 40 ms. What it has not of Linux, and how near it comes, is in `docs/linux-tcp.md`.
    pub fn linux(mss_bytes: u32) -> TcpSpec {
        let standard = TcpSpec::standard(mss_bytes);
        TcpSpec {
            sender: SenderSpec {
                congestion: CongestionName::Cubic,
                cubic: CubicBehaviour::Linux,
                growth: Growth::Bytes { segments_per_ack: u32::MAX },
                rto: RtoSpec::LINUX,
                loss_detection: LossDetection::Timing,
                ..standard.sender
            },
            receiver: ReceiverSpec {
                delay: Span::from_millis(40),
                at_once_first: 16,
                ..standard.receiver
            },
            ..standard
        }
    }

    /// Bytes of the headers of a segment with data.
    pub fn data_header_bytes(&self) -> u32 {
        self.header.with_data(self.timestamps.is_some())
    }

    /// The most bytes of an IP packet without data.
    pub fn most_bare_bytes(&self) -> u32 {
        self.header.most()
    }

    /// Fills in what every segment has: timestamps, with `echo` as the other side's, and its size.
    pub(super) fn finish(&self, mut segment: Segment, echo: Option<Time>, now: Time) -> Segment {
        segment.timestamps =
            self.timestamps.map(|clock| Timestamps { value: clock_value(now, clock), echo });
        segment.header_bytes = self.header.bytes(&segment);
        segment
    }

    /// What `mss_bytes` and the initial window make together, in bytes.
    pub(super) fn initial_window_bytes(&self) -> u64 {
        let mss = u64::from(self.mss_bytes);
        match self.sender.initial_window {
            InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
            InitialWindow::Segments(n) => u64::from(n) * mss,
        }
    }

    /// The most that the congestion window is after a pause, in bytes.
    pub(super) fn restart_window_bytes(&self) -> u64 {
        match self.sender.idle_restart {
            IdleRestart::Off => u64::MAX,
            IdleRestart::InitialWindow => self.initial_window_bytes(),
            IdleRestart::OneSegment => u64::from(self.mss_bytes),
        }
    }

    /// Whether it can be.
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
