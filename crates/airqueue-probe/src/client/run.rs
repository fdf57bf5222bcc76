//! One run on the client: agreeing on it, starting it, carrying out one half.

use super::collect::Fetch;
use super::{Client, ClientState, Progress, Waiting};
use crate::check::overhead;
use crate::endpoint::{Received, SendOutcome, Ticket};
use crate::error::ClientError;
use crate::plan::{Plan, PlannedPacket};
use crate::receiver::Receiver;
use crate::records::RunEnd;
use crate::retry::Retry;
use crate::sender::Sender;
use crate::wire::{DataHeader, Glimpse, Message, SEGMENTS_PER_PART, Summary, Way};
use airqueue_core::{Span, Time};

/// Quiet between the last control message and the first measured packet.
pub(super) const START_DELAY: Span = Span::from_millis(100);
/// Silence after which the server is given up.
const PATIENCE: Span = Span::from_secs(10);
/// The same after a flood that arrived: a queue manager may refuse everything until its average has fallen.
const AFTER_FLOOD: Span = Span::from_secs(20);
/// Time without progress after which a server that still replies is given up.
const NO_PROGRESS: Span = Span::from_secs(90);
/// Longest wait for a turn after the first.
const LONGEST_WAIT: Span = Span::from_secs(1800);
/// Interval of the questions of a client that waits for its turn.
const ASK_EVERY: Span = Span::from_secs(2);

/// The phase of a run.
#[derive(Debug)]
pub(super) enum ClientPhase {
    /// The server has not acknowledged these parts of the plan.
    Planning(Vec<u16>),
    /// The server has not confirmed the start.
    Starting,
    /// The run is in progress.
    Active,
    /// Finished here; the server has not finished.
    Stopping,
    /// Fetching the server's half of the records.
    Fetching { summary: Summary, fetch: Fetch },
}

/// The client's half.
#[derive(Debug)]
pub(super) enum Half {
    /// Upwards, before the server is ready.
    Waiting,
    Sending(Sender),
    Receiving(Receiver),
    /// Packets go between the server and another one: in progress since this time, once it is.
    Watching(Option<Time>),
}

impl Half {
    /// The half that receives the packets of so many flows of a plan, from flow 0.
    pub fn receiving(plan: &Plan, flows: u8, zero: Time, now: Time) -> Half {
        Half::Receiving(Receiver::of_flows(plan, 0..flows, zero, now, START_DELAY))
    }
}

/// One run on the client.
#[derive(Debug)]
pub(super) struct ClientRun {
    pub number: u32,
    pub way: Way,
    pub plan: Plan,
    pub half: Half,
    pub phase: ClientPhase,
    pub cancelled: bool,
    retry: Retry,
    /// When the phase began, or last made progress.
    since: Time,
    /// Flow of the next keepalive: all flows take turns, to keep every translator's binding.
    keep_alive_flow: u8,
    /// The remote receiver's last report.
    remote: Option<Glimpse>,
    /// Runs of other clients come first: since when, until when about, and how many.
    queued: Option<(Time, Time, u16)>,
    /// The flow of requests. A request that is repeated takes the next one: a device may go on to refuse the packets of
    /// the flow that was the flood.
    request_flow: u8,
    /// The request of this phase was sent.
    asked: bool,
}

impl ClientRun {
    /// A run of a checked plan.
    pub fn new(number: u32, way: Way, plan: &Plan, half: Half, now: Time) -> Self {
        let parts = plan.segments.len().div_ceil(SEGMENTS_PER_PART) as u16;
        ClientRun {
            number,
            way,
            plan: plan.clone(),
            half,
            phase: ClientPhase::Planning((0..parts).collect()),
            cancelled: false,
            retry: Retry::new(now),
            since: now,
            keep_alive_flow: 0,
            remote: None,
            queued: None,
            request_flow: 0,
            asked: false,
        }
    }

    pub fn enter(&mut self, now: Time, phase: ClientPhase) {
        self.queued = None;
        self.asked = false;
        self.phase = phase;
        self.retry = Retry::new(now);
        self.since = now;
    }

    /// The phase made progress.
    pub fn progressed(&mut self, now: Time) {
        self.asked = false;
        self.retry.progressed(now);
        self.since = now;
    }

    pub fn glimpse(&self) -> Glimpse {
        match &self.half {
            Half::Receiving(r) => r.glimpse(),
            _ => Glimpse::default(),
        }
    }

    pub fn progress(&self, now: Time) -> Progress {
        let (start, glimpse) = match &self.half {
            Half::Waiting | Half::Watching(_) => (None, None),
            Half::Sending(s) => (Some(s.epoch()), self.remote),
            Half::Receiving(r) => (r.start(), Some(r.glimpse())),
        };
        let g = glimpse.unwrap_or(Glimpse { received: 0, lost: 0, delay_us: u32::MAX });
        let known = g.delay_us != u32::MAX;
        Progress {
            elapsed: start.map_or(Span::ZERO, |s| (now - s).max(Span::ZERO)),
            planned: self.plan.end(),
            received: u64::from(g.received),
            lost: u64::from(g.lost),
            delay: known.then(|| Span::from_micros(i64::from(g.delay_us))),
            waiting: self
                .queued
                .map(|(_, until, ahead)| Waiting { left: (until - now).max(Span::ZERO), ahead }),
        }
    }

    pub fn poll_data(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<(PlannedPacket, Ticket)> {
        match &mut self.half {
            Half::Sending(sender) => sender.poll(now, buf),
            _ => None,
        }
    }

    pub fn on_outcome(&mut self, seq: u32, outcome: SendOutcome) {
        if let Half::Sending(s) = &mut self.half {
            s.on_outcome(seq, outcome);
        }
    }

    pub fn note_overflow(&mut self, count: u64) {
        if let Half::Receiving(r) = &mut self.half {
            r.on_overflow(count);
        }
    }

    pub fn note_clock_step(&mut self) {
        match &mut self.half {
            Half::Sending(s) => s.on_clock_step(),
            Half::Receiving(r) => r.on_clock_step(),
            Half::Waiting | Half::Watching(_) => {}
        }
    }

    pub fn note_program_timestamps(&mut self) {
        if let Half::Receiving(r) = &mut self.half {
            r.on_program_timestamps();
        }
    }

    /// Packets of the run that arrived, if this end has carried out the plan and awaits the records. 0 if the peer
    /// went silent during the run: then it is the path that has failed.
    fn seen(&self) -> u64 {
        let (end, glimpse) = match &self.half {
            Half::Receiving(r) => (r.end(), r.glimpse()),
            Half::Sending(s) => (s.end(), self.remote.unwrap_or_default()),
            Half::Waiting | Half::Watching(_) => (None, Glimpse::default()),
        };
        let over = matches!(self.phase, ClientPhase::Stopping | ClientPhase::Fetching { .. });
        if over && end == Some(RunEnd::Complete) { u64::from(glimpse.received) } else { 0 }
    }

    /// Silence after which the server is given up: longer after a flood that arrived.
    fn patience(&self) -> Span {
        if self.seen() > 0 { AFTER_FLOOD } else { PATIENCE }
    }

    /// The flow of requests.
    pub fn request_flow(&self) -> u8 {
        self.request_flow
    }

    /// Whether a reply of the server is due now: not while packets are being sent.
    pub fn waits_for_answer(&self) -> bool {
        !matches!(self.phase, ClientPhase::Active)
    }

    /// Packets attempted here, upwards.
    fn attempted(&self) -> u32 {
        match &self.half {
            // Other stations may still be sending.
            Half::Sending(s) if self.way == Way::UpFromAll && s.end() == Some(RunEnd::Complete) => {
                u32::MAX
            }
            Half::Sending(s) => s.log().attempted(),
            // Nothing is known of what another server has sent; of a run that was cancelled nothing more is to be awaited.
            Half::Watching(_) if !self.cancelled => u32::MAX,
            _ => 0,
        }
    }

    /// The half's own deadline while active.
    fn half_deadline(&self) -> Option<Time> {
        match &self.half {
            Half::Waiting => None,
            Half::Watching(_) => self.watched_until(),
            Half::Sending(s) => s.next_deadline(),
            Half::Receiving(r) => Some(r.next_deadline()),
        }
    }
}

impl Client {
    pub(super) fn run_deadline(&self) -> Option<Time> {
        let run = self.run.as_ref()?;
        if matches!(run.phase, ClientPhase::Active) {
            return run.half_deadline();
        }
        let patience = self.last_received.max(run.since) + run.patience();
        let keep_alive = match (&run.phase, &run.half) {
            (ClientPhase::Starting, Half::Receiving(r)) if run.queued.is_none() => {
                r.next_keep_alive()
            }
            _ => Time::MAX,
        };
        Some(run.retry.next().min(patience).min(run.since + NO_PROGRESS).min(keep_alive))
    }

    pub(super) fn advance_run(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        if matches!(run.phase, ClientPhase::Active) {
            return self.advance_active(now);
        }
        let gone = now >= self.last_received.max(run.since) + run.patience();
        if gone || now >= run.since + NO_PROGRESS {
            let (server, seen) = (self.config.server, run.seen());
            return self.fail(match seen {
                0 => ClientError::Vanished { server },
                received => ClientError::Starved { server, received },
            });
        }
        let own = self.handshakes.len() as u8;
        let starting = matches!(run.phase, ClientPhase::Starting) && run.queued.is_none();
        if run.retry.due(now) {
            if run.asked && run.queued.is_none() {
                run.request_flow = (run.request_flow + 1) % own;
            }
            run.asked = true;
            self.ask_for_progress();
        }
        if starting {
            // The server may begin long before its reply arrives.
            self.keep_alive(now);
        }
    }

    /// Sends a keepalive to the sender if one is due.
    fn keep_alive(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        let Half::Receiving(receiver) = &mut run.half else { return };
        if receiver.end().is_some() || !receiver.keep_alive_due(now) {
            return;
        }
        let (flow, number) = (run.keep_alive_flow, run.number);
        run.keep_alive_flow = (flow + 1) % self.handshakes.len() as u8;
        self.say_keep_alive(flow, number);
    }

    /// Sends (again) the message whose reply the phase waits for.
    fn ask_for_progress(&mut self) {
        let Some(session) = self.session.as_ref().map(|s| s.id) else { return };
        let Some(run) = &mut self.run else { return };
        let number = run.number;
        let message = match &mut run.phase {
            ClientPhase::Planning(parts) => {
                let parts = parts.clone();
                return parts.into_iter().for_each(|part| self.say_part(session, part));
            }
            ClientPhase::Starting => {
                let delay_ms = (run.start_delay().as_nanos() / 1_000_000) as u32;
                Message::Start { session, run: number, delay_ms }
            }
            ClientPhase::Stopping => {
                Message::Stop { session, run: number, attempted: run.attempted() }
            }
            ClientPhase::Fetching { fetch, .. } => {
                fetch.on_timeout();
                let Some((first, wanted)) = fetch.next_request() else { return };
                Message::Fetch { session, run: number, first, wanted }
            }
            ClientPhase::Active => return,
        };
        let flow = run.request_flow;
        self.say(flow, &message);
    }

    fn say_part(&mut self, session: u64, part: u16) {
        let Some(run) = &self.run else { return };
        let mut chunks = run.plan.segments.chunks(SEGMENTS_PER_PART);
        let parts = chunks.len() as u16;
        let Some(segments) = chunks.nth(usize::from(part)) else { return };
        let (number, way, segments) = (run.number, run.way, segments.to_vec());
        let flow = run.request_flow;
        let message = Message::Plan { session, run: number, part, parts, way, segments };
        self.say(flow, &message);
    }

    fn advance_active(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        let ended = match &mut run.half {
            Half::Waiting => false,
            Half::Watching(_) => run.watched_until().is_some_and(|at| now >= at),
            Half::Sending(sender) => {
                sender.on_time(now);
                sender.end().is_some()
            }
            Half::Receiving(receiver) => {
                receiver.on_time(now);
                receiver.end().is_some()
            }
        };
        if ended {
            run.enter(now, ClientPhase::Stopping);
            self.state = ClientState::Collecting;
            self.advance_run(now);
        } else {
            self.keep_alive(now);
        }
    }

    /// Ends the run here, as if the run had ended by itself.
    pub(super) fn cancel_run(&mut self, now: Time) {
        let Some(run) = &mut self.run else { return };
        run.cancelled = true;
        self.state = ClientState::Collecting;
        match run.phase {
            // The server has not been asked to begin: the next run simply takes this one's place.
            ClientPhase::Planning(_) => return self.finish_empty(now),
            ClientPhase::Active if matches!(run.half, Half::Sending(_)) => {
                if let Half::Sending(sender) = &mut run.half {
                    sender.stop(RunEnd::Cancelled);
                }
            }
            _ => {}
        }
        run.enter(now, ClientPhase::Stopping);
    }

    pub(super) fn on_data(&mut self, now: Time, rx: Received<'_>, header: &DataHeader) {
        let Some(run) = self.run.as_mut().filter(|r| r.number == header.run) else { return };
        let Half::Receiving(receiver) = &mut run.half else { return };
        receiver.on_data(now, rx.at, rx.traffic_class, header);
        self.last_received = now;
        if matches!(run.phase, ClientPhase::Starting) {
            run.enter(now, ClientPhase::Active); // the reply to START was lost; the first packet implies it
            self.had_turn = true;
        }
    }

    /// A verified message about a run.
    pub(super) fn on_run_message(&mut self, now: Time, message: Message<'_>) {
        let number = match message {
            Message::PlanAck { run, .. }
            | Message::PlanRefused { run, .. }
            | Message::Started { run, .. }
            | Message::Wait { run, .. }
            | Message::KeepAlive { run, .. }
            | Message::Stopped { run, .. }
            | Message::Chunk { run, .. } => run,
            _ => return,
        };
        if let Message::KeepAlive { run: 0, counter, .. } = message {
            return self.on_question(counter);
        }
        let Some(run) = self.run.as_mut().filter(|r| r.number == number) else { return };
        match message {
            Message::PlanAck { part, .. } => on_plan_ack(run, now, part),
            Message::PlanRefused { error, .. } if matches!(run.phase, ClientPhase::Planning(_)) => {
                self.fail(error.into());
            }
            Message::Started { .. } => self.on_started(now),
            Message::Wait { left_ms, ahead, .. } => {
                self.on_wait(now, Span::from_millis(i64::from(left_ms)), ahead);
            }
            Message::KeepAlive { counter, glimpse, .. } => {
                self.on_keep_alive(now, counter, glimpse);
            }
            Message::Stopped { ready: true, summary, .. } => self.on_stopped(now, summary),
            Message::Chunk { index, bytes, .. } => self.on_chunk(now, index, bytes),
            _ => {}
        }
    }

    /// The server will begin: downwards packets will come, upwards they may go.
    fn on_started(&mut self, now: Time) {
        let Some(session) = self.session.as_ref().map(|s| s.id) else { return };
        let own = self.own_flows();
        let overheads = vec![overhead(self.config.server); usize::from(own)];
        let Some(run) = self.run.as_mut().filter(|r| matches!(r.phase, ClientPhase::Starting))
        else {
            return;
        };
        match &mut run.half {
            Half::Receiving(receiver) => receiver.expect_start(now, START_DELAY),
            Half::Watching(since) => *since = Some(now),
            half => {
                let epoch = now + START_DELAY;
                let sender = Sender::new(session, run.number, &run.plan, epoch, overheads);
                *half = Half::Sending(sender.of_flows(0..own, session));
            }
        }
        run.enter(now, ClientPhase::Active);
        self.had_turn = true;
    }

    /// Runs of other clients come first; or none does any more, and the turn is offered.
    fn on_wait(&mut self, now: Time, left: Span, ahead: u16) {
        let most = if self.had_turn { LONGEST_WAIT } else { self.config.max_wait };
        let Some(run) = self.run.as_mut().filter(|r| matches!(r.phase, ClientPhase::Starting))
        else {
            return;
        };
        let since = run.queued.map_or(now, |q| q.0);
        // A server that never gives a turn is left by the client's own clock.
        if now + left > since + most {
            let (server, runs) = (self.config.server, ahead);
            return self.fail(ClientError::Busy { server, runs, left, most });
        }
        // One offer is one question: offers in a row must not make the client talk without end.
        let news = ahead == 0 && run.queued.is_none_or(|q| q.2 > 0);
        run.queued = Some((since, now + left, ahead));
        run.since = now;
        run.retry = if news { Retry::new(now) } else { Retry::at(now + ASK_EVERY) };
    }

    /// The server asks whether the client is there. A replayed question is ignored.
    fn on_question(&mut self, counter: u32) {
        if self.last_counter.is_none_or(|last| counter > last) {
            self.last_counter = Some(counter);
            self.say_keep_alive(0, 0);
        }
    }

    /// The remote receiver is alive. A replayed keepalive is ignored.
    fn on_keep_alive(&mut self, now: Time, counter: u32, glimpse: Glimpse) {
        if self.last_counter.is_some_and(|last| counter <= last) {
            return;
        }
        self.last_counter = Some(counter);
        self.on_started(now); // the reply to START was lost
        if let Some(run) = &mut self.run {
            run.remote = Some(glimpse);
            if let Half::Sending(sender) = &mut run.half {
                sender.on_received(now);
            }
        }
    }
}

/// A part of the plan has arrived; after the last one the run can start.
fn on_plan_ack(run: &mut ClientRun, now: Time, part: u16) {
    let ClientPhase::Planning(parts) = &mut run.phase else { return };
    let before = parts.len();
    parts.retain(|&p| p != part);
    if parts.is_empty() {
        run.enter(now, ClientPhase::Starting);
    } else if parts.len() < before {
        run.progressed(now);
    }
}
