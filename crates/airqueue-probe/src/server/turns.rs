//! Turns: the server carries out one run at a time.
//!
//! Every path that is measured here ends at this server, and nobody can tell from outside which of these paths have
//! a queue in common. Two floods through one queue would spoil both results, so runs never overlap. A turn begins
//! with START and lasts until the client has the records: it includes the time in which the queue empties.

use airqueue_core::{Span, Time};
use std::net::IpAddr;

/// How long a free turn waits for the session that it is offered to.
const OFFER: Span = Span::from_millis(2500);
/// A session that has not asked for this long has lost its place: clients ask every two seconds.
const PLACE: Span = Span::from_millis(6500);
/// Silence after a run that ends its turn, although the client may not have all records.
const HOLD: Span = Span::from_secs(2);
/// A turn ends at the latest this long after its run.
const LONGEST_FETCH: Span = Span::from_secs(60);
/// Quiet after a run whose client left: the queue may still hold its packets.
const LINGER: Span = Span::from_secs(1);
/// Runs that begin this soon after such a run are marked as shared.
const TROUBLED: Span = Span::from_secs(10);
/// A free turn is kept this long for the next run of an address that has had less time than all that wait, by more
/// than this: a client evaluates a run before it begins the next one.
const GRACE: Span = Span::from_millis(500);
/// What a run takes beside its plan, for estimates.
const AROUND: Span = Span::from_secs(1);
/// Most addresses whose use is remembered.
const MAX_USERS: usize = 64;

/// The session whose turn it is.
#[derive(Debug)]
struct Holder {
    session: u64,
    owner: IpAddr,
    since: Time,
    /// When the turn will end, by the plan.
    until: Time,
    /// When the run ended.
    ended: Option<Time>,
}

/// A session in the queue; there is at most one entry a session.
#[derive(Debug)]
struct Place {
    session: u64,
    owner: IpAddr,
    order: u64,
    length: Span,
    heard: Time,
}

/// Why a run cannot begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Estimated time until the turn.
    pub left: Span,
    /// Runs before this one.
    pub ahead: u16,
}

/// Whose turn it is, and who waits.
///
/// The next turn belongs to the address that has had the least time, as in start-time fair queueing: `used` is how
/// far an address is ahead of `level`, the mark of the address that was served last. An address that comes back
/// after a pause begins at this level, so that nobody saves up.
#[derive(Debug)]
pub(super) struct Turns {
    holder: Option<Holder>,
    waiting: Vec<Place>,
    offered: Option<(u64, Time)>,
    used: Vec<(IpAddr, Span)>,
    level: Span,
    next_order: u64,
    /// When the turn after the last one may begin; none before the first turn.
    free_from: Option<Time>,
    kept_for: Option<IpAddr>,
    troubled_until: Option<Time>,
}

impl Turns {
    pub fn new() -> Turns {
        Turns {
            holder: None,
            waiting: Vec::new(),
            offered: None,
            used: Vec::new(),
            level: Span::ZERO,
            next_order: 0,
            free_from: None,
            kept_for: None,
            troubled_until: None,
        }
    }

    /// The session whose turn it is.
    pub fn holder(&self) -> Option<u64> {
        self.holder.as_ref().map(|h| h.session)
    }

    /// Whether packets of a run whose client left may still be under way.
    pub fn is_troubled(&self, now: Time) -> bool {
        self.troubled_until.is_some_and(|until| now < until)
    }

    fn mark(&self, owner: IpAddr) -> Span {
        let used = self.used.iter().find(|u| u.0 == owner).map(|u| u.1);
        used.map_or(self.level, |used| used.max(self.level))
    }

    /// Whether a place is served before another.
    fn rank(&self, place: &Place) -> (bool, Span, u64) {
        let offered = self.offered.is_some_and(|o| o.0 == place.session);
        (!offered, self.mark(place.owner), place.order)
    }

    /// A session asks for the turn of a run of this length, and asks again until it has the turn.
    pub fn ask(
        &mut self,
        now: Time,
        session: u64,
        owner: IpAddr,
        length: Span,
    ) -> Result<(), Wait> {
        if self.holder() == Some(session) {
            return Ok(());
        }
        match self.waiting.iter_mut().find(|p| p.session == session) {
            Some(place) => (place.heard, place.length) = (now, length),
            None => {
                let order = self.next_order;
                self.next_order += 1;
                self.waiting.push(Place { session, owner, order, length, heard: now });
            }
        }
        if self.kept_for.take_if(|kept| *kept == owner).is_some() {
            self.free_from = Some(now);
        }
        self.pass_on(now);
        if self.offered.is_none_or(|o| o.0 != session) {
            return Err(self.wait(now, session));
        }
        self.forget(session);
        self.level = self.mark(owner);
        self.kept_for = None;
        let until = now + length + AROUND;
        self.holder = Some(Holder { session, owner, since: now, until, ended: None });
        Ok(())
    }

    /// Offers a free turn to the first session that waits; the session, if the offer is new.
    pub fn pass_on(&mut self, now: Time) -> Option<u64> {
        if self.holder.is_some() || self.free_from.is_some_and(|from| now < from) {
            return None;
        }
        if let Some((session, _)) = self.offered.filter(|o| now >= o.1) {
            self.forget(session);
        }
        self.waiting.retain(|p| now < p.heard + PLACE);
        if self.offered.is_some_and(|o| self.waiting.iter().any(|p| p.session == o.0)) {
            return None;
        }
        self.offered = None;
        let first = self.waiting.iter().min_by_key(|p| self.rank(p))?.session;
        self.offered = Some((first, now + OFFER));
        Some(first)
    }

    fn wait(&self, now: Time, session: u64) -> Wait {
        let current = self.holder.as_ref().map(|h| h.until).or(self.free_from);
        let mut left = current.map_or(Span::ZERO, |at| (at - now).max(Span::ZERO));
        let mut ahead = u16::from(self.holder.is_some());
        if let Some(own) = self.waiting.iter().find(|p| p.session == session) {
            for place in self.waiting.iter().filter(|p| self.rank(p) < self.rank(own)) {
                left = left + place.length + AROUND;
                ahead = ahead.saturating_add(1);
            }
        }
        Wait { left, ahead: ahead.max(1) }
    }

    /// Removes a session from those that wait.
    pub fn forget(&mut self, session: u64) {
        self.waiting.retain(|p| p.session != session);
        if self.offered.is_some_and(|o| o.0 == session) {
            self.offered = None;
        }
    }

    /// The session leaves the turn or its place. `clean`: nothing of its run is under way.
    pub fn leave(&mut self, now: Time, session: u64, clean: bool) {
        self.forget(session);
        let Some(holder) = self.holder.take_if(|h| h.session == session) else { return };
        let mark = self.mark(holder.owner) + (now - holder.since).max(Span::ZERO);
        let level = self.level;
        self.used.retain(|&(owner, used)| owner != holder.owner && used > level);
        if self.used.len() >= MAX_USERS
            && let Some(least) = (0..self.used.len()).min_by_key(|&i| self.used[i].1)
        {
            self.used.swap_remove(least);
        }
        self.used.push((holder.owner, mark));
        let least = self.waiting.iter().map(|p| self.mark(p.owner)).min();
        self.kept_for = None;
        self.free_from = Some(now);
        if clean && least.is_some_and(|least| least > mark + GRACE) {
            self.free_from = Some(now + GRACE);
            self.kept_for = Some(holder.owner);
        }
        if !clean {
            self.free_from = Some(now + LINGER);
            self.troubled_until = Some(now + TROUBLED);
        }
    }

    /// Whether the holder's turn is over: its run is not in progress, and its client, last heard at `heard`, is
    /// silent or takes too long.
    pub fn is_over(&mut self, now: Time, heard: Time) -> bool {
        let Some(holder) = &mut self.holder else { return false };
        let ended = *holder.ended.get_or_insert(now);
        now >= ended.max(heard) + HOLD || now >= ended + LONGEST_FETCH
    }

    /// When to look at the turns again; `heard` is when the holder was last heard, unless its run is in progress.
    pub fn next_deadline(&self, heard: Option<Time>) -> Option<Time> {
        if let Some(holder) = &self.holder {
            // Until the end is noted the run's own deadline comes first.
            let (ended, heard) = (holder.ended?, heard?);
            return Some((ended.max(heard) + HOLD).min(ended + LONGEST_FETCH));
        }
        if self.waiting.is_empty() {
            return None;
        }
        self.offered.map(|o| o.1).or(self.free_from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn at(ms: i64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn s(seconds: i64) -> Span {
        Span::from_secs(seconds)
    }

    #[test]
    fn time_is_shared_between_addresses_not_between_sessions() {
        // Three sessions of one address and one of another, all always asking, with runs of 3 s and 1 s.
        let mut turns = Turns::new();
        let users = [(1, A, s(3)), (2, A, s(3)), (3, A, s(3)), (4, B, s(1))];
        let (mut now, mut had) = (at(0), [Span::ZERO; 2]);
        for _ in 0..400 {
            let asked: Vec<_> =
                users.iter().filter(|u| turns.ask(now, u.0, u.1, u.2).is_ok()).collect();
            let [&(session, owner, length)] = asked[..] else { panic!("{asked:?}") };
            had[usize::from(owner == B)] = had[usize::from(owner == B)] + length;
            now += length;
            turns.leave(now, session, true);
            now += Span::from_millis(100);
        }
        let share = had[1].as_secs_f64() / (had[0] + had[1]).as_secs_f64();
        // Both addresses have half of the time, up to the longest turn.
        let longest = 3.0 / (had[0] + had[1]).as_secs_f64();
        assert!((share - 0.5).abs() <= longest, "{share}");
    }

    #[test]
    fn an_offer_that_is_not_taken_goes_to_the_next_and_the_rest_learn_how_long_they_wait() {
        let mut turns = Turns::new();
        assert!(turns.ask(at(0), 1, A, s(10)).is_ok());
        assert_eq!(turns.ask(at(1000), 2, B, s(5)), Err(Wait { left: s(10), ahead: 1 }));
        assert_eq!(turns.ask(at(1000), 3, A, s(5)), Err(Wait { left: s(16), ahead: 2 }));
        turns.leave(at(4000), 1, true);
        // Its address has had 4 s, the other none.
        assert_eq!(turns.pass_on(at(4000)), Some(2));
        assert_eq!(turns.pass_on(at(4000)), None, "offered once");
        assert!(turns.ask(at(4500), 3, A, s(5)).is_err());
        assert_eq!(turns.next_deadline(None), Some(at(6500)));
        assert_eq!(turns.pass_on(at(6500)), Some(3));
        assert!(turns.ask(at(6600), 3, A, s(5)).is_ok());
    }

    #[test]
    fn the_turn_after_a_client_that_left_begins_later_and_is_marked() {
        let mut turns = Turns::new();
        assert!(turns.ask(at(0), 1, A, s(10)).is_ok());
        turns.leave(at(3000), 1, false);
        assert!(turns.ask(at(3500), 2, B, s(1)).is_err());
        assert!(turns.ask(at(4000), 2, B, s(1)).is_ok());
        assert!(turns.is_troubled(at(4000)) && !turns.is_troubled(at(13_000)));
    }

    #[test]
    fn a_clock_may_begin_before_zero() {
        let mut turns = Turns::new();
        assert!(turns.ask(at(-5_000_000), 1, A, s(10)).is_ok());
        assert!(!turns.is_troubled(at(-5_000_000)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut turns = Turns::new();
        for i in 0..10_000u32 {
            let owner = IpAddr::from(i.to_be_bytes());
            let now = at(i64::from(i) * 10);
            assert!(turns.ask(now, u64::from(i), owner, s(1)).is_ok());
            turns.leave(now + Span::from_millis(5), u64::from(i), true);
        }
        assert!(turns.used.len() <= MAX_USERS && turns.waiting.is_empty());
    }
}
