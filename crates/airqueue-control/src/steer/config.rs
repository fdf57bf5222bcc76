//! The configuration of `airqueued` as a service.

use super::{Knob, TXOP_UNIT_US, TxopPolicy};
use crate::plan::Category;
use airqueue_core::Span;
use airqueue_core::quantity::{Duration, Quantity};
use serde::Deserialize;
use std::path::PathBuf;
use thiserror::Error;

/// What a service keeps right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of this format: 1.
    pub config: u32,
    /// File of the plan whose settings are applied at the start; loops change values of these settings alone.
    pub plan: PathBuf,
    /// Time between two looks at the network.
    #[serde(default = "second")]
    pub every: Quantity<Duration>,
    /// Shortest time between two changes of one setting.
    #[serde(default = "ten_seconds")]
    pub at_most_every: Quantity<Duration>,
    /// Access points whose TXOP follows the number of downloads.
    #[serde(default)]
    pub edca: Vec<EdcaConfig>,
}

/// EDCA's loop at one access point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdcaConfig {
    /// Interface of the access point; the plan has its `own_edca`.
    pub interface: String,
    /// The access category of downloads.
    #[serde(default = "best_effort")]
    pub access_category: Category,
    /// One packet with its acknowledgement, and a SIFS before each of the two.
    pub packet: Quantity<Duration>,
    /// SIFS.
    #[serde(default = "sifs")]
    pub sifs: Quantity<Duration>,
    /// The most packets of a TXOP.
    #[serde(default = "most_packets")]
    pub most_packets: u32,
}

fn second() -> Quantity<Duration> {
    Quantity::of("1 s")
}

fn ten_seconds() -> Quantity<Duration> {
    Quantity::of("10 s")
}

fn best_effort() -> Category {
    Category::BestEffort
}

/// That of 2.4 GHz and of 802.11b; 16 µs at 5 GHz.
fn sifs() -> Quantity<Duration> {
    Quantity::of("10 us")
}

fn most_packets() -> u32 {
    30
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is no TOML, or has unknown keys or values of another kind.
    #[error("{0}")]
    Unreadable(String),
    /// A value out of its range.
    #[error("{key}: {what}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong, and what is possible.
        what: String,
    },
}

/// The version that this code reads.
const VERSION: u32 = 1;

impl Config {
    /// Reads a configuration. The error names line or key, what is wrong and what is possible.
    pub fn read(text: &str) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text)
            .map_err(|error| ConfigError::Unreadable(error.to_string().trim_end().to_owned()))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.config != VERSION {
            let what = format!("is {}; this airqueued reads version {VERSION}", self.config);
            return Err(wrong("config", what));
        }
        within("every", &self.every, 0.1, 3600.0)?;
        within("at_most_every", &self.at_most_every, 1.0, 86_400.0)?;
        for (index, edca) in self.edca.iter().enumerate() {
            let key = |name: &str| format!("edca[{index}].{name}");
            within(&key("packet"), &edca.packet, 50e-6, 0.05)?;
            within(&key("sifs"), &edca.sifs, 1e-6, 50e-6)?;
            let longest =
                edca.policy(Span::ZERO).packet.as_secs_f64() * f64::from(edca.most_packets);
            if edca.most_packets < 1
                || longest > f64::from(u32::from(u16::MAX) * TXOP_UNIT_US) / 1e6
            {
                let most = (f64::from(u32::from(u16::MAX) * TXOP_UNIT_US)
                    / 1e6
                    / edca.packet.value.as_secs_f64()) as u32;
                let what = format!(
                    "is {}; give 1 to {most}: a TXOP ends at 2.097 s, the standard's field has no more",
                    edca.most_packets
                );
                return Err(wrong(&key("most_packets"), what));
            }
        }
        Ok(())
    }
}

impl EdcaConfig {
    /// Where the loop acts.
    pub fn knob(&self) -> Knob {
        Knob::OwnTxop { interface: self.interface.clone(), access_category: self.access_category }
    }

    /// How the TXOP follows.
    pub fn policy(&self, least_interval: Span) -> TxopPolicy {
        TxopPolicy {
            packet: self.packet.value,
            sifs: self.sifs.value,
            most_packets: self.most_packets,
            least_interval,
        }
    }
}

fn wrong(key: &str, what: impl Into<String>) -> ConfigError {
    ConfigError::Key { key: key.to_owned(), what: what.into() }
}

/// Checks a time in seconds.
fn within(key: &str, time: &Quantity<Duration>, least: f64, most: f64) -> Result<(), ConfigError> {
    let seconds = time.value.as_secs_f64();
    if (least..=most).contains(&seconds) {
        return Ok(());
    }
    Err(wrong(key, format!("is {}; give a time from {least} s to {most} s", time.text)))
}
