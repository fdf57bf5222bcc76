//! The packets that a node's kernel keeps while the node's station has them.
//!
//! A packet comes twice: as a copy when the kernel begins to keep the packet, which is when the network gets the packet,
//! and from the node's device when the station is done with the packet and the kernel lets the packet go. The second is
//! what makes `tcpdump` and the device's counters see the packet, and means nothing to the network.

use crate::packet_queue::{Kept, PacketQueue};
use std::collections::HashMap;
use std::os::fd::OwnedFd;

/// Enough of a packet to recognise it: with the checksum of the transport layer, if there is one.
const HEAD_BYTES: usize = 64;
/// Most packets, by their looks, that may be on their way from the kernel to the device; those that the device has dropped are
/// among them, and are forgotten when as many others have been let go.
const MOST_RETURNING: usize = 20_000;

/// The kept packets of a node.
#[derive(Debug)]
pub struct Senders<'a> {
    /// The node, as an index of the emulation's nodes.
    pub node: usize,
    /// The MTU of the node's device.
    mtu_bytes: u32,
    queue: PacketQueue<'a>,
    kept: Vec<Packet>,
    free: Vec<u32>,
    /// Packets that were let go, and have not come from the device: how many of each look.
    returning: HashMap<Face, u32>,
    /// Those that were let go before these.
    returning_before: HashMap<Face, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    id: u32,
    face: Face,
}

/// What a packet looks like: its length and its headers, without the fields that netfilter may change between the queue and
/// the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    pub fn new(node: usize, mtu_bytes: u32, queue: &'a OwnedFd) -> Senders<'a> {
        Senders {
            node,
            mtu_bytes,
            queue: PacketQueue::new(queue),
            kept: Vec::new(),
            free: Vec::new(),
            returning: HashMap::new(),
            returning_before: HashMap::new(),
        }
    }

    /// Reads the next packet, and returns it with its token; `None` if there is none. Packets that are larger than the MTU go
    /// on: the kernel makes fragments, which come from the device alone.
    pub fn read<'b>(&mut self, buffer: &'b mut [u8]) -> nix::Result<Option<(u32, &'b [u8])>> {
        while let Some(Kept { id, bytes }) = self.queue.read(buffer)? {
            if bytes.len() <= self.mtu_bytes as usize {
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
        if self.returning.len() >= MOST_RETURNING {
            std::mem::swap(&mut self.returning, &mut self.returning_before);
            self.returning.clear();
        }
        *self.returning.entry(face).or_default() += 1;
        self.queue.let_go(id)
    }

    /// Has the kernel do what was said up to now.
    pub fn flush(&mut self) -> nix::Result<()> {
        self.queue.send_verdicts()
    }

    /// Whether a packet from the device is one that was let go, and that the network has had before.
    ///
    /// Packets return in any order, since programs may attach a discipline to the device, and among packets that were never
    /// kept; a packet that the device has dropped does not return.
    pub fn returns(&mut self, packet: &[u8]) -> bool {
        let face = Face::of(packet);
        take(&mut self.returning, &face) || take(&mut self.returning_before, &face)
    }
}

/// Takes one packet of this look out, if there is one.
fn take(from: &mut HashMap<Face, u32>, face: &Face) -> bool {
    let Some(count) = from.get_mut(face) else { return false };
    *count -= 1;
    if *count == 0 {
        from.remove(face);
    }
    true
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
        let mut senders = Senders::new(0, 1500, queue);
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
        // 9 was never kept; 3 overtakes the second 2 at the device.
        let found = [9, 1, 1, 2, 9, 3, 2, 2].map(|number| senders.returns(&packet(number)));
        assert_eq!(found, [false, true, false, true, false, true, true, false]);
        assert!(!senders.returns(&packet(1)[..99]));
    }

    #[test]
    fn packets_that_never_return_are_forgotten() {
        let queue = std::fs::File::open("/dev/null").unwrap().into();
        let mut senders = letting_go(&queue, &[1]);
        for number in 0..2 * MOST_RETURNING as u32 {
            let mut dropped = packet(2);
            dropped[20..24].copy_from_slice(&number.to_be_bytes());
            let token = senders.keep(Packet { id: 7, face: Face::of(&dropped) });
            let _ = senders.let_go(token);
        }
        assert!(!senders.returns(&packet(1)));
        assert!(senders.returning.len() + senders.returning_before.len() <= 2 * MOST_RETURNING);
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
