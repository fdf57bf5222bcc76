//! Sockets of probes: ICMP echo and UDP, with the kernel's receive stamps and with ICMP errors.

use super::cannot;
use crate::clock;
use airqueue_core::Time;
use airqueue_probe::echo::{CLOSED_PORT, Method};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, TimestampingFlag,
    connect, getsockname, send, sendto, setsockopt, socket, sockopt,
};
use nix::{libc, setsockopt_impl, sockopt_impl};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Receive buffer in bytes: answers of a few seconds.
const RECEIVE_BUFFER: usize = 256 << 10;
/// Attempts for a probe at which ICMP errors about earlier ones surface.
const ATTEMPTS: usize = 4;
const NO_ICMP: &str = "this user may not send ICMP echo: allow it with \
    `sysctl -w net.ipv4.ping_group_range='0 2147483647'`, run as root, or choose the method udp, tcp or hop";

/// ICMP_FILTER of `linux/icmp.h`, and ICMPV6_FILTER of `linux/icmpv6.h`.
const FILTER: libc::c_int = 1;

sockopt_impl!(
    /// Types of ICMP messages that a raw socket does not get, a bit each (raw(7)).
    IcmpFilter,
    SetOnly,
    libc::SOL_RAW,
    FILTER,
    u32
);
sockopt_impl!(
    /// The same of ICMPv6 (RFC 3542, 3.2); Linux blocks the types whose bits are 1.
    Icmp6Filter,
    SetOnly,
    libc::IPPROTO_ICMPV6,
    FILTER,
    [u32; 8]
);

/// A socket that sends the probes of one target.
#[derive(Debug)]
pub(super) struct Port {
    fd: OwnedFd,
    /// The identifier of its ICMP echo requests.
    pub(super) id: u16,
    /// Whether what is read begins with an IPv4 header.
    pub(super) with_header: bool,
    connected: bool,
    /// When it was last read empty.
    pub(super) drained: Time,
}

impl Port {
    /// Opens the socket of a method; says why not.
    pub(super) fn open(method: Method, to: SocketAddr, id: u16) -> Result<Port, String> {
        match method {
            Method::Icmp => Self::open_icmp(to, id),
            Method::Server(port) => Self::open_udp(to)?.connected_to(with_port(to, port)),
            _ => {
                let port = Self::open_udp(to)?;
                if let Method::Hop(hops) = method {
                    port.limit_hops(to.is_ipv6(), hops).map_err(|errno| cannot(to, errno))?;
                }
                // The socket itself sends to many ports: another one finds out whether there is a route.
                Self::open_udp(to)?.connected_to(with_port(to, CLOSED_PORT))?;
                Ok(port)
            }
        }
    }

    fn new(to: SocketAddr, kind: SockType, protocol: Option<SockProtocol>) -> Result<Port, Errno> {
        let family = if to.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(family, kind, flags, protocol)?;
        if to.is_ipv6() {
            setsockopt(&fd, sockopt::Ipv6RecvErr, &true)?;
        } else {
            setsockopt(&fd, sockopt::Ipv4RecvErr, &true)?;
        }
        setsockopt(&fd, sockopt::RcvBuf, &RECEIVE_BUFFER)?;
        // Only adds information: without it the times are the program's, and are counted as such.
        let stamps = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
            | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE;
        let _ = setsockopt(&fd, sockopt::Timestamping, &stamps);
        Ok(Port { fd, id: 0, with_header: false, connected: false, drained: clock::monotonic() })
    }

    fn open_udp(to: SocketAddr) -> Result<Port, String> {
        Self::new(to, SockType::Datagram, None).map_err(|errno| cannot(to, errno))
    }

    /// A ping socket where this user may have one, otherwise a raw socket.
    fn open_icmp(to: SocketAddr, id: u16) -> Result<Port, String> {
        let protocol = if to.is_ipv6() { SockProtocol::IcmpV6 } else { SockProtocol::Icmp };
        match Self::new(to, SockType::Datagram, Some(protocol)) {
            Ok(port) => {
                let mut port = port.connected_to(to)?;
                // The kernel writes the identifier, which is the socket's port.
                port.id = port.local_port().map_err(|errno| cannot(to, errno))?;
                return Ok(port);
            }
            Err(Errno::EACCES | Errno::EPERM | Errno::EPROTONOSUPPORT) => {}
            Err(errno) => return Err(cannot(to, errno)),
        }
        let mut port = match Self::new(to, SockType::Raw, Some(protocol)) {
            Err(Errno::EACCES | Errno::EPERM) => return Err(NO_ICMP.to_owned()),
            other => other.map_err(|errno| cannot(to, errno))?,
        };
        port.id = id;
        port.with_header = !to.is_ipv6();
        port.only_replies(to.is_ipv6()).map_err(|errno| cannot(to, errno))?;
        port.connected_to(to)
    }

    /// A raw socket gets a copy of every ICMP message; errors about its own packets come by the error queue all the same.
    fn only_replies(&self, ipv6: bool) -> Result<(), Errno> {
        if !ipv6 {
            return setsockopt(&self.fd, IcmpFilter, &!1);
        }
        let mut blocked = [u32::MAX; 8];
        blocked[129 / 32] &= !(1 << (129 % 32));
        setsockopt(&self.fd, Icmp6Filter, &blocked)
    }

    fn limit_hops(&self, ipv6: bool, hops: u8) -> Result<(), Errno> {
        if ipv6 {
            setsockopt(&self.fd, sockopt::Ipv6Ttl, &i32::from(hops))
        } else {
            setsockopt(&self.fd, sockopt::Ipv4Ttl, &i32::from(hops))
        }
    }

    fn connected_to(mut self, to: SocketAddr) -> Result<Port, String> {
        connect(self.fd.as_raw_fd(), &SockaddrStorage::from(to))
            .map_err(|errno| cannot(to, errno))?;
        self.connected = true;
        Ok(self)
    }

    fn local_port(&self) -> Result<u16, Errno> {
        let name: SockaddrStorage = getsockname(self.fd.as_raw_fd())?;
        let v4 = name.as_sockaddr_in().map(|name| name.port());
        v4.or_else(|| name.as_sockaddr_in6().map(|name| name.port())).ok_or(Errno::EAFNOSUPPORT)
    }

    /// Sends a probe; returns when, which is just before the kernel took it.
    pub(super) fn send(&self, to: SocketAddr, bytes: &[u8]) -> Result<Time, Errno> {
        let mut outcome = Err(Errno::EAGAIN);
        for _ in 0..ATTEMPTS {
            let at = clock::monotonic();
            let (fd, flags) = (self.fd.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
            let sent = if self.connected {
                send(fd, bytes, flags)
            } else {
                sendto(fd, bytes, &SockaddrStorage::from(to), flags)
            };
            outcome = sent.map(|_| at);
            match outcome {
                Ok(_) | Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM) => break,
                // An ICMP error about an earlier probe, which the call has cleared.
                Err(_) => {}
            }
        }
        outcome
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}
