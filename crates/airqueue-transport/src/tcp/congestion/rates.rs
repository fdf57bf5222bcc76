//! Reports to a controller that uses delivery rates. Amounts are bytes of data; FIN counts as one.

use airqueue_core::{Span, Time};

/// The sender's counters when an [`Event`] happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// When it happens.
    pub now: Time,
    /// The smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Bytes delivered so far: C.delivered of draft-cheng-iccrg-delivery-rate-estimation.
    pub delivered: u64,
    /// When the last of these bytes was acknowledged, or when data was sent with nothing outstanding:
    /// C.delivered_time.
    pub delivered_at: Time,
    /// Bytes marked lost so far, counted each time.
    pub lost: u64,
    /// Bytes sent, and neither delivered nor lost.
    pub in_flight: u64,
    /// The application, or the controller itself, has recently kept the connection from filling its path.
    pub app_limited: bool,
    /// When pacing allows the next segment; not before `now`.
    pub next_departure: Time,
    /// The state of loss recovery.
    pub loss: LossState,
}

/// The state of loss recovery: Linux's `icsk_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossState {
    /// No loss is being recovered.
    Open,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until all bytes sent before the timeout have been acknowledged.
    Timeout,
}

/// An event of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// The connection is open. The round-trip time is that of this end's SYN, if the SYN was sent once.
    Opened {
        /// Time from the SYN to its acknowledgement.
        rtt: Option<Span>,
    },
    /// Data is about to be sent, and nothing is in flight.
    Started,
    /// An acknowledgement has arrived while bytes were outstanding.
    Acknowledged(AckReport),
    /// The retransmission timer has expired, and overdue bytes have been marked lost.
    TimedOut,
}

/// The changes that an acknowledgement has made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckReport {
    /// Bytes delivered by this acknowledgement, in order or not.
    pub delivered: u64,
    /// Bytes marked lost by this acknowledgement.
    pub lost: u64,
    /// Bytes in flight before this acknowledgement.
    pub in_flight_before: u64,
    /// The round-trip time of the segment delivered last, if the segment was sent once; otherwise the round-trip time
    /// from a timestamp, in ticks of the timestamp clock.
    pub rtt: Option<Span>,
    /// The receiver has probably delayed this acknowledgement: it answers a single short segment
    /// (`FLAG_ACK_MAYBE_DELAYED`).
    pub perhaps_delayed: bool,
    /// The delivery rate of the network, if the acknowledgement shows a rate.
    pub sample: Option<RateSample>,
}

/// A sample of the delivery rate: RS of draft-cheng-iccrg-delivery-rate-estimation, section 3.1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered between the sending of a segment and its acknowledgement.
    pub delivered: u64,
    /// Duration of these deliveries: the longer of the send interval and the acknowledgement interval. Above zero.
    pub interval: Span,
    /// Bytes delivered when the segment was sent.
    pub prior_delivered: u64,
    /// The path may have more capacity than the sample shows ([`SenderState::app_limited`] when the segment was sent).
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

/// Bytes that `bytes_per_sec` delivers in `span`, rounded down; zero for a negative span.
pub(super) fn bytes_in(bytes_per_sec: u64, span: Span) -> u64 {
    let nanos = u128::try_from(span.as_nanos()).unwrap_or(0);
    (u128::from(bytes_per_sec) * nanos / NANOS_PER_SEC).try_into().unwrap_or(u64::MAX)
}
