//! The feedback of an RDQM receiver in the Duration/ID field of an ACK or a block ack: a proposal.
//!
//! The paper (Kliazovich and others, 2011) puts rate and round-trip time in this field without giving an encoding. The
//! field of a response that ends an exchange is 0, and other stations take any value below 32768 for a NAV (IEEE
//! 802.11-2016, 9.2.4.2). They ignore values from 32768 to 49151, except 32768 itself, the NAV of a contention-free
//! period:
//!
//! | bits | |
//! |---|---|
//! | 15, 14 | 1, 0 |
//! | 13 to 10 | the rate: 0 to 3 for 1, 2, 5.5, 11 Mb/s; 4 to 11 for 6, 9, 12, 18, 24, 36, 48, 54 Mb/s; 15: the rate of the data frame, which its sender knows |
//! | 9 to 0 | the round-trip time in milliseconds, 1 to 1023; longer times are sent as 1023 |
//!
//! The rates of 802.11n and later are too many for numbers, hence 15. A field has room for one flow: of an A-MPDU the
//! flow of the first MPDU that the response acknowledges. A response that announces a NAV, of the rest of a TXOP, has no
//! room.

use airqueue_core::{DataRate, Feedback, Span};

const MARK: u16 = 0b10 << 14;
const MOST_MS: i64 = 0x3ff;
const KBPS: [u64; 12] =
    [1000, 2000, 5500, 11_000, 6000, 9000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
const OF_THE_DATA_FRAME: usize = 15;

/// The field for this feedback.
pub fn encode(feedback: &Feedback) -> u16 {
    let number = KBPS.iter().position(|kbps| kbps * 1000 == feedback.rate.as_bps());
    let number = number.unwrap_or(OF_THE_DATA_FRAME);
    // Rounded to the nearest millisecond, and never 0, which would be the value of a contention-free period.
    let ms = feedback.rtt.as_nanos().saturating_add(500_000) / 1_000_000;
    MARK | (number as u16) << 10 | ms.clamp(1, MOST_MS) as u16
}

/// The feedback in the field of a response to data of rate `sent`; `None`: the field is a NAV or has another meaning.
pub fn decode(field: u16, sent: DataRate) -> Option<Feedback> {
    let (mark, number, ms) = (field & 0b11 << 14, usize::from(field >> 10 & 0xf), field & 0x3ff);
    let rate = match number {
        OF_THE_DATA_FRAME => sent,
        _ => DataRate::from_bps(KBPS.get(number)? * 1000)?,
    };
    let rtt = Span::from_millis(i64::from(ms));
    (mark == MARK && ms > 0).then_some(Feedback { rtt, rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kbps(kbps: u64) -> DataRate {
        DataRate::from_bps(kbps * 1000).unwrap()
    }

    fn feedback(rtt_us: i64, rate: u64) -> Feedback {
        Feedback { rtt: Span::from_micros(rtt_us), rate: kbps(rate) }
    }

    #[test]
    fn fields_by_hand() {
        // 10, 0011, 00 1001 0110; 10, 1011, 11 1111 1111; and 10, 1111, 00 0000 0001.
        assert_eq!(encode(&feedback(150_000, 11_000)), 0b1000_1100_1001_0110);
        assert_eq!(encode(&feedback(1_023_000, 54_000)), 0b1010_1111_1111_1111);
        assert_eq!(encode(&feedback(1000, 7200)), 0b1011_1100_0000_0001);
        for (us, decoded) in [(0, 1), (400, 1), (1499, 1), (1500, 2), (1_000_000_000, 1023)] {
            for rate in [1000, 7200] {
                let decoded = feedback(decoded * 1000, rate);
                assert_eq!(decode(encode(&feedback(us, rate)), kbps(rate)), Some(decoded));
            }
        }
    }

    /// Every field with feedback decodes to the feedback it was encoded from. None of them is a NAV (below 32768), the
    /// value of a contention-free period (32768) or an association ID (both bits set).
    #[test]
    fn all_fields() {
        let mut telling = 0;
        for field in 0..=u16::MAX {
            if let Some(decoded) = decode(field, kbps(7200)) {
                assert_eq!(encode(&decoded), field);
                assert!((32_769..49_152).contains(&field));
                telling += 1;
            }
        }
        assert_eq!(telling, 13 * 1023);
    }
}
