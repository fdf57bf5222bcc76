//! Packets that pass an interface, seen without touching them (packet(7), `PACKET_RX_RING`).
//!
//! The kernel writes the headers of each packet of TCP and UDP, with its time, into memory that it shares with this process.
//! Nobody is woken for a packet: the service reads what has gathered when its clock says so.

use crate::machine;
use airqueue_control::flows::{Flows, Packet};
use airqueue_core::{Span, Time};
use airqueue_ring::{Layout, Ring};
use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{SockType, setsockopt};
use nix::time::{ClockId, clock_gettime};
use nix::{setsockopt_impl, sockopt_impl};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;
use thiserror::Error;

/// Bytes of a packet that are kept: Ethernet with two tags, IPv6 with some extensions, TCP with its options.
const SNAP_BYTES: u32 = 128;
/// How often a tap is to be read.
pub const READ_EVERY: Span = Span::from_millis(100);
/// Packets between two readings: 80 000 a second, in 2 MB.
const LAYOUT: Layout = Layout { frame_bytes: 256, frames: 8192, block_bytes: 1 << 16 };
/// How often two clocks are read to compare them.
const READINGS: usize = 3;
/// A packet's time that is so far from now is one of a clock that was set.
const SET: Span = Span::from_secs(60);
/// `ARPHRD_ETHER`, of Ethernet and of 802.11.
const ETHERNET: &str = "1";

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
    index: u32,
    socket: OwnedFd,
    ring: Ring,
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
        let socket = airqueue_ring::open(SockType::Raw, &LAYOUT)?;
        let mut filter = filter();
        let program =
            libc::sock_fprog { len: filter.len() as libc::c_ushort, filter: filter.as_mut_ptr() };
        setsockopt(&socket, Filter, &program)?;
        let ring = Ring::map(&socket, LAYOUT)?;
        airqueue_ring::bind_to(&socket, index as libc::c_int)?;
        Ok(Tap { index, socket, ring, lost: 0 })
    }

    /// Whether the interface was removed: nothing will be heard any more, also not of another one of its name.
    pub fn is_deaf(&self) -> bool {
        !machine::has_interface(self.index)
    }

    /// Tells flows of all packets that have gathered. `towards_stations`: what leaves this interface goes to stations.
    pub fn feed(&mut self, flows: &mut Flows, towards_stations: bool) {
        let clock = Clock::now();
        let mut gap = false;
        self.each(|seen| {
            // The kernel lost packets before this one, since it was last asked how many.
            if seen.follows_loss && !gap {
                flows.on_gap();
                gap = true;
            }
            if let Some((packet, leaves)) = seen.packet {
                flows.on_packet(
                    &packet,
                    leaves == towards_stations,
                    clock.at(seen.at.0, seen.at.1),
                );
            }
        });
    }

    /// Hands over all packets that have gathered, and whether each one leaves this machine.
    pub fn read(&mut self, mut take: impl FnMut(&Packet, bool)) {
        self.each(|seen| {
            if let Some((packet, leaves)) = seen.packet {
                take(&packet, leaves);
            }
        });
    }

    fn each(&mut self, mut take: impl FnMut(Seen)) {
        // A kernel that fills the ring faster than it is read is not waited for.
        for _ in 0..LAYOUT.frames {
            let read = self.ring.read(|frame| {
                let packet = (frame.kind != libc::PACKET_LOOPBACK)
                    .then(|| Packet::of_frame(frame.from_link(), frame.header.tp_len));
                take(Seen {
                    follows_loss: frame.status & libc::TP_STATUS_LOSING != 0,
                    at: (frame.header.tp_sec, frame.header.tp_nsec),
                    packet: packet.flatten().map(|of| (of, frame.kind == libc::PACKET_OUTGOING)),
                });
            });
            if read.is_none() {
                break;
            }
        }
        // Being asked ends the kernel's mark on packets that come after a loss.
        self.lost += airqueue_ring::newly_dropped(&self.socket);
    }

    /// Packets that passed unseen since the tap was opened, because the ring was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// A frame of the ring.
struct Seen {
    follows_loss: bool,
    /// Seconds and nanoseconds of the day's clock.
    at: (u32, u32),
    /// A packet of TCP or UDP, and whether it leaves.
    packet: Option<(Packet, bool)>,
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
