//! What a router states about itself.

use std::fmt;

/// A router, by a number that no other router of the mesh has, such as its IPv4 address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RouterId(pub u32);

impl fmt::Display for RouterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "router {}", self.0)
    }
}

/// A flow, by a number that all routers of its route give it, such as a digest of its addresses and ports, or of the
/// routers where it enters and leaves the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowNumber(pub u32);

impl fmt::Display for FlowNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.0)
    }
}

/// The age of a statement: the later of two statements of one router has the larger stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Which start of the router.
    pub boot: u32,
    /// Which statement since then.
    pub version: u32,
}

impl Stamp {
    /// The next stamp; the largest one has none.
    pub(super) fn next(self) -> Stamp {
        match self.version.checked_add(1) {
            Some(version) => Stamp { version, ..self },
            None => Stamp { boot: self.boot.saturating_add(1), version: 0 },
        }
    }
}

/// A neighbour that a statement names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// Which.
    pub id: RouterId,
    /// Whether the router hears its messages; if not, it is on the route of a flow.
    pub heard: bool,
}

/// A link from the stating router to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Data rate of frames, in bit/s: from 1 to [`LinkFacts::MOST_BPS`].
    pub rate_bps: u64,
    /// T_d-DATA + T_d-ACK in ns (MESH section 4.1), above 0.
    pub round_trip_ns: u32,
    /// Channel number; links on different channels do not interfere.
    pub channel: u8,
}

impl LinkFacts {
    /// The highest rate of a link.
    pub const MOST_BPS: u64 = 1_000_000_000_000;

    /// Whether the numbers are in their ranges.
    pub fn in_range(&self) -> bool {
        (1..=Self::MOST_BPS).contains(&self.rate_bps) && self.round_trip_ns > 0
    }
}

/// How the stating router passes a flow on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The router that the flow comes from; `None` at the first router of the route.
    pub previous: Option<RouterId>,
    /// The router that it goes to; `None` at the last.
    pub next: Option<RouterId>,
    /// What the flow wants in bit/s, if the first router knows a limit.
    pub demand_bps: Option<u64>,
    /// Round-trip time outside the mesh in µs, as the first router knows it; at most [`Hop::MOST_DELAY_US`].
    pub other_delay_us: u32,
}

impl Hop {
    /// The longest delay outside the mesh: 1000 s.
    pub const MOST_DELAY_US: u32 = 1_000_000_000;

    /// Whether the numbers are in their ranges, and the route is one.
    pub fn in_range(&self) -> bool {
        let demand = self.demand_bps.is_none_or(|bps| (1..=LinkFacts::MOST_BPS).contains(&bps));
        demand && self.previous != self.next && self.other_delay_us <= Self::MOST_DELAY_US
    }
}

/// How busy the medium at the router is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusyClaim {
    /// Of the time, in percent.
    pub percent: u8,
    /// Whether it counts as full.
    pub full: bool,
}

/// What a router knows at first hand: whom it hears, its links, and the flows that pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// Its medium.
    pub busy: BusyClaim,
    /// Neighbours with flows that it hears, and the neighbours of its flows; ascending by id.
    pub neighbours: Vec<Neighbour>,
    /// Its links to the next routers of its flows; ascending by neighbour.
    pub links: Vec<(RouterId, LinkFacts)>,
    /// Active flows through it; ascending.
    pub flows: Vec<(FlowNumber, Hop)>,
}

impl Statement {
    /// The most neighbours of a statement.
    pub const MOST_NEIGHBOURS: usize = 48;
    /// The most links.
    pub const MOST_LINKS: usize = 24;
    /// The most flows. A router with more says nothing of those with the highest numbers, whose queues then stay unsized.
    pub const MOST_FLOWS: usize = 32;

    /// Whether the router hears this one.
    pub(super) fn hears(&self, id: RouterId) -> bool {
        let at = self.neighbours.binary_search_by_key(&id, |neighbour| neighbour.id);
        at.is_ok_and(|at| self.neighbours[at].heard)
    }

    /// How the router passes a flow on.
    pub(super) fn hop(&self, flow: FlowNumber) -> Option<&Hop> {
        let at = self.flows.binary_search_by_key(&flow, |(number, _)| *number);
        at.ok().map(|at| &self.flows[at].1)
    }

    /// The link to a neighbour.
    pub(super) fn link(&self, to: RouterId) -> Option<&LinkFacts> {
        let at = self.links.binary_search_by_key(&to, |(id, _)| *id);
        at.ok().map(|at| &self.links[at].1)
    }
}
