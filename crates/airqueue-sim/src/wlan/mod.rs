//! A network of 802.11 stations on the event loop.
//!
//! [`WlanSpec`] says what is in it, [`Wlan`] is the network at work, a [`Model`](crate::run_loop::Model)
//! like any other. Each station has a [`Mac`](airqueue_wifi::mac::Mac), a
//! [`Reception`](airqueue_wifi::medium::Reception) and, for each access category, an interface: a
//! queue discipline, and a driver ring behind it if it has one.
//!
//! # One instant
//!
//! Frames end first; then timers go off and packets arrive; then all stations whose backoff ends are
//! asked what they send; then all frames of that instant begin, together. Whoever is asked first has
//! no advantage, and stations whose counters end at the same boundary collide.
//!
//! # What an event costs
//!
//! A frame costs two events, its end and the grant or the timer that made it begin, whoever hears it. Stations
//! that hear the same and only count are one [`Crowd`](airqueue_wifi::mac::Crowd), which is visited once when the
//! frame begins and once when it ends; so is each station in range that is on its own, and nobody else. Of those that no
//! flow leads from or to, only the time is counted for which they sense frames, unless a tap wants to know more. Members are
//! looked at one by one where they may have heard different things: when frames overlap that are not
//! equally strong at all of them, when frames are lost to noise, and when a tap wants to know.
//! When the next backoff ends is found in [`grants::Grants`]; in the event queue it is the closing event, outside the
//! agenda: a medium that turns busy and idle again moves no other.
//!
//! A frame is made up where its sender keeps it until it has ended, and is copied by none who hear it. What every frame
//! passes through and is short is inlined by force: left to itself the compiler makes calls of it, which are 6 to 8 % of all
//! instructions.

mod air;
mod backlog;
mod changes;
mod cohorts;
mod company;
pub(crate) mod counted;
mod engine;
mod errors;
mod flow;
mod frames;
pub mod grants;
mod hearing;
pub mod histogram;
mod interface;
mod meaning;
mod parts;
pub mod pcap;
mod rates;
mod record;
mod results;
mod spec;
mod supply;
pub mod tap;

pub use engine::{Event, Wlan};
pub(crate) use errors::snr;
pub use rates::{Algorithm, RateControlSpec};
pub use record::{AirTally, DataRates, Durations, FlowTally, Jitter, QueueTally, StationTally};
pub use results::Delivered;
pub use spec::{Discipline, FlowSpec, QueueSpec, RttReport, StationSpec, WlanError, WlanSpec};
