//! Taps: observers of every frame.

use airqueue_core::{Packet, Span, Time};
use airqueue_transport::tcp::Segment;
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::{RxOutcome, StationId};
use std::any::Any;
use std::fmt::Debug;

/// The fate of a frame at a station in its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameReception {
    /// The station.
    pub station: StationId,
    /// What overlapping frames left of the frame.
    pub outcome: RxOutcome,
    /// Whether the receiver stayed with this frame to its end.
    pub engaged: bool,
    /// Whether the receiver ignored this frame for a stronger frame.
    pub ignored: bool,
    /// Whether the frame survived all overlaps and was then lost to noise.
    pub bit_error: bool,
}

impl FrameReception {
    /// Whether the station decoded the frame.
    pub fn decoded(&self) -> bool {
        self.outcome.decoded() && !self.bit_error
    }
}

/// A packet in a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedMpdu {
    /// The packet.
    pub packet: Packet,
    /// Size of its MPDU in bytes, header and FCS included.
    pub mpdu_bytes: u32,
    /// Whether the addressed station decoded the MPDU.
    pub decoded: bool,
}

/// What a beacon says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedBeacon {
    /// Time from one beacon to the next.
    pub interval: Span,
    /// Beacons to the next DTIM; 0: the beacon is a DTIM.
    pub dtim_count: u32,
    /// Every so many beacons, a beacon is a DTIM.
    pub dtim_period: u32,
    /// Whether frames to all stations follow.
    pub group_follows: bool,
    /// The stations for which packets wait at the access point.
    pub traffic: Vec<StationId>,
}

/// A frame that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFrame {
    /// First instant of the frame.
    pub begins: Time,
    /// First instant after the frame; for OFDM at 2.4 GHz, after its signal extension.
    pub ends: Time,
    /// The frame.
    pub frame: Frame,
    /// What the frame says, if it is a beacon.
    pub beacon: Option<TracedBeacon>,
    /// The packets of a data frame, in order; empty for other frames.
    pub carried: Vec<TracedMpdu>,
    /// The fate of the frame at each station in range, by rising id.
    pub receptions: Vec<FrameReception>,
}

impl TracedFrame {
    /// The fate of the frame at a station, if the station is in range.
    pub fn at(&self, station: StationId) -> Option<&FrameReception> {
        let place =
            self.receptions.binary_search_by_key(&station, |reception| reception.station).ok()?;
        Some(&self.receptions[place])
    }

    /// The fate of the frame at its receiver; a frame to all stations and a CTS-to-self have none.
    pub fn at_receiver(&self) -> Option<&FrameReception> {
        self.at(self.frame.to)
    }
}

/// A TCP segment at the time when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSent {
    /// Its packet. The packet's flow and id differ on each hop; everything else stays, apart from ECN marks by queues.
    pub packet: Packet,
    /// Number of the segment's connection within the flow.
    pub connection: u32,
    /// The segment.
    pub segment: Segment,
}

/// An observer of every frame, in the order in which frames end. A network without a tap does none of this work.
pub trait Tap: Any + Debug + Send + Sync {
    /// A frame has ended. Stations have not reacted to the frame yet.
    fn on_frame(&mut self, traced: &TracedFrame);

    /// A segment is sent. Until its packet has arrived or is lost, no other segment's packet has the same payload
    /// handle.
    fn on_segment(&mut self, _sent: &SegmentSent) {}
}

/// Keeps all frames in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The frames, in the order in which they ended.
    pub frames: Vec<TracedFrame>,
}

impl Tap for Recording {
    fn on_frame(&mut self, traced: &TracedFrame) {
        self.frames.push(traced.clone());
    }
}

/// The engine's place for a tap.
#[derive(Debug, Default)]
pub(super) struct Socket {
    tap: Option<Box<dyn Tap>>,
    /// The receptions collected so far of the frame that ends.
    receptions: Vec<FrameReception>,
    carried: Vec<TracedMpdu>,
}

impl Socket {
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.tap.is_some()
    }

    pub(super) fn plug(&mut self, tap: Box<dyn Tap>) {
        self.tap = Some(tap);
    }

    pub(super) fn unplug<T: Tap>(&mut self) -> Option<T> {
        let tap = self.tap.take_if(|tap| (&**tap as &dyn Any).is::<T>())?;
        (tap as Box<dyn Any>).downcast().ok().map(|tap| *tap)
    }

    pub(super) fn add_reception(&mut self, reception: FrameReception) {
        self.receptions.push(reception);
    }

    /// Moves the receptions collected so far to those of a frame that has not ended everywhere.
    pub(super) fn move_receptions(&mut self, to: &mut Vec<FrameReception>) {
        to.append(&mut self.receptions);
    }

    /// The receptions collected so far of the frame that ends.
    pub(super) fn receptions(&self) -> &[FrameReception] {
        &self.receptions
    }

    /// A segment is sent. The closure is only evaluated if a tap is plugged in.
    #[inline]
    pub(super) fn report_segment(&mut self, sent: impl FnOnce() -> SegmentSent) {
        if let Some(tap) = &mut self.tap {
            tap.on_segment(&sent());
        }
    }

    /// The frame has ended at all stations.
    pub(super) fn report_frame(
        &mut self,
        frame: Frame,
        beacon: Option<TracedBeacon>,
        packets: impl Iterator<Item = TracedMpdu>,
        begins: Time,
        ends: Time,
    ) {
        let mut receptions = std::mem::take(&mut self.receptions);
        receptions.sort_unstable_by_key(|reception| reception.station);
        let mut carried = std::mem::take(&mut self.carried);
        carried.extend(packets);
        let mut traced = TracedFrame { begins, ends, frame, beacon, carried, receptions };
        if let Some(tap) = &mut self.tap {
            tap.on_frame(&traced);
        }
        traced.receptions.clear();
        traced.carried.clear();
        self.receptions = traced.receptions;
        self.carried = traced.carried;
    }
}
