//! Errors of this level, one sentence each: what, where, what to do.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why an endpoint could not be created, or a call failed.
#[derive(Debug, Error)]
pub enum HostError {
    /// The name has no address.
    #[error("cannot resolve {host}: {reason}; check the name, or give an IP address")]
    Resolve {
        /// The name as given.
        host: String,
        /// The resolver's message.
        reason: String,
    },
    /// The handshake got no reply in time.
    #[error(
        "no answer from {server} within {seconds} s: check that `airqueue server` runs there and that UDP port {} passes in both directions",
        server.port()
    )]
    NoAnswer {
        /// The server's address.
        server: SocketAddr,
        /// How long the client waited.
        seconds: f64,
    },
    /// The server's host answered, but nobody listens.
    #[error("{server} refuses UDP: start `airqueue server` there, or give its --port")]
    Refused {
        /// The server's address.
        server: SocketAddr,
    },
    /// The server's address cannot be reached from here.
    #[error("cannot reach {server}: {reason}; check the address and this machine's network")]
    Unreachable {
        /// The server's address.
        server: SocketAddr,
        /// The kernel's message.
        reason: String,
    },
    /// The port is in use.
    #[error("UDP port {} of {} is taken: stop the other program or choose another port", address.port(), address.ip())]
    PortInUse {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// Binding failed for another reason.
    #[error(
        "cannot listen on {address}: {reason}; give an address of this machine and a port that this user may open"
    )]
    Bind {
        /// The address that was asked for.
        address: SocketAddr,
        /// The kernel's message.
        reason: String,
    },
    /// The namespace cannot be opened or entered.
    #[error("cannot enter the network namespace {}: {reason}{}", path.display(), namespace_advice(*denied))]
    Namespace {
        /// Path as given.
        path: PathBuf,
        /// The kernel's message.
        reason: String,
        /// Whether permission was the reason.
        denied: bool,
    },
    /// A request that is not valid.
    #[error("{0}")]
    Request(String),
    /// The endpoint's state machine gave up.
    #[error(transparent)]
    Session(#[from] airqueue_probe::ClientError),
    /// The kernel refused a call that normally succeeds.
    #[error("the operating system refused to {action}: {source}")]
    System {
        /// The attempted action.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The endpoint's thread is gone.
    #[error("this endpoint is closed; make a new one")]
    Closed,
    /// Reading or writing a capture file.
    #[error("{0}")]
    Capture(#[from] crate::capture_file::CaptureFileError),
}

fn namespace_advice(denied: bool) -> &'static str {
    if denied { "; run as root, or inside the user namespace that owns it" } else { "" }
}

impl HostError {
    /// Wraps what the kernel answered to `action`.
    pub(crate) fn system(action: &'static str) -> impl FnOnce(io::Error) -> HostError {
        move |source| HostError::System { action, source }
    }
}

/// The kernel's words for an error, without the number.
pub fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
