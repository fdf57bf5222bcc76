//! Fragmentation of IPv4 packets by routers (RFC 791, sections 2.3 and 3.2).

use crate::checksum::Sum;
use airqueue_core::PacketCount;
use std::ops::Range;

/// Fragments carry multiples of this many bytes, except the last one (RFC 791, section 3.1).
const UNIT: usize = 8;
/// The header without options.
const LEAST_HEADER: usize = 20;
/// The flags, in the first byte of the fragment offset: one without a meaning, don't fragment, more fragments.
const RESERVED: u8 = 0x80;
const DONT_FRAGMENT: u8 = 0x40;
const MORE_FRAGMENTS: u8 = 0x20;
/// Place of the header's checksum.
const CHECKSUM: Range<usize> = 10..12;
/// Options of one byte (RFC 791, section 3.1): end of the list, and no operation.
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
/// The flag of options that all fragments have.
const COPIED: u8 = 0x80;
/// Most bytes of options.
const MOST_OPTIONS: usize = 40;

/// The fragments of a packet, in order.
#[derive(Clone, Debug)]
pub struct Fragments<'a> {
    packet: &'a [u8],
    header: usize,
    /// The options of all fragments but the first, padded.
    copied: ([u8; MOST_OPTIONS], usize),
    mtu: usize,
    /// What is not in a fragment yet.
    rest: Range<usize>,
}

impl<'a> Fragments<'a> {
    /// Fragments of at most `mtu` bytes of a whole packet that is one whole IP packet. `None`: routers do
    /// not fragment such a packet. The packet is of IPv6, or has "don't fragment" set; its options are wrong; or a header
    /// and 8 bytes do not fit into the MTU, or the fragments would reach beyond the largest offset.
    pub fn new(packet: &'a [u8], mtu: u32) -> Option<Fragments<'a>> {
        let &first = packet.first()?;
        let header = usize::from(first & 0x0f) * 4;
        if first >> 4 != 4 || header < LEAST_HEADER || packet.len() <= header {
            return None;
        }
        if packet[6] & DONT_FRAGMENT != 0 {
            return None;
        }
        // The largest packet has 65,535 bytes: fragments beyond have no offset, and no receiver puts them together.
        let data = packet.len() - header;
        if offset_of(packet) * UNIT + data > usize::from(u16::MAX) {
            return None;
        }
        // A fragment with more behind it has a multiple of 8 bytes, or fragments of it would not fit together.
        if packet[6] & MORE_FRAGMENTS != 0 && !data.is_multiple_of(UNIT) {
            return None;
        }
        let copied = copied_options(&packet[LEAST_HEADER..header])?;
        let mtu = usize::try_from(mtu).ok()?;
        let fits = mtu >= header + UNIT;
        fits.then_some(Fragments { packet, header, copied, mtu, rest: header..packet.len() })
    }

    /// Writes the next fragment in place of what is in `out`. Returns whether there was one.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(Piece { data, options, more }) = self.piece() else { return false };
        let offset = offset_of(self.packet) + (data.start - self.header) / UNIT;
        out.clear();
        out.extend_from_slice(&self.packet[..LEAST_HEADER]);
        let (copied, length) = &self.copied;
        out.extend_from_slice(match options {
            Options::All => &self.packet[LEAST_HEADER..self.header],
            Options::Copied => &copied[..*length],
        });
        let header = out.len();
        out.extend_from_slice(&self.packet[data]);
        out[0] = 4 << 4 | (header / 4) as u8;
        let size = (out.len() as u16).to_be_bytes();
        out[2..4].copy_from_slice(&size);
        out[6..8].copy_from_slice(&(offset as u16).to_be_bytes());
        out[6] |=
            self.packet[6] & (RESERVED | MORE_FRAGMENTS) | if more { MORE_FRAGMENTS } else { 0 };
        out[CHECKSUM].fill(0);
        let sum = Sum::default().add(&out[..header]).checksum();
        out[CHECKSUM].copy_from_slice(&sum);
        true
    }

    /// How many fragments there are from here on, and their bytes together.
    pub fn count(&self) -> PacketCount {
        let (mut left, mut count) = (self.clone(), PacketCount::default());
        while let Some(Piece { data, options, .. }) = left.piece() {
            count.add_size((data.len() + LEAST_HEADER + self.options_bytes(options)) as u64);
        }
        count
    }

    /// The next fragment's part of the packet.
    fn piece(&mut self) -> Option<Piece> {
        if self.rest.is_empty() {
            return None;
        }
        let is_first = self.rest.start == self.header;
        let options = if is_first { Options::All } else { Options::Copied };
        let room = self.mtu - LEAST_HEADER - self.options_bytes(options);
        let more = self.rest.len() > room;
        let length = if more { room / UNIT * UNIT } else { self.rest.len() };
        let data = self.rest.start..self.rest.start + length;
        self.rest.start = data.end;
        Some(Piece { data, options, more })
    }

    fn options_bytes(&self, options: Options) -> usize {
        match options {
            Options::All => self.header - LEAST_HEADER,
            Options::Copied => self.copied.1,
        }
    }
}

/// A fragment's part of a packet.
struct Piece {
    data: Range<usize>,
    options: Options,
    /// Whether this packet has more data behind.
    more: bool,
}

/// The options of a fragment.
#[derive(Clone, Copy)]
enum Options {
    /// Those of the packet: the first fragment has these.
    All,
    /// Those with the flag "copied".
    Copied,
}

/// The offset of a packet, in units of 8 bytes.
fn offset_of(packet: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([packet[6] & 0x1f, packet[7]]))
}

/// The options that all fragments have, padded to whole words with ends of the list, and their length; `None`: the options
/// are wrong.
fn copied_options(mut options: &[u8]) -> Option<([u8; MOST_OPTIONS], usize)> {
    let (mut copied, mut length) = ([END_OF_OPTIONS; MOST_OPTIONS], 0);
    while let [kind, rest @ ..] = options {
        match *kind {
            END_OF_OPTIONS => break,
            NO_OPERATION => options = rest,
            kind => {
                let size = usize::from(*rest.first()?);
                let option = options.get(..size).filter(|_| size >= 2)?;
                if kind & COPIED != 0 {
                    copied[length..length + size].copy_from_slice(option);
                    length += size;
                }
                options = &options[size..];
            }
        }
    }
    Some((copied, length.next_multiple_of(4)))
}
