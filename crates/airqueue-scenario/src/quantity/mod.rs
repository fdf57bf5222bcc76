//! Quantities of scenarios: those of [`airqueue_core::quantity`], and those that only 802.11 has.

mod frame_rate;
mod txop;

pub(super) use airqueue_core::quantity::{
    Bytes, Decibels, Dimension, Duration, Frequency, Length, PacketRate, Packets, Power, Quantity,
    QueueLimit, Rate, Size,
};
pub(super) use frame_rate::FrameRate;
pub(super) use txop::TxopLimit;

// A length that can be read is one that the medium knows.
const _: () =
    assert!(airqueue_core::quantity::FARTHEST_M == airqueue_wifi::medium::Reach::FARTHEST_M);
