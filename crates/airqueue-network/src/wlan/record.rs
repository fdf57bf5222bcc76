//! The counters of stations. Counting restarts at the end of the warm-up.

use airqueue_core::Span;
use airqueue_wifi::mac::{Frame, FrameKind};
use airqueue_wifi::medium::RxOutcome;

/// Frames and their airtime, without what came before counting began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirtimeCounters {
    /// Number of frames that ended.
    pub frames: u64,
    /// Airtime of the frames.
    pub time: Span,
}

/// The counters of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Frames sent, by kind: RTS, CTS, data, ACK, CF-End, block ack, block ack requests, beacons, null frames,
    /// PS-Polls, QoS null frames, and frames of associations, in this order.
    pub sent: [AirtimeCounters; 12],
    /// Data frames sent that their receiver did not decode, and those to all stations that nobody decoded.
    pub data_lost: AirtimeCounters,
    /// First frames of exchanges (RTS, or data without RTS) destroyed at their receiver: by overlapping frames, or
    /// because the receiver was busy with another frame or transmitted.
    pub collided: u64,
    /// First frames of exchanges lost to noise.
    pub bit_errors: u64,
    /// Data frames sent to all stations.
    pub to_all: u64,
    /// Data frames to all stations that the station decoded.
    pub from_all: u64,
    /// What became of the last frame.
    last: Opening,
}

/// What became of a frame, if the frame was the first of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Opening {
    #[default]
    Decoded,
    Collided,
    BitErrors,
}

fn place(kind: FrameKind) -> usize {
    match kind {
        FrameKind::Rts => 0,
        FrameKind::Cts => 1,
        FrameKind::Data => 2,
        FrameKind::Ack => 3,
        FrameKind::CfEnd => 4,
        FrameKind::BlockAck => 5,
        FrameKind::BlockAckRequest => 6,
        FrameKind::Beacon => 7,
        FrameKind::Null => 8,
        FrameKind::PsPoll => 9,
        FrameKind::QosNull => 10,
        FrameKind::Handshake(_) => 11,
    }
}

impl Opening {
    /// How many frames it adds to [`StationCounters::collided`] and to [`StationCounters::bit_errors`].
    #[inline]
    fn counted(self) -> [u64; 2] {
        [u64::from(self == Opening::Collided), u64::from(self == Opening::BitErrors)]
    }
}

impl AirtimeCounters {
    #[inline]
    fn add(&mut self, time: Span) {
        self.frames += 1;
        self.time = self.time + time;
    }
}

impl StationCounters {
    /// A frame has been sent.
    #[inline]
    pub(super) fn on_sent(&mut self, kind: FrameKind, time: Span) {
        self.sent[place(kind)].add(time);
        self.last = Opening::Decoded;
    }

    /// A frame that has not ended has taken so much airtime.
    pub(super) fn add_part(&mut self, kind: FrameKind, time: Span) {
        let sent = &mut self.sent[place(kind)];
        sent.time = sent.time + time;
    }

    /// The outcome of a sent frame at its receiver; `lost`: the receiver did not decode the frame.
    #[inline]
    pub(super) fn on_outcome(&mut self, frame: &Frame, outcome: RxOutcome, lost: bool, time: Span) {
        if !lost {
            return;
        }
        if frame.kind == FrameKind::Data {
            self.data_lost.add(time);
        }
        if frame.opens {
            self.last = if outcome.decoded() { Opening::BitErrors } else { Opening::Collided };
            let [collided, bit_errors] = self.last.counted();
            self.collided += collided;
            self.bit_errors += bit_errors;
        }
    }

    /// Nobody has decoded a data frame to all stations.
    pub(super) fn on_lost_to_all(&mut self, time: Span) {
        self.data_lost.add(time);
    }

    /// Takes back the loss of the last exchange's first frame: the exchange has no outcome yet.
    pub(super) fn without_last(mut self) -> StationCounters {
        let [collided, bit_errors] = self.last.counted();
        self.collided -= collided;
        self.bit_errors -= bit_errors;
        self
    }

    /// The counters when counting restarts while the last exchange has no outcome.
    pub(super) fn of_last(&self) -> StationCounters {
        let [collided, bit_errors] = self.last.counted();
        StationCounters { collided, bit_errors, last: self.last, ..StationCounters::default() }
    }

    /// Frames sent of a kind.
    pub fn sent_of(&self, kind: FrameKind) -> AirtimeCounters {
        self.sent[place(kind)]
    }
}
