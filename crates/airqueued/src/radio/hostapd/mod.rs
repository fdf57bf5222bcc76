//! hostapd's control interface: what an access point announces to its stations, changed while they stay.
//!
//! `set wmm_ac_*` changes the parameters in hostapd's memory, `update_beacon` has beacons announce them. hostapd has no
//! command that tells these parameters; what they were comes from its configuration, else from the standard
//! ([`configuration`]). What a beacon announces is only seen from a station.

pub mod configuration;
mod socket;

pub use socket::{Hostapd, LONGEST_WAIT};

use crate::radio::edca::Parameters;
use crate::radio::error::RadioError;
use airqueue_control::plan::Category;

/// Whoever holds this has agreed that stations lose their connection for a moment.
#[derive(Debug, Clone, Copy)]
pub struct StationsMayDrop;

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

    /// The BSSs of this radio: they share the parameters, each has a beacon and a socket.
    pub fn bss_names(&mut self) -> Result<Vec<String>, RadioError> {
        Ok(bss_names(&self.request("STATUS")?))
    }

    /// Has hostapd read its configuration anew: this drops every station.
    pub fn reload(&mut self, _consent: StationsMayDrop) -> Result<(), RadioError> {
        self.expect("RELOAD", "OK")
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

/// The lines `bss[0]=wlan0` of `STATUS`.
fn bss_names(status: &str) -> Vec<String> {
    let lines = status.lines().filter_map(|line| line.split_once('='));
    let names = lines.filter(|(key, _)| key.starts_with("bss[") && key.ends_with(']'));
    names.map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests;
