//! Large packets, cut into those that a network card would send (`tcp_gso_segment`, `__udp_gso_segment` and
//! `inet_gso_segment` of Linux).

use super::headers::{Headers, Transport, long, tcp, udp, word};
use super::notes::{Cut, NOTES_BYTES, Notes};
use crate::checksum::Sum;

/// Least data of a segment of TCP: `TCP_MIN_GSO_SIZE` of Linux, the least MSS of 48 bytes less the options.
const LEAST_TCP_BYTES: u16 = 8;
/// Most datagrams of a packet of UDP: `UDP_MAX_SEGMENTS` of Linux.
const MOST_DATAGRAMS: usize = 128;

/// The packets of a packet that was read, one after the other.
#[derive(Debug)]
pub struct Segments<'a> {
    packet: &'a mut [u8],
    cutting: Option<Cutting>,
    done: bool,
}

/// A packet that is cut.
#[derive(Debug)]
struct Cutting {
    headers: Headers,
    /// The headers of the packet as read: each segment has them, but for what its place changes.
    template: Vec<u8>,
    /// Bytes of data of each segment but the last.
    size: usize,
    /// Number of the next segment.
    next: usize,
}

/// The packets of a record that was read from a device with notes: usually one. `None`: the notes are wrong, or do not fit
/// the packet. The number of packets is bounded by that of bytes.
pub fn split(record: &mut [u8]) -> Option<Segments<'_>> {
    let (notes, packet) = record.split_first_chunk_mut::<NOTES_BYTES>()?;
    let notes = Notes::read(notes)?;
    let Some((cut, size)) = notes.cut else {
        if let Some(place) = notes.checksum {
            complete(packet, place)?;
        }
        return Some(Segments::whole(packet));
    };
    // The checksums of segments are computed from nothing.
    let headers = Headers::find(packet)?;
    let data = packet.len() - headers.data_at;
    let fits = match (cut, headers.transport) {
        (Cut::Tcp { version }, Transport::Tcp) => {
            version == headers.version && size >= LEAST_TCP_BYTES
        }
        (Cut::Udp, Transport::Udp) => size > 0 && data <= usize::from(size) * MOST_DATAGRAMS,
        _ => false,
    };
    if !fits {
        return None;
    }
    let template = packet[..headers.data_at].to_vec();
    let cutting = Cutting { headers, template, size: usize::from(size), next: 0 };
    Some(Segments { packet, cutting: Some(cutting), done: false })
}

/// Completes a checksum, whose place has the sum of the pseudo-header (`skb_checksum_help`).
fn complete(packet: &mut [u8], (start, at): (u16, u16)) -> Option<()> {
    let covered = packet.get_mut(usize::from(start)..)?;
    let sum = Sum::default().add(covered);
    let place = covered.get_mut(usize::from(at)..)?.first_chunk_mut()?;
    *place = some_checksum(sum);
    Some(())
}

/// A checksum that is not zero, which would mean "none" in UDP (RFC 768).
fn some_checksum(sum: Sum) -> [u8; 2] {
    match sum.checksum() {
        [0, 0] => [0xff; 2],
        checksum => checksum,
    }
}

impl Segments<'_> {
    /// A packet that is not cut.
    pub fn whole(packet: &mut [u8]) -> Segments<'_> {
        Segments { packet, cutting: None, done: false }
    }

    /// The next packet.
    ///
    /// Its headers are written where the data before it were, which are no longer needed.
    pub fn next_packet(&mut self) -> Option<&[u8]> {
        if self.done {
            return None;
        }
        let Some(cutting) = &mut self.cutting else {
            self.done = true;
            return Some(self.packet);
        };
        let begins = cutting.next * cutting.size;
        let end = (cutting.template.len() + begins + cutting.size).min(self.packet.len());
        self.done = end == self.packet.len();
        let segment = &mut self.packet[begins..end];
        cutting.write_headers(segment, self.done);
        cutting.next += 1;
        Some(segment)
    }
}

impl Cutting {
    fn write_headers(&self, segment: &mut [u8], is_last: bool) {
        let Cutting { headers, template, next, .. } = self;
        segment[..template.len()].copy_from_slice(template);
        if headers.version == 4 {
            let id = word(template, 4).wrapping_add(*next as u16);
            segment[4..6].copy_from_slice(&id.to_be_bytes());
        }
        headers.set_length(segment);
        let own = &mut segment[headers.transport_at..];
        match headers.transport {
            Transport::Tcp => {
                let sequence = long(own, tcp::SEQUENCE).wrapping_add((next * self.size) as u32);
                own[tcp::SEQUENCE..][..4].copy_from_slice(&sequence.to_be_bytes());
                if *next > 0 {
                    own[tcp::FLAGS] &= !tcp::CWR;
                }
                if !is_last {
                    own[tcp::FLAGS] &= !(tcp::FIN | tcp::PSH);
                }
            }
            Transport::Udp => {
                let length = own.len() as u16;
                own[udp::LENGTH..][..2].copy_from_slice(&length.to_be_bytes());
            }
        }
        let at = headers.checksum_at();
        segment[at..at + 2].fill(0);
        let sum = headers.pseudo_sum(segment).add(&segment[headers.transport_at..]);
        segment[at..at + 2].copy_from_slice(&some_checksum(sum));
    }
}
