//! Where captures of simulated networks go. What is in them is the simulator's.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A capture's file or pipe. A buffer passes on what it was given in whole pieces, and each record is one: a
/// reader finds whole records at any time, also where the run was killed.
pub type PcapFile = BufWriter<File>;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Makes a file, in place of what was there.
pub fn create(path: &Path) -> io::Result<PcapFile> {
    Ok(BufWriter::with_capacity(BUFFER, File::create(path)?))
}
