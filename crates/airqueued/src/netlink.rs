//! Requests to the kernel over netlink, one after the other: actions that are acknowledged, questions, dumps, and
//! batches, which the kernel handles within one system call.
//!
//! Answers are treated as if a hostile peer had sent them: wrong lengths are errors, never panics.

pub mod attributes;

use netlink_packet_core::{
    DoneBuffer, Emitable, ErrorBuffer, NLM_F_ACK, NLM_F_ACK_TLVS, NLM_F_CAPPED, NLM_F_DUMP,
    NLM_F_DUMP_INTR, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN,
    NetlinkBuffer, NetlinkHeader,
};
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use thiserror::Error;

/// `NETLINK_ROUTE`: interfaces and queue disciplines.
pub const ROUTE: isize = 0;
/// `NETLINK_GENERIC`: nl80211, ethtool.
pub const GENERIC: isize = 16;

/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// The kernel answers within the system call that asks, or not at all.
const PATIENCE_S: i64 = 5;
/// No message of the kernel is longer: dumps are cut into pieces of 32 kB (`netlink_recvmsg`).
const LONGEST: usize = 1 << 16;
/// Longest batch. Below SO_SNDBUF's default of 212,992 bytes, of which the kernel takes some (`netlink_sendmsg`).
pub const LONGEST_BATCH: usize = 160_000;
/// A dump that changes while it is read is asked for again, so often.
const DUMPS: u32 = 10;
/// `NLMSGERR_ATTR_MSG`: the sentence of an extended acknowledgement.
const EXTENDED_SENTENCE: u16 = 1;

/// Why a request has no result.
#[derive(Debug, Error)]
pub enum NetlinkError {
    /// The kernel's answer is an error.
    #[error("{0}")]
    Refused(Refusal),
    /// The socket does not work.
    #[error("the kernel's netlink socket does not {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An answer that cannot be read.
    #[error("the kernel's answer cannot be read: {0}")]
    Unreadable(String),
    /// More than fits into one system call.
    #[error("{0} bytes of requests do not fit into one system call of {LONGEST_BATCH} bytes")]
    TooLong(usize),
}

/// The kernel's refusal of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error's number.
    pub errno: Errno,
    /// The sentence of the extended acknowledgement, empty if there is none.
    pub sentence: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.errno.desc().to_lowercase();
        if self.sentence.is_empty() {
            write!(f, "{words}")
        } else {
            write!(f, "{words} ({})", self.sentence)
        }
    }
}

impl NetlinkError {
    /// The number of the kernel's refusal, if it is one.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            NetlinkError::Refused(refusal) => Some(refusal.errno),
            _ => None,
        }
    }
}

/// A request: the message's type and what follows its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `nlmsg_type`.
    pub kind: u16,
    /// `nlmsg_flags` besides NLM_F_REQUEST and NLM_F_ACK.
    pub flags: u16,
    /// Everything after `nlmsghdr`.
    pub body: Vec<u8>,
}

/// A message of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `nlmsg_type`.
    pub kind: u16,
    /// Everything after `nlmsghdr`.
    pub body: Vec<u8>,
}

/// A netlink socket. It stays in the network namespace in which it was opened.
pub struct Netlink {
    socket: Socket,
    /// Who answers: the kernel, but in tests.
    peer: SocketAddr,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens a socket for one of the kernel's protocols, [`ROUTE`] or [`GENERIC`].
    pub fn open(protocol: isize) -> Result<Netlink, NetlinkError> {
        Netlink::connect(protocol, SocketAddr::new(0, 0))
    }

    /// Opens a socket for the requests to somebody.
    pub(crate) fn connect(protocol: isize, peer: SocketAddr) -> Result<Netlink, NetlinkError> {
        let system = |action| move |source| NetlinkError::System { action, source };
        let mut socket = Socket::new(protocol).map_err(system("open"))?;
        socket.bind_auto().map_err(system("get an address"))?;
        // Kernels before 4.12 have no sentences; errors then have their number alone.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))
            .map_err(|error| system("take a time limit")(error.into()))?;
        Ok(Netlink { socket, peer, sequence: 0, buffer: Vec::with_capacity(LONGEST) })
    }

    /// Has the kernel do something. Succeeds if the kernel acknowledges it.
    pub fn act(&mut self, request: &Request) -> Result<(), NetlinkError> {
        self.ask(request).map(|_| ())
    }

    /// A question that is no dump: the messages before the kernel's acknowledgement.
    pub fn ask(&mut self, request: &Request) -> Result<Vec<Message>, NetlinkError> {
        let number = self.send(std::slice::from_ref(request), NLM_F_ACK)?;
        let answers = self.collect(number, number)?;
        answers.finished()
    }

    /// Everything of a kind. Asks again if it changed meanwhile.
    pub fn dump(&mut self, request: &Request) -> Result<Vec<Message>, NetlinkError> {
        for _ in 0..DUMPS {
            let number = self.send(std::slice::from_ref(request), NLM_F_DUMP)?;
            let answers = self.collect(number, number)?;
            if !answers.interrupted {
                return answers.finished();
            }
        }
        Err(NetlinkError::Unreadable(format!("it changed in each of {DUMPS} readings")))
    }

    /// Several actions in one system call: the kernel handles them one after the other before the call returns, so
    /// that a process that is killed has sent all of them or none. Returns the kernel's refusals by the number of
    /// the request; the kernel goes on after a refusal.
    pub fn batch(&mut self, requests: &[Request]) -> Result<Vec<(usize, Refusal)>, NetlinkError> {
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let first = self.send(requests, 0)?;
        let last = first.wrapping_add(requests.len() as u32 - 1);
        Ok(self.collect(first, last)?.refusals)
    }

    /// Writes requests as one datagram. Only the last one is acknowledged, since acknowledgements of many would not
    /// fit into the socket's buffer; refusals come unasked. Returns the first one's sequence number.
    fn send(&mut self, requests: &[Request], flags: u16) -> Result<u32, NetlinkError> {
        self.drain();
        let first = self.sequence.wrapping_add(1);
        let mut bytes = Vec::new();
        for (index, request) in requests.iter().enumerate() {
            self.sequence = self.sequence.wrapping_add(1);
            let ack =
                if index + 1 == requests.len() && flags & NLM_F_DUMP == 0 { NLM_F_ACK } else { 0 };
            let length = HEADER + request.body.len();
            let mut header = NetlinkHeader::default();
            header.length = u32::try_from(length).map_err(|_| NetlinkError::TooLong(length))?;
            header.message_type = request.kind;
            header.flags = NLM_F_REQUEST | request.flags | flags | ack;
            header.sequence_number = self.sequence;
            let start = bytes.len();
            bytes.resize(start + HEADER, 0);
            header.emit(&mut bytes[start..]);
            bytes.extend_from_slice(&request.body);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if bytes.len() > LONGEST_BATCH {
            return Err(NetlinkError::TooLong(bytes.len()));
        }
        self.socket
            .send_to(&bytes, &self.peer, 0)
            .map_err(|source| NetlinkError::System { action: "take a request", source })?;
        Ok(first)
    }

    /// Throws away answers to earlier requests, which a time-out or a lost message may have left.
    fn drain(&mut self) {
        while self.receive(MsgFlags::MSG_DONTWAIT).is_ok() {}
    }

    /// Reads answers to the requests from `first` to `last` until that to the last one is complete.
    fn collect(&mut self, first: u32, last: u32) -> Result<Answers, NetlinkError> {
        let mut answers = Answers::of(first, last);
        while !answers.complete {
            if self.receive(MsgFlags::empty())? {
                answers.read(&self.buffer)?;
            }
        }
        Ok(answers)
    }

    /// Reads a datagram into the buffer. Returns whether it came from the kernel, or who is asked in its place: other
    /// processes can write to a netlink socket too.
    fn receive(&mut self, flags: MsgFlags) -> Result<bool, NetlinkError> {
        loop {
            self.buffer.clear();
            let flags = (flags | MsgFlags::MSG_TRUNC).bits();
            let (length, from) = match self.socket.recv_from(&mut self.buffer, flags) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(NetlinkError::System { action: "answer", source }),
                Ok(received) => received,
            };
            if length > self.buffer.len() {
                return Err(NetlinkError::Unreadable(format!("it has {length} bytes at once")));
            }
            return Ok(from.port_number() == self.peer.port_number());
        }
    }
}

/// The messages of a datagram that answers request number 0, as in a recording.
pub fn answer(datagram: &[u8]) -> Result<Vec<Message>, NetlinkError> {
    let mut answers = Answers::of(0, 0);
    answers.read(datagram)?;
    answers.finished()
}

/// Answers to a range of sequence numbers, as far as they were read.
struct Answers {
    first: u32,
    count: u32,
    messages: Vec<Message>,
    refusals: Vec<(usize, Refusal)>,
    interrupted: bool,
    complete: bool,
}

impl Answers {
    fn of(first: u32, last: u32) -> Answers {
        Answers {
            first,
            count: last.wrapping_sub(first).wrapping_add(1),
            messages: Vec::new(),
            refusals: Vec::new(),
            interrupted: false,
            complete: false,
        }
    }

    /// The messages, unless the request was refused.
    fn finished(self) -> Result<Vec<Message>, NetlinkError> {
        match self.refusals.into_iter().next() {
            Some((_, refusal)) => Err(NetlinkError::Refused(refusal)),
            None => Ok(self.messages),
        }
    }

    /// Reads the messages of a datagram.
    fn read(&mut self, mut datagram: &[u8]) -> Result<(), NetlinkError> {
        while !datagram.is_empty() && !self.complete {
            let message = NetlinkBuffer::new_checked(datagram).map_err(unreadable)?;
            let length = (message.length() as usize).next_multiple_of(4).min(datagram.len());
            let index = message.sequence_number().wrapping_sub(self.first);
            // Others are answers to an earlier request, or news that nobody asked for.
            if index < self.count {
                self.take(index, &message)?;
            }
            datagram = &datagram[length..];
        }
        Ok(())
    }

    fn take(&mut self, index: u32, message: &NetlinkBuffer<&[u8]>) -> Result<(), NetlinkError> {
        let last = index + 1 == self.count;
        if message.flags() & NLM_F_DUMP_INTR != 0 && message.message_type() != NLMSG_ERROR {
            self.interrupted = true;
        }
        match message.message_type() {
            NLMSG_NOOP => {}
            NLMSG_OVERRUN => return Err(NetlinkError::Unreadable("data were lost".into())),
            NLMSG_ERROR => {
                if let Some(refusal) = refusal(message.payload(), message.flags())? {
                    self.refusals.push((index as usize, refusal));
                }
                self.complete = last;
            }
            NLMSG_DONE => {
                self.refusals
                    .extend(unfinished(message.payload())?.map(|why| (index as usize, why)));
                self.complete = last;
            }
            kind => self.messages.push(Message { kind, body: message.payload().to_vec() }),
        }
        Ok(())
    }
}

/// The refusal in an NLMSG_ERROR, none if it is an acknowledgement.
fn refusal(payload: &[u8], flags: u16) -> Result<Option<Refusal>, NetlinkError> {
    let error = ErrorBuffer::new_checked(payload).map_err(unreadable)?;
    let Some(code) = error.code() else { return Ok(None) };
    let request = error.payload();
    // The request comes back, its header alone if NLM_F_CAPPED is set, and attributes follow.
    let end = match NetlinkBuffer::new(request) {
        _ if flags & NLM_F_ACK_TLVS == 0 || request.len() < HEADER => request.len(),
        _ if flags & NLM_F_CAPPED != 0 => HEADER,
        header => (header.length() as usize).checked_next_multiple_of(4).unwrap_or(usize::MAX),
    };
    let sentence = sentence(request.get(end..).unwrap_or_default());
    Ok(Some(Refusal { errno: Errno::from_raw(code.get().saturating_abs()), sentence }))
}

/// The error with which a dump ended.
fn unfinished(payload: &[u8]) -> Result<Option<Refusal>, NetlinkError> {
    // The kernel may leave the number out.
    if payload.is_empty() {
        return Ok(None);
    }
    let done = DoneBuffer::new_checked(payload).map_err(unreadable)?;
    let errno = Errno::from_raw(done.code().saturating_abs());
    let sentence = sentence(done.extended_ack());
    Ok((done.code() < 0).then_some(Refusal { errno, sentence }))
}

/// The kernel's sentence among the attributes of an acknowledgement. They are a help alone: if they cannot be read,
/// the error is still known by its number.
fn sentence(attributes: &[u8]) -> String {
    let found = attributes::read(attributes)
        .ok()
        .and_then(|all| all.find(EXTENDED_SENTENCE).map(attributes::text));
    found.unwrap_or_default()
}

fn unreadable(error: netlink_packet_core::DecodeError) -> NetlinkError {
    NetlinkError::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests;
