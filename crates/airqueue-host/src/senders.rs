//! The packets that a node's kernel keeps while the node's station has them.
//!
//! A packet comes twice: as a copy when the kernel begins to keep the packet, which is when the network gets the packet,
//! and from the node's device when the station is done with the packet and the kernel lets the packet go. The second is
//! what makes `tcpdump` and the device's counters see the packet, and means nothing to the network.

use crate::packet_queue::{Kept, PacketQueue};
use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Enough of a packet to recognise it: with the checksum of the transport layer, if there is one.
const HEAD_BYTES: usize = 64;

/// The kept packets of a node.
#[derive(Debug)]
pub struct Senders<'a> {
    /// The node, as an index of the emulation's nodes.
    pub node: usize,
    queue: PacketQueue<'a>,
    kept: Vec<Packet>,
    free: Vec<u32>,
    /// Packets that were let go, and have not come from the device.
    returning: VecDeque<Face>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    id: u32,
    face: Face,
}

/// What a packet looks like: its length and its headers, without the fields that netfilter may change between the queue and
/// the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Face {
    size: usize,
    head: [u8; HEAD_BYTES],
}

impl Face {
    fn of(packet: &[u8]) -> Face {
        let mut head = [0; HEAD_BYTES];
        let known = packet.len().min(HEAD_BYTES);
        head[..known].copy_from_slice(&packet[..known]);
        match head[0] >> 4 {
            // Type of service, time to live, and the checksum of the header (RFC 791).
            4 => [1, 8, 10, 11].into_iter().for_each(|at| head[at] = 0),
            // Traffic class, flow label, and hop limit (RFC 8200).
            _ => [0, 1, 2, 3, 7].into_iter().for_each(|at| head[at] = 0),
        }
        Face { size: packet.len(), head }
    }
}

impl<'a> Senders<'a> {
    /// The packets of a node that [`packet_queue::open`](crate::packet_queue::open) made the kernel keep.
    pub fn new(node: usize, queue: &'a OwnedFd) -> Senders<'a> {
        Senders {
            node,
            queue: PacketQueue::new(queue),
            kept: Vec::new(),
            free: Vec::new(),
            returning: VecDeque::new(),
        }
    }

    /// Reads the next packet of at most `most` bytes, and returns it with its token; `None` if there is none. Larger
    /// packets go on: the kernel makes fragments, which come from the device alone.
    pub fn read<'b>(
        &mut self,
        buffer: &'b mut [u8],
        most: usize,
    ) -> nix::Result<Option<(u32, &'b [u8])>> {
        while let Some(Kept { id, bytes }) = self.queue.read(buffer)? {
            if bytes.len() <= most {
                let packet = Packet { id, face: Face::of(&buffer[bytes.clone()]) };
                return Ok(Some((self.keep(packet), &buffer[bytes])));
            }
            self.queue.let_go(id)?;
        }
        Ok(None)
    }

    fn keep(&mut self, packet: Packet) -> u32 {
        let Some(token) = self.free.pop() else {
            self.kept.push(packet);
            return self.kept.len() as u32 - 1;
        };
        self.kept[token as usize] = packet;
        token
    }

    /// The station is done with the packet of a token.
    pub fn let_go(&mut self, token: u32) -> nix::Result<()> {
        let Packet { id, face } = self.kept[token as usize];
        self.free.push(token);
        self.returning.push_back(face);
        self.queue.let_go(id)
    }

    /// Has the kernel do what was said up to now.
    pub fn flush(&mut self) -> nix::Result<()> {
        self.queue.send_verdicts()
    }

    /// Whether a packet from the device is one that was let go, and that the network has had before.
    ///
    /// Packets return in the order in which they were let go, among packets that were never kept; a packet that the device
    /// has dropped does not return.
    pub fn returns(&mut self, packet: &[u8]) -> bool {
        let face = Face::of(packet);
        let Some(at) = self.returning.iter().position(|each| *each == face) else { return false };
        self.returning.drain(..=at);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8) -> Vec<u8> {
        let mut packet = vec![0x45; 100];
        packet[5] = number;
        packet
    }

    fn letting_go<'a>(queue: &'a OwnedFd, numbers: &[u8]) -> Senders<'a> {
        let mut senders = Senders::new(0, queue);
        for &number in numbers {
            let token = senders.keep(Packet { id: 7, face: Face::of(&packet(number)) });
            let _ = senders.let_go(token);
        }
        senders
    }

    #[test]
    fn packets_that_were_let_go_are_recognised_once() {
        let queue = std::fs::File::open("/dev/null").unwrap().into();
        let mut senders = letting_go(&queue, &[1, 2, 2, 3]);
        // 9 was never kept; the device has dropped the second 2.
        let found = [9, 1, 1, 2, 9, 3, 2].map(|number| senders.returns(&packet(number)));
        assert_eq!(found, [false, true, false, true, false, true, false]);
        assert!(!senders.returns(&packet(1)[..99]));
    }

    #[test]
    fn a_packet_whose_class_netfilter_changes_is_the_same_packet() {
        let queue = std::fs::File::open("/dev/null").unwrap().into();
        let mut senders = letting_go(&queue, &[1]);
        let mut changed = packet(1);
        (changed[1], changed[8], changed[10]) = (0xb8, 3, 1);
        assert!(senders.returns(&changed));
    }
}
