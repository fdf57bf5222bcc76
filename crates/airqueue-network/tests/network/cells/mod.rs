//! Basic cells: stations that all hear each other and saturate the first station.

#![allow(dead_code, reason = "each test file uses its part")]

use airqueue_core::{DataRate, Ecn, Limit, NeighbourFacts, Seed, Span, Time};
use airqueue_network::HopId;
use airqueue_network::network::{FlowSpec, Hop, Network, NetworkSpec, Node, Traffic};
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::{
    AbsenceSpec, AssociationSpec, BeaconSpec, HopSpec, PowerSaveSpec, RateControlSpec, RttReport,
    SignalsSpec, StationSpec, WlanSpec,
};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::traffic::{Arrivals, SourceSpec};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Behaviour, CategoryConfig, MacConfig, Radio};
use airqueue_wifi::medium::{Capture, FrameErrors, Level, Link, Reach, StationId};
use airqueue_wifi::phy::{
    AccessCategory, EdcaEdition, EdcaRole, Phy, Preamble, dsss, edca_defaults, frames,
};

/// Bytes that a DCF data frame adds to an IP packet.
pub const DCF_OVERHEAD: u32 = frames::HEADER_BYTES + frames::FCS_BYTES + frames::LLC_SNAP_BYTES;
/// Bytes that an EDCA data frame adds to an IP packet.
pub const EDCA_OVERHEAD: u32 =
    frames::QOS_HEADER_BYTES + frames::FCS_BYTES + frames::LLC_SNAP_BYTES;

/// A flow over one hop, and its source.
#[derive(Clone, Debug)]
pub struct Flow {
    pub name: String,
    pub from: StationId,
    pub to: StationId,
    pub ac: AccessCategory,
    pub rate: RateIndex,
    pub rate_control: Option<RateControlSpec>,
    pub overhead_bytes: u32,
    pub source: SourceSpec,
    /// Packets are offered from outside; only the packet size of the source is used.
    pub offered: bool,
    pub ecn: Ecn,
    pub report: Option<RttReport>,
}

/// Stations that send to each other directly.
#[derive(Clone, Debug)]
pub struct CellSpec {
    pub radio: Radio,
    pub reach: Reach,
    pub capture: Option<Capture>,
    pub errors: FrameErrors,
    pub noise_w: f64,
    pub stations: Vec<StationSpec>,
    pub flows: Vec<Flow>,
    pub beacons: Vec<BeaconSpec>,
    pub sleepers: Vec<PowerSaveSpec>,
    pub absences: Vec<AbsenceSpec>,
    pub associations: Vec<AssociationSpec>,
    pub signals: SignalsSpec,
    pub warm_up: Time,
    pub together: usize,
}

impl Flow {
    /// The hop of the flow's packets.
    pub fn hop(&self) -> HopSpec {
        HopSpec {
            name: self.name.clone(),
            from: self.from,
            to: self.to,
            ac: self.ac,
            rate: self.rate,
            rate_control: self.rate_control.clone(),
            overhead_bytes: self.overhead_bytes,
            size_bytes: self.source.size_bytes,
            report: self.report,
            to_all: self.to == self.from,
        }
    }

    fn over(&self, hop: usize) -> FlowSpec {
        let (source, ecn) = (self.source, self.ecn);
        FlowSpec {
            name: self.name.clone(),
            from: Node::Station(self.from),
            to: Node::Station(self.to),
            route: vec![Hop::Air(HopId::at(hop))],
            others: Vec::new(),
            traffic: match self.offered {
                true => Traffic::Offered { ecn },
                false => Traffic::Source { source, ecn },
            },
            dscp: 0,
            spread: Span::ZERO,
        }
    }
}

impl CellSpec {
    /// The wireless LAN: the stations, and the hops of the flows.
    pub fn wlan(&self) -> WlanSpec {
        WlanSpec {
            radio: self.radio.clone(),
            reach: self.reach.clone(),
            capture: self.capture,
            errors: self.errors,
            noise_w: self.noise_w,
            stations: self.stations.clone(),
            hops: self.flows.iter().map(Flow::hop).collect(),
            beacons: self.beacons.clone(),
            sleepers: self.sleepers.clone(),
            absences: self.absences.clone(),
            associations: self.associations.clone(),
            signals: self.signals.clone(),
            together: self.together,
        }
    }

    /// A network that consists of the wireless LAN.
    pub fn network(&self) -> NetworkSpec {
        let flows = self.flows.iter().enumerate().map(|(at, flow)| flow.over(at)).collect();
        let warm_up = self.warm_up;
        NetworkSpec { warm_up, ..NetworkSpec::wireless(self.wlan(), flows) }
    }

    /// The network at time zero.
    pub fn start(&self, seed: Seed) -> Simulation<Network> {
        Network::new(&self.network(), seed).expect("a network that can be")
    }
}

/// The time this many seconds after the beginning.
pub fn at(seconds: i64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// 802.11b with the standard's behaviour and long preambles.
pub fn b() -> Radio {
    let rules = Behaviour::Standard.rules();
    Radio::new(dsss(Preamble::Long, rules.conventions), rules)
}

/// The place of a rate.
pub fn rate(phy: &Phy, mbps: u64) -> RateIndex {
    phy.rate_index(DataRate::from_bps(mbps * 1_000_000).unwrap()).unwrap()
}

/// The reach of `stations`, where `level` gives the level for each transmitter and listener.
pub fn reach(stations: usize, level: impl Fn(u32, u32) -> Option<Level>) -> Reach {
    let ids = || 0..stations as u32;
    let pairs = ids().flat_map(|from| ids().map(move |to| (from, to)));
    let link = |(from, to)| {
        let level = level(from, to).filter(|_| from != to)?;
        Some(Link { from: StationId(from), to: StationId(to), level, power_w: None })
    };
    let links: Vec<Link> = pairs.filter_map(link).collect();
    Reach::from_links(stations, &links).unwrap()
}

/// `stations` that all decode each other.
pub fn everyone(stations: usize) -> Reach {
    reach(stations, |_, _| Some(Level::Decodable))
}

/// The queues of DCF.
pub fn dcf(phy: &Phy) -> MacConfig {
    MacConfig::new(vec![CategoryConfig::dcf(phy)])
}

/// The four queues of EDCA, by rising priority.
pub fn edca(phy: &Phy) -> MacConfig {
    let categories = edca_defaults(phy, EdcaEdition::Ieee2005, EdcaRole::Station);
    MacConfig::new(categories.map(CategoryConfig::from).to_vec())
}

/// A flow that always has packets of `size_bytes`.
pub fn saturated(from: u32, to: u32, ac: AccessCategory, rate: RateIndex, size_bytes: u32) -> Flow {
    let source = SourceSpec {
        arrivals: Arrivals::Saturated,
        size_bytes,
        start: Time::ZERO,
        stop: Time::MAX,
    };
    Flow {
        name: format!("{from}.{} to {to}", ac.index()),
        from: StationId(from),
        to: StationId(to),
        ac,
        rate,
        rate_control: None,
        overhead_bytes: DCF_OVERHEAD,
        source,
        offered: false,
        ecn: Ecn::NotEct,
        report: None,
    }
}

/// Stations with these MACs, without flows, in range of each other.
pub fn cell(radio: Radio, macs: Vec<MacConfig>) -> CellSpec {
    CellSpec { reach: everyone(macs.len()), ..stations(radio, macs) }
}

/// Stations with these MACs, without flows, out of range of each other.
pub fn stations(radio: Radio, macs: Vec<MacConfig>) -> CellSpec {
    let station = |(id, mac): (usize, MacConfig)| StationSpec {
        name: format!("station {id}"),
        queues: vec![QueueSpec::new(Limit::Packets(50)); mac.categories.len()],
        mac,
        airtime_weight: NeighbourFacts::USUAL_WEIGHT,
    };
    CellSpec {
        radio,
        reach: reach(macs.len(), |_, _| None),
        capture: None,
        errors: FrameErrors::None,
        noise_w: 1e-13,
        stations: macs.into_iter().enumerate().map(station).collect(),
        flows: Vec::new(),
        beacons: Vec::new(),
        sleepers: Vec::new(),
        absences: Vec::new(),
        associations: Vec::new(),
        signals: SignalsSpec::default(),
        warm_up: Time::ZERO,
        together: WlanSpec::TOGETHER,
    }
}

/// An 802.11b cell with `senders` that saturate station 0 with 1000-byte packets at 11 Mb/s.
pub fn uploads(senders: u32) -> CellSpec {
    let radio = b();
    let fast = rate(&radio.phy, 11);
    let macs = vec![dcf(&radio.phy); senders as usize + 1];
    let flows =
        (1..=senders).map(|from| saturated(from, 0, AccessCategory::FIRST, fast, 1000)).collect();
    CellSpec { flows, ..cell(radio, macs) }
}
