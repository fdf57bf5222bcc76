//! Networks described by scenarios, and their reported figures.
//!
//! [`Scenario::from_json`] reads and checks a scenario, and builds what the engine runs: every scenario that passes can
//! be simulated. [`schema()`] describes the keys of a scenario to editors.

mod absences;
mod access_changes;
mod association;
mod buffers;
mod calls;
mod capacity;
mod changeable;
mod changes;
mod devices;
pub mod emulated;
mod error;
mod figures;
mod file;
mod flows;
mod in_force;
mod interference;
mod lines;
mod links;
pub mod live;
mod mac;
mod medium;
mod message_figures;
mod messages;
mod monitor;
mod neighbours;
mod nodes;
mod pacing;
mod phy;
mod placement;
mod power;
mod problems;
mod profile;
mod quantity;
mod radio_hops;
mod rate_traces;
mod rates;
mod recorders;
mod renamed;
mod reported;
mod reroutes;
mod route_checks;
mod routes;
mod scatter;
mod schema;
mod shaped;
mod signal_figures;
mod signals;
mod source;
mod station_figures;
mod stations;
mod tcp;

pub use changeable::LiveChanges;
pub use devices::devices;
pub use error::ScenarioError;
pub use figures::Run;
pub use lines::toml_lines;
pub use monitor::Monitor;
pub use problems::problems;
pub use recorders::NamedSeries;
pub use renamed::{RenamedKey, renamed_keys};
pub use schema::{reported_schema, schema};
pub use shaped::{ShapedQueue, shaped_queue};

use airqueue_core::keys::Table;
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::{FlowSpec, Hop, NetworkSpec};
use airqueue_network::wlan::{SignalsSpec, WlanSpec};
use airqueue_transport::traffic::Call;
use airqueue_wifi::medium::{Place, StationId};
use buffers::Buffers;
use changes::Changes;
use error::{error, unreadable};
use figures::Names;
use file::DeciderName;
use file::File;
use flows::{BuiltFlows, Flows};
use links::LinkRates;
use medium::Medium;
use messages::Messages;
use nodes::Nodes;
use power::Power;
use radio_hops::RadioHops;
use rates::RateControls;
use routes::Routes;
use stations::Stations;
use std::borrow::Cow;
use std::sync::Arc;

/// A network that can be simulated, and the duration of the run.
#[derive(Clone, Debug)]
pub struct Scenario {
    spec: NetworkSpec,
    duration: Span,
    warm_up: Span,
    names: Arc<Names>,
    /// The flows that are calls.
    calls: Arc<[(FlowId, Call)]>,
    /// The flows of pictures, and after which time a picture is late.
    pictures: Arc<[(FlowId, Span)]>,
    buffers: Option<Buffers>,
    /// Hops of the messages by which stations compute limits.
    messages: Option<Messages>,
    /// Whether limits that `buffers` sets for the queues of single flows count the frame that the MAC holds.
    flow_limits_count_in_hand: bool,
    /// The smallest limit of a queue that counts the packets that the MAC holds.
    least_limit: u32,
    /// Positions of the stations, where they matter.
    places: Vec<Place>,
    /// The keys that have their old names in the file.
    renamed: Vec<RenamedKey>,
}

/// Gives the tree of a file the present names of keys, the keys of devices that stations are like, and what neighbours stand
/// for. Returns the old names.
fn current(tree: &mut serde_json::Value) -> Result<Vec<RenamedKey>, ScenarioError> {
    let renamed = renamed::rename(tree)?;
    devices::expand(tree)?;
    neighbours::expand(tree)?;
    Ok(renamed)
}

/// Longest duration that can be simulated: thirty years, far from the end of the clock.
const LONGEST: Span = Span::from_secs(1_000_000_000);

impl Scenario {
    /// Reads a JSON object with the keys of a scenario file.
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        Scenario::with_real(text, false)
    }

    /// Reads a JSON object with the keys of a scenario file; `others_real`: nodes are real that the file does not mark.
    pub fn with_real(text: &str, others_real: bool) -> Result<Scenario, ScenarioError> {
        // Parsing into a value first keeps line and column numbers out of errors: the user never sees this JSON.
        let mut value: serde_json::Value =
            serde_json::from_str(text).map_err(|problem| error("", problem))?;
        let renamed = current(&mut value)?;
        let file: Table<File> = serde_path_to_error::deserialize(value).map_err(unreadable)?;
        let file = File { others_real, ..file.0 };
        Ok(Scenario { renamed, ..Scenario::new(&file)? })
    }

    fn new(file: &File) -> Result<Scenario, ScenarioError> {
        let (duration, warm_up) = (file.duration.value, file.warm_up.value);
        if duration <= Span::ZERO {
            return error::wrong("duration", "found 0 s, expected at least 1 ns of simulated time");
        }
        if duration + warm_up > LONGEST {
            return error::wrong("duration", "with the warm-up it is more than 1e9 s");
        }
        let (radio, rate) = phy::radio(&file.phy, file.behaviour.profile())?;
        let stations = Stations::new(file, &radio.phy)?;
        let medium = Medium::new(file, &stations, radio.rules.capture)?;
        let buffers = Buffers::new(file, &stations)?;
        let nodes = Nodes::new(file, &stations)?;
        let lasts = warm_up + duration;
        let given = power::Given { stations: &stations, phy: &radio.phy, medium: &medium };
        let mut power = Power::new(file, &given)?;
        let absences = given.absences(file, &mut power)?;
        let associations = given.associations(file, &mut power)?;
        let Power { beacons, sleepers } = power;
        let (BuiltFlows { flows, hops, calls, pictures, .. }, changes, messages) = {
            let (stations, phy, medium) = (&stations, &radio.phy, &medium);
            let links = &LinkRates::new(file, stations, phy, &medium.reach)?;
            let controls = RateControls::new(file, stations, links, phy)?;
            let radio_hops = &RadioHops { file, stations, phy, rate, medium, links, controls };
            let flows = Flows::new(radio_hops, &nodes, Routes::new(radio_hops)?);
            let mut built = flows.all()?;
            association::add_routes(&flows, &mut built, &associations)?;
            let reroutes = flows.reroutes(&mut built)?;
            let changes =
                Changes { flows: &flows, built: &built, reroutes: &reroutes, lasts }.all()?;
            let routers = buffers.is_some_and(|of| of.decided_by == DeciderName::Routers);
            let messages = routers.then(|| Messages::new(radio_hops, &built)).transpose()?;
            (built, changes, messages)
        };
        if buffers.is_some() && !flows.iter().any(FlowSpec::is_tcp_on_air) {
            let problem = "it is for TCP, and no flow of TCP goes over the air; leave it out";
            return error::wrong("buffers", problem);
        }
        let capture = medium.capture.unwrap_or(radio.rules.capture);
        let interferers = interference::interferers(file, &stations, &medium, capture)?;
        let (reach, phy) = (&medium.reach, &radio.phy);
        let signals = signals::signals(file, &stations, phy, reach, medium.thresholds)?;
        let signals = SignalsSpec { interferers, ..signals };
        let wires = nodes.wires;
        let processors = stations.processors;
        let Medium { reach, capture, errors, noise_w, places, .. } = medium;
        let wlan = WlanSpec {
            radio,
            reach,
            capture,
            errors,
            noise_w,
            stations: stations.specs,
            hops,
            beacons,
            sleepers,
            absences,
            associations,
            signals,
            together: WlanSpec::TOGETHER,
        };
        let delayed =
            if file.medium.links.is_some() { "medium.links" } else { "medium.propagation_delay" };
        wlan.check_delays().map_err(|problem| error::error(delayed, problem))?;
        let profile = file.behaviour.profile();
        let station_delay = profile.station_delay;
        let warm_up_ends = Time::ZERO + warm_up;
        let spec = NetworkSpec {
            wlan,
            station_delay,
            wires,
            flows,
            changes,
            warm_up: warm_up_ends,
            processors,
        };
        let names = Arc::new(Names::new(&spec));
        Ok(Scenario {
            spec,
            duration,
            warm_up,
            names,
            calls: calls.into(),
            pictures: pictures.into(),
            buffers,
            messages,
            flow_limits_count_in_hand: profile.flow_limits_count_in_hand,
            least_limit: profile.least_limit,
            places,
            renamed: Vec::new(),
        })
    }

    /// Warnings about a valid file, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.renamed.iter().map(RenamedKey::to_string).collect()
    }

    /// The network that the engine runs.
    pub fn spec(&self) -> &NetworkSpec {
        &self.spec
    }

    /// The network of a replication: with the flows of messages by which stations compute limits.
    fn started_spec(&self) -> Cow<'_, NetworkSpec> {
        match &self.messages {
            Some(messages) => Cow::Owned(messages.added_to(&self.spec)),
            None => Cow::Borrowed(&self.spec),
        }
    }

    /// The wireless LAN of the network.
    pub fn wlan(&self) -> &WlanSpec {
        &self.spec.wlan
    }

    /// The stations and hosts on the route of a flow, both ends included.
    ///
    /// # Panics
    ///
    /// If the flow does not exist.
    pub fn route(&self, flow: FlowId) -> Vec<&str> {
        let NetworkSpec { wlan, wires, flows, .. } = &self.spec;
        let name = |id: StationId| wlan.stations[id.index()].name.as_str();
        let ends = |hop: &Hop| match *hop {
            Hop::Air(hop) => {
                let hop = &wlan.hops[hop.index()];
                (name(hop.from), name(hop.to))
            }
            // Names of stations and hosts never contain a `>`.
            Hop::Wire(wire) => {
                let name = &wires[wire.index()].name;
                name.split_once("->").expect("a wire has two ends")
            }
        };
        let route = &flows[flow.index()].route;
        let first = route.first().map(|hop| ends(hop).0);
        first.into_iter().chain(route.iter().map(|hop| ends(hop).1)).collect()
    }

    /// Duration of counting, after the warm-up.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// Duration of the warm-up, before counting begins.
    pub fn warm_up(&self) -> Span {
        self.warm_up
    }

    /// The settings by which the runner of the network sets the limits of queues, as JSON, if the scenario has any.
    pub fn buffers(&self) -> Option<String> {
        let json = |of: &Buffers| serde_json::to_string(of).expect("settings are JSON");
        self.buffers.as_ref().map(json)
    }

    /// A replication, at time zero. The seed determines every random draw.
    pub fn start(&self, seed: Seed) -> Result<Run, ScenarioError> {
        Run::new(self, seed)
    }
}
