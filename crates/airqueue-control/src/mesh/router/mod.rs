//! One router: what comes in, what is to be sent and set, and when it wants to be called.

use super::busy::BusyMeter;
use super::key::MeshKey;
use super::limits::{Keeper, Limits, Slot};
use super::neighbours::{Neighbours, NotNew};
use super::pace::Pace;
use super::policy::{Policy, PolicyError};
use super::reason::FlowReason;
use super::shares::Shares;
use super::statement::{FlowNumber, Hop, LinkFacts, RouterId, Stamp, Statement};
use super::table::Table;
use super::view::View;
use super::wire::{self, Malformed};
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;

mod outgoing;

/// How long a router waits for more when it learns of a change, so that it does not decide on half of it;
pub const SETTLE: Span = Span::from_millis(300);
/// at most this long while changes come without an end.
const LATEST: Span = Span::from_secs(2);
/// From a difference to a list: most differences end by themselves, as statements are on their way. The wait doubles while
/// lists do not help, as where one of two routers does not hear the other, up to [`outgoing::LAST_LIST`].
const FIRST_LIST: Span = Span::from_millis(250);
/// How often a router asks: of three messages, a link that loses 30 % carries one at least in 97 of 100 cases.
const ASKS: u8 = 3;

/// Why a message was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not a message of this mesh.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The router's own message came back, or another router has its number.
    #[error("the message has this router's own number; no two routers of a mesh may have the same")]
    Own,
    /// A message in another router's name.
    #[error("the message says that it is from {said}, but {from} sent it")]
    Sender {
        /// Its sender as stated.
        said: RouterId,
        /// As the network has it.
        from: RouterId,
    },
    /// Older than the sender's last message, or the same.
    #[error(
        "the message is not newer than the last one of {0}; after a restart boot must be larger"
    )]
    Replayed(RouterId),
    /// No room.
    #[error("more neighbours are heard than a router remembers")]
    TooMany,
}

/// An input that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OutOfRange(&'static str);

/// Limits of the router's queues, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// When it was taken.
    pub at: Time,
    /// All limits that are in force now.
    pub limits: Limits,
    /// What is to be set; `None` gives the queue back what it holds without this mechanism.
    pub changes: Vec<(Slot, Option<u32>)>,
    /// Limits that are not set yet, since they would take back a recent rise.
    pub held: Limits,
    /// For each active flow of the router.
    pub reasons: BTreeMap<FlowNumber, FlowReason>,
}

/// A flow that passes the router.
#[derive(Clone, Copy, Debug)]
struct Passing {
    hop: Hop,
    sent: Option<Time>,
}

/// The state machine of one router.
///
/// After each input, and at [`Router::next_deadline`] after [`Router::on_time`], the driver takes what there is from
/// [`Router::poll_message`], to broadcast it to all neighbours, and from [`Router::poll_decision`].
#[derive(Clone, Debug)]
pub struct Router {
    id: RouterId,
    boot: u32,
    sequence: u32,
    key: MeshKey,
    policy: Policy,
    links: BTreeMap<RouterId, LinkFacts>,
    passing: BTreeMap<FlowNumber, Passing>,
    busy: BusyMeter,
    neighbours: Neighbours,
    table: Table,
    pace: Pace,
    list_at: Option<Time>,
    list_wait: Span,
    list_from: u32,
    asks_left: u8,
    /// The router whose statement was sent last.
    cursor: RouterId,
    /// The first and the last change that no computation has seen.
    changed: Option<(Time, Time)>,
    view: View,
    shares: Shares,
    keeper: Keeper,
    delivered: Limits,
}

impl Router {
    /// A router that has just started. boot: larger at each start, such as a counter that is kept, or the time in seconds.
    pub fn new(
        id: RouterId,
        boot: u32,
        key: MeshKey,
        policy: Policy,
    ) -> Result<Router, PolicyError> {
        policy.check()?;
        Ok(Router {
            id,
            boot,
            sequence: 0,
            key,
            links: BTreeMap::new(),
            passing: BTreeMap::new(),
            busy: BusyMeter::new(policy.saturated, policy.every),
            neighbours: Neighbours::default(),
            table: Table::new(id, Stamp { boot, version: 0 }),
            pace: Pace::default(),
            list_at: None,
            list_wait: FIRST_LIST,
            list_from: 0,
            asks_left: 0,
            cursor: id,
            changed: None,
            view: View::default(),
            shares: Shares::default(),
            keeper: Keeper::default(),
            delivered: Limits::new(),
            policy,
        })
    }

    /// Has a router without flows ask its neighbours for what they know, by a list of what it knows, which any version answers:
    /// of flows that 802.11s forwards it learns from them alone.
    pub fn ask(&mut self) {
        self.asks_left = ASKS;
    }

    /// Takes in a message as it came from a neighbour.
    pub fn on_message(&mut self, from: RouterId, bytes: &[u8], now: Time) -> Result<(), Refused> {
        let message = wire::decode(bytes, &self.key)?;
        if message.sender == self.id || from == self.id {
            return Err(Refused::Own);
        }
        if message.sender != from {
            return Err(Refused::Sender { said: message.sender, from });
        }
        let number = (message.boot, message.sequence);
        self.neighbours.admit(from, number, message.digest, now).map_err(|why| match why {
            NotNew::Replayed => Refused::Replayed(from),
            NotNew::TooMany => Refused::TooMany,
        })?;
        for told in &message.statements {
            if told.router == self.id {
                self.defend(told.stamp, now);
            } else {
                self.table.offer(told, now);
            }
        }
        if let Some(list) = &message.list {
            self.answer(list);
        }
        self.update(now);
        Ok(())
    }

    /// Takes in a link to a neighbour, or that there is none any more.
    pub fn on_link(
        &mut self,
        neighbour: RouterId,
        link: Option<LinkFacts>,
        now: Time,
    ) -> Result<(), OutOfRange> {
        if neighbour == self.id || link.is_some_and(|link| !link.in_range()) {
            return Err(OutOfRange(
                "a link goes to another router, at a rate from 1 bit/s to 1 Tb/s, and takes time",
            ));
        }
        match link {
            Some(link) => self.links.insert(neighbour, link),
            None => self.links.remove(&neighbour),
        };
        self.update(now);
        Ok(())
    }

    /// Takes in how a flow passes, or that it passes no more.
    pub fn on_route(
        &mut self,
        flow: FlowNumber,
        hop: Option<Hop>,
        now: Time,
    ) -> Result<(), OutOfRange> {
        if hop
            .is_some_and(|hop| !hop.in_range() || [hop.previous, hop.next].contains(&Some(self.id)))
        {
            return Err(OutOfRange(
                "a flow comes from another router or goes to another, which are not the same",
            ));
        }
        match hop {
            Some(hop) => {
                let sent = self.passing.get(&flow).and_then(|passing| passing.sent);
                self.passing.insert(flow, Passing { hop, sent });
            }
            None => drop(self.passing.remove(&flow)),
        }
        self.update(now);
        Ok(())
    }

    /// Takes in that packets of a flow pass. Without a route of the flow this says nothing.
    pub fn on_active(&mut self, flow: FlowNumber, now: Time) {
        if let Some(passing) = self.passing.get_mut(&flow) {
            passing.sent = Some(now);
            self.update(now);
        }
    }

    /// Takes in the fraction of the time since the last call in which the medium was busy or the router sent.
    pub fn on_busy(&mut self, fraction: f64, now: Time) -> Result<(), OutOfRange> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(OutOfRange("a medium is busy for 0 to 1 of the time"));
        }
        self.busy.add(fraction, now);
        self.update(now);
        Ok(())
    }

    /// Lets time pass.
    pub fn on_time(&mut self, now: Time) {
        self.update(now);
    }

    /// When [`Router::on_time`] is to be called at the latest; not before `now` once everything is polled.
    pub fn next_deadline(&self, now: Time) -> Option<Time> {
        let idle = self.passing.values().filter_map(|passing| passing.sent);
        let idle = idle.map(|sent| sent + self.policy.idle).filter(|&at| at > now).min();
        let others = [
            self.message_at(),
            self.compute_at(),
            self.busy.next_deadline(),
            self.neighbours.next_silence(now),
            self.table.next_deadline(),
            self.keeper.next_deadline(self.policy.hold, now),
        ];
        others.into_iter().flatten().chain(idle).min()
    }

    /// The limits to set, if they are others than those of the last decision.
    pub fn poll_decision(&mut self, now: Time) -> Option<Decision> {
        let limits = self.keeper.limits();
        if *limits == self.delivered {
            return None;
        }
        let set = limits.iter().filter(|(slot, packets)| self.delivered.get(slot) != Some(packets));
        let released = self.delivered.keys().filter(|slot| !limits.contains_key(slot));
        let set = set.map(|(slot, packets)| (*slot, Some(*packets)));
        let changes = set.chain(released.map(|slot| (*slot, None))).collect();
        self.delivered = limits.clone();
        Some(Decision {
            at: now,
            limits: limits.clone(),
            changes,
            held: self.keeper.held().clone(),
            reasons: self.shares.reasons.clone(),
        })
    }

    /// The limits in force, and those that are held back.
    pub fn limits(&self) -> (&Limits, &Limits) {
        (self.keeper.limits(), self.keeper.held())
    }

    /// Why each active flow of the router has its limit, or none.
    pub fn reasons(&self) -> &BTreeMap<FlowNumber, FlowReason> {
        &self.shares.reasons
    }

    /// Active flows of which a neighbour that is heard says that they come here next, and that neighbour; ascending.
    pub fn entering(&self, now: Time) -> impl Iterator<Item = (FlowNumber, RouterId)> {
        let entering: BTreeMap<FlowNumber, RouterId> = self
            .neighbours
            .alive(now)
            .filter_map(|from| Some((from, self.table.get(from).filter(|kept| kept.is_listed())?)))
            .flat_map(|(from, kept)| kept.statement.flows.iter().map(move |flow| (from, flow)))
            .filter(|(_, (_, hop))| hop.next == Some(self.id))
            .map(|(from, (number, _))| (*number, from))
            .collect();
        entering.into_iter()
    }

    /// How many routers' statements are known, the router's own among them.
    pub fn known_routers(&self) -> usize {
        self.table.iter().count()
    }

    fn is_active(&self) -> bool {
        !self.table.own().statement.flows.is_empty()
    }

    /// A later statement in the router's name is one of a former start with a wrong boot, or forged: the router's own
    /// statement gets a later stamp (as OSPF does, RFC 2328 section 13.4).
    fn defend(&mut self, seen: Stamp, now: Time) {
        let own = self.table.own();
        if seen > own.stamp && seen.next() > seen {
            let statement = own.statement.clone();
            self.table.restate(seen.next(), statement, now);
        }
    }

    /// Brings everything up to date after an input.
    fn update(&mut self, now: Time) {
        self.busy.on_time(now);
        self.neighbours.forget(now);
        let own = self.own_statement(now);
        let renewed = self.table.renewed_at().is_some_and(|at| at <= now);
        if renewed || own != self.table.own().statement {
            self.table.restate(self.table.own().stamp.next(), own, now);
        }
        if self.table.reach(now) {
            self.changed = Some((self.changed.map_or(now, |(first, _)| first), now));
            self.list_wait = FIRST_LIST;
        }
        let differs = self.is_active() && self.neighbours.one_differs(self.table.digest(), now);
        self.list_at = differs.then(|| self.list_at.unwrap_or(now + self.list_wait));
        if self.compute_at().is_some_and(|at| at <= now) {
            self.compute(now);
        }
        self.keeper.on_time(&self.policy, now);
    }

    fn compute_at(&self) -> Option<Time> {
        self.changed.map(|(first, last)| (last + SETTLE).min(first + LATEST))
    }

    fn compute(&mut self, now: Time) {
        self.changed = None;
        let view = View::of(self.table.reached());
        if view != self.view {
            self.view = view;
            self.shares.compute(&self.view, self.id, &self.policy);
        }
        let active = self.active(now).map(|(flow, _)| flow).collect();
        let sizes = self.shares.of_flows(active, &self.view);
        self.keeper.take(&sizes, &self.policy, now);
    }

    /// Flows whose packets were seen lately.
    fn active(&self, now: Time) -> impl Iterator<Item = (FlowNumber, Hop)> {
        let idle = self.policy.idle;
        let sends = move |passing: &Passing| passing.sent.is_some_and(|sent| now - sent < idle);
        let active = self.passing.iter().filter(move |(_, passing)| sends(passing));
        active.map(|(flow, passing)| (*flow, passing.hop))
    }

    /// What the router knows at first hand, as far as a statement may be long.
    fn own_statement(&self, now: Time) -> Statement {
        let mut statement = Statement { busy: self.busy.stated(), ..Statement::default() };
        let mut named = BTreeMap::new();
        let mut links = BTreeMap::new();
        for (flow, hop) in self.active(now) {
            let ends: Vec<RouterId> = [hop.previous, hop.next].into_iter().flatten().collect();
            let unnamed = ends.iter().filter(|id| !named.contains_key(*id)).count();
            let link = hop.next.and_then(|next| Some((next, *self.links.get(&next)?)));
            let linked = link.is_none_or(|(next, _)| links.contains_key(&next));
            if statement.flows.len() < Statement::MOST_FLOWS
                && named.len() + unnamed <= Statement::MOST_NEIGHBOURS
                && (linked || links.len() < Statement::MOST_LINKS)
            {
                named.extend(ends.into_iter().map(|id| (id, false)));
                links.extend(link);
                statement.flows.push((flow, hop));
            }
        }
        if statement.flows.is_empty() {
            return Statement::default();
        }
        for id in self.neighbours.alive(now) {
            let silent = |kept: &super::table::Kept| kept.statement.flows.is_empty();
            let room = named.len() < Statement::MOST_NEIGHBOURS || named.contains_key(&id);
            if room && !self.table.get(id).is_some_and(silent) {
                named.insert(id, true);
            }
        }
        let neighbour = |(id, heard)| super::statement::Neighbour { id, heard };
        statement.neighbours = named.into_iter().map(neighbour).collect();
        statement.links = links.into_iter().collect();
        statement
    }
}
