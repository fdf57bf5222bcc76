//! The feedback of an RDQM receiver in the Duration/ID field of an ACK: a proposal.
//!
//! The paper (Kliazovich and others, 2011) puts rate and round-trip time in this field without giving an encoding. The
//! field of an ACK that ends an exchange is 0, and other stations take any value below 32768 for a NAV (IEEE
//! 802.11-2016, 9.2.4.2). They ignore values from 32768 to 49151, except 32768 itself, the NAV of a contention-free
//! period:
//!
//! | bits | |
//! |---|---|
//! | 15, 14 | 1, 0 |
//! | 13 to 10 | the rate: 0 to 3 for 1, 2, 5.5, 11 Mb/s; 4 to 11 for 6, 9, 12, 18, 24, 36, 48, 54 Mb/s |
//! | 9 to 0 | the round-trip time in milliseconds, 1 to 1023; longer times are sent as 1023 |
//!
//! The rates of 802.11n and later have no number in the field.

use airqueue_core::{DataRate, Feedback, Span};

const MARK: u16 = 0b10 << 14;
const MOST_MS: i64 = 0x3ff;
const KBPS: [u64; 12] =
    [1000, 2000, 5500, 11_000, 6000, 9000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

/// The field for this feedback; `None`: the rate has no number.
pub fn encode(feedback: &Feedback) -> Option<u16> {
    let index = KBPS.iter().position(|kbps| kbps * 1000 == feedback.rate.as_bps())?;
    // Rounded to the nearest millisecond, and never 0, which would be the value of a contention-free period.
    let ms = feedback.rtt.as_nanos().saturating_add(500_000) / 1_000_000;
    Some(MARK | (index as u16) << 10 | ms.clamp(1, MOST_MS) as u16)
}

/// The feedback in a field; `None`: the field is a NAV or has another meaning.
pub fn decode(field: u16) -> Option<Feedback> {
    let (mark, index, ms) = (field & 0b11 << 14, field >> 10 & 0xf, field & 0x3ff);
    let kbps = KBPS.get(usize::from(index))?;
    let rate = DataRate::from_bps(kbps * 1000)?;
    let rtt = Span::from_millis(i64::from(ms));
    (mark == MARK && ms > 0).then_some(Feedback { rtt, rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback(rtt_us: i64, kbps: u64) -> Feedback {
        Feedback { rtt: Span::from_micros(rtt_us), rate: DataRate::from_bps(kbps * 1000).unwrap() }
    }

    #[test]
    fn fields_by_hand() {
        // 10, 0011, 00 1001 0110; and 10, 1011, 11 1111 1111.
        assert_eq!(encode(&feedback(150_000, 11_000)), Some(0b1000_1100_1001_0110));
        assert_eq!(encode(&feedback(1_023_000, 54_000)), Some(0b1010_1111_1111_1111));
        for (us, decoded) in [(0, 1), (400, 1), (1499, 1), (1500, 2), (1_000_000_000, 1023)] {
            let decoded = feedback(decoded * 1000, 1000);
            assert_eq!(encode(&feedback(us, 1000)).and_then(decode), Some(decoded));
        }
        assert_eq!(encode(&feedback(1000, 7200)), None);
    }

    /// Every field with feedback decodes to the feedback it was encoded from. None of them is a NAV (below 32768), the
    /// value of a contention-free period (32768) or an association ID (both bits set).
    #[test]
    fn all_fields() {
        let mut telling = 0;
        for field in 0..=u16::MAX {
            if let Some(decoded) = decode(field) {
                assert_eq!(encode(&decoded), Some(field));
                assert!((32_769..49_152).contains(&field));
                telling += 1;
            }
        }
        assert_eq!(telling, 12 * 1023);
    }
}
