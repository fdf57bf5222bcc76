//! Routes that are computed for flows.

use super::error::{Result, wrong};
use super::file::MetricName;
use super::links::are_linked;
use super::placement::Gap;
use super::radio_hops::{FlowRates, RadioHops};
use airqueue_network::wlan;
use airqueue_wifi::RateIndex;
use airqueue_wifi::medium::{FrameErrors, Signal, StationId};
use airqueue_wifi::routing::{
    Cost, Graph, ShortestPaths, TEST_FRAME_BYTES, airtime_cost, test_exchange,
};
use std::collections::HashMap;
use std::iter::repeat_n;

/// Computes routes.
pub(super) struct Routes<'a> {
    radio_hops: &'a RadioHops<'a>,
    metric: MetricName,
    /// Shortest paths of flows without rate settings.
    usual: ShortestPaths,
    /// Shortest paths for the most recent other rate settings.
    special: Option<(FlowRates, ShortestPaths)>,
}

/// The rate settings of a flow without any.
const NO_RATE_SETTINGS: FlowRates = FlowRates { phy_rate: None, rate_control: None };

impl<'a> Routes<'a> {
    /// `None` where the file asks for no computed routes.
    pub(super) fn new(radio_hops: &'a RadioHops<'a>) -> Result<Option<Routes<'a>>> {
        let Some(routing) = &radio_hops.file.routing else { return Ok(None) };
        let usual = ShortestPaths::new(graph(radio_hops, routing.metric, NO_RATE_SETTINGS));
        let routes = Routes { radio_hops, metric: routing.metric, usual, special: None };
        if routing.connected {
            routes.check_connected()?;
        }
        Ok(Some(routes))
    }

    /// The stations that relay a flow's packets from one station to another.
    pub(super) fn between(
        &mut self,
        key: &str,
        flow_rates: FlowRates,
        from: usize,
        to: usize,
    ) -> Result<Vec<usize>> {
        let paths = if self.metric == MetricName::Hops || flow_rates == NO_RATE_SETTINGS {
            &mut self.usual
        } else {
            if self.special.as_ref().is_none_or(|(of, _)| *of != flow_rates) {
                self.special = Some((
                    flow_rates,
                    ShortestPaths::new(graph(self.radio_hops, self.metric, flow_rates)),
                ));
            }
            &mut self.special.as_mut().expect("it was made").1
        };
        if let Some(mut route) = paths.between(from, to) {
            route.pop();
            route.remove(0);
            return Ok(route);
        }
        let reaching = paths.graph().reaching(to);
        let [from, to] = [from, to].map(|id| self.radio_hops.stations.name(id));
        let problem = format_args!("there is no route over the air from {from:?} to {to:?}: ");
        wrong(format_args!("{key}.to"), format!("{problem}{}", self.gap(&reaching)))
    }

    /// Checks that there is a route between all stations.
    fn check_connected(&self) -> Result<()> {
        let reaching = self.usual.graph().reaching(0);
        if reaching.iter().all(|&reaches| reaches) {
            return Ok(());
        }
        let problem = format_args!(
            "the network falls apart: {}; move or link them, or say connected = false if parts may stand alone",
            self.gap(&reaching)
        );
        wrong("routing", problem)
    }

    /// Describes where the network is split, between the stations of which `reaching` is true and the others.
    fn gap(&self, reaching: &[bool]) -> String {
        let name = |id: usize| self.radio_hops.stations.name(id);
        let side = |which: bool| {
            let all = reaching.iter().enumerate().filter(move |&(_, &reaches)| reaches == which);
            all.map(|(id, _)| id)
        };
        let part = |which: bool| {
            let count = side(which).count();
            let first = name(side(which).next().expect("both parts have stations"));
            match count {
                1 => format!("{first:?}"),
                2 => format!("{first:?} and one other station"),
                _ => format!("{first:?} and {} other stations", count - 1),
            }
        };
        let mut gap = format!("nothing links {} with {}", part(true), part(false));
        if let Some(Gap { one, other, metres }) =
            Gap::between(&self.radio_hops.medium.places, reaching)
        {
            let (one, other) = (name(one), name(other));
            gap = format!("{gap}; between {one:?} and {other:?} it is {metres:.1} m");
        }
        gap
    }
}

/// The links for packets and their acknowledgements, with their costs for a flow.
fn graph(radio_hops: &RadioHops<'_>, metric: MetricName, flow_rates: FlowRates) -> Graph {
    let mut airtimes = Airtimes::new(radio_hops, flow_rates);
    Graph::new(radio_hops.stations.specs.len(), |to| {
        let listeners_of = radio_hops.medium.reach.listeners_of(StationId(to as u32)).iter();
        let linked = listeners_of
            .map(|hearer| hearer.station.index())
            .filter(|&from| are_linked(&radio_hops.medium.reach, from, to));
        let cost = |from| match metric {
            MetricName::Hops => Some((from, Cost::MIN)),
            MetricName::Airtime => {
                airtimes.cost(to, from)?;
                Some((from, airtimes.cost(from, to)?))
            }
        };
        linked.filter_map(cost).collect::<Vec<_>>()
    })
}

/// The airtime of a flow's frames on links.
struct Airtimes<'a> {
    radio_hops: &'a RadioHops<'a>,
    flow_rates: FlowRates,
    /// The table of each station. All members of a table have equal settings.
    tables: Vec<usize>,
    known: HashMap<Kind, Option<Cost>>,
}

/// What the cost of a link depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    /// The table of the sender.
    table: usize,
    /// Whether both stations are QoS stations.
    qos: bool,
    /// The rate, if it is fixed.
    rate: Option<RateIndex>,
    /// The received power, where it matters.
    power_bits: u64,
}

impl Airtimes<'_> {
    fn new<'a>(radio_hops: &'a RadioHops<'a>, flow_rates: FlowRates) -> Airtimes<'a> {
        let members = radio_hops.stations.members.iter().enumerate();
        let tables = members.flat_map(|(at, ids)| repeat_n(at, ids.len())).collect();
        Airtimes { radio_hops, flow_rates, tables, known: HashMap::new() }
    }

    /// The cost of a link from a station to another station in range; `None`: frames do not get through.
    fn cost(&mut self, from: usize, to: usize) -> Option<Cost> {
        let radio_hops = self.radio_hops;
        let signal =
            radio_hops.medium.reach.signal(StationId(from as u32), StationId(to as u32))?;
        let qos = radio_hops.stations.without_qos(from, to).is_none();
        let rates = radio_hops.rates(self.flow_rates, from, to);
        let by_power = radio_hops.medium.errors == FrameErrors::BySnr;
        let kind = Kind {
            table: self.tables[from],
            qos,
            rate: rates.first().filter(|_| rates.len() == 1).copied(),
            power_bits: if by_power { signal.power_w.to_bits() } else { 0 },
        };
        if let Some(&known) = self.known.get(&kind) {
            return known;
        }
        // Stations without QoS do not decode frames of 802.11n.
        let fits = |rate: &RateIndex| qos || radio_hops.phy.mcs(*rate).is_none();
        let costs = rates.iter().copied().filter(fits);
        let cost = costs.filter_map(|rate| self.cost_at(from, to, rate, signal)).min();
        self.known.insert(kind, cost);
        cost
    }

    fn cost_at(&self, from: usize, to: usize, rate: RateIndex, signal: Signal) -> Option<Cost> {
        let radio_hops = self.radio_hops;
        let overhead = radio_hops.overhead(from, to);
        let mac = &radio_hops.stations.specs[from].mac;
        let exchange = test_exchange(
            radio_hops.phy,
            mac,
            radio_hops.access_category(None, from),
            rate,
            overhead,
        );
        let psdu_bytes = radio_hops.phy.single_psdu_bytes(rate, TEST_FRAME_BYTES + overhead);
        let snr =
            wlan::snr(radio_hops.phy.mcs(rate), signal.power_w, radio_hops.medium.noise_w, 0.0);
        airtime_cost(
            exchange,
            radio_hops.medium.errors.loss(radio_hops.phy.modulation(rate), snr, psdu_bytes),
        )
    }
}
