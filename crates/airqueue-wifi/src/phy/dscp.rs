//! From differentiated services codepoints to access categories.

use super::AccessCategory;

impl AccessCategory {
    /// The access category of a DSCP, by RFC 8325, figure 1 and section 4 (user priorities 6 and 7 are voice, 4 and 5 video,
    /// 1 and 2 background), and for non-queue-building traffic by RFC 9956, section 7.3.
    pub fn of_dscp(dscp: u8) -> AccessCategory {
        match dscp {
            // CS6, CS7: network control. EF, VOICE-ADMIT: telephony.
            48 | 56 | 46 | 44 => AccessCategory::VOICE,
            // CS5: signalling. CS4, AF4x: conferences. CS3, AF3x: broadcast and streamed video. NQB.
            40 | 32 | 34 | 36 | 38 | 24 | 26 | 28 | 30 | 45 => AccessCategory::VIDEO,
            // CS1 and LE (RFC 8622).
            8 | 1 => AccessCategory::BACKGROUND,
            _ => AccessCategory::BEST_EFFORT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_the_categories_of_the_rfcs() {
        let named =
            [(46, "VO"), (34, "VI"), (45, "VI"), (18, "BE"), (0, "BE"), (8, "BK"), (1, "BK")];
        for (dscp, acronym) in named {
            assert_eq!(AccessCategory::of_dscp(dscp).acronym(), acronym, "{dscp}");
        }
    }
}
