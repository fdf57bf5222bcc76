//! Queues of mac80211 for stations and TIDs (TXQs): the limits that a phy has for all of them, and counters.
//!
//! `net/mac80211/tx.c` has one FQ-CoDel for a phy, whose flows belong to the TXQs of stations and TIDs. The limits are
//! the phy's; counters are kept for the phy, and for each TXQ.

use crate::netlink::NetlinkError;
use crate::netlink::attributes::{self, Attributes, Writer};
use crate::radio::nl80211::{Numbers, Request, attribute, command};
use serde::{Deserialize, Serialize};

/// Limits of a phy's TXQs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TxqLimits {
    /// Packets that may wait in all TXQs of the phy.
    pub limit_packets: u32,
    /// Memory that these packets may take, in bytes.
    pub memory_limit_bytes: u32,
    /// Bytes that a flow may send in its turn.
    pub quantum_bytes: u32,
}

impl TxqLimits {
    /// The limits in a phy's attributes: absent if the driver has no TXQs.
    pub fn read(phy: &Attributes<'_>) -> Option<Self> {
        Some(Self {
            limit_packets: phy.u32(attribute::TXQ_LIMIT)?,
            memory_limit_bytes: phy.u32(attribute::TXQ_MEMORY_LIMIT)?,
            quantum_bytes: phy.u32(attribute::TXQ_QUANTUM)?,
        })
    }

    /// The request that sets all three (`nl80211_set_wiphy`).
    pub fn request(&self, wiphy: u32) -> Request {
        let attributes = Writer::default()
            .u32(attribute::WIPHY, wiphy)
            .u32(attribute::TXQ_LIMIT, self.limit_packets)
            .u32(attribute::TXQ_MEMORY_LIMIT, self.memory_limit_bytes)
            .u32(attribute::TXQ_QUANTUM, self.quantum_bytes)
            .finish();
        Request { command: command::SET_WIPHY, attributes }
    }
}

impl std::fmt::Display for TxqLimits {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { limit_packets, memory_limit_bytes, quantum_bytes } = self;
        write!(
            out,
            "{limit_packets} packets, {memory_limit_bytes} bytes of memory, {quantum_bytes} bytes a turn"
        )
    }
}

/// Counters of TXQs: of a phy, an interface, or one station's TID (`struct cfg80211_txq_stats`). What a kernel does
/// not count is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TxqStatistics {
    /// Bytes that wait.
    pub backlog_bytes: Option<u32>,
    /// Packets that wait.
    pub backlog_packets: Option<u32>,
    /// Flows that have been new since the counters began.
    pub flows: Option<u32>,
    /// Packets that CoDel dropped.
    pub drops: Option<u32>,
    /// Packets that CoDel marked.
    pub ecn_marks: Option<u32>,
    /// How often the limit of packets was exceeded; each time up to 32 packets are dropped.
    pub overlimit: Option<u32>,
    /// How often the limit of memory was exceeded.
    pub overmemory: Option<u32>,
    /// Packets that share a flow's queue with another flow.
    pub collisions: Option<u32>,
    /// Bytes that have left.
    pub tx_bytes: Option<u32>,
    /// Packets that have left.
    pub tx_packets: Option<u32>,
}

impl TxqStatistics {
    /// Reads the attributes of `enum nl80211_txq_stats`.
    pub fn read(from: &Attributes<'_>) -> Self {
        Self {
            backlog_bytes: from.u32(1),
            backlog_packets: from.u32(2),
            flows: from.u32(3),
            drops: from.u32(4),
            ecn_marks: from.u32(5),
            overlimit: from.u32(6),
            overmemory: from.u32(7),
            collisions: from.u32(8),
            tx_bytes: from.u32(9),
            tx_packets: from.u32(10),
        }
    }

    /// The counters in an attribute, if it is there.
    pub fn inside(from: &Attributes<'_>, kind: u16) -> Result<Option<Self>, NetlinkError> {
        Ok(from.find(kind).map(attributes::read).transpose()?.as_ref().map(Self::read))
    }
}
