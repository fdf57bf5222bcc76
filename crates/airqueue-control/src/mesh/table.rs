//! Statements that a router knows, and which of them it acts on.
//!
//! Two links interfere if an end of one hears an end of the other. Flows that share air, directly or by way of other
//! flows, are thus connected by routers that have flows and hear each other, and statements travel along those
//! alone. A router acts on the statements that it reaches in this way; a router that nobody hears any more is no
//! longer reached, and forgotten. A statement travels with its age, so no clocks are compared.

use super::names::fnv1a;
use super::statement::{RouterId, Stamp, Statement};
use super::wire::{Told, told_bytes};
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;

/// How long a statement is kept that is not reached: it may come before the one that names its router.
pub const UNREACHED: Span = Span::from_secs(10);
/// How often a router states the same again, with a new stamp.
pub const RENEWED: Span = Span::from_secs(100);
/// How long routers act on a statement that is not renewed, from when it was made and whatever its stamp: one forged with
/// the latest stamp that there is ends with it. Its stamp is refused for as long again, so that no router takes it back.
pub const LIFETIME: Span = Span::from_secs(300);
/// The most routers whose statements are kept.
pub const MOST_ROUTERS: usize = 128;
/// How often a new statement is sent at once. What is still lost, the lists of stamps repair.
const SENDS: u8 = 3;
/// How often a statement is sent to a neighbour that lacks it, before the neighbour asks again.
const RESENDS: u8 = 2;
/// How often a router says that its flows have ended: it says nothing after that, so no digest shows that this was lost.
const LAST_SENDS: u8 = 6;

/// One statement.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) stamp: Stamp,
    pub(super) statement: Statement,
    pub(super) bytes: usize,
    /// How often it is still to be sent.
    pub(super) sends: u8,
    /// Since when it is not reached; `None` if it is.
    unreached: Option<Time>,
    /// When its router made it, by the ages of those on whose way it was.
    since: Time,
    /// Whether it has come to the end of its lifetime.
    ended: bool,
    /// The stamp of the statement before it, if that came to its end with a later stamp.
    outlived: Option<Stamp>,
}

/// The statements, the router's own among them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    own: RouterId,
    kept: BTreeMap<RouterId, Kept>,
    digest: u64,
}

impl Table {
    /// A table with nothing but a router's own empty statement, which nobody needs to know.
    pub(super) fn new(own: RouterId, stamp: Stamp) -> Table {
        let statement = Statement::default();
        let kept = Kept {
            stamp,
            statement,
            bytes: 0,
            sends: 0,
            unreached: None,
            since: Time::ZERO,
            ended: false,
            outlived: None,
        };
        Table { own, kept: BTreeMap::from([(own, kept)]), digest: 0 }
    }

    pub(super) fn own(&self) -> &Kept {
        &self.kept[&self.own]
    }

    pub(super) fn get(&self, router: RouterId) -> Option<&Kept> {
        self.kept.get(&router)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (RouterId, &Kept)> {
        self.kept.iter().map(|(id, kept)| (*id, kept))
    }

    /// The statements that the router acts on, ascending by router.
    pub(super) fn reached(&self) -> impl Iterator<Item = (RouterId, &Statement)> {
        let reached = self.kept.iter().filter(|(_, kept)| kept.is_used());
        reached.map(|(id, kept)| (*id, &kept.statement))
    }

    /// A digest of these: equal for routers that act on equal statements, 0 for none.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// Keeps a statement if it is newer than what is known, not too old, and there is room.
    pub(super) fn offer(&mut self, told: &Told, now: Time) {
        let since = now - Span::from_secs(i64::from(told.age_s));
        let wanted = match self.kept.get(&told.router) {
            Some(known) => known.yields_to(told.stamp),
            None => self.kept.len() < MOST_ROUTERS || self.evict(),
        };
        if wanted && now - since < LIFETIME {
            self.insert(told.router, told.stamp, told.statement.clone(), since, now);
        }
    }

    /// Replaces the router's own statement.
    pub(super) fn restate(&mut self, stamp: Stamp, statement: Statement, now: Time) {
        self.insert(self.own, stamp, statement, now, now);
    }

    fn insert(
        &mut self,
        router: RouterId,
        stamp: Stamp,
        statement: Statement,
        since: Time,
        now: Time,
    ) {
        let age_s = LIFETIME.as_secs_f64() as u32;
        let told = Told { router, stamp, age_s, statement };
        let bytes = told_bytes(&told);
        let before = self.kept.get(&router);
        let own = router == self.own;
        let unreached = before.map_or(Some(now), |kept| kept.unreached).filter(|_| !own);
        let outlived = before.map(|kept| kept.stamp).filter(|old| *old > stamp);
        let outlived = outlived.or(before.and_then(|kept| kept.outlived));
        let statement = told.statement;
        let sends = if own && statement.flows.is_empty() { LAST_SENDS } else { SENDS };
        let kept =
            Kept { stamp, statement, bytes, sends, unreached, since, ended: false, outlived };
        self.kept.insert(router, kept);
    }

    /// Makes room by a statement that is not reached.
    fn evict(&mut self) -> bool {
        let idle = self.kept.iter().filter_map(|(id, kept)| Some((kept.unreached?, *id))).min();
        idle.is_some_and(|(_, id)| self.kept.remove(&id).is_some())
    }

    /// Notes that a statement was sent once.
    pub(super) fn sent(&mut self, router: RouterId) {
        if let Some(kept) = self.kept.get_mut(&router) {
            kept.sends = kept.sends.saturating_sub(1);
        }
    }

    /// Sends a statement again, for a neighbour without it.
    pub(super) fn resend(&mut self, router: RouterId) {
        if let Some(kept) = self.kept.get_mut(&router) {
            kept.sends = kept.sends.max(RESENDS);
        }
    }

    /// Whether statements wait to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.kept.values().any(|kept| kept.sends > 0 && kept.is_told())
    }

    /// Finds anew what is reached, and forgets what has not been for [`UNREACHED`]; whether the digest changed.
    pub(super) fn reach(&mut self, now: Time) -> bool {
        for (_, kept) in self.kept.iter_mut().filter(|(id, _)| **id != self.own) {
            kept.ended = now - kept.since >= LIFETIME;
        }
        let mut found = vec![self.own];
        let mut next = 0;
        while next < found.len() {
            let from = &self.kept[&found[next]];
            next += 1;
            if !from.statement.flows.is_empty() {
                let heard = from.statement.neighbours.iter().filter(|neighbour| neighbour.heard);
                let known = heard.map(|neighbour| neighbour.id).filter(|id| self.lives(*id));
                found.extend(known.collect::<Vec<_>>());
                dedup_after(&mut found, next);
            }
        }
        for (id, kept) in &mut self.kept {
            let since = kept.unreached.unwrap_or(now);
            kept.unreached = if found.contains(id) { None } else { Some(since) };
        }
        self.kept.retain(|_, kept| kept.forgotten_at().is_none_or(|at| now < at));
        let digest = self.digest_of_reached();
        std::mem::replace(&mut self.digest, digest) != digest
    }

    /// FNV-1a over routers and stamps; collisions by chance do not matter, since later statements end them.
    fn digest_of_reached(&self) -> u64 {
        let used = self.kept.iter().filter(|(_, kept)| kept.is_used());
        let numbers = used.flat_map(|(id, kept)| [id.0, kept.stamp.boot, kept.stamp.version]);
        let hash = fnv1a(numbers.flat_map(u32::to_be_bytes));
        if self.own().statement.flows.is_empty() { 0 } else { hash.max(1) }
    }

    /// When the next statement is to be forgotten, has come to its end, or the router's own is to be renewed.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let ends = self
            .kept
            .iter()
            .map(|(id, kept)| if *id == self.own { self.renewed_at() } else { kept.ends_at() });
        ends.flatten().min()
    }

    /// When the router states the same again; a router without flows has nothing to renew.
    pub(super) fn renewed_at(&self) -> Option<Time> {
        let own = self.own();
        (!own.statement.flows.is_empty()).then(|| own.since + RENEWED)
    }

    fn lives(&self, router: RouterId) -> bool {
        self.kept.get(&router).is_some_and(|kept| !kept.ended)
    }
}

impl Kept {
    /// The statement as a message has it.
    pub(super) fn told(&self, router: RouterId, now: Time) -> Told {
        let age = (now - self.since).as_nanos().max(0);
        let age_s = (age as u64).div_ceil(1_000_000_000) as u32;
        Told { router, stamp: self.stamp, age_s, statement: self.statement.clone() }
    }

    /// Whether others are told: of what is reached, and of routers whose flows have ended.
    pub(super) fn is_told(&self) -> bool {
        !self.ended && (self.unreached.is_none() || self.statement.flows.is_empty())
    }

    /// Whether a statement with this stamp takes its place.
    fn yields_to(&self, stamp: Stamp) -> bool {
        let other = stamp != self.stamp && self.outlived != Some(stamp);
        other && (self.ended || stamp > self.stamp)
    }

    /// Whether a list has it: what has ended, others are to replace.
    pub(super) fn is_listed(&self) -> bool {
        !self.ended
    }

    fn forgotten_at(&self) -> Option<Time> {
        let unreached = self.unreached?;
        Some(if self.ended { self.since + LIFETIME + LIFETIME } else { unreached + UNREACHED })
    }

    fn ends_at(&self) -> Option<Time> {
        let ends = (!self.ended).then(|| self.since + LIFETIME);
        ends.into_iter().chain(self.forgotten_at()).min()
    }

    fn is_used(&self) -> bool {
        self.unreached.is_none() && !self.statement.flows.is_empty()
    }
}

/// Removes from a queue what it has twice; what is before `done` stays in its place.
fn dedup_after(queue: &mut Vec<RouterId>, done: usize) {
    let mut at = done;
    while at < queue.len() {
        if queue[..at].contains(&queue[at]) {
            queue.swap_remove(at);
        } else {
            at += 1;
        }
    }
}
