//! Which packets share a tin of CAKE, and the share of the rate that each tin may use before the others.

use schemars::JsonSchema;
use serde::Deserialize;

/// How packets are shared out among tins by their DSCP (RFC 2474).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Diffserv {
    /// One for all.
    BestEffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, by the classes of RFC 4594.
    Diffserv8,
    /// Eight, by the upper three bits.
    Precedence,
}

/// A tin's share of the rate, and its weight where there is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// In bytes per second; 0: unlimited.
    pub(super) rate: u64,
    /// Bytes of its turn among the tins of a CAKE without a rate.
    pub(super) quantum: u32,
}

/// CS1, VA (RFC 5865) and LE (RFC 8622), EF, CS6 and CS7.
const LE: u8 = 1;
const CS1: u8 = 8;
const VA: u8 = 44;
const EF: u8 = 46;
const CS6: u8 = 48;
const CS7: u8 = 56;

impl Diffserv {
    /// The tins, each with its share of `rate`. (`cake_config_diffserv3` and its like.)
    pub(super) fn shares(self, rate: u64) -> Vec<Share> {
        let binary = |shifts: &[u32]| {
            let share = |&by: &u32| Share { rate: rate >> by, quantum: 1024 >> by };
            shifts.iter().map(share).collect()
        };
        match self {
            Diffserv::BestEffort => vec![Share { rate, quantum: 65_535 }],
            Diffserv::Diffserv3 => binary(&[0, 4, 2]),
            Diffserv::Diffserv4 => binary(&[0, 4, 1, 2]),
            Diffserv::Diffserv8 | Diffserv::Precedence => {
                let less = |share: &Share| {
                    let rate = (u128::from(share.rate) * 7 / 8) as u64;
                    Some(Share { rate, quantum: share.quantum * 7 / 8 })
                };
                std::iter::successors(Some(Share { rate, quantum: 256 }), less).take(8).collect()
            }
        }
    }

    /// The tin of a DSCP. Of two tins that may both send, the tin with the higher number is served.
    pub(super) fn tin(self, dscp: u8) -> usize {
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Diffserv3 => three(dscp),
            Diffserv::Diffserv4 => four(dscp),
            Diffserv::Diffserv8 => eight(dscp),
            Diffserv::Precedence => usize::from(dscp >> 3),
        }
    }
}

/// 4 is the minimum delay of the old type of service (RFC 1349).
fn three(dscp: u8) -> usize {
    match dscp {
        LE | CS1 => 1,
        4 | VA | EF | CS6 | CS7 => 2,
        _ => 0,
    }
}

/// Video is CS2 and CS3, AF2x to AF4x with the even codepoints that the RFCs leave free among them.
fn four(dscp: u8) -> usize {
    match dscp {
        LE | CS1 => 1,
        32 | 40 | VA | EF | CS6 | CS7 => 3,
        4 => 2,
        16..=38 if is_even(dscp) => 2,
        _ => 0,
    }
}

/// From background to network control.
fn eight(dscp: u8) -> usize {
    match dscp {
        LE => 0,
        2 => 1,
        8..=14 if is_even(dscp) => 1,
        24..=30 | 34..=38 if is_even(dscp) => 3,
        4 => 4,
        18..=22 if is_even(dscp) => 4,
        16 => 5,
        32 | 40 | VA | EF => 6,
        CS6 | CS7 => 7,
        _ => 2,
    }
}

fn is_even(dscp: u8) -> bool {
    dscp.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of tc-cake(8): CS1 and LE are bulk, EF, VA, CS6 and CS7 voice; with four tins CS2 to CS3 and AF2x to AF4x
    /// are video, CS4 and CS5 voice.
    #[test]
    fn codepoints_have_the_tins_of_the_manual() {
        let tins = |of: Diffserv, dscps: &[u8]| -> Vec<usize> {
            dscps.iter().map(|&dscp| of.tin(dscp)).collect()
        };
        // CS0, CS1, ... CS7
        let cs = [0, 8, 16, 24, 32, 40, 48, 56];
        assert_eq!(tins(Diffserv::Diffserv3, &cs), [0, 1, 0, 0, 0, 0, 2, 2]);
        assert_eq!(tins(Diffserv::Diffserv4, &cs), [0, 1, 2, 2, 3, 3, 3, 3]);
        assert_eq!(tins(Diffserv::Diffserv8, &cs), [2, 1, 5, 3, 6, 6, 7, 7]);
        assert_eq!(tins(Diffserv::Precedence, &cs), [0, 1, 2, 3, 4, 5, 6, 7]);
        // AF11, AF23, AF32, AF41, VA, EF, LE
        let others = [10, 22, 28, 34, 44, 46, 1];
        assert_eq!(tins(Diffserv::Diffserv3, &others), [0, 0, 0, 0, 2, 2, 1]);
        assert_eq!(tins(Diffserv::Diffserv4, &others), [0, 2, 2, 2, 3, 3, 1]);
        assert_eq!(tins(Diffserv::Diffserv8, &others), [1, 4, 3, 3, 6, 6, 0]);
        assert_eq!(tins(Diffserv::BestEffort, &others), [0; 7]);
        for of in [Diffserv::Diffserv3, Diffserv::Diffserv4, Diffserv::Diffserv8] {
            let most = of.shares(1000).len();
            assert!((0..64).all(|dscp| of.tin(dscp) < most));
        }
    }

    /// tc-cake(8): voice has a quarter of the rate, video half, bulk a sixteenth.
    #[test]
    fn shares_are_those_of_the_manual() {
        let rates = |of: Diffserv| -> Vec<u64> {
            of.shares(1_250_000).iter().map(|share| share.rate).collect()
        };
        assert_eq!(rates(Diffserv::BestEffort), [1_250_000]);
        assert_eq!(rates(Diffserv::Diffserv3), [1_250_000, 78_125, 312_500]);
        assert_eq!(rates(Diffserv::Diffserv4), [1_250_000, 78_125, 625_000, 312_500]);
        // 7/8 of the tin before, in whole bytes.
        assert_eq!(rates(Diffserv::Precedence)[..4], [1_250_000, 1_093_750, 957_031, 837_402]);
        assert_eq!(Diffserv::Diffserv8.shares(0)[1], Share { rate: 0, quantum: 224 });
    }
}
