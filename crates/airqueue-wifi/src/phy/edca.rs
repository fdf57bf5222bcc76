//! Default EDCA parameters of the four access categories (IEEE 802.11-2016, table 9-137).

use super::{ModulationClass, Phy};
use airqueue_core::Span;

/// Access category, by rising priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessCategory {
    /// BK.
    Background,
    /// BE.
    BestEffort,
    /// VI.
    Video,
    /// VO.
    Voice,
}

impl AccessCategory {
    /// All, by rising priority; a category as `usize` is its place here and in [`edca_defaults`].
    pub const ALL: [AccessCategory; 4] = [
        AccessCategory::Background,
        AccessCategory::BestEffort,
        AccessCategory::Video,
        AccessCategory::Voice,
    ];
}

/// Channel access of one category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParameters {
    /// AIFS is SIFS and this many slots.
    pub aifsn: u32,
    /// Values of the smallest contention window: backoff from 0 to one less.
    pub cw_min: u32,
    /// Values of the largest.
    pub cw_max: u32,
    /// Longest transmission opportunity; zero: one frame exchange.
    pub txop: Span,
}

/// Which edition's TXOP limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdcaEdition {
    /// As 802.11e introduced them; most access points announce these.
    Ieee2005,
    /// Longer for OFDM, and limits for BK and BE too; not checked against the standard's text.
    Ieee2016,
}

/// Whose parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdcaRole {
    /// What an access point announces to its stations.
    Station,
    /// What many access points use themselves: AIFSN 1 for VI and VO.
    AccessPoint,
}

/// The default parameters of BK, BE, VI, VO on a layer.
///
/// The windows follow the layer's: VI draws from half as many values as BE at first, VO from a quarter;
/// VI's largest window is BE's smallest, VO's half of that. Layers with DSSS alone have their own TXOP
/// limits.
pub fn edca_defaults(phy: &Phy, edition: EdcaEdition, role: EdcaRole) -> [EdcaParameters; 4] {
    let only_dsss = phy.rates().all(|(index, _)| phy.class(index) == ModulationClass::Dsss);
    let txop_us = match (edition, only_dsss) {
        (EdcaEdition::Ieee2005, true) => [0, 0, 6_016, 3_264],
        (EdcaEdition::Ieee2005, false) => [0, 0, 3_008, 1_504],
        (EdcaEdition::Ieee2016, true) => [3_264, 3_264, 6_016, 3_264],
        (EdcaEdition::Ieee2016, false) => [2_528, 2_528, 4_096, 2_080],
    };
    let aifsn = match role {
        EdcaRole::Station => [7, 3, 2, 2],
        EdcaRole::AccessPoint => [7, 3, 1, 1],
    };
    let (low, high) = (phy.cw_min(), phy.cw_max());
    let windows = [(low, high), (low, high), (low / 2, low), (low / 4, low / 2)];
    AccessCategory::ALL.map(|category| {
        let at = category as usize;
        let (cw_min, cw_max) = windows[at];
        EdcaParameters { aifsn: aifsn[at], cw_min, cw_max, txop: Span::from_micros(txop_us[at]) }
    })
}
