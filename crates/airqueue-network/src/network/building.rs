//! How a network is built from its description.

use super::assembly::Assembly;
use super::connection::Connection;
use super::engine::{Event, Network, OUTSIDE, QueueHops};
use super::hops::Hops;
use super::processor::Processors;
use super::roaming::Roaming;
use super::segments::Batch;
use super::sources::{FlowSource, Sources};
use super::spec::{Answers, Hop, NetworkError, NetworkSpec, Traffic};
use super::store::SegmentStore;
use super::upper::Upper;
use super::wire::Wire;
use crate::delay_line::DelayLine;
use crate::event::EventQueue;
use crate::run_loop::{Clock, Simulation, VirtualClock};
use crate::timer::Timer;
use crate::wlan::{self, Wlan};
use crate::{ConnectionId, FlowId, HopId, MessagesId, PathId, WireId};
use airqueue_core::{Seed, Span, Time};
use airqueue_transport::traffic::Arrivals;

/// Longer than any run.
const NO_DEADLINE: Span = Span::from_secs(1 << 32);

impl Network {
    /// An idle network at time zero, on the virtual clock. Its random streams are those of [`Wlan::new`], `wire/WIRE`
    /// for wires, `traffic/HOP` and `source/FLOW` for sources, `files/CONNECTION`, and `start/FLOW`.
    pub fn new(spec: &NetworkSpec, seed: Seed) -> Result<Simulation<Network>, NetworkError> {
        Network::on_clock(spec, seed, VirtualClock)
    }

    /// An idle network at time zero, on another clock. The clock's lateness changes no result.
    pub fn on_clock<C: Clock>(
        spec: &NetworkSpec,
        seed: Seed,
        clock: C,
    ) -> Result<Simulation<Network, C>, NetworkError> {
        spec.check()?;
        let spec = &*spec.begun(seed);
        let queues = spec.wlan.stations.iter().map(|station| station.queues.len()).sum();
        let upper = Upper {
            hops: Hops::new(spec)?,
            sources: Sources::new(queues),
            roaming: Roaming::new(spec),
            outcomes: Vec::new(),
            released: Vec::new(),
        };
        let wires = spec.wires.iter().enumerate();
        let mut network = Network {
            wlan: Wlan::new(&spec.wlan, upper, seed)?,
            flows: Vec::with_capacity(spec.flows.len()),
            wires: wires.map(|(at, wire)| Wire::new(wire, WireId::at(at), seed)).collect(),
            inside: (spec.station_delay > Span::ZERO)
                .then(|| DelayLine::new(None, spec.station_delay)),
            queued: Timer::new(Event::Queued, OUTSIDE),
            connections: Vec::new(),
            browsers: Vec::new(),
            messages: Vec::new(),
            answers: Vec::new(),
            processors: Processors::default(),
            paths: Vec::new(),
            queue_hops: QueueHops::default(),
            changes: spec.changes.clone(),
            seed,
            store: SegmentStore::default(),
            inbox: Vec::new(),
            drops: Vec::new(),
            outcomes: Vec::new(),
            left: Vec::new(),
            released: Vec::new(),
            batch: Batch::default(),
        };
        network.processors = Processors::new(spec, &network.wlan.upper.hops);
        network.sort_hops(spec, queues);
        let mut queue = EventQueue::new();
        // Before all else of its instant: what is counted is what happens from the end of the warm-up on, and before the
        // end of the run.
        if spec.warm_up > Time::ZERO {
            queue.schedule(spec.warm_up, OUTSIDE, Event::WarmedUp);
        }
        for (at, change) in (0..).zip(&spec.changes) {
            queue.schedule(change.at, OUTSIDE, Event::Changed(at));
        }
        network.add_flows(spec, seed, &mut queue)?;
        network.wlan.start(&mut queue);
        Ok(Simulation::on_clock(network, queue, clock))
    }

    fn sort_hops(&mut self, spec: &NetworkSpec, interfaces: usize) {
        self.queue_hops = QueueHops {
            wlan: vec![Vec::new(); interfaces],
            wires: vec![Vec::new(); spec.wires.len()],
        };
        for (hop, of) in (0..).map(HopId).zip(&self.wlan.upper.hops.all) {
            match of.over {
                Hop::Air(at) => {
                    let of = &spec.wlan.hops[at.index()];
                    let interface = self.wlan.interface_of(of.from, of.ac);
                    self.queue_hops.wlan[interface.index()].push(hop);
                }
                Hop::Wire(wire) => self.queue_hops.wires[wire.index()].push(hop),
            }
        }
        self.name_hosts();
        self.show_headers();
    }

    /// Sets the ends of flows in the queues where their packets wait.
    pub(super) fn name_hosts(&mut self) {
        for hop in (0..self.wlan.upper.hops.all.len()).map(HopId::at) {
            let Some(hosts) = self.wlan.upper.hops.hosts_of(hop) else { continue };
            match self.wlan.upper.hops.all[hop.index()].over {
                Hop::Air(_) => self.wlan.set_flow_hosts(hop, hosts),
                Hop::Wire(wire) => self.wires[wire.index()].set_flow_hosts(hop, hosts),
            }
        }
    }

    /// Notes which queues read TCP headers.
    pub(super) fn show_headers(&mut self) {
        for hop in (0..self.wlan.upper.hops.all.len()).map(HopId::at) {
            let reads = match self.wlan.upper.hops.all[hop.index()].over {
                Hop::Air(_) => self.wlan.reads_tcp_headers(hop),
                Hop::Wire(wire) => self.wires[wire.index()].reads_tcp_headers(),
            };
            if reads {
                self.wlan.upper.hops.show_headers(hop);
            }
        }
    }

    fn add_flows(
        &mut self,
        spec: &NetworkSpec,
        seed: Seed,
        queue: &mut EventQueue<Event>,
    ) -> Result<(), NetworkError> {
        let mut path = PathId(0);
        for (at, flow) in spec.flows.iter().enumerate() {
            self.flows.push(path);
            match &flow.traffic {
                &Traffic::Source { source, ecn } => {
                    let made = FlowSource::new(source, ecn, flow, FlowId::at(at), path, seed)?;
                    let made = match source.arrivals {
                        Arrivals::Frames(frames) => {
                            made.of_messages(self.add_messages(frames.deadline, None), 0)
                        }
                        _ => made,
                    };
                    self.add_source(made, flow.own_hop(), spec, queue);
                }
                &Traffic::Answered { source, ecn, answers, .. } => {
                    let made = FlowSource::new(source, ecn, flow, FlowId::at(at), path, seed)?;
                    let id = self.add_messages(NO_DEADLINE, Some((answers, path.back())));
                    let made = made.of_messages(id, answers.packets());
                    self.add_source(made, flow.own_hop(), spec, queue);
                    path = path.back();
                }
                Traffic::Tcp(tcp) => {
                    self.add_browser(&flow.name, tcp, seed, queue)?;
                    for lane in 0..tcp.lane_count() {
                        if lane > 0 {
                            path = PathId(path.0 + 1);
                        }
                        let id = ConnectionId::at(self.connections.len());
                        let mut connection = Connection::new(&flow.name, id, lane, tcp, seed)?;
                        connection.arm(queue);
                        self.connections.push(connection);
                        self.batch.waiting.reserve(self.connections.len());
                        self.paths.push([path, path.back()]);
                        path = path.back();
                    }
                }
                Traffic::Offered { .. } => {}
            }
            path = PathId(path.0 + 1);
        }
        Ok(())
    }

    fn add_messages(&mut self, deadline: Span, answers: Option<(Answers, PathId)>) -> MessagesId {
        self.messages.push(Assembly::new(deadline));
        self.answers.push(answers);
        MessagesId::at(self.messages.len() - 1)
    }

    fn add_source(
        &mut self,
        mut source: FlowSource,
        own_hop: Option<HopId>,
        spec: &NetworkSpec,
        queue: &mut EventQueue<Event>,
    ) {
        let processor = own_hop.and_then(|hop| self.processors.of(hop.index()));
        source.at_station &= processor.is_none();
        let (first, saturates) = (source.first(), source.saturates_from());
        let phase = if source.at_station { wlan::INPUT } else { OUTSIDE };
        let number = self.wlan.upper.sources.add(source);
        if let Some(first) = first {
            queue.schedule(first, phase, Event::Made(number));
        } else if let (Some(start), Some(hop)) = (saturates, own_hop) {
            let of = &spec.wlan.hops[hop.index()];
            let interface = self.wlan.interface_of(of.from, of.ac);
            self.wlan.upper.sources.saturate(number, hop, interface);
            queue.schedule(start, phase, Event::Saturates(interface));
        }
    }
}
