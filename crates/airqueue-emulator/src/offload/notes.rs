//! The notes before each packet of a device with `IFF_VNET_HDR`: `struct virtio_net_hdr` of `linux/virtio_net.h`, in the
//! machine's order of bytes.

/// Bytes of the notes before a packet.
pub const NOTES_BYTES: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// The first segment has CWR. Which it is TCP's header says too.
const GSO_ECN: u8 = 0x80;

/// What a packet is to be cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Segments of TCP over this version of IP.
    Tcp {
        /// 4 or 6.
        version: u8,
    },
    /// Datagrams of UDP.
    Udp,
}

/// What the sender of a packet has left to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Where the bytes begin that the checksum covers, and where it is, counted from there. The place of the checksum has
    /// the sum of the pseudo-header.
    pub checksum: Option<(u16, u16)>,
    /// What the packet is cut into, and the bytes of data of each piece.
    pub cut: Option<(Cut, u16)>,
    /// Bytes of all headers; the kernel uses them as a hint.
    pub header_bytes: u16,
}

impl Notes {
    /// Reads notes; `None`: they ask for something that was not offered.
    pub fn read(bytes: &[u8; NOTES_BYTES]) -> Option<Notes> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let cut = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCP4 => Some((Cut::Tcp { version: 4 }, word(4))),
            GSO_TCP6 => Some((Cut::Tcp { version: 6 }, word(4))),
            GSO_UDP => Some((Cut::Udp, word(4))),
            _ => return None,
        };
        let checksum = (bytes[0] & NEEDS_CHECKSUM != 0).then(|| (word(6), word(8)));
        Some(Notes { checksum, cut, header_bytes: word(2) })
    }

    /// The notes before a packet that is written to a device.
    pub fn to_bytes(self) -> [u8; NOTES_BYTES] {
        let mut bytes = [0; NOTES_BYTES];
        let mut put = |at: usize, word: u16| bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        put(2, self.header_bytes);
        if let Some((start, at)) = self.checksum {
            put(6, start);
            put(8, at);
        }
        if let Some((_, size)) = self.cut {
            put(4, size);
        }
        bytes[0] = u8::from(self.checksum.is_some()) * NEEDS_CHECKSUM;
        bytes[1] = match self.cut {
            None => GSO_NONE,
            Some((Cut::Tcp { version: 4 }, _)) => GSO_TCP4,
            Some((Cut::Tcp { .. }, _)) => GSO_TCP6,
            Some((Cut::Udp, _)) => GSO_UDP,
        };
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_as_they_are_written() {
        for cut in [Cut::Tcp { version: 4 }, Cut::Tcp { version: 6 }, Cut::Udp] {
            let notes =
                Notes { checksum: Some((20, 16)), cut: Some((cut, 1448)), header_bytes: 52 };
            assert_eq!(Notes::read(&notes.to_bytes()), Some(notes));
        }
        assert_eq!(Notes::default().to_bytes(), [0; NOTES_BYTES]);
        assert_eq!(Notes::read(&[0; NOTES_BYTES]), Some(Notes::default()));
    }

    #[test]
    fn pieces_that_were_not_offered_are_refused() {
        // UDP's fragments (VIRTIO_NET_HDR_GSO_UDP), and numbers without a meaning.
        for kind in [3, 2, 6, 0x20, 0x40, 0x83] {
            let mut bytes = [0; NOTES_BYTES];
            bytes[1] = kind;
            assert_eq!(Notes::read(&bytes), None, "{kind}");
        }
    }
}
