//! What a radiotap header says of a scheme of 802.11n and later (radiotap.org).

use super::Mcs;

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

impl Mcs {
    /// The field that says it.
    pub fn radiotap(self) -> RadiotapField {
        (self.format.facts().radiotap)(self)
    }
}
