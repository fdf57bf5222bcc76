//! Queue disciplines of interfaces (rtnetlink's traffic control): read whole, set whole, put back whole.
//!
//! The tree below an interface's root is kept as the kernel tells it, in bytes, so that disciplines that no plan can
//! name are put back too. A tree is replaced by one batch of requests in one system call: a process that is killed has
//! replaced all of it or none.

mod build;
mod kinds;
mod message;
mod point;
mod tree;
mod words;

pub use point::Queues;
pub use tree::{Node, Tree};
