//! Watching a network: whoever wants to be told of every frame.

use airqueue_core::{Packet, Time};
use airqueue_transport::tcp::Segment;
use airqueue_wifi::mac::Frame;
use airqueue_wifi::medium::{RxOutcome, StationId};
use std::any::Any;
use std::fmt::Debug;

/// What became of a frame at a station that it reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameReception {
    /// Who.
    pub station: StationId,
    /// What the frames beside it left of it.
    pub outcome: RxOutcome,
    /// Whether the receiver was with this frame to its end.
    pub engaged: bool,
    /// Whether it ignored this frame for a stronger one.
    pub ignored: bool,
    /// Whether it survived and was lost to noise all the same.
    pub bit_error: bool,
}

impl FrameReception {
    /// Whether the station has understood it.
    pub fn decoded(&self) -> bool {
        self.outcome.decoded() && !self.bit_error
    }
}

/// A packet in a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedMpdu {
    /// The packet.
    pub packet: Packet,
    /// Bytes of its MPDU, header and FCS included.
    pub mpdu_bytes: u32,
    /// Whether the one that the frame is for has decoded it.
    pub decoded: bool,
}

/// A frame that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFrame {
    /// Its first instant.
    pub begins: Time,
    /// The first instant after it; of OFDM at 2.4 GHz after its signal extension.
    pub ends: Time,
    /// The frame.
    pub frame: Frame,
    /// What it carries, if it is a data frame, in its order.
    pub carried: Vec<TracedMpdu>,
    /// What became of it at each station that it reached, by rising id.
    pub heard: Vec<FrameReception>,
}

impl TracedFrame {
    /// What became of it at a station, if it reached that.
    pub fn at(&self, station: StationId) -> Option<&FrameReception> {
        let place = self.heard.binary_search_by_key(&station, |heard| heard.station).ok()?;
        Some(&self.heard[place])
    }

    /// What became of it where it was to be received; nobody receives a CTS to oneself.
    pub fn at_receiver(&self) -> Option<&FrameReception> {
        self.at(self.frame.to)
    }
}

/// A segment of TCP that sets out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSent {
    /// Its packet, whose flow and id are others on each hop. All else stays, but for what queues make of ECN.
    pub packet: Packet,
    /// Which of the connections of its flow it belongs to.
    pub connection: u32,
    /// The segment.
    pub segment: Segment,
}

/// Who is told of every frame, in the order in which they end. A network without one does nothing of this.
pub trait Tap: Any + Debug + Send + Sync {
    /// A frame has ended. Stations have not acted on it yet.
    fn on_frame(&mut self, traced: &TracedFrame);

    /// A segment sets out. Until its packet has arrived or is lost, no other segment's has the same payload.
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

/// Where the engine has its tap.
#[derive(Debug, Default)]
pub(super) struct Socket {
    tap: Option<Box<dyn Tap>>,
    /// What is known so far of the frame that ends.
    heard: Vec<FrameReception>,
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

    pub(super) fn hear(&mut self, heard: FrameReception) {
        self.heard.push(heard);
    }

    /// A segment sets out; who asks costs nothing where nobody listens.
    #[inline]
    pub(super) fn tell_segment(&mut self, sent: impl FnOnce() -> SegmentSent) {
        if let Some(tap) = &mut self.tap {
            tap.on_segment(&sent());
        }
    }

    /// The frame has ended everywhere.
    pub(super) fn tell(
        &mut self,
        frame: Frame,
        packets: impl Iterator<Item = TracedMpdu>,
        begins: Time,
        ends: Time,
    ) {
        let mut heard = std::mem::take(&mut self.heard);
        heard.sort_unstable_by_key(|heard| heard.station);
        let mut carried = std::mem::take(&mut self.carried);
        carried.extend(packets);
        let mut traced = TracedFrame { begins, ends, frame, carried, heard };
        if let Some(tap) = &mut self.tap {
            tap.on_frame(&traced);
        }
        traced.heard.clear();
        traced.carried.clear();
        self.heard = traced.heard;
        self.carried = traced.carried;
    }
}
