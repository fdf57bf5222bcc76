//! Changes of a network at given times.

use super::engine::{Event, Network, OUTSIDE};
use super::hops::End;
use super::spec::{NetworkError, NetworkSpec};
use crate::event::EventQueue;
use crate::{FlowId, HopId, RouteId, WireId};
use airqueue_core::{DataRate, Limit, Span, Time};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{CategoryConfig, Txop};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The rate of the data frames of a hop over the air. Packets that the MAC has in hand keep their rate.
    Rate {
        /// The hop, which has no rate control.
        hop: HopId,
        /// The new rate.
        rate: RateIndex,
    },
    /// The limit of a station's queue. A queue that separates flows or links applies the limit to each of them.
    Limit {
        /// The station.
        station: StationId,
        /// The access category of the queue.
        ac: AccessCategory,
        /// The new limit. Packets already waiting stay.
        limit: Limit,
    },
    /// The limit of a station's TXOPs, from its next TXOP on. Neither the old nor the new one is [`Txop::Flows`].
    Txop {
        /// The station.
        station: StationId,
        /// The access category.
        ac: AccessCategory,
        /// The new limit.
        txop: Txop,
    },
    /// The AIFSN of a station's access category, from the next backoff on that the category draws, or the next packet that
    /// needs none.
    Aifsn {
        /// The station.
        station: StationId,
        /// The access category.
        ac: AccessCategory,
        /// The new number of slots.
        aifsn: u32,
    },
    /// The contention windows of a station's access category, from the next backoff on that the category draws.
    Windows {
        /// The station.
        station: StationId,
        /// The access category.
        ac: AccessCategory,
        /// The number of values of the smallest window.
        w_min: u32,
        /// The number of values of the largest window.
        w_max: u32,
    },
    /// The queue of a station, by [`Wlan::replace_queue`](crate::wlan::Wlan::replace_queue).
    Queue {
        /// The station.
        station: StationId,
        /// The access category of the queue.
        ac: AccessCategory,
        /// The new queue, which counts bytes as the queue before.
        queue: QueueSpec,
    },
    /// The limit of the queue in which only the packets of one hop over the air wait, or only those of the hop's link.
    HopLimit {
        /// The hop, whose station separates flows or links.
        hop: HopId,
        /// The new limit. Packets already waiting stay.
        limit: Limit,
    },
    /// The route of a flow, in both directions. Packets in transit stay on their route.
    Route {
        /// The flow.
        flow: FlowId,
        /// The new route.
        route: RouteId,
    },
    /// The rate of a wire, also for the bits of packets that wait for serialisation.
    WireRate {
        /// The wire.
        wire: WireId,
        /// The new rate.
        rate: DataRate,
    },
    /// The delay of a wire, for packets that are serialised from then on. Packets stay in order.
    WireDelay {
        /// The wire.
        wire: WireId,
        /// The new delay.
        delay: Span,
    },
    /// The probability that a packet is lost in a wire, also for packets in the wire.
    WireLoss {
        /// The wire.
        wire: WireId,
        /// The new probability.
        loss: f64,
    },
    /// A station goes out of reach of all others, or comes back
    /// ([`Wlan::set_away`](crate::wlan::Wlan::set_away)).
    Away {
        /// The station.
        station: StationId,
        /// Whether the station is out of reach from then on.
        away: bool,
    },
    /// A station has another position ([`Wlan::move_station`](crate::wlan::Wlan::move_station)).
    Move {
        /// The station.
        station: StationId,
        /// The new position in metres.
        x_m: f64,
        /// The new position in metres.
        y_m: f64,
    },
}

/// A change and its time. A change precedes all other events of its instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedChange {
    /// Time of the change.
    pub at: Time,
    /// The change.
    pub change: Change,
}

impl TimedChange {
    /// The same change of a copy of a hop; `None`: the change is not of this hop alone.
    pub(super) fn at_copy(&self, original: HopId, copy: HopId) -> Option<TimedChange> {
        let change = match self.change {
            Change::Rate { hop, rate } if hop == original => Change::Rate { hop: copy, rate },
            Change::HopLimit { hop, limit } if hop == original => {
                Change::HopLimit { hop: copy, limit }
            }
            _ => return None,
        };
        Some(TimedChange { at: self.at, change })
    }

    /// Checks that the change is possible.
    pub fn check(&self, spec: &NetworkSpec) -> Result<(), NetworkError> {
        let wlan = &spec.wlan;
        let hop_at = |hop: HopId| wlan.hops.get(hop.index());
        let queue = |station: StationId, ac: AccessCategory| {
            let station = wlan.stations.get(station.index());
            station.and_then(|station| station.queues.get(ac.index()))
        };
        let access = |station: StationId,
                      ac: AccessCategory,
                      with: &dyn Fn(&CategoryConfig) -> CategoryConfig| {
            wlan.stations.get(station.index()).is_some_and(|station| {
                let old = station.mac.categories.get(ac.index());
                old.is_some_and(|old| with(old).is_possible(station.mac.experimental))
            })
        };
        let possible = match self.change {
            Change::Rate { hop, rate } => hop_at(hop).is_some_and(|hop| {
                let bytes = hop.size_bytes.saturating_add(hop.overhead_bytes);
                let known = wlan.radio.phy.rates().any(|(index, _)| index == rate);
                hop.rate_control.is_none() && known && bytes <= wlan.radio.phy.max_mpdu_bytes(rate)
            }),
            Change::Limit { station, ac, .. } => queue(station, ac).is_some(),
            Change::Queue { station, ac, queue: new } => queue(station, ac)
                .is_some_and(|queue| queue.link_layer_bytes == new.link_layer_bytes),
            Change::Txop { station, ac, txop } => {
                let station = wlan.stations.get(station.index());
                let old = station.and_then(|station| station.mac.categories.get(ac.index()));
                old.is_some_and(|old| ![old.txop, txop].contains(&Txop::Flows))
                    && txop.is_possible()
            }
            Change::Aifsn { station, ac, aifsn } => {
                access(station, ac, &|category| CategoryConfig { aifsn, ..*category })
            }
            Change::Windows { station, ac, w_min, w_max } => {
                access(station, ac, &|category| CategoryConfig { w_min, w_max, ..*category })
            }
            Change::HopLimit { hop, .. } => hop_at(hop)
                .and_then(|hop| queue(hop.from, hop.ac))
                .is_some_and(|queue| queue.discipline.facts().apart.is_some()),
            Change::Route { flow, route } => {
                spec.flows.get(flow.index()).is_some_and(|flow| route.index() <= flow.others.len())
            }
            Change::WireRate { wire, .. } => wire.index() < spec.wires.len(),
            Change::WireDelay { wire, delay } => {
                wire.index() < spec.wires.len() && delay >= Span::ZERO
            }
            Change::WireLoss { wire, loss } => {
                wire.index() < spec.wires.len() && (0.0..=1.0).contains(&loss)
            }
            Change::Away { station, .. } => station.index() < wlan.stations.len(),
            Change::Move { station, x_m, y_m } => {
                wlan.reach.moved(station, x_m, y_m).is_some_and(|moved| moved.is_ok())
            }
        };
        if possible { Ok(()) } else { Err(NetworkError::Change(Box::new(*self))) }
    }
}

impl Network {
    /// Applies a change now.
    ///
    /// # Panics
    ///
    /// If the change would be invalid in [`NetworkSpec::changes`].
    pub fn change(&mut self, change: Change, queue: &mut EventQueue<Event>) {
        match change {
            Change::Rate { hop, rate } => {
                self.wlan.set_rate(hop, rate);
                self.update_connection_paths();
            }
            Change::Limit { station, ac, limit } => {
                self.set_limit(station, ac, limit, queue);
            }
            Change::Queue { station, ac, queue: ref new } => {
                self.replace_queue((station, ac), new, queue);
            }
            Change::Txop { station, ac, txop } => self.wlan.set_txop(station, ac, txop),
            Change::Aifsn { station, ac, aifsn } => self.wlan.set_aifsn(station, ac, aifsn),
            Change::Windows { station, ac, w_min, w_max } => {
                self.wlan.set_windows(station, ac, (w_min, w_max));
            }
            Change::HopLimit { hop, limit } => {
                let apart = self.set_hop_limit(hop, limit, queue);
                assert!(apart, "the packets of the hop have no queue for themselves");
            }
            Change::Route { flow, route } => {
                for path in self.paths_of(flow) {
                    let hops = &mut self.wlan.upper.hops;
                    hops.take_route(path, route);
                    if let End::Receiver(_) | End::Server(_) = hops.paths[path.index()].end {
                        hops.take_route(path.back(), route);
                    }
                }
                self.update_connection_paths();
            }
            Change::WireRate { wire, rate } => self.wires[wire.index()].set_rate(rate, queue),
            Change::WireDelay { wire, delay } => self.wires[wire.index()].set_delay(delay),
            Change::WireLoss { wire, loss } => self.wires[wire.index()].set_loss(loss),
            Change::Move { station, x_m, y_m } => self.wlan.move_station(station, x_m, y_m),
            Change::Away { station, away } => {
                self.wlan.set_away(station, away, queue);
                self.pass_on(queue);
            }
        }
    }

    fn replace_queue(
        &mut self,
        (station, ac): (StationId, AccessCategory),
        new: &QueueSpec,
        queue: &mut EventQueue<Event>,
    ) {
        let at = queue.now().as_nanos();
        let rng = self.seed.stream(&format!("queue/{}/{}/{at}", station.0, ac.index()));
        self.wlan.replace_queue(station, ac, (new, rng), queue);
        self.name_hosts();
        self.show_headers();
        self.pass_on(queue);
    }

    /// Adds a change that the description does not have. Its time is not in the past.
    ///
    /// # Panics
    ///
    /// At the time of the change, if the change would be invalid in [`NetworkSpec::changes`].
    pub fn add_change(&mut self, change: TimedChange, queue: &mut EventQueue<Event>) {
        let at = self.changes.len() as u32;
        self.changes.push(change);
        queue.schedule(change.at, OUTSIDE, Event::Changed(at));
    }

    /// Changes the limit of a station's queue for an access category, now, by the rules of
    /// [`Wlan::set_limit`](crate::wlan::Wlan::set_limit).
    ///
    /// # Panics
    ///
    /// If the queue does not exist.
    pub fn set_limit(
        &mut self,
        station: StationId,
        ac: AccessCategory,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) {
        self.wlan.set_limit(station, ac, limit, queue);
        self.pass_on(queue);
    }

    /// Changes the limit of the queue in which only the packets of a hop over the air wait: false where all packets
    /// wait in one queue ([`Wlan::set_hop_limit`](crate::wlan::Wlan::set_hop_limit)).
    ///
    /// # Panics
    ///
    /// If the hop does not exist.
    pub fn set_hop_limit(
        &mut self,
        hop: HopId,
        limit: Limit,
        queue: &mut EventQueue<Event>,
    ) -> bool {
        let changed = self.wlan.set_hop_limit(hop, limit, queue);
        self.pass_on(queue);
        changed
    }

    /// Updates the paths of connections: the present number of hops over the air, and the rate of the slowest of these
    /// hops.
    fn update_connection_paths(&mut self) {
        for number in 0..self.connections.len() {
            let data = self.paths[number][0];
            let hops = self.air_rates(data).count() as u32;
            if let Some(rate) = self.air_rates(data).min() {
                self.connections[number].set_path(hops, rate);
            }
        }
    }
}
