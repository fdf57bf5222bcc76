//! Checks of a plan against a server's limits.

use crate::limits::Limits;
use crate::plan::{Plan, Segment};
use crate::wire::DATA_HEADER_LEN;
use airqueue_core::Span;
use std::fmt;
use std::net::SocketAddr;

/// Most segments in a plan.
pub const MAX_SEGMENTS: usize = 1024;
/// Largest IP packet in bytes.
pub const MAX_SIZE: u16 = 9000;
/// Smallest IP packet in bytes, unless the data header needs more: every IPv4 link carries this
/// size whole (RFC 791, section 3.2).
pub const MIN_SIZE: u16 = 68;
/// Highest DSCP of measured packets. Above it IP precedence is 6 or 7, for the routing traffic of networks, which devices let go
/// first (RFC 2474, section 4.2.2.2): a flood of it could part a network.
pub const MAX_DSCP: u8 = 47;
/// Rates are judged over this time: a shorter segment counts as if it were spread over it.
pub const RATE_WINDOW: Span = Span::from_millis(100);

/// Which property of a plan is not acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PlanFault {
    /// No packets at all.
    Empty = 1,
    /// Number of segments.
    Segments = 2,
    /// A segment with a negative start or duration; `asked` is its index.
    Negative = 3,
    /// Flow index; the limit is the number of flows.
    Flow = 4,
    /// Packet size below the smallest, in bytes.
    SmallSize = 5,
    /// Packet size above the largest, in bytes.
    LargeSize = 6,
    /// End of the plan, in milliseconds.
    Duration = 7,
    /// Number of packets.
    Packets = 8,
    /// Peak bit rate in bits per second.
    BitRate = 9,
    /// Peak packet rate in packets per second.
    PacketRate = 10,
    /// DSCP above the highest.
    Dscp = 11,
}

impl PlanFault {
    /// The fault with this number on the wire.
    pub fn from_wire(code: u8) -> Option<Self> {
        use PlanFault::*;
        let all = [
            Empty, Segments, Negative, Flow, SmallSize, LargeSize, Duration, Packets, BitRate,
            PacketRate, Dscp,
        ];
        all.into_iter().find(|&f| f as u8 == code)
    }
}

/// Why a plan is not acceptable; displayed as a sentence with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanError {
    /// What.
    pub fault: PlanFault,
    /// The plan's value, in the unit of the fault.
    pub asked: u64,
    /// The allowed value.
    pub limit: u64,
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asked, limit) = (self.asked, self.limit);
        match self.fault {
            PlanFault::Empty => write!(f, "the plan has no packets: give it at least one"),
            PlanFault::Segments => {
                write!(f, "the plan has {asked} segments, at most {limit} are allowed")
            }
            PlanFault::Negative => {
                write!(f, "segment {asked} of the plan starts or lasts less than zero seconds")
            }
            PlanFault::Flow => {
                write!(f, "the plan uses flow {asked}, the session has only {limit} (from 0)")
            }
            PlanFault::SmallSize => write!(
                f,
                "the plan has packets of {asked} bytes, the smallest here is {limit} with IP header"
            ),
            PlanFault::LargeSize => write!(
                f,
                "the plan has packets of {asked} bytes, the largest is {limit} with IP header"
            ),
            PlanFault::Duration => {
                write!(f, "the plan lasts {asked} ms, the server allows runs of at most {limit} ms")
            }
            PlanFault::Packets => {
                write!(f, "the plan has {asked} packets, the server allows at most {limit}")
            }
            PlanFault::BitRate => write!(
                f,
                "the plan peaks at {asked} bit/s, the server allows at most {limit} bit/s"
            ),
            PlanFault::PacketRate => write!(
                f,
                "the plan peaks at {asked} packets/s, the server allows at most {limit} packets/s"
            ),
            PlanFault::Dscp => write!(
                f,
                "the plan has packets of DSCP {asked}, the highest is {limit}: those above are for network control"
            ),
        }
    }
}

impl std::error::Error for PlanError {}

/// IP and UDP header bytes towards an address; IPv4-mapped addresses travel as IPv4.
pub fn overhead(to: SocketAddr) -> u16 {
    if to.ip().to_canonical().is_ipv4() { 28 } else { 48 }
}

/// Smallest measured IP packet in bytes between here and an address: 68 with IPv4, 80 with IPv6.
pub fn min_size(peer: SocketAddr) -> u16 {
    MIN_SIZE.max(overhead(peer) + DATA_HEADER_LEN as u16)
}

/// The load that a plan puts on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Peak bit rate, IP headers included.
    pub bits_per_s: u64,
    /// Peak packet rate.
    pub packets_per_s: u64,
    /// Number of packets.
    pub packets: u64,
}

fn within(fault: PlanFault, asked: u64, limit: u64) -> Result<(), PlanError> {
    if asked > limit { Err(PlanError { fault, asked, limit }) } else { Ok(()) }
}

/// Checks a plan from anywhere and returns its load. `flows` is the number of flows of the
/// session, `min_size` the smallest IP packet in bytes of the session's address family.
pub fn check(plan: &Plan, limits: &Limits, flows: u8, min_size: u16) -> Result<Load, PlanError> {
    within(PlanFault::Segments, plan.segments.len() as u64, MAX_SEGMENTS as u64)?;
    for (i, s) in plan.segments.iter().enumerate() {
        check_segment(i, s, limits, flows, min_size)?;
    }
    let packets = plan.packet_count();
    if packets == 0 {
        return Err(PlanError { fault: PlanFault::Empty, asked: 0, limit: 1 });
    }
    within(PlanFault::Packets, packets, u64::from(limits.max_packets))?;
    let bits_per_s = peak(plan, |s| u64::from(s.count) * u64::from(s.size) * 8);
    within(PlanFault::BitRate, bits_per_s, limits.max_bits_per_s)?;
    let packets_per_s = peak(plan, |s| u64::from(s.count));
    within(PlanFault::PacketRate, packets_per_s, limits.max_packets_per_s)?;
    Ok(Load { bits_per_s, packets_per_s, packets })
}

fn check_segment(
    index: usize,
    s: &Segment,
    limits: &Limits,
    flows: u8,
    min_size: u16,
) -> Result<(), PlanError> {
    if s.start < Span::ZERO || s.duration < Span::ZERO {
        return Err(PlanError { fault: PlanFault::Negative, asked: index as u64, limit: 0 });
    }
    if s.flow >= flows {
        let (asked, limit) = (u64::from(s.flow), u64::from(flows));
        return Err(PlanError { fault: PlanFault::Flow, asked, limit });
    }
    if s.size < min_size {
        let (asked, limit) = (u64::from(s.size), u64::from(min_size));
        return Err(PlanError { fault: PlanFault::SmallSize, asked, limit });
    }
    within(PlanFault::LargeSize, u64::from(s.size), u64::from(MAX_SIZE))?;
    within(PlanFault::Dscp, u64::from(s.dscp()), u64::from(MAX_DSCP))?;
    // Rounded up, so that the message about a plan over the limit by less than a millisecond shows the excess.
    let end_ms = (s.start.as_nanos() as u64 + s.duration.as_nanos() as u64).div_ceil(1_000_000);
    within(PlanFault::Duration, end_ms, limits.max_run.as_nanos().max(0) as u64 / 1_000_000)
}

/// Highest sum over overlapping segments of `amount` per second.
fn peak(plan: &Plan, amount: impl Fn(&Segment) -> u64) -> u64 {
    let mut edges: Vec<(Span, bool, u64)> = Vec::with_capacity(2 * plan.segments.len());
    for s in plan.segments.iter().filter(|s| s.count > 0) {
        let length = s.duration.max(RATE_WINDOW);
        let rate = u128::from(amount(s)) * 1_000_000_000 / length.as_nanos() as u128;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        edges.push((s.start + length, false, rate));
        edges.push((s.start, true, rate));
    }
    edges.sort_unstable(); // at the same time, ends come before beginnings
    let (mut now, mut highest) = (0u128, 0u128);
    for (_, begins, rate) in edges {
        now = if begins { now + u128::from(rate) } else { now - u128::from(rate) };
        highest = highest.max(now);
    }
    u64::try_from(highest).unwrap_or(u64::MAX)
}
