//! Where the standard and two reference simulators differ in the behaviour of stations.

use crate::medium::Capture;
use crate::phy::Conventions;
use airqueue_core::Span;

/// `ThresholdPreambleDetectionModel`.
const NS3_DETECTION: Span = Span::from_micros(4);

/// The standard or the simulator whose behaviour stations follow.
///
/// | | `Standard` | `Ns3` | `Ns2` |
/// |---|---|---|---|
/// | [times](Conventions) | `STANDARD` | `NS3` | `NS2` |
/// | backoff drawn from | the whole window, 0 to CW | 0 to CW | 0 to CW - 1 |
/// | carrier is noticed | at once | 4 µs after a frame's beginning | at once |
/// | other stations after a frame in error | EIFS in place of DIFS | EIFS in place of DIFS | EIFS, and then DIFS |
/// | EIFS is cancelled | by the next frame decoded | by the next frame decoded | never: EIFS is a NAV |
/// | a frame that ends with or after the station's own | is not an error | is not an error | is an error |
/// | a frame ignored for a stronger one | has no effect | has no effect | a NAV of EIFS from its end, in whole µs from its beginning, even if the station transmits during it |
/// | frames that begin together at equal power | the receiver locks onto one, in error: EIFS | no preamble is detected: DIFS | as `Standard` |
/// | overlap, unless the scenario says otherwise | destroys all | SINR below 4 dB destroys | 10 dB stronger first frame survives |
/// | a packet arrives at a station with nothing to send, medium idle | sent once the medium has been idle for DIFS or AIFS | DCF: DIFS after its arrival; EDCA: after AIFS | DIFS after its arrival, plus a backoff |
/// | such a packet, if the medium turns busy before, by the station's own response too | backoff | no backoff: sent at the end of the next DIFS | the backoff is frozen |
/// | the packets of an A-MPDU are passed up | after the frame | each at the end of its MPDU: all answers but those to the last MPDU find the medium busy | - |
/// | an EDCA queue that has waited sends | at the next slot boundary | at a later slot boundary | - |
/// | retries of RTS and data | counted separately: 7 transmissions of an RTS, or of data without RTS; 4 of data after RTS | counted together, 7 | as `Standard` |
/// | the window after a packet is given up | the smallest | stays; the smallest at the eighth failure in a row | the smallest |
/// | NAV of an RTS without a following frame | reset | reset | stays |
/// | CTS is sent if | the NAV is over, or was set for the exchange of the RTS's sender (stations with QoS) | as `Standard` | NAV and medium are idle, as for data after a CTS |
/// | a TXOP limit: frames announce | their own exchange | the rest of the TXOP; CF-End returns the rest | - |
/// | a failure after the first frame of a TXOP | backoff | the TXOP continues after PIFS, if the medium is idle, whatever the NAV | - |
/// | an A-MPDU without a block ack | is sent again | a block ack request in a channel access of its own, repeated until answered | - |
/// | the wait for a response ends | with any reception | with any reception | with the response or the time-out |
///
/// Not modelled: ns-3's single RTS for all frames of a TXOP and its lifetime of queued packets; the time by which the
/// packets of ns-3's A-MPDUs arrive before the end of the frame; ns-2's retry counters that outlive a packet, and the
/// backoff that ns-2 omits after giving a packet up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// IEEE 802.11-2016.
    #[default]
    Standard,
    /// ns-3, release 3.44.
    Ns3,
    /// `Mac/802_11` of ns-2, release 2.35.
    Ns2,
}

/// A behaviour as a set of choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// How durations are computed.
    pub conventions: Conventions,
    /// The values that a backoff is drawn from.
    pub backoff_draw: BackoffDraw,
    /// How long a station defers after a frame in error.
    pub error_wait: ErrorWait,
    /// Whether a frame that a receiver ignored for a stronger frame sets a NAV of EIFS from the end of the ignored
    /// frame, in whole microseconds from its beginning, even if the station transmits during the frame.
    pub ignored_nav: bool,
    /// Whether a frame that overlaps the station's own transmission, and ends with it or later, counts as an error.
    pub deaf_errors: bool,
    /// How long after its beginning a frame is noticed. A station whose backoff ends before transmits.
    pub sense_delay: Span,
    /// What a packet that arrives at an idle station waits for.
    pub arrival: Arrival,
    /// When a receiver passes up the packets of an A-MPDU.
    pub delivery: Delivery,
    /// Whether failures of RTS and of data count towards one limit, the short one.
    pub shared_retries: bool,
    /// Whether the window stays when a packet is given up. The window then restarts at the failure that follows as
    /// many failures in a row as the short retry limit allows.
    pub window_outlives_packet: bool,
    /// Whether the NAV of an RTS is reset if no frame follows (IEEE 802.11-2016, 10.3.2.4).
    pub nav_reset: bool,
    /// Whether a CTS, and data after a CTS, also need an idle medium when they are to be sent.
    pub answers_need_idle: bool,
    /// Whether the end of any reception ends the wait for a response (10.3.2.9), not only the response and the
    /// time-out.
    pub reception_decides: bool,
    /// Whether frames of a TXOP with a limit announce the rest of the TXOP, and a CF-End returns unused time if long
    /// enough (10.22.2.8).
    pub announces_txop: bool,
    /// Whether a block ack request follows an A-MPDU without a block ack before any packet is sent again (IEEE
    /// 802.11-2016, 10.24.7.7, leaves the choice).
    pub requests_block_ack: bool,
    /// Whether a TXOP continues PIFS after the failure of a frame other than its first if the medium is idle then
    /// (10.22.2.2).
    pub resumes_txop: bool,
    /// The outcome of overlapping frames, unless the scenario sets one.
    pub capture: Capture,
}

/// The values that a backoff is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffDraw {
    /// The whole window: 0 to CW.
    Whole,
    /// One value fewer, 0 to CW - 1: ns-2 draws a random number modulo CW.
    OneFewer,
}

/// The wait after a frame that a receiver received in error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorWait {
    /// EIFS from the end of the frame in error, unless another frame is decoded before (10.3.2.3.7).
    Eifs,
    /// A NAV of EIFS, followed by DIFS (ns-2).
    EifsAsNav,
}

/// Channel access for a packet that arrives at an empty queue while no counter is running and the medium is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Once the medium has been idle for DIFS (10.3.4.2); for EDCA at the slot boundary at or after AIFS (10.22.2.4).
    Standard,
    /// DIFS after the packet's arrival; for EDCA at the first slot boundary after the arrival.
    Ns3,
    /// DIFS after the packet's arrival, plus a backoff (`bugFix_timer_`).
    Ns2,
}

/// When a receiver passes up the packets of an A-MPDU, in relation to the state of the medium. The time is the end of the
/// frame in either case. A frame of one MPDU is passed up when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// All after the frame, as drivers do. A packet that answers arrives at an idle medium, SIFS before the block ack.
    AfterFrame,
    /// Each at the end of its own MPDU (ns-3): up to the last MPDU, packets that answer arrive at a busy medium.
    EachMpdu,
}

impl Behaviour {
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Behaviour::Standard => "standard",
            Behaviour::Ns3 => "ns3",
            Behaviour::Ns2 => "ns2",
        }
    }

    /// The choices of this behaviour.
    pub fn rules(self) -> Rules {
        match self {
            Behaviour::Standard => Rules::STANDARD,
            Behaviour::Ns3 => Rules::NS3,
            Behaviour::Ns2 => Rules::NS2,
        }
    }
}

impl Rules {
    /// IEEE 802.11-2016.
    pub const STANDARD: Rules = Rules {
        conventions: Conventions::STANDARD,
        backoff_draw: BackoffDraw::Whole,
        error_wait: ErrorWait::Eifs,
        ignored_nav: false,
        deaf_errors: false,
        sense_delay: Span::ZERO,
        arrival: Arrival::Standard,
        delivery: Delivery::AfterFrame,
        shared_retries: false,
        window_outlives_packet: false,
        nav_reset: true,
        answers_need_idle: false,
        reception_decides: true,
        announces_txop: false,
        requests_block_ack: false,
        resumes_txop: false,
        capture: Capture::None,
    };
    /// ns-3: its preamble detection takes 4 µs and needs 4 dB. Unknown powers are all
    /// [`crate::medium::Signal::NOMINAL_W`], compared with which this noise is negligible.
    pub const NS3: Rules = Rules {
        conventions: Conventions::NS3,
        sense_delay: NS3_DETECTION,
        arrival: Arrival::Ns3,
        delivery: Delivery::EachMpdu,
        shared_retries: true,
        window_outlives_packet: true,
        announces_txop: true,
        requests_block_ack: true,
        resumes_txop: true,
        capture: Capture::Sinr { threshold_db: 4.0, noise_w: 1e-13, window: NS3_DETECTION },
        ..Rules::STANDARD
    };
    /// ns-2.
    pub const NS2: Rules = Rules {
        conventions: Conventions::NS2,
        backoff_draw: BackoffDraw::OneFewer,
        error_wait: ErrorWait::EifsAsNav,
        ignored_nav: true,
        deaf_errors: true,
        arrival: Arrival::Ns2,
        nav_reset: false,
        answers_need_idle: true,
        reception_decides: false,
        capture: Capture::NS2,
        ..Rules::STANDARD
    };
}
