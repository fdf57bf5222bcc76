//! Quantities of scenarios: the quantities of [`airqueue_core::quantity`], and those specific to 802.11.

mod frame_rate;
mod speed;
mod txop;

pub(super) use airqueue_core::quantity::{
    Bytes, Decibels, Duration, Frequency, Length, PacketRate, Packets, Power, Quantity, QueueLimit,
    Rate, Size,
};
pub(super) use frame_rate::FrameRate;
pub(super) use speed::Speed;
pub(super) use txop::TxopLimit;

// The medium accepts every length that can be read.
const _: () =
    assert!(airqueue_core::quantity::FARTHEST_M == airqueue_wifi::medium::Reach::FARTHEST_M);
