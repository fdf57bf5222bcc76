//! The devices of real nodes, as the emulator's loop sees them: descriptors of whole IP packets.

use crate::error::HostError;
use crate::packet_ring::PacketRing;
use crate::tun;
use nix::libc;
use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

sockopt_impl!(
    /// The family of a socket (socket(7)).
    Domain,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_DOMAIN,
    libc::c_int
);

/// A node's device, of any kind. All methods may be called from any thread, and none waits.
#[derive(Debug)]
pub enum PacketDevice {
    /// A descriptor that `read` and `write` whole IP packets: a TUN device, a socket of datagrams.
    Descriptor(OwnedFd),
    /// A TUN device with notes before each packet ([`airqueue_emulator::offload`]).
    Noted {
        /// The descriptor.
        device: OwnedFd,
        /// Whether segments that leave the network at one instant are written as one packet.
        merges: bool,
    },
    /// A packet socket at the other end of a node's veth pair ([`crate::veth`]).
    Ring(PacketRing),
}

impl PacketDevice {
    /// The device that this descriptor is. `merges`: segments that leave the network at one instant are written as one packet,
    /// where the device has notes, which say so.
    pub fn new(device: OwnedFd, merges: bool) -> Result<PacketDevice, HostError> {
        match getsockopt(&device, Domain) {
            Ok(libc::AF_PACKET) => PacketRing::new(device).map(PacketDevice::Ring),
            // What is no socket has no family.
            _ if tun::has_notes(&device) => Ok(PacketDevice::Noted { device, merges }),
            _ => Ok(PacketDevice::Descriptor(device)),
        }
    }

    /// Reads the next packet, and returns its size; `EAGAIN`: no packet is there.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<usize> {
        match self {
            PacketDevice::Descriptor(device) | PacketDevice::Noted { device, .. } => {
                nix::unistd::read(device, buffer)
            }
            PacketDevice::Ring(ring) => ring.read(buffer),
        }
    }

    /// Writes a packet to the node, and returns how many of its bytes were taken.
    pub fn write(&self, packet: &[u8]) -> nix::Result<usize> {
        match self {
            PacketDevice::Descriptor(device) | PacketDevice::Noted { device, .. } => {
                nix::unistd::write(device, packet)
            }
            PacketDevice::Ring(ring) => ring.write(packet),
        }
    }

    /// Whether what is read and written begins with notes.
    pub fn has_notes(&self) -> bool {
        matches!(self, PacketDevice::Noted { .. })
    }

    /// Whether segments that leave the network at one instant are written as one packet.
    pub fn merges(&self) -> bool {
        matches!(self, PacketDevice::Noted { merges: true, .. })
    }

    /// Packets that the kernel dropped because they were not read in time, beyond those in the device's own counters.
    pub fn dropped(&self) -> u64 {
        match self {
            PacketDevice::Descriptor(_) | PacketDevice::Noted { .. } => 0,
            PacketDevice::Ring(ring) => ring.dropped(),
        }
    }
}

impl AsFd for PacketDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            PacketDevice::Descriptor(device) | PacketDevice::Noted { device, .. } => device.as_fd(),
            PacketDevice::Ring(ring) => ring.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn a_socket_of_datagrams_is_a_device() {
        let (inner, outer) = UnixDatagram::pair().unwrap();
        inner.set_nonblocking(true).unwrap();
        let device = PacketDevice::new(inner.into(), true).unwrap();
        let mut buffer = [0; 10];
        assert_eq!(device.read(&mut buffer), Err(Errno::EAGAIN));
        outer.send(b"in").unwrap();
        assert_eq!(device.read(&mut buffer), Ok(2));
        assert_eq!(device.write(b"out"), Ok(3));
        assert_eq!(outer.recv(&mut buffer).unwrap(), 3);
        assert_eq!(device.dropped(), 0);
    }
}
