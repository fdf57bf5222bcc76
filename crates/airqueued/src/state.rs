//! The directory of the journal: whoever holds its lock acts, and nobody else.

use airqueue_control::journal::{Journal, VERSION};
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use thiserror::Error;

/// A journal of 256 settings with large trees has less.
const LARGEST: u64 = 64 << 20;
/// How often a lock that another process holds is tried.
const GLANCE: Duration = Duration::from_millis(20);

/// Why the state cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The directory is not to be had.
    #[error("cannot use the directory {}: {reason}; run as root, or give a directory of yours by --state", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file of it is not to be had.
    #[error("cannot {action} {}: {reason}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's words.
        reason: io::Error,
    },
    /// The journal is no journal.
    #[error("the journal {} is damaged ({reason}): settings stay as they are. Look at it, put back what it names, and remove it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The journal is that of another version of this program.
    #[error("the journal {} is of version {found}, and this airqueued reads version {VERSION}: settings stay as they are. Restore them with the airqueued that has set them", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// Another process acts.
    #[error("another airqueued is changing settings; try again when it has ended")]
    Busy,
}

impl StateError {
    /// Whether the directory is not there any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, StateError::File { reason, .. } if reason.kind() == io::ErrorKind::NotFound)
    }
}

/// The directory.
#[derive(Clone, Debug)]
pub struct State {
    path: PathBuf,
}

/// The right to act. It ends with the value, and with the process.
pub struct Locked<'a> {
    state: &'a State,
    _lock: Flock<File>,
}

/// A post that one process holds until its end: that of the guard, or that of the process that steers settings.
pub struct Post(#[allow(dead_code)] Flock<File>);

/// The lock's file of the guard.
const GUARD: &str = "guard";
/// That of the process that steers settings.
const STEER: &str = "steer";
/// The last number of a start.
const STARTS: &str = "starts";

impl State {
    /// Makes the directory if there is none. Others must not be able to write to it: they could have us set anything.
    pub fn open(path: &Path) -> Result<State, StateError> {
        let refused = |reason: String| StateError::Directory { path: path.to_owned(), reason };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(|e| refused(e.to_string()))?;
        let path = fs::canonicalize(path).map_err(|e| refused(e.to_string()))?;
        let about = fs::metadata(&path).map_err(|e| refused(e.to_string()))?;
        if about.mode() & 0o022 != 0 {
            return Err(refused("others may write to it".into()));
        }
        if about.uid() != geteuid().as_raw() && about.uid() != 0 {
            return Err(refused("it is another user's".into()));
        }
        Ok(State { path })
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory is still there after a restart of the machine: OpenWrt's `/var` is memory.
    pub fn outlives(&self) -> bool {
        !statfs(&self.path).is_ok_and(|about| about.filesystem_type() == TMPFS_MAGIC)
    }

    /// The right to act, as soon as nobody else has it.
    pub fn lock(&self, patience: Duration) -> Result<Locked<'_>, StateError> {
        let until = Instant::now() + patience;
        loop {
            if let Some(lock) = self.try_lock("lock")? {
                return Ok(Locked { state: self, _lock: lock });
            }
            if Instant::now() >= until {
                return Err(StateError::Busy);
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Waits for the post of the guard.
    pub fn wait_for_post(&self) -> Result<Post, StateError> {
        let mut file = self.lock_file(GUARD)?;
        loop {
            match Flock::lock(file, FlockArg::LockExclusive) {
                Ok(lock) => return Ok(Post(lock)),
                Err((again, nix::errno::Errno::EINTR)) => file = again,
                Err((_, errno)) => return Err(self.failed("lock", GUARD, errno.into())),
            }
        }
    }

    /// Whether a process has the post of the guard.
    pub fn is_guarded(&self) -> Result<bool, StateError> {
        Ok(self.try_lock(GUARD)?.is_none())
    }

    /// The right to steer settings; none if another process has it.
    pub fn take_helm(&self) -> Result<Option<Post>, StateError> {
        Ok(self.try_lock(STEER)?.map(Post))
    }

    /// Whether a process steers settings.
    pub fn is_steered(&self) -> Result<bool, StateError> {
        Ok(self.try_lock(STEER)?.is_none())
    }

    /// The journal, an empty one if there is none.
    pub fn journal(&self) -> Result<Journal, StateError> {
        let path = self.path.join("journal.json");
        let mut text = String::new();
        // Of a pipe nothing is waited for.
        let file = match OpenOptions::new()
            .read(true)
            .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
            .open(&path)
        {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::default()),
            Err(error) => return Err(self.failed("read", "journal.json", error)),
            Ok(file) => file,
        };
        if let Err(error) = file.take(LARGEST).read_to_string(&mut text) {
            return Err(StateError::Damaged { path, reason: error.to_string() });
        }
        Journal::read(&text).map_err(|reason| match Journal::version(&text) {
            Some(found) if found != u64::from(VERSION) => StateError::Version { path, found },
            _ => StateError::Damaged { path, reason },
        })
    }

    /// A number that is larger each time: the time of day in seconds, or one more than the last one, where the clock stands still
    /// or was set back.
    pub fn next_start(&self) -> Result<u32, StateError> {
        let path = self.path.join(STARTS);
        let last = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(self.failed("read", STARTS, error)),
            // What is no number is none of ours.
            Ok(text) => text.trim().parse::<u32>().ok(),
        };
        let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = u32::try_from(day.as_secs()).unwrap_or(u32::MAX);
        let number = last.map_or(seconds, |last| seconds.max(last.saturating_add(1)));
        self.replace(STARTS, &number.to_string()).map(|()| number)
    }

    /// Replaces a file so that a power cut leaves the old one or the new one.
    fn replace(&self, name: &str, text: &str) -> Result<(), StateError> {
        let failed = |error| self.failed("write", name, error);
        let path = self.path.join(name);
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits());
        let mut file = options.open(&new).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, path).map_err(failed)?;
        // The name is in the directory, which has to be on the disk too.
        File::open(&self.path).and_then(|directory| directory.sync_all()).map_err(failed)
    }

    fn try_lock(&self, name: &'static str) -> Result<Option<Flock<File>>, StateError> {
        match Flock::lock(self.lock_file(name)?, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, errno)) => Err(self.failed("lock", name, errno.into())),
        }
    }

    /// A file system may have become read-only. Its files can be locked all the same, and a plan has to go back then, too.
    fn lock_file(&self, name: &'static str) -> Result<File, StateError> {
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).mode(0o600).custom_flags(OFlag::O_NOFOLLOW.bits());
        let opened = options.open(&path).or_else(|error| match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => {
                let mut options = OpenOptions::new();
                options.read(true).custom_flags(OFlag::O_NOFOLLOW.bits());
                options.open(&path).map_err(|_| error)
            }
            _ => Err(error),
        });
        opened.map_err(|error| self.failed("open", name, error))
    }

    fn failed(&self, action: &'static str, name: &str, reason: io::Error) -> StateError {
        StateError::File { action, path: self.path.join(name), reason }
    }
}

impl Locked<'_> {
    /// Replaces the journal so that a power cut leaves the old one or the new one.
    pub fn write(&self, journal: &Journal) -> Result<(), StateError> {
        self.state.replace("journal.json", &journal.write())
    }
}
