//! The TCP header of a packet, as far as queues read it.

use crate::Time;

/// The fields of a TCP header that a queue may read, for a discipline that filters acknowledgements
/// ([`LinkFeedback::set_tcp_header`]). Sequence numbers are 64 bits wide and do not wrap.
///
/// [`LinkFeedback::set_tcp_header`]: crate::LinkFeedback::set_tcp_header
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// The connection, among the connections whose packets have the same [`FlowKey`](crate::FlowKey).
    pub connection: u32,
    /// The next octet expected from the other end; `None`: the flag ACK is not set.
    pub ack: Option<u64>,
    /// The flag SYN.
    pub syn: bool,
    /// The flag FIN.
    pub fin: bool,
    /// The flags for ECN.
    pub ecn: EcnFlags,
    /// The segment carries data.
    pub has_data: bool,
    /// TSval and TSecr of the timestamps option; zero without the option.
    pub stamps: [Time; 2],
    /// The SACK option.
    pub sack: SackBlocks,
}

/// The flags for ECN of a TCP header (RFC 3168, section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFlags {
    /// ECN-Echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

/// Octets `start` to `end` - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OctetRange {
    /// The first octet.
    pub start: u64,
    /// The octet after the last.
    pub end: u64,
}

impl OctetRange {
    /// Number of octets.
    pub fn bytes(self) -> u64 {
        self.end - self.start
    }

    /// Whether all octets of `other` are in the range.
    pub fn covers(self, other: OctetRange) -> bool {
        self.start <= other.start && self.end >= other.end
    }
}

/// The blocks of a SACK option (RFC 2018, section 3), the most recent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [OctetRange; SackBlocks::MOST],
    len: u8,
}

impl SackBlocks {
    /// The number of blocks that fit into the 40 bytes of options.
    pub const MOST: usize = 4;

    /// The blocks.
    pub fn as_slice(&self) -> &[OctetRange] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Number of octets in all blocks.
    pub fn bytes(&self) -> u64 {
        self.as_slice().iter().map(|block| block.bytes()).sum()
    }
}

/// Takes the first [`SackBlocks::MOST`] of the given blocks.
impl From<&[OctetRange]> for SackBlocks {
    fn from(given: &[OctetRange]) -> SackBlocks {
        let len = given.len().min(Self::MOST);
        let mut blocks = [OctetRange::default(); Self::MOST];
        blocks[..len].copy_from_slice(&given[..len]);
        SackBlocks { blocks, len: len as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_beyond_the_option_are_left_out() {
        let blocks = [2, 4, 6, 8, 10].map(|start| OctetRange { start, end: start + 1 });
        let sack = SackBlocks::from(&blocks[..]);
        assert_eq!(sack.as_slice(), &blocks[..4]);
        assert_eq!(sack.bytes(), 4);
        assert!(SackBlocks::default().as_slice().is_empty());
    }
}
