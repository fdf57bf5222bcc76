//! Frames on the air, and the packets that they carry.

use crate::medium::StationId;
use crate::phy::{AccessCategory, RateIndex, Response};
use airqueue_core::{Packet, Span};

/// The type of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send: a response, or a CTS to self if `to` is `from`.
    Cts,
    /// Data: an MPDU, or an A-MPDU.
    Data,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement.
    BlockAck,
    /// Block ack request.
    BlockAckRequest,
    /// The end of a TXOP: stations that hear the frame reset their NAV. Addressed to all stations: `to` is `from`.
    CfEnd,
    /// A beacon, addressed to all stations: `to` is `from`.
    Beacon,
    /// A data frame without data, which tells an access point whether the station is about to sleep.
    Null,
    /// A QoS null frame: the trigger of a service period of U-APSD, or the end of one.
    QosNull,
    /// A request of a sleeping station for a packet that waits at the access point.
    PsPoll,
    /// A frame by which a station associates with an access point.
    Handshake(Handshake),
}

/// The frames by which a station associates with an access point, each after the one before (IEEE 802.11-2016, 11.3 and
/// 12.7.6): open system authentication, association, and the four messages by which both ends agree on keys (WPA2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Handshake {
    /// Authentication of the station.
    Authentication,
    /// The access point's answer.
    AuthenticationAnswer,
    /// Association Request.
    Request,
    /// Association Response.
    Response,
    /// Reassociation Request, of a station that comes from another access point.
    ReassociationRequest,
    /// Reassociation Response.
    ReassociationResponse,
    /// The first EAPOL-Key message, from the access point.
    Key1,
    /// The second one, from the station.
    Key2,
    /// The third one, from the access point.
    Key3,
    /// The fourth one, from the station.
    Key4,
}

/// A frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The type of the frame.
    pub kind: FrameKind,
    /// The transmitter.
    pub from: StationId,
    /// The receiver; for a frame to all stations the transmitter.
    pub to: StationId,
    /// The rate.
    pub rate: RateIndex,
    /// Length of the PSDU in bytes.
    pub bytes: u32,
    /// Duration/ID: the NAV that the frame sets, counted from the end of the frame.
    pub nav: Span,
    /// What a response with NAV 0 has in its Duration/ID field instead ([`super::rdqm_field`]); 0: nothing.
    pub field: u16,
    /// The sender's access category; for a QoS null frame the category that it is about; for a block ack the category of
    /// the acknowledged data, for other responses the first.
    pub ac: AccessCategory,
    /// Whether the frame is the first of an exchange and is addressed to another station: the frame that a collision
    /// hits.
    pub opens: bool,
    /// Whether the frame was sent before.
    pub retry: bool,
    /// Power Management: the station sleeps after the exchange.
    pub power: bool,
    /// More Data: more packets for the receiver, or for all stations, wait at the access point.
    pub more: bool,
    /// EOSP: the service period of U-APSD ends with this frame.
    pub ends_service: bool,
    /// Number of MPDUs.
    pub mpdus: u16,
    /// The response to data or to a block ack request.
    pub response: Response,
    /// For data, a block ack request and a block ack: the recipient at the receiving station.
    pub recipient: u32,
}

impl Frame {
    /// An empty frame with NAV 0; a response sets the other fields.
    pub(super) fn new(kind: FrameKind, from: StationId, to: StationId, rate: RateIndex) -> Frame {
        Frame {
            kind,
            from,
            to,
            rate,
            bytes: 0,
            nav: Span::ZERO,
            field: 0,
            ac: AccessCategory::FIRST,
            opens: false,
            retry: false,
            power: false,
            more: false,
            ends_service: false,
            mpdus: 1,
            response: Response::Ack,
            recipient: 0,
        }
    }
}

/// A data frame of the station's own whose outcome is known, for [`crate::RateControl::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The access category of the frame.
    pub ac: AccessCategory,
    /// The rate of the frame.
    pub rate: RateIndex,
    /// Number of MPDUs.
    pub mpdus: u32,
    /// Number of these MPDUs that the response acknowledged; 0 if no response arrived.
    pub acknowledged: u32,
}

/// What a packet in the MAC is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data.
    Data,
    /// Data behind which more packets for the same receiver, or for all stations, wait at the access point.
    MoreData,
    /// The last data of a service period of U-APSD; `more`: behind which more packets wait at the access point.
    LastOfService {
        /// More Data.
        more: bool,
    },
    /// A QoS null frame of a sleeping station, which triggers a service period, in the name of an access category.
    Trigger(AccessCategory),
    /// A QoS null frame of an access point: a service period that has no data ends.
    NoService(AccessCategory),
    /// A null frame: the station is about to sleep.
    Sleep,
    /// A null frame: the station is awake.
    Wake,
    /// A PS-Poll.
    Poll,
    /// A beacon.
    Beacon,
    /// A frame by which a station associates.
    Handshake(Handshake),
}

impl Content {
    /// The frame that carries it.
    pub fn kind(self) -> FrameKind {
        match self {
            Content::Data | Content::MoreData | Content::LastOfService { .. } => FrameKind::Data,
            Content::Trigger(_) | Content::NoService(_) => FrameKind::QosNull,
            Content::Sleep | Content::Wake => FrameKind::Null,
            Content::Poll => FrameKind::PsPoll,
            Content::Beacon => FrameKind::Beacon,
            Content::Handshake(step) => FrameKind::Handshake(step),
        }
    }
}

/// A packet in the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Msdu {
    /// The packet.
    pub packet: Packet,
    /// What the packet is.
    pub content: Content,
    /// The station at the other end of the hop; for a packet to all stations the sender.
    pub to: StationId,
    /// The recipient at the next station for this access category ([`Mac::add_recipient`](super::Mac::add_recipient)).
    pub recipient: u32,
    /// The rate of its data frames.
    pub rate: RateIndex,
    /// Length of the MPDU that carries the packet: packet, LLC/SNAP, MAC header, FCS.
    pub mpdu_bytes: u32,
}
