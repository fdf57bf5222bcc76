//! Captures of a network for other tools: pcap files of 802.11 frames with radiotap headers.
//!
//! The content of a file follows from the frames on the air: airtime from length, rate and preamble, NAV from Duration,
//! the identity of packets from addresses, sequence numbers and ports. The receivers' statistics are not used, so that
//! a capture can be checked against them.
//!
//! The time of a record is the first instant after the frame, in nanoseconds (for OFDM at 2.4 GHz after its signal
//! extension), because a capturing station knows a frame when the frame has ended; records are therefore in order of
//! time. TSFT is the time of the first bit of the PSDU, in whole microseconds.

mod association;
mod bytes;
mod management;
mod packet;
mod radiotap;
mod tcp;

pub use packet::{Origin, TcpDirection};

use super::spec::WlanSpec;
use super::tap::{SegmentSent, Tap, TracedFrame, TracedMpdu};
use crate::{FlowId, HopId};
use airqueue_core::Packet;
use airqueue_wifi::mac::{Frame, FrameKind};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames::{self, BLOCK_ACK_256_BYTES};
use airqueue_wifi::phy::{AccessCategory, Phy};
use bytes::{AccessPoints, Data, Layout, Score};
use radiotap::{InAmpdu, RateFields, rate_fields};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{self, Write};
use thiserror::Error;

/// Magic number of little-endian files with nanoseconds, and the format's version, 2.4.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// LINKTYPE_IEEE802_11_RADIOTAP.
const LINK_TYPE: u32 = 127;

/// User priorities of BK, BE, VI, VO (IEEE 802.11-2016, table 10-1).
const PRIORITIES: [u8; 4] = [1, 0, 5, 6];

/// Seconds, nanoseconds, bytes kept and bytes of the frame.
const RECORD_HEADER_BYTES: usize = 16;
/// The largest number of MPDUs that a block ack reports.
const LONGEST_WINDOW: usize = frames::LONGEST_WINDOW as usize;

/// Smallest limit of the record length: control frames are never cut.
pub const LEAST_SNAP_BYTES: u32 = radiotap::LEAST_BYTES + BLOCK_ACK_256_BYTES;
/// Room for all headers of a packet: radiotap of an A-MPDU, QoS with four addresses, LLC/SNAP, IPv4, TCP with the
/// longest options.
pub const HEADERS_SNAP_BYTES: u32 = radiotap::MOST_BYTES + 32 + 8 + 20 + 60;
/// Cuts no record.
pub const WHOLE_FRAMES: u32 = 65_535;

/// The point of view of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The air: every frame on the air, once. Frames that their receiver lost have a wrong FCS.
    Air,
    /// A station: the frames that the station sent, and the frames that its receiver stayed with to their end. Frames
    /// that the station did not decode have a wrong FCS.
    Station(StationId),
}

/// Why a network cannot be captured.
#[derive(Debug, Error)]
#[expect(missing_docs)] // the messages say it
pub enum PcapError {
    #[error("there is no station {0} to capture at")]
    NoStation(String),
    #[error("a capture of {value} bytes of each frame; it must have at least {least}")]
    Snap { value: u32, least: u32 },
    #[error(
        "hop {hop}: no header of a data frame has {bytes} bytes; a capture needs 36 (LLC/SNAP, three \
         addresses, FCS), 38 (the same for QoS), 42 or 44 (four addresses), or 28, 30, 34 (without LLC/SNAP)"
    )]
    Overhead { hop: String, bytes: u32 },
    #[error("the capture cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// A packet seen on the air.
#[derive(Clone, Debug)]
struct Known {
    id: u64,
    sequence: u16,
    received: bool,
    /// Kept for retries: if the acknowledgement was lost, the segment is no longer stored for packets in transit.
    tcp: Option<Box<tcp::Header>>,
}

/// The data frames from a station's queue to one receiver, as captured.
#[derive(Clone, Debug, Default)]
struct Stream {
    /// The last packets: at least the window of a block ack agreement.
    last: VecDeque<Known>,
    /// The first sequence number of the last data frame.
    start: u16,
}

/// A tap that writes a capture.
///
/// [`finish`](Self::finish) reports a write error; nothing is written after the error.
pub struct Pcap<W> {
    out: W,
    view: View,
    snap_bytes: u32,
    phy: Phy,
    rates: Vec<RateFields>,
    access_points: AccessPoints,
    /// The header layout of the data frames of each hop.
    layouts: Vec<Layout>,
    /// The flow whose packets each hop carries.
    origins: Vec<Origin>,
    /// The last segment sent under each payload handle.
    segments: Vec<Option<SegmentSent>>,
    /// The priority of each station's queues.
    priorities: Vec<Vec<u8>>,
    /// Streams by station, queue and receiver.
    streams: HashMap<(StationId, AccessCategory, StationId), Stream>,
    /// Number of A-MPDUs so far.
    ampdus: u32,
    /// The next sequence number of a station; for QoS data by receiver and priority (10.3.2.11.2).
    sequences: HashMap<(StationId, Option<(StationId, u8)>), u16>,
    /// The sequence number of each station's last beacon or null frame.
    last_management: HashMap<StationId, u16>,
    /// The access point that last answered an association of each station.
    last_joined: HashMap<StationId, StationId>,
    record: Vec<u8>,
    failure: Option<io::Error>,
}

impl<W> fmt::Debug for Pcap<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pcap").field("view", &self.view).finish_non_exhaustive()
    }
}

impl<W: Write> Pcap<W> {
    /// A capture of a network that has not begun, with records of at most `snap_bytes` bytes, radiotap header included.
    /// Writes the file header.
    pub fn new(
        spec: &WlanSpec,
        view: View,
        snap_bytes: u32,
        mut out: W,
    ) -> Result<Self, PcapError> {
        if let View::Station(id) = view
            && id.index() >= spec.stations.len()
        {
            return Err(PcapError::NoStation(id.0.to_string()));
        }
        if snap_bytes < LEAST_SNAP_BYTES {
            return Err(PcapError::Snap { value: snap_bytes, least: LEAST_SNAP_BYTES });
        }
        let rates = rate_fields(&spec.radio.phy);
        let layouts: Result<Vec<Layout>, PcapError> = (spec.hops.iter())
            .map(|hop| {
                let bytes = hop.overhead_bytes;
                let unknown = || PcapError::Overhead { hop: hop.name.clone(), bytes };
                Layout::of(bytes).ok_or_else(unknown)
            })
            .collect();
        let layouts = layouts?;
        out.write_all(&file_header(snap_bytes))?;
        Ok(Pcap {
            out,
            view,
            snap_bytes,
            rates,
            phy: spec.radio.phy.clone(),
            access_points: AccessPoints::new(spec),
            layouts,
            origins: (0..)
                .zip(&spec.hops)
                .map(|(at, hop)| Origin::of_hop(FlowId(at), hop))
                .collect(),
            segments: Vec::new(),
            priorities: spec.stations.iter().map(|s| priorities(s.queues.len())).collect(),
            streams: HashMap::new(),
            ampdus: 0,
            sequences: HashMap::new(),
            last_management: HashMap::new(),
            last_joined: HashMap::new(),
            record: Vec::new(),
            failure: None,
        })
    }

    /// Sets the flow, and its ends, of a hop over the air.
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn set_origin(&mut self, hop: HopId, origin: Origin) {
        self.origins[hop.index()] = origin;
    }

    /// Returns the writer, or the error that stopped the capture.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.out.flush().map(|()| self.out),
        }
    }

    /// Whether the capture has a frame, or this MPDU of the frame; if so, whether its FCS is right.
    fn sees(&self, traced: &TracedFrame, carried: Option<&TracedMpdu>) -> Option<bool> {
        let at_receiver = |decoded| carried.map_or(decoded, |carried| decoded && carried.decoded);
        match self.view {
            View::Air => {
                Some(at_receiver(traced.at_receiver().is_none_or(|reception| reception.decoded())))
            }
            View::Station(id) if traced.frame.from == id => Some(true),
            View::Station(id) => {
                let reception =
                    traced.at(id).filter(|reception| reception.decoded() || reception.engaged)?;
                let decoded = reception.decoded();
                Some(if traced.frame.to == id { at_receiver(decoded) } else { decoded })
            }
        }
    }

    /// The headers of a packet in a data frame, and of its segment. Counts packets, whether they are captured or not.
    fn data(&mut self, frame: &Frame, carried: &TracedMpdu) -> (Data, Option<tcp::Header>) {
        let layout = self.layouts[HopId::of(&carried.packet).index()];
        let priority = self.priority(frame.from, frame.ac);
        let bssid = self.access_points.bssid(frame);
        let stream = self.streams.entry((frame.from, frame.ac, frame.to)).or_default();
        let id = carried.packet.id;
        if let Some(known) = stream.last.iter_mut().rev().find(|known| known.id == id) {
            known.received |= carried.decoded;
            let data = Data { layout, priority, sequence: known.sequence, retry: true, bssid };
            return (data, known.tcp.as_deref().copied());
        }
        let tcp = tcp_header(&self.origins, &self.segments, &carried.packet);
        let numbers = layout.is_qos().then_some((frame.to, priority));
        let next = self.sequences.entry((frame.from, numbers)).or_default();
        let sequence = bytes::count_on(next);
        if stream.last.len() == LONGEST_WINDOW {
            stream.last.pop_front();
        }
        let received = carried.decoded;
        stream.last.push_back(Known { id, sequence, received, tcp: tcp.map(Box::new) });
        (Data { layout, priority, sequence, retry: false, bssid }, tcp)
    }

    /// The priority of the data of a station's access category; of the category of management frames best effort's, since
    /// only packets to all stations are sent in it.
    fn priority(&self, station: StationId, ac: AccessCategory) -> u8 {
        let best_effort = PRIORITIES[AccessCategory::BEST_EFFORT.index()];
        self.priorities[station.index()].get(ac.index()).copied().unwrap_or(best_effort)
    }

    fn on_management(&mut self, traced: &TracedFrame) -> io::Result<()> {
        let (from, retry) = (traced.frame.from, traced.frame.retry);
        let sequence = match self.last_management.get(&from) {
            Some(&last) if retry => last,
            _ => bytes::count_on(self.sequences.entry((from, None)).or_default()),
        };
        self.last_management.insert(from, sequence);
        let frame = &traced.frame;
        let handshake = match frame.kind {
            FrameKind::Handshake(handshake) => Some(handshake),
            _ => None,
        };
        let before = self.last_joined.get(&from).copied();
        if association::is_answer(handshake) {
            self.last_joined.insert(frame.to, from);
        }
        let Some(good) = self.sees(traced, None) else { return Ok(()) };
        let priority = self.priority(from, traced.frame.ac);
        let qos = self.priorities[from.index()].len() > 1;
        let bssid = self.access_points.bssid(frame);
        let body = |record: &mut Vec<u8>| match handshake {
            Some(step) => {
                association::handshake(frame, step, (sequence, bssid, qos), before, record);
            }
            None => management::management(traced, (sequence, bssid), priority, record),
        };
        self.write(traced, traced.frame.bytes, None, good, body)
    }

    /// The content of a block ack or block ack request for the data of a station's access category.
    fn score(&self, station: StationId, ac: AccessCategory, receiver: StationId) -> Score {
        let priority = self.priority(station, ac);
        let mut score = Score { priority, start: 0, bitmap: [0; 32] };
        if let Some(stream) = self.streams.get(&(station, ac, receiver)) {
            score.start = stream.start;
            for known in stream.last.iter().filter(|known| known.received) {
                let place = usize::from(
                    (known.sequence + bytes::SEQUENCES - stream.start) % bytes::SEQUENCES,
                );
                if let Some(byte) = score.bitmap.get_mut(place / 8) {
                    *byte |= 1 << (place % 8);
                }
            }
        }
        score
    }

    fn on_data(&mut self, traced: &TracedFrame) -> io::Result<()> {
        let frame = &traced.frame;
        let several = traced.carried.len() > 1;
        self.ampdus = self.ampdus.wrapping_add(several.into());
        for (place, carried) in traced.carried.iter().enumerate() {
            let (data, tcp) = self.data(frame, carried);
            if place == 0
                && let Some(stream) = self.streams.get_mut(&(frame.from, frame.ac, frame.to))
            {
                stream.start = data.sequence;
            }
            let Some(good) = self.sees(traced, Some(carried)) else { continue };
            let last = place + 1 == traced.carried.len();
            let within = several.then_some(InAmpdu { reference: self.ampdus, last });
            let origin = self.origins[HopId::of(&carried.packet).index()];
            let body = |record: &mut Vec<u8>| {
                data.write(frame, record);
                if data.layout.llc_snap {
                    origin.write(&carried.packet, data.priority, tcp.as_ref(), record);
                }
            };
            self.write(traced, carried.mpdu_bytes, within, good, body)?;
        }
        Ok(())
    }

    fn on_control(&mut self, traced: &TracedFrame) -> io::Result<()> {
        let frame = &traced.frame;
        let Some(good) = self.sees(traced, None) else { return Ok(()) };
        let score = match frame.kind {
            FrameKind::BlockAck => Some(self.score(frame.to, frame.ac, frame.from)),
            FrameKind::BlockAckRequest => Some(self.score(frame.from, frame.ac, frame.to)),
            _ => None,
        };
        let bssid = self.access_points.bssid(frame);
        let body = |record: &mut Vec<u8>| {
            bytes::control(frame, bssid, record);
            score.inspect(|score| score.write(frame, record));
        };
        self.write(traced, frame.bytes, None, good, body)
    }

    fn write(
        &mut self,
        traced: &TracedFrame,
        mpdu_bytes: u32,
        within: Option<InAmpdu>,
        good: bool,
        body: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        let frame = &traced.frame;
        let first_bit = traced.begins + self.phy.preamble(frame.rate);
        self.record.clear();
        self.record.resize(RECORD_HEADER_BYTES, 0);
        let fields = &self.rates[frame.rate.as_usize()];
        let tsft_us = first_bit.as_nanos() as u64 / 1_000;
        let header_bytes = fields.write(tsft_us, good, within, &mut self.record);
        let length = header_bytes + mpdu_bytes;
        let kept = length.min(self.snap_bytes);
        let ended = traced.ends.as_nanos();
        let seconds = u32::try_from(ended / 1_000_000_000).unwrap_or(u32::MAX);
        let words = [seconds, (ended % 1_000_000_000) as u32, kept, length];
        for (place, word) in self.record.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let begins = self.record.len();
        body(&mut self.record);
        self.record.resize(begins + mpdu_bytes as usize - bytes::FCS, 0);
        if kept == length {
            let fcs = bytes::fcs(&self.record[begins..]);
            self.record.extend((if good { fcs } else { !fcs }).to_le_bytes());
        }
        self.record.truncate(RECORD_HEADER_BYTES + kept as usize);
        self.out.write_all(&self.record)
    }
}

impl<W: Write + Send + Sync + 'static> Tap for Pcap<W> {
    fn on_frame(&mut self, traced: &TracedFrame) {
        if self.failure.is_some() {
            return;
        }
        let written = if management::is_management(&traced.frame) {
            self.on_management(traced)
        } else if traced.carried.is_empty() {
            self.on_control(traced)
        } else {
            self.on_data(traced)
        };
        self.failure = written.err();
    }

    fn on_segment(&mut self, sent: &SegmentSent) {
        let place = sent.packet.payload.0 as usize;
        if place >= self.segments.len() {
            self.segments.resize(place + 1, None);
        }
        self.segments[place] = Some(*sent);
    }
}

/// The header of the segment in a packet that is on the air for the first time. Such a packet has not arrived, and its
/// handle is still its own. The handle of a packet whose segment was sent before the capture began may now belong to
/// another segment.
fn tcp_header(
    origins: &[Origin],
    segments: &[Option<SegmentSent>],
    packet: &Packet,
) -> Option<tcp::Header> {
    let origin = &origins[HopId::of(packet).index()];
    let leg = origin.tcp.as_ref()?;
    let sent = segments.get(packet.payload.0 as usize)?.as_ref()?;
    let is_it = sent.packet.created == packet.created;
    is_it.then(|| tcp::Header::new(origin, leg, sent))
}

fn file_header(snap_bytes: u32) -> Vec<u8> {
    let mut header = MAGIC.to_le_bytes().to_vec();
    header.extend(VERSION.iter().flat_map(|part| part.to_le_bytes()));
    // Time zone and accuracy are unused.
    for word in [0, 0, snap_bytes, LINK_TYPE] {
        header.extend(word.to_le_bytes());
    }
    header
}

/// The user priorities of a station's queues: for EDCA by rising access category, for DCF best effort.
fn priorities(queues: usize) -> Vec<u8> {
    match queues {
        1 => vec![PRIORITIES[AccessCategory::BEST_EFFORT.index()]],
        _ => PRIORITIES[..queues].to_vec(),
    }
}
