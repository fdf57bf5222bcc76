//! Segments that arrive at one instant, merged as by the kernel behind a network card (`tcp_gro_receive`,
//! `inet_gro_receive` and `ipv6_gro_receive` of Linux).

use super::headers::{Headers, Transport, long, tcp, word};
use super::notes::{Cut, NOTES_BYTES, Notes};

/// Most connections whose segments wait for others: eight lists of `MAX_GRO_SKBS`.
const MOST_PENDING: usize = 64;
/// Largest merged packet: the kernel's `GRO_LEGACY_MAX_SIZE` less one.
const MOST_BYTES: usize = 65_535;
/// Flags that a merged segment may have: ACK, ECE, and those that end the merging.
const NEVER: u8 = tcp::SYN | tcp::RST | tcp::URG | tcp::CWR;
const LAST: u8 = tcp::FIN | tcp::PSH;
/// Don't fragment (RFC 791).
const DF: u8 = 0x40;

/// Merges segments that are to be written to a device with notes.
///
/// The packets of a connection keep their order. Like the kernel's, packets of different connections do not.
#[derive(Debug, Default)]
pub struct Merger {
    pending: Vec<Pending>,
    /// Buffers that are used again.
    free: Vec<Vec<u8>>,
}

/// Segments of a connection, in one packet.
#[derive(Debug)]
struct Pending {
    /// Notes and packet; the notes, the lengths and the checksums are not right yet.
    record: Vec<u8>,
    headers: Headers,
    /// Data of the first segment: all but the last have as many.
    size: usize,
    segments: usize,
    /// How far the identification of IPv4 goes up with each segment; known from the second one on.
    id_step: Option<u16>,
}

/// Takes a record with notes, and how many packets it has.
type Write<'a> = &'a mut dyn FnMut(&[u8], usize);

impl Merger {
    /// Adds a packet that arrives at the instant of those that were added since [`Self::flush`], and writes what waits no
    /// longer.
    pub fn add(&mut self, packet: &[u8], write: Write<'_>) {
        let headers = Headers::find(packet).filter(|of| of.transport == Transport::Tcp);
        let Some(headers) = headers else { return self.write_alone(packet, write) };
        let same = self.pending.iter().position(|of| of.is_of_connection(packet, &headers));
        let may_merge = may_merge(packet, &headers);
        if let Some(at) = same {
            if may_merge && self.pending[at].append(packet, &headers) {
                if self.pending[at].is_complete() {
                    self.write_pending(at, write);
                }
                return;
            }
            self.write_pending(at, write);
        }
        if !may_merge || flags(packet, &headers) & LAST != 0 {
            return self.write_alone(packet, write);
        }
        if self.pending.len() >= MOST_PENDING {
            self.write_pending(0, write);
        }
        let record = self.record(packet);
        self.pending.push(Pending::new(record, headers));
    }

    /// Writes all that waits: the instant is over.
    pub fn flush(&mut self, write: Write<'_>) {
        while !self.pending.is_empty() {
            self.write_pending(0, write);
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// A packet behind notes that say nothing.
    fn record(&mut self, packet: &[u8]) -> Vec<u8> {
        let mut record = self.free.pop().unwrap_or_default();
        record.clear();
        record.extend_from_slice(&Notes::default().to_bytes());
        record.extend_from_slice(packet);
        record
    }

    /// Writes a packet behind notes that say nothing. Packets that wait are not looked at.
    pub fn write_alone(&mut self, packet: &[u8], write: Write<'_>) {
        let record = self.record(packet);
        write(&record, 1);
        self.free.push(record);
    }

    fn write_pending(&mut self, at: usize, write: Write<'_>) {
        let mut pending = self.pending.remove(at);
        pending.complete();
        write(&pending.record, pending.segments);
        self.free.push(pending.record);
    }
}

fn flags(packet: &[u8], headers: &Headers) -> u8 {
    packet[headers.transport_at + tcp::FLAGS]
}

/// Whether a segment may be in a merged packet: the kernel will not look at its checksum again.
fn may_merge(packet: &[u8], headers: &Headers) -> bool {
    // No options of IPv4, no extension headers of IPv6.
    let plain = headers.transport_at == if headers.version == 4 { 20 } else { 40 };
    plain
        && !is_marked(packet, headers)
        && packet.len() > headers.data_at
        && flags(packet, headers) & NEVER == 0
        && headers.checksum_is_right(packet)
}

/// Whether a queue has marked the segment. The kernel merges marked segments with each other and counts them. It does not
/// count those in a packet that was merged here (`virtio_net_hdr_to_skb` leaves `gso_segs` at 0), and a receiver of accurate
/// ECN must (RFC 9768).
fn is_marked(packet: &[u8], headers: &Headers) -> bool {
    let ecn = if headers.version == 4 { packet[1] } else { packet[1] >> 4 };
    ecn & 3 == 3
}

impl Pending {
    fn new(record: Vec<u8>, headers: Headers) -> Pending {
        let size = record.len() - NOTES_BYTES - headers.data_at;
        Pending { record, headers, size, segments: 1, id_step: None }
    }

    fn packet(&self) -> &[u8] {
        &self.record[NOTES_BYTES..]
    }

    /// Whether a packet has these addresses and ports, over the same version of IP.
    fn is_of_connection(&self, packet: &[u8], headers: &Headers) -> bool {
        let ports = |packet: &[u8], of: &Headers| long(packet, of.transport_at);
        let addresses = headers.addresses();
        self.headers.version == headers.version
            && ports(self.packet(), &self.headers) == ports(packet, headers)
            && self.packet()[addresses.clone()] == packet[addresses]
    }

    /// Appends a segment of the connection if it continues this packet.
    fn append(&mut self, packet: &[u8], headers: &Headers) -> bool {
        let data = &packet[headers.data_at..];
        let id_step = self.id_step(packet);
        let fits = data.len() <= self.size && self.packet().len() + data.len() <= MOST_BYTES;
        if !fits || id_step.is_none() || !self.has_headers_of(packet, headers) {
            return false;
        }
        if headers.version == 4 {
            self.id_step = id_step;
        }
        let at = NOTES_BYTES + headers.transport_at + tcp::FLAGS;
        self.record[at] |= flags(packet, headers) & LAST;
        self.record.extend_from_slice(data);
        self.segments += 1;
        true
    }

    /// How far the identification goes up if this packet is the next one; `None`: it is not. Packets that may not be
    /// fragmented may have one identification (RFC 6864, section 4.1).
    fn id_step(&self, packet: &[u8]) -> Option<u16> {
        if self.headers.version == 6 {
            return Some(0);
        }
        let beyond = word(packet, 4).wrapping_sub(word(self.packet(), 4));
        let step = match beyond {
            0 if packet[6] & DF != 0 => 0,
            _ if usize::from(beyond) == self.segments => 1,
            _ => return None,
        };
        self.id_step.is_none_or(|known| known == step).then_some(step)
    }

    /// Whether a packet has the headers that a further segment of this packet has.
    fn has_headers_of(&self, packet: &[u8], headers: &Headers) -> bool {
        let (ours, at) = (self.packet(), headers.transport_at);
        if self.headers.data_at != headers.data_at {
            return false;
        }
        let ip = if headers.version == 4 {
            // Header length, type of service; flags; time to live.
            ours[..2] == packet[..2] && ours[6..9] == packet[6..9]
        } else {
            // Version, traffic class, flow label; next header, hop limit.
            ours[..4] == packet[..4] && ours[6..8] == packet[6..8]
        };
        let (own, other) = (&ours[at..headers.data_at], &packet[at..headers.data_at]);
        let follows = long(own, tcp::SEQUENCE).wrapping_add((ours.len() - headers.data_at) as u32);
        ip && long(other, tcp::SEQUENCE) == follows
            // The acknowledgement, the length of the header, and the window.
            && own[8..13] == other[8..13]
            && own[tcp::FLAGS] & !LAST == other[tcp::FLAGS] & !LAST
            && own[14..16] == other[14..16]
            && own[tcp::CHECKSUM + 2..] == other[tcp::CHECKSUM + 2..]
    }

    /// Whether nothing may be appended.
    fn is_complete(&self) -> bool {
        let data = self.packet().len() - self.headers.data_at;
        data < self.size * self.segments || flags(self.packet(), &self.headers) & LAST != 0
    }

    /// Completes the notes and the headers.
    fn complete(&mut self) {
        if self.segments == 1 {
            return;
        }
        let Headers { version, transport_at, data_at, .. } = self.headers;
        let notes = Notes {
            checksum: Some((transport_at as u16, tcp::CHECKSUM as u16)),
            cut: Some((Cut::Tcp { version }, self.size as u16)),
            header_bytes: data_at as u16,
        };
        let (before, packet) = self.record.split_at_mut(NOTES_BYTES);
        before.copy_from_slice(&notes.to_bytes());
        self.headers.set_length(packet);
        let sum = self.headers.pseudo_sum(packet).folded();
        packet[self.headers.checksum_at()..][..2].copy_from_slice(&sum);
    }
}
