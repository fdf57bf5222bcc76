//! Columns of times in few bytes: alternating runs of present and missing rows, present rows as
//! differences from the previous present one.
//!
//! ```text
//! repeat until all rows are covered:
//!   varint present    number of rows that have a value
//!   zigzag * present  value minus the previous value of the column (the first: minus zero)
//!   varint missing    number of rows that have none (left out when no row is left)
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

/// A run of rows cannot be longer than the rest of the column.
fn run_length(reader: &mut Reader<'_>, left: usize) -> Result<usize, Truncated> {
    let n = usize::try_from(reader.varint()?).map_err(|_| Truncated)?;
    if n > left { Err(Truncated) } else { Ok(n) }
}
