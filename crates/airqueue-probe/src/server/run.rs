//! The server's half of one run.

use crate::check::{Load, PlanError};
use crate::client::Direction;
use crate::plan::{Plan, Segment};
use crate::receiver::Receiver;
use crate::records::RunEnd;
use crate::sender::Sender;
use crate::wire::{CHUNK_LEN, SEGMENTS_PER_PART, Summary, Way};
use airqueue_core::{Span, Time};
use std::ops::Range;

/// Longest delay that a START may ask for.
const MAX_DELAY: Span = Span::from_secs(10);
/// Quiet between the message that packets are wanted and the first of them, as at a client.
const START_DELAY: Span = Span::from_millis(100);
/// How much later than the server's START a client's run may begin, upwards: STARTED travels to the client, and may be
/// lost.
const START_SLACK: Span = Span::from_secs(2);

/// The state of a run.
#[derive(Debug)]
pub(super) enum ServerPhase {
    /// Parts of the plan are missing.
    Planning(Vec<Option<Vec<Segment>>>),
    /// The plan is not acceptable.
    Refused(PlanError),
    /// Waiting for START.
    Agreed(Plan),
    /// In progress, but not a packet leaves before the server that receives them wants them.
    Armed { plan: Plan, until: Time },
    /// In progress downwards, or over with the log not taken.
    Sending(Sender),
    /// In progress upwards, or over with the log not taken.
    Receiving(Receiver),
    /// Over.
    Over { summary: Summary, log: Vec<u8> },
}

/// What a run takes from its session when it begins.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The session.
    pub id: u64,
    /// The session's zero of receive times.
    pub zero: Time,
    /// IP and UDP header bytes of each flow.
    pub overhead: Vec<u16>,
    /// Flows of this end, where it is a station in another server's run; else all.
    pub flows: Range<u8>,
    /// The session that packets name.
    pub named: u64,
}

/// One run on the server.
#[derive(Debug)]
pub(super) struct ServerRun {
    pub number: u32,
    /// Of the packets, as seen from this server.
    pub direction: Direction,
    /// The packets of several hosts come here: all of them are told that they are wanted.
    pub from_all: bool,
    /// This server sends as a station of another server, not to its client.
    pub onward: bool,
    pub phase: ServerPhase,
    /// The load of the plan.
    pub load: Load,
    /// The server carried packets of other sessions during the run.
    pub shared: bool,
    /// The client has all records.
    pub fetched: bool,
    /// The client ended the run.
    pub stop_received: bool,
    /// When a load beside the run ends at the latest; set at the start.
    pub planned_end: Option<Time>,
    /// Flows with packets.
    pub flows: Vec<u8>,
    /// Chunks to send: `first + i` for every bit `i`.
    wanted: (u32, u128),
}

impl ServerRun {
    /// A run without a plan; `attends`: this end is a station in another server's runs.
    pub fn new(number: u32, way: Way, attends: bool, parts: u16) -> Self {
        let onward = attends && way == Way::UpFromAll;
        ServerRun {
            number,
            direction: if onward { Direction::Down } else { way.direction() },
            from_all: !attends && way == Way::UpFromAll,
            onward,
            phase: ServerPhase::Planning(vec![None; usize::from(parts)]),
            load: Load::default(),
            shared: false,
            fetched: false,
            stop_received: false,
            planned_end: None,
            flows: Vec::new(),
            wanted: (0, 0),
        }
    }

    /// Accepts a part; returns the whole plan once complete.
    pub fn take_part(&mut self, part: u16, parts: u16, segments: Vec<Segment>) -> Option<Plan> {
        let ServerPhase::Planning(slots) = &mut self.phase else { return None };
        if slots.len() != usize::from(parts) {
            return None;
        }
        *slots.get_mut(usize::from(part))? = Some(segments);
        let whole: Option<Vec<&Vec<Segment>>> = slots.iter().map(Option::as_ref).collect();
        Some(Plan { segments: whole?.into_iter().flatten().copied().collect() })
    }

    /// Begins `delay` after `now`, if it is agreed and has not begun.
    pub fn start(&mut self, at: &Beginning, now: Time, delay: Span) {
        let delay = delay.min(MAX_DELAY);
        if let ServerPhase::Receiving(receiver) = &mut self.phase {
            return receiver.expect_start(now, delay);
        }
        let ServerPhase::Agreed(plan) = &self.phase else { return };
        self.planned_end = Some(now + delay + plan.end() + START_SLACK);
        self.phase = match self.direction {
            Direction::Down if self.onward => {
                ServerPhase::Armed { plan: plan.clone(), until: now + delay + START_SLACK }
            }
            Direction::Down => {
                let overhead = at.overhead.clone();
                ServerPhase::Sending(Sender::new(at.id, self.number, plan, now + delay, overhead))
            }
            Direction::Up => {
                let flows = at.flows.clone();
                ServerPhase::Receiving(Receiver::of_flows(plan, flows, at.zero, now, delay))
            }
        };
    }

    /// The server that receives what this end sends as a station wants it: the first time the run begins.
    pub fn on_wanted(&mut self, at: &Beginning, now: Time) {
        match &mut self.phase {
            ServerPhase::Armed { .. } => self.send(at, now + START_DELAY),
            ServerPhase::Sending(sender) => sender.on_received(now),
            _ => {}
        }
    }

    /// Ends a run whose packets nobody has wanted in time.
    pub fn on_time_armed(&mut self, at: &Beginning, now: Time) {
        if matches!(self.phase, ServerPhase::Armed { until, .. } if now >= until) {
            self.send(at, now);
            if let ServerPhase::Sending(sender) = &mut self.phase {
                sender.stop(RunEnd::ReceiverSilent);
            }
        }
    }

    fn send(&mut self, at: &Beginning, epoch: Time) {
        let ServerPhase::Armed { plan, .. } = &self.phase else { return };
        let sender = Sender::new(at.id, self.number, plan, epoch, at.overhead.clone());
        self.phase = ServerPhase::Sending(sender.of_flows(at.flows.clone(), at.named));
    }

    /// Whether control messages would wait in the measured queue.
    pub fn loads_downwards(&self, now: Time) -> bool {
        matches!(&self.phase, ServerPhase::Sending(s) if s.end().is_none() && now >= s.epoch())
    }

    /// Whether the run keeps its session alive by itself.
    pub fn is_active(&self) -> bool {
        match &self.phase {
            ServerPhase::Sending(s) => s.end().is_none(),
            ServerPhase::Receiving(r) => r.end().is_none(),
            ServerPhase::Armed { .. } => true,
            _ => false,
        }
    }

    /// The plan of a run that waits for START.
    pub fn agreed(&self) -> Option<&Plan> {
        match &self.phase {
            ServerPhase::Agreed(plan) => Some(plan),
            _ => None,
        }
    }

    /// Most packets of which the server keeps records.
    pub fn kept_packets(&self) -> u64 {
        match self.phase {
            ServerPhase::Sending(_) | ServerPhase::Receiving(_) | ServerPhase::Armed { .. } => {
                self.load.packets
            }
            ServerPhase::Over { .. } if !self.fetched => self.load.packets,
            _ => 0,
        }
    }

    /// Whether none of the run's packets can still be under way: both ends have finished.
    pub fn is_drained(&self) -> bool {
        let never_began = matches!(
            self.phase,
            ServerPhase::Planning(_)
                | ServerPhase::Refused(_)
                | ServerPhase::Agreed(_)
                | ServerPhase::Armed { .. }
        );
        never_began || (self.stop_received && !self.is_active())
    }

    /// The client has all records: they are not kept any longer.
    pub fn on_fetched(&mut self) {
        if let ServerPhase::Over { log, .. } = &mut self.phase {
            *log = Vec::new();
            self.fetched = true;
        }
    }

    /// The client ended the run after it attempted that many packets.
    pub fn on_stop(&mut self, now: Time, attempted: u32) {
        self.stop_received = true;
        match &mut self.phase {
            ServerPhase::Sending(sender) => sender.stop(RunEnd::Cancelled),
            ServerPhase::Receiving(receiver) => {
                receiver.on_sender_stopped(now, attempted);
                receiver.on_time(now);
            }
            ServerPhase::Over { .. } => {}
            ServerPhase::Planning(_)
            | ServerPhase::Refused(_)
            | ServerPhase::Agreed(_)
            | ServerPhase::Armed { .. } => {
                // Nothing was sent; the log is that of an empty run.
                let summary = summary(RunEnd::Cancelled);
                let log = match self.direction {
                    Direction::Down => crate::log::SenderLog::default().encode(),
                    Direction::Up => crate::log::ArrivalLog::default().encode(),
                };
                self.phase = over(summary, log);
            }
        }
        self.settle();
    }

    /// Takes the log if the run is over at both ends; returns whether this was done.
    pub fn settle(&mut self) -> bool {
        if !self.stop_received {
            return false;
        }
        match &self.phase {
            ServerPhase::Sending(s) => {
                let Some(end) = s.end() else { return false };
                let summary = Summary {
                    attempted: s.log().attempted(),
                    send_blocked: s.log().blocked_count(),
                    clock_steps: s.clock_steps(),
                    ..summary(end)
                };
                self.phase = over(summary, s.log().encode());
            }
            ServerPhase::Receiving(r) => {
                let Some(end) = r.end() else { return false };
                let summary = Summary {
                    receive_overflow: r.overflow(),
                    duplicates: r.duplicates(),
                    clock_steps: r.clock_steps(),
                    kernel_receive_timestamps: r.kernel_timestamps(),
                    ..summary(end)
                };
                self.phase = over(summary, r.log().encode());
            }
            _ => {}
        }
        true
    }

    /// The content of STOPPED: whether the log is ready, and the summary.
    pub fn summary(&self) -> (bool, Summary) {
        match &self.phase {
            ServerPhase::Over { summary, .. } => {
                (true, Summary { shared: self.shared, ..*summary })
            }
            _ => (false, summary(RunEnd::Complete)),
        }
    }

    /// Asks for chunk `first + i` for every bit `i` of `wanted`, beside those that are still to be
    /// sent unless they are too far away.
    pub fn want(&mut self, first: u32, wanted: u64) {
        let (old_first, old) = self.wanted;
        let base = if old == 0 { first } else { first.min(old_first) };
        let shifted = |from: u32, bits: u128| match from - base {
            by if by < 64 => bits << by,
            _ => 0,
        };
        let old = if old == 0 { 0 } else { shifted(old_first, old) };
        self.wanted = (base, old | shifted(first, u128::from(wanted)));
    }

    /// The next chunk that was asked for.
    pub fn next_chunk(&mut self) -> Option<(u32, &[u8])> {
        let ServerPhase::Over { log, .. } = &self.phase else { return None };
        let (first, wanted) = &mut self.wanted;
        while *wanted != 0 {
            let bit = wanted.trailing_zeros();
            *wanted &= *wanted - 1;
            let Some(index) = first.checked_add(bit) else { continue };
            let from = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(CHUNK_LEN);
            if from < log.len() {
                return Some((index, &log[from..log.len().min(from + CHUNK_LEN)]));
            }
        }
        None
    }

    /// The next deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        match &self.phase {
            ServerPhase::Sending(s) => s.next_deadline(),
            ServerPhase::Receiving(r) => Some(r.next_deadline()),
            ServerPhase::Armed { until, .. } => Some(*until),
            _ => None,
        }
    }
}

/// The most parts of a plan within the limits.
pub(super) fn most_parts() -> u16 {
    crate::check::MAX_SEGMENTS.div_ceil(SEGMENTS_PER_PART) as u16
}

fn over(mut summary: Summary, log: Vec<u8>) -> ServerPhase {
    summary.log_len = u32::try_from(log.len()).unwrap_or(u32::MAX);
    ServerPhase::Over { summary, log }
}

fn summary(end: RunEnd) -> Summary {
    Summary {
        end,
        attempted: 0,
        log_len: 0,
        send_blocked: 0,
        receive_overflow: 0,
        duplicates: 0,
        clock_steps: 0,
        kernel_receive_timestamps: true,
        shared: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(run: &mut ServerRun) -> Vec<u32> {
        std::iter::from_fn(|| run.next_chunk().map(|(index, _)| index)).collect()
    }

    #[test]
    fn requests_for_chunks_add_up_and_each_is_answered_once() {
        let mut run = ServerRun::new(1, Way::Down, false, 1);
        run.phase = over(summary(RunEnd::Complete), vec![0; 10 * CHUNK_LEN - 1]);
        run.want(4, 0b101);
        run.want(2, 0b11);
        run.want(8, u64::MAX); // only two of these exist
        assert_eq!(chunks(&mut run), [2, 3, 4, 6, 8, 9]);
        assert!(chunks(&mut run).is_empty());
        run.want(u32::MAX, u64::MAX);
        run.want(0, 1);
        assert_eq!(chunks(&mut run), [0]);
    }
}
