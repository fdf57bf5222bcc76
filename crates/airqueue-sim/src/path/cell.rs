//! A Wi-Fi cell in the path: the access point and one of its stations, and the air between them.

use super::device::{Device, Way};
use crate::outcome::Outcome;
use crate::run_loop::Simulation;
use crate::wlan::{FlowSpec, Wlan, WlanError, WlanSpec};
use airqueue_core::{DropReason, Packet, Seed, Time};
use airqueue_probe::client::Direction;
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::StationId;
use std::collections::VecDeque;

/// How the packets of one direction cross a network.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// Who sends them over the air.
    pub from: StationId,
    /// Who receives them.
    pub to: StationId,
    /// Which of the sender's queues they take.
    pub queue: usize,
    /// The rate of their frames.
    pub rate: RateIndex,
    /// What a frame adds to an IP packet.
    pub overhead_bytes: u32,
}

/// A network, and where the path crosses it.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The stations and the flows of others.
    pub network: WlanSpec,
    /// Towards the client.
    pub down: Hop,
    /// Towards the server.
    pub up: Hop,
}

/// The cell at work, on an event queue of its own that is never ahead of the path's time.
///
/// Both directions go over the air: packets wait in the queue of the station that sends them, and arrive
/// when the other has decoded their frame. What the path knows nothing of, the flows of others, goes on
/// all the time.
#[derive(Debug)]
pub struct Cell {
    sim: Simulation<Wlan>,
    down: Hop,
    up: Hop,
    loaded: Direction,
    /// The first of the endpoints' flows: so many down, then as many up.
    first: u32,
    flows: u32,
    /// The layer's longest frame.
    most_bytes: u32,
    outcomes: VecDeque<Outcome>,
}

impl Hop {
    fn flow(&self, name: String) -> FlowSpec {
        // Packets from outside bring their own sizes; the least there can be stands for them.
        let source = SourceSpec {
            arrivals: Arrivals::External,
            size_bytes: 20,
            start: Time::ZERO,
            stop: Time::MAX,
        };
        FlowSpec {
            name,
            from: self.from,
            to: self.to,
            queue: self.queue,
            rate: self.rate,
            overhead_bytes: self.overhead_bytes,
            source,
            collected: true,
        }
    }
}

impl Cell {
    /// A silent network at time zero, with so many flows of the endpoints in each direction. Its streams of
    /// chance are those of [`Wlan::new`]; others' flows have the same with and without endpoints.
    pub fn new(spec: CellSpec, flows: u32, seed: Seed) -> Result<Cell, WlanError> {
        let CellSpec { mut network, down, up } = spec;
        let first = network.flows.len() as u32;
        for (hop, direction) in [(down, "down"), (up, "up")] {
            network.flows.extend((0..flows).map(|n| hop.flow(format!("{direction} {n}"))));
        }
        let most_bytes = network.network.phy.max_psdu_bytes();
        let sim = Wlan::new(&network, seed)?;
        let loaded = Direction::Down;
        Ok(Cell { sim, down, up, loaded, first, flows, most_bytes, outcomes: VecDeque::new() })
    }

    fn hop(&self, direction: Direction) -> Hop {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }

    /// Which way a packet of one of the endpoints' flows goes.
    fn way_of(&self, packet: &Packet) -> Way {
        let down = packet.flow < self.first + self.flows;
        if down == (self.loaded == Direction::Down) { Way::Loaded } else { Way::Back }
    }

    fn advance(&mut self, now: Time) {
        self.sim.run_until(now);
        self.outcomes.extend(self.sim.model.outcomes());
    }
}

impl Device for Cell {
    fn load(&mut self, direction: Direction) {
        self.loaded = direction;
    }

    fn enqueue(&mut self, packet: Packet, way: Way, now: Time) {
        self.advance(now);
        let down = (way == Way::Loaded) == (self.loaded == Direction::Down);
        let (hop, first) =
            if down { (self.down, self.first) } else { (self.up, self.first + self.flows) };
        let flow = first + packet.flow;
        if packet.size.saturating_add(hop.overhead_bytes) > self.most_bytes {
            let packet = Packet { flow, ..packet };
            self.outcomes.push_back(Outcome::Dropped(packet, DropReason::Oversize));
            return;
        }
        self.sim.model.offer(flow, packet.size, packet.payload, &mut self.sim.queue);
        self.outcomes.extend(self.sim.model.outcomes());
    }

    fn next_deadline(&self) -> Option<Time> {
        self.sim.queue.next_at()
    }

    fn on_deadline(&mut self, now: Time) {
        self.advance(now);
    }

    fn poll_outcome(&mut self) -> Option<(Way, Outcome)> {
        let outcome = self.outcomes.pop_front()?;
        let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
            &outcome;
        Some((self.way_of(packet), outcome))
    }

    fn waiting(&self) -> (u64, u64) {
        let hop = self.hop(self.loaded);
        self.sim.model.waiting(hop.from.index(), hop.queue)
    }
}
