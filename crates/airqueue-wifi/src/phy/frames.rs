//! Lengths of frames, and of the headers that a frame adds to an IP packet, in bytes (IEEE 802.11-2016, 9.2 and 9.3).

/// RTS: Frame Control, Duration, two addresses, FCS (9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// CTS, in response or to self: Frame Control, Duration, one address, FCS (9.3.1.3).
pub const CTS_BYTES: u32 = 14;
/// ACK, with the format of the CTS (9.3.1.4).
pub const ACK_BYTES: u32 = CTS_BYTES;
/// CF-End: Frame Control, Duration, two addresses, FCS (9.3.1.7).
pub const CF_END_BYTES: u32 = 20;
/// PS-Poll, with the lengths of the fields of the RTS (9.3.1.5).
pub const PS_POLL_BYTES: u32 = RTS_BYTES;
/// A null frame: a data frame with three addresses and no body.
pub const NULL_BYTES: u32 = HEADER_BYTES + FCS_BYTES;
/// Length of a QoS null frame.
pub const QOS_NULL_BYTES: u32 = QOS_HEADER_BYTES + FCS_BYTES;
/// Authentication by the open system: algorithm, sequence number, status (9.3.3.12).
pub const AUTHENTICATION_BYTES: u32 = HEADER_BYTES + 6 + FCS_BYTES;
/// The elements of eight supported rates and of four more, as at 2.4 GHz.
const RATES_BYTES: u32 = 10 + 6;
/// The element RSN of a network with WPA2-Personal: version, four suites, capabilities (9.4.2.25).
const RSN_BYTES: u32 = 22;
/// Association Request: capabilities, listen interval, a name of 8 bytes, rates, RSN, and WMM's element of 9 bytes
/// (9.3.3.6).
pub const ASSOCIATION_REQUEST_BYTES: u32 =
    HEADER_BYTES + 4 + 10 + RATES_BYTES + RSN_BYTES + 9 + FCS_BYTES;
/// Reassociation Request, which has the address of the present access point, too (9.3.3.8).
pub const REASSOCIATION_REQUEST_BYTES: u32 = ASSOCIATION_REQUEST_BYTES + 6;
/// Association Response and Reassociation Response: capabilities, status, association id, rates, and WMM's element
/// of 26 bytes (9.3.3.7).
pub const ASSOCIATION_RESPONSE_BYTES: u32 = HEADER_BYTES + 6 + RATES_BYTES + 26 + FCS_BYTES;
/// Key data of the four EAPOL-Key messages of WPA2 (12.7.6): the PMKID, the element RSN, the element RSN and the group key
/// of 16 bytes, wrapped, and nothing.
const KEY_DATA_BYTES: [u32; 4] = [22, RSN_BYTES, 56, 0];
/// The header of IEEE 802.1X and the EAPOL-Key descriptor without key data (12.7.2), behind LLC/SNAP.
const KEY_DESCRIPTOR_BYTES: u32 = 4 + 95;

/// An EAPOL-Key message, the first of which is 0, behind a header with or without QoS.
pub const fn key_bytes(message: usize, qos: bool) -> u32 {
    let header = if qos { QOS_HEADER_BYTES } else { HEADER_BYTES };
    header + LLC_SNAP_BYTES + KEY_DESCRIPTOR_BYTES + KEY_DATA_BYTES[message] + FCS_BYTES
}

/// Compressed block ack request: Frame Control, Duration, two addresses, control, starting sequence
/// number, FCS (9.3.1.8).
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;
/// Compressed block ack for 64 MPDUs: as the request, with a bit for each MPDU (9.3.1.9).
pub const BLOCK_ACK_BYTES: u32 = BLOCK_ACK_REQUEST_BYTES + 8;
/// Compressed block ack for 256 MPDUs, from 802.11ax on.
pub const BLOCK_ACK_256_BYTES: u32 = BLOCK_ACK_REQUEST_BYTES + 32;
/// The largest number of MPDUs that a block ack can acknowledge.
pub const LONGEST_WINDOW: u32 = 256;

/// The response of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// ACK of one MPDU that is not part of an A-MPDU, or that is a single VHT or HE MPDU.
    Ack,
    /// Compressed block ack for up to 64 MPDUs.
    BlockAck,
    /// Compressed block ack for up to 256 MPDUs, of 802.11ax.
    BlockAck256,
}

impl Response {
    /// Bytes of the frame.
    pub const fn bytes(self) -> u32 {
        match self {
            Response::Ack => ACK_BYTES,
            Response::BlockAck => BLOCK_ACK_BYTES,
            Response::BlockAck256 => BLOCK_ACK_256_BYTES,
        }
    }

    /// The block ack under an agreement with a window of so many MPDUs.
    pub const fn to_window(mpdus: u32) -> Response {
        if mpdus > 64 { Response::BlockAck256 } else { Response::BlockAck }
    }
}

/// MAC header of a data frame with three addresses (9.3.2.1).
pub const HEADER_BYTES: u32 = 24;
/// MAC header of a data frame with three addresses and the QoS Control field.
pub const QOS_HEADER_BYTES: u32 = 26;
/// MAC header with four addresses: between access points or mesh nodes.
pub const FOUR_ADDRESS_HEADER_BYTES: u32 = 30;
/// MAC header with four addresses and the QoS Control field.
pub const FOUR_ADDRESS_QOS_HEADER_BYTES: u32 = 32;
/// Frame check sequence.
pub const FCS_BYTES: u32 = 4;
/// The delimiter before each MPDU of an A-MPDU (9.7.1).
pub const DELIMITER_BYTES: u32 = 4;
/// LLC and SNAP headers, which identify the payload as IP (RFC 1042).
pub const LLC_SNAP_BYTES: u32 = 8;
/// The bytes that ns-2's `Mac/802_11` adds to an IP packet: always four addresses, no LLC/SNAP.
pub const NS2_OVERHEAD_BYTES: u32 = FOUR_ADDRESS_HEADER_BYTES + FCS_BYTES;

/// Largest PSDU before 802.11n: OFDM's LENGTH field has 12 bits (17.3.4.3).
pub const MAX_NON_HT_PSDU_BYTES: u32 = 4_095;
/// Largest MPDU in an A-MPDU of HT: the delimiter's length field has 12 bits (9.7.1).
pub const HT_MAX_MPDU_BYTES: u32 = 4_095;
/// Largest MPDU of VHT and HE (table 9-19).
pub const VHT_MAX_MPDU_BYTES: u32 = 11_454;
