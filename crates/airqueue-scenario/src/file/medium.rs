//! The keys of the medium.

use crate::quantity::{Decibels, Duration, Frequency, Length, Power, Quantity};
use airqueue_core::keys::Table;
use airqueue_wifi::medium::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who hears whom, by one of `ranges`, `path_loss` and `links`, and what is lost.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MediumTable {
    /// Frames reach all stations within a range, and no other. All are equally strong.
    pub(crate) ranges: Option<Table<RangesTable>>,
    /// Power falls with distance.
    pub(crate) path_loss: Option<PathLossName>,
    /// What received power suffices for, beside `path_loss`. The default is ns-2's, where `path_loss` is
    /// two_ray.
    pub(crate) thresholds: Option<Table<ThresholdsTable>>,
    /// Exactly these stations hear each other, and stations have no positions.
    pub(crate) links: Option<Vec<Table<LinkTable>>>,
    /// Noise at every receiver, where powers are known. The default is thermal noise raised by
    /// `noise_figure`.
    pub(crate) noise: Option<Quantity<Power>>,
    /// By how much receivers raise thermal noise (290 K, 22 MHz for 802.11b, else 20 MHz). The default is
    /// `7 dB`.
    pub(crate) noise_figure: Option<Quantity<Decibels>>,
    /// What decides between frames that overlap at a receiver. The default is the behaviour's: none for
    /// standard, a margin of 10 dB for ns2, an SINR of 4 dB for ns3.
    pub(crate) capture: Option<CaptureName>,
    /// What loses frames that no other frame destroyed.
    pub(crate) errors: ErrorsName,
}

/// Ranges.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RangesTable {
    /// Up to this distance frames are decoded.
    pub(crate) decode: Quantity<Length>,
    /// Up to this distance the medium is found busy. The default is `decode`.
    pub(crate) sense: Option<Quantity<Length>>,
}

/// The loss of power between two stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathLossName {
    /// Friis: with the square of the distance.
    FreeSpace(Table<FreeSpaceTable>),
    /// Free space, and beyond a distance that follows from wavelength and antenna height the fourth power of
    /// the distance. With its defaults and those of `thresholds` and `stations.power` it is ns-2's: frames
    /// are decoded up to 250 m and sensed up to 550 m.
    TwoRay(Table<TwoRayTable>),
    /// A power of the distance beyond a reference distance.
    LogDistance(Table<LogDistanceTable>),
}

/// Free space.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FreeSpaceTable {
    /// Carrier frequency.
    pub(crate) frequency: Quantity<Frequency>,
}

/// Two-ray ground.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwoRayTable {
    /// Carrier frequency.
    #[serde(default = "ns2_frequency")]
    pub(crate) frequency: Quantity<Frequency>,
    /// Height of all antennas above the ground.
    #[serde(default = "ns2_height")]
    pub(crate) antenna_height: Quantity<Length>,
}

fn ns2_frequency() -> Quantity<Frequency> {
    Quantity::of("914 MHz")
}

fn ns2_height() -> Quantity<Length> {
    Quantity::of("1.5 m")
}

/// Log-distance.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogDistanceTable {
    /// Power falls with the distance to this: 2 in free space, 3 to 4 inside buildings.
    pub(crate) exponent: f64,
    /// The reference distance.
    #[serde(default = "one_metre")]
    pub(crate) reference: Quantity<Length>,
    /// The loss up to the reference distance: 40.2 dB for 1 m at 2.4 GHz.
    pub(crate) reference_loss: Quantity<Decibels>,
}

fn one_metre() -> Quantity<Length> {
    Quantity::of("1 m")
}

/// Received powers from which on a frame is of consequence.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThresholdsTable {
    /// From here on it can be decoded.
    pub(crate) decode: Quantity<Power>,
    /// From here on the medium is found busy. The default is `decode`.
    pub(crate) sense: Option<Quantity<Power>>,
    /// From here on it counts as interference. The default is `sense`.
    pub(crate) interfere: Option<Quantity<Power>>,
}

/// That stations hear each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// A station, or each member of a group.
    pub(crate) from: String,
    /// The station, or each member of the group, that hears it. The same group: all its members hear each
    /// other.
    pub(crate) to: String,
    /// What its frames suffice for.
    #[serde(default)]
    pub(crate) level: LevelName,
    /// Received power; of all links or of none.
    pub(crate) power: Option<Quantity<Power>>,
    /// Whether `from` hears `to` as well as `to` hears `from`.
    #[serde(default = "yes")]
    pub(crate) both: bool,
}

fn yes() -> bool {
    true
}

/// What a frame suffices for where it is heard.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LevelName {
    /// It can be decoded.
    #[default]
    Decode,
    /// The medium is found busy, but nothing can be decoded.
    Sense,
    /// It disturbs others and does nothing else.
    Interfere,
}

/// What decides between frames that overlap at a receiver.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureName {
    /// Any overlap destroys all frames in it.
    None,
    /// As in ns-2: a frame survives those that begin during it if it is so much stronger than each of
    /// them, and they are lost. A later frame never wins.
    Margin(Quantity<Decibels>),
    /// A frame survives as long as its ratio to noise and all others together stays above a threshold.
    Sinr(Table<SinrTable>),
}

/// Capture by the ratio of signal to interference and noise. It needs powers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinrTable {
    /// The least ratio.
    pub(crate) threshold: Quantity<Decibels>,
    /// Of frames that begin within this of each other the receiver takes the strongest; at most 16 us.
    #[serde(default = "no_time")]
    pub(crate) preamble_detection: Quantity<Duration>,
}

fn no_time() -> Quantity<Duration> {
    Quantity::of("0 us")
}

/// What loses frames that no other frame destroyed.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorsName {
    /// Nothing.
    #[default]
    None,
    /// Every frame with this probability, whatever its length.
    Frame(#[schemars(range(min = 0, max = 1))] f64),
    /// Every bit with this probability.
    Bit(#[schemars(range(min = 0, max = 1))] f64),
    /// By modulation and ratio of signal to noise. It needs powers.
    Snr,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Level {
        match name {
            LevelName::Decode => Level::Decodable,
            LevelName::Sense => Level::Sensed,
            LevelName::Interfere => Level::Interference,
        }
    }
}
