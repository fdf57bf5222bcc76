//! Modulation and coding schemes of 802.11n and later: which there are, and what they carry.

use super::PhyError;
use super::mode::{Coding, Mode, ModulationClass};
use crate::medium::{CodeRate, Mapping, Modulation};
use airqueue_core::{DataRate, Span};
use std::fmt;

/// Format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// 802.11n, mixed format (IEEE 802.11-2016, clause 19).
    Ht,
    /// 802.11ac, single user (clause 21).
    Vht,
    /// 802.11ax, single user (IEEE 802.11ax-2021, clause 27).
    He,
}

/// Width of the channel that a frame occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

/// Guard interval in front of each symbol of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 0.4 µs: the short one of HT and VHT.
    Ns400,
    /// 0.8 µs.
    Ns800,
    /// 1.6 µs: HE.
    Ns1600,
    /// 3.2 µs: HE.
    Ns3200,
}

/// A modulation and coding scheme with everything that decides how long a frame lasts.
///
/// It is shown as in `HT-MCS15-40MHz-0.4us` and `HE-MCS11-2SS-80MHz-0.8us`: HT counts the streams with
/// the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mcs {
    /// Of the PPDU.
    pub format: Format,
    /// Modulation and coding of each stream: 0 to 7 of HT, to 9 of VHT, to 11 of HE. The standard's
    /// number of an HT scheme is 8 · (`streams` - 1) more.
    pub index: u8,
    /// Spatial streams: 1 to 4 of HT, to 8 of VHT and HE.
    pub streams: u8,
    /// Of the channel.
    pub width: Width,
    /// In front of each symbol.
    pub guard: GuardInterval,
}

/// The widest channel and the most streams of a station: of a layer's modes, what they have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The widest channel.
    pub width: Width,
    /// The most spatial streams.
    pub streams: u8,
}

/// Mapping and code of a stream by index, and the non-HT reference rate in Mb/s (tables 19-27, 21-30
/// and 10-8; IEEE 802.11ax-2021, 27.5).
const SCHEMES: [(Mapping, CodeRate, u32); 12] = {
    use CodeRate::{FiveSixths, Half, ThreeQuarters, TwoThirds};
    use Mapping::{Bpsk, Qam16, Qam64, Qam256, Qam1024, Qpsk};
    [
        (Bpsk, Half, 6),
        (Qpsk, Half, 12),
        (Qpsk, ThreeQuarters, 18),
        (Qam16, Half, 24),
        (Qam16, ThreeQuarters, 36),
        (Qam64, TwoThirds, 48),
        (Qam64, ThreeQuarters, 54),
        (Qam64, FiveSixths, 54),
        (Qam256, ThreeQuarters, 54),
        (Qam256, FiveSixths, 54),
        (Qam1024, ThreeQuarters, 54),
        (Qam1024, FiveSixths, 54),
    ]
};
/// Long training fields of 1 to 8 streams (19.3.9.4.6, table 21-13).
const TRAINING_FIELDS: [i64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

impl Format {
    /// Index of the highest scheme of a stream.
    pub const fn highest_index(self) -> u8 {
        match self {
            Format::Ht => 7,
            Format::Vht => 9,
            Format::He => 11,
        }
    }

    /// The most spatial streams.
    pub const fn most_streams(self) -> u8 {
        match self {
            Format::Ht => 4,
            Format::Vht | Format::He => 8,
        }
    }

    /// The widest channel.
    pub const fn widest(self) -> Width {
        match self {
            Format::Ht => Width::Mhz40,
            Format::Vht | Format::He => Width::Mhz160,
        }
    }

    /// Its guard intervals.
    pub const fn guards(self) -> &'static [GuardInterval] {
        match self {
            Format::Ht | Format::Vht => &[GuardInterval::Ns800, GuardInterval::Ns400],
            Format::He => &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
        }
    }

    fn class(self) -> ModulationClass {
        match self {
            Format::Ht => ModulationClass::Ht,
            Format::Vht => ModulationClass::Vht,
            Format::He => ModulationClass::He,
        }
    }

    /// The symbol without its guard interval.
    fn symbol(self) -> Span {
        Span::from_nanos(if self == Format::He { 12_800 } else { 3_200 })
    }

    fn carriers(self, width: Width) -> u32 {
        let by_width = match self {
            Format::Ht | Format::Vht => [52, 108, 234, 468],
            Format::He => [234, 468, 980, 1_960],
        };
        by_width[width as usize]
    }
}

impl Width {
    /// All, rising.
    pub const ALL: [Width; 4] = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];

    /// In MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }

    fn up_to(self) -> impl Iterator<Item = Width> {
        Width::ALL.into_iter().filter(move |width| *width <= self)
    }
}

impl GuardInterval {
    /// All, rising.
    pub const ALL: [GuardInterval; 4] =
        [GuardInterval::Ns400, GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200];

    /// Its duration.
    pub const fn duration(self) -> Span {
        Span::from_nanos(400 << self as i64)
    }
}

impl Capability {
    /// As far as a format goes.
    pub(super) fn limited(self, format: Format) -> Capability {
        Capability {
            width: self.width.min(format.widest()),
            streams: self.streams.min(format.most_streams()),
        }
    }

    /// Itself, if a layer whose newest format this is can have it.
    pub(super) fn checked(
        self,
        layer: &'static str,
        format: Format,
        widest: Width,
    ) -> Result<Capability, PhyError> {
        let (streams, most) = (self.streams, format.most_streams());
        if !(1..=most).contains(&streams) {
            return Err(PhyError::Streams { layer, streams, most });
        }
        let width = self.width;
        if width > widest {
            return Err(PhyError::Width { layer, mhz: width.mhz(), most: widest.mhz() });
        }
        Ok(self)
    }
}

impl Mcs {
    /// All of a format up to a width and a number of streams that the standard has, those that differ
    /// in index alone together and rising.
    pub(super) fn all(format: Format, most: Capability) -> impl Iterator<Item = Mcs> {
        let Capability { width, streams } = most.limited(format);
        let shapes = width.up_to().flat_map(move |width| {
            let guards = format.guards().iter();
            guards.flat_map(move |&guard| (1..=streams).map(move |count| (width, guard, count)))
        });
        let all = shapes.flat_map(move |(width, guard, streams)| {
            let indices = 0..=format.highest_index();
            indices.map(move |index| Mcs { format, index, streams, width, guard })
        });
        all.filter(|mcs| mcs.check().is_ok())
    }

    /// What is wrong with it, if the standard has no such scheme.
    pub fn check(self) -> Result<(), PhyError> {
        let Mcs { format, index, streams, width, guard } = self;
        let fits = index <= format.highest_index()
            && (1..=format.most_streams()).contains(&streams)
            && width <= format.widest()
            && format.guards().contains(&guard);
        if !fits {
            return Err(PhyError::NoMcs { mcs: self });
        }
        if format == Format::Vht && super::vht::is_left_out(width, streams, index) {
            return Err(PhyError::LeftOut { mcs: self });
        }
        Ok(())
    }

    /// The standard's number of the scheme.
    pub fn number(self) -> u32 {
        let before = match self.format {
            Format::Ht => 8 * u32::from(self.streams).saturating_sub(1),
            Format::Vht | Format::He => 0,
        };
        before + u32::from(self.index)
    }

    /// How each stream puts bits on the air. Panics if there is no such index.
    pub fn modulation(self) -> Modulation {
        let (mapping, code, _) = self.scheme();
        Modulation::Ofdm(mapping, code)
    }

    /// The SNR of each stream where a receiver gets a power (of all streams together), noise over 20 MHz and
    /// interference. The streams share the power evenly and do not disturb each other, all find the same
    /// channel, and no antenna more than streams adds to it. A wider channel has as much more noise.
    pub fn stream_snr(self, power_w: f64, noise_20mhz_w: f64, interference_w: f64) -> f64 {
        let noise_w = noise_20mhz_w * f64::from(self.width.mhz()) / 20.0;
        power_w / (f64::from(self.streams) * (noise_w + interference_w))
    }

    fn scheme(self) -> (Mapping, CodeRate, u32) {
        SCHEMES[usize::from(self.index)]
    }

    /// N_CBPS: coded bits in a symbol.
    pub(super) fn coded_bits(self) -> u32 {
        let (mapping, ..) = self.scheme();
        self.format.carriers(self.width) * mapping.bits() * u32::from(self.streams)
    }

    pub(super) fn code(self) -> CodeRate {
        self.scheme().1
    }

    /// N_DBPS: data bits in a symbol, rounded down.
    pub(super) fn data_bits(self) -> u32 {
        let (up, down) = self.code().ratio();
        self.coded_bits() * up / down
    }

    /// Symbol with guard interval.
    pub(super) fn symbol(self) -> Span {
        self.format.symbol() + self.guard.duration()
    }

    pub(super) fn training_fields(self) -> i64 {
        TRAINING_FIELDS[usize::from(self.streams) - 1]
    }

    /// The data rate, to the nearest bit per second: bits of a symbol, not rounded down, over its time.
    /// Panics if there is no such index.
    pub fn rate(self) -> DataRate {
        let (bits, time) = self.rate_ratio();
        let bps = (bits + time / 2) / time;
        DataRate::from_bps(bps).expect("a scheme carries bits")
    }

    /// The data rate as near as a float can be: both sides of the ratio have fewer than 53 bits, so that
    /// only the quotient is rounded. Panics if there is no such index.
    pub fn bits_per_second(self) -> f64 {
        let (bits, time) = self.rate_ratio();
        bits as f64 / time as f64
    }

    /// The data rate as a ratio of whole numbers.
    fn rate_ratio(self) -> (u64, u64) {
        let (up, down) = self.code().ratio();
        let bits = u64::from(self.coded_bits() * up);
        (bits * 1_000_000_000, u64::from(down) * self.symbol().as_nanos() as u64)
    }

    /// The mode of a layer: what surrounds the data symbols, and how bytes fill those.
    pub(super) fn mode(
        self,
        preamble: Span,
        extension: Span,
        max_ampdu_bytes: u32,
        coding: Coding,
    ) -> Mode {
        Mode {
            rate: self.rate(),
            class: self.format.class(),
            reference: super::rate(self.scheme().2 * 1_000),
            control: false,
            mandatory: false,
            preamble,
            extension,
            max_ampdu_bytes,
            mcs: Some(self),
            coding,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Ht => "HT",
            Format::Vht => "VHT",
            Format::He => "HE",
        })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MHz", self.mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.duration().as_nanos() as f64 / 1e3)
    }
}

impl fmt::Display for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-MCS", self.format)?;
        match self.format {
            Format::Ht => write!(f, "{}", self.number())?,
            Format::Vht | Format::He => write!(f, "{}-{}SS", self.index, self.streams)?,
        }
        write!(f, "-{}-{}", self.width, self.guard)
    }
}
