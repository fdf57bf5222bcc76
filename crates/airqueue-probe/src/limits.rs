//! A server's limits.

use airqueue_core::Span;

/// A server's caps. The server announces them in ACCEPT and refuses every plan above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Highest IP bit rate of a plan, all flows together, in bits per second. Also the cap on the
    /// sum over all sessions, because one run is carried out at a time.
    pub max_bits_per_s: u64,
    /// Highest packet rate of a plan, all flows together, in packets per second.
    pub max_packets_per_s: u64,
    /// Longest run, from its start to the end of its last segment.
    pub max_run: Span,
    /// Most packets in one run.
    pub max_packets: u32,
    /// Most sessions at a time.
    pub max_sessions: u32,
    /// Most sessions at a time from one IP address.
    pub max_sessions_per_address: u32,
}

impl Default for Limits {
    /// 1 Gb/s, 200 000 packets/s, 180 s, 4 million packets, 16 sessions, 4 from one address.
    fn default() -> Self {
        Limits {
            max_bits_per_s: 1_000_000_000,
            max_packets_per_s: 200_000,
            max_run: Span::from_secs(180),
            max_packets: 4_000_000,
            max_sessions: 16,
            max_sessions_per_address: 4,
        }
    }
}
