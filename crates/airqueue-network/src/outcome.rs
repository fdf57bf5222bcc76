//! What became of a packet, for whoever owns its bytes.

use airqueue_core::{DropReason, Packet};

/// The end of a packet in a device or a network that was given it from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived.
    Delivered(Packet),
    /// A queue or a policer dropped it.
    Dropped(Packet, DropReason),
    /// It was served and then lost.
    Lost(Packet),
}
