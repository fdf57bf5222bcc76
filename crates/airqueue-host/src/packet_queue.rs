//! Packets that the kernel keeps until this process lets them go: NFQUEUE (`linux/netfilter/nfnetlink_queue.h`).
//!
//! A kept packet still belongs to its socket: it counts against the socket's send buffer, and against TCP's small queue,
//! as a packet in the queue of a network driver does. A packet that a TUN device has passed on belongs to nobody.

use crate::error::HostError;
use crate::netns::within;
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The number of the queue in its namespace, for the rule that sends packets there.
pub const NUMBER: u16 = 0xa1;

/// Bytes that the socket holds of packets that have not been read: as many as the kernel permits.
const BUFFER_BYTES: usize = 64 << 20;
const HEADER_BYTES: usize = 16;
/// `nfgenmsg`: family, version, and the number of the queue.
const FAMILY_BYTES: usize = 4;
/// Of a type of attribute without its flags.
const TYPE_MASK: u16 = libc::NLA_TYPE_MASK as u16;
const PACKET: u16 = message_type(libc::NFQNL_MSG_PACKET);
const VERDICT: u16 = message_type(libc::NFQNL_MSG_VERDICT);
const CONFIG: u16 = message_type(libc::NFQNL_MSG_CONFIG);

/// Verdicts are sent together, up to this size.
const VERDICT_BYTES: usize = 16 << 10;

const fn message_type(of: libc::c_int) -> u16 {
    (libc::NFNL_SUBSYS_QUEUE as u16) << 8 | of as u16
}

/// The type and the value of an attribute.
type Attribute<'a> = (libc::c_int, &'a [u8]);

/// A packet that the kernel keeps.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The kernel's number of the packet.
    pub id: u32,
    /// Where the whole packet is, in the buffer into which it was read.
    pub bytes: Range<usize>,
}

/// A queue of kept packets.
#[derive(Debug)]
pub struct PacketQueue<'a> {
    socket: BorrowedFd<'a>,
    /// Verdicts that have not been sent.
    verdicts: Vec<u8>,
}

/// Opens the queue of a network namespace, as [`within`] takes it, which keeps up to `most` packets. Packets for which the
/// queue or its socket has no room go on as if there were no queue. The kernel frees all kept packets when the socket is
/// closed.
pub fn open(namespace: Option<&Path>, most: u32) -> Result<OwnedFd, HostError> {
    within(namespace, || {
        configure(most).map_err(|errno| HostError::system("keep packets")(errno.into()))
    })
}

fn configure(most: u32) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let protocol = SockProtocol::NetlinkNetFilter;
    let queue = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
    bind(queue.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    let bind_command = [libc::NFQNL_CFG_CMD_BIND as u8, 0, 0, 0];
    let mut copy = [0; 5];
    copy[..4].copy_from_slice(&0xffff_u32.to_be_bytes());
    copy[4] = libc::NFQNL_COPY_PACKET as u8;
    ask(&queue, &[(libc::NFQA_CFG_CMD, &bind_command)])?;
    let fail_open = (libc::NFQA_CFG_F_FAIL_OPEN as u32).to_be_bytes();
    ask(
        &queue,
        &[
            (libc::NFQA_CFG_PARAMS, &copy),
            (libc::NFQA_CFG_QUEUE_MAXLEN, &most.to_be_bytes()),
            (libc::NFQA_CFG_FLAGS, &fail_open),
            (libc::NFQA_CFG_MASK, &fail_open),
        ],
    )?;
    // Without the privilege the system's limit remains.
    let _ = setsockopt(&queue, sockopt::RcvBufForce, &BUFFER_BYTES);
    Ok(queue)
}

/// Sets attributes of the queue, and waits for the kernel's answer.
fn ask(queue: &OwnedFd, attributes: &[Attribute<'_>]) -> nix::Result<()> {
    let mut request = Vec::new();
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    put_message(&mut request, CONFIG, flags, attributes);
    send(queue.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut answer = [0; 4096];
    let size = recv(queue.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match error_of(&answer[..size]) {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw(-error)),
        None => Err(Errno::EPROTO),
    }
}

/// Appends a message.
fn put_message(to: &mut Vec<u8>, kind: u16, flags: u16, attributes: &[Attribute<'_>]) {
    let begin = to.len();
    // The size is known at the end.
    to.extend_from_slice(&[0; 4]);
    to.extend_from_slice(&kind.to_ne_bytes());
    to.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number and port: nobody compares them.
    to.extend_from_slice(&[0; 8]);
    to.extend_from_slice(&[libc::AF_UNSPEC as u8, libc::NFNETLINK_V0 as u8]);
    to.extend_from_slice(&NUMBER.to_be_bytes());
    for (kind, value) in attributes {
        to.extend_from_slice(&(4 + value.len() as u16).to_ne_bytes());
        to.extend_from_slice(&(*kind as u16).to_ne_bytes());
        to.extend_from_slice(value);
        to.resize(to.len().next_multiple_of(4), 0);
    }
    let size = (to.len() - begin) as u32;
    to[begin..begin + 4].copy_from_slice(&size.to_ne_bytes());
}

/// The number of the error in an answer of the kernel; 0 is success.
fn error_of(message: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(*message.get(4..)?.first_chunk()?);
    if kind != libc::NLMSG_ERROR as u16 {
        return None;
    }
    message.get(HEADER_BYTES..)?.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
}

/// The packet in a message of the kernel; `None`: the message is about something else.
fn packet_of(message: &[u8]) -> Option<Kept> {
    if u16::from_ne_bytes(*message.get(4..)?.first_chunk()?) != PACKET {
        return None;
    }
    let (mut id, mut bytes) = (None, 0..0);
    let mut at = HEADER_BYTES + FAMILY_BYTES;
    while let Some(header) = message.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let size = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let value = message.get(at + 4..at + size)?;
        match libc::c_int::from(u16::from_ne_bytes([header[2], header[3]]) & TYPE_MASK) {
            libc::NFQA_PACKET_HDR => id = value.first_chunk().map(|id| u32::from_be_bytes(*id)),
            libc::NFQA_PAYLOAD => bytes = at + 4..at + size,
            _ => {}
        }
        at += size.next_multiple_of(4);
    }
    Some(Kept { id: id?, bytes })
}

impl<'a> PacketQueue<'a> {
    /// The queue behind a descriptor of [`open`].
    pub fn new(socket: &'a OwnedFd) -> PacketQueue<'a> {
        PacketQueue { socket: socket.as_fd(), verdicts: Vec::with_capacity(VERDICT_BYTES) }
    }

    /// Reads a packet that has not been read; `None` if there is none. A buffer of 70,000 bytes has room for each packet.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<Option<Kept>> {
        loop {
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(size) => match packet_of(&buffer[..size]) {
                    // The answer to a verdict on a packet that is no longer there.
                    None => {}
                    packet => return Ok(packet),
                },
                Err(Errno::EAGAIN) => return Ok(None),
                // Packets for which the socket has no room go on; ENOBUFS says so.
                Err(Errno::EINTR | Errno::ENOBUFS) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Lets the kernel send a packet on, at the next [`Self::send_verdicts`] at the latest: the packet's socket no longer has
    /// the packet, whose bytes come from the device.
    pub fn let_go(&mut self, id: u32) -> nix::Result<()> {
        let mut value = [0; 8];
        value[..4].copy_from_slice(&libc::NF_ACCEPT.to_be_bytes());
        value[4..].copy_from_slice(&id.to_be_bytes());
        let flags = libc::NLM_F_REQUEST as u16;
        put_message(&mut self.verdicts, VERDICT, flags, &[(libc::NFQA_VERDICT_HDR, &value)]);
        if self.verdicts.len() >= VERDICT_BYTES { self.send_verdicts() } else { Ok(()) }
    }

    /// Sends all verdicts.
    pub fn send_verdicts(&mut self) -> nix::Result<()> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        let sent = loop {
            match send(self.socket.as_raw_fd(), &self.verdicts, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                done => break done,
            }
        };
        self.verdicts.clear();
        sent.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of the kernel about a packet, with an attribute that nobody asked for.
    fn message(id: u32, packet: &[u8]) -> Vec<u8> {
        let mut header = id.to_be_bytes().to_vec();
        header.extend_from_slice(&[8, 0, 4]);
        let device = [0, 0, 0, 2];
        let attributes: [Attribute<'_>; 3] = [
            (libc::NFQA_PACKET_HDR, &header),
            (libc::NFQA_IFINDEX_OUTDEV, &device),
            (libc::NFQA_PAYLOAD, packet),
        ];
        let mut message = Vec::new();
        put_message(&mut message, PACKET, 0, &attributes);
        message
    }

    #[test]
    fn packets_are_found_among_attributes() {
        for packet in [&b"abc"[..], b"abcd", &[7; 1500]] {
            let message = message(9, packet);
            let Kept { id, bytes } = packet_of(&message).unwrap();
            assert_eq!((id, &message[bytes]), (9, packet));
        }
    }

    #[test]
    fn messages_that_are_cut_off_or_wrong_are_no_packets() {
        let whole = message(9, b"abcd");
        for size in 0..whole.len() - 4 {
            let found = packet_of(&whole[..size]);
            assert!(found.is_none_or(|kept| kept.bytes.is_empty()), "{size}");
        }
        let mut error = whole.clone();
        error[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        assert_eq!(packet_of(&error), None);
        // An attribute without a length would be read for ever.
        let mut empty = whole;
        let at = HEADER_BYTES + FAMILY_BYTES;
        empty[at..at + 2].copy_from_slice(&[0, 0]);
        assert_eq!(packet_of(&empty), None);
    }
}
