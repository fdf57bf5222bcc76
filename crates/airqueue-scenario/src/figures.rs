//! A replication, and its reported figures.

use super::Scenario;
use super::error::{ScenarioError, error};
use super::messages::Messages;
use super::reported::{
    CallFigures, ConnectionFigures, DropFigures, Figures, FlowFigures, FrameFigures, MediumFigures,
    Named, PageFigures, PingFigures, QueueFigures, VideoFigures,
};
use airqueue_core::{PacketCount, Seed, Span, Time};
use airqueue_network::counters::{HopCounters, QueueCounters, Timings};
use airqueue_network::network::series::Series;
use airqueue_network::network::{Hop, Network, NetworkSpec, QueueId, TcpCounters};
use airqueue_network::run_loop::Simulation;
use airqueue_network::{FlowId, WireId};
use airqueue_transport::traffic::Call;
use airqueue_wifi::mac::{CategoryCounters, FrameKind};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::borrow::Cow;
use std::sync::Arc;

/// A replication of a scenario.
#[derive(Debug)]
pub struct Run {
    pub(super) network: Simulation<Network>,
    pub(super) names: Arc<Names>,
    calls: Arc<[(FlowId, Call)]>,
    pictures: Arc<[(FlowId, Span)]>,
    /// The end of the warm-up.
    counts_from: Time,
    end: Time,
    pub(super) series: Option<Series>,
    messages: Option<Messages>,
}

/// The names of a network's parts in results.
#[derive(Debug)]
pub(super) struct Names {
    /// The station that sends on each hop over the air.
    pub(super) senders: Vec<StationId>,
    pub(super) wires: Vec<String>,
    pub(super) flows: Vec<String>,
    pub(super) stations: Vec<String>,
    pub(super) interferers: Vec<String>,
    /// The queues that a flow feeds, and the queues in front of wired links.
    pub(super) queues: Vec<(QueueId, String)>,
}

pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The sum, which is 0 without terms; that of `Iterator::sum` is -0.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    terms.fold(0.0, |sum, term| sum + term)
}

impl Names {
    pub(super) fn new(spec: &NetworkSpec) -> Names {
        let radio = &spec.wlan;
        let mut fed: Vec<_> = radio.hops.iter().map(|hop| (hop.from, hop.ac)).collect();
        fed.sort_unstable();
        fed.dedup();
        let queue = |(station, ac): (StationId, AccessCategory)| {
            let of = &radio.stations[station.index()];
            let name = match of.queues.len() {
                1 => of.name.clone(),
                _ => format!("{}.{}", of.name, category(ac)),
            };
            (QueueId::Station(station, ac), name)
        };
        let wires = spec.wires.iter().enumerate();
        let wires = wires.filter(|(_, wire)| wire.queue.is_some());
        let wires = wires.map(|(at, wire)| (QueueId::Wire(WireId::at(at)), wire.name.clone()));
        Names {
            senders: radio.hops.iter().map(|hop| hop.from).collect(),
            wires: spec.wires.iter().map(|wire| wire.name.clone()).collect(),
            flows: spec.flows.iter().map(|flow| flow.name.clone()).collect(),
            stations: radio.stations.iter().map(|station| station.name.clone()).collect(),
            interferers: radio.signals.interferers.iter().map(|of| of.name.clone()).collect(),
            queues: fed.into_iter().map(queue).chain(wires).collect(),
        }
    }
}

/// The name of an access category.
pub(super) fn category(category: AccessCategory) -> String {
    category.acronym().to_ascii_lowercase()
}

impl Run {
    pub(super) fn new(scenario: &Scenario, seed: Seed) -> Result<Run, ScenarioError> {
        let messages = scenario.messages.clone();
        let network = Network::new(&scenario.started_spec(), seed);
        let network = network.map_err(|problem| error("", problem))?;
        let end = Time::ZERO + scenario.warm_up + scenario.duration;
        let (names, calls) = (scenario.names.clone(), scenario.calls.clone());
        let pictures = scenario.pictures.clone();
        let counts_from = Time::ZERO + scenario.warm_up;
        Ok(Run { network, names, calls, pictures, counts_from, end, series: None, messages })
    }

    /// The simulated time, from the beginning of the warm-up.
    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// The network, to offer packets from outside and to advance it event by event.
    pub fn network(&mut self) -> &mut Simulation<Network> {
        &mut self.network
    }

    /// When counting ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Advances time by `span`, at most to the end. What is due at that time is ahead: a packet every 100 ms makes ten
    /// packets a second, with or without a warm-up.
    pub fn advance(&mut self, span: Span) {
        let left = self.end - self.now();
        let until = self.now() + span.clamp(Span::ZERO, left);
        match &mut self.series {
            Some(series) => series.run_before(&mut self.network, until),
            None => self.network.run_before(until),
        }
        // That counting begins comes first in its instant, and is not ahead.
        if until == self.counts_from && self.network.model.wlan().counting_since() < until {
            self.network.step(until);
        }
    }

    /// The figures since counting began, as JSON: `null` where a divisor is zero, and a unit in every name.
    pub fn results(&mut self) -> String {
        let (names, calls) = (self.names.clone(), self.calls.clone());
        let pictures = self.pictures.clone();
        let now = self.now();
        let seconds = (now - self.network.model.wlan().counting_since()).as_secs_f64();
        let mut count = Count { network: &mut self.network.model, now, seconds };
        let mut figures = count.figures(&names, &calls, &pictures);
        if let Some(messages) = &self.messages {
            figures.medium.messages_airtime_ratio = count.messages(messages);
        }
        serde_json::to_string(&figures).expect("figures are JSON")
    }
}

/// A network at the moment when its counters are read, and the duration of counting.
pub(super) struct Count<'a> {
    pub(super) network: &'a mut Network,
    pub(super) now: Time,
    seconds: f64,
}

impl Count<'_> {
    /// The share of time of the exchanges of messages that were sent once, each as long as it takes without contention.
    fn messages(&self, messages: &Messages) -> Option<f64> {
        let of_flow = |(flow, hop)| {
            let sent = self.network.flow(flow).taken;
            let mean = sent.bytes.checked_div(sent.packets).unwrap_or(0) as u32;
            self.network.wlan().lone_exchange_of(hop, mean).as_secs_f64() * sent.packets as f64
        };
        ratio(sum(messages.flows().map(of_flow)), self.seconds)
    }

    fn figures<'n>(
        &mut self,
        names: &'n Names,
        calls: &[(FlowId, Call)],
        pictures: &[(FlowId, Span)],
    ) -> Figures<'n> {
        let stations = (0..).map(StationId).zip(&names.stations);
        let stations = stations.map(|(id, name)| (Cow::from(&**name), self.station(id))).collect();
        let beacons = self.those(names, Self::beacons);
        let sleep = self.those(names, Self::sleep);
        let absences = self.those(names, Self::absences);
        let associations = self.those(names, Self::associations);
        let queues = names.queues.iter();
        let queues = queues.map(|&(id, ref name)| (Cow::from(&**name), self.queue(id))).collect();
        let flows = (0..).map(FlowId).zip(&names.flows);
        let in_hand = self.network.airtimes_in_hand(self.now);
        let flows = flows.zip(self.network.in_transit().into_iter().zip(in_hand));
        let flows: Vec<_> =
            flows.map(|((id, name), ahead)| (Cow::from(&**name), self.flow(id, ahead))).collect();
        let (connections, all) = self.connections(names);
        let calls = calls.iter();
        let calls = calls.map(|&(flow, call)| {
            (
                Cow::from(&*names.flows[flow.index()]),
                CallFigures::of(&call, &self.network.flow(flow)),
            )
        });
        let calls = calls.collect();
        let (mut pings, mut frames) = (Vec::new(), Vec::new());
        for (flow, name) in (0..).map(FlowId).zip(&names.flows) {
            let Some(messages) = self.network.messages(flow) else { continue };
            match pictures.binary_search_by_key(&flow, |&(of, _)| of) {
                Ok(at) => {
                    frames.push((Cow::from(&**name), FrameFigures::of(messages, pictures[at].1)))
                }
                Err(_) => pings.push((Cow::from(&**name), PingFigures::of(messages))),
            }
        }
        let pages = (0..).map(FlowId).zip(&names.flows).filter_map(|(flow, name)| {
            let pages = self.network.pages(flow)?;
            Some((Cow::from(&**name), PageFigures::of(pages)))
        });
        let pages = Named(pages.collect());
        let videos = (0..).map(FlowId).zip(&names.flows).filter_map(|(flow, name)| {
            let (video, stalls) = self.network.video(flow, self.now)?;
            Some((Cow::from(&**name), VideoFigures::of(&video, stalls)))
        });
        let videos = Named(videos.collect());
        let medium = self.medium(names.stations.len(), &flows, &all);
        Figures {
            duration_s: self.seconds,
            flows: Named(flows),
            connections: Named(connections),
            calls: Named(calls),
            pings: Named(pings),
            frames: Named(frames),
            pages,
            videos,
            drops: Named(self.drops(names)),
            stations: Named(stations),
            beacons,
            sleep,
            absences,
            associations,
            interference: self.interference(names),
            signals: self.signals(names),
            queues: Named(queues),
            medium,
        }
    }

    /// What was lost of each flow at each place on its routes, those without a loss too.
    fn drops<'n>(&self, names: &'n Names) -> Vec<(Cow<'n, str>, DropFigures)> {
        let mut all = Vec::new();
        for (flow, name) in (0..).map(FlowId).zip(&names.flows) {
            for (back, word) in [(false, ""), (true, " back")] {
                let first = all.len();
                for (hop, counters) in self.network.hops(flow, back) {
                    let (place, wire) = match hop {
                        Hop::Air(hop) => {
                            let sender = names.senders.get(hop.index());
                            let Some(sender) = sender else { continue };
                            (&names.stations[sender.index()], false)
                        }
                        Hop::Wire(wire) => (&names.wires[wire.index()], true),
                    };
                    let at = format!("{name}{word} at {place}");
                    let known = all[first..].iter().position(|(of, _)| *of == at);
                    let place = known.map_or(all.len(), |place| first + place);
                    if known.is_none() {
                        all.push((Cow::Owned(at), DropFigures::default()));
                    }
                    all[place].1.add(counters, wire);
                }
            }
        }
        all
    }

    /// IP bits per second.
    fn bps(&self, counters: &PacketCount) -> Option<f64> {
        ratio(8.0 * counters.bytes as f64, self.seconds)
    }

    pub(super) fn share(&self, time: Span) -> Option<f64> {
        ratio(time.as_secs_f64(), self.seconds)
    }

    fn flow(&self, id: FlowId, (in_transit_packets, in_hand): (u64, Span)) -> FlowFigures {
        let counters: HopCounters = self.network.flow(id);
        let lost = counters.dropped.packets + counters.given_up.packets;
        let met = lost + counters.delivered.packets;
        let quantile = |q| counters.delay.quantile_s(&counters.delays, q);
        FlowFigures {
            offered_bps: self.bps(&counters.offered),
            throughput_bps: self.bps(&counters.delivered),
            offered_packets: counters.offered.packets,
            delivered_packets: counters.delivered.packets,
            marked_packets: counters.marked,
            queue_dropped_packets: counters.dropped.packets,
            given_up_packets: counters.given_up.packets,
            in_transit_packets,
            loss_ratio: ratio(lost as f64, met as f64),
            data_rate_mean_bps: counters.rates.mean_bps(),
            airtime_ratio: self.share(counters.airtime + in_hand),
            delay_mean_s: counters.delay.mean_s(),
            delay_sd_s: counters.delay.sd_s(),
            delay_p50_s: quantile(0.5),
            delay_p95_s: quantile(0.95),
            delay_p99_s: quantile(0.99),
            delay_max_s: counters.delay.greatest_s(),
            jitter_s: counters.jitter.mean_s(),
        }
    }

    /// The figures of each TCP flow, and their totals.
    fn connections<'n>(
        &self,
        names: &'n Names,
    ) -> (Vec<(Cow<'n, str>, ConnectionFigures)>, TcpCounters) {
        let mut all = TcpCounters::default();
        let mut figures = Vec::new();
        for (flow, name) in (0..).map(FlowId).zip(&names.flows) {
            let Some(counters) = self.network.tcp(flow, self.now) else { continue };
            let Some(acks) = self.network.acknowledgements(flow) else { continue };
            figures.push((Cow::from(&**name), self.connection(&counters, &acks)));
            all.arrived_bytes += counters.arrived_bytes;
            all.sessions.merge(&counters.sessions);
        }
        (figures, all)
    }

    fn connection(&self, counters: &TcpCounters, acks: &HopCounters) -> ConnectionFigures {
        let [rtt_mean_s, rtt_sd_s, rtt_p50_s, rtt_p95_s, rtt_p99_s, rtt_max_s] =
            counters.round_trips.figures_s();
        let [
            session_mean_s,
            session_sd_s,
            session_p50_s,
            session_p95_s,
            session_p99_s,
            session_max_s,
        ] = counters.sessions.figures_s();
        ConnectionFigures {
            goodput_bps: ratio(8.0 * counters.arrived_bytes as f64, self.seconds),
            segments: counters.segments,
            retransmitted_segments: counters.retransmitted,
            retransmitted_ratio: ratio(counters.retransmitted as f64, counters.segments as f64),
            fast_recoveries: counters.fast_recoveries,
            timeouts: counters.timeouts,
            window_limited_ratio: ratio(
                counters.held_up.as_secs_f64(),
                f64::from(counters.at_once) * self.seconds,
            ),
            rtt_mean_s,
            rtt_sd_s,
            rtt_p50_s,
            rtt_p95_s,
            rtt_p99_s,
            rtt_max_s,
            ack_packets: acks.offered.packets,
            lost_ack_packets: acks.dropped.packets + acks.given_up.packets,
            sessions: counters.sessions.took.count,
            session_mean_s,
            session_sd_s,
            session_p50_s,
            session_p95_s,
            session_p99_s,
            session_max_s,
        }
    }

    pub(super) fn access(&self, station: StationId) -> CategoryCounters {
        AccessCategory::ALL
            .map(|ac| self.network.wlan().access(station, ac))
            .iter()
            .fold(CategoryCounters::default(), |sum, of| sum.plus(of))
    }

    /// The figures of the stations that have them, by name.
    fn those<'n, F>(
        &self,
        names: &'n Names,
        figures: impl Fn(&Self, StationId) -> Option<F>,
    ) -> Named<'n, F> {
        let stations = (0..).map(StationId).zip(&names.stations);
        let found =
            stations.filter_map(|(id, name)| Some((Cow::from(&**name), figures(self, id)?)));
        Named(found.collect())
    }

    fn queue(&mut self, queue: QueueId) -> QueueFigures {
        let counters: QueueCounters = self.network.queue(queue, self.now);
        let (waited, occupancy) = (counters.waited, counters.occupancy);
        let (early, filtered) = (counters.dropped_early.packets, counters.filtered_acks);
        let unprocessed = counters.unprocessed;
        let sojourns = self.network.sojourns(queue);
        let sojourn = |q| waited.quantile_s(sojourns?, q);
        let [
            access_delay_mean_s,
            access_delay_sd_s,
            access_delay_p50_s,
            access_delay_p95_s,
            access_delay_p99_s,
            access_delay_max_s,
        ] = self.network.access_delays(queue).map_or([None; 6], Timings::figures_s);
        QueueFigures {
            offered_packets: counters.offered.packets,
            dropped_packets: counters.dropped.packets,
            dropped_full_packets: counters.dropped.packets - early - filtered - unprocessed,
            dropped_early_packets: early,
            dropped_filtered_packets: filtered,
            dropped_unprocessed_packets: unprocessed,
            marked_packets: occupancy.marked,
            dequeued_packets: counters.taken.packets,
            length_mean_packets: ratio(occupancy.packet_time as f64 * 1e-9, self.seconds),
            length_max_packets: occupancy.longest,
            sojourn_mean_s: waited.mean_s(),
            sojourn_sd_s: waited.sd_s(),
            sojourn_p50_s: sojourn(0.5),
            sojourn_p95_s: sojourn(0.95),
            sojourn_p99_s: sojourn(0.99),
            sojourn_max_s: waited.greatest_s(),
            access_delay_mean_s,
            access_delay_sd_s,
            access_delay_p50_s,
            access_delay_p95_s,
            access_delay_p99_s,
            access_delay_max_s,
        }
    }

    fn medium(
        &self,
        stations: usize,
        flows: &[(Cow<'_, str>, FlowFigures)],
        tcp: &TcpCounters,
    ) -> MediumFigures {
        let (mut data, mut lost, mut control) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let (mut attempts, mut collided) = (0, 0);
        for id in (0..stations as u32).map(StationId) {
            let counters = self.network.wlan().station_at(id, self.now);
            let sent = counters.sent.iter().fold(Span::ZERO, |sum, air| sum + air.time);
            control = control + (sent - counters.sent_of(FrameKind::Data).time);
            // What is on the air has been neither decoded nor lost.
            let ended = self.network.wlan().station(id);
            data = data + ended.sent_of(FrameKind::Data).time;
            lost = lost + ended.data_lost.time;
            attempts += self.access(id).attempts;
            collided += counters.collided;
        }
        let throughputs: Vec<f64> =
            flows.iter().filter_map(|(_, flow)| flow.throughput_bps).collect();
        let all = sum(throughputs.iter().copied());
        let squares = sum(throughputs.iter().map(|x| x * x));
        let [
            session_mean_s,
            session_sd_s,
            session_p50_s,
            session_p95_s,
            session_p99_s,
            session_max_s,
        ] = tcp.sessions.figures_s();
        MediumFigures {
            throughput_bps: (self.seconds > 0.0).then_some(all),
            collided_ratio: ratio(collided as f64, attempts as f64),
            data_airtime_ratio: self.share(data - lost),
            lost_data_airtime_ratio: self.share(lost),
            control_airtime_ratio: self.share(control),
            messages_airtime_ratio: None,
            throughput_jain_index: ratio(all * all, throughputs.len() as f64 * squares),
            goodput_bps: ratio(8.0 * tcp.arrived_bytes as f64, self.seconds),
            sessions: tcp.sessions.took.count,
            session_mean_s,
            session_sd_s,
            session_p50_s,
            session_p95_s,
            session_p99_s,
            session_max_s,
        }
    }
}
