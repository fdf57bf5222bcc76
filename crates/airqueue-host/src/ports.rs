//! The devices of an emulation's nodes, as its loop reads and writes them: with segmentation offload where the device has
//! it, and with what was measured of writing.

use crate::clock::monotonic;
use crate::packet_device::PacketDevice;
use airqueue_core::{Span, Time};
use airqueue_emulator::offload::{Merger, NOTES_BYTES, Segments, split};
use airqueue_emulator::{Departure, Lateness};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The devices, in the order of the nodes.
#[derive(Debug)]
pub struct Ports {
    ports: Vec<Port>,
    /// When the packets that wait to be merged with others left the network: all of them at one instant.
    waiting: Option<Time>,
}

#[derive(Debug)]
struct Port {
    device: Arc<PacketDevice>,
    /// Of a device with notes.
    merger: Option<Merger>,
}

/// What is measured of writing.
#[derive(Debug)]
pub struct Log<'a> {
    /// How late packets were written.
    pub lateness: &'a mut Lateness,
    /// Packets that a device did not take.
    pub unwritten: &'a mut u64,
    /// Network time minus wall-clock time.
    pub offset: Span,
    /// The latest reading of the clock.
    pub now: &'a mut Time,
}

impl Ports {
    /// These devices.
    pub fn new(devices: Vec<Arc<PacketDevice>>) -> Ports {
        let port = |device: Arc<PacketDevice>| {
            let merger = device.has_notes().then(Merger::default);
            Port { device, merger }
        };
        Ports { ports: devices.into_iter().map(port).collect(), waiting: None }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// The descriptors to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.device.as_fd())
    }

    /// Reads what a node sends next into a buffer, and returns the number of bytes, for [`Self::packets`].
    pub fn read(&self, node: usize, buffer: &mut [u8]) -> nix::Result<usize> {
        self.ports[node].device.read(buffer)
    }

    /// The packets in what was read; `None`: no packet can be made of the bytes.
    pub fn packets<'b>(&self, node: usize, read: &'b mut [u8]) -> Option<Segments<'b>> {
        match &self.ports[node].merger {
            None => Some(Segments::whole(read)),
            Some(_) => split(read),
        }
    }

    /// What was read without the notes before the packet.
    pub fn packet<'b>(&self, node: usize, read: &'b [u8]) -> &'b [u8] {
        let notes = if self.ports[node].merger.is_none() { 0 } else { NOTES_BYTES };
        read.get(notes..).unwrap_or_default()
    }

    /// Writes a packet to its node; where segments are merged at [`Self::flush`] at the latest, or when a packet of a later
    /// time comes.
    pub fn write(&mut self, packet: &Departure<'_>, log: &mut Log<'_>) {
        if self.waiting.is_some_and(|due| due != packet.due) {
            self.flush(log);
        }
        let Port { device, merger } = &mut self.ports[packet.to];
        let mut write = |record: &[u8], packets| log.write(device, record, packet.due, packets);
        match merger {
            None => write(packet.bytes, 1),
            Some(merger) if device.merges() => {
                self.waiting = Some(packet.due);
                merger.add(packet.bytes, &mut write);
            }
            Some(merger) => merger.write_alone(packet.bytes, &mut write),
        }
    }

    /// Whether packets wait to be merged with others.
    pub fn waits(&self) -> bool {
        self.waiting.is_some()
    }

    /// Writes what waits if the network's next event is at another time.
    pub fn flush_before(&mut self, next: Option<Time>, log: &mut Log<'_>) {
        if self.waiting.is_some() && self.waiting != next {
            self.flush(log);
        }
    }

    /// Writes what waits.
    pub fn flush(&mut self, log: &mut Log<'_>) {
        let Some(due) = self.waiting.take() else { return };
        for Port { device, merger } in &mut self.ports {
            if let Some(merger) = merger {
                merger.flush(&mut |record, packets| log.write(device, record, due, packets));
            }
        }
    }
}

impl Log<'_> {
    fn write(&mut self, device: &PacketDevice, bytes: &[u8], due: Time, packets: usize) {
        let written = device.write(bytes);
        *self.now = monotonic();
        if written != Ok(bytes.len()) {
            *self.unwritten += packets as u64;
            return;
        }
        for _ in 0..packets {
            self.lateness.add(*self.now + self.offset - due);
        }
    }
}
