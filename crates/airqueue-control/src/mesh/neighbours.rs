//! Neighbours that a router hears, and which of their messages are new.

use super::RouterId;
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;

/// A neighbour that says nothing for so long is gone: ten messages, of which a link that loses 30 % carries one at
/// least, but for one case in 170,000.
pub const SILENT: Span = Span::from_secs(10);
/// How long the last number of a neighbour's messages is remembered, against replays.
pub const REMEMBERED: Span = Span::from_secs(600);
/// The most neighbours that are remembered.
pub const MOST_REMEMBERED: usize = 256;

/// What is remembered of a neighbour's messages.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// Boot and sequence number of the last message.
    last: (u32, u32),
    at: Time,
    /// Digest of what it acts on; 0 if it has no flows.
    digest: u64,
}

impl Heard {
    fn is_alive(&self, now: Time) -> bool {
        now - self.at < SILENT
    }
}

/// Why a message is not taken in though its tag fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotNew {
    Replayed,
    TooMany,
}

/// The neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours(BTreeMap<RouterId, Heard>);

impl Neighbours {
    /// Takes in that a neighbour was heard, unless its message is not newer than the last one.
    pub(super) fn admit(
        &mut self,
        from: RouterId,
        number: (u32, u32),
        digest: u64,
        now: Time,
    ) -> Result<(), NotNew> {
        if let Some(heard) = self.0.get_mut(&from) {
            if number <= heard.last {
                return Err(NotNew::Replayed);
            }
            *heard = Heard { last: number, at: now, digest };
            return Ok(());
        }
        if self.0.len() >= MOST_REMEMBERED {
            let oldest = self.0.iter().min_by_key(|(_, heard)| heard.at).map(|(id, _)| *id);
            match oldest.filter(|id| !self.0[id].is_alive(now)) {
                Some(id) => self.0.remove(&id),
                None => return Err(NotNew::TooMany),
            };
        }
        self.0.insert(from, Heard { last: number, at: now, digest });
        Ok(())
    }

    /// Those that were heard lately, ascending.
    pub(super) fn alive(&self, now: Time) -> impl Iterator<Item = RouterId> {
        self.0.iter().filter(move |(_, heard)| heard.is_alive(now)).map(|(id, _)| *id)
    }

    /// Whether one of those acts on other statements than this digest's.
    pub(super) fn one_differs(&self, digest: u64, now: Time) -> bool {
        let mut alive = self.0.values().filter(|heard| heard.is_alive(now));
        alive.any(|heard| heard.digest != 0 && heard.digest != digest)
    }

    /// Forgets those of long ago.
    pub(super) fn forget(&mut self, now: Time) {
        self.0.retain(|_, heard| now - heard.at < REMEMBERED);
    }

    /// When the next neighbour counts as gone, if nothing is heard until then.
    pub(super) fn next_silence(&self, now: Time) -> Option<Time> {
        let alive = self.0.values().filter(|heard| heard.is_alive(now));
        alive.map(|heard| heard.at + SILENT).min()
    }
}
