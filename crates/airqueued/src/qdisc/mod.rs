//! Queue disciplines of interfaces (rtnetlink's traffic control): read whole, set whole, put back whole.
//!
//! The tree below an interface's root is kept as the kernel tells it, in bytes, so that disciplines that no plan can
//! name are put back too. A tree is replaced by one batch of requests in one system call: a process that is killed has
//! replaced all of it or none.

mod build;
mod cake;
pub mod counts;
mod filters;
mod kinds;
mod message;
mod point;
pub mod rates;
mod tbf;
mod tree;
mod trial;
mod words;

pub use point::Queues;
pub use tree::{Node, Tree};

use crate::netlink::{Message, NetlinkError};

/// What a message of the kernel says of a queue discipline, in words.
pub fn describe(message: &Message) -> Result<String, NetlinkError> {
    let node = tree::node((false, message::Told::read(message)?));
    Ok(words::of(&Tree { index: 0, default: None, nodes: vec![node], zero_length: false }))
}

/// The classes that have filters of ours, with the filters' numbers, in messages of the kernel.
pub fn classified(messages: &[Message]) -> Vec<(u16, u32)> {
    filters::ours(messages).collect()
}

#[cfg(test)]
mod tests;
