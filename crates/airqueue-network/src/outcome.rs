//! The fate of a packet, reported to the owner of the packet's bytes.

use airqueue_core::{DropReason, Packet};

/// The fate of a packet that came into a device or a network from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The packet arrived.
    Delivered(Packet),
    /// A queue or a policer dropped the packet.
    Dropped(Packet, DropReason),
    /// The packet was served and then lost.
    Lost(Packet),
}
