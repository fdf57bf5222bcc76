//! TCP connections as probes: the time from SYN to SYN-ACK or RST.

use crate::clock;
use airqueue_core::{Span, Time};
use airqueue_probe::echo::{LATEST, MOST_CONNECTIONS};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getsockopt, setsockopt, socket,
    sockopt,
};
use nix::{getsockopt_impl, libc, sockopt_impl};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

sockopt_impl!(
    /// The kernel's view of a connection (tcp(7)).
    TcpInfo,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    libc::tcp_info
);

/// State of `net/tcp_states.h` in which neither SYN-ACK nor RST has come.
const SYN_SENT: u8 = 2;

/// How a connection has ended, as far as a probe is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The target answered then. `program`: as the program saw it, not as the kernel measured it.
    Answered {
        /// When.
        at: Time,
        /// Whose time that is.
        program: bool,
    },
    /// The target answered, but the SYN was repeated, and it is not known which one was answered.
    Ambiguous,
    /// Something else answered.
    Unreachable,
    /// Nothing did, for as long as an answer would count.
    Silent,
}

#[derive(Debug)]
struct Connection {
    fd: OwnedFd,
    index: u32,
    sent: Time,
    /// The call itself has said so, as it does where the target is this machine.
    refused: bool,
}

/// The connections of a target that are in the making.
#[derive(Debug, Default)]
pub(super) struct Connecting(Vec<Connection>);

impl Connecting {
    /// Whether there may be no further one.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_CONNECTIONS
    }

    /// When the first one is given up.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.0.iter().map(|of| of.sent + LATEST + Span::from_millis(1)).min()
    }

    /// Descriptors that become writable when a connection is made or fails.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|of| of.fd.as_fd())
    }

    /// Begins a connection; returns when the SYN was sent.
    pub(super) fn begin(&mut self, index: u32, to: SocketAddr) -> Result<Time, Errno> {
        let family = if to.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let fd = socket(family, SockType::Stream, flags, None)?;
        // RST at the end: a connection that carried nothing leaves nothing, here or there.
        setsockopt(&fd, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        let name = SockaddrStorage::from(to);
        let sent = clock::monotonic();
        let refused = match connect(fd.as_raw_fd(), &name) {
            Ok(()) | Err(Errno::EINPROGRESS) => false,
            Err(Errno::ECONNREFUSED) => true,
            Err(errno) => return Err(errno),
        };
        self.0.push(Connection { fd, index, sent, refused });
        Ok(sent)
    }

    /// Connections that are over, and closes them. `ready`: for each whether its descriptor was.
    pub(super) fn finish(&mut self, ready: &[bool], now: Time) -> Vec<(u32, Outcome)> {
        let mut done = Vec::new();
        let mut places = ready.iter();
        self.0.retain(|of| {
            let is_ready = places.next().is_some_and(|&ready| ready);
            let outcome = if is_ready { of.outcome(now) } else { None };
            let outcome = outcome.or((now > of.sent + LATEST).then_some(Outcome::Silent));
            done.extend(outcome.map(|outcome| (of.index, outcome)));
            outcome.is_none()
        });
        done
    }
}

impl Connection {
    /// `None`: neither made nor refused so far.
    fn outcome(&self, now: Time) -> Option<Outcome> {
        let error =
            getsockopt(&self.fd, sockopt::SocketError).map_or(Errno::EBADF, Errno::from_raw);
        if self.refused || error == Errno::ECONNREFUSED {
            return Some(Outcome::Answered { at: now, program: true });
        }
        let Ok(info) = getsockopt(&self.fd, TcpInfo) else { return Some(Outcome::Unreachable) };
        if info.tcpi_rtt > 0 {
            // Nothing was exchanged after the handshake: this is its sample alone.
            let at = self.sent + Span::from_micros(i64::from(info.tcpi_rtt));
            return Some(Outcome::Answered { at, program: false });
        }
        match error {
            Errno::UnknownErrno if info.tcpi_state == SYN_SENT => None,
            // No error, and no sample: the SYN was repeated (Karn's rule, RFC 6298 section 3).
            Errno::UnknownErrno | Errno::ECONNRESET | Errno::EPIPE => Some(Outcome::Ambiguous),
            _ => Some(Outcome::Unreachable),
        }
    }
}
