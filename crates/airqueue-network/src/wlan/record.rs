//! What stations count while a network runs. Counting begins anew at the end of the warm-up.

use airqueue_core::Span;
use airqueue_wifi::mac::{Frame, FrameKind};
use airqueue_wifi::medium::RxOutcome;

/// Frames and their time on the air.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirtimeCounters {
    /// Frames.
    pub frames: u64,
    /// Their time on the air.
    pub time: Span,
}

/// What a station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// RTS, CTS, data, ACK, CF-End, block ack and requests for one that it sent, in this order.
    pub sent: [AirtimeCounters; 7],
    /// Of its data frames those that their receiver did not decode.
    pub data_lost: AirtimeCounters,
    /// Of the first frames of its exchanges (RTS, or data without RTS) those that were destroyed where they
    /// were to be received: by others, or because the receiver was busy with another or transmitted.
    pub collided: u64,
    /// The same, lost to noise.
    pub bit_errors: u64,
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
    }

    /// What became of one of its frames at its receiver; `lost`: it was not decoded.
    #[inline]
    pub(super) fn on_outcome(&mut self, frame: &Frame, outcome: RxOutcome, lost: bool, time: Span) {
        if !lost {
            return;
        }
        if frame.kind == FrameKind::Data {
            self.data_lost.add(time);
        }
        if frame.opens {
            self.collided += u64::from(!outcome.decoded());
            self.bit_errors += u64::from(outcome.decoded());
        }
    }

    /// Frames of a kind.
    pub fn sent_of(&self, kind: FrameKind) -> AirtimeCounters {
        self.sent[place(kind)]
    }
}
