//! The keys of signals that change, of records of them, and of interference.

use crate::quantity::{Decibels, Duration, FrameRate, Length, Power, Quantity, Speed};
use airqueue_core::keys::Table;
use schemars::JsonSchema;
use serde::Deserialize;

/// Slow fading: the power of the link in dB wanders about its mean, as a Gauss-Markov process, in both directions alike.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShadowingTable {
    /// Standard deviation; 0 dB: none.
    pub(crate) deviation: Quantity<Decibels>,
    /// After which time the autocorrelation has fallen to 1/e.
    pub(crate) coherence: Quantity<Duration>,
}

/// Fast fading: the power of the link is another random multiple of its mean in each block of time, in both directions
/// alike. One of `coherence` and `speed` is needed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FadingTable {
    /// Length of a block.
    pub(crate) coherence: Option<Quantity<Duration>>,
    /// The speed at which people and things move, instead: a block is 0.423 wavelengths over the speed, the coherence time of
    /// Jakes' Doppler spectrum.
    pub(crate) speed: Option<Quantity<Speed>>,
    /// The power of the line of sight over the power of all other paths (Rice). The default is no line of sight: Rayleigh
    /// fading.
    pub(crate) line_of_sight: Option<Quantity<Decibels>>,
}

/// A signal-to-noise ratio that was recorded: each value holds until the next, the last one to the end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SnrTraceTable {
    /// A CSV file with the columns `time_s` and `snr_db`, beside the scenario's file. It takes the place of the two keys
    /// below.
    pub(crate) file: Option<String>,
    /// Rising times from the beginning of the warm-up, in seconds.
    pub(crate) time_s: Option<Vec<f64>>,
    /// The signal-to-noise ratio from each of these times on, in dB.
    pub(crate) snr_db: Option<Vec<f64>>,
    /// The record begins anew after this time. The default is never.
    pub(crate) repeat: Option<Quantity<Duration>>,
}

/// A rate of data frames that was recorded, likewise.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateTraceTable {
    /// A CSV file with the columns `time_s` and `rate`, beside the scenario's file. It takes the place of the two keys below.
    pub(crate) file: Option<String>,
    /// Rising times from the beginning of the warm-up, in seconds.
    pub(crate) time_s: Option<Vec<f64>>,
    /// The rate from each of these times on.
    pub(crate) rate: Option<Vec<FrameRate>>,
    /// The record begins anew after this time. The default is never.
    pub(crate) repeat: Option<Quantity<Duration>>,
}

/// A share of busy time that was recorded, likewise.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareTraceTable {
    /// A CSV file with the columns `time_s` and `busy_ratio`, beside the scenario's file. It takes the place of the two keys
    /// below.
    pub(crate) file: Option<String>,
    /// Rising times from the beginning of the warm-up, in seconds.
    pub(crate) time_s: Option<Vec<f64>>,
    /// The share of the time from each of these times on, 0 to 0.99.
    pub(crate) busy_ratio: Option<Vec<f64>>,
    /// The record begins anew after this time. The default is never.
    pub(crate) repeat: Option<Quantity<Duration>>,
}

/// A source of energy that is no frame of a station: one of `microwave`, `bluetooth`, `on_off` and `occupancy`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterferenceTable {
    /// Its name, as a station's.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{1,64}$"))]
    pub(crate) name: String,
    /// A microwave oven, which radiates in one half of each cycle of the mains.
    pub(crate) microwave: Option<Table<MicrowaveTable>>,
    /// A radio that hops and meets the channel at random with some of its packets.
    pub(crate) bluetooth: Option<Table<BluetoothTable>>,
    /// Bursts and pauses by any law, whatever happens on the medium.
    pub(crate) on_off: Option<Table<OnOffTable>>,
    /// A channel that others keep busy for a share of the time, and that wait for the medium to become idle.
    pub(crate) occupancy: Option<Table<OccupancyTable>>,
    /// When it begins, from the beginning of the warm-up. The default is `0 s`.
    pub(crate) start: Option<Quantity<Duration>>,
    /// When it ends. The default is never.
    pub(crate) stop: Option<Quantity<Duration>>,
    /// Its position, with `medium.path_loss`; then `power` is needed, and what arrives at each station follows.
    pub(crate) position: Option<[Quantity<Length>; 2]>,
    /// Radiated power.
    pub(crate) power: Option<Quantity<Power>>,
    /// The power that arrives at the stations `at`, where powers are known. A station to which at least
    /// `medium.energy_detection` arrives finds the medium busy; a frame that is received meanwhile has so much more noise.
    pub(crate) received: Option<Quantity<Power>>,
    /// What it does at the stations `at`, instead of a power. The default is sense.
    pub(crate) level: Option<EnergyLevelName>,
    /// The stations and groups to which `received` or `level` applies; nothing arrives at the others. The default is all.
    pub(crate) at: Option<Vec<String>>,
}

/// What interference does at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EnergyLevelName {
    /// The medium is busy, and frames that it overlaps are lost.
    Sense,
    /// The medium seems idle, and frames that it overlaps are lost.
    Interfere,
}

/// A microwave oven: its magnetron works while the high voltage of the mains has one sign.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MicrowaveTable {
    /// Frequency of the mains: 50 or 60 Hz. The default is 50.
    #[schemars(range(min = 50, max = 60))]
    pub(crate) mains_hz: Option<u32>,
    /// The share of a cycle in which it radiates. The default is 0.5.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) duty: Option<f64>,
}

/// A hopping radio.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BluetoothTable {
    /// Time from one packet to the next. The default is `625 us`, a slot of Bluetooth.
    pub(crate) slot: Option<Quantity<Duration>>,
    /// Length of a packet, less than a slot. The default is `366 us`, that of DH1 packets.
    pub(crate) packet: Option<Quantity<Duration>>,
    /// The probability that a slot has a packet. The default is 1.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) load: Option<f64>,
    /// The probability that a packet meets the channel. The default is 20/79: a channel of 20 MHz among the 79 that
    /// Bluetooth hops over.
    #[schemars(range(min = 0, max = 1))]
    pub(crate) hit: Option<f64>,
}

/// Bursts and pauses.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnOffTable {
    /// Mean length of bursts.
    pub(crate) on: Quantity<Duration>,
    /// Mean length of pauses.
    pub(crate) off: Quantity<Duration>,
    /// The law of bursts. The default is exponential.
    pub(crate) on_law: Option<SpanLawName>,
    /// The law of pauses. The default is exponential.
    pub(crate) off_law: Option<SpanLawName>,
    /// Shape of Pareto's law, above 1. The default is 1.5.
    pub(crate) shape: Option<f64>,
}

/// The law of a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpanLawName {
    /// Exponential.
    Exponential,
    /// Always the mean.
    Constant,
    /// Pareto, with `shape`: some are very long.
    Pareto,
}

/// A busy channel. Busy periods arrive at random (a Poisson process), so often that they take the share; each waits until
/// the medium has been idle for PIFS, and so comes before all stations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OccupancyTable {
    /// The share of the time, 0 to 0.99.
    #[schemars(range(min = 0, max = 0.99))]
    pub(crate) share: Option<f64>,
    /// The share over time, instead.
    pub(crate) trace: Option<Table<ShareTraceTable>>,
    /// Mean length of busy periods. The default is `1 ms`.
    pub(crate) busy: Option<Quantity<Duration>>,
    /// The law of busy periods. The default is exponential.
    pub(crate) busy_law: Option<SpanLawName>,
    /// Shape of Pareto's law, above 1. The default is 1.5.
    pub(crate) shape: Option<f64>,
}
