//! A Wi-Fi cell in the path: the access point, one of its stations, and the air between them.

use crate::check::wrong;
use crate::config::ConfigError;
use crate::device::{Device, PathDirection};
use airqueue_core::{DropReason, FlowKey, Packet, Seed, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{FlowSpec, Network, NetworkSpec, OfferedPacket, Traffic};
use airqueue_network::outcome::Outcome;
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::HopSpec;
use airqueue_probe::client::Direction;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::collections::VecDeque;

/// A network, and the flows with the path's packets.
#[derive(Clone, Debug)]
pub struct CellSpec {
    /// The stations, other flows, and flows with packets from outside, which carry the packets of the path.
    pub network: NetworkSpec,
    /// The flow that carries packets towards the client.
    pub down: FlowId,
    /// The flow that carries packets back, between the same two nodes.
    pub up: FlowId,
    /// Further stations: the last of the endpoints' flows end there, one at each.
    pub others: Vec<StationSpec>,
}

/// The flows of the network that carry the packets of the path to and from a further station.
#[derive(Clone, Copy, Debug)]
pub struct StationSpec {
    /// The flow towards the station.
    pub down: FlowId,
    /// The flow back.
    pub up: FlowId,
}

/// The cell at work, on its own event queue, which is never ahead of the path's time.
///
/// Both directions go over the air: packets wait in the queue of the sending station, and arrive when the other station
/// has decoded their frame. Other flows run all the time, invisible to the path.
#[derive(Debug)]
pub struct Cell {
    network: Simulation<Network>,
    /// The hops of each station: down, and up.
    stations: Vec<[Hop; 2]>,
    loaded: Direction,
    /// The first of the endpoints' flows. From there on they are in blocks of as many as the endpoints have, each of one
    /// direction: whether it is downward.
    first: u32,
    flows: u32,
    blocks: Vec<bool>,
    outcomes: VecDeque<Outcome>,
}

/// What the path knows of a route through the cell.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The first queue before the air: its station and access category.
    station: StationId,
    ac: AccessCategory,
    /// Whether stations on the route have a queue for each category.
    separate: bool,
    /// Size of the largest packets that fit, in IP bytes.
    most_bytes: u32,
    /// The first of the endpoints' flows in the category of the scenario's flow.
    usual: u32,
    /// The same in each category: the usual one where the stations have none.
    by_category: [u32; 4],
}

impl Hop {
    /// The flow of a packet of the endpoints. As with packets of real programs its DSCP chooses the category; that of the
    /// scenario's flow is for packets without one.
    fn flow(&self, packet: &Packet) -> u32 {
        let first = match packet.dscp {
            0 => self.usual,
            dscp => self.by_category[AccessCategory::of_dscp(dscp).index()],
        };
        first + packet.flow.0
    }
}

impl CellSpec {
    /// The flow that the given key names.
    fn flow(&self, key: &str, id: FlowId) -> Result<(&FlowSpec, Hop), ConfigError> {
        let found = self.network.flows.get(id.index());
        let refuse = || {
            let name = found.map_or_else(|| id.0.to_string(), |flow| format!("{:?}", flow.name));
            wrong(key, name, "a flow over the air with packets from outside, source = \"external\"")
        };
        let external = |flow: &&FlowSpec| matches!(flow.traffic, Traffic::Offered { .. });
        let flow = found.filter(external).ok_or_else(refuse)?;
        let air = self.network.first_over_air(id).ok_or_else(refuse)?;
        let &HopSpec { from: station, ac, size_bytes, .. } = air;
        let (usual, by_category) = Default::default();
        let separate = self.network.has_categories(id);
        Ok((flow, Hop { station, ac, separate, most_bytes: size_bytes, usual, by_category }))
    }

    /// The hops to and from a station, whose flows the keys below `place` name.
    fn hops(&self, station: StationSpec, place: &str) -> Result<[Hop; 2], ConfigError> {
        let (down, down_hop) = self.flow(&format!("{place}.down"), station.down)?;
        let (up, up_hop) = self.flow(&format!("{place}.up"), station.up)?;
        if (up.from, up.to) != (down.to, down.from) {
            let expected = format_args!("a flow back to where {:?} comes from", down.name);
            return Err(wrong(format!("{place}.up"), format_args!("{:?}", up.name), expected));
        }
        Ok([down_hop, up_hop])
    }
}

/// A flow of the scenario that carries the endpoints' flows in one direction.
struct Way<'a> {
    like: FlowId,
    down: bool,
    hop: &'a mut Hop,
}

/// Adds the flows of the endpoints, so many in a block, and sets their numbers in the hops. Returns of each block whether it goes
/// down.
fn add_flows(network: &mut NetworkSpec, mut ways: Vec<Way<'_>>, flows: u32) -> Vec<bool> {
    let mut blocks = Vec::new();
    let mut add_block = |down: bool, like: FlowId, category: Option<AccessCategory>| {
        let first = network.flows.len() as u32;
        for n in 0..flows {
            let name = format!("{} {n}", network.flows[like.index()].name);
            network.add_like(like, name, category);
        }
        blocks.push(down);
        first
    };
    for Way { like, down, hop } in &mut ways {
        hop.usual = add_block(*down, *like, None);
    }
    for Way { like, down, hop } in ways {
        hop.by_category = AccessCategory::ALL.map(|ac| {
            let apart = hop.separate && ac != hop.ac;
            if apart { add_block(down, like, Some(ac)) } else { hop.usual }
        });
    }
    blocks
}

impl Cell {
    /// An idle network at time zero, with `flows` flows of the endpoints in each direction, which a queue that
    /// separates flows sees, and as many in each further access category. The random streams are those of
    /// [`Network::new`]; other flows have equal streams with and without endpoints.
    pub fn new(spec: CellSpec, flows: u32, seed: Seed) -> Result<Cell, ConfigError> {
        if spec.others.len() >= flows as usize {
            let expected = format_args!("fewer stations than the endpoints have flows, {flows}");
            return Err(wrong("cell.others", spec.others.len(), expected));
        }
        let first = StationSpec { down: spec.down, up: spec.up };
        let mut stations = vec![spec.hops(first, "cell")?];
        for &other in &spec.others {
            stations.push(spec.hops(other, "cell.others")?);
        }
        let mut network = spec.network.clone();
        let mut ways = Vec::new();
        let specs = std::iter::once(&first).chain(&spec.others);
        for (station, [down, up]) in specs.zip(&mut stations) {
            ways.push(Way { like: station.down, down: true, hop: down });
            ways.push(Way { like: station.up, down: false, hop: up });
        }
        let first = network.flows.len() as u32;
        let blocks = add_flows(&mut network, ways, flows);
        Ok(Cell {
            network: Network::new(&network, seed)?,
            stations,
            loaded: Direction::Down,
            first,
            flows,
            blocks,
            outcomes: VecDeque::new(),
        })
    }

    /// The hop of a packet of one of the endpoints' flows.
    fn hop(&self, flow: FlowKey, direction: PathDirection) -> Hop {
        let own = self.flows as usize + 1 - self.stations.len();
        let station = (flow.0 as usize + 1).saturating_sub(own);
        let [down, up] = self.stations[station];
        if self.is_down(direction) { down } else { up }
    }

    /// Whether packets of this direction go down.
    fn is_down(&self, direction: PathDirection) -> bool {
        (direction == PathDirection::Forward) == (self.loaded == Direction::Down)
    }

    /// The direction of a packet of one of the endpoints' flows.
    fn direction_of(&self, packet: &Packet) -> PathDirection {
        let down = self.blocks[((packet.flow.0 - self.first) / self.flows) as usize];
        if down == self.is_down(PathDirection::Forward) {
            PathDirection::Forward
        } else {
            PathDirection::Reverse
        }
    }

    fn advance(&mut self, now: Time) {
        self.network.run_until(now);
        self.outcomes.extend(self.network.model.outcomes());
    }
}

impl Device for Cell {
    fn load(&mut self, direction: Direction) {
        self.loaded = direction;
    }

    fn enqueue(&mut self, packet: Packet, direction: PathDirection, now: Time) {
        self.advance(now);
        let hop = self.hop(packet.flow, direction);
        let flow = hop.flow(&packet);
        if packet.size > hop.most_bytes {
            let packet = Packet { flow: FlowKey(flow), ..packet };
            self.outcomes.push_back(Outcome::Dropped(packet, DropReason::Oversize));
            return;
        }
        let Simulation { model, queue, .. } = &mut self.network;
        let offered = OfferedPacket {
            size: packet.size,
            payload: packet.payload,
            ecn: packet.ecn.is_capable().then_some(packet.ecn),
            dscp: (packet.dscp != 0).then_some(packet.dscp),
        };
        model.offer(FlowId(flow), offered, queue);
        self.outcomes.extend(self.network.model.outcomes());
    }

    fn next_deadline(&self) -> Option<Time> {
        self.network.queue.next_at()
    }

    fn on_deadline(&mut self, now: Time) {
        self.advance(now);
    }

    fn poll_outcome(&mut self) -> Option<(PathDirection, Outcome)> {
        let outcome = self.outcomes.pop_front()?;
        let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
            &outcome;
        Some((self.direction_of(packet), outcome))
    }

    fn waiting(&self) -> (u64, u64) {
        let hop = self.hop(FlowKey(0), PathDirection::Forward);
        self.network.model.wlan().waiting(hop.station, hop.ac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::config::{CellConfig, StationFlows};
    use airqueue_core::{Payload, Span};
    use proptest::prelude::*;
    use serde_json::json;

    /// An access point and a station with queues of `limit` packets. Two other stations saturate the medium, and frames
    /// get two attempts, so that some are given up.
    fn crowded(limit: u32) -> Cell {
        let scenario = json!({
            "phy": {"standard": "802.11b"},
            "mac": {"short_retry_limit": 2},
            "queue": {"limit": format!("{limit} packets")},
            "stations": [{"name": "ap"}, {"name": "sta"}, {"name": "other", "count": 2}],
            "flows": [
                {"from": "other", "to": "ap"},
                {"from": "ap", "to": "sta", "source": "external"},
                {"from": "sta", "to": "ap", "source": "external"},
            ],
        });
        let config = CellConfig {
            scenario,
            down: "ap->sta".to_owned(),
            up: "sta->ap".to_owned(),
            others: Vec::new(),
        };
        Cell::new(check::cell(&config).unwrap(), 2, Seed(1)).unwrap()
    }

    fn drive(cell: &mut Cell, until: Time, seen: &mut Vec<(PathDirection, Outcome)>) {
        while let Some(at) = cell.next_deadline().filter(|&at| at <= until) {
            cell.on_deadline(at);
            seen.extend(std::iter::from_fn(|| cell.poll_outcome()));
        }
        seen.extend(std::iter::from_fn(|| cell.poll_outcome()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Every packet comes out once, in the direction in which it entered; the packets of a flow arrive in order.
        #[test]
        fn every_packet_has_one_outcome(
            limit in 1u32..20,
            up: bool,
            packets in prop::collection::vec((0i64..3_000, any::<bool>(), 0u32..2, 20u32..1600), 1..80),
        ) {
            let mut cell = crowded(limit);
            cell.load(if up { Direction::Up } else { Direction::Down });
            let (mut now, mut seen) = (Time::ZERO, Vec::new());
            for (n, &(gap_us, loaded, flow, size)) in packets.iter().enumerate() {
                now += Span::from_micros(gap_us);
                drive(&mut cell, now, &mut seen);
                let direction = if loaded { PathDirection::Forward } else { PathDirection::Reverse };
                let payload = Payload(n as u32);
                cell.enqueue(Packet { payload, ..Packet::new(0, FlowKey(flow), size, now) }, direction, now);
                prop_assert!(cell.waiting().0 <= u64::from(limit));
            }
            drive(&mut cell, now + Span::from_secs(20), &mut seen);
            let mut last = [[None; 2]; 2];
            let mut fates = vec![0; packets.len()];
            for (direction, outcome) in seen {
                let (Outcome::Delivered(packet) | Outcome::Dropped(packet, _) | Outcome::Lost(packet)) =
                    outcome;
                let n = packet.payload.0 as usize;
                let (_, loaded, flow, size) = packets[n];
                fates[n] += 1;
                prop_assert_eq!(direction == PathDirection::Forward, loaded);
                let oversize = matches!(outcome, Outcome::Dropped(_, DropReason::Oversize));
                prop_assert_eq!(oversize, size > 1500);
                if let Outcome::Delivered(_) = outcome {
                    let last = &mut last[usize::from(loaded)][flow as usize];
                    prop_assert!(*last < Some(n));
                    *last = Some(n);
                }
            }
            prop_assert!(fates.iter().all(|&n| n == 1), "{:?}", fates);
        }
    }

    /// An access point and stations at 54 and 6 Mb/s, and the flows of the endpoints to them.
    fn two_stations(others: &[(&str, &str)]) -> CellConfig {
        let external = |from, to| json!({"from": from, "to": to, "source": "external"});
        let scenario = json!({
            "phy": {"standard": "802.11g"},
            "stations": [{"name": "ap"}, {"name": "fast", "rate": "54 Mb/s"}, {"name": "slow", "rate": "6 Mb/s"}],
            "flows": [
                external("ap", "fast"), external("fast", "ap"),
                external("ap", "slow"), external("slow", "ap"),
            ],
        });
        let flows = |&(down, up): &(&str, &str)| StationFlows { down: down.into(), up: up.into() };
        let others = others.iter().map(flows).collect();
        CellConfig { scenario, down: "ap->fast".into(), up: "fast->ap".into(), others }
    }

    #[test]
    fn the_last_flows_end_at_the_other_stations() {
        let config = two_stations(&[("ap->slow", "slow->ap")]);
        let mut cell = Cell::new(check::cell(&config).unwrap(), 3, Seed(1)).unwrap();
        let mut now = Time::ZERO;
        let mut takes = |flow, direction| {
            now += Span::from_millis(50);
            let mut seen = Vec::new();
            drive(&mut cell, now, &mut seen);
            cell.enqueue(Packet::new(0, FlowKey(flow), 1500, now), direction, now);
            while seen.is_empty() {
                let at = cell.next_deadline().unwrap();
                drive(&mut cell, at, &mut seen);
                if let Some((came, Outcome::Delivered(_))) = seen.first() {
                    assert_eq!(*came, direction);
                    return at - now;
                }
            }
            panic!("{seen:?}");
        };
        // 1500 bytes take 2 ms at 6 Mb/s, and a ninth of that at 54.
        for direction in [PathDirection::Forward, PathDirection::Reverse] {
            for flow in [0, 1] {
                assert!(takes(flow, direction) < Span::from_millis(1), "{flow} {direction:?}");
            }
            assert!(takes(2, direction) > Span::from_millis(2), "{direction:?}");
        }
    }

    #[test]
    fn stations_that_cannot_be_are_refused() {
        let refused = |others: &[(&str, &str)]| {
            let spec = check::cell(&two_stations(others));
            spec.and_then(|spec| Cell::new(spec, 2, Seed(1))).unwrap_err().to_string()
        };
        let slow = ("ap->slow", "slow->ap");
        assert!(refused(&[slow, slow]).contains("`cell.others` is 2, expected fewer stations"));
        assert!(
            refused(&[("ap->none", "slow->ap")]).contains("`cell.others.down` is \"ap->none\"")
        );
        assert!(refused(&[("ap->slow", "fast->ap")]).contains("`cell.others.up` is \"fast->ap\""));
    }
}
