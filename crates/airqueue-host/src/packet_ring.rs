//! The other end of a real node's veth pair: a packet socket with a ring ([`airqueue_ring`]).

use crate::error::HostError;
use crate::veth::NODE_ADDRESS;
use airqueue_ring::{Layout, Ring};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{LinkAddr, MsgFlags, SockType, getsockopt, sendto, setsockopt, sockopt};
use nix::{setsockopt_impl, sockopt_impl};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Packets that the kernel holds while the emulator is not running: 16 ms of 250 000 packets/s, in 8 MB.
const LAYOUT: Layout = Layout { frame_bytes: 2048, frames: 4096, block_bytes: 1 << 17 };

sockopt_impl!(
    /// Whether packets that this side sends are left out.
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
    libc::c_int
);

/// Opens a socket for all packets that come to a network interface of this namespace, without their Ethernet headers.
pub fn open(interface: libc::c_int) -> nix::Result<OwnedFd> {
    let opened = airqueue_ring::open(SockType::Datagram, &LAYOUT)?;
    setsockopt(&opened, IgnoreOutgoing, &1)?;
    airqueue_ring::bind_to(&opened, interface)?;
    Ok(opened)
}

/// A socket of [`open`], with its ring.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    ring: Mutex<Ring>,
    /// Where packets of both versions of IP go.
    nodes: [LinkAddr; 2],
    dropped: AtomicU64,
}

impl PacketRing {
    /// Maps the ring of a socket of [`open`]; there must be no other `PacketRing` of this socket.
    pub fn new(socket: OwnedFd) -> Result<PacketRing, HostError> {
        let failed = |errno: Errno| HostError::system("use a packet socket")(errno.into());
        let interface = interface(&socket).map_err(failed)?;
        let node = |protocol| airqueue_ring::address(interface, protocol, &NODE_ADDRESS);
        let nodes =
            [node(libc::ETH_P_IP).map_err(failed)?, node(libc::ETH_P_IPV6).map_err(failed)?];
        let ring = Mutex::new(Ring::map(&socket, LAYOUT).map_err(failed)?);
        Ok(PacketRing { socket, ring, nodes, dropped: AtomicU64::new(0) })
    }

    /// Reads the next packet, and returns its size; `EAGAIN`: no packet is there. A packet that does not fit into a frame
    /// is cut off; a packet without its checksum is returned as no bytes. Neither is a whole packet.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<usize> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let read = ring.read(|frame| {
            // The sender left the checksum to a device that does not exist.
            if frame.status & libc::TP_STATUS_CSUMNOTREADY != 0 {
                return 0;
            }
            let packet = frame.from_network();
            let size = packet.len().min(buffer.len());
            buffer[..size].copy_from_slice(&packet[..size]);
            size
        });
        read.ok_or_else(|| self.error())
    }

    /// Why there is no packet.
    fn error(&self) -> Errno {
        match getsockopt(&self.socket, sockopt::SocketError) {
            Ok(0) => Errno::EAGAIN,
            Ok(error) => Errno::from_raw(error),
            Err(errno) => errno,
        }
    }

    /// Writes a packet to the node.
    pub fn write(&self, packet: &[u8]) -> nix::Result<usize> {
        let version = packet.first().ok_or(Errno::EINVAL)? >> 4;
        let node = &self.nodes[usize::from(version == 6)];
        sendto(self.socket.as_raw_fd(), packet, node, MsgFlags::MSG_DONTWAIT)
    }

    /// Packets that found the ring full, since the socket was opened.
    pub fn dropped(&self) -> u64 {
        let new = airqueue_ring::newly_dropped(&self.socket);
        self.dropped.fetch_add(new, Ordering::Relaxed) + new
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The interface to which a packet socket is bound. nix's `getsockname` refuses the kernel's answer, which is shorter than
/// the structure.
fn interface(socket: &OwnedFd) -> nix::Result<libc::c_int> {
    // SAFETY: all bytes zero are a valid address.
    let mut bound: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel writes at most `size` bytes of the address.
    let done =
        unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut bound).cast(), &raw mut size) };
    Errno::result(done).map(|_| bound.sll_ifindex)
}
