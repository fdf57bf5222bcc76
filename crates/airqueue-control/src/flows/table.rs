//! The flows of an interface.

use super::packet::{End, Mac, Packet, Protocol};
use super::round_trip::{Mark, Passed, RoundTrip};
use super::stream::Stream;
use airqueue_core::{Span, Time};
use std::collections::BTreeMap;
use std::ops::Bound;

/// The most flows that are known: 4 MB.
pub const MOST_FLOWS: usize = 4096;
/// The most flows among them that have had no payload yet.
pub const MOST_SILENT: usize = 1024;
/// A flow that has had no packet for so long is forgotten.
pub const IDLE: Span = Span::from_secs(60);
/// One without payload, or that has ended, is forgotten sooner.
const SILENT: Span = Span::from_secs(5);
/// Payload per second in one direction from which a flow is active: some four full packets.
pub const ACTIVE_BPS: f64 = 50_000.0;

/// A flow by its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The end on the stations' side.
    pub station: End,
    /// The other end.
    pub far: End,
    /// The protocol.
    pub protocol: Protocol,
}

/// Where most of a flow's payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the station.
    Download,
    /// From the station.
    Upload,
}

/// A flow at a look.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its ends.
    pub key: FlowKey,
    /// Where the frames to and from the station go and come from: the station, or the next router on the way to it.
    pub station_mac: Option<Mac>,
    /// Where most of its payload went since the last look.
    pub direction: Direction,
    /// Payload since the last look, bit/s, to the station and from the station.
    pub down_bps: f64,
    /// The same from the station.
    pub up_bps: f64,
    /// Whether one of the two is at least [`ACTIVE_BPS`].
    pub active: bool,
    /// From here to the station and back.
    pub station: Half,
    /// From here to the far end and back.
    pub far: Half,
}

/// A half of a flow's round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Half {
    /// The least of the last minute.
    pub least: Option<Span>,
    /// The smoothed one.
    pub smoothed: Option<Span>,
    /// How many samples there were.
    pub samples: u32,
}

/// What passed between two looks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// The flows, in the order of their ends.
    pub flows: Vec<Flow>,
    /// Packets of flows for which there was no room.
    pub untracked: u32,
}

impl Look {
    /// The active flows of which most went in a direction.
    pub fn active(&self, direction: Direction) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(move |flow| flow.active && flow.direction == direction)
    }
}

/// All flows of an interface.
#[derive(Clone, Debug)]
pub struct Flows {
    flows: BTreeMap<FlowKey, Entry>,
    silent: usize,
    untracked: u32,
    looked: Time,
    /// Up to where room was last looked for.
    cursor: Option<FlowKey>,
}

/// Of so many flows the one that was not seen for longest gives its place to a new one.
const LOOKED_AT: usize = 16;

#[derive(Clone, Debug)]
struct Entry {
    seen: Time,
    station_mac: Option<Mac>,
    /// Payload since the last look, to the station and from the station.
    bytes: [u64; 2],
    rates_bps: [f64; 2],
    silent: bool,
    ended: bool,
    station: RoundTrip,
    far: RoundTrip,
    /// Bytes to the station, and from the station.
    streams: [Stream; 2],
}

impl Flows {
    /// No flows yet, at a time.
    pub fn new(now: Time) -> Flows {
        Flows { flows: BTreeMap::new(), silent: 0, untracked: 0, looked: now, cursor: None }
    }

    /// A packet passed. `outgoing`: from here to the stations.
    pub fn on_packet(&mut self, packet: &Packet, outgoing: bool, now: Time) {
        let (station, far, mac) = match outgoing {
            true => (packet.destination, packet.source, packet.destination_mac),
            false => (packet.source, packet.destination, packet.source_mac),
        };
        let key = FlowKey { station, far, protocol: packet.protocol };
        let silent = packet.payload_bytes == 0;
        // Most packets are of a flow that is known, whose place is looked for once.
        if let Some(entry) = self.flows.get_mut(&key) {
            if entry.silent && !silent {
                entry.silent = false;
                self.silent -= 1;
            }
            return entry.on_packet(packet, (outgoing, mac), now);
        }
        if !self.has_room(silent) {
            return;
        }
        self.silent += usize::from(silent);
        let mut entry = Entry { silent, ..Entry::new(now) };
        entry.on_packet(packet, (outgoing, mac), now);
        self.flows.insert(key, entry);
    }

    /// Whether there is room for a new flow; a packet without room is counted.
    fn has_room(&mut self, silent: bool) -> bool {
        let crowded = silent && self.silent >= MOST_SILENT;
        if crowded || (self.flows.len() >= MOST_FLOWS && !self.make_room()) {
            self.untracked = self.untracked.saturating_add(1);
            return false;
        }
        true
    }

    /// Forgets the flow of the next few that was not seen for longest and moves nothing; whether there was one.
    fn make_room(&mut self) -> bool {
        let from = self.cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.flows.range((from, Bound::Unbounded)).chain(&self.flows).take(LOOKED_AT);
        let mut last = None;
        let mut oldest: Option<(FlowKey, Time)> = None;
        for (key, entry) in next {
            last = Some(*key);
            if !entry.moves() && oldest.is_none_or(|(_, seen)| entry.seen < seen) {
                oldest = Some((*key, entry.seen));
            }
        }
        self.cursor = last;
        let forgotten = oldest.and_then(|(key, _)| self.flows.remove(&key));
        self.silent -= usize::from(forgotten.as_ref().is_some_and(|entry| entry.silent));
        forgotten.is_some()
    }

    /// Packets may have passed unseen.
    pub fn on_gap(&mut self) {
        for entry in self.flows.values_mut() {
            entry.station.on_gap();
            entry.far.on_gap();
            entry.streams.iter_mut().for_each(Stream::on_gap);
        }
    }

    /// What passed since the last look; and forgets what is over.
    pub fn look(&mut self, now: Time) -> Look {
        let elapsed_s = (now - self.looked).as_secs_f64();
        self.looked = self.looked.max(now);
        self.flows.retain(|_, entry| {
            let short = entry.silent || entry.ended;
            now - entry.seen < if short { SILENT } else { IDLE }
        });
        self.silent = self.flows.values().filter(|entry| entry.silent).count();
        let flows = self.flows.iter_mut().map(|(key, entry)| entry.look(*key, elapsed_s)).collect();
        Look { flows, untracked: std::mem::take(&mut self.untracked) }
    }
}

impl Entry {
    fn new(now: Time) -> Entry {
        Entry {
            seen: now,
            station_mac: None,
            bytes: [0; 2],
            rates_bps: [0.0; 2],
            silent: true,
            ended: false,
            station: RoundTrip::default(),
            far: RoundTrip::default(),
            streams: Default::default(),
        }
    }

    /// A packet of the flow passed; `mac`: the station's address in the frame.
    fn on_packet(&mut self, packet: &Packet, (outgoing, mac): (bool, Option<Mac>), now: Time) {
        self.seen = self.seen.max(now);
        // A broadcast is nobody's address.
        self.station_mac = mac.filter(|mac| mac[0] & 1 == 0).or(self.station_mac);
        self.bytes[usize::from(!outgoing)] += u64::from(packet.payload_bytes);
        self.measure(packet, outgoing, now);
    }

    fn measure(&mut self, packet: &Packet, outgoing: bool, now: Time) {
        let Some(segment) = packet.segment else { return };
        let [down, up] = &mut self.streams;
        let (towards, back, own, other) = match outgoing {
            true => (&mut self.station, &mut self.far, down, up),
            false => (&mut self.far, &mut self.station, up, down),
        };
        if segment.rst {
            self.ended |= own.is_expected(segment.sequence);
            return;
        }
        if segment.syn {
            own.on_open(segment.sequence);
            self.ended = false;
        }
        let ends = segment.fin && own.is_expected(segment.sequence);
        let bytes = packet.payload_bytes.wrapping_add(segment.fin.into());
        let new =
            bytes > 0 && own.on_bytes(segment.sequence.wrapping_add(segment.syn.into()), bytes);
        // Whoever has more to send has not ended, even if the other end has.
        self.ended = ends || (self.ended && !new);
        let clock = segment.acknowledged.is_some_and(|number| other.on_acknowledged(number));
        // TSecr means something in segments that acknowledge alone (RFC 7323, section 3.2).
        if let Some(acknowledged) = segment.acknowledged {
            back.on_answer(Mark::Byte(acknowledged), new, now);
            if let Some(stamps) = segment.timestamps {
                back.on_answer(Mark::Stamp(stamps.echo), new, now);
            }
        }
        let passed = match bytes > 0 {
            true => Passed::Bytes,
            false if clock => Passed::Clock,
            false => Passed::Silent,
        };
        let length = bytes.wrapping_add(segment.syn.into());
        let end = Mark::Byte(segment.sequence.wrapping_add(length));
        match segment.timestamps {
            _ if segment.syn => towards.on_open(end, now),
            Some(stamps) => towards.on_packet(Mark::Stamp(stamps.value), passed, now),
            None if length > 0 => towards.on_packet(end, Passed::Bytes, now),
            None => {}
        }
    }

    fn look(&mut self, key: FlowKey, elapsed_s: f64) -> Flow {
        if elapsed_s > 0.0 {
            self.rates_bps = self.bytes.map(|bytes| bytes as f64 * 8.0 / elapsed_s);
            self.bytes = [0; 2];
        }
        let half = |trip: &RoundTrip| Half {
            least: trip.least(),
            smoothed: trip.smoothed(),
            samples: trip.samples(),
        };
        Flow {
            key,
            station_mac: self.station_mac,
            direction: self.direction(),
            down_bps: self.rates_bps[0],
            up_bps: self.rates_bps[1],
            active: self.is_active(),
            station: half(&self.station),
            far: half(&self.far),
        }
    }

    fn direction(&self) -> Direction {
        match self.rates_bps[0] >= self.rates_bps[1] {
            true => Direction::Download,
            false => Direction::Upload,
        }
    }

    /// Whether it was active at the last look, or has had as much since as makes it active in a second.
    fn moves(&self) -> bool {
        self.is_active() || self.bytes.iter().any(|&bytes| bytes as f64 * 8.0 >= ACTIVE_BPS)
    }

    fn is_active(&self) -> bool {
        self.rates_bps.iter().any(|&bps| bps >= ACTIVE_BPS)
    }
}

#[cfg(test)]
mod pauses;
#[cfg(test)]
mod tests;
