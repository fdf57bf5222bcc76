//! What goes on the air, and what it is made from.

use crate::medium::StationId;
use crate::phy::{AccessCategory, RateIndex, Response};
use airqueue_core::{Packet, Span};

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send: an answer, or to oneself if `to` is `from`.
    Cts,
    /// Data: an MPDU, or an A-MPDU.
    Data,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement.
    BlockAck,
    /// Asks for one.
    BlockAckRequest,
    /// The end of a TXOP: who hears it forgets the NAV. For nobody in particular: `to` is `from`.
    CfEnd,
}

/// A frame as it is on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What for.
    pub kind: FrameKind,
    /// Who sends it.
    pub from: StationId,
    /// Whom it is for.
    pub to: StationId,
    /// At which rate.
    pub rate: RateIndex,
    /// The PSDU.
    pub bytes: u32,
    /// Duration/ID: the NAV that it sets, counted from its end.
    pub nav: Span,
    /// Which of the sender's access categories it belongs to; of a block ack that of the data that it is about, of other
    /// responses the first.
    pub ac: AccessCategory,
    /// Whether it is the first frame of an exchange that another station is to receive: what a collision
    /// hits.
    pub opens: bool,
    /// Whether it was sent before.
    pub retry: bool,
    /// How many MPDUs it has.
    pub mpdus: u16,
    /// What answers data, or a request for a block ack.
    pub response: Response,
    /// Of data, of a request for a block ack and of a block ack: which recipient of the receiving station it is about.
    pub recipient: u32,
}

impl Frame {
    /// A frame of nothing, which announces nothing: what a response is, but for these.
    pub(super) fn new(kind: FrameKind, from: StationId, to: StationId, rate: RateIndex) -> Frame {
        Frame {
            kind,
            from,
            to,
            rate,
            bytes: 0,
            nav: Span::ZERO,
            ac: AccessCategory::FIRST,
            opens: false,
            retry: false,
            mpdus: 1,
            response: Response::Ack,
            recipient: 0,
        }
    }
}

/// A data frame of one's own of which it is known what became of it, for [`crate::RateControl::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The access category that it came from.
    pub ac: AccessCategory,
    /// At which rate it was sent.
    pub rate: RateIndex,
    /// How many MPDUs it had.
    pub mpdus: u32,
    /// How many of these its response has acknowledged; 0 if none came.
    pub acknowledged: u32,
}

/// A packet on its way through the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Msdu {
    /// The packet.
    pub packet: Packet,
    /// The next station.
    pub to: StationId,
    /// Which recipient of the next station receives what the access category sends there ([`Mac::add_recipient`](super::Mac::add_recipient)).
    pub recipient: u32,
    /// The rate of its data frames.
    pub rate: RateIndex,
    /// The MPDU that carries it: packet, LLC/SNAP, MAC header, FCS.
    pub mpdu_bytes: u32,
}
