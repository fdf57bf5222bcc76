//! The MAC: when a station may transmit, what it sends, and what it does about what it hears.
//!
//! A [`Mac`] is one station's DCF or EDCA as a state machine without a clock. It is told what its
//! antenna senses ([`Mac::on_sensed_begin`], [`Mac::on_sensed_end`]), which frames it decodes
//! ([`Mac::on_frame`]) or fails to ([`Mac::on_error`]), when its own transmissions end
//! ([`Mac::on_transmitted`]), when the timer that it asked for goes off ([`Mac::on_timer`]), and that
//! the moment has come which it named itself ([`Mac::next_grant`], [`Mac::on_grant`]). After each of
//! these [`Mac::settle`] brings its backoff up to date.
//!
//! Backoff counters are kept relative to the beginning of an idle period: nothing happens in a slot
//! that passes idle, and a station that only listens needs no event of its own.
//!
//! Who transmits at an instant is decided before anyone begins: the engine gathers all grants of an
//! instant, then begins their frames. Two counters that end at the same boundary so collide, whoever
//! is asked first.

mod backoff;
mod batch;
mod behaviour;
mod category;
mod compose;
mod config;
mod exchange;
mod frame;
mod lockstep;
pub mod rdqm_field;
mod recipient;
mod station;
mod txop;
mod view;

pub use behaviour::{Arrival, BackoffDraw, Behaviour, ErrorWait, Rules};
pub use category::CategoryCounters;
pub use config::{Aggregation, CategoryConfig, MacConfig, MacError, Txop};
pub use exchange::{TxReport, TxStatus};
pub use frame::{Frame, FrameKind, Msdu, Transmission};
pub use lockstep::LockstepGroup;
pub use recipient::Scoreboard;
pub use station::{Mac, Reaction};
pub use view::{Overheard, Radio};
