//! hostapd's control interface: what an access point announces to its stations, changed while they stay.
//!
//! `set wmm_ac_*` changes the parameters in hostapd's memory, `update_beacon` has beacons announce them. hostapd has no
//! command that tells these parameters; what they were comes from its configuration, else from the standard
//! ([`configuration`]). What a beacon announces is only seen from a station.
//! `reload` would drop every station: nothing here does it.

pub mod configuration;
mod socket;

pub use socket::{Hostapd, LONGEST_WAIT};

use crate::radio::edca::Parameters;
use crate::radio::error::RadioError;
use airqueue_control::plan::Category;
use std::time::Duration;

/// TU (802.11-2016, 3.1), in which beacon intervals are.
const TIME_UNIT: Duration = Duration::from_micros(1024);
/// A guard has a plan back within 5 s.
const LONGEST_HEARING: Duration = Duration::from_millis(500);

impl Hostapd {
    /// Whether hostapd answers.
    pub fn ping(&mut self) -> Result<(), RadioError> {
        self.expect("PING", "PONG")
    }

    /// Has the access point announce other parameters of a category; stations stay.
    pub fn announce(
        &mut self,
        category: Category,
        parameters: &Parameters,
    ) -> Result<(), RadioError> {
        parameters.check().map_err(RadioError::Value)?;
        for (key, value) in configuration::announced(category, parameters) {
            self.expect(&format!("SET {key} {value}"), "OK")?;
        }
        Ok(())
    }

    /// Has beacons of this BSS say what was announced; the count of parameter sets tells stations to look.
    pub fn update_beacon(&mut self) -> Result<(), RadioError> {
        self.expect("UPDATE_BEACON", "OK")
    }

    /// Has this BSS count its set of parameters anew after another BSS of the radio was given new ones: hostapd counts at
    /// the BSS that is told alone, and stations take nothing from a beacon with the count that they know.
    pub fn count_anew(
        &mut self,
        category: Category,
        parameters: &Parameters,
    ) -> Result<(), RadioError> {
        parameters.check().map_err(RadioError::Value)?;
        let [(key, value), ..] = configuration::announced(category, parameters);
        self.expect(&format!("SET {key} {value}"), "OK")
    }

    /// What hostapd says of the radio.
    pub fn about(&mut self) -> Result<About, RadioError> {
        Ok(About::read(&self.request("STATUS")?))
    }

    fn expect(&mut self, command: &str, wanted: &str) -> Result<(), RadioError> {
        let answer = self.request(command)?;
        if answer.trim_end() == wanted {
            return Ok(());
        }
        Err(RadioError::Refused {
            path: self.path().to_owned(),
            command: command.to_owned(),
            answer: answer.trim_end().chars().take(80).collect(),
        })
    }
}

/// What `STATUS` tells of a radio.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its BSSs: they share the parameters, each has a beacon and a socket.
    pub bss_names: Vec<String>,
    beacon_tu: u32,
    /// Beacons from one that stations with power save wake for to the next.
    dtim_period: u32,
}

impl About {
    /// Reads the answer to `STATUS`; what is missing has hostapd's default.
    pub fn read(status: &str) -> Self {
        let mut about = Self { bss_names: Vec::new(), beacon_tu: 100, dtim_period: 2 };
        for (key, value) in status.lines().filter_map(|line| line.split_once('=')) {
            match (key, value.parse()) {
                ("beacon_int", Ok(number)) => about.beacon_tu = number,
                ("dtim_period", Ok(number)) => about.dtim_period = number,
                _ if key.starts_with("bss[") && key.ends_with(']') => {
                    about.bss_names.push(value.to_owned());
                }
                _ => {}
            }
        }
        about
    }

    /// Within this time every station that wakes for its beacons has heard one; a radio with rare beacons is not waited for.
    pub fn heard_within(&self) -> Duration {
        let beacons = self.dtim_period.saturating_add(1);
        let time = TIME_UNIT.saturating_mul(self.beacon_tu.saturating_mul(beacons));
        time.min(LONGEST_HEARING)
    }
}

#[cfg(test)]
mod tests;
