//! Segmentation offload: what a network card does for TCP and UDP, done for a device that does not exist.
//!
//! The kernel hands a device large packets, whose headers are those of the first segment, and notes on what is left to do
//! ([`Notes`], `linux/virtio_net.h`). [`Segments`] are the packets that a card would send. In the other direction
//! [`Merger`] makes one packet of the segments of a connection that arrive at one instant, as the kernel's generic
//! receive offload (GRO) does behind a card.

mod headers;
mod merge;
mod notes;
mod segments;

pub use merge::Merger;
pub use notes::NOTES_BYTES;
pub use segments::{Segments, split};
