//! Parameters of channel access of an access category, and the standard's defaults.

use airqueue_control::plan::Category;
use serde::{Deserialize, Serialize};

/// All categories, in the order of their ACI (802.11-2016, table 9-136).
pub const CATEGORIES: [Category; 4] =
    [Category::BestEffort, Category::Background, Category::Video, Category::Voice];

/// The letters of a category in keys of hostapd (`wmm_ac_be_aifs`) and in files of debugfs.
pub fn letters(category: Category) -> &'static str {
    match category {
        Category::Background => "bk",
        Category::BestEffort => "be",
        Category::Video => "vi",
        Category::Voice => "vo",
    }
}

/// Largest exponent of a contention window (802.11-2016, 9.4.2.29: ECWmin has four bits).
pub const LARGEST_ECW: u8 = 15;
/// Range of AIFSN (802.11-2016, 9.4.2.29): an access point may use 1, stations use 2 or more.
pub const AIFSN: std::ops::RangeInclusive<u8> = 1..=15;

/// Parameters of an access category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Slots of the AIFS after a SIFS.
    pub aifsn: u8,
    /// CWmin is two to this power, less one.
    pub ecw_min: u8,
    /// CWmax is two to this power, less one.
    pub ecw_max: u8,
    /// Longest TXOP in units of 32 microseconds; 0 is one frame.
    pub txop_32us: u16,
}

impl Parameters {
    /// Refuses what a beacon cannot say, or no station can follow.
    pub fn check(&self) -> Result<(), String> {
        if !AIFSN.contains(&self.aifsn) {
            return Err(format!("AIFSN {} is outside 1 to 15", self.aifsn));
        }
        if self.ecw_max > LARGEST_ECW {
            return Err(format!("CWmax of 2^{} - 1 is above 2^15 - 1", self.ecw_max));
        }
        if self.ecw_min > self.ecw_max {
            let (low, high) = (self.ecw_min, self.ecw_max);
            return Err(format!("CWmin of 2^{low} - 1 is above CWmax of 2^{high} - 1"));
        }
        Ok(())
    }

    /// From the values of a plan: windows are 2^n - 1, the TXOP is a multiple of 32 us.
    pub fn of_plan(aifsn: u32, cw_min: u32, cw_max: u32, txop_us: u32) -> Result<Self, String> {
        let parameters = Self {
            aifsn: u8::try_from(aifsn).map_err(|_| format!("AIFSN {aifsn} is outside 1 to 15"))?,
            ecw_min: exponent(cw_min)?,
            ecw_max: exponent(cw_max)?,
            txop_32us: u16::try_from(txop_us / 32)
                .ok()
                .filter(|_| txop_us.is_multiple_of(32))
                .ok_or_else(|| {
                    format!("a TXOP of {txop_us} us is no multiple of 32 below 2097152")
                })?,
        };
        parameters.check().map(|()| parameters)
    }

    /// CWmin.
    pub fn cw_min(&self) -> u16 {
        window(self.ecw_min)
    }

    /// CWmax.
    pub fn cw_max(&self) -> u16 {
        window(self.ecw_max)
    }

    /// Longest TXOP in microseconds; 0 is one frame.
    pub fn txop_us(&self) -> u32 {
        u32::from(self.txop_32us) * 32
    }

    /// What stations use unless an access point announces something else (802.11-2016, table 9-137, with the
    /// timings of OFDM), and hostapd announces unless its configuration differs.
    pub fn default_of(category: Category) -> Self {
        let (aifsn, ecw_min, ecw_max, txop_32us) = match category {
            Category::Background => (7, 4, 10, 0),
            Category::BestEffort => (3, 4, 10, 0),
            Category::Video => (2, 3, 4, 94),
            Category::Voice => (2, 2, 3, 47),
        };
        Self { aifsn, ecw_min, ecw_max, txop_32us }
    }
}

impl std::fmt::Display for Parameters {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high, txop) = (self.cw_min(), self.cw_max(), self.txop_us());
        write!(out, "AIFSN {}, CWmin {low}, CWmax {high}, TXOP {txop} us", self.aifsn)
    }
}

fn exponent(window: u32) -> Result<u8, String> {
    let power = window.saturating_add(1);
    let is_window = power.is_power_of_two() && power.ilog2() <= u32::from(LARGEST_ECW);
    is_window
        .then(|| power.ilog2() as u8)
        .ok_or_else(|| format!("a contention window of {window} is none of 0, 1, 3, 7, ... 32767"))
}

fn window(exponent: u8) -> u16 {
    (1 << exponent.min(LARGEST_ECW)) - 1
}
