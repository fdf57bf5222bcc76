//! The user's configuration of a simulated path: one flat map with units in the names.

use airqueue_network::network::NetworkError;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use std::fmt;
use thiserror::Error;

/// A Wi-Fi cell in place of the bottleneck.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// The network, with the keys of a scenario file. The path runs as long as it is used, regardless of `duration` and
    /// `warm_up`.
    pub scenario: serde_json::Value,
    /// The flow of the scenario, from outside, that carries packets towards the client.
    pub down: String,
    /// The flow that carries packets back.
    pub up: String,
    /// The same two flows of further stations: the last flows of the endpoints end there, one at each.
    #[serde(default)]
    pub others: Vec<StationFlows>,
}

/// The flows of a cell that go to and from a station.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationFlows {
    /// The flow, from outside, towards the station.
    pub down: String,
    /// The flow back.
    pub up: String,
}

/// A simulated path: two hosts and between them, in the loaded direction, a device that queues.
///
/// ```text
/// sender -- ingress link -- queue -- [driver ring] -- server -- (air loss) -- delay -- receiver
///    `----------------------------- reverse delay ---------------------------------------'
/// ```
///
/// Every key has a default; `docs/simulated-bottleneck.md` says what each does. Times of
/// `stalls_s`, `rate_changes`, `limit_changes` and `clock_steps_s` count from the path's time zero.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PathConfig {
    /// The cell that the path crosses instead of a bottleneck. All keys of the bottleneck must then keep their
    /// defaults.
    pub cell: Option<CellConfig>,
    /// `pfifo:PACKETS` or `bfifo:BYTES`: the limit, and what it counts.
    pub queue: String,
    /// Which packet a full queue drops: `tail` (the arriving one) or `head`.
    pub drop_from: String,
    /// One queue per flow, each with the whole limit, served in turn.
    pub isolate_flows: bool,
    /// Room of the driver ring behind the queue, in packets; the packet in service is not counted.
    #[serde(deserialize_with = "count")]
    pub ring_packets: u32,
    /// `link`: packets are serialised one after the other. `token_bucket`: the head of the queue
    /// waits for tokens and then leaves at once.
    pub shaper: String,
    /// Rate of the link, of the token bucket or of the policer.
    #[serde(deserialize_with = "number")]
    pub rate_bps: f64,
    /// Depth of the token bucket (shaper or policer).
    #[serde(deserialize_with = "count")]
    pub burst_bytes: u32,
    /// No queue at all: a token bucket that drops what exceeds it.
    pub policer: bool,
    /// Largest number of packets in a transmission; these are served and delivered together.
    #[serde(deserialize_with = "count")]
    pub aggregate_packets: u32,
    /// Minimum packet unit: a shorter packet is charged to the rate as a packet of this size.
    #[serde(deserialize_with = "count")]
    pub mpu_bytes: u32,
    /// Link-layer bytes that the rate and a byte limit count on top of each IP packet.
    #[serde(deserialize_with = "count")]
    pub link_layer_bytes: u32,
    /// Fixed time of each transmission on the link, for any content.
    #[serde(deserialize_with = "number")]
    pub overhead_s: f64,
    /// Random time of each transmission on the link, uniform from zero to this.
    #[serde(deserialize_with = "number")]
    pub service_jitter_s: f64,
    /// Probability that a packet is lost after service.
    #[serde(deserialize_with = "number")]
    pub loss_probability: f64,
    /// `[start, length]`: the server stops, and resumes where it stopped.
    #[serde(deserialize_with = "pairs")]
    pub stalls_s: Vec<[f64; 2]>,
    /// `[at, factor]`: from then on the rate is `rate_bps` times the factor.
    #[serde(deserialize_with = "pairs")]
    pub rate_changes: Vec<[f64; 2]>,
    /// `[at, limit]`: from then on the queue's limit is this, in the unit of `queue`.
    #[serde(deserialize_with = "pairs")]
    pub limit_changes: Vec<[f64; 2]>,
    /// Period after which stalls, rate changes and limit changes begin again, from the initial
    /// rate and limit.
    #[serde(deserialize_with = "optional_number")]
    pub repeat_s: Option<f64>,
    /// Rate of the link from the sender to the device; none: infinitely fast.
    #[serde(deserialize_with = "optional_number")]
    pub ingress_rate_bps: Option<f64>,
    /// Propagation delay from the sender to the device.
    #[serde(deserialize_with = "number")]
    pub ingress_delay_s: f64,
    /// Delay from the device to the receiver.
    #[serde(deserialize_with = "number")]
    pub base_delay_s: f64,
    /// Delay of the whole reverse route; none: the sum of both forward delays.
    #[serde(deserialize_with = "optional_number")]
    pub reverse_delay_s: Option<f64>,
    /// By how much the receiver's clock leads the sender's at time zero.
    #[serde(deserialize_with = "number")]
    pub clock_offset_s: f64,
    /// How much faster the receiver's clock runs, in parts per million.
    #[serde(deserialize_with = "number")]
    pub skew_ppm: f64,
    /// `[at, seconds]`: the receiver's time stamps jump by this much (never repeated).
    #[serde(deserialize_with = "pairs")]
    pub clock_steps_s: Vec<[f64; 2]>,
    /// Packets that the receiving host's socket holds for its reader; none: without limit.
    #[serde(deserialize_with = "optional_count")]
    pub receive_buffer_packets: Option<u32>,
    /// Packets per second that the receiving program reads; none: at once.
    #[serde(deserialize_with = "optional_number")]
    pub reader_rate_pps: Option<f64>,
    /// Packets per second that the sending host can send; none: unlimited.
    #[serde(deserialize_with = "optional_number")]
    pub sender_cap_pps: Option<f64>,
    /// Burst of packets that the sending host sends at once before its cap applies.
    #[serde(deserialize_with = "count")]
    pub sender_burst_packets: u32,
    /// By how much later the first packet after a rest leaves the sending host. Its transmit stamps show it.
    #[serde(deserialize_with = "number")]
    pub sender_wakeup_s: f64,
    /// By how much later the first packet after a rest reaches the receiver, behind the device.
    #[serde(deserialize_with = "number")]
    pub receiver_wakeup_s: f64,
    /// How long a host has nothing to do before it rests.
    #[serde(deserialize_with = "number")]
    pub rests_after_s: f64,
    /// Number of flows that the endpoints open, each with its own ports; 1 to 16.
    #[serde(deserialize_with = "count")]
    pub flows: u32,
    /// Keep the whole time series of the queue length of each run, not only its maximum.
    pub record_queue_series: bool,
}

impl Default for PathConfig {
    /// `pfifo:100` before a link of 7 Mb/s, 1 ms to and 1 ms from it, and two perfect hosts.
    fn default() -> Self {
        PathConfig {
            cell: None,
            queue: "pfifo:100".to_owned(),
            drop_from: "tail".to_owned(),
            isolate_flows: false,
            ring_packets: 0,
            shaper: "link".to_owned(),
            rate_bps: 7e6,
            burst_bytes: 1540,
            policer: false,
            aggregate_packets: 1,
            mpu_bytes: 0,
            link_layer_bytes: 0,
            overhead_s: 0.0,
            service_jitter_s: 0.0,
            loss_probability: 0.0,
            stalls_s: Vec::new(),
            rate_changes: Vec::new(),
            limit_changes: Vec::new(),
            repeat_s: None,
            ingress_rate_bps: None,
            ingress_delay_s: 0.001,
            base_delay_s: 0.001,
            reverse_delay_s: None,
            clock_offset_s: 0.0,
            skew_ppm: 0.0,
            clock_steps_s: Vec::new(),
            receive_buffer_packets: None,
            reader_rate_pps: None,
            sender_cap_pps: None,
            sender_burst_packets: 32,
            sender_wakeup_s: 0.0,
            receiver_wakeup_s: 0.0,
            rests_after_s: 0.001,
            flows: 2,
            record_queue_series: false,
        }
    }
}

impl PathConfig {
    /// Reads a JSON object with any of the keys above.
    pub fn from_json(text: &str) -> Result<PathConfig, ConfigError> {
        // Derived code would also take an array as the values in the order of the fields.
        if !text.trim_start().starts_with('{') {
            let problem = "expected a JSON object, a map of keys to values".to_owned();
            return Err(ConfigError::Shape { place: ".".to_owned(), problem });
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let config = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let place = error.path().to_string();
            ConfigError::Shape { place, problem: error.into_inner().to_string() }
        })?;
        json.end().map_err(|error| ConfigError::Shape {
            place: "end".to_owned(),
            problem: error.to_string(),
        })?;
        Ok(config)
    }
}

/// An error in a path configuration.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ConfigError {
    /// Not a map of the known keys to values of the right type.
    #[error("path configuration, at `{place}`: {problem}")]
    Shape {
        /// The key, with indices, or `.` for the whole.
        place: String,
        /// What was found and what was expected there.
        problem: String,
    },
    /// A value outside its range.
    #[error("path configuration: `{key}` is {found}, expected {expected}")]
    Value {
        /// The key, with indices.
        key: String,
        /// The value found.
        found: String,
        /// The values allowed.
        expected: String,
    },
    /// A cell that cannot be simulated.
    #[error("path configuration: the cell: {0}")]
    Cell(#[from] NetworkError),
}

/// A number, with or without a fraction, and called a number in errors.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_f64<E>(self, v: f64) -> Result<Number, E> {
                Ok(Number(v))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Number, E> {
                Ok(Number(v as f64))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Number, E> {
                Ok(Number(v as f64))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A whole number of 32 bits; also `5.0`, since Python often makes floats.
struct Count(u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        let Number(v) = Number::deserialize(deserializer)?;
        if v.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&v) {
            return Ok(Count(v as u32));
        }
        let expected = &"a whole number from 0 to 4294967295";
        Err(D::Error::invalid_value(Unexpected::Float(v), expected))
    }
}

fn number<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Number::deserialize(d).map(|n| n.0)
}

fn count<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    Count::deserialize(d).map(|n| n.0)
}

fn optional_number<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Number>::deserialize(d)?.map(|n| n.0))
}

fn optional_count<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<Count>::deserialize(d)?.map(|n| n.0))
}

fn pairs<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<[f64; 2]>, D::Error> {
    let pairs = Vec::<[Number; 2]>::deserialize(d)?;
    Ok(pairs.into_iter().map(|[a, b]| [a.0, b.0]).collect())
}
