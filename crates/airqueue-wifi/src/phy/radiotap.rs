//! The radiotap fields of schemes of 802.11n and later (radiotap.org).

use super::{Format, Mcs};

/// The radiotap field of a format, as defined in its file.
pub(super) struct Radiotap {
    /// The number of the field.
    pub(super) number: u32,
    /// Alignment of the field in bytes.
    pub(super) align: usize,
    /// Length of the field in bytes.
    pub(super) bytes: usize,
    /// The contents of the field.
    pub(super) field: fn(Mcs) -> Vec<u8>,
}

/// A field of a radiotap header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadiotapField {
    /// The number of the field.
    pub number: u32,
    /// Alignment of the field in bytes.
    pub align: usize,
    /// The contents of the field.
    pub bytes: Vec<u8>,
}

impl RadiotapField {
    /// Length in bytes of the longest field of any format.
    pub const LONGEST: u32 = {
        let (mut at, mut longest) = (0, 0);
        while at < Format::ALL.len() {
            let here = Format::ALL[at].facts().radiotap.bytes;
            longest = if here > longest { here } else { longest };
            at += 1;
        }
        longest as u32
    };
}

impl Mcs {
    /// The field for this scheme.
    pub fn radiotap(self) -> RadiotapField {
        let Radiotap { number, align, bytes, field } = self.format.facts().radiotap;
        let field = field(self);
        debug_assert_eq!(field.len(), bytes, "as long as the format says");
        RadiotapField { number, align, bytes: field }
    }
}
