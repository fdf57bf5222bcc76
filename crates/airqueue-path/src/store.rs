//! The datagrams in transit.

use airqueue_core::{Ecn, Packet, Payload};
use std::net::SocketAddr;

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The host that requests runs.
    Client,
    /// The host that grants runs.
    Server,
}

/// A datagram in transit.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The destination.
    pub to: Side,
    /// Index of the destination's socket.
    pub socket: usize,
    /// Address of the sender.
    pub from: SocketAddr,
    /// Traffic class: as sent, and as it arrived once it has.
    pub traffic_class: u8,
    /// UDP payload.
    pub bytes: Vec<u8>,
}

impl Datagram {
    /// The traffic class of its header after `packet` has crossed the device with it. A packet knows only whether it is
    /// ECN-capable: the datagram knows ECT(1); what the scenario made capable is ECT(0).
    pub fn class_on_arrival(&self, packet: &Packet) -> u8 {
        let ecn = match packet.ecn {
            Ecn::NotEct => 0b00,
            Ecn::Ect if self.traffic_class & 3 == 0b01 => 0b01,
            Ecn::Ect => 0b10,
            Ecn::Ce => 0b11,
        };
        packet.dscp << 2 | ecn
    }
}

/// Datagrams by payload handle. Buffers and places are reused: the store allocates nothing once it has held the largest
/// number of datagrams in transit.
#[derive(Clone, Debug, Default)]
pub struct DatagramStore {
    places: Vec<Option<Datagram>>,
    free: Vec<u32>,
    buffers: Vec<Vec<u8>>,
}

impl DatagramStore {
    /// A buffer to write a datagram into.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    /// Stores a datagram until `take`.
    pub fn put(&mut self, datagram: Datagram) -> Payload {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(datagram);
        Payload(place)
    }

    /// Takes a datagram out; `None` if the handle has none.
    pub fn take(&mut self, payload: Payload) -> Option<Datagram> {
        let datagram = self.places.get_mut(payload.0 as usize)?.take()?;
        self.free.push(payload.0);
        Some(datagram)
    }

    /// Discards a datagram that was not delivered.
    pub fn discard(&mut self, payload: Payload) {
        if let Some(datagram) = self.take(payload) {
            self.recycle(datagram.bytes);
        }
    }
}
