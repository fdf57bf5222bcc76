//! The frames by which a station associates: management frames (IEEE 802.11-2016, 9.3.3), and the EAPOL-Key messages of
//! WPA2 in data frames (12.7.2). Keys, nonces and check values are zero.

use super::bytes::{DATA, QOS_DATA, address, association_field, begin, power_flags};
use super::management::{ESS, NAME, SSID, VENDOR_SPECIFIC};
use airqueue_wifi::mac::{Frame, Handshake};
use airqueue_wifi::medium::StationId;

/// First byte of Frame Control: version 0, type, subtype.
const REQUEST: u8 = 0x00;
const RESPONSE: u8 = 0x10;
const REASSOCIATION_REQUEST: u8 = 0x20;
const REASSOCIATION_RESPONSE: u8 = 0x30;
const AUTHENTICATION: u8 = 0xb0;

/// Element ids (9.4.2.1).
const RATES: u8 = 1;
const RSN: u8 = 48;
const MORE_RATES: u8 = 50;

/// Rates of 802.11g in units of 500 kb/s; the first bit marks basic ones.
const SUPPORTED: [u8; 8] = [0x82, 0x84, 0x8b, 0x96, 12, 18, 24, 36];
const EXTENDED: [u8; 4] = [48, 72, 96, 108];
/// Capability Information: privacy.
const PRIVACY: u16 = 0x10;
/// The listen interval in beacons.
const LISTEN_INTERVAL: u16 = 1;

/// CCMP for groups and pairs, and a pre-shared key (9.4.2.25).
const RSN_BODY: [u8; 20] =
    [1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 2, 0, 0];
/// WMM's information element and the beginning of its parameter element.
const WMM_INFORMATION: [u8; 7] = [0, 0x50, 0xf2, 2, 0, 1, 0];
const WMM_PARAMETERS: [u8; 8] = [0, 0x50, 0xf2, 2, 1, 1, 0, 0];
/// AIFSN and number of the category, exponents of the windows, and the limit of TXOPs of BE, BK, VI, VO (table 9-137).
const WMM_CATEGORIES: [[u8; 4]; 4] =
    [[0x03, 0xa4, 0, 0], [0x27, 0xa4, 0, 0], [0x42, 0x43, 94, 0], [0x62, 0x32, 47, 0]];

/// LLC/SNAP of EAPOL (RFC 1042, IEEE 802.1X), version 2 and packet type Key.
const EAPOL: [u8; 10] = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 2, 3];
/// The priority of EAPOL frames in Linux.
const PRIORITY: u8 = 7;
/// The key descriptor of RSN; the PMKID in key data (12.7.2).
const KEY_DESCRIPTOR: u8 = 2;
const PMKID: [u8; 6] = [VENDOR_SPECIFIC, 20, 0, 0x0f, 0xac, 4];
/// Bytes of the descriptor without key data.
const DESCRIPTOR_BYTES: u16 = 95;

/// Whether a frame says that a station is associated.
pub(super) fn is_answer(frame: Option<Handshake>) -> bool {
    matches!(frame, Some(Handshake::Response | Handshake::ReassociationResponse))
}

/// Appends a frame of an association, without its FCS. `before`: the access point of which the station was until now.
pub(super) fn handshake(
    frame: &Frame,
    step: Handshake,
    (sequence, bssid, qos): (u16, [u8; 6], bool),
    before: Option<StationId>,
    out: &mut Vec<u8>,
) {
    let key = key(step);
    let kind = match step {
        Handshake::Authentication | Handshake::AuthenticationAnswer => AUTHENTICATION,
        Handshake::Request => REQUEST,
        Handshake::Response => RESPONSE,
        Handshake::ReassociationRequest => REASSOCIATION_REQUEST,
        Handshake::ReassociationResponse => REASSOCIATION_RESPONSE,
        _ if qos => QOS_DATA,
        _ => DATA,
    };
    begin(kind, power_flags(frame), frame, out);
    out.extend(address(frame.to));
    out.extend(address(frame.from));
    out.extend(bssid);
    out.extend((sequence << 4).to_le_bytes());
    match (step, key) {
        (_, Some(key)) => {
            if qos {
                out.extend([PRIORITY, 0]);
            }
            key.write(out);
        }
        (Handshake::Authentication, _) => out.extend([0, 0, 1, 0, 0, 0]),
        (Handshake::AuthenticationAnswer, _) => out.extend([0, 0, 2, 0, 0, 0]),
        (Handshake::Request | Handshake::ReassociationRequest, _) => {
            request(before.filter(|_| step == Handshake::ReassociationRequest), out);
        }
        _ => response(frame.to, out),
    }
}

fn element(id: u8, body: &[u8], out: &mut Vec<u8>) {
    out.extend([id, body.len() as u8]);
    out.extend(body);
}

fn request(before: Option<StationId>, out: &mut Vec<u8>) {
    out.extend((ESS | PRIVACY).to_le_bytes());
    out.extend(LISTEN_INTERVAL.to_le_bytes());
    if let Some(before) = before {
        out.extend(address(before));
    }
    element(SSID, NAME, out);
    element(RATES, &SUPPORTED, out);
    element(MORE_RATES, &EXTENDED, out);
    element(RSN, &RSN_BODY, out);
    element(VENDOR_SPECIFIC, &WMM_INFORMATION, out);
}

fn response(station: StationId, out: &mut Vec<u8>) {
    const SUCCESS: u16 = 0;
    out.extend((ESS | PRIVACY).to_le_bytes());
    out.extend(SUCCESS.to_le_bytes());
    out.extend(association_field(station).to_le_bytes());
    element(RATES, &SUPPORTED, out);
    element(MORE_RATES, &EXTENDED, out);
    let categories = WMM_CATEGORIES.into_iter().flatten();
    let parameters: Vec<u8> = WMM_PARAMETERS.into_iter().chain(categories).collect();
    element(VENDOR_SPECIFIC, &parameters, out);
}

/// An EAPOL-Key message.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// Key Information.
    information: u16,
    /// The replay counter.
    counter: u8,
    /// Length of the key data, and its beginning.
    bytes: u16,
    data: &'static [u8],
}

fn key(step: Handshake) -> Option<Key> {
    /// The element RSN.
    const OWN: [u8; 22] = {
        let mut whole = [0; 22];
        (whole[0], whole[1]) = (RSN, 20);
        let mut at = 0;
        while at < RSN_BODY.len() {
            whole[at + 2] = RSN_BODY[at];
            at += 1;
        }
        whole
    };
    let key = |information, counter, bytes, data| Some(Key { information, counter, bytes, data });
    match step {
        Handshake::Key1 => key(0x008a, 1, 22, &PMKID[..]),
        Handshake::Key2 => key(0x010a, 1, 22, &OWN[..]),
        Handshake::Key3 => key(0x13ca, 2, 56, &[]),
        Handshake::Key4 => key(0x030a, 2, 0, &[]),
        _ => None,
    }
}

impl Key {
    fn write(&self, out: &mut Vec<u8>) {
        /// Nonce, IV, RSC, reserved bytes, MIC.
        const ZEROS: usize = 32 + 16 + 8 + 8 + 16;
        /// Of a key of CCMP, in the access point's messages.
        const KEY_BYTES: u16 = 16;
        out.extend(EAPOL);
        out.extend((DESCRIPTOR_BYTES + self.bytes).to_be_bytes());
        out.push(KEY_DESCRIPTOR);
        out.extend(self.information.to_be_bytes());
        let acknowledged = self.information & 0x80 != 0;
        out.extend(if acknowledged { KEY_BYTES } else { 0 }.to_be_bytes());
        out.extend(u64::from(self.counter).to_be_bytes());
        out.resize(out.len() + ZEROS, 0);
        out.extend(self.bytes.to_be_bytes());
        out.extend(self.data);
        out.resize(out.len() + usize::from(self.bytes) - self.data.len(), 0);
    }
}
