//! The Internet checksum (RFC 1071).

/// A sum of 16-bit words in the machine's order, which has no influence on the checksum but for its order (RFC 1071,
/// section 2 B).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes, which begin at an even place of what is summed.
    pub fn add(self, bytes: &[u8]) -> Sum {
        let (fours, rest) = bytes.as_chunks::<4>();
        let sum: u64 = fours.iter().map(|four| u64::from(u32::from_ne_bytes(*four))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Sum(self.0 + sum + u64::from(u32::from_ne_bytes(last)))
    }

    /// Adds a number as the network has it.
    pub fn add_word(self, word: u16) -> Sum {
        self.add(&word.to_be_bytes())
    }

    /// The sum in 16 bits, as the network has it.
    pub fn folded(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (sum as u16).to_ne_bytes()
    }

    /// The checksum: the complement of the sum.
    pub fn checksum(self) -> [u8; 2] {
        self.folded().map(|byte| !byte)
    }

    /// Whether the sum of data with their checksum says that the data are right.
    pub fn is_right(self) -> bool {
        self.folded() == [0xff; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // RFC 1071, section 3.
    #[test]
    fn the_example_of_the_rfc_has_its_sum() {
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.folded(), [0xdd, 0xf2]);
        assert_eq!(sum.checksum(), [0x22, 0x0d]);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(bytes in prop::collection::vec(any::<u8>(), 0..3000), word: u16) {
            let mut sum = u64::from(word);
            for pair in bytes.chunks(2) {
                sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            let ours = Sum::default().add(&bytes).add_word(word);
            prop_assert_eq!(ours.folded(), (sum as u16).to_be_bytes());
            if bytes.len() % 2 == 0 {
                prop_assert!(Sum::default().add(&bytes).add_word(word).add(&ours.checksum()).is_right());
            }
        }
    }
}
