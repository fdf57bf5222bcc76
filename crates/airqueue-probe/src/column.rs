//! Columns in few bytes. Times: alternating runs of present and missing rows, present rows as
//! differences from the previous present one.
//!
//! ```text
//! repeat until all rows are covered:
//!   varint present    number of rows that have a value
//!   zigzag * present  value minus the previous value of the column (the first: minus zero)
//!   varint missing    number of rows that have none (left out when no row is left)
//! ```
//!
//! Bytes, which change rarely: runs of equal ones.
//!
//! ```text
//! repeat until all rows are covered:
//!   varint rows, byte
//! ```

use crate::bytes::{Reader, Truncated, put_varint, put_zigzag};
use crate::records::MISSING;

/// Appends the rows `row(0) .. row(len - 1)`.
pub fn encode(out: &mut Vec<u8>, len: usize, row: impl Fn(usize) -> i64) {
    let mut at = 0;
    let mut previous = 0i64;
    while at < len {
        let present = (at..len).take_while(|&i| row(i) != MISSING).count();
        put_varint(out, present as u64);
        for i in at..at + present {
            put_zigzag(out, row(i).wrapping_sub(previous));
            previous = row(i);
        }
        at += present;
        if at < len {
            let missing = (at..len).take_while(|&i| row(i) == MISSING).count();
            put_varint(out, missing as u64);
            at += missing;
        }
    }
}

/// Reads `len` rows. The caller bounds `len`: missing rows cost next to nothing on the wire.
pub fn decode(reader: &mut Reader<'_>, len: usize) -> Result<Vec<i64>, Truncated> {
    let mut rows = Vec::with_capacity(len);
    let mut previous = 0i64;
    while rows.len() < len {
        let present = run_length(reader, len - rows.len())?;
        for _ in 0..present {
            previous = previous.wrapping_add(reader.zigzag()?);
            rows.push(previous);
        }
        if rows.len() < len {
            let missing = run_length(reader, len - rows.len())?;
            if present == 0 && missing == 0 {
                return Err(Truncated);
            }
            rows.resize(rows.len() + missing, MISSING);
        }
    }
    Ok(rows)
}

/// Appends bytes.
pub fn encode_bytes(out: &mut Vec<u8>, values: impl Iterator<Item = u8>) {
    let mut values = values.peekable();
    while let Some(value) = values.next() {
        let mut rows = 1;
        while values.next_if_eq(&value).is_some() {
            rows += 1;
        }
        put_varint(out, rows);
        out.push(value);
    }
}

/// Reads a byte for each row of which `has_one` says that there is one; the others are 0.
pub fn decode_bytes(
    reader: &mut Reader<'_>,
    has_one: impl Iterator<Item = bool>,
) -> Result<Vec<u8>, Truncated> {
    let mut rows = Vec::with_capacity(has_one.size_hint().0);
    let (mut left, mut value) = (0, 0);
    for has_one in has_one {
        if has_one && left == 0 {
            (left, value) = (reader.varint()?, reader.u8()?);
            if left == 0 {
                return Err(Truncated);
            }
        }
        left -= u64::from(has_one);
        rows.push(if has_one { value } else { 0 });
    }
    if left == 0 { Ok(rows) } else { Err(Truncated) }
}

/// A run of rows cannot be longer than the rest of the column.
fn run_length(reader: &mut Reader<'_>, left: usize) -> Result<usize, Truncated> {
    let n = usize::try_from(reader.varint()?).map_err(|_| Truncated)?;
    if n > left { Err(Truncated) } else { Ok(n) }
}
