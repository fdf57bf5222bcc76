//! Fetching the server's half of the records and joining both halves.

use super::run::{ClientPhase, ClientRun, Half};
use super::{Client, ClientState, IDLE_EVERY};
use crate::bytes::Truncated;
use crate::error::ClientError;
use crate::log::{SentRows, decode_receiver, decode_sender, join, longest_log, spread};
use crate::records::{Classes, HostReport, MISSING, Records, Run, RunEnd};
use crate::wire::{CHUNK_LEN, Message, Summary, Way};
use airqueue_core::Time;
use std::ops::Range;

/// Outstanding chunks at first, and at most: as many as a FETCH names.
const WINDOW: (u32, u32) = (8, 64);

/// A log in transfer.
#[derive(Debug)]
pub(super) struct Fetch {
    bytes: Vec<u8>,
    have: Vec<bool>,
    /// First chunk that is missing.
    first: u32,
    missing: u32,
    /// First chunk that was not asked for since the last timeout.
    next: u32,
    outstanding: u32,
    window: u32,
}

impl Fetch {
    fn new(log_len: u32) -> Self {
        let chunks = log_len.div_ceil(CHUNK_LEN as u32);
        Fetch {
            bytes: vec![0; log_len as usize],
            have: vec![false; chunks as usize],
            first: 0,
            missing: chunks,
            next: 0,
            outstanding: 0,
            window: WINDOW.0,
        }
    }

    /// Nothing arrived for a while: all outstanding chunks are lost.
    pub fn on_timeout(&mut self) {
        if self.outstanding > 0 {
            self.window = (self.window / 2).max(1);
        }
        self.outstanding = 0;
        self.next = self.first;
    }

    /// The next request: chunk `first + i` for every bit `i`.
    pub fn next_request(&mut self) -> Option<(u32, u64)> {
        if self.outstanding > self.window / 2 {
            return None;
        }
        let mut wanted = 0u64;
        let last = self.first.saturating_add(u64::BITS).min(self.have.len() as u32);
        while self.next < last && self.outstanding < self.window {
            if !self.have[self.next as usize] {
                wanted |= 1 << (self.next - self.first);
                self.outstanding += 1;
            }
            self.next += 1;
        }
        (wanted != 0).then_some((self.first, wanted))
    }

    /// Accepts a chunk; true if the chunk was missing.
    fn take(&mut self, index: u32, bytes: &[u8]) -> bool {
        let i = index as usize;
        let from = i.saturating_mul(CHUNK_LEN);
        let to = self.bytes.len().min(from.saturating_add(CHUNK_LEN));
        if self.have.get(i) != Some(&false) || to - from != bytes.len() {
            return false;
        }
        self.bytes[from..to].copy_from_slice(bytes);
        self.have[i] = true;
        self.missing -= 1;
        self.outstanding = self.outstanding.saturating_sub(1);
        self.window = (self.window + 1).min(WINDOW.1);
        while self.have.get(self.first as usize) == Some(&true) {
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        true
    }
}

impl Client {
    /// The server has finished the run, with this summary.
    pub(super) fn on_stopped(&mut self, now: Time, summary: Summary) {
        let Some(run) = &mut self.run else { return };
        if !matches!(run.phase, ClientPhase::Stopping) {
            return;
        }
        if u64::from(summary.log_len) > longest_log(run.plan.packet_count()) {
            return self.fail(ClientError::BadLog);
        }
        if let Half::Receiving(receiver) = &mut run.half {
            receiver.on_sender_stopped(now, summary.attempted);
        }
        let fetch = Fetch::new(summary.log_len);
        run.enter(now, ClientPhase::Fetching { summary, fetch });
        self.finish_if_whole(now);
    }

    pub(super) fn on_chunk(&mut self, now: Time, index: u32, bytes: &[u8]) {
        let Some(session) = self.session.as_ref().map(|s| s.id) else { return };
        let Some(run) = &mut self.run else { return };
        let ClientPhase::Fetching { fetch, .. } = &mut run.phase else { return };
        if !fetch.take(index, bytes) {
            return;
        }
        let request = fetch.next_request();
        let (number, flow) = (run.number, run.request_flow());
        run.progressed(now);
        if let Some((first, wanted)) = request {
            self.say(flow, &Message::Fetch { session, run: number, first, wanted });
        }
        self.finish_if_whole(now);
    }

    fn finish_if_whole(&mut self, now: Time) {
        let Some(run) = &self.run else { return };
        let ClientPhase::Fetching { summary, fetch } = &run.phase else { return };
        if fetch.missing > 0 {
            return;
        }
        let (number, flow) = (run.number, run.request_flow());
        match assemble(run, &self.part(), summary, &fetch.bytes) {
            Ok(run) => {
                // The turn is over: another client need not wait for the server to notice.
                if let Some(session) = self.session.as_ref().map(|s| s.id) {
                    let fetch = Message::Fetch { session, run: number, first: 0, wanted: 0 };
                    self.say(flow, &fetch);
                }
                self.finish(now, run);
            }
            Err(Truncated) => self.fail(ClientError::BadLog),
        }
    }

    /// The flows whose packets this end of the session sends where several hosts do.
    fn part(&self) -> Range<u8> {
        let other = self.attending.map(|a| a.flow());
        other.map_or(0..self.own_flows(), |flow| flow..flow.saturating_add(1))
    }

    /// A run that was cancelled before it was to begin.
    pub(super) fn finish_empty(&mut self, now: Time) {
        let records = Records { classes: Some(Classes::default()), ..Records::default() };
        self.finish(now, Run { records, host: HostReport::default(), end: RunEnd::Cancelled });
    }

    fn finish(&mut self, now: Time, run: Run) {
        self.last_times = self.run.take().map(|run| run.times());
        self.finished = Some(run);
        self.state = ClientState::Ready;
        self.next_idle = now + IDLE_EVERY;
    }
}

/// Joins the two halves; `part` are the flows of this end where several hosts send.
fn assemble(
    run: &ClientRun,
    part: &Range<u8>,
    summary: &Summary,
    log: &[u8],
) -> Result<Run, Truncated> {
    let packets = run.plan.packet_count();
    let mut host = HostReport {
        send_blocked: summary.send_blocked,
        receive_overflow: summary.receive_overflow,
        duplicates: summary.duplicates,
        clock_steps: u64::from(summary.clock_steps),
        kernel_receive_timestamps: summary.kernel_receive_timestamps,
        shared: summary.shared,
    };
    let (records, sender, receiver) = match (&run.half, run.way) {
        (Half::Receiving(r), _) => {
            let sent = decode_sender(log, packets)?;
            host.receive_overflow = r.overflow();
            host.duplicates = r.duplicates();
            host.clock_steps += u64::from(r.clock_steps());
            host.kernel_receive_timestamps = r.kernel_timestamps();
            (join(&run.plan, &sent, r.log().arrivals()), Some(summary.end), r.end())
        }
        (Half::Sending(s), way) => {
            let own = decode_sender(&s.log().encode(), packets)?;
            let sent = if way == Way::UpFromAll { spread(&run.plan, part, &own) } else { own };
            host.send_blocked = s.log().blocked_count();
            host.clock_steps += u64::from(s.clock_steps());
            let received = decode_receiver(log, packets)?;
            (join(&run.plan, &sent, received.arrivals()), s.end(), Some(summary.end))
        }
        (Half::Watching(_), Way::UpFromAll) => {
            // The server has sent to another one: what arrived there is not known here.
            let sent = spread(&run.plan, part, &decode_sender(log, packets)?);
            (join(&run.plan, &sent, std::iter::empty()), Some(summary.end), None)
        }
        (Half::Watching(_), _) => {
            // Another server has sent: of the packets that were not for this one nothing is known.
            let received = decode_receiver(log, packets)?;
            let n = packets as usize;
            let sent = SentRows { lateness_ns: vec![0; n], kernel_tx_ns: vec![MISSING; n] };
            (join(&run.plan, &sent, received.arrivals()), None, Some(summary.end))
        }
        (Half::Waiting, _) => {
            let records = join(&run.plan, &SentRows::default(), std::iter::empty());
            (records, None, None)
        }
    };
    Ok(Run { records, host, end: joint_end(run.cancelled, sender, receiver) })
}

/// How a run ended, given how its halves did. A plan that was carried out is complete even if the receiver gave up
/// during a silence: the records show the arrivals. A receiver that gives up goes silent itself, so that of two reports
/// the receiver's is the cause. If the sender neither finished nor gave up, it was so late that this end had ended the
/// run.
fn joint_end(cancelled: bool, sender: Option<RunEnd>, receiver: Option<RunEnd>) -> RunEnd {
    match (sender, receiver) {
        _ if cancelled => RunEnd::Cancelled,
        (Some(RunEnd::Complete), _) | (None, Some(RunEnd::Complete)) => RunEnd::Complete,
        (_, Some(RunEnd::SenderSilent)) => RunEnd::SenderSilent,
        (Some(RunEnd::ReceiverSilent), _) => RunEnd::ReceiverSilent,
        _ => RunEnd::SenderSilent,
    }
}
