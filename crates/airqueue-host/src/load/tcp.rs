//! TCP sockets of a load, and what the kernel knows about them.

use crate::error::{HostError, words};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, SockaddrStorage, bind, connect, listen, setsockopt,
    socket, sockopt,
};
use nix::{libc, setsockopt_impl, sockopt_impl};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// Bytes that TCP has not sent yet, per connection. Enough to keep TCP busy between two turns of a loop; more would
/// only be memory, and bytes that a bucket let pass long before they leave.
const UNSENT: libc::c_int = 128 << 10;

sockopt_impl!(
    /// Bytes that may wait in a socket besides those in flight (tcp(7)).
    NotSentLowat,
    SetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_NOTSENT_LOWAT,
    libc::c_int
);

/// What most senders use. Where the machine's default is another one, such as BBR, which keeps queues short, the load would
/// not be what a download is.
const CONGESTION: &str = "cubic";

/// Makes the connection control congestion as most senders do, if the kernel has it; else as the machine does.
fn as_most_senders<F: AsFd>(fd: &F) {
    let _ = setsockopt(fd, sockopt::TcpCongestion, &OsString::from(CONGESTION));
}

fn stream_socket(ipv6: bool) -> Result<OwnedFd, Errno> {
    let family = if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(family, SockType::Stream, flags, None)
}

/// Closing resets the connection: what is in queues need not arrive, and no port is kept.
pub(super) fn reset_on_close<F: AsFd>(fd: &F, on: bool) -> Result<(), Errno> {
    setsockopt(fd, sockopt::Linger, &libc::linger { l_onoff: i32::from(on), l_linger: 0 })
}

/// Listens on an address; `[::]` takes IPv4 as well, as the UDP socket does.
pub(super) fn listener(address: SocketAddr) -> Result<TcpListener, HostError> {
    let attempt = || -> Result<OwnedFd, Errno> {
        let fd = stream_socket(address.is_ipv6())?;
        // Connections of an earlier server may still be in TIME_WAIT (RFC 9293, section 3.6).
        setsockopt(&fd, sockopt::ReuseAddr, &true)?;
        if address.is_ipv6() {
            setsockopt(&fd, sockopt::Ipv6V6Only, &false)?;
        }
        // Accepted connections inherit this.
        as_most_senders(&fd);
        bind(fd.as_raw_fd(), &SockaddrStorage::from(address))?;
        listen(&fd, Backlog::new(BACKLOG)?)?;
        Ok(fd)
    };
    attempt().map(TcpListener::from).map_err(|errno| match errno {
        Errno::EADDRINUSE => {
            HostError::Request(format!("TCP port {} of {} is taken", address.port(), address.ip()))
        }
        _ => {
            HostError::Request(format!("cannot listen on TCP {address}: {}", words(&errno.into())))
        }
    })
}

/// Accepts a connection, if one waits.
pub(super) fn accept(listener: &TcpListener) -> io::Result<(TcpStream, IpAddr)> {
    let (stream, peer) = listener.accept()?;
    stream.set_nonblocking(true)?;
    reset_on_close(&stream, true)?;
    setsockopt(&stream, NotSentLowat, &UNSENT)?;
    Ok((stream, peer.ip().to_canonical()))
}

/// Begins to connect.
pub(super) fn begin_connect(to: SocketAddr) -> Result<TcpStream, HostError> {
    let fd = stream_socket(to.is_ipv6())
        .map_err(|errno| HostError::system("open a TCP socket")(errno.into()))?;
    let configured =
        reset_on_close(&fd, true).and_then(|()| setsockopt(&fd, NotSentLowat, &UNSENT));
    configured.map_err(|errno| HostError::system("configure a TCP socket")(errno.into()))?;
    as_most_senders(&fd);
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(fd)),
        Err(errno) => Err(HostError::Unreachable { server: to, reason: words(&errno.into()) }),
    }
}

/// Receives and throws away up to `most` bytes; 0: the peer has ended the connection.
pub(super) fn discard(stream: &TcpStream, buffer: &mut [u8], most: usize) -> io::Result<usize> {
    let most = most.min(buffer.len());
    // MSG_TRUNC: the kernel discards the bytes and does not copy them (tcp(7)).
    nix::sys::socket::recv(
        stream.as_raw_fd(),
        &mut buffer[..most],
        nix::sys::socket::MsgFlags::MSG_TRUNC,
    )
    .map_err(io::Error::from)
}

/// The kernel's state of a connection: part of `struct tcp_info` (linux/tcp.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// Largest segment that is sent, in bytes of payload.
    pub(super) snd_mss: u32,
    /// Smoothed round-trip time of what is sent, in microseconds (RFC 6298).
    pub(super) rtt_us: u32,
    /// Round-trip time as the receiver of data sees it, in microseconds; 0: not known.
    pub(super) rcv_rtt_us: u32,
    /// Segments sent again.
    pub(super) total_retrans: u32,
    /// Bytes that the peer has acknowledged, all before them included.
    pub(super) bytes_acked: u64,
    /// Segments behind these that the peer has acknowledged, too (RFC 2018).
    pub(super) sacked: u32,
    /// Bytes that have arrived, all before them included.
    pub(super) bytes_received: u64,
    /// Largest segment that is received, in bytes of payload.
    pub(super) rcv_mss: u32,
    /// Segments with data that have arrived; 0 before Linux 4.6.
    pub(super) arrived: u32,
    /// Those that came before one that is missing; 0 before Linux 5.4.
    pub(super) out_of_order: u32,
}

/// Bytes of `struct tcp_info` up to `tcpi_rcv_ooopack`.
const INFO_LEN: usize = 228;
/// Up to `tcpi_bytes_received`, which Linux has since 4.1.
const LEAST_LEN: usize = 136;

/// Asks the kernel; `None` if it refuses, or is too old to count acknowledged bytes. What it does not know is 0.
pub(super) fn info(stream: &TcpStream) -> Option<TcpInfo> {
    let mut raw = [0u8; INFO_LEN];
    let mut len = INFO_LEN as libc::socklen_t;
    // nix does not wrap this option.
    // SAFETY: the buffer and its length are alive for the call, and the kernel writes `len` bytes at most.
    let done = unsafe {
        let (fd, out) = (stream.as_raw_fd(), raw.as_mut_ptr().cast());
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, out, &raw mut len)
    };
    if done != 0 || (len as usize) < LEAST_LEN {
        return None;
    }
    let word = |at: usize| u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]);
    let long = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&raw[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    Some(TcpInfo {
        snd_mss: word(16),
        rtt_us: word(68),
        rcv_rtt_us: word(92),
        total_retrans: word(100),
        bytes_acked: long(120),
        sacked: word(28),
        bytes_received: long(128),
        rcv_mss: word(20),
        arrived: word(152),
        out_of_order: word(224),
    })
}
