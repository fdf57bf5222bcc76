//! Why a client gave up, in one sentence each.

use thiserror::Error;

/// Why a client gave up or would not start a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No reply at all.
    #[error(
        "no reply from {server}: check the address, that `airqueue server` runs there, and that UDP passes in both directions"
    )]
    Silent {
        /// The server's address.
        server: std::net::SocketAddr,
    },
}
