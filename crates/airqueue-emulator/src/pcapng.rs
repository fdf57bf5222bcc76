//! Blocks of pcapng (draft-ietf-opsawg-pcapng): IP packets with nanoseconds, directions and comments.

use airqueue_core::Time;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
/// Tells readers the order of bytes.
const MAGIC: u32 = 0x1a2b_3c4d;
/// Major and minor version.
const VERSION: [u16; 2] = [1, 0];
/// LINKTYPE_RAW: IPv4 or IPv6, as the first four bits say.
const LINK_TYPE: u16 = 101;
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIBED: u16 = 3;
const RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
/// Times are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Which way a packet went through the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the network to the node.
    Received,
    /// From the node to the network.
    Sent,
}

/// Appends a block with this content to `out`.
fn block(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    content(out);
    let length = (out.len() - begin + 4) as u32;
    out[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

/// Fills up to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    // Longer texts are cut; ours are far shorter.
    let value = &value[..value.len().min(u16::MAX.into())];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

/// The beginning of a file: the section, with a comment, and its only interface.
pub fn header(comment: &str, name: &str, described: &str) -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, SECTION_HEADER, |out| {
        out.extend(MAGIC.to_le_bytes());
        VERSION.iter().for_each(|part| out.extend(part.to_le_bytes()));
        // The length of the section is not known.
        out.extend((-1i64).to_le_bytes());
        option(out, COMMENT, comment.as_bytes());
        option(out, USER_APPLICATION, concat!("airqueue ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
    block(&mut out, INTERFACE_DESCRIPTION, |out| {
        out.extend(LINK_TYPE.to_le_bytes());
        // Reserved, and no limit of the packets' length.
        out.extend([0; 6]);
        option(out, INTERFACE_NAME, name.as_bytes());
        option(out, INTERFACE_DESCRIBED, described.as_bytes());
        option(out, RESOLUTION, &[NANOSECONDS]);
        option(out, END_OF_OPTIONS, &[]);
    });
    out
}

/// Appends a packet, at a time since 1970.
pub fn packet(out: &mut Vec<u8>, at: Time, direction: Direction, bytes: &[u8], comment: &str) {
    block(out, ENHANCED_PACKET, |out| {
        let ns = at.as_nanos() as u64;
        let length = bytes.len() as u32;
        // The interface, both halves of the time, and the length kept and the real one.
        for word in [0, (ns >> 32) as u32, ns as u32, length, length] {
            out.extend(word.to_le_bytes());
        }
        out.extend(bytes);
        pad(out, bytes.len());
        option(out, COMMENT, comment.as_bytes());
        let flags: u32 = if direction == Direction::Received { 1 } else { 2 };
        option(out, PACKET_FLAGS, &flags.to_le_bytes());
        option(out, END_OF_OPTIONS, &[]);
    });
}
