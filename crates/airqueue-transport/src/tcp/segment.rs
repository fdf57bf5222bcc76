//! The segments that the two ends exchange.

use airqueue_core::{Ecn, EcnFlags, SackBlocks, TcpHeader, Time};

/// A TCP segment without its data. Sequence numbers are 64 bits wide and never wrap: SYN is octet 0, the first byte of
/// data octet 1, FIN the octet after the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first octet of the segment.
    pub seq: u64,
    /// Bytes of data.
    pub payload_bytes: u32,
    /// Bytes of IP header, TCP header and options.
    pub header_bytes: u32,
    /// The next octet expected from the other end; `None` only in a first SYN.
    pub ack: Option<u64>,
    /// SYN: opens the connection.
    pub syn: bool,
    /// FIN: the last octet of this direction.
    pub fin: bool,
    /// PSH: no data follow for now (RFC 9293, section 3.9.1.2); Linux also marks the last segment of a burst.
    pub psh: bool,
    /// ECN-Echo (RFC 3168, section 6.1).
    pub ece: bool,
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub cwr: bool,
    /// The ECN field of its IP header, which queues may set to [`Ecn::Ce`].
    pub ecn: Ecn,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
    /// The SACK option.
    pub sack: SackBlocks,
    /// The window: octets from `ack` on for which the receiver has room ([`Segment::UNLIMITED`]: for any number).
    pub window_bytes: u32,
}

/// The timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: when the segment was made, by the sender's timestamp clock.
    pub value: Time,
    /// TSecr: the value carried by the acknowledged segment; `None` in a first SYN.
    pub echo: Option<Time>,
}

/// The sizes of headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderSize {
    /// Always this many bytes, whatever the options: 40 in ns-2.
    Fixed(u32),
    /// IPv4 and TCP headers of 20 bytes each, plus the options of the segment, padded as in RFC 7323, appendix A.
    Options,
}

/// Bytes of an IPv4 header and a TCP header without options.
const BASE: u32 = 40;
/// Two octets of padding and the timestamps option.
const TIMESTAMPS: u32 = 12;
/// Maximum segment size, SACK permitted and window scale of a SYN, with padding. With timestamps, SACK permitted
/// replaces the padding of the timestamps option.
const SYN_OPTIONS: u32 = 12;
const SYN_OPTIONS_WITH_TIMESTAMPS: u32 = 8;

/// The largest header: the maximum of options (RFC 9293, section 3.1) after the fixed headers.
const MOST: u32 = BASE + 40;

impl HeaderSize {
    /// Bytes of the headers of a segment with data.
    pub(super) fn with_data(self, timestamps: bool) -> u32 {
        match self {
            HeaderSize::Fixed(bytes) => bytes,
            HeaderSize::Options => BASE + if timestamps { TIMESTAMPS } else { 0 },
        }
    }

    /// The largest header of any segment, in bytes.
    pub(super) fn most(self) -> u32 {
        match self {
            HeaderSize::Fixed(bytes) => bytes,
            HeaderSize::Options => MOST,
        }
    }

    /// Bytes of the headers of `segment`.
    pub(super) fn bytes(self, segment: &Segment) -> u32 {
        if let HeaderSize::Fixed(bytes) = self {
            return bytes;
        }
        let blocks = segment.sack.as_slice().len() as u32;
        let sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        let rest = match (segment.timestamps.is_some(), segment.syn) {
            (false, false) => 0,
            (true, false) => TIMESTAMPS,
            (false, true) => SYN_OPTIONS,
            (true, true) => TIMESTAMPS + SYN_OPTIONS_WITH_TIMESTAMPS,
        };
        BASE + rest + sack
    }
}

impl Segment {
    /// The window of a receiver that holds no sender up.
    pub const UNLIMITED: u32 = u32::MAX;

    /// A bare acknowledgement of everything before `ack`, from `seq`.
    pub(super) fn bare(seq: u64, ack: Option<u64>) -> Segment {
        Segment {
            seq,
            payload_bytes: 0,
            header_bytes: 0,
            ack,
            syn: false,
            fin: false,
            psh: false,
            ece: false,
            cwr: false,
            ecn: Ecn::NotEct,
            timestamps: None,
            sack: SackBlocks::default(),
            window_bytes: Segment::UNLIMITED,
        }
    }

    /// The octet after the last octet that the window allows, in a segment that acknowledges the octets below `ack`;
    /// `u64::MAX`: any.
    pub(super) fn window_edge(&self, ack: u64) -> u64 {
        match self.window_bytes {
            Segment::UNLIMITED => u64::MAX,
            bytes => ack + u64::from(bytes),
        }
    }

    /// The octet after the last octet: data, SYN and FIN count.
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }

    /// What queues may read of the segment's header. `connection`: the number of the segment's connection within its
    /// flow.
    pub fn tcp_header(&self, connection: u32) -> TcpHeader {
        let stamps = self.timestamps.map(|of| [of.value, of.echo.unwrap_or_default()]);
        TcpHeader {
            connection,
            ack: self.ack,
            syn: self.syn,
            fin: self.fin,
            ecn: EcnFlags { ece: self.ece, cwr: self.cwr },
            has_data: self.payload_bytes > 0,
            stamps: stamps.unwrap_or_default(),
            sack: self.sack,
        }
    }

    /// Length of the IP packet in bytes.
    pub fn size_bytes(&self) -> u32 {
        self.header_bytes + self.payload_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::ranges::Range;
    use super::*;

    fn blocks(n: usize) -> SackBlocks {
        [Range { start: 5, end: 6 }; SackBlocks::MOST][..n].into()
    }

    /// Sizes of a packet capture: a pure acknowledgement with timestamps is 52 bytes, a SYN 60, one with
    /// three SACK blocks 80, which fills the 40 bytes of options.
    #[test]
    fn options_have_their_real_sizes() {
        let plain = Segment::bare(1, Some(1));
        let stamped =
            Segment { timestamps: Some(Timestamps { value: Time::ZERO, echo: None }), ..plain };
        let cases = [
            (plain, 40),
            (stamped, 52),
            (Segment { sack: blocks(3), ..stamped }, 80),
            (Segment { sack: blocks(4), ..plain }, 76),
        ];
        for (segment, bytes) in cases {
            assert_eq!(HeaderSize::Options.bytes(&segment), bytes);
            assert_eq!(HeaderSize::Fixed(40).bytes(&segment), 40);
        }
        let syn = Segment { syn: true, timestamps: stamped.timestamps, ..plain };
        assert_eq!(HeaderSize::Options.bytes(&syn), 60);
    }

    #[test]
    fn queues_see_the_header() {
        let at = |ms| Time::ZERO + airqueue_core::Span::from_millis(ms);
        let ack = Segment {
            timestamps: Some(Timestamps { value: at(5), echo: Some(at(3)) }),
            sack: blocks(2),
            ece: true,
            ..Segment::bare(1, Some(4))
        };
        let header = ack.tcp_header(7);
        assert_eq!((header.connection, header.ack, header.has_data), (7, Some(4), false));
        assert_eq!(header.ecn, EcnFlags { ece: true, cwr: false });
        assert_eq!(header.stamps, [at(5), at(3)]);
        assert_eq!(header.sack, blocks(2));
        let data = Segment { payload_bytes: 9, fin: true, cwr: true, ..Segment::bare(0, None) };
        let header = data.tcp_header(0);
        assert_eq!((header.ack, header.has_data, header.fin), (None, true, true));
        assert_eq!(header.ecn, EcnFlags { ece: false, cwr: true });
        assert_eq!((header.stamps, header.sack), ([Time::ZERO; 2], SackBlocks::default()));
    }

    #[test]
    fn syn_and_fin_take_an_octet_each() {
        let segment = Segment { payload_bytes: 10, syn: true, fin: true, ..Segment::bare(0, None) };
        assert_eq!(segment.end(), 12);
    }
}
