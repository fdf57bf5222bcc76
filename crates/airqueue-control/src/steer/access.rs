//! EDCA's loop: the access point's channel access for data follows the flows that are active.
//!
//! By Table 2 of the EDCA paper AIFS and CWmin are the same for any number of downloads, and the TXOP holds one packet for
//! each. Where a TXOP may not be so long, a table says by which AIFSN and CWmin the access point wins the medium more often
//! instead; `airqueue size edca --for airqueued` computes the table by a model.

use super::TxopPolicy;
use crate::pace::Pace;
use crate::plan::{OwnEdca, Set};
use airqueue_core::{Span, Time};
use serde::Deserialize;
use std::ops::RangeInclusive;

/// Channel access of an access point's own queue, as far as the loop changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// AIFSN.
    pub aifsn: u32,
    /// CWmin: 2^n - 1.
    pub cw_min: u32,
    /// TXOP limit, µs.
    pub txop_us: u32,
}

/// Channel access for so many flows, or more of them up to the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessRow {
    /// Active uploads, at least 1: without uploads nobody competes.
    pub uploads: u32,
    /// Active downloads.
    pub downloads: u32,
    /// AIFSN.
    pub aifsn: u32,
    /// CWmin: 2^n - 1.
    pub cw_min: u32,
    /// Packets of a TXOP.
    pub packets: u32,
}

/// Channel access of an access point as flows come and go.
#[derive(Clone, Debug)]
pub struct AccessLoop {
    policy: TxopPolicy,
    /// By downloads, then uploads.
    rows: Vec<AccessRow>,
    pace: Pace,
    /// AIFSN and CWmin where no row holds.
    plain: Access,
    now: Access,
    changed: Option<Time>,
}

/// AIFSN 1 would be ahead of every station's voice.
const AIFSN: RangeInclusive<u32> = 2..=15;
/// With smaller windows the access point hardly leaves a slot to anybody; none gains from larger ones.
const CW_MIN: RangeInclusive<u32> = 3..=1023;
/// AIFSN and the number of values of a window, at one change.
const GREATEST_FACTOR: f64 = 2.0;

impl Access {
    /// What a setting has, if it is one of own queues.
    pub fn of(set: &Set) -> Option<Access> {
        match *set {
            Set::OwnEdca(OwnEdca { aifsn, cw_min, txop_us, .. }) => {
                Some(Access { aifsn, cw_min, txop_us })
            }
            _ => None,
        }
    }

    /// The setting with this channel access; as it was if it is no setting of own queues.
    pub fn within(self, set: &Set) -> Set {
        let Access { aifsn, cw_min, txop_us } = self;
        match set.clone() {
            Set::OwnEdca(edca) => Set::OwnEdca(OwnEdca { aifsn, cw_min, txop_us, ..edca }),
            other => other,
        }
    }
}

impl AccessRow {
    /// The key that is wrong, what is wrong with it and what is possible.
    pub(super) fn check(&self, most_packets: u32) -> Result<(), (&'static str, String)> {
        let within = |key, value: u32, range: RangeInclusive<u32>| {
            let (least, most) = (range.start(), range.end());
            let what = format!("is {value}; give {least} to {most}");
            if range.contains(&value) { Ok(()) } else { Err((key, what)) }
        };
        within("uploads", self.uploads, 1..=u32::MAX)?;
        within("downloads", self.downloads, 1..=u32::MAX)?;
        within("aifsn", self.aifsn, AIFSN)?;
        within("packets", self.packets, 1..=most_packets)?;
        let is_window = CW_MIN.contains(&self.cw_min) && (self.cw_min + 1).is_power_of_two();
        let what = format!("is {}; give one of 3, 7, 15, ... 1023", self.cw_min);
        if is_window { Ok(()) } else { Err(("cw_min", what)) }
    }
}

impl AccessLoop {
    /// A loop that begins with the plan's channel access.
    pub fn new(
        policy: TxopPolicy,
        mut rows: Vec<AccessRow>,
        least_interval: Span,
        begin: Access,
    ) -> AccessLoop {
        rows.sort_by_key(|row| (row.downloads, row.uploads));
        // The number of packets is bounded by itself.
        let pace = Pace { least_interval, greatest_factor: GREATEST_FACTOR };
        AccessLoop { policy, rows, pace, plain: begin, now: begin, changed: None }
    }

    /// Refuses rows with windows that begin above the end of the plan's.
    pub fn check(&self, set: &Set) -> Result<(), String> {
        let Set::OwnEdca(OwnEdca { cw_max, .. }) = set else { return Ok(()) };
        match self.rows.iter().find(|row| row.cw_min > *cw_max) {
            None => Ok(()),
            Some(row) => Err(format!(
                "a cw_min is {}, and the plan's cw_max is {cw_max}; lower the one or raise the other",
                row.cw_min
            )),
        }
    }

    /// Whether the number of uploads changes anything.
    pub fn counts_uploads(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Takes the numbers of active flows, at a time. Returns the channel access if it is to change now.
    pub fn on_flows(&mut self, downloads: u32, uploads: u32, now: Time) -> Option<Access> {
        let wanted = self.wanted(downloads, uploads);
        if wanted == self.now || self.pace.wait(self.changed, now).is_some() {
            return None;
        }
        let step = |from: u32, to: u32| self.pace.toward(from.into(), to.into()) as u32;
        self.now = Access {
            aifsn: step(self.now.aifsn, wanted.aifsn),
            cw_min: step(self.now.cw_min + 1, wanted.cw_min + 1) - 1,
            txop_us: wanted.txop_us,
        };
        self.changed = Some(now);
        Some(self.now)
    }

    fn wanted(&self, downloads: u32, uploads: u32) -> Access {
        match self.row(downloads, uploads) {
            Some(&AccessRow { aifsn, cw_min, packets, .. }) => {
                Access { aifsn, cw_min, txop_us: self.policy.txop_us(packets) }
            }
            None => Access { txop_us: self.policy.txop_us(downloads), ..self.plain },
        }
    }

    /// Of the rows with the most downloads that there are, the one with the most uploads that there are.
    fn row(&self, downloads: u32, uploads: u32) -> Option<&AccessRow> {
        let fit = self.rows.iter().filter(|row| row.downloads <= downloads);
        let fit = fit.filter(|row| row.uploads <= uploads);
        fit.max_by_key(|row| (row.downloads, row.uploads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Access = Access { aifsn: 6, cw_min: 31, txop_us: 0 };

    fn policy(most_packets: u32) -> TxopPolicy {
        let (packet, sifs) = (Span::from_micros(1270), Span::from_micros(10));
        TxopPolicy { packet, sifs, most_packets }
    }

    fn following(
        most_packets: u32,
        rows: &[(u32, u32, u32, u32, u32)],
        begin: Access,
    ) -> AccessLoop {
        let row = |&(downloads, uploads, aifsn, cw_min, packets)| AccessRow {
            uploads,
            downloads,
            aifsn,
            cw_min,
            packets,
        };
        let rows = rows.iter().map(row).collect();
        AccessLoop::new(policy(most_packets), rows, Span::from_secs(5), begin)
    }

    fn at(second: i64) -> Time {
        Time::ZERO + Span::from_secs(second)
    }

    #[test]
    fn without_rows_the_txop_alone_follows_at_its_pace() {
        let mut access = following(30, &[], PLAIN);
        let txop = |packets| Some(Access { txop_us: policy(30).txop_us(packets), ..PLAIN });
        assert!(!access.counts_uploads());
        assert_eq!(access.on_flows(0, 9, at(0)), None);
        assert_eq!(access.on_flows(4, 9, at(1)), txop(4));
        assert_eq!(access.on_flows(1, 9, at(3)), None);
        assert_eq!(access.on_flows(1, 9, at(6)), Some(PLAIN));
        assert_eq!(access.on_flows(1, 0, at(60)), None);
        assert_eq!(access.on_flows(1000, 0, at(70)), txop(30));
    }

    /// A plan of `size edca` has the TXOP of the downloads that it was made for.
    #[test]
    fn a_plan_with_the_txop_of_other_downloads_is_mended_at_the_first_look() {
        let mut access = following(30, &[], Access { txop_us: 7616, ..PLAIN });
        assert_eq!(access.on_flows(1, 1, at(0)), Some(PLAIN));
    }

    #[test]
    fn beyond_the_longest_txop_a_row_says_how_often_the_access_point_wins() {
        let rows = [(3, 1, 3, 31, 2), (3, 4, 4, 31, 2), (5, 1, 6, 15, 2)];
        let of =
            |downloads, uploads| following(2, &rows, PLAIN).on_flows(downloads, uploads, at(0));
        let found = |aifsn, cw_min| Some(Access { aifsn, cw_min, txop_us: 2560 });
        assert_eq!(policy(2).txop_us(2), 2560);
        assert_eq!(of(1, 6), None);
        assert_eq!(of(2, 6), found(6, 31));
        assert_eq!([of(3, 1), of(4, 3)], [found(3, 31); 2]);
        assert_eq!([of(3, 4), of(4, 9)], [found(4, 31); 2]);
        // More than the table knows: its last row. Without uploads nobody competes.
        assert_eq!(of(99, 99), found(6, 15));
        assert_eq!(of(99, 0), found(6, 31));
    }

    #[test]
    fn windows_and_slots_change_by_a_factor_of_two_at_once() {
        let mut access = following(2, &[(3, 1, 2, 3, 2)], PLAIN);
        let steps: Vec<_> = (0..5).filter_map(|n| access.on_flows(3, 1, at(5 * n))).collect();
        let values: Vec<_> = steps.iter().map(|step| (step.aifsn, step.cw_min)).collect();
        assert_eq!(values, [(3, 15), (2, 7), (2, 3)]);
        assert!(steps.iter().all(|step| step.txop_us == 2560));
        assert_eq!(access.on_flows(1, 1, at(100)).map(|back| back.cw_min), Some(7));
    }

    #[test]
    fn a_setting_keeps_what_the_loop_does_not_change() {
        let own = |aifsn: u32, cw_min: u32, txop_us: u32| -> Set {
            let own = serde_json::json!({"own_edca": {"interface": "wlan0", "access_category":
                "best_effort", "aifsn": aifsn, "cw_min": cw_min, "cw_max": 255, "txop_us": txop_us}});
            serde_json::from_value(own).unwrap()
        };
        let set = own(6, 31, 0);
        assert_eq!(Access::of(&set), Some(PLAIN));
        let other = Access { aifsn: 3, cw_min: 15, txop_us: 2560 };
        assert_eq!(other.within(&set), own(3, 15, 2560));
        let rows = |cw_min| following(2, &[(3, 1, 2, cw_min, 2)], PLAIN);
        assert_eq!(rows(255).check(&set), Ok(()));
        assert!(rows(511).check(&set).unwrap_err().contains("the plan's cw_max is 255"));
    }

    proptest! {
        /// Whatever flows there are, values stay in their ranges, changes keep their pace, and what is wanted arrives.
        #[test]
        fn values_are_bounded_and_arrive(
            rows in prop::collection::vec((1u32..9, 1u32..9, AIFSN, 2u32..11, 1u32..5), 0..20),
            flows in prop::collection::vec((0u32..12, 0u32..12, 0i64..9), 1..60),
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(d, u, aifsn, ecw, n)| (d, u, aifsn, (1 << ecw) - 1, n)).collect();
            let mut access = following(4, &rows, PLAIN);
            let (mut before, mut now, mut last): (_, _, Option<Time>) = (PLAIN, at(0), None);
            for (downloads, uploads, seconds) in flows {
                now += Span::from_secs(seconds);
                let Some(next) = access.on_flows(downloads, uploads, now) else { continue };
                prop_assert!(next != before && last.is_none_or(|last| now - last >= Span::from_secs(5)));
                prop_assert!(AIFSN.contains(&next.aifsn) && CW_MIN.contains(&next.cw_min));
                prop_assert!((next.cw_min + 1).is_power_of_two() && next.txop_us <= policy(4).txop_us(4));
                let factor = |from: u32, to: u32| f64::from(from.max(to)) / f64::from(from.min(to));
                prop_assert!(factor(before.aifsn, next.aifsn) <= 2.0);
                prop_assert!(factor(before.cw_min + 1, next.cw_min + 1) <= 2.0);
                (before, last) = (next, Some(now));
            }
            for _ in 0..12 {
                now += Span::from_secs(5);
                before = access.on_flows(2, 2, now).unwrap_or(before);
            }
            prop_assert_eq!(before, access.wanted(2, 2));
        }
    }
}
