//! The arithmetic of a mesh's collective buffer, for those who know the whole mesh: K. Jamshaid, B. Shihada,
//! A. Showail, P. Levis, *Deflating Link Buffers in a Wireless Mesh Network* (MESH).
//!
//! Which links share the air ([`Domains`], section 3.1), which domain limits a flow at max-min fair rates
//! ([`Domains::bottlenecks`]), how many packets its nodes hold together (Eq. (3)) and each of them (Eq. (16),
//! [`Domains::buffers`]). The functions decide as `airqueue.models` does in Python: `collision_domain` with ties to
//! the fewest transmitters, `virtual_queues` with the ratio to the nearest packet and the source's queue as the
//! first of the path. `tests/sizing/test_mesh_routers.py` compares the two.

mod buffers;
mod domains;
mod fair;

pub use buffers::FlowBuffers;
pub use domains::{Busy, Domains};
pub use fair::Bottleneck;

/// Measured busy times that differ by no more count as equal, and how far a full domain's may fall until the
/// domain is full no more.
pub const ALIKE: f64 = 0.05;
/// Busy time from which a domain is full (MESH section 5.1).
pub const SATURATED: f64 = 0.9;
/// Rates and utilisations whose ratio is closer to one are equal: sums of few floating-point numbers.
const TOLERANCE: f64 = 1e-9;

/// One direction between two nodes that hear each other, on the route of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Index of the sending node.
    pub sender: usize,
    /// Index of the receiving node.
    pub receiver: usize,
    /// R(m, n): the data rate of frames, in bit/s.
    pub rate_bps: f64,
    /// T_d-DATA + T_d-ACK (MESH section 4.1): the time that the hop adds to a round trip without queues.
    pub round_trip_s: f64,
    /// Links on different channels do not interfere.
    pub channel: u8,
}

/// One flow: its route and what limits it besides the mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Indices into [`Mesh::links`], from the source.
    pub hops: Vec<usize>,
    /// What the flow wants; as much as it can get if `None`.
    pub demand_bps: Option<f64>,
    /// Round-trip time outside the mesh.
    pub other_delay_s: f64,
}

/// A mesh with the links that its flows use; [`Mesh::check`] says whether the indices fit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Number of nodes.
    pub nodes: usize,
    /// Pairs of nodes that hear each other; the ends of links do in any case.
    pub hears: Vec<(usize, usize)>,
    /// Links on routes.
    pub links: Vec<Link>,
    /// The active flows.
    pub flows: Vec<Flow>,
}

/// What is wrong with a mesh.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    /// A node or a link that there is not.
    #[error("{what} names {kind} {index}; the mesh has {count}")]
    Unknown {
        /// Where.
        what: &'static str,
        /// A node or a link.
        kind: &'static str,
        /// Its index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A number out of range.
    #[error("{what} is {value}; it must be {expected}")]
    Number {
        /// Which.
        what: &'static str,
        /// As text, since errors compare.
        value: String,
        /// What it must be.
        expected: &'static str,
    },
    /// Too much of something.
    #[error("the mesh has {count} {what}; it may have at most {most}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        most: usize,
    },
    /// A flow whose hops do not follow one another.
    #[error(
        "flow {flow} has no route: a flow has hops, each from the node where the last one ends"
    )]
    Broken {
        /// Its index.
        flow: usize,
    },
}

/// Most nodes, links, and flows of a mesh, which bound time and memory whatever neighbours claim.
const MOST: [(&str, usize); 3] = [("nodes", 4_096), ("links", 4_096), ("flows", 2_048)];
/// Most hops of all flows together.
const MOST_HOPS: usize = 16_384;

impl Mesh {
    /// Whether indices, numbers and sizes fit.
    pub fn check(&self) -> Result<(), MeshError> {
        for ((what, most), count) in
            MOST.into_iter().zip([self.nodes, self.links.len(), self.flows.len()])
        {
            at_most(what, count, most)?;
        }
        at_most("hops", self.flows.iter().map(|flow| flow.hops.len()).sum(), MOST_HOPS)?;
        for &(a, b) in &self.hears {
            known("hears", "node", a.max(b), self.nodes)?;
        }
        for link in &self.links {
            known("a link", "node", link.sender.max(link.receiver), self.nodes)?;
            positive("the rate of a link", link.rate_bps)?;
            positive("the round trip of a link", link.round_trip_s)?;
        }
        self.flows.iter().enumerate().try_for_each(|(i, flow)| self.check_flow(i, flow))
    }

    fn check_flow(&self, index: usize, flow: &Flow) -> Result<(), MeshError> {
        for &hop in &flow.hops {
            known("a flow", "link", hop, self.links.len())?;
        }
        let follows = |w: &[usize]| self.links[w[0]].receiver == self.links[w[1]].sender;
        if flow.hops.is_empty() || !flow.hops.windows(2).all(follows) {
            return Err(MeshError::Broken { flow: index });
        }
        if let Some(demand) = flow.demand_bps {
            positive("the demand of a flow", demand)?;
        }
        if flow.other_delay_s >= 0.0 && flow.other_delay_s.is_finite() {
            return Ok(());
        }
        let value = flow.other_delay_s.to_string();
        Err(MeshError::Number {
            what: "the delay of a flow",
            value,
            expected: "finite, at least 0",
        })
    }
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), MeshError> {
    if count <= most { Ok(()) } else { Err(MeshError::TooLarge { what, count, most }) }
}

fn known(
    what: &'static str,
    kind: &'static str,
    index: usize,
    count: usize,
) -> Result<(), MeshError> {
    if index < count { Ok(()) } else { Err(MeshError::Unknown { what, kind, index, count }) }
}

fn positive(what: &'static str, value: f64) -> Result<(), MeshError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(MeshError::Number { what, value: value.to_string(), expected: "finite, above 0" })
}
