//! A UDP socket with the options that a measurement needs.

use crate::clock;
use crate::error::{HostError, words};
use crate::mmsg::{self, StampRequest};
use crate::netns;
use crate::stamps::TransmitStamps;
use airqueue_core::Time;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, TimestampingFlag, bind, getsockname,
    setsockopt, socket, sockopt,
};
use nix::{libc, setsockopt_impl, sockopt_impl};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Receive buffer in bytes: over 100 ms of 300 Mb/s in small packets, as the kernel accounts for
/// them. Datagrams that overflow the buffer are counted (`SO_RXQ_OVFL`).
const RECEIVE_BUFFER: usize = 16 << 20;
/// Send buffer in bytes: a burst fits, a standing queue does not. A sender whose own interface is
/// the bottleneck then sees `SendOutcome::Blocked` and not a silent delay.
const SEND_BUFFER: usize = 256 << 10;

/// An open UDP socket, and what its driver keeps about the socket.
#[derive(Debug)]
pub struct UdpPort {
    fd: OwnedFd,
    local: SocketAddr,
    ipv6: bool,
    overflow: u32,
    /// When the socket was opened.
    pub(crate) opened: Time,
    /// When the socket was last read empty.
    pub(crate) drained: Time,
    /// Transmit stamps.
    pub(crate) stamps: TransmitStamps,
}

impl UdpPort {
    /// Opens a socket bound to `address`, inside a network namespace if one is given. `[::]` takes
    /// IPv4 as well; port 0 is any free one.
    pub fn open(address: SocketAddr, namespace: Option<&Path>) -> Result<UdpPort, HostError> {
        netns::within(namespace, || Self::open_here(address))
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

    fn open_here(address: SocketAddr) -> Result<UdpPort, HostError> {
        let ipv6 = address.is_ipv6();
        let family = if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(family, SockType::Datagram, flags, None)
            .map_err(|errno| HostError::system("open a UDP socket")(errno.into()))?;
        configure(&fd, ipv6)
            .map_err(|errno| HostError::system("configure a UDP socket")(errno.into()))?;
        bind_to(&fd, address)?;
        let local = local_address(&fd).map_err(HostError::system("name a UDP socket"))?;
        let now = clock::monotonic();
        Ok(UdpPort {
            fd,
            local,
            ipv6,
            overflow: 0,
            opened: now,
            drained: now,
            stamps: TransmitStamps::default(),
        })
    }

    /// The address that the socket is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Whether the socket is an IPv6 socket, which may carry IPv4 too.
    pub fn is_ipv6(&self) -> bool {
        self.ipv6
    }

    /// Whether the socket takes datagrams for any local address.
    pub fn is_wildcard(&self) -> bool {
        self.local.ip().is_unspecified()
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

/// Makes the kernel number transmit stamps from 0 again; false if the kernel refuses.
fn restart_stamp_counter(fd: BorrowedFd<'_>) -> bool {
    // The counter starts again whenever OPT_ID is switched on (sock_set_timestamping).
    let without = stamping() - TimestampingFlag::SOF_TIMESTAMPING_OPT_ID;
    setsockopt(&fd, sockopt::Timestamping, &without).is_ok()
        && setsockopt(&fd, sockopt::Timestamping, &stamping()).is_ok()
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Software stamps for all datagrams received; transmit stamps only for packets that ask for one,
/// numbered, and without a copy of the packet.
fn stamping() -> TimestampingFlag {
    TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID
        | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
}

sockopt_impl!(
    /// Path MTU discovery of IPv4 (ip(7)).
    MtuDiscover,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int
);
sockopt_impl!(
    /// Path MTU discovery of IPv6 (ipv6(7)).
    Ipv6MtuDiscover,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    libc::c_int
);

sockopt_impl!(
    /// The TOS octet of IPv4 packets with each datagram received (ip(7)).
    ReceiveTos,
    SetOnly,
    libc::IPPROTO_IP,
    libc::IP_RECVTOS,
    bool
);
sockopt_impl!(
    /// The traffic class of IPv6 packets with each datagram received (RFC 3542, section 6.5).
    ReceiveTrafficClass,
    SetOnly,
    libc::IPPROTO_IPV6,
    libc::IPV6_RECVTCLASS,
    bool
);

fn configure(fd: &OwnedFd, ipv6: bool) -> Result<(), Errno> {
    // PROBE sets the don't-fragment bit and ignores a learnt path MTU: a 1500-byte packet arrives
    // whole or not at all.
    setsockopt(fd, MtuDiscover, &libc::IP_PMTUDISC_PROBE)?;
    // Without this option a packet that the local queue dropped appears sent (ip(7), IP_RECVERR).
    setsockopt(fd, sockopt::Ipv4RecvErr, &true)?;
    if ipv6 {
        setsockopt(fd, sockopt::Ipv6V6Only, &false)?;
        setsockopt(fd, Ipv6MtuDiscover, &libc::IPV6_PMTUDISC_PROBE)?;
        setsockopt(fd, sockopt::Ipv6RecvErr, &true)?;
        setsockopt(fd, sockopt::Ipv6RecvPacketInfo, &true)?;
        setsockopt(fd, ReceiveTrafficClass, &true)?;
    }
    setsockopt(fd, sockopt::Ipv4PacketInfo, &true)?;
    setsockopt(fd, ReceiveTos, &true)?;
    // The forced size needs CAP_NET_ADMIN; without that net.core.rmem_max is the limit.
    setsockopt(fd, sockopt::RcvBufForce, &RECEIVE_BUFFER)
        .or_else(|_| setsockopt(fd, sockopt::RcvBuf, &RECEIVE_BUFFER))?;
    setsockopt(fd, sockopt::SndBuf, &SEND_BUFFER)?;
    // Both only add information; without them the records say "program timestamps" and 0.
    let _ = setsockopt(fd, sockopt::RxqOvfl, &1);
    let _ = setsockopt(fd, sockopt::Timestamping, &stamping());
    Ok(())
}

fn bind_to(fd: &OwnedFd, address: SocketAddr) -> Result<(), HostError> {
    bind(fd.as_raw_fd(), &SockaddrStorage::from(address)).map_err(|errno| match errno {
        Errno::EADDRINUSE => HostError::PortInUse { address },
        _ => HostError::Bind { address, reason: words(&errno.into()) },
    })
}

fn local_address(fd: &OwnedFd) -> io::Result<SocketAddr> {
    let name: SockaddrStorage = getsockname(fd.as_raw_fd())?;
    mmsg::address(&name).ok_or_else(|| io::Error::other("the socket is not an IP socket"))
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
