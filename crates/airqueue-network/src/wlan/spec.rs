//! The description of a wireless LAN, and the checks before it runs.

use super::absence::AbsenceSpec;
use super::association::AssociationSpec;
use super::power::{BeaconSpec, PowerSaveSpec};
use super::rates::RateControlSpec;
use super::signals::SignalsSpec;
use airqueue_core::{NeighbourFacts, Span};
use airqueue_qdisc::QueueSpec;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{MacConfig, MacError, Radio};
use airqueue_wifi::medium::{Capture, FrameErrors, MediumError, Reach, StationId};
use airqueue_wifi::phy::AccessCategory;
use thiserror::Error;

/// A station.
#[derive(Clone, Debug)]
pub struct StationSpec {
    /// Name of the station.
    pub name: String,
    /// Channel access of the station.
    pub mac: MacConfig,
    /// The queue of each of the MAC's access categories.
    pub queues: Vec<QueueSpec>,
    /// The station's airtime weight at queues of other stations that share airtime.
    pub airtime_weight: u16,
}

/// What a receiver reports of a flow in its link-layer acknowledgements, besides the rate of the data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttReport {
    /// The flow's round-trip time, without the waiting and transmission times in this network.
    pub base: Span,
    /// Reports, instead of `base`, the smoothed round-trip time of the flow's packets, including their waiting and
    /// transmission times here.
    pub smoothed: bool,
}

/// A hop over the air: how packets of a flow get from a station to another station in range.
#[derive(Clone, Debug)]
pub struct HopSpec {
    /// Name of the hop.
    pub name: String,
    /// The station that sends the packets.
    pub from: StationId,
    /// The station that receives them.
    pub to: StationId,
    /// The sender's access category for the packets.
    pub ac: AccessCategory,
    /// Rate of the data frames, if the hop has no rate control.
    pub rate: RateIndex,
    /// The rate control, if the hop has one.
    pub rate_control: Option<RateControlSpec>,
    /// Bytes that an MPDU adds to an IP packet: LLC/SNAP, MAC header, FCS.
    pub overhead_bytes: u32,
    /// Size of the largest packets, in IP bytes.
    pub size_bytes: u32,
    /// What the receiver reports (RDQM); `None`: nothing.
    pub report: Option<RttReport>,
    /// The packets are for all stations in range, in frames without acknowledgement; `to` is then `from`.
    pub to_all: bool,
}

/// A wireless LAN.
#[derive(Clone, Debug)]
pub struct WlanSpec {
    /// The physical layer and the stations' behaviour.
    pub radio: Radio,
    /// Which station hears which, and how strongly.
    pub reach: Reach,
    /// What happens to overlapping frames; `None`: the rule of the behaviour.
    pub capture: Option<Capture>,
    /// Other causes of frame loss.
    pub errors: FrameErrors,
    /// Noise power for [`FrameErrors::BySnr`], in watts.
    pub noise_w: f64,
    /// The stations, in the order of their ids.
    pub stations: Vec<StationSpec>,
    /// The hops over the air. A packet names its hop by its place in this list, in
    /// [`Packet::flow`](airqueue_core::Packet::flow).
    pub hops: Vec<HopSpec>,
    /// The access points that send beacons.
    pub beacons: Vec<BeaconSpec>,
    /// The stations that sleep at times.
    pub sleepers: Vec<PowerSaveSpec>,
    /// The stations that scan, or go out of reach now and then.
    pub absences: Vec<AbsenceSpec>,
    /// The stations that associate with an access point before they send and receive data; the others need not.
    pub associations: Vec<AssociationSpec>,
    /// Signals that change, and interferers.
    pub signals: SignalsSpec,
    /// Smallest number of stations that hear and count alike to be simulated together. The value changes only the speed
    /// of the simulation. [`Self::TOGETHER`] is a good choice.
    pub together: usize,
}

/// Why a wireless LAN is invalid.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum WlanError {
    #[error("station {station}: {error}")]
    Mac { station: String, error: MacError },
    #[error("{0}")]
    Medium(#[from] MediumError),
    #[error("there are {described} stations, but the medium has {known}")]
    Count { described: usize, known: usize },
    #[error("station {station} has {queues} queues, but its MAC has {categories}")]
    Queues { station: String, queues: usize, categories: usize },
    #[error("hop {hop}: there is no station {id}")]
    NoStation { hop: String, id: u32 },
    #[error("hop {hop}: from and to are the same station, {station}")]
    ToItself { hop: String, station: String },
    #[error(
        "hop {hop}: packets to all stations need a fixed rate before 802.11n, and have no receiver"
    )]
    ToAll { hop: String },
    #[error("beacons of station {station}: {problem}")]
    Beacons { station: String, problem: &'static str },
    #[error("sleep of station {station}: {problem}")]
    Sleep { station: String, problem: &'static str },
    #[error("absences of station {station}: {problem}")]
    Absence { station: String, problem: &'static str },
    #[error("association of station {station}: {problem}")]
    Association { station: String, problem: &'static str },
    #[error("signals: {problem}")]
    Signals { problem: &'static str },
    #[error(
        "the longest propagation delay is {found}; a sender waits for a response for {most}, and the delay must be shorter: \
         give a coverage class for the distance"
    )]
    Delay { found: Span, most: Span },
    #[error(
        "propagation delays are not simulated together with beacons, stations that sleep, scan or leave, and packets to all \
         stations"
    )]
    DelayBeside,
    #[error("hop {hop}: {from} and {to} cannot decode each other's frames")]
    OutOfReach { hop: String, from: String, to: String },
    #[error("a queue of station {station} has packets for more than 65536 stations")]
    Neighbours { station: String },
    #[error("hop {hop}: its rate control has no rates")]
    NoRate { hop: String },
    #[error("hop {hop}: station {station} has no queue {queue}")]
    NoQueue { hop: String, station: String, queue: usize },
    #[error(
        "hop {hop}: {bytes} bytes are too many for a frame; the longest at its rate has {most}"
    )]
    TooLong { hop: String, bytes: u32, most: u32 },
}

impl HopSpec {
    /// The rates that the hop's frames may have.
    pub fn rates(&self) -> impl Iterator<Item = RateIndex> {
        let own = self.rate_control.is_none().then_some(self.rate);
        own.into_iter()
            .chain(self.rate_control.iter().flat_map(|control| control.rates.iter().copied()))
    }
}

impl WlanSpec {
    /// With fewer than ten stations, joining and leaving a group costs more than visiting each station for each frame
    /// (`cargo bench -p airqueue-scenario --bench wlan alike`).
    pub const TOGETHER: usize = 10;

    /// Finds what cannot be simulated, apart from what the parts check when they are built.
    pub(super) fn check(&self) -> Result<(), WlanError> {
        let (described, known) = (self.stations.len(), self.reach.stations());
        if described != known {
            return Err(WlanError::Count { described, known });
        }
        for station in &self.stations {
            let (queues, categories) = (station.queues.len(), station.mac.categories.len());
            if queues != categories {
                let station = station.name.clone();
                return Err(WlanError::Queues { station, queues, categories });
            }
        }
        self.hops.iter().try_for_each(|hop| self.check_hop(hop))?;
        self.check_delays()?;
        self.check_power()?;
        self.check_absences()?;
        self.check_associations()?;
        self.signals.check(self)
    }

    /// Checks the propagation delays. A response that outlasted what its sender waits for could be taken for that to a later
    /// frame.
    pub fn check_delays(&self) -> Result<(), WlanError> {
        if !self.reach.is_delayed() {
            return Ok(());
        }
        let phy = &self.radio.phy;
        let most = phy.rates().map(|(rate, _)| phy.response_timeout(rate)).min();
        let (found, most) = (self.reach.longest_delay(), most.unwrap_or(Span::ZERO));
        if found >= most {
            return Err(WlanError::Delay { found, most });
        }
        let to_all = self.hops.iter().any(|hop| hop.to_all);
        let managed =
            self.beacons.is_empty() && self.sleepers.is_empty() && self.absences.is_empty();
        if to_all || !managed { Err(WlanError::DelayBeside) } else { Ok(()) }
    }

    /// For each station, whether a hop leads from or to the station. Other stations never send, and what they hear has
    /// no effect.
    pub(super) fn takes_part(&self) -> Vec<bool> {
        let mut takes_part = vec![false; self.stations.len()];
        for hop in &self.hops {
            takes_part[hop.from.index()] = true;
            takes_part[hop.to.index()] = true;
        }
        let to_all = self.hops.iter().filter(|hop| hop.to_all).map(|hop| hop.from);
        for of in &self.associations {
            takes_part[of.station.index()] = true;
        }
        for from in to_all.chain(self.beacons.iter().map(|of| of.station)) {
            takes_part[from.index()] = true;
            for listener in self.reach.listeners_of(from) {
                takes_part[listener.station.index()] = true;
            }
        }
        takes_part
    }

    /// What the queue of a hop's packets knows of the next station.
    pub(super) fn neighbour_facts(&self, hop: &HopSpec) -> NeighbourFacts {
        let airtime_weight = self.stations[hop.to.index()].airtime_weight;
        NeighbourFacts { airtime_weight, is_group: hop.to_all }
    }

    pub(super) fn too_many_neighbours(&self, station: StationId) -> WlanError {
        WlanError::Neighbours { station: self.stations[station.index()].name.clone() }
    }

    fn check_hop(&self, spec: &HopSpec) -> Result<(), WlanError> {
        let hop = spec.name.clone();
        if let Some(id) = [spec.from, spec.to].iter().find(|id| id.index() >= self.stations.len()) {
            return Err(WlanError::NoStation { hop, id: id.0 });
        }
        let name = |id: StationId| self.stations[id.index()].name.clone();
        if spec.to_all {
            let fixed = spec.rate_control.is_none() && self.is_old(spec.rate);
            if spec.from != spec.to || !fixed {
                return Err(WlanError::ToAll { hop });
            }
        } else if spec.from == spec.to {
            return Err(WlanError::ToItself { hop, station: name(spec.from) });
        }
        let decodes = |from, to| self.reach.signal(from, to).is_some_and(|s| s.decodable());
        if !spec.to_all && (!decodes(spec.from, spec.to) || !decodes(spec.to, spec.from)) {
            let (from, to) = (name(spec.from), name(spec.to));
            return Err(WlanError::OutOfReach { hop, from, to });
        }
        if spec.ac.index() >= self.stations[spec.from.index()].queues.len() {
            let station = name(spec.from);
            return Err(WlanError::NoQueue { hop, station, queue: spec.ac.index() });
        }
        let bytes = spec.size_bytes.saturating_add(spec.overhead_bytes);
        let most = spec.rates().map(|rate| self.radio.phy.max_mpdu_bytes(rate)).min();
        let most = most.ok_or_else(|| WlanError::NoRate { hop: hop.clone() })?;
        if bytes > most {
            return Err(WlanError::TooLong { hop, bytes, most });
        }
        Ok(())
    }
}
