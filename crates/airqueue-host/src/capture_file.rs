//! Captures on disk. `airqueue_probe::capture` makes the bytes; this module writes files.
//!
//! A capture appears under its name with its header complete, grows by whole runs, and is cut back
//! to the last whole run when a write fails. A process killed in the middle of an append leaves a
//! torn tail, which readers drop and the next append removes.

use crate::error::words;
use airqueue_probe::capture::{self, Capture, CaptureError};
use airqueue_probe::records::Run;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a capture file could not be read or written.
#[derive(Debug, Error)]
pub enum CaptureFileError {
    /// The bytes are not a capture.
    #[error("cannot read {}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        source: CaptureError,
    },
    /// Reading failed.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The kernel's message.
        reason: String,
    },
    /// Writing failed.
    #[error("cannot write {}: {reason}; what was written before is whole and readable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The kernel's message.
        reason: String,
    },
    /// Making the file failed.
    #[error("cannot create {}: {reason}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The kernel's message.
        reason: String,
    },
}

/// The kernel's message about a failed write, in the user's terms.
fn full_or(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        io::ErrorKind::FileTooLarge => "the file would exceed the size limit".into(),
        _ => words(error),
    }
}

/// Reads a capture.
pub fn read(path: &Path) -> Result<Capture, CaptureFileError> {
    let bytes = fs::read(path)
        .map_err(|e| CaptureFileError::Read { path: path.to_owned(), reason: words(&e) })?;
    capture::decode(&bytes)
        .map_err(|source| CaptureFileError::Content { path: path.to_owned(), source })
}

/// A capture that grows.
#[derive(Debug)]
pub struct CaptureWriter {
    path: PathBuf,
    file: File,
    length: u64,
}

impl CaptureWriter {
    /// Makes a new capture, in place of what was there.
    pub fn create(path: &Path, header_json: &str) -> Result<CaptureWriter, CaptureFileError> {
        Self::put_in_place(path, &capture::encode_header(header_json))
    }

    /// Opens a capture to add runs to it; a torn tail is removed first.
    pub fn append(path: &Path) -> Result<CaptureWriter, CaptureFileError> {
        let found = read(path)?;
        if found.torn {
            let mut bytes = capture::encode_header(&found.header);
            for (meta, run) in &found.runs {
                bytes.extend(capture::encode_run(meta, run));
            }
            return Self::put_in_place(path, &bytes);
        }
        let failed =
            |e: io::Error| CaptureFileError::Write { path: path.to_owned(), reason: full_or(&e) };
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let length = file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(CaptureWriter { path: path.to_owned(), file, length })
    }

    /// Writes `bytes` beside `path` and renames: nobody ever sees a partial file under that name.
    fn put_in_place(path: &Path, bytes: &[u8]) -> Result<CaptureWriter, CaptureFileError> {
        let target = replaceable(path)
            .map_err(|reason| CaptureFileError::Create { path: path.to_owned(), reason })?;
        let path = target.as_path();
        let beside = beside(path);
        let write = || -> io::Result<File> {
            let mut file = File::create(&beside)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&beside, path)?;
            Ok(file)
        };
        let file = write().map_err(|e| {
            // Removing the half-written file is best effort.
            let _ = fs::remove_file(&beside);
            CaptureFileError::Create { path: path.to_owned(), reason: full_or(&e) }
        })?;
        Ok(CaptureWriter { path: path.to_owned(), file, length: bytes.len() as u64 })
    }

    /// Adds one run and syncs the file. After an error the file holds the earlier runs.
    pub fn append_run(&mut self, meta_json: &str, run: &Run) -> Result<(), CaptureFileError> {
        let bytes = capture::encode_run(meta_json, run);
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If even this fails, the reader drops the torn tail.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            let reason = full_or(&error);
            return Err(CaptureFileError::Write { path: self.path.clone(), reason });
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// The file that a rename may replace: behind links, and never a device or a directory.
fn replaceable(path: &Path) -> Result<PathBuf, String> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        Err(e) => return Err(words(&e)),
    };
    match fs::metadata(&target) {
        Ok(found) if found.is_file() => Ok(target),
        Ok(_) => Err("it is not a regular file; name one".into()),
        Err(e) => Err(words(&e)),
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(|| OsString::from("capture"), OsString::from);
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}
