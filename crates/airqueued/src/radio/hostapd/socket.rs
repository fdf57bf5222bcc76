//! The datagram socket of hostapd's control interface (`wpa_ctrl.c`).

use crate::radio::error::RadioError;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long hostapd may take for an answer: it is busy while it changes channels.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// hostapd's answers are at most 4096 bytes (`hostapd_ctrl_iface_receive`); more is cut.
const LONGEST_ANSWER: usize = 4096;

/// A hostapd, by the control socket of one of its interfaces.
#[derive(Debug)]
pub struct Hostapd {
    socket: UnixDatagram,
    path: PathBuf,
    wait: Duration,
    /// An answer that comes too late would be taken for that of the next command.
    lost: bool,
}

impl Hostapd {
    /// Opens the socket of an interface below a folder (`ctrl_interface`, usually `/run/hostapd`).
    pub fn open(folder: &Path, interface: &str) -> Result<Self, RadioError> {
        Self::open_patiently(folder, interface, LONGEST_WAIT)
    }

    /// As [`Hostapd::open`], with another time for answers.
    pub fn open_patiently(
        folder: &Path,
        interface: &str,
        wait: Duration,
    ) -> Result<Self, RadioError> {
        if !is_interface_name(interface) {
            return Err(RadioError::Value(format!("{interface:?} is no name of an interface")));
        }
        let path = folder.join(interface);
        let socket = connect(&path, wait).map_err(|error| RadioError::NoHostapd {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        Ok(Self { socket, path, wait, lost: false })
    }

    /// The socket's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When hostapd made the socket, in nanoseconds since 1970.
    pub fn started_ns(&self) -> Result<i64, RadioError> {
        let made = std::fs::metadata(&self.path);
        let made = made.map_err(|error| RadioError::file("read", &self.path, &error))?;
        Ok(made.mtime().saturating_mul(1_000_000_000).saturating_add(made.mtime_nsec()))
    }

    /// Sends a command and returns the answer, without characters that act on terminals but with its lines.
    pub fn request(&mut self, command: &str) -> Result<String, RadioError> {
        if command.contains(|char: char| char.is_control()) {
            return Err(RadioError::Value(format!("{command:?} is no command of hostapd")));
        }
        if self.lost {
            return Err(self.silent(command));
        }
        let deadline = Instant::now() + self.wait;
        let sent = self.socket.send(command.as_bytes());
        sent.map_err(|error| self.failed(command, &error))?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.lost = true;
                return Err(self.silent(command));
            }
            let mut bytes = [0; LONGEST_ANSWER];
            let received = self
                .socket
                .set_read_timeout(Some(left))
                .and_then(|()| self.socket.recv(&mut bytes));
            match received {
                // Events, which begin with their level, are no answers (`wpa_ctrl_request`).
                Ok(length) if bytes[..length].first() == Some(&b'<') => {}
                Ok(length) => return Ok(readable(&bytes[..length])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(command, &error)),
            }
        }
    }

    fn failed(&mut self, command: &str, error: &io::Error) -> RadioError {
        self.lost = true;
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => self.silent(command),
            _ => RadioError::NoHostapd { path: self.path.clone(), reason: error.to_string() },
        }
    }

    fn silent(&self, command: &str) -> RadioError {
        RadioError::Silent {
            path: self.path.clone(),
            command: command.to_owned(),
            seconds: self.wait.as_secs(),
        }
    }
}

/// hostapd answers to the address of the client. An abstract one leaves no file behind when this process is killed;
/// from a connected peer alone the kernel accepts datagrams (`unix_may_send`).
fn connect(path: &Path, wait: Duration) -> io::Result<UnixDatagram> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("airqueued-{}-{number}", std::process::id());
    let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.connect(path)?;
    socket.set_write_timeout(Some(wait))?;
    Ok(socket)
}

/// As the kernel has it (`dev_valid_name`), without what would lead out of the folder.
fn is_interface_name(name: &str) -> bool {
    let banned =
        |char: char| char == '/' || char == ':' || char.is_whitespace() || char.is_control();
    !name.is_empty() && name.len() < 16 && name != "." && name != ".." && !name.contains(banned)
}

fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.replace(|char: char| char.is_control() && char != '\n', "\u{fffd}")
}
