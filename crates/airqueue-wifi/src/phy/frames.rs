//! Sizes of frames and of what a frame adds to an IP packet, in bytes (IEEE 802.11-2016, 9.2 and 9.3).

/// RTS: Frame Control, Duration, two addresses, FCS (9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// CTS, answer or CTS-to-self: Frame Control, Duration, one address, FCS (9.3.1.3).
pub const CTS_BYTES: u32 = 14;
/// ACK, with the format of the CTS (9.3.1.4).
pub const ACK_BYTES: u32 = CTS_BYTES;

/// MAC header of a data frame with three addresses (9.3.2.1).
pub const HEADER_BYTES: u32 = 24;
/// The same with the QoS Control field.
pub const QOS_HEADER_BYTES: u32 = 26;
/// MAC header with four addresses: between access points or mesh nodes.
pub const FOUR_ADDRESS_HEADER_BYTES: u32 = 30;
/// The same with the QoS Control field.
pub const FOUR_ADDRESS_QOS_HEADER_BYTES: u32 = 32;
/// Frame check sequence.
pub const FCS_BYTES: u32 = 4;
/// LLC and SNAP headers, which say that the frame carries IP (RFC 1042).
pub const LLC_SNAP_BYTES: u32 = 8;
/// All that ns-2's `Mac/802_11` adds to an IP packet: always four addresses, no LLC/SNAP.
pub const NS2_OVERHEAD_BYTES: u32 = FOUR_ADDRESS_HEADER_BYTES + FCS_BYTES;

/// Largest PSDU before 802.11n: OFDM's LENGTH field has 12 bits (17.3.4.3).
pub const MAX_NON_HT_PSDU_BYTES: u32 = 4_095;
