//! Reading and writing bytes: big-endian integers for the wire, variable-length ones for logs and
//! captures. Every read is checked; none trusts a length.

/// The bytes end early, or a number does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// Reads from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes` from the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        let (head, tail) = self.rest.split_at_checked(n).ok_or(Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        self.array::<1>().map(|[b]| b)
    }

    /// Big-endian.
    pub fn u16(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_be_bytes)
    }

    /// Big-endian.
    pub fn u32(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_be_bytes)
    }

    /// Big-endian.
    pub fn u64(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_be_bytes)
    }

    /// Big-endian, two's complement.
    pub fn i64(&mut self) -> Result<i64, Truncated> {
        self.array().map(i64::from_be_bytes)
    }

    /// LEB128: seven bits a byte, least significant first, high bit set on all but the last.
    pub fn varint(&mut self) -> Result<u64, Truncated> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Truncated);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Truncated)
    }

    /// A varint that fits 32 bits.
    pub fn varint_u32(&mut self) -> Result<u32, Truncated> {
        u32::try_from(self.varint()?).map_err(|_| Truncated)
    }

    /// A signed varint: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
    pub fn zigzag(&mut self) -> Result<i64, Truncated> {
        let v = self.varint()?;
        Ok((v >> 1) as i64 ^ -((v & 1) as i64))
    }
}

/// Appends a LEB128 varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed varint.
pub fn put_zigzag(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}
