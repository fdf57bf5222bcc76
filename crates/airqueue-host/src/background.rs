//! Files that a thread of their own writes, so that a slow disk does not make a loop late.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes that may wait for the disk; then the writing loop waits too. Captures write 64 KB at once.
const MOST_WAITING: usize = 512;

/// A file that is written in the background, in the order and in the parts in which it is given. An error is that of a later
/// write, or of [`Write::flush`], which waits until all is written.
#[derive(Debug)]
pub struct BackgroundFile {
    jobs: SyncSender<Job>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

/// What the thread does next.
#[derive(Debug)]
enum Job {
    Write(Vec<u8>),
    /// Tells that everything before is written.
    Tell(SyncSender<()>),
}

impl BackgroundFile {
    /// Makes a file, in place of what was there.
    pub fn create(path: &Path) -> io::Result<BackgroundFile> {
        let mut file = File::create(path)?;
        let (jobs, given): (_, Receiver<Job>) = sync_channel(MOST_WAITING);
        let failure = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&failure);
        let work = move || {
            for job in given {
                let done = match job {
                    Job::Write(bytes) => file.write_all(&bytes),
                    Job::Tell(to) => to.send(()).map_err(io::Error::other),
                };
                if let Err(error) = done {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
        };
        std::thread::Builder::new().name("airqueue-file".to_owned()).spawn(work)?;
        Ok(BackgroundFile { jobs, failure })
    }

    /// Gives the thread a job; otherwise why the thread has ended.
    fn give(&mut self, job: Job) -> io::Result<()> {
        self.jobs.send(job).map_err(|_| self.failure())
    }

    fn failure(&self) -> io::Error {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.unwrap_or_else(|| io::Error::other("an earlier part could not be written"))
    }
}

impl Write for BackgroundFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.give(Job::Write(bytes.to_vec()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let (tell, told) = sync_channel(1);
        self.give(Job::Tell(tell))?;
        told.recv().map_err(|_| self.failure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_in_the_file_after_a_flush() {
        let path = std::env::temp_dir().join(format!("airqueue-background-{}", std::process::id()));
        let mut file = BackgroundFile::create(&path).unwrap();
        let mut expected = Vec::new();
        for number in 0..2000u32 {
            file.write_all(&number.to_be_bytes()).unwrap();
            expected.extend(number.to_be_bytes());
        }
        file.flush().unwrap();
        let found = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found, expected);
    }

    #[test]
    fn errors_are_told() {
        assert!(BackgroundFile::create(Path::new("/nowhere/at/all")).is_err());
        let mut full = BackgroundFile::create(Path::new("/dev/full")).unwrap();
        let _ = full.write(b"x");
        assert_eq!(full.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(full.write(b"x").is_err());
    }
}
