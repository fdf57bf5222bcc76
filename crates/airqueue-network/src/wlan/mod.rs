//! An 802.11 link layer: packets are offered to the queues of stations, and their outcomes are reported to the upper
//! layer.
//!
//! [`WlanSpec`] describes the link layer; [`Wlan`] is the link layer at work, driven by the event loop of its owner.
//! Nothing here knows of flows, sources or routes: [`UpperLayer`] is the interface to the layer above. Each station has
//! a [`Mac`](airqueue_wifi::mac::Mac), a [`Reception`](airqueue_wifi::medium::Reception) and, for each access category,
//! an interface: a queue discipline, and a driver ring behind the discipline if there is one.
//!
//! # One instant
//!
//! First, frames end. Then timers expire and packets arrive. Then each station whose backoff ends decides what to send.
//! Last, all frames of this instant begin, together. The order of the stations gives no advantage, and stations whose
//! backoff counters end at the same boundary collide.
//!
//! # What an event costs
//!
//! A frame costs two events, its end and the grant or timer that starts it, and one visit of each station in range, or
//! of each group of stations that hear alike (`listeners`). The next end of a backoff is the closing event of the
//! queue, outside the event list: a medium that turns busy and idle again moves no other event.
//!
//! The sender composes a frame in place and keeps the frame until its end; listeners never copy it. The short functions
//! that every frame passes through are force-inlined: left to itself the compiler makes calls of them, which are 6 to 8
//! % of all instructions.

mod absence;
mod association;
mod backlog;
mod changes;
pub(crate) mod delayed;
mod engine;
mod exchange;
mod feeder;
mod finished;
mod follow_up;
mod hop;
mod interface;
mod listeners;
pub mod pcap;
mod power;
mod queues;
mod rates;
mod record;
mod results;
mod signals;
mod spec;
pub mod tap;
mod upper;

pub use absence::{AbsenceCounters, AbsenceKind, AbsenceSpec};
pub use association::{AssociationCounters, AssociationSpec, Roam};
pub use engine::{Event, INPUT, Wlan};
pub use listeners::snr;
pub use power::{
    BeaconCounters, BeaconSpec, PowerSaveSpec, SleepCounters, TwtSpec, UapsdSpec, WakeUp,
};
pub use rates::RateControlSpec;
pub use record::{AirtimeCounters, StationCounters};
pub use signals::{
    BurstLaw, Energy, InterfererCounters, InterfererSpec, LinkCounters, LinkSignal, Received,
    SignalLaw, SignalsSpec, Within,
};
pub use spec::{HopSpec, RttReport, StationSpec, WlanError, WlanSpec};
pub use upper::UpperLayer;
