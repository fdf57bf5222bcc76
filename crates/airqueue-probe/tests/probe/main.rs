//! Measurements of two hosts over a pretended network.

mod codec;
mod common;
#[path = "../../../airqueue-network/tests/network/counting/mod.rs"]
mod counting;
mod echo;
mod hostile;
mod load;
mod pair;
mod receiver;
mod steady;
mod together;
mod turns;
mod uploads;
