//! Attributes of netlink messages (`struct nlattr`).

use super::NetlinkError;
use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED, NlaBuffer, NlasIterator};

/// An attribute as it was read: its type without flags, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// `nla_type` without NLA_F_NESTED and NLA_F_NET_BYTEORDER.
    pub kind: u16,
    /// What follows the attribute's header.
    pub value: &'a [u8],
}

/// The attributes of a message, or inside an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'a>(pub Vec<Attribute<'a>>);

/// Reads attributes; the first one whose length is wrong is an error.
pub fn read(bytes: &[u8]) -> Result<Attributes<'_>, NetlinkError> {
    let mut attributes = Vec::new();
    let mut rest = bytes;
    for next in NlasIterator::new(bytes) {
        let next: NlaBuffer<&[u8]> = next.map_err(super::unreadable)?;
        let length = usize::from(next.length());
        // Of the iterator's buffer the value's lifetime would be that of `next`.
        attributes.push(Attribute { kind: next.kind(), value: &rest[4..length] });
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(Attributes(attributes))
}

impl<'a> Attributes<'a> {
    /// The bytes of the first attribute of a type.
    pub fn find(&self, kind: u16) -> Option<&'a [u8]> {
        self.0.iter().find(|attribute| attribute.kind == kind).map(|attribute| attribute.value)
    }

    /// The attributes inside the first one of a type; none if there is none.
    pub fn inside(&self, kind: u16) -> Result<Attributes<'a>, NetlinkError> {
        self.find(kind).map_or(Ok(Attributes::default()), read)
    }

    /// A number of up to 8 bytes, in the machine's order. None if there is no such attribute, or if it has no such size.
    pub fn number(&self, kind: u16) -> Option<u64> {
        self.find(kind).and_then(number)
    }

    /// A text, as [`text`] reads it.
    pub fn text(&self, kind: u16) -> Option<String> {
        self.find(kind).map(text)
    }
}

/// A number of 1, 2, 4 or 8 bytes in the machine's order.
pub fn number(bytes: &[u8]) -> Option<u64> {
    Some(match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    })
}

/// A text that ends with a zero byte or with the attribute. What is no UTF-8, or would act on a terminal, is replaced.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Attributes to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// After a message's own header, as `struct tcmsg`.
    pub fn after(header: &[u8]) -> Writer {
        Writer(header.to_vec())
    }

    /// Adds an attribute of any bytes.
    ///
    /// # Panics
    /// If the value is longer than an attribute can be, 65,531 bytes.
    pub fn bytes(mut self, kind: u16, value: &[u8]) -> Writer {
        assert!(value.len() <= usize::from(u16::MAX) - 4, "an attribute of {} bytes", value.len());
        let attribute = DefaultNla::new(kind, value.to_vec());
        let start = self.0.len();
        self.0.resize(start + attribute.buffer_len(), 0);
        attribute.emit(&mut self.0[start..]);
        self
    }

    /// Adds a number of 4 bytes.
    pub fn u32(self, kind: u16, value: u32) -> Writer {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds a number of 4 bytes if there is one.
    pub fn maybe_u32(self, kind: u16, value: Option<u32>) -> Writer {
        match value {
            Some(value) => self.u32(kind, value),
            None => self,
        }
    }

    /// Adds a number of 8 bytes.
    pub fn u64(self, kind: u16, value: u64) -> Writer {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// Adds a text with the zero byte at its end.
    pub fn text(self, kind: u16, value: &str) -> Writer {
        self.bytes(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Adds attributes within an attribute.
    pub fn nested(self, kind: u16, inside: Writer) -> Writer {
        self.bytes(kind | NLA_F_NESTED, &inside.0)
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
