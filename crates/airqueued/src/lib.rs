//! Settings of queues on a Linux machine: applied, watched and taken back.

// This is a shell: reading clocks and acting on the operating system is its purpose
// (ARCHITECTURE.md, invariant 1).
#![allow(clippy::disallowed_methods)]

pub mod netlink;
pub mod radio;
