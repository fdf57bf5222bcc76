//! Airtime queue limits: how much airtime may wait in the driver, in mac80211's debugfs.
//!
//! `net/mac80211/debugfs.c`: `aql_txq_limit` has two limits for each category, in microseconds of a station's queue;
//! the higher one holds while the phy's total is below `aql_threshold`. Distributions' kernels often lack these files
//! (`CONFIG_MAC80211_DEBUGFS`), OpenWrt's have them.

use crate::radio::edca::letters;
use crate::radio::error::RadioError;
use crate::radio::own_edca;
use airqueue_control::plan::Category;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Where debugfs is mounted.
pub const DEBUGFS: &str = "/sys/kernel/debug";
const LONGEST: u64 = 1 << 16;
const LIMITS: &str = "aql_txq_limit";
const THRESHOLD: &str = "aql_threshold";

/// The limits of a category, in microseconds of airtime for a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AqlLimit {
    /// Once the phy's airtime is above the threshold.
    pub low_us: u32,
    /// Before that.
    pub high_us: u32,
}

/// The limits of a phy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aql {
    /// The limits of each category, in the order of [`ORDER`].
    pub limits: [AqlLimit; 4],
    /// Airtime of the whole phy, in microseconds, above which the lower limits hold.
    pub threshold_us: u32,
}

impl Aql {
    /// The limits of a category.
    pub fn limit(&self, category: Category) -> AqlLimit {
        self.limits[usize::from(own_edca::number(category))]
    }
}

/// Categories in the order of the file (`enum ieee80211_ac_numbers`).
pub const ORDER: [Category; 4] =
    [Category::Voice, Category::Video, Category::BestEffort, Category::Background];

/// Airtime of a station, as mac80211 has counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Airtime {
    /// Microseconds of frames from the station.
    pub receive_us: u64,
    /// Microseconds of frames to the station.
    pub transmit_us: u64,
}

/// A phy's folder in debugfs.
#[derive(Debug, Clone)]
pub struct PhyFolder {
    folder: PathBuf,
    phy: String,
}

impl PhyFolder {
    /// The folder of a phy below the mount point of debugfs.
    pub fn new(debugfs: &Path, phy: &str) -> Result<Self, RadioError> {
        if phy.is_empty() || phy.contains('/') || phy == "." || phy == ".." {
            return Err(RadioError::Value(format!("{phy:?} is no name of a phy")));
        }
        Ok(Self { folder: debugfs.join("ieee80211").join(phy), phy: phy.to_owned() })
    }

    /// The limits; `None` where the kernel has none or does not show them.
    pub fn read(&self) -> Result<Option<Aql>, RadioError> {
        let Some(text) = self.text(LIMITS)? else { return Ok(None) };
        let Some(threshold) = self.text(THRESHOLD)? else { return Ok(None) };
        let limits = limits(&text).ok_or_else(|| self.unclear(LIMITS))?;
        let threshold_us = threshold.trim().parse().map_err(|_| self.unclear(THRESHOLD))?;
        Ok(Some(Aql { limits, threshold_us }))
    }

    /// Sets the limits of a category.
    pub fn set_limit(&self, category: Category, limit: AqlLimit) -> Result<(), RadioError> {
        if limit.low_us > limit.high_us {
            let AqlLimit { low_us, high_us } = limit;
            return Err(RadioError::Value(format!(
                "the lower limit of airtime, {low_us} us, is above the higher one, {high_us} us"
            )));
        }
        let number = own_edca::number(category);
        self.write(LIMITS, &format!("{number} {} {}", limit.low_us, limit.high_us))
    }

    /// Sets the threshold.
    pub fn set_threshold(&self, threshold_us: u32) -> Result<(), RadioError> {
        self.write(THRESHOLD, &threshold_us.to_string())
    }

    /// The airtime of a station of one of the phy's interfaces; `None` where mac80211 does not show it.
    pub fn airtime(&self, interface: &str, station: &str) -> Result<Option<Airtime>, RadioError> {
        let name = format!("netdev:{interface}/stations/{station}/airtime");
        let Some(text) = self.text(&name)? else { return Ok(None) };
        airtime(&text).map(Some).ok_or_else(|| self.unclear(&name))
    }

    fn text(&self, name: &str) -> Result<Option<String>, RadioError> {
        let path = self.folder.join(name);
        let mut bytes = Vec::new();
        let read = fs::OpenOptions::new()
            .read(true)
            .open(&path)
            .and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(RadioError::file("read", &path, &error)),
        }
    }

    /// The kernel takes what one call of write brings.
    fn write(&self, name: &str, text: &str) -> Result<(), RadioError> {
        let path = self.folder.join(name);
        let written = fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => RadioError::Unsupported {
                what: self.phy.clone(),
                setting: "limits of airtime",
                reason: format!("there is no {}", path.display()),
            },
            _ => RadioError::file("write", &path, &error),
        })
    }

    fn unclear(&self, name: &str) -> RadioError {
        RadioError::File {
            action: "understand",
            path: self.folder.join(name),
            reason: "it is not as Linux 5.5 to 6.12 write it".to_owned(),
            denied: false,
        }
    }
}

/// The lines `VO 5000 12000` below the heading; Linux 6.14 appends a line for frames to groups.
fn limits(text: &str) -> Option<[AqlLimit; 4]> {
    let mut found = [None; 4];
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(number) = words.next().and_then(number) else { continue };
        let low_us = words.next()?.parse().ok()?;
        let high_us = words.next()?.parse().ok()?;
        found[number] = Some(AqlLimit { low_us, high_us });
    }
    let [Some(voice), Some(video), Some(effort), Some(background)] = found else { return None };
    Some([voice, video, effort, background])
}

fn number(word: &str) -> Option<usize> {
    ORDER.iter().position(|&category| letters(category).eq_ignore_ascii_case(word))
}

/// `RX: 12 us`, `TX: 34 us`, and lines about weights, which nl80211 has as well.
fn airtime(text: &str) -> Option<Airtime> {
    let of = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    Some(Airtime { receive_us: of("RX:")?, transmit_us: of("TX:")? })
}

#[cfg(test)]
mod tests;
