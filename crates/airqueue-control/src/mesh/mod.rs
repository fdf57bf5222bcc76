//! Routers of a mesh that agree on its collective buffer without an observer (MESH section 5.1).
//!
//! Each router states what it knows at first hand: whom it hears, the rates of its links, and from where to where
//! each active flow passes it. Statements go from neighbour to neighbour; each [`Router`] assembles the same mesh from
//! them, applies the arithmetic of [`sizing`] to it, and takes its own share. All do so by themselves, nobody is asked.
//!
//! # How far a statement travels
//!
//! Two hops are enough to know the members of a collision domain, but not to know which domain limits a flow: its fair
//! rate depends on the flows that it shares air with, which depend on the flows that those share air with. A statement
//! thus travels along the routes of flows, and from one flow to another where their routers hear each other: to all
//! routers whose flows share air directly or by way of others, and no farther. Routers without active flows are silent.
//!
//! A statement has a stamp (its router's boot and a version); the later stamp wins. A message has the statements that
//! changed, each three times, and a digest of all that its sender acts on. Where digests differ, a list of stamps shows
//! what is missing, and whoever has it sends it again (as RFC 6206 does, consistency is cheap and inconsistency is
//! what costs). A neighbour that is silent for [`SILENT`] is no longer stated to be heard; what no chain of hearing
//! reaches is not acted on, and forgotten. A router states the same again every [`RENEWED`]; a statement that is not
//! renewed for [`LIFETIME`] is not acted on either. It travels with its age, so no clocks are compared.
//!
//! # How long it takes
//!
//! A change travels one hop in [`GAP`] (0.1 s), so `hops · 0.1 s`, plus 0.3 s that routers wait for more of it
//! ([`SETTLE`]): 1.5 s over twelve hops. A message that is lost is repeated 0.1 and 0.2 s later, then whenever a
//! digest shows that it is missing, at the latest with the next message a second ([`INTERVAL`]) later. A router that
//! fails silently is missed after ten intervals.
//!
//! # What others can do
//!
//! Messages have a tag under the key of the mesh, and numbers that only rise, so those without the key do nothing. A
//! router with the key can state anything. Whatever it states, a limit is at most the safe one, `unsized_packets`, which
//! is what the queue holds without this mechanism, and at least `minimum_packets` of a flow. A flow of which a router
//! says nothing, or two routers disagree, keeps its limit for [`GRACE`] and is then not sized. Numbers are checked as
//! they come in; the router keeps at most [`MOST_ROUTERS`] statements of at most [`MOST_BYTES`] bytes, remembers
//! at most [`MOST_REMEMBERED`] neighbours, and computes for at most [`MOST_FLOWS`] flows.

mod busy;
mod key;
mod limits;
mod local;
mod names;
mod neighbours;
mod pace;
mod policy;
mod reason;
mod router;
mod shares;
pub mod sizing;
mod statement;
mod table;
mod view;
pub mod wire;

pub use key::{MeshKey, TAG_LEN};
pub use limits::{GRACE, Limits, Slot};
pub use local::{
    Known, MOST_KNOWN, MOST_TOLD, MeshNode, NodePolicy, NotTaken, Routes, Sight, USUAL_OVERHEAD,
};
pub use neighbours::{MOST_REMEMBERED, REMEMBERED, SILENT};
pub use pace::{BURST, BYTES_PER_S, GAP, INTERVAL};
pub use policy::{DomainsBy, Policy, PolicyError, Queues};
pub use reason::FlowReason;
pub use router::{Decision, OutOfRange, Refused, Router, SETTLE};
pub use statement::{BusyClaim, FlowNumber, Hop, LinkFacts, Neighbour, RouterId, Stamp, Statement};
pub use table::{LIFETIME, MOST_ROUTERS, RENEWED, UNREACHED};
pub use view::{MOST_FLOWS, MOST_HOPS, MOST_ROUTE_HOPS, Unknown};
pub use wire::MOST_BYTES;
