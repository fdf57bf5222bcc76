//! A cell with two real nodes, and packets between them.

use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;
use airqueue_scenario::emulated::Emulated;
use etherparse::PacketBuilder;
use std::net::{IpAddr, Ipv4Addr};

pub const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "queue": {"discipline": "droptail", "limit": "10 packets"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": true}, {"name": "tablet"}],
    "hosts": [{"name": "server", "link": "ap", "delay": "10 ms", "real": true}]
}"#;

pub fn cell(real: &[&str]) -> Emulated {
    let real: Vec<String> = real.iter().map(|name| (*name).to_owned()).collect();
    Scenario::emulated(CELL, &real).unwrap()
}

pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1)
}

pub fn start(emulated: &Emulated) -> Emulation {
    let mut emulation = Emulation::new(emulated, Seed(1)).unwrap();
    for node in 0..emulated.nodes.len() {
        emulation.set_address(node, IpAddr::V4(address(node)));
    }
    emulation
}

pub fn datagram(from: usize, to: usize, port: u16, tos: u8, size: usize) -> Vec<u8> {
    let (from, to) = (address(from).octets(), address(to).octets());
    let mut packet = Vec::new();
    PacketBuilder::ipv4(from, to, 64).udp(port, 9).write(&mut packet, &vec![0; size - 28]).unwrap();
    // The builder has no traffic class: the header's checksum is that of class 0.
    packet[1] = tos;
    let sum = u16::from_be_bytes([packet[10], packet[11]]) - u16::from(tos);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Runs to `until`, and returns what left the network: receiver, bytes, time.
pub fn run(emulation: &mut Emulation, until: Time) -> Vec<(usize, Vec<u8>, Time)> {
    let mut left = Vec::new();
    while emulation.step(until, &mut |of| left.push((of.to, of.bytes.to_vec(), of.due))) {}
    left
}

pub fn seconds(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}
