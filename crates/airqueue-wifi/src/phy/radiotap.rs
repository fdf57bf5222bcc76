//! What a radiotap header says of a scheme of 802.11n and later (radiotap.org).

use super::{Format, Mcs};

/// How a format's file says its schemes.
pub(super) struct Radiotap {
    /// Of the field, among all fields.
    pub(super) number: u32,
    /// The field begins at a multiple of so many bytes.
    pub(super) align: usize,
    /// How long the field is.
    pub(super) bytes: usize,
    /// What the field says.
    pub(super) field: fn(Mcs) -> Vec<u8>,
}

/// A field of a radiotap header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RadiotapField {
    /// Its number among all fields.
    pub number: u32,
    /// It begins at a multiple of so many bytes.
    pub align: usize,
    /// What it says.
    pub bytes: Vec<u8>,
}

impl RadiotapField {
    /// Bytes of the longest that a format has.
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
    /// The field that says it.
    pub fn radiotap(self) -> RadiotapField {
        let Radiotap { number, align, bytes, field } = self.format.facts().radiotap;
        let field = field(self);
        debug_assert_eq!(field.len(), bytes, "as long as the format says");
        RadiotapField { number, align, bytes: field }
    }
}
