//! A reader of captures, written from the documents of the formats.

#![allow(dead_code, reason = "each test file uses its part")]

pub fn le16(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

pub fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// A record, from radiotap header to FCS.
pub struct Record {
    pub time_ns: i64,
    pub length: usize,
    pub bytes: Vec<u8>,
}

impl Record {
    pub fn frame(&self) -> &[u8] {
        &self.bytes[usize::from(le16(&self.bytes[2..]))..]
    }

    pub fn is_marked_bad(&self) -> bool {
        self.bytes[16] & 0x40 != 0
    }
}

pub fn records(file: &[u8], snap: u32) -> Vec<Record> {
    let words: Vec<u32> = file[..24].chunks(4).map(le32).collect();
    assert_eq!(words, [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, snap, 127]);
    let mut rest = &file[24..];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let [seconds, nanos, kept, length] = [0, 4, 8, 12].map(|at| le32(&rest[at..]));
        let (bytes, after) = rest[16..].split_at(kept as usize);
        rest = after;
        assert!(nanos < 1_000_000_000 && kept == length.min(snap));
        let time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(nanos);
        records.push(Record { time_ns, length: length as usize, bytes: bytes.to_vec() });
    }
    records
}

/// The Internet checksum over words, folded.
pub fn internet_sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into());
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}
