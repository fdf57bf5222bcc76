//! Errors of control points of radios, one sentence each: what, where, what to do.

use crate::netlink::NetlinkError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why something about a radio could not be read or set.
#[derive(Debug, Error)]
pub enum RadioError {
    /// The kernel's answer to a request.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// No phy or interface of this name.
    #[error("there is no {kind} {name:?}; `airqueued places` lists what there is")]
    Absent {
        /// What was looked for.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The kernel, the driver or hostapd does not have this setting here.
    #[error("{what} has no {setting}: {reason}")]
    Unsupported {
        /// Where.
        what: String,
        /// Which setting.
        setting: &'static str,
        /// How that was found.
        reason: String,
    },
    /// A value outside what can be set.
    #[error("{0}")]
    Value(String),
    /// hostapd cannot be reached.
    #[error("cannot reach hostapd at {}: {reason}; set ctrl_interface in its configuration and start it", path.display())]
    NoHostapd {
        /// Its socket.
        path: PathBuf,
        /// The kernel's message.
        reason: String,
    },
    /// hostapd does not answer.
    #[error("hostapd at {} did not answer {command} within {seconds} s; restart it, or try later", path.display())]
    Silent {
        /// Its socket.
        path: PathBuf,
        /// The command.
        command: String,
        /// How long it was waited.
        seconds: u64,
    },
    /// hostapd says no.
    #[error("hostapd at {} refuses {command:?}: it says {answer:?}", path.display())]
    Refused {
        /// Its socket.
        path: PathBuf,
        /// The command.
        command: String,
        /// What hostapd says.
        answer: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {reason}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
        /// Whether a right is missing.
        denied: bool,
    },
    /// The kernel refuses a call.
    #[error("the kernel refuses to {action} of {interface}: {reason}")]
    Call {
        /// What was tried.
        action: &'static str,
        /// The interface.
        interface: String,
        /// The kernel's message.
        reason: String,
    },
}

impl RadioError {
    /// The error of a file.
    pub(crate) fn file(action: &'static str, path: &Path, error: &io::Error) -> Self {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        Self::File { action, path: path.to_owned(), reason: error.to_string(), denied }
    }
}
