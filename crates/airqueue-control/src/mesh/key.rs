//! The key that all routers of a mesh share, and tags of messages: HMAC-SHA256 (RFC 2104), cut to 16 bytes (section 5
//! allows halves).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of a tag in bytes.
pub const TAG_LEN: usize = 16;

/// The key of a mesh; never printed.
#[derive(Clone)]
pub struct MeshKey(Hmac<Sha256>);

impl std::fmt::Debug for MeshKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MeshKey(..)")
    }
}

impl MeshKey {
    /// The key made from a shared secret, which other uses of the secret do not share; `None` for a secret of less than 16
    /// bytes, which can be guessed.
    pub fn new(secret: &[u8]) -> Option<MeshKey> {
        if secret.len() < 16 {
            return None;
        }
        // HMAC takes keys of any length, the error cannot occur.
        let derived = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        let derived = derived.chain_update(b"airqueue mesh").finalize().into_bytes();
        Hmac::new_from_slice(&derived).ok().map(MeshKey)
    }

    /// Appends the tag to a message.
    pub(super) fn seal(&self, message: &mut Vec<u8>) {
        let tag = self.0.clone().chain_update(&message).finalize().into_bytes();
        message.extend_from_slice(&tag[..TAG_LEN]);
    }

    /// The message before the tag, if the tag is its own; compares in constant time.
    pub(super) fn open<'a>(&self, sealed: &'a [u8]) -> Option<&'a [u8]> {
        let (message, tag) = sealed.split_last_chunk::<TAG_LEN>()?;
        self.0.clone().chain_update(message).verify_truncated_left(tag).ok().map(|()| message)
    }
}
