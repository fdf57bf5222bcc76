//! What tests of several modules share.

use crate::netlink::Netlink;
use crate::radio::nl80211::{Nl80211, Request};
use netlink_sys::Socket;
use std::path::{Path, PathBuf};

/// `NETLINK_USERSOCK`: processes among themselves.
const USERSOCK: isize = 2;
/// `NLMSG_DONE`: the end of a dump.
const DONE: u16 = 3;

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

/// A cfg80211 that a thread pretends: to each request it lists what it is told, as messages with their headers, which it numbers.
pub fn pretended(mut lists: impl FnMut(&Request) -> Vec<Vec<u8>> + Send + 'static) -> Nl80211 {
    let mut socket = Socket::new(USERSOCK).unwrap();
    let at = socket.bind_auto().unwrap();
    std::thread::spawn(move || {
        let mut asked = Vec::with_capacity(1 << 16);
        // The thread waits for ever once nobody asks any more, and ends with the tests.
        while let Ok((_, from)) = socket.recv_from(&mut asked, 0) {
            let sequence = asked[8..12].to_vec();
            let request = Request { command: asked[16], attributes: asked[20..].to_vec() };
            for mut message in lists(&request).into_iter().chain([message(DONE, &[0; 4])]) {
                message[8..12].copy_from_slice(&sequence);
                socket.send_to(&message, &from, 0).unwrap();
            }
            asked.clear();
        }
    });
    Nl80211::beside(Netlink::connect(USERSOCK, at).unwrap())
}

/// A message with its header, as number 0.
pub fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(16 + body.len()).unwrap();
    let [kind, multi] = [kind, 2].map(u16::to_ne_bytes);
    [&length.to_ne_bytes(), &kind[..], &multi, &[0; 8], body].concat()
}

/// The messages of a recorded dump of the kernel with TXQs (`tests/recorded/README.md`).
pub fn recorded(name: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/recorded/txqs/{name}.netlink", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (mut rest, mut found) = (&bytes[..], Vec::new());
    while let Some((length, _)) = rest.split_first_chunk::<4>() {
        let length = (u32::from_ne_bytes(*length) as usize).next_multiple_of(4).min(rest.len());
        let (message, others) = rest.split_at(length);
        found.push(message.to_vec());
        rest = others;
    }
    found
}
