//! The frames of a handshake: which follow each other, who sends them, and how long they are.

use super::Associate;
use airqueue_core::{FlowKey, Packet, Time};
use airqueue_wifi::mac::{Content, Handshake, Msdu};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::frames;

const JOINING: [Handshake; 8] = [
    Handshake::Authentication,
    Handshake::AuthenticationAnswer,
    Handshake::Request,
    Handshake::Response,
    Handshake::Key1,
    Handshake::Key2,
    Handshake::Key3,
    Handshake::Key4,
];
/// Frames without those of keys.
const KEYLESS: usize = 4;

impl<E> Associate<E> {
    /// The frames of the present handshake in their order.
    pub(super) fn frames(&self) -> impl Iterator<Item = Handshake> {
        let count = if self.spec.keys { JOINING.len() } else { KEYLESS };
        let comes_from_another = self.comes_from_another();
        JOINING.into_iter().take(count).map(move |frame| match frame {
            Handshake::Request if comes_from_another => Handshake::ReassociationRequest,
            Handshake::Response if comes_from_another => Handshake::ReassociationResponse,
            other => other,
        })
    }

    /// Whether the station was last served by another access point.
    pub(super) fn comes_from_another(&self) -> bool {
        self.last.is_some_and(|last| last != self.access_point)
    }

    /// The place of a frame in the present handshake.
    pub(super) fn place(&self, frame: Handshake) -> Option<usize> {
        self.frames().position(|other| other == frame)
    }

    /// Whether a frame is the last one.
    pub(super) fn is_last(&self, place: usize) -> bool {
        place + 1 == self.frames().count()
    }

    /// A frame of the present handshake as the MAC of its sender takes packets. `qos`: both ends have it.
    pub(super) fn msdu(&self, frame: Handshake, qos: bool, now: Time) -> Msdu {
        let to = if from_station(frame) { self.access_point } else { self.spec.station };
        let packet = Packet::new(0, FlowKey(u32::MAX), 0, now);
        let content = Content::Handshake(frame);
        Msdu {
            packet,
            content,
            to,
            recipient: 0,
            rate: self.spec.rate,
            mpdu_bytes: bytes(frame, qos),
        }
    }
}

/// Whether the station sends a frame, not the access point.
pub(super) fn from_station(frame: Handshake) -> bool {
    matches!(
        frame,
        Handshake::Authentication
            | Handshake::Request
            | Handshake::ReassociationRequest
            | Handshake::Key2
            | Handshake::Key4
    )
}

/// The station and the access point of a frame between two stations.
pub(super) fn ends(frame: Handshake, from: StationId, to: StationId) -> (StationId, StationId) {
    if from_station(frame) { (from, to) } else { (to, from) }
}

/// Length of a frame, header and FCS included.
fn bytes(frame: Handshake, qos: bool) -> u32 {
    match frame {
        Handshake::Authentication | Handshake::AuthenticationAnswer => frames::AUTHENTICATION_BYTES,
        Handshake::Request => frames::ASSOCIATION_REQUEST_BYTES,
        Handshake::ReassociationRequest => frames::REASSOCIATION_REQUEST_BYTES,
        Handshake::Response | Handshake::ReassociationResponse => {
            frames::ASSOCIATION_RESPONSE_BYTES
        }
        Handshake::Key1 => frames::key_bytes(0, qos),
        Handshake::Key2 => frames::key_bytes(1, qos),
        Handshake::Key3 => frames::key_bytes(2, qos),
        Handshake::Key4 => frames::key_bytes(3, qos),
    }
}
