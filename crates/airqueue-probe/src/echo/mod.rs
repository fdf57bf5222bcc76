//! Round-trip times to several targets at once: when probes leave, what is in them, and which answer belongs to which
//! probe. docs/echo.md describes the methods for users.
//!
//! All answers come from a network that may be hostile. What is no answer to a probe of ours changes nothing but a count.

pub mod message;
pub mod pace;
pub mod prober;
pub mod series;
pub mod token;

use airqueue_core::Span;

/// Answers count for this long after the probe.
pub const LATEST: Span = Span::from_secs(10);
/// The most probes of a target; then the target gets no more.
pub const MOST_PROBES: usize = 200_000;
/// The most targets at a time.
pub const MOST_TARGETS: usize = 16;
/// The fastest pace of probes that are answered by ICMP errors. Routers limit these (RFC 1812, 4.3.2.8; RFC 4443, 2.4 f),
/// Linux to one a second for each addressee after the first six (`net.ipv4.icmp_ratelimit`).
pub const SLOWEST_OF_ERRORS: Span = Span::from_secs(1);
/// The first UDP port that is expected to be closed, as in traceroute.
pub const CLOSED_PORT: u16 = 33434;
/// Probes of the methods [`Method::Hop`] and [`Method::Udp`] take this many ports in turn: more than have an answer due,
/// so that the port tells them apart where a router quotes no more than 8 bytes of a datagram (RFC 792).
pub const CLOSED_PORTS: u16 = 32;
/// The most connections that one target may have in the making.
pub const MOST_CONNECTIONS: usize = 8;

/// What makes a target answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// ICMP echo (RFC 792, RFC 4443 section 4).
    Icmp,
    /// UDP datagrams whose hop limit ends at this hop, which answers "time exceeded".
    Hop(u8),
    /// UDP datagrams to a closed port, which answers "port unreachable"; `None`: ports that are usually closed.
    Udp(Option<u16>),
    /// TCP connections to this port, which are accepted or refused.
    Tcp(u16),
    /// The first message of the protocol of `airqueue server` at this port.
    Server(u16),
}

impl Method {
    /// Whether ICMP errors are the answers.
    pub fn by_errors(self) -> bool {
        matches!(self, Method::Hop(_) | Method::Udp(_))
    }

    /// The pace for a wanted one.
    pub fn pace(self, wanted: Span) -> Span {
        if self.by_errors() { wanted.max(SLOWEST_OF_ERRORS) } else { wanted }
    }
}
