//! Where the standard and the two reference simulators differ in what a station does.

use crate::medium::Capture;
use crate::phy::Conventions;
use airqueue_core::Span;

/// `ThresholdPreambleDetectionModel`.
const NS3_DETECTION: Span = Span::from_micros(4);

/// Whose behaviour.
///
/// | | `Standard` | `Ns3` | `Ns2` |
/// |---|---|---|---|
/// | [times](Conventions) | `STANDARD` | `NS3` | `NS2` |
/// | backoff drawn from | the whole window, 0 to CW | 0 to CW | 0 to CW - 1 |
/// | carrier is noticed | at once | 4 µs after a frame's beginning | at once |
/// | bystanders after a frame in error | EIFS in place of DIFS | the same | EIFS, and then DIFS |
/// | an error ends | with the next frame that is understood | the same | never: it is a NAV |
/// | a frame that ends with or after one's own | is no error | is no error | is an error |
/// | a frame ignored for a stronger one | costs nothing | costs nothing | a NAV of EIFS from its end, in whole µs from its beginning, even if the station transmits during it |
/// | frames that begin together at equal power | the receiver is with one, in error: EIFS | no preamble is detected: DIFS | as `Standard` |
/// | overlap, unless the scenario says otherwise | destroys all | SINR below 4 dB destroys | 10 dB stronger first frame survives |
/// | a packet for a station with nothing to send, medium idle | goes once it has been idle for DIFS or AIFS | DCF: DIFS after it came; EDCA: after AIFS | DIFS after it came, and a backoff |
/// | the same, medium turns busy before that | backoff | none: it goes at the end of the next DIFS | the backoff stands still |
/// | an EDCA queue that has waited sends | at the next slot boundary | at a later slot boundary | - |
/// | retries of RTS and data | counted apart, 7 and 4 transmissions | counted together, 7 | apart, 7 and 4 |
/// | the window after a packet is given up | the smallest | stays; the smallest at the eighth failure in a row | the smallest |
/// | NAV of an RTS that nothing follows | taken back | taken back | stays |
/// | CTS is sent if | the NAV is over | the NAV is over | NAV and medium are idle, as for data behind a CTS |
/// | a TXOP limit: frames announce | their own exchange | the rest of the TXOP; CF-End gives back what is left | - |
/// | a failure after the first frame of a TXOP | backoff | the TXOP goes on after PIFS, if the medium is idle, whatever the NAV | - |
/// | an A-MPDU without a block ack | is sent again | a block ack request in an access of its own, which is repeated until it is answered | - |
/// | while a station waits for a response | any reception's end decides | the same | the response or the time-out decides |
///
/// Not taken over: ns-3's single RTS for all frames of a TXOP, its lifetime of queued packets; ns-2's retry counters that outlive a packet, and the
/// backoff that it leaves out after giving a packet up.
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

/// A behaviour, choice by choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// How times are counted.
    pub conventions: Conventions,
    /// Which values a backoff is drawn from.
    pub backoff_draw: BackoffDraw,
    /// What a frame in error costs those who heard it.
    pub error_wait: ErrorWait,
    /// Whether a frame that a receiver ignored for a stronger one sets a NAV of EIFS from its end, in whole
    /// microseconds from its beginning, even if the station transmits during it.
    pub ignored_nav: bool,
    /// Whether a frame that ends no earlier than one's own transmission during it counts as an error.
    pub deaf_errors: bool,
    /// How long after its beginning a frame is noticed. Who would transmit until then does.
    pub sense_delay: Span,
    /// What a packet for an idle station waits for.
    pub arrival: Arrival,
    /// Whether failures of RTS and of data count towards one limit, the short one.
    pub shared_retries: bool,
    /// Whether a packet that is given up leaves the window as it is. It then starts again at the failure
    /// that follows as many in a row as the short retry limit says.
    pub window_outlives_packet: bool,
    /// Whether the NAV of an RTS is taken back if nothing follows (IEEE 802.11-2016, 10.3.2.4).
    pub nav_reset: bool,
    /// Whether a CTS, and data behind it, also need a medium that is idle when they are to be sent.
    pub answers_need_idle: bool,
    /// Whether any reception that ends decides the wait for a response (10.3.2.9), and not only the
    /// response and the time-out.
    pub reception_decides: bool,
    /// Whether frames of a TXOP with a limit announce all that is left of it, and a CF-End gives back what is not
    /// used, if it is worth it (10.22.2.8).
    pub announces_txop: bool,
    /// Whether an A-MPDU that no block ack answered is followed by a request for one (IEEE 802.11-2016, 10.24.7.7,
    /// leaves the choice), before anything is sent again.
    pub requests_block_ack: bool,
    /// Whether a TXOP goes on PIFS after the failure of a frame that was not its first, if the
    /// medium is idle then (10.22.2.2).
    pub resumes_txop: bool,
    /// What happens to frames that overlap, if the scenario does not say.
    pub capture: Capture,
}

/// The values of a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffDraw {
    /// All of the window: 0 to CW.
    Whole,
    /// One fewer, 0 to CW - 1: ns-2 draws a random number modulo CW.
    OneFewer,
}

/// The wait after a frame that a receiver was with and did not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorWait {
    /// EIFS from the end of that frame, unless a frame is understood before (10.3.2.3.7).
    Eifs,
    /// A NAV of EIFS, which DIFS follows (ns-2).
    EifsAsNav,
}

/// Access for a packet that finds its queue empty, no counter running and the medium idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// As soon as the medium has been idle for DIFS (10.3.4.2), for EDCA at the slot boundary at or
    /// after that (10.22.2.4).
    Standard,
    /// DIFS after it came; for EDCA at the first slot boundary after it came.
    Ns3,
    /// DIFS after it came, and a backoff (`bugFix_timer_`).
    Ns2,
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

    /// Its choices.
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
    /// ns-3: its preamble detection takes 4 µs and needs 4 dB. Where no powers are known all are
    /// [`crate::medium::Signal::NOMINAL_W`], beside which this noise is nothing.
    pub const NS3: Rules = Rules {
        conventions: Conventions::NS3,
        sense_delay: NS3_DETECTION,
        arrival: Arrival::Ns3,
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
