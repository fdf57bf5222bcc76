//! TCP against its RFCs: packet by packet, over a link of virtual time, and against closed forms.

mod acknowledging;
mod allocations;
mod batches;
mod bbr;
mod bottleneck;
mod closed_forms;
#[path = "../../../airqueue-network/tests/network/counting/mod.rs"]
mod counting;
mod handshake;
mod link;
mod linux;
mod ns2;
mod properties;
mod recovery;
mod script;
mod sending;
mod timing;
