//! A packet socket that reads from memory shared with the kernel (packet(7), `PACKET_RX_RING`).
//!
//! The receive buffer of a socket has at most `net.core.rmem_max` bytes unless the machine's administrator allows more:
//! a few hundred packets. The ring has no such limit.

use crate::error::HostError;
use crate::veth::NODE_ADDRESS;
use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, SockaddrLike, bind, getsockopt, sendto,
    setsockopt, socket, sockopt,
};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Room of a packet, with the kernel's notes of some 80 bytes before it.
const FRAME_BYTES: usize = 2048;
/// Packets that the kernel holds while the emulator is not running: 16 ms of 250 000 packets/s, in 8 MB.
const FRAMES: usize = 4096;
/// The kernel allocates the ring in such parts.
const BLOCK_BYTES: usize = 1 << 17;
const RING_BYTES: NonZeroUsize = NonZeroUsize::new(FRAME_BYTES * FRAMES).unwrap();

sockopt_impl!(
    /// The layout of the ring's frames.
    Version,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_VERSION,
    libc::c_int
);
sockopt_impl!(
    /// The size of the ring.
    RxRing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_RX_RING,
    libc::tpacket_req
);
sockopt_impl!(
    /// Whether packets that this side sends are left out.
    IgnoreOutgoing,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_IGNORE_OUTGOING,
    libc::c_int
);
sockopt_impl!(
    /// Packets and drops since the last reading.
    Statistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);

/// Opens a socket for all packets that come to a network interface of this namespace, without their Ethernet headers.
pub fn open(interface: libc::c_int) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    // Protocol 0: no packet comes before the socket is bound.
    let opened = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
    setsockopt(&opened, IgnoreOutgoing, &1)?;
    setsockopt(&opened, Version, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
    let size = libc::tpacket_req {
        tp_block_size: BLOCK_BYTES as libc::c_uint,
        tp_block_nr: (FRAMES * FRAME_BYTES / BLOCK_BYTES) as libc::c_uint,
        tp_frame_size: FRAME_BYTES as libc::c_uint,
        tp_frame_nr: FRAMES as libc::c_uint,
    };
    setsockopt(&opened, RxRing, &size)?;
    bind(opened.as_raw_fd(), &address(interface, libc::ETH_P_ALL)?)?;
    Ok(opened)
}

/// A socket of [`open`], with its ring.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    memory: NonNull<c_void>,
    /// The frame that the kernel fills next.
    next: Mutex<usize>,
    /// Where packets of both versions of IP go.
    nodes: [LinkAddr; 2],
    dropped: AtomicU64,
}

// SAFETY: the memory belongs to the ring alone, and `next` lets one thread at a time read.
unsafe impl Send for PacketRing {}
// SAFETY: as above.
unsafe impl Sync for PacketRing {}

impl PacketRing {
    /// Maps the ring of a socket of [`open`]; there must be no other `PacketRing` of this socket.
    pub fn new(socket: OwnedFd) -> Result<PacketRing, HostError> {
        let failed = |errno: Errno| HostError::system("use a packet socket")(errno.into());
        let interface = interface(&socket).map_err(failed)?;
        let node = |protocol| address(interface, protocol);
        let nodes =
            [node(libc::ETH_P_IP).map_err(failed)?, node(libc::ETH_P_IPV6).map_err(failed)?];
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap(None, RING_BYTES, access, MapFlags::MAP_SHARED, &socket, 0) }
            .map_err(failed)?;
        Ok(PacketRing { socket, memory, next: Mutex::new(0), nodes, dropped: AtomicU64::new(0) })
    }

    /// Reads the next packet, and returns its size; `EAGAIN`: no packet is there. A packet that does not fit into a frame
    /// is cut off; a packet without its checksum is returned as no bytes. Neither is a whole packet.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: `next` is below FRAMES, and the mapping has FRAMES frames.
        let frame = unsafe { self.memory.cast::<u8>().add(*next * FRAME_BYTES) };
        // SAFETY: a frame begins with its status, is aligned, and lives as long as the mapping.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        let found = status.load(Ordering::Acquire);
        if found & libc::TP_STATUS_USER == 0 {
            return Err(self.error());
        }
        // SAFETY: the frame belongs to this side until the status changes, and begins with this header.
        let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
        let begins = usize::from(header.tp_net).min(FRAME_BYTES);
        let size = (header.tp_snaplen as usize).min(FRAME_BYTES - begins).min(buffer.len());
        // SAFETY: the bytes are within the frame, which belongs to this side.
        let packet = unsafe { std::slice::from_raw_parts(frame.add(begins).as_ptr(), size) };
        buffer[..size].copy_from_slice(packet);
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        *next = (*next + 1) % FRAMES;
        // The sender left the checksum to a device that does not exist.
        Ok(if found & libc::TP_STATUS_CSUMNOTREADY == 0 { size } else { 0 })
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
        // Reading sets the kernel's counter to zero.
        let new = getsockopt(&self.socket, Statistics).map_or(0, |of| u64::from(of.tp_drops));
        self.dropped.fetch_add(new, Ordering::Relaxed) + new
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which nobody uses any more. There is nothing to do about an error.
        let _ = unsafe { munmap(self.memory, RING_BYTES.get()) };
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

/// The node at an interface's other end, and a protocol of `linux/if_ether.h`.
fn address(interface: libc::c_int, protocol: libc::c_int) -> nix::Result<LinkAddr> {
    let mut bytes = [0; 8];
    bytes[..NODE_ADDRESS.len()].copy_from_slice(&NODE_ADDRESS);
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::sa_family_t,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: NODE_ADDRESS.len() as u8,
        sll_addr: bytes,
    };
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: a whole address of that size.
    unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(size)) }.ok_or(Errno::EINVAL)
}
