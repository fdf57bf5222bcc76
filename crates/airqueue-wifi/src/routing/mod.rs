//! Ways through a mesh: which links there are, what each one costs, and the cheapest route over them.
//!
//! [`Graph`] has the links and their costs, [`ShortestPaths`] finds ways in it, and [`airtime_cost`] is the cost that
//! IEEE 802.11 gives the links of a mesh.

mod airtime;
mod graph;

pub use airtime::{TEST_FRAME_BYTES, airtime_cost, test_exchange};
pub use graph::{Cost, Graph, ShortestPaths};
