//! Default EDCA parameters of the four access categories (IEEE 802.11-2016, table 9-137).

use super::{ModulationClass, Phy};
use airqueue_core::Span;

/// Index of an access category of a station. Categories are ordered by rising priority: under EDCA those of
/// 802.11-2016, table 10-1; a station under DCF has one, the [first](Self::FIRST). A station that sends beacons or sleeps
/// has one more, above these, for its management frames ([`Mac::management`](crate::mac::Mac::management)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessCategory(u8);

impl AccessCategory {
    /// The only category under DCF.
    pub const FIRST: AccessCategory = AccessCategory(0);
    /// AC_BK of EDCA.
    pub const BACKGROUND: AccessCategory = AccessCategory(0);
    /// AC_BE of EDCA.
    pub const BEST_EFFORT: AccessCategory = AccessCategory(1);
    /// AC_VI of EDCA.
    pub const VIDEO: AccessCategory = AccessCategory(2);
    /// AC_VO of EDCA.
    pub const VOICE: AccessCategory = AccessCategory(3);
    /// The categories of EDCA, by rising priority.
    pub const ALL: [AccessCategory; 4] =
        [Self::BACKGROUND, Self::BEST_EFFORT, Self::VIDEO, Self::VOICE];

    /// Largest number of categories of a station: those of EDCA, and one for management frames.
    pub const MOST: usize = Self::ALL.len() + 1;

    /// The category at this index.
    ///
    /// # Panics
    ///
    /// If a station cannot have this many categories.
    #[inline]
    pub const fn at(index: usize) -> AccessCategory {
        assert!(index < Self::MOST, "a station has at most five access categories");
        AccessCategory(index as u8)
    }

    /// The first `count` categories, by rising priority: those of a station with this many categories.
    #[inline]
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = AccessCategory> {
        (0..count as u8).map(AccessCategory)
    }

    /// The index for lists with an entry for each category.
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
    /// Number of slots that AIFS adds to SIFS.
    pub aifsn: u32,
    /// Number of values in the smallest contention window: backoff is drawn from 0 to `w_min - 1`.
    pub w_min: u32,
    /// Number of values in the largest contention window.
    pub w_max: u32,
    /// Longest transmission opportunity; zero: one frame exchange.
    pub txop: Span,
}

/// The edition of the standard that defines the TXOP limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdcaEdition {
    /// As introduced by 802.11e; most access points announce these.
    Ieee2005,
    /// Longer for OFDM, and limits for BK and BE too; not checked against the standard's text.
    Ieee2016,
}

/// The station that uses the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdcaRole {
    /// Stations, as announced by an access point.
    Station,
    /// Many access points themselves: AIFSN 1 for VI and VO.
    AccessPoint,
}

/// The default parameters of BK, BE, VI, VO on a layer.
///
/// The windows depend on the windows of the layer: the smallest window of VI has half as many values as that of BE,
/// that of VO a quarter; the largest window of VI is the smallest of BE, and that of VO half of this. Layers with only
/// DSSS have their own TXOP limits.
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
