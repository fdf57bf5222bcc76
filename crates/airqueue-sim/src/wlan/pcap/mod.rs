//! Captures of a network that other tools read: pcap files of 802.11 frames with radiotap headers.
//!
//! What a file says follows from the frames on the air: airtime from length, rate and preamble, NAV from
//! Duration, what carries which packet from addresses, sequence numbers and ports. Nothing in it comes
//! from the receivers' statistics, so that it can be held against them.
//!
//! A record's time is the first instant after the frame, with nanoseconds (of OFDM at 2.4 GHz after its
//! signal extension), as a capturing station knows of a frame when it has ended; records are so in the
//! order of their times. TSFT is that of the first bit of the MPDU, in whole microseconds.

mod bytes;
mod radiotap;

use super::spec::WlanSpec;
use super::tap::{Aired, Tap};
use airqueue_core::Packet;
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames::RTS_BYTES;
use airqueue_wifi::phy::{AccessCategory, Phy};
use bytes::{Data, Layout};
use radiotap::{RateFields, rate_fields};
use std::collections::HashMap;
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

/// The fewest bytes that records can be cut to: control frames are always whole.
pub const LEAST_SNAP_BYTES: u32 = radiotap::LEAST_BYTES + RTS_BYTES;
/// Enough for all headers of a packet.
pub const HEADERS_SNAP_BYTES: u32 = 128;
/// Cuts no record.
pub const WHOLE_FRAMES: u32 = 65_535;

/// Whose ears a capture has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Nobody's: every frame that was on the air, once. Those that their receiver lost have a wrong FCS.
    Air,
    /// A station's: the frames that it sent, and those that its receiver was with to their end. Those
    /// that it did not understand have a wrong FCS.
    Station(StationId),
}

/// What cannot be captured.
#[derive(Debug, Error)]
#[expect(missing_docs)] // the messages say it
pub enum PcapError {
    #[error("there is no station {0} to capture at")]
    NoStation(String),
    #[error("a capture of {value} bytes of each frame; it must have at least {least}")]
    Snap { value: u32, least: u32 },
    #[error(
        "flow {flow}: no header of a data frame has {bytes} bytes; a capture needs 36 (LLC/SNAP, three \
         addresses, FCS), 38 (the same for QoS), 42 or 44 (four addresses), or 28, 30, 34 (without LLC/SNAP)"
    )]
    Overhead { flow: String, bytes: u32 },
    #[error("the capture cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// The packet that a station's queue is busy with, as the air has seen it.
#[derive(Clone, Copy, Debug)]
struct Current {
    id: u64,
    sequence: u16,
}

/// A tap that writes a capture.
///
/// What could not be written is known when it is [finished](Self::finish); nothing is written after that.
pub struct Pcap<W> {
    out: W,
    view: View,
    snap_bytes: u32,
    phy: Phy,
    rates: Vec<RateFields>,
    /// How the data frames of each flow are made up.
    layouts: Vec<Layout>,
    /// The priority of each station's queues.
    priorities: Vec<Vec<u8>>,
    /// By station and queue.
    current: HashMap<(StationId, u8), Current>,
    /// The next sequence number of a station; for QoS data by receiver and priority (10.3.2.11.2).
    sequences: HashMap<(StationId, Option<(StationId, u8)>), u16>,
    record: Vec<u8>,
    failure: Option<io::Error>,
}

impl<W> fmt::Debug for Pcap<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pcap").field("view", &self.view).finish_non_exhaustive()
    }
}

impl<W: Write> Pcap<W> {
    /// A capture of a network that has not begun, with records of at most `snap_bytes` bytes, radiotap
    /// header included. Writes the file's header.
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
        let rates = rate_fields(&spec.network.phy);
        let layouts: Result<Vec<Layout>, PcapError> = (spec.flows.iter())
            .map(|flow| {
                let delimiter_bytes = rates[flow.rate.as_usize()].delimiter_bytes;
                let bytes = flow.overhead_bytes.saturating_sub(delimiter_bytes);
                let unknown = || PcapError::Overhead { flow: flow.name.clone(), bytes };
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
            phy: spec.network.phy.clone(),
            layouts,
            priorities: spec.stations.iter().map(|s| priorities(s.queues.len())).collect(),
            current: HashMap::new(),
            sequences: HashMap::new(),
            record: Vec::new(),
            failure: None,
        })
    }

    /// What it has written to, or why it stopped.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.out.flush().map(|()| self.out),
        }
    }

    /// Whether the capture has the frame, and if so, with which FCS.
    fn sees(&self, aired: &Aired) -> Option<bool> {
        match self.view {
            View::Air => Some(aired.at_receiver().is_none_or(|heard| heard.decoded())),
            View::Station(id) if aired.frame.from == id => Some(true),
            View::Station(id) => {
                let heard = aired.at(id).filter(|heard| heard.decoded() || heard.engaged)?;
                Some(heard.decoded())
            }
        }
    }

    /// The header of a data frame; it counts packets, whether they are captured or not.
    fn data(&mut self, frame: &Frame, packet: &Packet) -> Data {
        let layout = self.layouts[packet.flow as usize];
        let priority = self.priorities[frame.from.index()][usize::from(frame.queue)];
        let place = (frame.from, frame.queue);
        let before = self.current.get(&place).filter(|current| current.id == packet.id);
        let (sequence, retry) = match before {
            Some(current) => (current.sequence, true),
            None => {
                let stream = layout.is_qos().then_some((frame.to, priority));
                let next = self.sequences.entry((frame.from, stream)).or_default();
                let sequence = *next;
                *next = (sequence + 1) % bytes::SEQUENCES;
                self.current.insert(place, Current { id: packet.id, sequence });
                (sequence, false)
            }
        };
        Data { layout, priority, sequence, retry }
    }

    fn write(&mut self, aired: &Aired, data: Option<(Data, Packet)>, good: bool) -> io::Result<()> {
        let frame = &aired.frame;
        let fields = &self.rates[frame.rate.as_usize()];
        let header_bytes = fields.bytes();
        let mpdu_bytes = frame.bytes - fields.delimiter_bytes;
        let length = header_bytes + mpdu_bytes;
        let kept = length.min(self.snap_bytes);
        self.record.clear();
        let ends = aired.ends.as_nanos();
        let seconds = u32::try_from(ends / 1_000_000_000).unwrap_or(u32::MAX);
        for word in [seconds, (ends % 1_000_000_000) as u32, kept, length] {
            self.record.extend(word.to_le_bytes());
        }
        let first_bit = aired.begins + self.phy.preamble(frame.rate);
        fields.write(first_bit.as_nanos() as u64 / 1_000, good, &mut self.record);
        let begins = self.record.len();
        match &data {
            Some((data, packet)) => data.write(frame, packet, &mut self.record),
            None => bytes::control(frame, &mut self.record),
        }
        let ends = begins + mpdu_bytes as usize;
        self.record.resize(ends - bytes::FCS, 0);
        if kept == length {
            let fcs = bytes::fcs(&self.record[begins..]);
            self.record.extend((if good { fcs } else { !fcs }).to_le_bytes());
        }
        self.record.truncate(begins + (kept - header_bytes) as usize);
        self.out.write_all(&self.record)
    }
}

impl<W: Write + Send + Sync + 'static> Tap for Pcap<W> {
    fn on_frame(&mut self, aired: &Aired) {
        if self.failure.is_some() {
            return;
        }
        let data = aired.packet.map(|packet| (self.data(&aired.frame, &packet), packet));
        if let Some(good) = self.sees(aired) {
            self.failure = self.write(aired, data, good).err();
        }
    }
}

fn file_header(snap_bytes: u32) -> Vec<u8> {
    let mut header = MAGIC.to_le_bytes().to_vec();
    header.extend(VERSION.iter().flat_map(|part| part.to_le_bytes()));
    // Time zone and accuracy, which nobody uses.
    for word in [0, 0, snap_bytes, LINK_TYPE] {
        header.extend(word.to_le_bytes());
    }
    header
}

/// The priorities of a station's queues: those of EDCA by rising access category, best effort for DCF.
fn priorities(queues: usize) -> Vec<u8> {
    match queues {
        1 => vec![PRIORITIES[AccessCategory::BestEffort as usize]],
        _ => PRIORITIES[..queues].to_vec(),
    }
}
