//! Routes through a mesh: the links, the cost of each link, and the cheapest routes.
//!
//! [`Graph`] has the links and their costs, [`ShortestPaths`] finds routes, and [`airtime_cost`] is the cost that IEEE
//! 802.11 defines for the links of a mesh.

mod airtime;
mod graph;

pub use airtime::{TEST_FRAME_BYTES, airtime_cost, test_exchange};
pub use graph::{Cost, Graph, ShortestPaths};
