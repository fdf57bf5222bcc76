//! Both ends of TCP, as state machines without a clock: RFC 9293 as far as a connection with data in one direction
//! needs it; RFC 5681, 6298, 6582, 6675, 3042, 7323, 2018, 3168, 8985, 9438 and 9937; and BBR version 1 as in Linux
//! (draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! A [`Sender`] and a [`Receiver`] are made from one [`TcpSpec`]; the caller carries [`Segment`]s between them and
//! calls them when their timers expire. A connection with data in both directions is modelled as two connections.

mod batch;
mod compressed;
mod congestion;
mod delivery;
mod handshake;
mod pacing;
mod ranges;
mod receive_window;
mod receiver;
mod recovery;
mod round_trips;
mod rto;
mod segment;
mod sender;
mod small_queue;
mod spec;
mod tcp_ap;
mod window_use;

pub use airqueue_core::SackBlocks;
pub use congestion::{
    AckReport, Acked, Bbr, CongestionName, Controller, Cubic, CubicBehaviour, Event, Growth,
    LinuxCubic, LossState, NewReno, RateSample, Requirements, SenderState, Unmet,
};
pub use pacing::Pacing;
pub use ranges::Range;
pub use receiver::{Receiver, ReceiverCounters};
pub use recovery::LossDetection;
pub use rto::{Estimator, RtoSpec};
pub use segment::{HeaderSize, Segment, Timestamps};
pub use sender::{Sender, SenderCounters};
pub use spec::{
    AckEvery, AckTimer, FastRecovery, Halving, IdleRestart, InitialWindow, Opening, ReceiverSpec,
    SenderSpec, SpecError, TcpSpec,
};
pub use tcp_ap::{Spread, TcpApSpec};
