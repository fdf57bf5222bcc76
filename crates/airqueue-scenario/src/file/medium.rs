//! The keys of the medium.

use super::{FadingTable, ShadowingTable};
use crate::quantity::{Decibels, Duration, Frequency, Length, Power, Quantity};
use airqueue_core::keys::Table;
use airqueue_wifi::medium::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which stations hear each other, by one of `ranges`, `path_loss` and `links`, and which frames are lost.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MediumTable {
    /// Frames reach the stations within a range, and no others, all with equal power.
    pub(crate) ranges: Option<Table<RangesTable>>,
    /// Power falls with distance.
    pub(crate) path_loss: Option<PathLossName>,
    /// Thresholds of received power, with `path_loss`. The default is ns-2's, where `path_loss` is two_ray, and ns-3's,
    /// where `path_loss` is ns3.
    pub(crate) thresholds: Option<Table<ThresholdsTable>>,
    /// The pairs of stations that hear each other; stations then have no positions.
    pub(crate) links: Option<Vec<Table<LinkTable>>>,
    /// All stations decode each other with this signal-to-noise ratio, over noise in 20 MHz; instead of the three keys above.
    /// `links.snr` sets other ones.
    pub(crate) snr: Option<Quantity<Decibels>>,
    /// Slow fading of every link, where powers are known. The default is none.
    pub(crate) shadowing: Option<Table<ShadowingTable>>,
    /// Fast fading of every link, where powers are known. The default is none.
    pub(crate) fading: Option<Table<FadingTable>>,
    /// Least power of interference for which a station finds the medium busy. The default is `-62 dBm`.
    pub(crate) energy_detection: Option<Quantity<Power>>,
    /// Noise power at every receiver, where powers are known. The default is thermal noise raised by `noise_figure`.
    pub(crate) noise: Option<Quantity<Power>>,
    /// Noise figure of receivers, above thermal noise (290 K, 22 MHz for 802.11b, else 20 MHz). The default is `7 dB`.
    pub(crate) noise_figure: Option<Quantity<Decibels>>,
    /// Whether frames take the time of light from the sender's position to each listener's; otherwise they are everywhere at
    /// once. For links, `links.delay` says how long. The default is false.
    pub(crate) propagation_delay: Option<bool>,
    /// Capture: which of the frames that overlap at a receiver survive. The default is the behaviour's: none for
    /// standard, a margin of 10 dB for ns2, an SINR of 4 dB for ns3.
    pub(crate) capture: Option<CaptureName>,
    /// Frame errors without a collision.
    pub(crate) errors: ErrorsName,
}

/// Ranges.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RangesTable {
    /// Largest distance at which frames are decoded.
    pub(crate) decode: Quantity<Length>,
    /// Largest distance at which frames are sensed. The default is `decode`.
    pub(crate) sense: Option<Quantity<Length>>,
}

/// The loss of power between two stations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathLossName {
    /// Free space (Friis): the square of the distance.
    FreeSpace(Table<FreeSpaceTable>),
    /// Free space, and beyond a distance that follows from wavelength and antenna height the fourth power of the
    /// distance. With the defaults here, of `thresholds` and of `stations.power` the model is ns-2's: frames are
    /// decoded up to 250 m and sensed up to 550 m.
    TwoRay(Table<TwoRayTable>),
    /// A power of the distance beyond a reference distance.
    LogDistance(Table<LogDistanceTable>),
    /// The defaults of ns-3.44: log-distance with exponent 3 and 46.6777 dB at 1 m, stations that send with
    /// 16.0206 dBm, and receivers that detect a preamble from -82 dBm on and do not notice frames below -101 dBm.
    Ns3,
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
    /// The path loss exponent: 2 in free space, 3 to 4 inside buildings.
    pub(crate) exponent: f64,
    /// The reference distance.
    #[serde(default = "one_metre")]
    pub(crate) reference: Quantity<Length>,
    /// The loss at the reference distance: 40.2 dB for 1 m at 2.4 GHz.
    pub(crate) reference_loss: Quantity<Decibels>,
}

fn one_metre() -> Quantity<Length> {
    Quantity::of("1 m")
}

/// Thresholds of received power.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThresholdsTable {
    /// Least power at which a frame can be decoded.
    pub(crate) decode: Quantity<Power>,
    /// Least power at which a frame is sensed. The default is `decode`.
    pub(crate) sense: Option<Quantity<Power>>,
    /// Least power that counts as interference. The default is `sense`.
    pub(crate) interfere: Option<Quantity<Power>>,
}

/// A link between stations that hear each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTable {
    /// A station, or each member of a group.
    pub(crate) from: String,
    /// The station, or each member of the group, that hears `from`. If both are one group, all its members hear each
    /// other.
    pub(crate) to: String,
    /// What a frame of this link can do at `to`.
    #[serde(default)]
    pub(crate) level: LevelName,
    /// Received power; for all links or for none.
    pub(crate) power: Option<Quantity<Power>>,
    /// How long a frame is on its way to `to`: 3.336 µs a kilometre. The default is 0.
    pub(crate) delay: Option<Quantity<Duration>>,
    /// Whether `from` hears `to` as well as `to` hears `from`.
    #[serde(default = "yes")]
    pub(crate) both: bool,
}

fn yes() -> bool {
    true
}

/// What a frame can do at a station in range.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LevelName {
    /// The frame can be decoded.
    #[default]
    Decode,
    /// The frame can be sensed but not decoded.
    Sense,
    /// The frame only interferes with other frames.
    Interfere,
}

/// Which of the frames that overlap at a receiver survive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureName {
    /// Any overlap destroys all frames in it.
    None,
    /// As in ns-2: a frame survives the frames that begin during it if it is stronger than each of them by this margin;
    /// the later frames are lost.
    Margin(Quantity<Decibels>),
    /// A frame survives if the ratio of its power to noise and all other frames stays above a threshold.
    Sinr(Table<SinrTable>),
}

/// Capture by the ratio of signal to interference and noise. This needs powers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinrTable {
    /// The least ratio.
    pub(crate) threshold: Quantity<Decibels>,
    /// The receiver takes the strongest of the frames that begin within this time of each other; at most 16 us.
    #[serde(default = "no_time")]
    pub(crate) preamble_detection: Quantity<Duration>,
}

fn no_time() -> Quantity<Duration> {
    Quantity::of("0 us")
}

/// Frame errors without a collision.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorsName {
    /// No errors.
    #[default]
    None,
    /// Every frame is lost with this probability, regardless of its length.
    Frame(#[schemars(range(min = 0, max = 1))] f64),
    /// Every bit is wrong with this probability.
    Bit(#[schemars(range(min = 0, max = 1))] f64),
    /// By the modulation and the signal-to-noise ratio. This needs powers.
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
