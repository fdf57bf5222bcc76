//! One client's session on the server.

use super::attendance::{Attendance, Heard};
use super::run::{Beginning, ServerPhase, ServerRun, most_parts};
use crate::auth::{Role, TagKey};
use crate::check::{MAX_SIZE, PlanError, PlanFault, check, min_size, overhead};
use crate::endpoint::Received;
use crate::limits::Limits;
use crate::plan::{Plan, Segment};
use crate::wire::{DataHeader, Glimpse, MAX_FLOWS, Message, Way, encode};
use airqueue_core::{Span, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Silence of the client after which a session ends.
pub(super) const IDLE: Span = Span::from_secs(30);

/// A client that was asked whether it is there, and answered, is not asked again for this long.
const ALIVE: Span = Span::from_secs(5);
/// A client that has not answered this question for so long is dead.
const DEAD: Span = Span::from_secs(2);

/// Whether a session's client is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Alive,
    Unknown,
    Dead,
}

/// Replies that wait to be polled.
pub(super) type Outbox = VecDeque<(SocketAddr, Vec<u8>)>;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    pub id: u64,
    pub nonce: u64,
    key: TagKey,
    /// The proven address of each flow.
    pub flows: Vec<Option<SocketAddr>>,
    pub opened: Time,
    last_received: Time,
    pub run: Option<ServerRun>,
    /// The keepalives that were received.
    heard: Heard,
    /// The flow of a session with another server whose packets are those of the runs here.
    pub attendance: Option<Attendance>,
    next_counter: u32,
    /// The flow of the client's last request, on which the server answers.
    pub answers_on: u8,
    /// When the client was asked whether it is there, and has not answered since.
    asked: Option<Time>,
    /// When the client last answered.
    answered: Option<Time>,
}

impl Session {
    pub fn new(id: u64, nonce: u64, key: TagKey, first: SocketAddr, flows: u8, now: Time) -> Self {
        let mut addresses = vec![None; usize::from(flows)];
        addresses[0] = Some(first);
        Session {
            id,
            nonce,
            key,
            flows: addresses,
            opened: now,
            last_received: now,
            run: None,
            heard: Heard::new(flows),
            attendance: None,
            next_counter: 0,
            answers_on: 0,
            asked: None,
            answered: None,
        }
    }

    /// The address that control messages go to.
    pub fn main_address(&self) -> Option<SocketAddr> {
        self.flows.first().copied().flatten()
    }

    /// The key that tags the session's messages.
    pub fn key(&self) -> TagKey {
        self.key.clone()
    }

    pub fn verify(&self, datagram: &[u8]) -> bool {
        self.key.verify(Role::Client, datagram)
    }

    pub fn on_received(&mut self, now: Time) {
        self.last_received = now;
        if self.asked.take().is_some() {
            self.answered = Some(now);
        }
    }

    /// Whether the client is there: it is asked, and dead if nothing of it arrives for [`DEAD`]. During a run no
    /// question is sent: the run's own messages answer.
    pub fn presence(&mut self, now: Time, out: &mut Outbox) -> Presence {
        if self.answered.is_some_and(|at| now < at + ALIVE) {
            return Presence::Alive;
        }
        let first = *self.asked.get_or_insert(now);
        if self.is_busy() {
            return Presence::Unknown;
        }
        if now >= first + DEAD {
            return Presence::Dead;
        }
        let counter = self.next_counter;
        self.next_counter = counter.wrapping_add(1);
        let glimpse = Glimpse::default();
        self.say(0, &Message::KeepAlive { session: self.id, run: 0, counter, glimpse }, out);
        Presence::Unknown
    }

    /// Queues a tagged message to the address of a flow.
    pub fn say(&self, flow: u8, message: &Message<'_>, out: &mut Outbox) {
        let Some(Some(to)) = self.flows.get(usize::from(flow)) else { return };
        let mut bytes = Vec::new();
        encode(flow, message, &mut bytes);
        self.key.seal(Role::Server, &mut bytes);
        out.push_back((*to, bytes));
    }

    /// A further flow has proven its address. The address may change between runs (after a translator's timeout), but
    /// not during a run.
    pub fn join(&mut self, flow: u8, from: SocketAddr, out: &mut Outbox) {
        let busy = self.run.as_ref().is_some_and(ServerRun::is_active);
        let Some(slot) = self.flows.get_mut(usize::from(flow)) else { return };
        if slot.is_some_and(|known| known != from && busy) {
            return;
        }
        *slot = Some(from);
        self.say(flow, &Message::Joined { session: self.id }, out);
    }

    /// Whether a run of this number is the current one; a higher number replaces it.
    fn is_current(&self, run: u32) -> bool {
        self.run.as_ref().is_some_and(|r| r.number == run)
    }

    /// A part of a plan. A new run aborts the one before.
    #[allow(clippy::too_many_arguments)] // the fields of the message
    pub fn on_plan(
        &mut self,
        now: Time,
        run: u32,
        (part, parts): (u16, u16),
        way: Way,
        segments: Vec<Segment>,
        limits: &Limits,
        out: &mut Outbox,
    ) {
        if parts > most_parts() || self.run.as_ref().is_some_and(|r| r.number > run) {
            return;
        }
        if !self.is_current(run) {
            self.run = Some(ServerRun::new(run, way, self.attendance.is_some(), parts));
        }
        if let Some(plan) = self.run.as_mut().and_then(|r| r.take_part(part, parts, segments)) {
            self.judge(plan, limits);
        }
        let Some(current) = &self.run else { return };
        if current.loads_downwards(now) {
            return;
        }
        let session = self.id;
        match current.phase {
            ServerPhase::Refused(error) => {
                self.say(self.answers_on, &Message::PlanRefused { session, run, error }, out)
            }
            _ => self.say(self.answers_on, &Message::PlanAck { session, run, part }, out),
        }
    }

    /// Accepts or refuses a complete plan.
    fn judge(&mut self, plan: Plan, limits: &Limits) {
        let min_size = self.main_address().map_or(MAX_SIZE, min_size);
        // With a flow of another server's session the plan is that of all of its flows.
        let (missing, flows) = match &self.attendance {
            Some(_) => (None, MAX_FLOWS),
            None => (self.missing_flow(&plan), self.flows.len() as u8),
        };
        let verdict =
            missing.map_or(Ok(()), Err).and_then(|()| check(&plan, limits, flows, min_size));
        let Some(run) = &mut self.run else { return };
        run.phase = match verdict {
            Ok(load) => {
                run.load = load;
                run.flows = plan.segments.iter().map(|s| s.flow).collect();
                run.flows.sort_unstable();
                run.flows.dedup();
                ServerPhase::Agreed(plan)
            }
            Err(error) => ServerPhase::Refused(error),
        };
    }

    /// A flow of the plan that never joined.
    fn missing_flow(&self, plan: &Plan) -> Option<PlanError> {
        let joined = |f: u8| self.flows.get(usize::from(f)).is_some_and(Option::is_some);
        let s = plan.segments.iter().find(|s| !joined(s.flow))?;
        let limit = self.flows.iter().flatten().count() as u64;
        Some(PlanError { fault: PlanFault::Flow, asked: u64::from(s.flow), limit })
    }

    /// The length of the run, if the plan is agreed and START may begin it.
    pub fn length_of(&self, run: u32) -> Option<Span> {
        let current = self.run.as_ref().filter(|r| r.number == run)?;
        current.agreed().filter(|_| self.may_begin(current)).map(Plan::end)
    }

    /// Queues the answer to a START that must wait; all zeros: ask now.
    pub fn say_wait(&self, left: Span, ahead: u16, out: &mut Outbox) {
        let Some(run) = self.run.as_ref().map(|r| r.number) else { return };
        let left_ms = u32::try_from(left.as_nanos() / 1_000_000).unwrap_or(u32::MAX);
        self.say(self.answers_on, &Message::Wait { session: self.id, run, left_ms, ahead }, out);
    }

    /// Whether none of the session's packets can still be under way.
    pub fn is_drained(&self) -> bool {
        self.run.as_ref().is_none_or(ServerRun::is_drained)
    }

    /// Whether the run is in progress.
    pub fn is_busy(&self) -> bool {
        self.run.as_ref().is_some_and(ServerRun::is_active)
    }

    /// Whether a turn has nothing left to do.
    pub fn is_finished(&self) -> bool {
        self.run.as_ref().is_none_or(|r| r.fetched)
    }

    /// When the client was last heard.
    pub fn heard(&self) -> Time {
        self.last_received
    }

    /// What a run takes from its session.
    fn beginning(&self) -> Beginning {
        let own = self.flows.iter().map(|a| a.map_or(0, overhead));
        let (flows, named, overhead) = match self.attendance.as_ref().map(|a| a.of) {
            Some(of) => {
                let to_server = vec![overhead(of.server); usize::from(of.flow) + 1];
                (of.flow..of.flow.saturating_add(1), of.session, to_server)
            }
            None => (0..u8::MAX, self.id, own.collect()),
        };
        Beginning { id: self.id, zero: self.opened, overhead, flows, named }
    }

    /// Whether a run may begin: packets go to another server only after it has answered at its address.
    fn may_begin(&self, run: &ServerRun) -> bool {
        !run.onward || self.attendance.as_ref().is_some_and(Attendance::has_joined)
    }

    /// Where the packets of a flow of the run go.
    pub fn destination(&self, flow: u8) -> Option<SocketAddr> {
        match (&self.attendance, &self.run) {
            (Some(attendance), Some(run)) if run.onward => Some(attendance.of.server),
            _ => self.flows.get(usize::from(flow)).copied().flatten(),
        }
    }

    /// The other server wants the packets that this end sends there as a station, in this run.
    pub fn on_wanted(&mut self, now: Time, number: u32) {
        let at = self.beginning();
        let wanted = |r: &&mut ServerRun| r.number == number && r.onward && r.is_active();
        if let Some(run) = self.run.as_mut().filter(wanted) {
            run.on_wanted(&at, now);
            self.last_received = now;
        }
    }

    /// START. True if a run began.
    pub fn on_start(&mut self, now: Time, run: u32, delay: Span, out: &mut Outbox) -> bool {
        let at = self.beginning();
        if self.run.as_ref().is_some_and(|r| !self.may_begin(r)) {
            return false;
        }
        let Some(current) = self.run.as_mut().filter(|r| r.number == run) else { return false };
        let began = matches!(current.phase, ServerPhase::Agreed(_));
        if began {
            self.heard.restart();
        }
        current.start(&at, now, delay);
        if current.is_active() && !current.loads_downwards(now) {
            self.say(self.answers_on, &Message::Started { session: at.id, run }, out);
        }
        began
    }

    /// A keepalive.
    pub fn on_keep_alive(&mut self, now: Time, flow: u8, run: u32, counter: u32) {
        if !self.heard.is_new(flow, counter) {
            return;
        }
        self.on_received(now);
        if let Some(ServerRun { number, phase: ServerPhase::Sending(s), flows, onward, .. }) =
            &mut self.run
            && *number == run
            && !*onward
        {
            self.heard.note(flow, now);
            if let Some(at) = self.heard.by_all(flows, &self.flows) {
                s.on_received(at);
            }
        }
    }

    /// STOP.
    pub fn on_stop(&mut self, now: Time, run: u32, attempted: u32, out: &mut Outbox) {
        if let Some(r) = &mut self.run
            && r.number == run
        {
            r.on_stop(now, attempted);
            self.say_stopped(out);
        }
    }

    fn say_stopped(&self, out: &mut Outbox) {
        let Some(r) = &self.run else { return };
        let (ready, summary) = r.summary();
        let message = Message::Stopped { session: self.id, run: r.number, ready, summary };
        self.say(self.answers_on, &message, out);
    }

    /// FETCH.
    pub fn on_fetch(&mut self, run: u32, first: u32, wanted: u64) {
        if let Some(r) = self.run.as_mut().filter(|r| r.number == run) {
            if wanted == 0 {
                return r.on_fetched();
            }
            r.want(first, wanted);
        }
    }

    /// A measured packet.
    pub fn on_data(&mut self, now: Time, rx: Received<'_>, header: &DataHeader) {
        if let Some(ServerRun { number, phase: ServerPhase::Receiving(r), .. }) = &mut self.run
            && *number == header.run
        {
            r.on_data(now, rx.at, rx.traffic_class, header);
            self.on_received(now);
        }
    }

    /// Handles deadlines; true if the session is still alive.
    pub fn on_time(&mut self, now: Time, out: &mut Outbox) -> bool {
        if self.run.as_ref().is_some_and(|r| matches!(r.phase, ServerPhase::Armed { .. })) {
            let at = self.beginning();
            if let Some(run) = &mut self.run {
                run.on_time_armed(&at, now);
            }
        }
        let Some(run) = &mut self.run else { return now < self.last_received + IDLE };
        let number = run.number;
        let mut glimpse = None;
        match &mut run.phase {
            ServerPhase::Sending(sender) => sender.on_time(now),
            ServerPhase::Receiving(receiver) => {
                receiver.on_time(now);
                glimpse = receiver.keep_alive_due(now).then(|| receiver.glimpse());
            }
            _ => {}
        }
        let was_over = matches!(run.phase, ServerPhase::Over { .. });
        let settled = run.settle() && !was_over;
        let active = run.is_active();
        if settled {
            self.say_stopped(out);
        } else if let (Some(glimpse), Some(attendance)) = (glimpse, &mut self.attendance) {
            // Nothing to the client: that would travel through the queue that the other server loads.
            if active {
                attendance.say_keep_alive(number, glimpse, out);
            }
        } else if let Some(glimpse) = glimpse {
            self.say_keep_alives(number, glimpse, out);
        }
        active || now < self.last_received + IDLE
    }

    /// Tells the senders of the run that this end receives: the client, and where several hosts send each of them.
    fn say_keep_alives(&mut self, run: u32, glimpse: Glimpse, out: &mut Outbox) {
        let mut flows = vec![self.answers_on];
        let from_all = self.run.as_ref().filter(|r| r.from_all);
        flows.extend(from_all.iter().flat_map(|r| &r.flows).filter(|&&f| f != self.answers_on));
        for flow in flows {
            let counter = self.next_counter;
            self.next_counter = counter.wrapping_add(1);
            let message = Message::KeepAlive { session: self.id, run, counter, glimpse };
            self.say(flow, &message, out);
        }
    }

    /// The receive buffer, shared by all sessions, had no room for `count` datagrams.
    pub fn note_overflow(&mut self, count: u64) {
        if let Some(ServerRun { phase: ServerPhase::Receiving(r), .. }) = &mut self.run {
            r.on_overflow(count);
        }
    }

    /// The wall clock was stepped.
    pub fn note_clock_step(&mut self) {
        match self.run.as_mut().map(|r| &mut r.phase) {
            Some(ServerPhase::Sending(s)) => s.on_clock_step(),
            Some(ServerPhase::Receiving(r)) => r.on_clock_step(),
            _ => {}
        }
    }

    /// Receive times are the program's.
    pub fn note_program_timestamps(&mut self) {
        if let Some(ServerRun { phase: ServerPhase::Receiving(r), .. }) = &mut self.run {
            r.on_program_timestamps();
        }
    }

    /// The next deadline.
    pub fn next_deadline(&self) -> Time {
        let own = self.run.as_ref().and_then(ServerRun::next_deadline);
        let idle = match &self.run {
            Some(run) if run.is_active() => Time::MAX,
            _ => self.last_received + IDLE,
        };
        own.map_or(idle, |t| t.min(idle))
    }

    /// The next requested chunk of a log.
    pub fn poll_chunk(&mut self, buf: &mut Vec<u8>) -> Option<SocketAddr> {
        let flow = self.answers_on;
        let to = self.flows.get(usize::from(flow)).copied().flatten()?;
        let session = self.id;
        let run = self.run.as_mut()?;
        let number = run.number;
        let (index, bytes) = run.next_chunk()?;
        encode(flow, &Message::Chunk { session, run: number, index, bytes }, buf);
        self.key.seal(Role::Server, buf);
        Some(to)
    }
}
