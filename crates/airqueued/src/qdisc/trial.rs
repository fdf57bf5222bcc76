//! Whether the kernel takes a tree, tried in a network namespace that nobody uses.

use super::tree::{self, Tree};
use crate::netlink::attributes::Writer;
use crate::netlink::{Netlink, NetlinkError, ROUTE, Request};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

/// Number of the loopback interface, which every namespace has.
const LOOPBACK: u32 = 1;
const NEW_LINK: u16 = 16;
const MTU: u16 = 4;

/// What became of a trial.
pub(super) enum Trial {
    /// The kernel takes the tree and tells it back.
    Taken,
    /// The kernel refuses it, or tells something else; in words.
    Refused(String),
    /// The kernel does not know one of its disciplines; in words.
    Unknown(String),
    /// No namespace is to be had: that takes CAP_SYS_ADMIN.
    Untried,
}

/// Tries a tree. Modules of the kernel are loaded by this, so that no setting waits for one later.
pub(super) fn trial(tree: &Tree) -> Trial {
    // A namespace belongs to a thread, and ends with it.
    std::thread::scope(|scope| scope.spawn(|| inside(tree)).join().unwrap_or(Trial::Untried))
}

fn inside(tree: &Tree) -> Trial {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        return Trial::Untried;
    }
    let tried = Tree { index: LOOPBACK, ..tree.clone() };
    match made(&tried) {
        Ok(trial) => trial,
        Err(error) => Trial::Refused(error.to_string()),
    }
}

/// Makes the tree.
fn made(tried: &Tree) -> Result<Trial, NetlinkError> {
    let mut netlink = Netlink::open(ROUTE)?;
    let before = tree::read(&mut netlink, LOOPBACK)?;
    let requests = [vec![usual_mtu()], tried.requests(&before)].concat();
    if let Some((_, refusal)) = netlink.batch(&requests)?.into_iter().next() {
        let why = refusal.to_string();
        return Ok(match refusal.errno {
            Errno::ENOENT => Trial::Unknown(why),
            _ => Trial::Refused(why),
        });
    }
    let now = tree::read(&mut netlink, LOOPBACK)?;
    Ok(match tried.holds(&now) {
        true => Trial::Taken,
        false => Trial::Refused(format!("it makes {} of it", super::words::of(&now))),
    })
}

/// Token buckets warn of a burst below the 64 kB of a loopback interface.
fn usual_mtu() -> Request {
    let mut about = vec![0; 16]; // struct ifinfomsg
    about[4..8].copy_from_slice(&LOOPBACK.to_ne_bytes());
    Request { kind: NEW_LINK, flags: 0, body: Writer::after(&about).u32(MTU, 1500).finish() }
}
