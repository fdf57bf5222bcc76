//! What a router sends: statements, its own and those of others, and lists of what the router knows.

use super::Router;
use crate::mesh::statement::RouterId;
use crate::mesh::wire::{self, List, MOST_LISTED, Message, Told};
use airqueue_core::{Span, Time};

/// Bytes of one entry of a list at most.
const LISTED_BYTES: usize = 14;
/// The longest wait from a difference to a list.
pub(super) const LAST_LIST: Span = Span::from_secs(1);

impl Router {
    /// The next message to broadcast, if it is time for one.
    pub fn poll_message(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.message_at().is_none_or(|at| now < at) {
            return None;
        }
        let mut room = if self.pace.is_overspent(now) { 0 } else { wire::room() };
        let asks = self.asks_left > 0 && !self.is_active();
        self.asks_left = if asks { self.asks_left - 1 } else { 0 };
        let differs = self.list_at.is_some_and(|at| at <= now);
        if differs {
            // What a neighbour most likely lacks.
            self.table.resend(self.id);
        }
        let statements = self.take_statements(&mut room, now);
        let lists = (differs || asks) && room >= LISTED_BYTES;
        self.sequence = self.sequence.saturating_add(1);
        let message = Message {
            sender: self.id,
            boot: self.boot,
            sequence: self.sequence,
            digest: self.table.digest(),
            statements,
            list: lists.then(|| self.take_list(room)),
        };
        let bytes = wire::encode(&message, &self.key);
        self.pace.sent(now, bytes.len(), bytes[bytes.len() - 1]);
        self.update(now);
        Some(bytes)
    }

    /// Sends again what the sender of a list does not have.
    pub(super) fn answer(&mut self, list: &List) {
        let theirs = |router| {
            let at = list.stamps.binary_search_by_key(&router, |(id, _)| *id);
            at.ok().map(|at| list.stamps[at].1)
        };
        let asked = self.table.iter().filter(|(id, _)| (list.first..=list.last).contains(id));
        let lacks = asked.filter(|(id, kept)| match theirs(*id) {
            Some(stamp) => stamp < kept.stamp,
            None => !kept.statement.flows.is_empty(),
        });
        let missing: Vec<RouterId> = lacks.map(|(id, _)| id).collect();
        missing.into_iter().for_each(|id| self.table.resend(id));
    }

    /// When the next message is due; without flows only until the last change is told.
    pub(super) fn message_at(&self) -> Option<Time> {
        if !self.is_active() {
            let ended = (self.table.own().sends > 0).then(|| self.pace.next(true));
            return ended.or_else(|| (self.asks_left > 0).then(|| self.pace.next(false)));
        }
        let urgent = self.table.has_unsent();
        let list = self.list_at.map(|at| at.max(self.pace.next(true)));
        Some(list.map_or(Time::MAX, |at| at).min(self.pace.next(urgent)))
    }

    /// Statements for the next message: the router's own, then others by turns.
    fn take_statements(&mut self, room: &mut usize, now: Time) -> Vec<Told> {
        let alone = !self.is_active();
        let unsent = self.table.iter().filter(|(_, kept)| kept.sends > 0 && kept.is_told());
        let mut order: Vec<(RouterId, usize)> = unsent.map(|(id, kept)| (id, kept.bytes)).collect();
        order.sort_by_key(|(id, _)| (*id != self.id, *id <= self.cursor, *id));
        order.retain(|(id, _)| !alone || *id == self.id);
        let mut taken = Vec::new();
        for (id, bytes) in order {
            if bytes <= *room {
                *room -= bytes;
                if id != self.id {
                    self.cursor = id;
                }
                self.table.sent(id);
                taken.extend(self.table.get(id).map(|kept| kept.told(id, now)));
            }
        }
        taken
    }

    /// A list of stamps, of as many routers as there is room for; the next list goes on behind them.
    fn take_list(&mut self, room: usize) -> List {
        let most = (room / LISTED_BYTES).min(MOST_LISTED);
        let from = RouterId(self.list_from);
        let rest = self.table.iter().filter(|(id, kept)| *id >= from && kept.is_listed());
        let mut stamps: Vec<_> = rest.map(|(id, kept)| (id, kept.stamp)).collect();
        let whole = stamps.len() <= most;
        stamps.truncate(most);
        let end = RouterId(u32::MAX);
        let last = if whole { end } else { stamps.last().map_or(end, |(id, _)| *id) };
        self.list_from = if whole { 0 } else { last.0.saturating_add(1) };
        self.list_at = None;
        self.list_wait = Span::from_nanos(self.list_wait.as_nanos() * 2).min(LAST_LIST);
        List { first: from, last, stamps }
    }
}
