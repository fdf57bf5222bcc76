//! The datagrams in transit.

use airqueue_core::Payload;
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
    /// UDP payload.
    pub bytes: Vec<u8>,
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
