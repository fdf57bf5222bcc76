//! Batches of datagrams through one system call, in buffers that are allocated once.
//!
//! This is the crate's unsafe corner: `recvmmsg`, `sendmmsg` and their control messages. nix wraps both calls,
//! but its `recvmmsg` (0.31) does not restore the lengths of the control buffers between calls, and its
//! `sendmmsg` knows no control message that asks for a transmit stamp.

use crate::notes::note;
pub use crate::notes::{Annotations, QueuedError};
use airqueue_core::Time;
use airqueue_probe::endpoint::Ticket;
use nix::libc;
use nix::sys::socket::{SockaddrLike, SockaddrStorage};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams read by one system call.
pub const RECEIVE_BATCH: usize = 64;
/// Datagrams sent by one system call. Few: all of them are given their send times before the first
/// one leaves, and the kernel may need 20 us for each (a veth pair carries it to its receiver within
/// the call), while a system call costs a fraction of one.
pub const SEND_BATCH: usize = 8;
/// Largest UDP payload that is read or written, in bytes; a longer datagram is dropped.
pub const MAX_PAYLOAD: usize = 9216;
/// Room for control messages, in words: two of the largest (packet info, extended error with an
/// IPv6 address) plus stamps, counters and traffic classes.
const CONTROL_WORDS: usize = 40;
/// Linux 6.13: the id of a transmit stamp, given with the packet (`asm-generic/socket.h`).
const SCM_TS_OPT_ID: libc::c_int = 81;

/// A datagram of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Sender; for entries of the error queue the addressee. IPv4 is never written as IPv6.
    pub from: SocketAddr,
    /// UDP payload.
    pub payload: &'a [u8],
    /// What the kernel reported about the datagram.
    pub notes: Annotations,
}

/// A batch being received.
pub struct ReceiveBatch {
    headers: Vec<libc::mmsghdr>,
    // The headers point into these; none is ever resized.
    _parts: Vec<libc::iovec>,
    names: Vec<libc::sockaddr_storage>,
    control: Vec<[u64; CONTROL_WORDS]>,
    data: Vec<u8>,
    size: usize,
    filled: usize,
}

// SAFETY: the raw pointers lead into heap memory that the batch owns and moves along with it.
unsafe impl Send for ReceiveBatch {}

impl ReceiveBatch {
    /// Room for `count` datagrams of `size` bytes.
    pub fn new(count: usize, size: usize) -> ReceiveBatch {
        // SAFETY: all three are plain C structures for which zero bytes are valid.
        let (header, name): (libc::mmsghdr, libc::sockaddr_storage) = unsafe { zeroed() };
        let mut names = vec![name; count];
        let mut control = vec![[0u64; CONTROL_WORDS]; count];
        let mut data = vec![0u8; count * size];
        let mut parts: Vec<libc::iovec> = data
            .chunks_mut(size)
            .map(|chunk| libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: size })
            .collect();
        let mut headers = vec![header; count];
        for (i, header) in headers.iter_mut().enumerate() {
            header.msg_hdr.msg_name = (&raw mut names[i]).cast();
            header.msg_hdr.msg_iov = &raw mut parts[i];
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control[i].as_mut_ptr().cast();
        }
        ReceiveBatch { headers, _parts: parts, names, control, data, size, filled: 0 }
    }

    /// Reads without waiting what has arrived, or the error queue. Returns the number of datagrams.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, error_queue: bool) -> io::Result<usize> {
        self.filled = 0;
        for header in &mut self.headers {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL_WORDS]>() as _;
        }
        let mut flags = libc::MSG_DONTWAIT;
        if error_queue {
            flags |= libc::MSG_ERRQUEUE;
        }
        // SAFETY: every header points to live buffers of the stated lengths (see `new`).
        let n = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        if n < 0 {
            return Err(io::Error::last_os_error());
        }
        self.filled = n as usize;
        Ok(self.filled)
    }

    /// The most datagrams that a batch holds.
    pub fn capacity(&self) -> usize {
        self.headers.len()
    }

    /// What the last `receive` read; datagrams that were cut off or have no IP sender are left out.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.filled).filter_map(|i| {
            let header = &self.headers[i];
            let cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let notes = self.annotations(i);
            if cut && notes.error.is_none() {
                return None;
            }
            let start = i * self.size;
            let length = (header.msg_len as usize).min(self.size);
            // The error queue names no address beside a transmit stamp.
            let from = self
                .name(i)
                .or_else(|| notes.error.map(|_| SocketAddr::from(([0, 0, 0, 0], 0))))?;
            Some(Datagram { from, payload: &self.data[start..start + length], notes })
        })
    }

    fn name(&self, i: usize) -> Option<SocketAddr> {
        let length = self.headers[i].msg_hdr.msg_namelen;
        // SAFETY: the storage is live and no shorter than the kernel's length.
        let name =
            unsafe { SockaddrStorage::from_raw((&raw const self.names[i]).cast(), Some(length)) };
        address(&name?)
    }

    fn annotations(&self, i: usize) -> Annotations {
        let mut notes = Annotations::default();
        let header = &self.headers[i].msg_hdr;
        debug_assert_eq!(header.msg_control.cast_const(), self.control[i].as_ptr().cast());
        // SAFETY: the kernel filled `msg_controllen` bytes of the control buffer with well-formed
        // messages; the macros stay within them, and payloads are read unaligned.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while !message.is_null() {
                let data = libc::CMSG_DATA(message);
                let length = (*message).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
                note(&mut notes, (*message).cmsg_level, (*message).cmsg_type, data, length);
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        notes
    }
}

/// A datagram to be sent, without its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Where to.
    pub to: SocketAddr,
    /// The measured packet, if the datagram is one.
    pub ticket: Option<Ticket>,
    /// When the datagram was given its send time.
    pub at: Time,
    /// Traffic class of the IP header.
    pub traffic_class: u8,
    /// Local address to send from.
    pub source: Option<IpAddr>,
    /// Ask for a transmit stamp.
    pub stamp: StampRequest,
}

/// Whether and how a packet asks for a transmit stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampRequest {
    /// Not at all.
    None,
    /// The kernel numbers the stamp with the socket's own counter; this is the number expected.
    Counted(u32),
    /// The stamp gets this number.
    Named(u32),
}

impl StampRequest {
    /// The stamp's number.
    pub fn id(self) -> Option<u32> {
        match self {
            StampRequest::None => None,
            StampRequest::Counted(id) | StampRequest::Named(id) => Some(id),
        }
    }
}

/// A batch being sent from one socket.
pub struct SendBatch {
    headers: Vec<libc::mmsghdr>,
    parts: Vec<libc::iovec>,
    names: Vec<SockaddrStorage>,
    control: Vec<[u64; CONTROL_WORDS]>,
    buffers: Vec<Vec<u8>>,
    entries: Vec<Outgoing>,
    ipv6: bool,
}

// SAFETY: as for `ReceiveBatch`.
unsafe impl Send for SendBatch {}

impl Default for SendBatch {
    fn default() -> Self {
        // SAFETY: plain C structures for which zero bytes are valid.
        let (header, part): (libc::mmsghdr, libc::iovec) = unsafe { zeroed() };
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        SendBatch {
            headers: vec![header; SEND_BATCH],
            parts: vec![part; SEND_BATCH],
            names: vec![nowhere.into(); SEND_BATCH],
            control: vec![[0; CONTROL_WORDS]; SEND_BATCH],
            buffers: (0..SEND_BATCH).map(|_| Vec::with_capacity(MAX_PAYLOAD)).collect(),
            entries: Vec::with_capacity(SEND_BATCH),
            ipv6: false,
        }
    }
}

impl SendBatch {
    /// The datagrams in it.
    pub fn entries(&self) -> &[Outgoing] {
        &self.entries
    }

    /// Whether the batch is full.
    pub fn is_full(&self) -> bool {
        self.entries.len() == SEND_BATCH
    }

    /// Empties the batch; `ipv6`: the family of the socket that it will be sent from.
    pub fn begin(&mut self, ipv6: bool) {
        self.entries.clear();
        self.ipv6 = ipv6;
    }

    /// Moves the bytes of datagram `written` of the last batch to the datagram that is pushed next.
    pub fn carry_over(&mut self, written: usize) {
        let next = self.entries.len();
        self.buffers.swap(next, written);
    }

    /// The buffer of the datagram that is pushed next.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffers[self.entries.len()]
    }

    /// The bytes of a datagram.
    pub fn payload(&self, i: usize) -> &[u8] {
        &self.buffers[i]
    }

    /// Adds the datagram whose bytes are in `buffer`.
    pub fn push(&mut self, out: Outgoing) {
        let i = self.entries.len();
        let buffer = &mut self.buffers[i];
        self.parts[i] = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        self.names[i] = native_address(out.to, self.ipv6);
        let header = &mut self.headers[i].msg_hdr;
        header.msg_name = (&raw mut self.names[i]).cast();
        header.msg_namelen = self.names[i].len();
        header.msg_iov = &raw mut self.parts[i];
        header.msg_iovlen = 1;
        write_control(header, &mut self.control[i], &out, self.ipv6);
        self.entries.push(out);
    }

    /// Removes a datagram's requests to the kernel, but for its traffic class, without which it would be another packet; true if
    /// there were any.
    pub fn strip(&mut self, i: usize) -> bool {
        let out = &mut self.entries[i];
        let had = out.source.is_some() || out.stamp != StampRequest::None;
        out.source = None;
        out.stamp = StampRequest::None;
        write_control(&mut self.headers[i].msg_hdr, &mut self.control[i], out, self.ipv6);
        had
    }

    /// Passes datagrams from `first` on to the kernel; returns how many the kernel took.
    pub fn send(&mut self, socket: BorrowedFd<'_>, first: usize) -> io::Result<usize> {
        let pending = &mut self.headers[first..self.entries.len()];
        // SAFETY: `push` made every pending header point to live buffers of the stated lengths,
        // and nothing was moved since.
        let n = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                pending.as_mut_ptr(),
                pending.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
    }
}

fn write_control(
    header: &mut libc::msghdr,
    control: &mut [u64; CONTROL_WORDS],
    out: &Outgoing,
    ipv6: bool,
) {
    let mut used = 0;
    if out.stamp != StampRequest::None {
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE;
        put(control, &mut used, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags);
    }
    if let StampRequest::Named(id) = out.stamp {
        put(control, &mut used, libc::SOL_SOCKET, SCM_TS_OPT_ID, id);
    }
    if out.traffic_class != 0 {
        // Packets to IPv4 addresses are IPv4's also on a socket of both families, which then ignores IPv6's message.
        let v4 = out.to.ip().to_canonical().is_ipv4();
        let (level, kind) = if v4 {
            (libc::IPPROTO_IP, libc::IP_TOS)
        } else {
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
        };
        put(control, &mut used, level, kind, libc::c_int::from(out.traffic_class));
    }
    if let Some(source) = out.source {
        put_source(control, &mut used, source, ipv6);
    }
    header.msg_control = if used == 0 { std::ptr::null_mut() } else { control.as_mut_ptr().cast() };
    header.msg_controllen = used as _;
}

/// Appends the local address to send from.
fn put_source(control: &mut [u64; CONTROL_WORDS], used: &mut usize, source: IpAddr, ipv6: bool) {
    match source {
        // Also for IPv4 on a socket of both families: the source is then a mapped address.
        source if ipv6 => {
            let address = match source {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            let ipi6_addr = libc::in6_addr { s6_addr: address.octets() };
            let info = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: 0 };
            put(control, used, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        IpAddr::V4(v4) => {
            let source = libc::in_addr { s_addr: u32::from(v4).to_be() };
            let any = libc::in_addr { s_addr: 0 };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: any };
            put(control, used, libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        IpAddr::V6(_) => {}
    }
}

/// Appends one control message at byte `used`.
fn put<T: Copy>(
    control: &mut [u64; CONTROL_WORDS],
    used: &mut usize,
    level: i32,
    kind: i32,
    value: T,
) {
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    let (space, length) =
        unsafe { (libc::CMSG_SPACE(size_of::<T>() as u32), libc::CMSG_LEN(size_of::<T>() as u32)) };
    assert!(
        *used + space as usize <= size_of::<[u64; CONTROL_WORDS]>(),
        "control buffer too small"
    );
    // SAFETY: the space was just checked; the buffer is aligned for cmsghdr, and CMSG_SPACE keeps
    // `used` aligned; CMSG_DATA lies within the space.
    unsafe {
        let message = control.as_mut_ptr().cast::<u8>().add(*used).cast::<libc::cmsghdr>();
        (*message).cmsg_level = level;
        (*message).cmsg_type = kind;
        (*message).cmsg_len = length as _;
        libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
    }
    *used += space as usize;
}

/// An address from the kernel; IPv4-mapped addresses become IPv4. `None`: not an IP address.
pub(crate) fn address(name: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = name.as_sockaddr_in() {
        return Some(SocketAddrV4::from(*v4).into());
    }
    let v6 = SocketAddrV6::from(*name.as_sockaddr_in6()?);
    Some(match v6.ip().to_ipv4_mapped() {
        Some(v4) => SocketAddrV4::new(v4, v6.port()).into(),
        None => v6.into(),
    })
}

/// An address as a socket of the given family wants it.
fn native_address(to: SocketAddr, ipv6: bool) -> SockaddrStorage {
    match to {
        SocketAddr::V4(a) if ipv6 => {
            SocketAddrV6::new(a.ip().to_ipv6_mapped(), a.port(), 0, 0).into()
        }
        to => to.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernels_form() {
        let cases = [
            ("127.0.0.1:5860", false),
            ("127.0.0.1:5860", true),
            ("[::1]:5860", true),
            ("[fe80::1%3]:9", true),
        ];
        for (text, ipv6) in cases {
            let to: SocketAddr = text.parse().unwrap();
            assert_eq!(address(&native_address(to, ipv6)), Some(to), "{text}");
        }
    }
}
