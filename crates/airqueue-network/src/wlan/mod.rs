//! An 802.11 link layer: packets are offered to the queues of stations, and the layer above is told what becomes of them.
//!
//! [`WlanSpec`] says what is in it, [`Wlan`] is the link layer at work, driven by the event loop of whoever owns it; nothing
//! here knows of flows, sources or routes. [`UpperLayer`] is what it asks and tells above itself. Each station has a
//! [`Mac`](airqueue_wifi::mac::Mac), a [`Reception`](airqueue_wifi::medium::Reception) and, for each access category, an
//! interface: a queue discipline, and a driver ring behind it if it has one.
//!
//! # One instant
//!
//! Frames end first; then timers go off and packets arrive; then all stations whose backoff ends are
//! asked what they send; then all frames of that instant begin, together. Whoever is asked first has
//! no advantage, and stations whose counters end at the same boundary collide.
//!
//! # What an event costs
//!
//! A frame costs two events, its end and the grant or the timer that made it begin, and a visit of each
//! station, or group of stations that hear alike, in range (`listeners`). The next end of a backoff is the closing event of
//! the queue, outside the agenda: a medium that turns busy and idle again moves no other.
//!
//! A frame is made up where its sender keeps it until it has ended, and is copied by none who hear it. What every frame
//! passes through and is short is inlined by force: left to itself the compiler makes calls of it, which are 6 to 8 % of all
//! instructions.

mod backlog;
mod changes;
pub(crate) mod engine;
mod hop;
mod interface;
mod listeners;
pub mod pcap;
mod queues;
mod rates;
mod record;
mod results;
mod spec;
pub mod tap;
mod upper;

pub use engine::{COUNTING, Event, INPUT, Wlan};
pub use listeners::snr;
pub use rates::RateControlSpec;
pub use record::{AirtimeCounters, StationCounters};
pub use spec::{HopSpec, RttReport, StationSpec, WlanError, WlanSpec};
pub use upper::UpperLayer;
