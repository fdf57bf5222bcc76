//! Packets that pass an interface, seen without touching them (packet(7), `PACKET_RX_RING`).
//!
//! The kernel writes the headers of each packet of TCP and UDP, with its time, into memory that it shares with this process.
//! Nobody is woken for a packet: the service reads what has gathered when its clock says so.

use crate::machine;
use airqueue_control::flows::{Flows, Packet};
use airqueue_core::{Span, Time};
use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::socket::{
    AddressFamily, LinkAddr, SockFlag, SockType, SockaddrLike, bind, getsockopt, setsockopt, socket,
};
use nix::time::{ClockId, clock_gettime};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use std::ffi::c_void;
use std::fs;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use thiserror::Error;

/// Bytes of a packet that are kept: Ethernet with two tags, IPv6 with some extensions, TCP with its options.
const SNAP_BYTES: u32 = 128;
/// Room of a packet, with the kernel's notes of some 80 bytes before it.
const FRAME_BYTES: usize = 256;
/// How often a tap is to be read.
pub const READ_EVERY: Span = Span::from_millis(100);
/// Packets between two readings: 80 000 a second.
const FRAMES: usize = 8192;
/// The kernel allocates the ring in such parts.
const BLOCK_BYTES: usize = 1 << 16;
const RING_BYTES: NonZeroUsize = NonZeroUsize::new(FRAME_BYTES * FRAMES).unwrap();
/// Where the kernel writes the packet's address, behind its notes.
const ADDRESS_AT: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);
/// How often two clocks are read to compare them.
const READINGS: usize = 3;
/// A packet's time that is so far from now is one of a clock that was set.
const SET: Span = Span::from_secs(60);
/// `ARPHRD_ETHER`, of Ethernet and of 802.11.
const ETHERNET: &str = "1";

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
sockopt_impl!(
    /// Which packets are taken, and how much of them.
    Filter,
    SetOnly,
    libc::SOL_SOCKET,
    libc::SO_ATTACH_FILTER,
    libc::sock_fprog
);

/// Why an interface cannot be listened to.
#[derive(Debug, Error)]
pub enum TapError {
    /// There is none of this name.
    #[error("there is no interface {0}; `ip link` lists those there are")]
    NoInterface(String),
    /// Its packets have another header than Ethernet's.
    #[error("{0} has no Ethernet frames: listen to the interface towards the stations")]
    NoEthernet(String),
    /// The kernel refused.
    #[error("cannot listen to {interface}: {errno}{hint}")]
    Kernel {
        /// The interface.
        interface: String,
        /// The kernel's word.
        errno: Errno,
        /// What to do.
        hint: &'static str,
    },
}

/// An interface that is listened to.
#[derive(Debug)]
pub struct Tap {
    socket: OwnedFd,
    memory: NonNull<c_void>,
    /// The frame that the kernel fills next.
    next: usize,
    lost: u64,
}

impl Tap {
    /// Listens to an interface of this network namespace.
    pub fn open(interface: &str) -> Result<Tap, TapError> {
        let index =
            if_nametoindex(interface).map_err(|_| TapError::NoInterface(interface.to_owned()))?;
        let kind = fs::read_to_string(format!("/sys/class/net/{interface}/type"));
        // /sys may be that of another namespace; the packets then tell.
        if kind.is_ok_and(|kind| kind.trim() != ETHERNET) {
            return Err(TapError::NoEthernet(interface.to_owned()));
        }
        Tap::of_index(index).map_err(|errno| TapError::Kernel {
            interface: interface.to_owned(),
            errno,
            hint: match errno {
                Errno::EPERM | Errno::EACCES => "; run as root, or with CAP_NET_RAW",
                _ => "",
            },
        })
    }

    fn of_index(index: libc::c_uint) -> nix::Result<Tap> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Protocol 0: no packet comes before the socket is bound.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&socket, Version, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        let size = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as libc::c_uint,
            tp_block_nr: (FRAMES * FRAME_BYTES / BLOCK_BYTES) as libc::c_uint,
            tp_frame_size: FRAME_BYTES as libc::c_uint,
            tp_frame_nr: FRAMES as libc::c_uint,
        };
        setsockopt(&socket, RxRing, &size)?;
        let mut filter = filter();
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
        setsockopt(&socket, Filter, &program)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let memory = unsafe { mmap(None, RING_BYTES, access, MapFlags::MAP_SHARED, &socket, 0) }?;
        let tap = Tap { socket, memory, next: 0, lost: 0 };
        bind(tap.socket.as_raw_fd(), &address(index)?)?;
        Ok(tap)
    }

    /// Tells flows of all packets that have gathered. `towards_stations`: what leaves this interface goes to stations.
    pub fn feed(&mut self, flows: &mut Flows, towards_stations: bool) {
        let clock = Clock::now();
        let mut gap = false;
        // A kernel that fills the ring faster than it is read is not waited for.
        for _ in 0..FRAMES {
            // SAFETY: `next` is below FRAMES, and the mapping has FRAMES frames.
            let frame = unsafe { self.memory.cast::<u8>().add(self.next * FRAME_BYTES) };
            // SAFETY: a frame begins with its status, is aligned, and lives as long as the mapping.
            let status = unsafe { AtomicU32::from_ptr(frame.cast().as_ptr()) };
            let found = status.load(Ordering::Acquire);
            if found & libc::TP_STATUS_USER == 0 {
                break;
            }
            // The kernel lost packets before this one, since it was last asked how many.
            if found & libc::TP_STATUS_LOSING != 0 && !gap {
                flows.on_gap();
                gap = true;
            }
            // SAFETY: the frame belongs to this side until the status changes, and begins with this header.
            let header = unsafe { frame.cast::<libc::tpacket2_hdr>().read() };
            // SAFETY: the kernel writes the address there; all its bytes are within the frame.
            let from =
                unsafe { frame.add(ADDRESS_AT).cast::<libc::sockaddr_ll>().read_unaligned() };
            let begins = usize::from(header.tp_mac).min(FRAME_BYTES);
            let size = (header.tp_snaplen as usize).min(FRAME_BYTES - begins);
            // SAFETY: the bytes are within the frame, which belongs to this side.
            let bytes = unsafe { std::slice::from_raw_parts(frame.add(begins).as_ptr(), size) };
            if from.sll_pkttype != libc::PACKET_LOOPBACK
                && let Some(packet) = Packet::of_frame(bytes, header.tp_len)
            {
                let leaves = from.sll_pkttype == libc::PACKET_OUTGOING;
                let at = clock.at(header.tp_sec, header.tp_nsec);
                flows.on_packet(&packet, leaves == towards_stations, at);
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
        self.count_lost();
    }

    /// Packets that passed unseen since the tap was opened, because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn count_lost(&mut self) {
        // Reading sets the kernel's counter to zero, and ends the mark on packets that come after a loss.
        self.lost += getsockopt(&self.socket, Statistics).map_or(0, |of| u64::from(of.tp_drops));
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // SAFETY: the mapping of `of_index`, which nobody uses any more. There is nothing to do about an error.
        let _ = unsafe { munmap(self.memory, RING_BYTES.get()) };
    }
}

/// The kernel stamps packets by the time of day, which is set now and then; the machine's clock is not.
struct Clock {
    now: Time,
    day_ns: i64,
}

impl Clock {
    /// Both clocks at about one moment: of some readings that during which this process was held up the least.
    fn now() -> Clock {
        let reading = || {
            let before = machine::now();
            let day = clock_gettime(ClockId::CLOCK_REALTIME).map_or(Duration::ZERO, Duration::from);
            let day_ns = i64::try_from(day.as_nanos()).unwrap_or_default();
            (machine::now() - before, Clock { now: before, day_ns })
        };
        let readings = std::array::from_fn::<_, READINGS, _>(|_| reading());
        readings.into_iter().min_by_key(|(took, _)| *took).expect("there are some").1
    }

    fn at(&self, seconds: u32, nanoseconds: u32) -> Time {
        let stamp_ns = i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds);
        let ago = Span::from_nanos(self.day_ns - stamp_ns);
        // If the day's clock was set in between, the packet counts as of now. Packets that come while others are read have
        // later times than the clock was read at.
        if (Span::ZERO - SET..=SET).contains(&ago) { self.now - ago } else { self.now }
    }
}

/// Every protocol at an interface.
fn address(index: libc::c_uint) -> nix::Result<LinkAddr> {
    let raw = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::sa_family_t,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as libc::c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let size = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: a whole address of that size.
    unsafe { LinkAddr::from_raw((&raw const raw).cast(), Some(size)) }.ok_or(Errno::EINVAL)
}

/// TCP and UDP over both versions of IP, what has VLAN tags, and IPv6 with extensions; no more than their headers.
fn filter() -> [libc::sock_filter; 14] {
    let load = |size, at| operation(libc::BPF_LD | size | libc::BPF_ABS, 0, 0, at);
    let equal = |value: libc::c_int, then, otherwise| {
        operation(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, then, otherwise, value as u32)
    };
    let take = |bytes| operation(libc::BPF_RET | libc::BPF_K, 0, 0, bytes);
    [
        load(libc::BPF_H, 12),
        equal(libc::ETH_P_IP, 0, 3),
        load(libc::BPF_B, 14 + 9),
        equal(libc::IPPROTO_TCP, 8, 0),
        equal(libc::IPPROTO_UDP, 7, 8),
        equal(libc::ETH_P_IPV6, 0, 4),
        load(libc::BPF_B, 14 + 6),
        equal(libc::IPPROTO_TCP, 4, 0),
        equal(libc::IPPROTO_UDP, 3, 0),
        equal(libc::IPPROTO_ICMPV6, 3, 2),
        equal(libc::ETH_P_8021Q, 1, 0),
        equal(libc::ETH_P_8021AD, 0, 1),
        take(SNAP_BYTES),
        take(0),
    ]
}

fn operation(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}
