//! The contract between a sans-IO endpoint and its driver.

use airqueue_core::Time;
use std::net::SocketAddr;

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Index of the local socket that received the datagram (a client has one per flow, a server one).
    pub socket: usize,
    /// Address of the sender.
    pub from: SocketAddr,
    /// When the datagram arrived: the kernel's receive timestamp, mapped onto the endpoint's own clock.
    pub at: Time,
    /// The traffic class in its IP header.
    pub traffic_class: u8,
    /// UDP payload.
    pub payload: &'a [u8],
}

/// A datagram to be sent; its bytes are in the buffer that was handed to `poll_transmit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Index of the local socket to send from.
    pub socket: usize,
    /// Address of the destination.
    pub to: SocketAddr,
    /// The traffic class for its IP header; 0 for all but measured packets.
    pub traffic_class: u8,
    /// Set for measured packets: the driver reports the outcome under this name.
    pub ticket: Option<Ticket>,
}

/// Names one measured packet of one run on one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The endpoint's own number for the session.
    pub session: u64,
    /// Run within the session.
    pub run: u32,
    /// Number of the packet among those of the run that this endpoint sends.
    pub seq: u32,
    /// Whether a kernel transmit timestamp is wanted for it.
    pub timestamp: bool,
}

/// What the driver reports about a measured packet after `poll_transmit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The local socket buffer was full or the local queue refused it: the packet never left.
    Blocked,
    /// The kernel handed it to the device at this time (endpoint's clock).
    KernelSent(Time),
}

/// A sans-IO endpoint: the client or the server.
///
/// The driver calls `on_datagram` for everything that arrives, then `poll_transmit` until it returns `None`, and
/// returns at `next_deadline` at the latest.
pub trait Endpoint {
    /// A datagram arrived. `now` is the present; `rx.at` may be a little earlier.
    fn on_datagram(&mut self, now: Time, rx: Received<'_>);

    /// Writes the next datagram that is due at `now` into `buf` (cleared first) and says where it
    /// goes; `None` when nothing is due. Measured packets carry `now` as their send time.
    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit>;

    /// When this endpoint next wants to be polled; `None`: only when something arrives.
    fn next_deadline(&self) -> Option<Time>;

    /// The outcome of a measured packet, if the driver learns it. A packet without a report was sent.
    fn on_send_outcome(&mut self, ticket: Ticket, outcome: SendOutcome);

    /// The kernel dropped `count` further datagrams because this endpoint's receive buffer was full.
    fn on_receive_overflow(&mut self, count: u64);

    /// The host's wall clock was stepped while timestamps were being mapped.
    fn on_clock_step(&mut self);

    /// A host on the path reports that nobody listens at the peer's port (ICMP, RFC 792 and RFC 4443). This report can
    /// be forged: it only shortens the wait for a server that does not reply.
    fn on_unreachable(&mut self) {}

    /// From now on receive times may be the program's, not the kernel's, because the driver could not get kernel
    /// timestamps. The records note this.
    fn on_program_timestamps(&mut self) {}
}
