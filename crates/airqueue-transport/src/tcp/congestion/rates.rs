//! What a controller that steers by delivery rates learns of its connection. Amounts are bytes of data, FIN counted.

use airqueue_core::{Span, Time};

/// The sender's counters when an [`Event`] happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// When it happens.
    pub now: Time,
    /// The smoothed round-trip time, once there is one.
    pub srtt: Option<Span>,
    /// All that has been delivered: C.delivered of draft-cheng-iccrg-delivery-rate-estimation.
    pub delivered: u64,
    /// When the last of it was acknowledged, or when data left with nothing outstanding: C.delivered_time.
    pub delivered_at: Time,
    /// All that has been marked lost, as often as it was.
    pub lost: u64,
    /// Sent, and neither delivered nor lost.
    pub in_flight: u64,
    /// The application, or the controller itself, has not let the connection fill its path lately.
    pub app_limited: bool,
    /// When pacing lets the next segment leave; not before `now`.
    pub next_departure: Time,
    /// How far the connection is with its losses.
    pub loss: LossState,
}

/// How far a connection is with its losses: Linux's `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossState {
    /// Nothing is being recovered.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all that was sent before it has been acknowledged.
    Timeout,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The connection is open. The round-trip time is that of this end's SYN, if it was sent once.
    Opened {
        /// How long the SYN and its acknowledgement took.
        rtt: Option<Span>,
    },
    /// Data are about to leave, and nothing is in flight.
    Started,
    /// An acknowledgement has come while something was outstanding.
    Acknowledged(AckReport),
    /// The retransmission timer has run out, and what is overdue has been marked lost.
    TimedOut,
}

/// What an acknowledgement has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckReport {
    /// Delivered by it, in order or not.
    pub delivered: u64,
    /// Marked lost by it.
    pub lost: u64,
    /// What was in flight before.
    pub in_flight_before: u64,
    /// The round-trip time of the segment delivered last, if it was sent once; otherwise that of a timestamp, in ticks of the
    /// timestamp clock.
    pub rtt: Option<Span>,
    /// The receiver has probably delayed it: it answers one short segment that was alone (`FLAG_ACK_MAYBE_DELAYED`).
    pub perhaps_delayed: bool,
    /// The rate at which the network delivers, if the acknowledgement shows one.
    pub sample: Option<RateSample>,
}

/// A sample of the delivery rate: RS of draft-cheng-iccrg-delivery-rate-estimation, section 3.1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered between the sending of a segment and its acknowledgement.
    pub delivered: u64,
    /// The time that took: the longer one of the sending and the acknowledging. Above zero.
    pub interval: Span,
    /// What had been delivered when the segment left.
    pub prior_delivered: u64,
    /// The path may have carried more ([`SenderState::app_limited`] when the segment left).
    pub app_limited: bool,
}

const NANOS_PER_SEC: u128 = 1_000_000_000;

impl RateSample {
    /// Bytes per second, rounded down.
    pub fn bytes_per_sec(&self) -> u64 {
        let interval = self.interval.as_nanos().max(1) as u128;
        (u128::from(self.delivered) * NANOS_PER_SEC / interval).try_into().unwrap_or(u64::MAX)
    }
}

/// What `bytes_per_sec` deliver in `span`, rounded down; nothing in a negative one.
pub(super) fn bytes_in(bytes_per_sec: u64, span: Span) -> u64 {
    let nanos = u128::try_from(span.as_nanos()).unwrap_or(0);
    (u128::from(bytes_per_sec) * nanos / NANOS_PER_SEC).try_into().unwrap_or(u64::MAX)
}
