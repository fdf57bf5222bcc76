//! The path between the real endpoints: sessions over a bottleneck and through a cell, and what configurations are refused.

mod cell;
#[path = "../../../airqueue-network/tests/network/cells/mod.rs"]
mod cells;
mod config;
mod marked;
mod measured;
mod sessions;
