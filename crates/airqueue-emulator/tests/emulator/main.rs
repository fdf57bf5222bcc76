//! Emulations: packets of real programs in simulated networks.

mod captures;
mod changes;
mod common;
mod emulation;
mod fragmenting;
mod fragments;
mod held;
mod hostile;
mod offload;
mod roaming;
mod routers;
