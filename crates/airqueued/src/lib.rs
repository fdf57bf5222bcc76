//! Settings of queues on a Linux machine: applied, confirmed and taken back.
//!
//! `airqueue-control` decides; the modules here act: [`netlink`] and the control points on the kernel, [`state`] on the
//! journal's files, [`guard`] as a process of its own.

// This is a shell: reading clocks and acting on the operating system is its purpose
// (ARCHITECTURE.md, invariant 1).
#![allow(clippy::disallowed_methods)]

mod carry;
pub mod commands;
mod guard;
mod machine;
mod multicast;
pub mod netlink;
pub mod points;
pub mod qdisc;
pub mod radio;
mod state;
pub mod tap;
#[cfg(test)]
mod testing;
pub mod uci;
