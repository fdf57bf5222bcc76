//! Packet sockets that are read from memory shared with the kernel (packet(7), `PACKET_RX_RING`, `TPACKET_V2`).
//!
//! The receive buffer of a socket has at most `net.core.rmem_max` bytes unless the machine's administrator allows more:
//! a few hundred packets. The ring has no such limit, and its packets come with the kernel's notes without a system call each.

// A part of the shells: acting on the operating system is its purpose (ARCHITECTURE.md, invariant 1).
#![allow(clippy::disallowed_methods)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockType, SockaddrLike, bind, getsockopt, setsockopt, socket,
};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the kernel writes a packet's address, behind its notes.
const ADDRESS_AT: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

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
    /// Packets and drops since the last reading.
    Statistics,
    GetOnly,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    libc::tpacket_stats
);

/// How a ring divides its memory.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Room of a packet, with the kernel's notes of some 80 bytes before it.
    pub frame_bytes: usize,
    /// How many packets there is room for.
    pub frames: usize,
    /// The kernel allocates the ring in such parts.
    pub block_bytes: usize,
}

impl Layout {
    fn bytes(&self) -> nix::Result<NonZeroUsize> {
        NonZeroUsize::new(self.frame_bytes * self.frames).ok_or(Errno::EINVAL)
    }
}

/// Opens a packet socket with a ring. No packet comes before the socket is bound by [`bind_to`].
pub fn open(kind: SockType, layout: &Layout) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    // Protocol 0: no packet comes before the socket is bound.
    let opened = socket(AddressFamily::Packet, kind, flags, None)?;
    setsockopt(&opened, Version, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
    let size = libc::tpacket_req {
        tp_block_size: layout.block_bytes as libc::c_uint,
        tp_block_nr: (layout.bytes()?.get() / layout.block_bytes) as libc::c_uint,
        tp_frame_size: layout.frame_bytes as libc::c_uint,
        tp_frame_nr: layout.frames as libc::c_uint,
    };
    setsockopt(&opened, RxRing, &size)?;
    Ok(opened)
}

/// Has packets of all protocols at an interface of this namespace come to a socket.
pub fn bind_to(socket: &impl AsFd, interface: libc::c_int) -> nix::Result<()> {
    bind(socket.as_fd().as_raw_fd(), &address(interface, libc::ETH_P_ALL, &[])?)
}

/// A node at an interface, by the hardware address, and a protocol of `linux/if_ether.h`.
pub fn address(
    interface: libc::c_int,
    protocol: libc::c_int,
    node: &[u8],
) -> nix::Result<LinkAddr> {
    let mut bytes = [0; 8];
    bytes.get_mut(..node.len()).ok_or(Errno::EINVAL)?.copy_from_slice(node);
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::sa_family_t,
        sll_protocol: (protocol as u16).to_be(),
        sll_ifindex: interface,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: node.len() as u8,
        sll_addr: bytes,
    };
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: a whole address of that size.
    unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(size)) }.ok_or(Errno::EINVAL)
}

/// Packets that found the ring full, since this was last asked.
pub fn newly_dropped(socket: &impl AsFd) -> u64 {
    getsockopt(socket, Statistics).map_or(0, |of| u64::from(of.tp_drops))
}

/// The memory of a socket's ring.
#[derive(Debug)]
pub struct Ring {
    memory: NonNull<c_void>,
    layout: Layout,
    /// The frame that the kernel fills next.
    next: usize,
}

// SAFETY: the memory belongs to the ring alone, and reading takes the ring for itself.
unsafe impl Send for Ring {}

/// A packet in a ring.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The kernel's notes: `TP_STATUS_*`.
    pub status: u32,
    /// What the kernel tells of the packet.
    pub header: libc::tpacket2_hdr,
    /// `PACKET_OUTGOING` and others.
    pub kind: u8,
    memory: &'a [u8],
}

impl Ring {
    /// Maps the ring of a socket of [`open`] with this layout; there must be no other `Ring` of the socket.
    pub fn map(socket: &impl AsFd, layout: Layout) -> nix::Result<Ring> {
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let memory =
            unsafe { mmap(None, layout.bytes()?, access, MapFlags::MAP_SHARED, socket, 0) }?;
        Ok(Ring { memory, layout, next: 0 })
    }

    /// Hands over the next packet, whose place is the kernel's again afterwards; `None`: no packet is there.
    pub fn read<T>(&mut self, take: impl FnOnce(&Frame) -> T) -> Option<T> {
        let Layout { frame_bytes, frames, .. } = self.layout;
        // SAFETY: `next` is below the number of frames, which the mapping has.
        let frame = unsafe { self.memory.cast::<u8>().add(self.next * frame_bytes) };
        // SAFETY: a frame begins with its status, is aligned, and lives as long as the mapping.
        let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
        let found = status.load(Ordering::Acquire);
        if found & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the frame belongs to this side until the status changes, and begins with this header.
        let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
        // SAFETY: the kernel writes the packet's address there, within the frame.
        let from = unsafe { frame.add(ADDRESS_AT).cast::<libc::sockaddr_ll>().read_unaligned() };
        // SAFETY: the bytes of the frame, which belong to this side.
        let memory = unsafe { std::slice::from_raw_parts(frame.as_ptr(), frame_bytes) };
        let taken = take(&Frame { status: found, header, kind: from.sll_pkttype, memory });
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % frames;
        Some(taken)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if let Ok(bytes) = self.layout.bytes() {
            // SAFETY: the mapping of `map`, which nobody uses any more. There is nothing to do about an error.
            let _ = unsafe { munmap(self.memory, bytes.get()) };
        }
    }
}

impl Frame<'_> {
    /// What the ring holds of the packet from the link's header on. A socket of datagrams has none.
    pub fn from_link(&self) -> &[u8] {
        self.from(self.header.tp_mac)
    }

    /// What the ring holds of the packet from the IP header on, of a socket of datagrams.
    pub fn from_network(&self) -> &[u8] {
        self.from(self.header.tp_net)
    }

    fn from(&self, begins: u16) -> &[u8] {
        let held = &self.memory[usize::from(begins).min(self.memory.len())..];
        &held[..(self.header.tp_snaplen as usize).min(held.len())]
    }
}
