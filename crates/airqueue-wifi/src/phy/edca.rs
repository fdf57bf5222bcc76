//! Default EDCA parameters of the four access categories (IEEE 802.11-2016, table 9-137).

use super::{ModulationClass, Phy};
use airqueue_core::Span;

/// One of a station's access categories, by its place among them. They are in the order of rising priority: under EDCA
/// those of 802.11-2016, table 10-1; a station under DCF has one, the [first](Self::FIRST).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessCategory(u8);

impl AccessCategory {
    /// The only one under DCF.
    pub const FIRST: AccessCategory = AccessCategory(0);
    /// AC_BK of EDCA.
    pub const BACKGROUND: AccessCategory = AccessCategory(0);
    /// AC_BE of EDCA.
    pub const BEST_EFFORT: AccessCategory = AccessCategory(1);
    /// AC_VI of EDCA.
    pub const VIDEO: AccessCategory = AccessCategory(2);
    /// AC_VO of EDCA.
    pub const VOICE: AccessCategory = AccessCategory(3);
    /// Those of EDCA, by rising priority.
    pub const ALL: [AccessCategory; 4] =
        [Self::BACKGROUND, Self::BEST_EFFORT, Self::VIDEO, Self::VOICE];

    /// The category at this place.
    ///
    /// # Panics
    ///
    /// If no station has so many.
    #[inline]
    pub const fn at(index: usize) -> AccessCategory {
        assert!(index < Self::ALL.len(), "a station has at most four access categories");
        AccessCategory(index as u8)
    }

    /// The first `count`, by rising priority: those of a station that has so many.
    #[inline]
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = AccessCategory> {
        (0..count as u8).map(AccessCategory)
    }

    /// The place in whatever is kept for each category of a station.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The acronym of an EDCA category, without `AC_`.
    pub const fn acronym(self) -> &'static str {
        ["BK", "BE", "VI", "VO"][self.index()]
    }
}

/// Channel access of one category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParameters {
    /// AIFS is SIFS and this many slots.
    pub aifsn: u32,
    /// Values of the smallest contention window: backoff from 0 to one less.
    pub w_min: u32,
    /// Values of the largest.
    pub w_max: u32,
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
    let (low, high) = (phy.w_min(), phy.w_max());
    let windows = [(low, high), (low, high), (low / 2, low), (low / 4, low / 2)];
    AccessCategory::ALL.map(|category| {
        let at = category.index();
        let (w_min, w_max) = windows[at];
        EdcaParameters { aifsn: aifsn[at], w_min, w_max, txop: Span::from_micros(txop_us[at]) }
    })
}
