//! Keys, tags and cookies: HMAC-SHA256 (RFC 2104), cut to 16 bytes (RFC 2104 section 5 allows
//! halves).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::net::{IpAddr, SocketAddr};

/// Length of a tag or cookie in bytes.
pub const TAG_LEN: usize = 16;

/// The sender of a tagged message. A message reflected to its sender does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client.
    Client,
    /// The server.
    Server,
}

pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes keys of any length, the error cannot occur; an empty key instead never verifies.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|p| mac.update(p));
    mac.finalize().into_bytes().into()
}

fn cut<const N: usize>(full: [u8; 32]) -> [u8; N] {
    std::array::from_fn(|i| full[i])
}

/// Compares in constant time.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

/// The key that tags messages; never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct TagKey([u8; 32]);

impl std::fmt::Debug for TagKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TagKey(..)")
    }
}

impl TagKey {
    /// The key of requests to open a session: they prove that the client knows the shared key.
    pub fn opening(shared: Option<&[u8]>) -> Self {
        TagKey(hmac(shared.unwrap_or_default(), &[b"airqueue open"]))
    }

    /// The key of one session. Without a shared key this key derives from the nonce and the session id, which
    /// only those on the path have seen.
    pub fn session(shared: Option<&[u8]>, nonce: u64, session: u64) -> Self {
        let (n, s) = (nonce.to_be_bytes(), session.to_be_bytes());
        TagKey(hmac(shared.unwrap_or_default(), &[b"airqueue session", &n, &s]))
    }

    fn tag(&self, role: Role, message: &[u8]) -> [u8; TAG_LEN] {
        let role: &[u8] = if role == Role::Client { b"c" } else { b"s" };
        cut(hmac(&self.0, &[role, message]))
    }

    /// Appends the tag to a message.
    pub fn seal(&self, role: Role, message: &mut Vec<u8>) {
        let tag = self.tag(role, message);
        message.extend_from_slice(&tag);
    }

    /// Whether the last [`TAG_LEN`] bytes are the tag of the rest.
    pub fn verify(&self, role: Role, sealed: &[u8]) -> bool {
        sealed.split_last_chunk::<TAG_LEN>().is_some_and(|(m, t)| same(&self.tag(role, m), t))
    }
}

/// An address as IPv6, IPv4 mapped.
pub(crate) fn address_octets(ip: IpAddr) -> [u8; 16] {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The challenge that proves an address: only the receiver at `address` learns it. `stamp` is the
/// server's clock in seconds.
pub fn cookie(secret: &[u8; 32], address: SocketAddr, nonce: u64, stamp: u32) -> [u8; TAG_LEN] {
    let ip = address_octets(address.ip());
    let (port, n, s) = (address.port().to_be_bytes(), nonce.to_be_bytes(), stamp.to_be_bytes());
    cut(hmac(secret, &[b"airqueue cookie", &ip, &port, &n, &s]))
}

/// Whether `given` is the cookie of these values.
pub fn cookie_fits(
    secret: &[u8; 32],
    address: SocketAddr,
    nonce: u64,
    stamp: u32,
    given: &[u8; TAG_LEN],
) -> bool {
    same(&cookie(secret, address, nonce, stamp), given)
}

/// A number that nobody without `secret` can guess; a function of `counter`.
pub fn unguessable(secret: &[u8; 32], what: &str, counter: u64) -> u64 {
    let id = cut(hmac(secret, &[what.as_bytes(), &counter.to_be_bytes()]));
    u64::from_be_bytes(id).max(1)
}
