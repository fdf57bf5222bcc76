//! The rules of a behaviour above the MAC, one table per behaviour. The rules in the MAC are
//! [`Rules`](airqueue_wifi::mac::Rules); all code that depends on the behaviour uses one of the two.

use super::file::{BehaviourName, TcpName};
use airqueue_core::{DataRate, Span};
use airqueue_transport::tcp::TcpSpec;
use airqueue_wifi::mac::Behaviour;
use airqueue_wifi::phy::frames::NS2_OVERHEAD_BYTES;

/// A behaviour above the MAC.
pub(super) struct Profile {
    /// Name of the behaviour in messages.
    pub(super) name: &'static str,
    /// The behaviour in the MAC.
    pub(super) mac: Behaviour,
    /// Whether the behaviour has only DCF on DSSS with the long preamble, and one rate for all control frames.
    pub(super) dsss_alone: bool,
    /// Rate of all control frames, if the file names none; `None`: by the basic rates.
    pub(super) control_rate: Option<DataRate>,
    /// Bytes that a data frame adds to an IP packet; `None`: the MAC header of the frame, LLC/SNAP and FCS.
    pub(super) overhead_bytes: Option<u32>,
    /// Time that a packet takes inside the stations of a hop.
    pub(super) station_delay: Span,
    /// The TCP of flows that name none.
    pub(super) tcp: TcpName,
    /// Whether the limit of a FIFO counts the packets that the MAC holds, too.
    pub(super) limits_count_in_hand: bool,
    /// The limit of such a queue if the file gives none, in packets; `None`: that of the discipline.
    pub(super) usual_limit: Option<u32>,
    /// The smallest limit of such a queue, in packets.
    pub(super) least_limit: u32,
    /// Whether limits that `buffers` sets for the queues of single flows count the frame that the MAC holds.
    pub(super) flow_limits_count_in_hand: bool,
}

/// The settings of a TCP outside its [`TcpSpec`].
pub(super) struct TcpProfile {
    /// Both ends, with segments of this many bytes.
    pub(super) spec: fn(u32) -> TcpSpec,
    /// Bytes of data in a segment, if the flow gives no size; `None`: as many as fit packets of 1500 bytes.
    pub(super) mss_bytes: Option<u32>,
    /// Whether a connection that opens with a handshake closes with FIN.
    pub(super) closes: bool,
    /// Whether files consist of whole segments.
    pub(super) whole_segments: bool,
}

const STANDARD: Profile = Profile {
    name: "the standard",
    mac: Behaviour::Standard,
    dsss_alone: false,
    control_rate: None,
    overhead_bytes: None,
    station_delay: Span::ZERO,
    tcp: TcpName::Standard,
    limits_count_in_hand: false,
    usual_limit: None,
    least_limit: 0,
    flow_limits_count_in_hand: false,
};

const NS3: Profile = Profile {
    name: "ns-3",
    mac: Behaviour::Ns3,
    // `WifiMacQueue` has a frame until its acknowledgement comes, or until the MAC gives up.
    limits_count_in_hand: true,
    // `MaxSize`.
    usual_limit: Some(500),
    ..STANDARD
};

const NS2: Profile = Profile {
    name: "ns-2",
    mac: Behaviour::Ns2,
    dsss_alone: true,
    // `basicRate_` in `ns-default.tcl`.
    control_rate: DataRate::from_bps(1_000_000),
    overhead_bytes: Some(NS2_OVERHEAD_BYTES),
    // Twice the default `delay_` of the link layer, 25 µs: once at each station.
    station_delay: Span::from_micros(50),
    tcp: TcpName::Ns2,
    limits_count_in_hand: true,
    // `DropTail::enque` drops a packet that would make the queue as long as its limit. The packet leaves the queue for
    // an idle MAC only afterwards.
    least_limit: 2,
    usual_limit: None,
    flow_limits_count_in_hand: true,
};

impl BehaviourName {
    pub(super) fn profile(self) -> &'static Profile {
        match self {
            BehaviourName::Standard => &STANDARD,
            BehaviourName::Ns3 => &NS3,
            BehaviourName::Ns2 => &NS2,
        }
    }
}

impl TcpName {
    pub(super) fn profile(self) -> &'static TcpProfile {
        const STANDARD: TcpProfile = TcpProfile {
            spec: TcpSpec::standard,
            mss_bytes: None,
            closes: true,
            whole_segments: false,
        };
        match self {
            TcpName::Standard => &STANDARD,
            TcpName::Linux => &TcpProfile { spec: TcpSpec::linux, ..STANDARD },
            TcpName::Ns2 => &TcpProfile {
                spec: TcpSpec::ns2,
                mss_bytes: Some(1000),
                closes: false,
                whole_segments: true,
            },
        }
    }
}
