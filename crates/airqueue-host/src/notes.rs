//! What the kernel says about a datagram in control messages: stamps, addresses, and errors.

use airqueue_probe::echo::prober::IcmpError;
use nix::libc;
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `ee_info` of a stamp that was taken as the packet went to the device (`linux/errqueue.h`).
const SCM_TSTAMP_SND: u32 = 0;

/// What the kernel reports about a datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct Annotations {
    /// Software receive (or transmit) timestamp, nanoseconds of `CLOCK_REALTIME`.
    pub stamp_ns: Option<i64>,
    /// Datagrams that this socket's buffer refused since it was opened, modulo 2^32.
    pub overflow: Option<u32>,
    /// The traffic class of its IP header.
    pub traffic_class: u8,
    /// The local address that the datagram was sent to.
    pub local: Option<IpAddr>,
    /// An entry of the error queue.
    pub error: Option<QueuedError>,
    /// The ICMP error that such an entry is about; the port in it is not known here.
    pub icmp: Option<IcmpError>,
}

/// An entry of a socket's error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedError {
    /// A transmit stamp, with the id of its packet.
    Stamp(u32),
    /// An ICMP or local error (errno).
    Failure(i32),
}

/// Reads one control message.
///
/// # Safety
/// `data` must point to `length` readable bytes.
pub(crate) unsafe fn note(
    notes: &mut Annotations,
    level: i32,
    kind: i32,
    data: *const u8,
    length: usize,
) {
    // SAFETY: forwarded from the caller.
    unsafe {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                // Three stamps; the first is the software's (Documentation/networking/timestamping).
                if let Some(t) = read::<libc::timespec>(data, length).filter(|t| t.tv_sec != 0) {
                    notes.stamp_ns = Some(nanoseconds(t));
                }
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => notes.overflow = read(data, length),
            (libc::IPPROTO_IP, libc::IP_TOS) => {
                notes.traffic_class = read::<u8>(data, length).unwrap_or_default();
            }
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                notes.traffic_class = read::<libc::c_int>(data, length).unwrap_or_default() as u8;
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                notes.local = read::<libc::in_pktinfo>(data, length)
                    .map(|p| Ipv4Addr::from(u32::from_be(p.ipi_addr.s_addr)).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                notes.local = read::<libc::in6_pktinfo>(data, length)
                    .map(|p| IpAddr::from(Ipv6Addr::from(p.ipi6_addr.s6_addr)).to_canonical());
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                let Some(e) = read::<libc::sock_extended_err>(data, length) else { return };
                notes.error = queued_error(e);
                // The address of who reports the error comes after it (SO_EE_OFFENDER of `linux/errqueue.h`).
                notes.icmp = icmp_error(e, data.add(size_of_val(&e)), length - size_of_val(&e));
            }
            _ => {}
        }
    }
}

/// Reads a value at the beginning of some bytes.
///
/// # Safety
/// `data` must point to `length` readable bytes, and all bytes must be valid for `T`.
unsafe fn read<T>(data: *const u8, length: usize) -> Option<T> {
    // SAFETY: checked length; the caller vouches for the bytes; T is a plain C structure.
    (length >= size_of::<T>()).then(|| unsafe { data.cast::<T>().read_unaligned() })
}

/// The ICMP error behind an extended error, if there is one.
///
/// # Safety
/// `data` must point to `length` readable bytes.
unsafe fn icmp_error(
    e: libc::sock_extended_err,
    data: *const u8,
    length: usize,
) -> Option<IcmpError> {
    if e.ee_origin != libc::SO_EE_ORIGIN_ICMP && e.ee_origin != libc::SO_EE_ORIGIN_ICMP6 {
        return None;
    }
    // SAFETY: forwarded from the caller.
    let from = unsafe {
        match i32::from(read::<libc::sa_family_t>(data, length)?) {
            libc::AF_INET => {
                let name = read::<libc::sockaddr_in>(data, length)?;
                IpAddr::from(Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)))
            }
            libc::AF_INET6 => {
                let name = read::<libc::sockaddr_in6>(data, length)?;
                IpAddr::from(Ipv6Addr::from(name.sin6_addr.s6_addr)).to_canonical()
            }
            _ => return None,
        }
    };
    Some(IcmpError { from, kind: e.ee_type, code: e.ee_code, port: 0 })
}

#[allow(clippy::unnecessary_cast)] // the fields are shorter on 32-bit machines
fn nanoseconds(t: libc::timespec) -> i64 {
    t.tv_sec as i64 * 1_000_000_000 + t.tv_nsec as i64
}

fn queued_error(e: libc::sock_extended_err) -> Option<QueuedError> {
    if e.ee_origin != libc::SO_EE_ORIGIN_TIMESTAMPING {
        return Some(QueuedError::Failure(e.ee_errno as i32));
    }
    (e.ee_info == SCM_TSTAMP_SND).then_some(QueuedError::Stamp(e.ee_data))
}
