//! Token buckets, and those in classes of htb, as the kernel tells them: by the time that a burst lasts, in ticks.
//!
//! The kernel makes bytes of that time and rounds them down, and what is longer than the bucket is dropped: a bucket of one frame
//! that is put back by its time is a byte too small for every such frame, while tc shows the same as before. The bytes are
//! therefore given, too: the most that the kernel tells as this time.

use crate::netlink::attributes::{self, Attributes, Writer};

/// `TCA_TBF_*` of `linux/pkt_sched.h`.
const PARMS: u16 = 1;
const RATE: u16 = 4;
const PEAK_RATE: u16 = 5;
pub(super) const BURST: u16 = 6;
pub(super) const PEAK_BURST: u16 = 7;

/// `TCA_HTB_RATE64`.
const HTB_RATE: u16 = 6;

/// Where `struct tc_tbf_qopt` has the rates, and the times of their bursts.
const RATE_AT: usize = 0;
const PEAK_RATE_AT: usize = 12;
const BURST_AT: usize = 28;
const PEAK_BURST_AT: usize = 32;
/// Where `struct tc_htb_opt` has the time of its burst.
const HTB_BURST_AT: usize = 24;

/// A tick of the packet scheduler (`PSCHED_SHIFT`).
const TICK_SHIFT: u32 = 6;
/// `TC_LINKLAYER_ATM`, and the bits of a link layer.
const ATM: u8 = 2;
const LINK_LAYER: u8 = 0x0f;

/// The options that a token bucket is set to, from those that the kernel has told.
pub(super) fn for_kernel(told: &[u8]) -> Vec<u8> {
    let Ok(all) = attributes::read(told) else { return told.to_vec() };
    let missing = |kind: u16, bytes: Option<u32>| bytes.filter(|_| all.find(kind).is_none());
    let written = all.0.iter().fold(Writer::default(), |to, each| to.bytes(each.kind, each.value));
    written
        .maybe_u32(BURST, missing(BURST, bytes(&all, RATE, RATE_AT, BURST_AT)))
        .maybe_u32(
            PEAK_BURST,
            missing(PEAK_BURST, bytes(&all, PEAK_RATE, PEAK_RATE_AT, PEAK_BURST_AT)),
        )
        .finish()
}

/// The bytes that may leave a token bucket, or a class of htb, at once.
pub(super) fn burst(kind: &str, options: &[u8]) -> Option<u32> {
    let all = attributes::read(options).ok()?;
    if kind == "htb" {
        return bytes(&all, HTB_RATE, RATE_AT, HTB_BURST_AT);
    }
    let given = all.number(BURST).and_then(|bytes| u32::try_from(bytes).ok());
    given.or_else(|| bytes(&all, RATE, RATE_AT, BURST_AT))
}

/// The bytes of a burst. None if there is no such rate, or if no number of bytes lasts so long.
fn bytes(all: &Attributes<'_>, long_rate: u16, rate_at: usize, burst_at: usize) -> Option<u32> {
    let parms = all.find(PARMS)?;
    let ticks = attributes::number(parms.get(burst_at..burst_at + 4)?)?;
    let rate = Rate::read(parms.get(rate_at..rate_at + 12)?, all.number(long_rate))?;
    rate.most_bytes(ticks)
}

/// `struct psched_ratecfg`.
struct Rate {
    mult: u64,
    shift: u32,
    overhead: u64,
    least: u64,
    atm: bool,
}

impl Rate {
    /// As `psched_ratecfg_precompute` makes it of `struct tc_ratespec`.
    fn read(spec: &[u8], long: Option<u64>) -> Option<Rate> {
        let bytes_per_s = long.or_else(|| attributes::number(&spec[8..12]))?.max(1);
        let (mut factor, mut shift) = (1_000_000_000_u64, 0);
        // The kernel's multiplier has 32 bits.
        let mult = |factor| u64::from((factor / bytes_per_s) as u32);
        while mult(factor) >> 31 == 0 && factor >> 63 == 0 {
            factor <<= 1;
            shift += 1;
        }
        let overhead = attributes::number(&spec[2..4])?;
        let least = attributes::number(&spec[6..8])?;
        Some(Rate { mult: mult(factor), shift, overhead, least, atm: spec[1] & LINK_LAYER == ATM })
    }

    /// How long bytes last, as the kernel tells it: `psched_l2t_ns`, in ticks.
    fn ticks(&self, bytes: u32) -> u64 {
        let bytes = (u64::from(bytes) + self.overhead).max(self.least);
        let on_link = if self.atm { bytes.div_ceil(48) * 53 } else { bytes };
        on_link.saturating_mul(self.mult) >> self.shift >> TICK_SHIFT
    }

    /// The most bytes that last so long.
    fn most_bytes(&self, ticks: u64) -> Option<u32> {
        let (mut fits, mut beyond) = (0_u32, u32::MAX);
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            if self.ticks(middle) <= ticks { fits = middle } else { beyond = middle }
        }
        (fits > 0 && self.ticks(fits) == ticks).then_some(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `struct tc_tbf_qopt` with a rate and the time of its burst.
    fn told(bytes_per_s: u32, (overhead, layer): (u8, u8), ticks: u32) -> Vec<u8> {
        let mut parms = vec![0; 36];
        (parms[1], parms[2]) = (layer, overhead);
        parms[8..12].copy_from_slice(&bytes_per_s.to_ne_bytes());
        parms[28..32].copy_from_slice(&ticks.to_ne_bytes());
        Writer::default().bytes(PARMS, &parms).finish()
    }

    fn burst(told: &[u8]) -> Option<u64> {
        attributes::read(&for_kernel(told)).unwrap().number(BURST)
    }

    #[test]
    fn a_burst_of_one_frame_has_the_bytes_of_that_frame() {
        // 1514 bytes at 7 Mb/s last 1,730,285 ns, which are told as 27,035 ticks, and these are the time of 1513.96 bytes.
        assert_eq!(burst(&told(875_000, (0, 1), 27_035)), Some(1514));
        assert_eq!(burst(&told(12_500_000, (0, 1), 1892)), Some(1514));
        // At 1 Gb/s a tick is eight bytes.
        assert_eq!(burst(&told(125_000_000, (0, 1), 189)), Some(1519));
    }

    #[test]
    fn what_is_known_already_or_not_told_stays() {
        let known = Writer::after(&told(875_000, (0, 1), 27_035)).u32(BURST, 9).finish();
        assert_eq!(for_kernel(&known), known);
        let without_rate = told(0, (0, 1), 0);
        assert_eq!(burst(&without_rate), None);
        for broken in [&[1, 2, 3][..], &[]] {
            assert_eq!(for_kernel(broken), broken);
        }
    }

    proptest! {
        /// The bytes are told as the same time, and are no fewer than those that were set.
        #[test]
        fn bytes_are_told_as_the_same_time(
            bytes in 1_u32..1_000_000,
            rate in 1000_u32..=u32::MAX,
            overhead in 0_u8..100,
            layer in 1_u8..=2,
        ) {
            let spec = told(rate, (overhead, layer), 0);
            let of = Rate::read(&spec[4..16], None).unwrap();
            let ticks = of.ticks(bytes);
            prop_assume!(ticks > 0 && ticks <= u64::from(u32::MAX));
            let found = of.most_bytes(ticks).unwrap();
            prop_assert_eq!(of.ticks(found), ticks);
            prop_assert!(found >= bytes && of.ticks(found + 1) > ticks);
        }
    }
}
