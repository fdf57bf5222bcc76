//! Probes and answers as bytes. Every function takes any bytes.

use super::token::{TOKEN_LEN, Tokens};
use crate::bytes::{Reader, Truncated};
use crate::wire::{self, Message};

/// Payload of an ICMP or UDP probe in bytes: 64 bytes with IPv4 and its header of 8 bytes, 84 with IPv6.
const PAYLOAD_LEN: usize = 36;
/// Types of ICMP (RFC 792) and ICMPv6 (RFC 4443): request and reply of echo.
const ECHO: [(u8, u8); 2] = [(8, 0), (128, 129)];

/// Length of an echo message up to the end of its token in bytes.
pub(super) const ECHO_LEN: usize = 8 + TOKEN_LEN;

/// A reply to an ICMP echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The identifier of the request.
    pub id: u16,
    /// Its sequence number.
    pub sequence: u16,
    /// The token of its payload.
    pub token: [u8; TOKEN_LEN],
}

/// Writes an ICMP echo request. The kernel computes the checksum of ICMPv6, which includes addresses.
pub fn echo_request(ipv6: bool, id: u16, sequence: u16, token: [u8; TOKEN_LEN], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[ECHO[usize::from(ipv6)].0, 0, 0, 0]);
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
    payload(token, out);
    if !ipv6 {
        let sum = checksum(out).to_be_bytes();
        out[2..4].copy_from_slice(&sum);
    }
}

/// Reads an ICMP message; `None` if it is no echo reply with a token.
pub fn echo_reply(ipv6: bool, message: &[u8]) -> Option<Reply> {
    echo(ECHO[usize::from(ipv6)].1, message)
}

/// Reads an echo request of ours as an ICMP error quotes it; `None` if what is quoted ends before the token.
pub fn quoted_echo(ipv6: bool, message: &[u8]) -> Option<Reply> {
    echo(ECHO[usize::from(ipv6)].0, message)
}

fn echo(kind: u8, message: &[u8]) -> Option<Reply> {
    let read = |mut r: Reader<'_>| -> Result<_, Truncated> {
        let [found, code, _, _] = r.array()?;
        let reply = Reply { id: r.u16()?, sequence: r.u16()?, token: r.array()? };
        Ok((found == kind && code == 0).then_some(reply))
    };
    read(Reader::new(message)).ok().flatten()
}

/// The payload of an IPv4 packet, as raw sockets read packets: the header has a length of its own (RFC 791, 3.1).
pub fn after_ipv4_header(packet: &[u8]) -> Option<&[u8]> {
    let first = *packet.first()?;
    let length = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || length < 20 {
        return None;
    }
    packet.get(length..)
}

/// Writes the payload of a datagram to a closed port.
pub fn datagram(token: [u8; TOKEN_LEN], out: &mut Vec<u8>) {
    out.clear();
    payload(token, out);
}

/// The token of a datagram that an ICMP error quotes; `None`: what is quoted ends before the token's end.
pub fn quoted_token(payload: &[u8]) -> Option<[u8; TOKEN_LEN]> {
    Reader::new(payload).array().ok()
}

/// Writes the message that asks a server for a challenge.
pub fn hello(token: [u8; TOKEN_LEN], out: &mut Vec<u8>) {
    wire::encode(0, &Message::Hello { nonce: u64::from_be_bytes(token) }, out);
}

/// The token of a server's answer. A server of another version answers too, with its version.
pub fn challenge(datagram: &[u8]) -> Option<[u8; TOKEN_LEN]> {
    match wire::decode(datagram).ok()?.message {
        Message::Challenge { nonce, .. } | Message::Version { nonce, .. } => {
            Some(nonce.to_be_bytes())
        }
        _ => None,
    }
}

/// The index of a probe in a token of a target, if the token is ours.
pub(super) fn index(tokens: &Tokens, target: usize, reply: Reply) -> Option<u32> {
    // The sequence number is the lower half of the probe's number: it wraps, the token's does not.
    tokens.index(target, reply.token).filter(|&index| index as u16 == reply.sequence)
}

fn payload(token: [u8; TOKEN_LEN], out: &mut Vec<u8>) {
    out.extend_from_slice(&token);
    out.resize(out.len() + PAYLOAD_LEN - TOKEN_LEN, 0);
}

/// RFC 1071.
fn checksum(message: &[u8]) -> u16 {
    let words =
        message.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
