//! Numbers on which simulators and the standard differ, as explicit choices.

/// How the durations of a layer are computed. [`STANDARD`](Conventions::STANDARD), [`NS3`](Conventions::NS3) and
/// [`NS2`](Conventions::NS2) are the usual combinations:
///
/// | | `STANDARD` | `NS3` | `NS2` |
/// |---|---|---|---|
/// | duration of a DSSS frame | rounded up to a whole µs | rounded up to a whole µs | not rounded |
/// | by its time-out a response | must have begun | must have begun | must have ended |
/// | Duration/ID | rounded up to a whole µs | rounded up to a whole µs | rounded to the nearest µs |
/// | rate of the ACK in EIFS | lowest basic rate | lowest rate | lowest rate |
/// | duration of a frame of 802.11n and later | clauses 19.4.3, 21.4.3, 27.4.3 | without VHT-SIG-B, and more | - |
///
/// ns-2 always sends 192 µs of preamble and header, as [`Preamble::Long`](super::Preamble::Long), and sends all
/// control frames at one rate, see [`Phy::with_control_rate`](super::Phy::with_control_rate).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conventions {
    /// The duration of a DSSS or HR/DSSS frame.
    pub dsss_txtime: DsssTxTime,
    /// The time-out for an ACK or a CTS.
    pub response_timeout: ResponseTimeout,
    /// The rounding of the Duration/ID field.
    pub duration_field: DurationField,
    /// The rate of the ACK that EIFS includes.
    pub eifs_ack: EifsAck,
    /// The duration of a frame of 802.11n and later.
    pub ht_txtime: HtTxTime,
}

/// TXTIME of HT, VHT and HE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HtTxTime {
    /// IEEE 802.11-2016, 19.4.3 and 21.4.3; IEEE 802.11ax-2021, 27.4.3.
    Standard,
    /// As in ns-3 3.44: a frame with short guard intervals ends with its last symbol, not at a multiple of 4 µs; VHT
    /// frames to one user lack VHT-SIG-B, 4 µs; each HE-LTF lasts 8 µs whatever the guard interval; and the bits of an
    /// HE symbol are not rounded down.
    Ns3,
}

/// TXTIME of DSSS and HR/DSSS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsssTxTime {
    /// Rounded up to whole microseconds (IEEE 802.11-2016, 16.3.4).
    WholeMicroseconds,
    /// Bits over rate, as in ns-2. At 5.5 and 11 Mb/s this is not a whole number of nanoseconds; the duration is
    /// rounded up, hence less than 1 ns too long for a frame of any size.
    Exact,
}

/// The event that ends the time-out, which begins at the end of an RTS or a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseTimeout {
    /// The end of the response's preamble and PHY header: SIFS + slot + aRxPHYStartDelay (IEEE 802.11-2016, 10.3.2.7
    /// for CTS, 10.3.2.9 for ACK). The response itself may last longer.
    Start,
    /// The end of the response: SIFS + response + twice 2 µs for propagation, without a slot (ns-2).
    End,
}

/// The Duration/ID field, in whole microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationField {
    /// Rounded up (IEEE 802.11-2016, 9.2.5.1).
    RoundedUp,
    /// Rounded to the nearest, halves up (ns-2). The NAV of other stations may therefore end up to 500 ns before the
    /// exchange.
    Nearest,
}

/// The rate of the ACK in EIFS = SIFS + ACK + DIFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EifsAck {
    /// The lowest of the basic rates.
    LowestBasicRate,
    /// The lowest rate of the layer, which is mandatory for all stations: 1 Mb/s in 802.11b and g, 6 Mb/s in 802.11a,
    /// whatever the basic rates.
    LowestRate,
}

impl Conventions {
    /// IEEE 802.11-2016.
    pub const STANDARD: Conventions = Conventions {
        dsss_txtime: DsssTxTime::WholeMicroseconds,
        response_timeout: ResponseTimeout::Start,
        duration_field: DurationField::RoundedUp,
        eifs_ack: EifsAck::LowestBasicRate,
        ht_txtime: HtTxTime::Standard,
    };
    /// ns-3.
    pub const NS3: Conventions = Conventions {
        eifs_ack: EifsAck::LowestRate,
        ht_txtime: HtTxTime::Ns3,
        ..Conventions::STANDARD
    };
    /// `Mac/802_11` of ns-2.
    pub const NS2: Conventions = Conventions {
        dsss_txtime: DsssTxTime::Exact,
        response_timeout: ResponseTimeout::End,
        duration_field: DurationField::Nearest,
        eifs_ack: EifsAck::LowestRate,
        ht_txtime: HtTxTime::Standard,
    };
}

impl Default for Conventions {
    fn default() -> Conventions {
        Conventions::STANDARD
    }
}
