//! The bytes of the datagrams that are under way.

use airqueue_core::Payload;
use std::net::SocketAddr;

/// Which host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that asks for runs.
    Client,
    /// The one that grants them.
    Server,
}

/// A datagram under way.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Where it goes.
    pub to: Side,
    /// Index of the socket there.
    pub socket: usize,
    /// Who sent it.
    pub from: SocketAddr,
    /// UDP payload.
    pub bytes: Vec<u8>,
}

/// Datagrams by payload handle. Buffers and places are used again, so that nothing is allocated
/// once as many datagrams have been under way as ever will be.
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

    /// Keeps a datagram until `take`.
    pub fn put(&mut self, datagram: Datagram) -> Payload {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(datagram);
        Payload(place)
    }

    /// Takes a datagram out; `None` if there is none under this handle.
    pub fn take(&mut self, payload: Payload) -> Option<Datagram> {
        let datagram = self.places.get_mut(payload.0 as usize)?.take()?;
        self.free.push(payload.0);
        Some(datagram)
    }

    /// Forgets a datagram that went nowhere.
    pub fn discard(&mut self, payload: Payload) {
        if let Some(datagram) = self.take(payload) {
            self.recycle(datagram.bytes);
        }
    }
}
