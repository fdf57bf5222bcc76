//! The counters of a network.

use super::assembly::MessageCounters;
use super::browsers::{Loading, PageCounters};
use super::connection::TcpCounters;
use super::engine::Network;
use super::hops::End;
use super::spec::{Hop, QueueId};
use crate::counters::{Delivered, HopCounters, QueueCounters, Timings};
use crate::histogram::Histogram;
use crate::{ConnectionId, FlowId, HopId, PathId, RouteId, WireId};
use airqueue_core::{DataRate, Span, Time};
use airqueue_transport::tcp::Sender;
use airqueue_transport::traffic::VideoCounters;
use airqueue_wifi::medium::StationId;

impl Network {
    /// The counters of a flow from end to end, summed over all routes of the flow.
    pub fn flow(&self, flow: FlowId) -> HopCounters {
        self.sum(self.paths_of(flow))
    }

    /// The counters of the returning acknowledgements, for a flow that TCP governs.
    pub fn acknowledgements(&self, flow: FlowId) -> Option<HopCounters> {
        self.connection_of(flow).map(|_| self.sum(self.paths_of(flow).map(PathId::back)))
    }

    /// The sender of a flow's present TCP connection, of several that on the first lane; `None` without one.
    pub fn sender(&self, flow: FlowId) -> Option<&Sender> {
        self.connection_of(flow).and_then(|at| self.connections[at].sender())
    }

    /// The TCP counters of a flow that TCP governs, of all its connections, until `now`.
    pub fn tcp(&self, flow: FlowId, now: Time) -> Option<TcpCounters> {
        let first = self.connection_of(flow)?;
        let mut all = self.connections[first].counters(now);
        let lanes = self.paths_of(flow).count();
        for lane in &self.connections[first + 1..first + lanes] {
            all.merge(&lane.counters(now));
        }
        Some(all)
    }

    /// What the browser of a flow loaded, if the flow is of pages.
    pub fn pages(&self, flow: FlowId) -> Option<&PageCounters> {
        let first = ConnectionId::at(self.connection_of(flow)?);
        let browser = self.browsers.binary_search_by_key(&first, Loading::first_lane).ok()?;
        Some(self.browsers[browser].counters())
    }

    /// What the player of a flow did until `now`, and the stalls that are over; `None` if the flow is not a video.
    pub fn video(&self, flow: FlowId, now: Time) -> Option<(VideoCounters, &Timings)> {
        self.connection_of(flow).and_then(|at| self.connections[at].video(now))
    }

    /// The counters of each hop of a flow, of all its routes: of its packets, or on their way back, of acknowledgements or
    /// answers. Empty where nothing goes back.
    pub fn hops(&self, flow: FlowId, back: bool) -> impl Iterator<Item = (Hop, &HopCounters)> {
        let hops = &self.wlan.upper.hops;
        let paths = self.paths_of(flow).filter_map(move |path| {
            let two = matches!(hops.paths[path.index()].end, End::Receiver(_) | End::Server(_));
            if back { two.then(|| path.back()) } else { Some(path) }
        });
        let all = paths.flat_map(|path| hops.routes(path)).flatten();
        all.map(|hop| (hops.all[hop.index()].over, &hops.states[hop.index()].counters))
    }

    /// What became of a flow's pictures, or of the answers to its requests; `None` for other flows.
    pub fn messages(&self, flow: FlowId) -> Option<&MessageCounters> {
        match self.wlan.upper.hops.paths[self.flows[flow.index()].index()].end {
            End::Viewer(id) | End::Server(id) => Some(self.messages[id.index()].counters()),
            _ => None,
        }
    }

    /// How much of the time since counting began the processor of a station was busy; `None` without one.
    pub fn processor_busy(&self, station: StationId, now: Time) -> Option<Span> {
        self.processors.busy(station, now)
    }

    /// What has reached a flow's destination since time zero, regardless of when counting began.
    pub fn delivered_ever(&self, flow: FlowId) -> Delivered {
        let hops = &self.wlan.upper.hops;
        let routes = self.paths_of(flow).flat_map(|path| hops.routes(path));
        routes.fold(Delivered::default(), |sum, route| sum.with(&hops.delivered_ever(route)))
    }

    /// The present route of a flow.
    pub fn route_of(&self, flow: FlowId) -> RouteId {
        self.wlan.upper.hops.route_of(self.flows[flow.index()])
    }

    /// The counters of a queue up to `now`; all zero for a wire without a queue.
    pub fn queue(&mut self, queue: QueueId, now: Time) -> QueueCounters {
        let (hops, occupancy) = match queue {
            QueueId::Station(station, ac) => {
                let interface = self.wlan.interface_of(station, ac);
                (&self.queue_hops.wlan[interface.index()], self.wlan.occupancy(station, ac, now))
            }
            QueueId::Wire(wire) if !self.wires[wire.index()].has_queue() => {
                return QueueCounters::default();
            }
            QueueId::Wire(wire) => {
                (&self.queue_hops.wires[wire.index()], self.wires[wire.index()].occupancy(now))
            }
        };
        let mut counters = QueueCounters { occupancy, ..QueueCounters::default() };
        for &hop in hops {
            counters.add(&self.wlan.upper.hops.states[hop.index()].counters);
        }
        counters
    }

    /// Sojourn times of the packets dequeued from a queue; `None` for a wire without a queue.
    pub fn sojourns(&self, queue: QueueId) -> Option<&Histogram> {
        match queue {
            QueueId::Station(station, ac) => Some(self.wlan.sojourns(station, ac)),
            QueueId::Wire(wire) => self.wires[wire.index()].sojourns(),
        }
    }

    /// Medium access delays of a queue's packets ([`Wlan::access_delays`](crate::wlan::Wlan::access_delays)); `None` for a wire.
    pub fn access_delays(&self, queue: QueueId) -> Option<&Timings> {
        match queue {
            QueueId::Station(station, ac) => Some(self.wlan.access_delays(station, ac)),
            QueueId::Wire(_) => None,
        }
    }

    /// Number of packets waiting in a queue, integrated over time from time zero to `now`, in packet-nanoseconds,
    /// regardless of when counting began.
    pub fn packet_time_ever(&mut self, queue: QueueId, now: Time) -> i128 {
        match queue {
            QueueId::Station(station, ac) => self.wlan.packet_time_ever(station, ac, now),
            QueueId::Wire(wire) => self.wires[wire.index()].packet_time_ever(now),
        }
    }

    /// Packets and bytes (link layer included) waiting in a queue.
    pub fn waiting(&self, queue: QueueId) -> (u64, u64) {
        match queue {
            QueueId::Station(station, ac) => self.wlan.waiting(station, ac),
            QueueId::Wire(wire) => self.wires[wire.index()].waiting(),
        }
    }

    /// Time that a packet of so many bytes takes in a wire at present, without waiting.
    pub fn wire_time(&self, wire: WireId, bytes: u32) -> Span {
        self.wires[wire.index()].time_for(bytes)
    }

    /// Packets in transit of each flow, acknowledgements excluded.
    pub fn in_transit(&self) -> Vec<u64> {
        let packets = self.in_transit_on_paths();
        let of = |flow| self.paths_of(flow).map(|path| packets[path.index()]).sum();
        (0..self.flows.len()).map(FlowId::at).map(of).collect()
    }

    /// The part of the airtime up to `now` of each flow's packets that MACs have in hand: [`HopCounters::airtime`] is that of
    /// packets which a MAC has finished. Acknowledgements are excluded.
    pub fn airtimes_in_hand(&self, now: Time) -> Vec<Span> {
        let hops = &self.wlan.upper.hops;
        let mut airtimes = vec![Span::ZERO; hops.paths.len()];
        for (packet, airtime) in self.wlan.airtimes_in_hand(now) {
            let of_path = &mut airtimes[hops.of(&packet).path.index()];
            *of_path = *of_path + airtime;
        }
        let of = |flow| {
            let of_paths = self.paths_of(flow).map(|path| airtimes[path.index()]);
            of_paths.fold(Span::ZERO, |sum, airtime| sum + airtime)
        };
        (0..self.flows.len()).map(FlowId::at).map(of).collect()
    }

    /// Acknowledgements in transit of each flow; zero for flows that TCP does not govern.
    pub fn acknowledgements_in_transit(&self) -> Vec<u64> {
        let packets = self.in_transit_on_paths();
        let back = |flow| {
            let paths = || self.paths_of(flow).map(|path| packets[path.back().index()]);
            self.connection_of(flow).map_or(0, |_| paths().sum())
        };
        (0..self.flows.len()).map(FlowId::at).map(back).collect()
    }

    /// Packets held by the MACs or inside stations are counted one by one; the hops have the number of all others.
    fn in_transit_on_paths(&self) -> Vec<u64> {
        let hops = &self.wlan.upper.hops;
        let mut packets = vec![0; hops.paths.len()];
        for (hop, state) in hops.all.iter().zip(&hops.states) {
            if let Some(packets) = packets.get_mut(hop.path.index()) {
                *packets += state.waiting;
            }
        }
        for packet in self.wlan.in_hand().chain(self.inside_stations()) {
            packets[hops.of(packet).path.index()] += 1;
        }
        packets
    }

    fn connection_of(&self, flow: FlowId) -> Option<usize> {
        self.paths.binary_search_by_key(&self.flows[flow.index()], |&[data, _]| data).ok()
    }

    /// The path of the packets of each lane of a flow; of a flow without lanes its only one, acknowledgements and answers
    /// excluded.
    pub(super) fn paths_of(&self, flow: FlowId) -> impl Iterator<Item = PathId> + use<> {
        let first = self.flows[flow.index()];
        let next = self.flows.get(flow.index() + 1).copied();
        let end = next.unwrap_or(PathId::at(self.wlan.upper.hops.paths.len()));
        (first.0..end.0).step_by(2).map(PathId)
    }

    /// The counters of paths, summed.
    fn sum(&self, paths: impl Iterator<Item = PathId>) -> HopCounters {
        let mut paths = paths.map(|path| self.path(path));
        let mut whole = paths.next().unwrap_or_default();
        paths.for_each(|path| whole.merge(&path));
        whole
    }

    /// The counters of a path, summed over its routes.
    fn path(&self, path: PathId) -> HopCounters {
        let mut routes = self.wlan.upper.hops.routes(path).map(|route| self.route(route));
        let mut whole = routes.next().unwrap_or_default();
        routes.for_each(|route| whole.merge(&route));
        whole
    }

    /// The counters of a route: packets offered to the first hop, delivered by the last hop, and all other counters
    /// summed over the hops.
    fn route(&self, route: &[HopId]) -> HopCounters {
        let counters = |hop: HopId| &self.wlan.upper.hops.states[hop.index()].counters;
        let (Some(&first), Some((&last, others))) = (route.first(), route.split_last()) else {
            return HopCounters::default();
        };
        let mut whole = HopCounters { offered: counters(first).offered, ..counters(last).clone() };
        others.iter().for_each(|&hop| whole.merge_within(counters(hop)));
        whole
    }

    /// The data rates of the hops over the air on the present route of a path.
    pub(super) fn air_rates(&self, path: PathId) -> impl Iterator<Item = DataRate> {
        let hops = &self.wlan.upper.hops;
        let over_air = |hop: &HopId| match hops.all[hop.index()].over {
            Hop::Air(at) => Some(self.wlan.data_rate(at)),
            Hop::Wire(_) => None,
        };
        hops.hops_of(path).iter().filter_map(over_air)
    }
}
