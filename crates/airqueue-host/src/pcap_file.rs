//! Files for captures of simulated networks; the simulator writes the content.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A capture's file or pipe. The buffer never splits a record: a reader finds whole records at any
/// time, also after the run was killed.
pub type PcapFile = BufWriter<File>;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Makes a file, in place of what was there.
pub fn create(path: &Path) -> io::Result<PcapFile> {
    Ok(BufWriter::with_capacity(BUFFER, File::create(path)?))
}
