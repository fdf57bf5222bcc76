//! The MAC: when a station may transmit, what the station sends, and how it reacts to the frames that it receives.
//!
//! A [`Mac`] is the DCF or EDCA of one station, as a state machine without a clock. Its inputs are: carrier sensed at
//! the antenna ([`Mac::on_sensed_begin`], [`Mac::on_sensed_end`]), frames decoded ([`Mac::on_frame`]) or received in
//! error ([`Mac::on_error`]), the end of the station's own transmissions ([`Mac::on_transmitted`]), the expiry of the
//! timer that the MAC has set ([`Mac::on_timer`]), and the grant that the MAC has announced ([`Mac::next_grant`],
//! [`Mac::on_grant`]). After each input [`Mac::settle`] brings the backoff up to date.
//!
//! Backoff counters are kept relative to the beginning of an idle period: an idle slot causes no event, and a station
//! that only listens needs no events of its own.
//!
//! The engine decides which stations transmit at an instant before any of them begins: it gathers all grants of the
//! instant, then begins their frames. Two counters that end at the same slot boundary therefore collide, whatever the
//! order of the calls.

mod backoff;
mod batch;
mod behaviour;
mod category;
mod compose;
mod config;
mod exchange;
mod frame;
mod lockstep;
mod management;
pub mod rdqm_field;
mod recipient;
mod station;
mod txop;
mod view;

pub use batch::Joining;
pub use behaviour::{Arrival, BackoffDraw, Behaviour, Delivery, ErrorWait, Rules};
pub use category::CategoryCounters;
pub use config::{Aggregation, CategoryConfig, MacConfig, MacError, Txop};
pub use exchange::{Acknowledged, TxReport, TxStatus};
pub use frame::{Content, Frame, FrameKind, Handshake, Msdu, Transmission};
pub use lockstep::LockstepGroup;
pub use recipient::Scoreboard;
pub use station::{Mac, Reaction};
pub use view::{Overheard, Radio};
