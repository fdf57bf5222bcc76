//! The event loop on the virtual clock, and what is assembled on it.

pub mod event;
pub mod path;
pub mod run_loop;
