//! The half of a run that sends: the client's when it measures upwards, the server's downwards.

use crate::endpoint::{SendOutcome, Ticket};
use crate::log::SenderLog;
use crate::plan::{Plan, PlannedPacket};
use crate::records::RunEnd;
use crate::schedule::Packets;
use crate::wire::{DATA_HEADER_LEN, DataHeader, data_header};
use airqueue_core::{Span, Time};
use std::ops::Range;

/// Silence of the receiver after which a sender stops, and time without a due packet after which a receiver ends: at
/// most two seconds after the peer died, and longer than the 1.5 s for which access points are known to stall.
pub const SILENCE: Span = Span::from_millis(1800);
/// Shortest interval between requests for kernel transmit timestamps.
const STAMP_EVERY: Span = Span::from_millis(5);

/// The sending half of one run.
#[derive(Debug)]
pub struct Sender {
    session: u64,
    /// The session that packets name: another server's where this endpoint is a station in that server's run.
    named: u64,
    run: u32,
    epoch: Time,
    packets: Packets,
    /// Flows whose packets are sent here.
    flows: Range<u8>,
    next: Option<PlannedPacket>,
    /// IP and UDP header bytes of each flow.
    overhead: Vec<u16>,
    log: SenderLog,
    last_received: Time,
    next_stamp: Time,
    clock_steps: u32,
    end: Option<RunEnd>,
}

impl Sender {
    /// Will send `plan`, checked before, from `epoch` on. `overhead` is the number of IP and UDP
    /// header bytes of each flow.
    pub fn new(session: u64, run: u32, plan: &Plan, epoch: Time, overhead: Vec<u16>) -> Self {
        let mut packets = plan.packets();
        let next = packets.next();
        let log = SenderLog::with_room_for(plan.packet_count());
        Sender {
            session,
            named: session,
            run,
            epoch,
            packets,
            flows: 0..u8::MAX,
            next,
            overhead,
            log,
            last_received: epoch,
            next_stamp: epoch,
            clock_steps: 0,
            end: None,
        }
    }

    /// Sends the packets of some flows alone, those of others are sent by other hosts; packets name this session.
    pub fn of_flows(mut self, flows: Range<u8>, named: u64) -> Self {
        (self.flows, self.named) = (flows, named);
        if self.next.is_some_and(|p| !self.flows.contains(&p.flow)) {
            self.advance();
        }
        self
    }

    /// Finds the next packet that is sent here; after the last one the run is over.
    fn advance(&mut self) {
        let flows = &self.flows;
        self.next = self.packets.find(|p| flows.contains(&p.flow));
        if self.next.is_none() {
            self.end.get_or_insert(RunEnd::Complete);
        }
    }

    /// When the run began or will begin.
    pub fn epoch(&self) -> Time {
        self.epoch
    }

    /// How the run ended, once it has.
    pub fn end(&self) -> Option<RunEnd> {
        self.end
    }

    /// The log.
    pub fn log(&self) -> &SenderLog {
        &self.log
    }

    /// Wall-clock steps seen.
    pub fn clock_steps(&self) -> u32 {
        self.clock_steps
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<Time> {
        if self.end.is_some() {
            return None;
        }
        self.next.map(|p| self.epoch + p.at)
    }

    /// When `on_time` is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.next_due().map(|due| due.min(self.last_received + SILENCE))
    }

    /// Stops if the receiver has been silent for too long.
    pub fn on_time(&mut self, now: Time) {
        if self.end.is_none() && now >= self.last_received + SILENCE {
            self.end = Some(RunEnd::ReceiverSilent);
        }
    }

    /// Writes the packet that is due at `now`; returns its plan and its ticket, which numbers the packets that are sent here.
    pub fn poll(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<(PlannedPacket, Ticket)> {
        if self.end.is_some() {
            return None;
        }
        let packet = self.next?;
        let sent = now - self.epoch;
        if sent < packet.at {
            return None;
        }
        self.advance();
        let row = self.log.attempted();
        self.log.push((sent - packet.at).as_nanos());
        self.write(&packet, sent, buf);
        let timestamp = now >= self.next_stamp;
        if timestamp {
            self.next_stamp = now + STAMP_EVERY;
        }
        let (session, run) = (self.session, self.run);
        Some((packet, Ticket { session, run, seq: row, timestamp }))
    }

    fn write(&self, packet: &PlannedPacket, sent: Span, buf: &mut Vec<u8>) {
        let header = DataHeader {
            session: self.named,
            run: self.run,
            seq: packet.seq,
            sent_ns: sent.as_nanos(),
        };
        let overhead = self.overhead.get(usize::from(packet.flow)).copied().unwrap_or(0);
        let len = usize::from(packet.size.saturating_sub(overhead)).max(DATA_HEADER_LEN);
        buf.clear();
        buf.extend_from_slice(&data_header(packet.flow, &header));
        buf.resize(len, 0);
    }

    /// The receiver is alive.
    pub fn on_received(&mut self, now: Time) {
        self.last_received = self.last_received.max(now);
    }

    /// Stops sending; `end` is the reason, unless the run had ended before.
    pub fn stop(&mut self, end: RunEnd) {
        self.end.get_or_insert(end);
    }

    /// The outcome of a packet.
    pub fn on_outcome(&mut self, seq: u32, outcome: SendOutcome) {
        match outcome {
            SendOutcome::Blocked => self.log.blocked(seq),
            SendOutcome::KernelSent(at) => self.log.stamped(seq, (at - self.epoch).as_nanos()),
        }
    }

    /// The wall clock was stepped.
    pub fn on_clock_step(&mut self) {
        self.clock_steps = self.clock_steps.saturating_add(1);
    }
}
