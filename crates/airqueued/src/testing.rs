//! What tests of several modules share.

use std::path::{Path, PathBuf};

/// A folder of its own for a test, which is gone afterwards.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder; the name tells tests of one process apart.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airqueued-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
