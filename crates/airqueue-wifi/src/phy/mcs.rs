//! Modulation and coding schemes of 802.11n and later: which there are, and what they carry.

use super::error::PhyError;
use super::format::Scheme;
use super::{Format, Phy, RateIndex};
use crate::medium::{CodeRate, Modulation};
use airqueue_core::{AirRate, DataRate, Span};
use std::fmt;

/// Width of the channel that a frame occupies: 20 MHz, doubled some times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

/// Guard interval in front of each symbol of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 0.4 µs: the short one of HT and VHT.
    Ns400,
    /// 0.8 µs.
    Ns800,
    /// 1.6 µs: from HE on.
    Ns1600,
    /// 3.2 µs: from HE on.
    Ns3200,
}

/// A modulation and coding scheme with all parameters that determine the duration of a frame.
///
/// Displayed as `HT-MCS15-40MHz-0.4us` or `HE-MCS11-2SS-80MHz-0.8us`: in HT the scheme number includes the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mcs {
    /// The PPDU format.
    pub format: Format,
    /// Modulation and coding of each stream, up to [`Format::highest_index`]. The standard's number of an HT scheme is
    /// larger by 8 · (`streams` - 1).
    pub index: u8,
    /// Number of spatial streams, up to [`Format::most_streams`].
    pub streams: u8,
    /// Width of the channel.
    pub width: Width,
    /// Guard interval before each symbol.
    pub guard: GuardInterval,
}

/// The widest channel and the largest number of streams of a station, or of the modes of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The widest channel.
    pub width: Width,
    /// Largest number of spatial streams.
    pub streams: u8,
}

/// The parameters of a network's frames that scheme names may omit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Width of the channel.
    pub width: Width,
    /// Number of spatial streams.
    pub streams: u8,
    /// Guard interval before each symbol.
    pub guard: GuardInterval,
}

/// Number of long training fields for 1 to 8 streams (19.3.9.4.6, table 21-13).
const TRAINING_FIELDS: [i64; 8] = [1, 2, 4, 4, 6, 6, 8, 8];

impl Width {
    /// 20 MHz.
    pub const MHZ_20: Width = Width(0);
    /// 40 MHz.
    pub const MHZ_40: Width = Width(1);
    /// 80 MHz.
    pub const MHZ_80: Width = Width(2);
    /// 160 MHz.
    pub const MHZ_160: Width = Width(3);

    /// All widths that any format has, in rising order.
    pub const ALL: &'static [Width] = {
        const TABLE: [Width; 8] = {
            let mut table = [Width(0); 8];
            let mut at = 0;
            while at < table.len() {
                table[at] = Width(at as u8);
                at += 1;
            }
            table
        };
        let (mut at, mut count) = (0, 0);
        while at < Format::ALL.len() {
            let here = Format::ALL[at].widest().0 as usize + 1;
            count = if here > count { here } else { count };
            at += 1;
        }
        TABLE.split_at(count).0
    };

    /// 20 MHz doubled this many times.
    pub(super) const fn nth(doublings: usize) -> Width {
        Width(doublings as u8)
    }

    /// The width with this many MHz, if any format has it.
    pub fn of_mhz(mhz: f64) -> Option<Width> {
        Width::ALL.iter().copied().find(|width| f64::from(width.mhz()) == mhz)
    }

    /// How many times 20 MHz is doubled.
    pub const fn doublings(self) -> u16 {
        self.0 as u16
    }

    /// The width in MHz.
    pub const fn mhz(self) -> u32 {
        20 << self.0
    }

    fn up_to(self) -> impl Iterator<Item = Width> {
        (0..=self.0).map(Width)
    }
}

impl GuardInterval {
    /// All guard intervals, in rising order.
    pub const ALL: [GuardInterval; 4] =
        [GuardInterval::Ns400, GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200];

    /// The guard interval with this duration, if the format has it.
    pub fn of(format: Format, duration: Span) -> Option<GuardInterval> {
        format.guards().iter().copied().find(|guard| guard.duration() == duration)
    }

    pub(super) fn us(self) -> f64 {
        self.duration().as_nanos() as f64 / 1e3
    }

    /// The duration of the guard interval.
    pub const fn duration(self) -> Span {
        Span::from_nanos(400 << self as i64)
    }
}

impl Shape {
    /// A scheme of a format; if the format lacks the width its widest channel is used, and if it lacks the guard
    /// interval 0.8 µs.
    pub fn mcs(&self, format: Format, index: u8) -> Mcs {
        let guard = match format.guards().contains(&self.guard) {
            true => self.guard,
            false => GuardInterval::Ns800,
        };
        let width = self.width.min(format.widest());
        Mcs { format, index, streams: self.streams, width, guard }
    }

    /// The index in a layer of the highest scheme of a format; `None` if the layer has no scheme of this shape.
    pub fn highest(&self, phy: &Phy, format: Format) -> Option<RateIndex> {
        let mut falling = (0..=format.highest_index()).rev();
        falling.find_map(|index| phy.mcs_index(self.mcs(format, index)).ok())
    }
}

impl Mcs {
    /// All schemes of a format up to a width and a number of streams allowed by the standard; schemes that differ only
    /// in index are adjacent and in rising order.
    pub(super) fn all(format: Format, most: Capability) -> impl Iterator<Item = Mcs> {
        let Capability { width, streams } = format.limited(most);
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

    /// Why the standard does not contain the scheme, if so.
    pub fn check(self) -> Result<(), PhyError> {
        let Mcs { format, index, streams, width, guard } = self;
        let fits = index <= format.highest_index()
            && (1..=format.most_streams()).contains(&streams)
            && width <= format.widest()
            && format.guards().contains(&guard);
        if !fits {
            return Err(PhyError::NoMcs { mcs: self });
        }
        if (format.facts().leaves_out)(&self) {
            return Err(PhyError::LeftOut { mcs: self });
        }
        Ok(())
    }

    /// The standard's number of the scheme.
    pub fn number(self) -> u32 {
        let of_stream = self.format.facts().schemes.len() as u32;
        let before = match self.format.numbers_count_streams() {
            true => of_stream * u32::from(self.streams).saturating_sub(1),
            false => 0,
        };
        before + u32::from(self.index)
    }

    /// The modulation and coding of each stream. Panics if the index does not exist.
    pub fn modulation(self) -> Modulation {
        let Scheme { mapping, code, .. } = self.scheme();
        Modulation::Ofdm(mapping, code)
    }

    /// The SNR of each stream for a received power (of all streams together), noise over 20 MHz and interference. The
    /// streams share the power evenly and do not disturb each other, all streams have equal channels, and additional
    /// antennas give no gain. A wider channel has proportionally more noise.
    pub fn stream_snr(self, power_w: f64, noise_20mhz_w: f64, interference_w: f64) -> f64 {
        let noise_w = noise_20mhz_w * f64::from(self.width.mhz()) / 20.0;
        power_w / (f64::from(self.streams) * (noise_w + interference_w))
    }

    pub(super) fn scheme(self) -> Scheme {
        self.format.facts().schemes[usize::from(self.index)]
    }

    /// N_CBPS: coded bits per symbol.
    pub(super) fn coded_bits(self) -> u32 {
        let carriers = self.format.facts().carriers[usize::from(self.width.0)];
        carriers * self.scheme().mapping.bits() * u32::from(self.streams)
    }

    pub(super) fn code(self) -> CodeRate {
        self.scheme().code
    }

    /// N_DBPS: data bits per symbol, rounded down.
    pub(super) fn data_bits(self) -> u32 {
        let (up, down) = self.code().ratio();
        self.coded_bits() * up / down
    }

    /// Duration of a symbol with its guard interval.
    pub(super) fn symbol(self) -> Span {
        self.format.facts().symbol + self.guard.duration()
    }

    pub(super) fn training_fields(self) -> i64 {
        TRAINING_FIELDS[usize::from(self.streams) - 1]
    }

    /// The data rate, to the nearest bit per second: bits per symbol, not rounded down, over its duration. Panics if
    /// the index does not exist.
    pub fn rate(self) -> DataRate {
        let (bits, time) = self.rate_ratio();
        let bps = (bits + time / 2) / time;
        DataRate::from_bps(bps).expect("a scheme carries bits")
    }

    /// The data rate as the nearest float: both sides of the ratio have fewer than 53 bits, so that only the quotient
    /// is rounded. Panics if the index does not exist.
    pub fn bits_per_second(self) -> f64 {
        let (bits, time) = self.rate_ratio();
        bits as f64 / time as f64
    }

    /// The scheme, as far as the airtime that Linux expects depends on it.
    pub fn air_rate(self) -> AirRate {
        let Mcs { streams, format, .. } = self;
        AirRate::Scheme { kilobyte: self.kilobyte(), streams, is_he: format == Format::He }
    }

    /// The time of 1024 bytes in 1/1024 µs, with the roundings of Linux (`MCS_DURATION_S`, `HE_DURATION_S` in
    /// `net/mac80211/airtime.c`): the bits that a symbol has for each stream, and as many leading bits of the time as 16
    /// have for the slowest scheme of its kind.
    fn kilobyte(self) -> u32 {
        let slowest = Mcs { index: 0, ..self }.exact_kilobyte();
        let shift = 16_u32.saturating_sub(slowest.leading_zeros());
        self.exact_kilobyte() >> shift << shift
    }

    fn exact_kilobyte(self) -> u32 {
        let of_stream = Mcs { streams: 1, ..self }.data_bits();
        let bits = u64::from(of_stream) * u64::from(self.streams);
        // Symbols of 1/1024, and their time.
        let symbols = (8 * 1024 * 1024_u64).div_ceil(bits);
        let time = symbols * self.symbol().as_nanos() as u64 / 1000;
        u32::try_from(time).unwrap_or(u32::MAX)
    }

    /// The data rate as a ratio of integers.
    fn rate_ratio(self) -> (u64, u64) {
        let (up, down) = self.code().ratio();
        let bits = u64::from(self.coded_bits() * up);
        (bits * 1_000_000_000, u64::from(down) * self.symbol().as_nanos() as u64)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}MHz", self.mhz())
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.us())
    }
}

impl fmt::Display for Mcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-MCS", self.format)?;
        match self.format.numbers_count_streams() {
            true => write!(f, "{}", self.number())?,
            false => write!(f, "{}-{}SS", self.index, self.streams)?,
        }
        write!(f, "-{}-{}", self.width, self.guard)
    }
}
