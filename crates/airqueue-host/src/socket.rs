//! A UDP socket as a measurement wants it.

use crate::clock;
use crate::error::{HostError, words};
use crate::mmsg::{self, StampRequest};
use crate::netns;
use crate::stamps::TransmitStamps;
use airqueue_core::Time;
use nix::libc;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

/// Receive buffer in bytes: over 100 ms of 300 Mb/s in small packets, as the kernel accounts for
/// them. What still overflows is counted (`SO_RXQ_OVFL`).
const RECEIVE_BUFFER: i32 = 16 << 20;
/// Send buffer in bytes: a burst fits, a standing queue does not. A sender whose own interface is
/// the bottleneck is then told so (`SendOutcome::Blocked`) rather than silently delayed.
const SEND_BUFFER: i32 = 256 << 10;

/// An open UDP socket and what its driver must remember about it.
#[derive(Debug)]
pub struct UdpPort {
    fd: OwnedFd,
    local: SocketAddr,
    ipv6: bool,
    overflow: u32,
    /// When it was opened.
    pub(crate) opened: Time,
    /// When it was last read empty.
    pub(crate) drained: Time,
    /// Transmit stamps.
    pub(crate) stamps: TransmitStamps,
}

impl UdpPort {
    /// Opens a socket bound to `bind`, inside a network namespace if one is given. `[::]` takes
    /// IPv4 as well; port 0 is any free one.
    pub fn open(bind: SocketAddr, namespace: Option<&Path>) -> Result<UdpPort, HostError> {
        netns::within(namespace, || Self::open_here(bind))
    }

    /// Opens a socket for both families, or for IPv4 alone where the kernel has no IPv6.
    pub fn open_any(port: u16, namespace: Option<&Path>) -> Result<UdpPort, HostError> {
        match Self::open(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)), namespace) {
            Err(HostError::System { .. } | HostError::Bind { .. }) => {
                Self::open(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), namespace)
            }
            other => other,
        }
    }

    fn open_here(bind: SocketAddr) -> Result<UdpPort, HostError> {
        let family = if bind.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
        let kind = libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; the descriptor is checked and owned at once.
        let fd = unsafe {
            let fd = libc::socket(family, kind, 0);
            if fd < 0 {
                return Err(HostError::system("open a UDP socket")(io::Error::last_os_error()));
            }
            OwnedFd::from_raw_fd(fd)
        };
        configure(&fd, bind.is_ipv6()).map_err(HostError::system("configure a UDP socket"))?;
        bind_to(&fd, bind)?;
        let local = local_address(&fd).map_err(HostError::system("name a UDP socket"))?;
        let now = clock::monotonic();
        Ok(UdpPort {
            fd,
            local,
            ipv6: bind.is_ipv6(),
            overflow: 0,
            opened: now,
            drained: now,
            stamps: TransmitStamps::default(),
        })
    }

    /// The address that it is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Whether it is an IPv6 socket (which may carry IPv4 too).
    pub fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    /// Whether it takes datagrams for any local address.
    pub fn is_wildcard(&self) -> bool {
        match self.local.ip() {
            IpAddr::V4(a) => a.is_unspecified(),
            IpAddr::V6(a) => a.is_unspecified(),
        }
    }

    /// Datagrams that the receive buffer refused since the last call, given the kernel's counter.
    pub fn overflowed(&mut self, counter: u32) -> u64 {
        let more = counter.wrapping_sub(self.overflow);
        self.overflow = counter;
        u64::from(more)
    }

    /// How the next packet asks for its transmit stamp.
    pub(crate) fn request_stamp(&mut self, now: Time) -> StampRequest {
        self.stamps.request(now, || restart_stamp_counter(self.fd.as_fd()))
    }
}

/// Makes the kernel number transmit stamps from 0 again; false if it would not.
fn restart_stamp_counter(fd: BorrowedFd<'_>) -> bool {
    // The counter starts again whenever OPT_ID is switched on (sock_set_timestamping).
    let without = STAMPING & !libc::SOF_TIMESTAMPING_OPT_ID;
    set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, without as i32).is_ok()
        && set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, STAMPING as i32).is_ok()
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Software stamps for everything received; transmit stamps only for packets that ask for one,
/// numbered, and without a copy of the packet.
const STAMPING: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_RX_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

fn configure(fd: &OwnedFd, ipv6: bool) -> io::Result<()> {
    let fd = fd.as_fd();
    // Set the don't-fragment bit, and send what is too large for a learnt path MTU all the same:
    // a 1500-byte packet crosses as one packet or not at all.
    set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)?;
    // Without this a packet that the local queue dropped looks sent (ip(7), IP_RECVERR).
    set(fd, libc::IPPROTO_IP, libc::IP_RECVERR, 1)?;
    if ipv6 {
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1)?;
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
    }
    set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
    // The forced size needs CAP_NET_ADMIN; otherwise net.core.rmem_max is the most there is.
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER))?;
    set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, SEND_BUFFER)?;
    // Both only add information; without them the records say "program timestamps" and 0.
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1);
    let _ = set(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, STAMPING as i32);
    Ok(())
}

fn set(fd: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: points to one live i32 and says so.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn bind_to(fd: &OwnedFd, address: SocketAddr) -> Result<(), HostError> {
    // SAFETY: a plain C structure, filled by `write_address`, whose length is passed on.
    let result = unsafe {
        let mut storage: libc::sockaddr_storage = zeroed();
        let length = mmsg::write_address(&mut storage, address, address.is_ipv6());
        libc::bind(fd.as_raw_fd(), (&raw const storage).cast(), length)
    };
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(match error.kind() {
        io::ErrorKind::AddrInUse => HostError::PortInUse { address },
        _ => HostError::Bind { address, reason: words(&error) },
    })
}

fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    // SAFETY: the storage is large enough for any address, and its length is passed.
    let storage = unsafe {
        let mut storage: libc::sockaddr_storage = zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        if libc::getsockname(fd.as_raw_fd(), (&raw mut storage).cast(), &raw mut length) < 0 {
            return Err(io::Error::last_os_error());
        }
        storage
    };
    mmsg::address(&storage).ok_or_else(|| io::Error::other("it is not an IP socket"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named() {
        let first = UdpPort::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let error = UdpPort::open(first.local_address(), None).unwrap_err();
        assert!(matches!(error, HostError::PortInUse { .. }), "{error}");
        let port = first.local_address().port().to_string();
        assert!(error.to_string().contains(&port), "{error}");
    }

    #[test]
    fn a_foreign_address_is_refused_in_one_sentence() {
        let error = UdpPort::open("192.0.2.1:0".parse().unwrap(), None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("192.0.2.1") && !text.contains("os error"), "{text}");
    }

    #[test]
    fn the_overflow_counter_wraps() {
        let mut port = UdpPort::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
        assert_eq!(port.overflowed(u32::MAX), u64::from(u32::MAX));
        assert_eq!(port.overflowed(4), 5);
    }
}
