//! Beacons, frames to all stations, and stations that sleep (IEEE 802.11-2016, 11.1.3 and 11.2.3).
//!
//! An access point ([`Cell`]) sends beacons, which tell sleeping stations ([`Sleeper`]) for whom packets wait. What comes for
//! a station that sleeps waits in a buffer of the station ([`buffers`]); what the MAC of the access point has in hand is put
//! aside. Packets to all stations wait for the next DTIM as long as any station of the cell sleeps.
//!
//! Beacons, null frames and PS-Polls are packets in an access category of their own of the MAC
//! ([`Mac::management`](airqueue_wifi::mac::Mac::management)), one at a time. A sleeping station decodes nothing.
//!
//! A network without beacons, absences and frames to all stations has none of this: [`Power::is_used`] is false.

mod access_point;
mod beacons;
mod buffers;
mod counters;
mod delivery;
mod service;
mod sleeper;
mod spec;
mod twt;

pub use counters::{BeaconCounters, SleepCounters};
pub(super) use delivery::Released;
pub use spec::{BeaconSpec, PowerSaveSpec, TwtSpec, UapsdSpec, WakeUp};

use super::engine::{Event, INPUT};
use super::hop::Hop;
use super::spec::WlanSpec;
use crate::counters::Timings;
use crate::timer::Timer;
use airqueue_core::{NeighbourId, Packet, Seed, Span, Time};
use airqueue_wifi::mac::Content;
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use counters::Wakefulness;
use service::Service;
use std::collections::VecDeque;
use twt::WakeTimes;

/// What a station is for beacons and sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Neither of the two.
    None,
    /// An access point: its place among the cells.
    AccessPoint(u32),
    /// A station that sleeps: its place among the sleepers.
    Sleeper(u32),
}

/// Who may sleep while a hop's packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receivers {
    /// Nobody.
    Awake,
    /// The station at the other end: its place among the sleepers.
    Sleeper(u32),
    /// All stations in range, some of which may sleep: the place of the access point among the cells.
    All(u32),
}

/// A packet that waits for a station to wake up, or for a DTIM.
#[derive(Clone, Copy, Debug)]
struct Kept {
    packet: Packet,
    since: Time,
    /// No queue has had the packet yet; above, it counts among those that wait in a queue.
    arrived: bool,
}

/// An access point with beacons.
#[derive(Debug)]
struct Cell {
    spec: BeaconSpec,
    /// The stations that sleep at times, by their places among the sleepers.
    members: Vec<u32>,
    /// Number of members that the access point believes asleep.
    dozing: u32,
    /// When the next beacon is due, and how many have been due.
    next: Time,
    number: u64,
    /// When the beacon that waits was due.
    due: Option<Time>,
    /// Packets to all stations that wait for a DTIM.
    group: VecDeque<Kept>,
    /// Whether they go on the air: from a DTIM on until none is left.
    delivers_group: bool,
    /// When packets that have been kept for too long are dropped next; `None`: none are kept.
    cleanup: Option<Time>,
    /// What the last beacon said: whether it was a DTIM, behind which frames to all stations follow, and for which
    /// members packets wait.
    dtim: bool,
    group_follows: bool,
    traffic: Vec<u32>,
    counters: BeaconCounters,
    /// From the TBTT to the beginning of each beacon.
    delays: Timings,
    /// How long the packets of `group` that were let go had been kept.
    group_waits: Timings,
}

/// A station that sleeps.
#[derive(Debug)]
struct Sleeper<E> {
    spec: PowerSaveSpec,
    /// The place of its access point among the cells.
    cell: u32,
    wakefulness: Wakefulness,
    /// Until when the station waits for a beacon; [`Time::MAX`]: it does not.
    listens_until: Time,
    /// Whether the station waits for frames to all stations behind a DTIM.
    awaits_group: bool,
    /// Whether the station waits for the answer to a PS-Poll.
    awaits_answer: bool,
    /// When the station last heard or sent what makes it wait for an answer, or for the end of a service period.
    waits_since: Time,
    /// U-APSD at both ends.
    service: Service,
    /// The service periods of an agreement on wake times.
    twt: Option<WakeTimes>,
    /// Whether the station stays awake, and when it last sent or received data.
    active: bool,
    activity: Time,
    /// The null frame or PS-Poll that the MAC has.
    request: Option<Content>,
    timer: Timer<E>,
    /// Whether the access point believes that the station sleeps.
    dozing: bool,
    /// Whether the access point still has packets for the station in hand, which sleeps.
    late: bool,
    /// What waits for the station at the access point, by access category.
    buffers: [VecDeque<Kept>; 4],
    /// The station's numbers among the neighbours of the access point's queues, by access category.
    neighbours: [Option<NeighbourId>; 4],
    /// Whether the access point is answering a PS-Poll.
    answering: bool,
    counters: SleepCounters,
    /// How long the packets that the access point let go had been kept for the station.
    waits: Timings,
}

/// The beacons and the sleep of a network.
#[derive(Debug)]
pub(super) struct Power<E> {
    /// One for each station; empty in a network without beacons, absences and frames to all stations.
    roles: Vec<Role>,
    cells: Vec<Cell>,
    sleepers: Vec<Sleeper<E>>,
    /// Number of sleepers that are [`Sleeper::late`].
    late: u32,
    /// Whether queues of an access point have got packets and do not know it.
    unfed: bool,
    /// Scratch list: the stations that have decoded the frame to all stations that ends.
    heard: Vec<StationId>,
    slot: Span,
}

impl<E: Copy + From<Event>> Power<E> {
    /// All stations are awake.
    pub(super) fn new(spec: &WlanSpec, slot: Span, seed: Seed) -> Power<E> {
        let mut roles = Vec::new();
        let quiet = spec.beacons.is_empty() && spec.absences.is_empty();
        if quiet && !spec.hops.iter().any(|hop| hop.to_all) {
            let (cells, sleepers, heard) = (Vec::new(), Vec::new(), Vec::new());
            return Power { roles, cells, sleepers, late: 0, unfed: false, heard, slot };
        }
        roles.resize(spec.stations.len(), Role::None);
        let mut cells: Vec<Cell> = Vec::new();
        for of in &spec.beacons {
            roles[of.station.index()] = Role::AccessPoint(cells.len() as u32);
            let drawn = || {
                let mut stream = seed.stream(&format!("beacons/{}", of.station.0));
                stream.span_below(of.interval)
            };
            let first = Time::ZERO + of.first.unwrap_or_else(drawn);
            cells.push(Cell::new(of.clone(), first));
        }
        let mut sleepers = Vec::new();
        for of in &spec.sleepers {
            let Role::AccessPoint(cell) = roles[of.access_point.index()] else {
                unreachable!("it was checked that the access point sends beacons")
            };
            let place = sleepers.len() as u32;
            roles[of.station.index()] = Role::Sleeper(place);
            let of_cell = &mut cells[cell as usize];
            of_cell.members.push(place);
            let timer = Timer::new(Event::Sleeper(place).into(), INPUT);
            let sleeper = Sleeper::new(of.clone(), cell, timer, seed);
            of_cell.dozing += u32::from(sleeper.dozing);
            sleepers.push(sleeper);
        }
        Power { roles, cells, sleepers, late: 0, unfed: false, heard: Vec::new(), slot }
    }

    /// Whether there are beacons, absences or frames to all stations in the network.
    #[inline(always)]
    pub(super) fn is_used(&self) -> bool {
        !self.roles.is_empty()
    }

    /// Who may sleep while packets arrive on a hop.
    pub(super) fn receivers(&self, from: StationId, to: StationId) -> Receivers {
        if !self.is_used() {
            return Receivers::Awake;
        }
        match (self.roles[from.index()], self.roles[to.index()]) {
            (Role::AccessPoint(cell), _) if from == to => Receivers::All(cell),
            (Role::AccessPoint(cell), Role::Sleeper(at))
                if self.sleepers[at as usize].cell == cell =>
            {
                Receivers::Sleeper(at)
            }
            _ => Receivers::Awake,
        }
    }

    fn sleeper_of(&self, station: StationId) -> Option<usize> {
        match self.roles.get(station.index()) {
            Some(&Role::Sleeper(at)) => Some(at as usize),
            _ => None,
        }
    }

    fn cell_of(&self, station: StationId) -> Option<usize> {
        match self.roles.get(station.index()) {
            Some(&Role::AccessPoint(at)) => Some(at as usize),
            _ => None,
        }
    }

    /// Whether a packet of a hop has to wait for its receivers at present.
    fn holds(&self, hop: &Hop) -> bool {
        match hop.receivers {
            Receivers::Awake => false,
            Receivers::Sleeper(at) => self.sleepers[at as usize].dozing,
            Receivers::All(cell) => self.cells[cell as usize].dozing > 0,
        }
    }

    /// Whether any station has decoded the frame to all stations that ends.
    pub(super) fn was_heard(&self) -> bool {
        !self.heard.is_empty()
    }

    /// Packets that have left their queues and wait for stations to wake up.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Packet> {
        let buffers = self.sleepers.iter().flat_map(|of| of.buffers.iter().flatten());
        let all = buffers.chain(self.cells.iter().flat_map(|cell| &cell.group));
        all.filter(|kept| !kept.arrived).map(|kept| &kept.packet)
    }

    /// A hop to these receivers has this neighbour number at the queue of a category.
    pub(super) fn set_neighbour(
        &mut self,
        receivers: Receivers,
        ac: AccessCategory,
        neighbour: NeighbourId,
    ) {
        if let Receivers::Sleeper(at) = receivers {
            self.sleepers[at as usize].neighbours[ac.index()] = Some(neighbour);
        }
    }

    /// The counters begin anew.
    pub(super) fn start_counting(&mut self, now: Time) {
        for cell in &mut self.cells {
            cell.counters = BeaconCounters::default();
            cell.delays.clear();
            cell.group_waits.clear();
        }
        for sleeper in &mut self.sleepers {
            sleeper.wakefulness.count(&mut sleeper.counters, now);
            sleeper.counters = SleepCounters::default();
            sleeper.waits.clear();
        }
    }

    /// The counters of a station's beacons, if the station sends beacons.
    pub(super) fn beacons(&self, station: StationId) -> Option<BeaconCounters> {
        self.cell_of(station).map(|cell| self.cells[cell].counters)
    }

    /// From the TBTT to the beginning of each beacon of a station, if the station sends beacons.
    pub(super) fn beacon_delays(&self, station: StationId) -> Option<&Timings> {
        self.cell_of(station).map(|cell| &self.cells[cell].delays)
    }

    /// How long packets to all stations that follow a DTIM of a station had been kept, if the station sends beacons.
    pub(super) fn group_waits(&self, station: StationId) -> Option<&Timings> {
        self.cell_of(station).map(|cell| &self.cells[cell].group_waits)
    }

    /// How long packets that were let go had been kept for a station, if packets are kept for the station at times.
    pub(super) fn waits_for(&self, station: StationId) -> Option<&Timings> {
        self.sleeper_of(station).map(|at| &self.sleepers[at].waits)
    }

    /// Packets that were kept for a station, and those among them that the buffer had no room for.
    pub(super) fn kept_for(&self, station: StationId) -> (u64, u64) {
        let counters = self.sleeper_of(station).map(|at| self.sleepers[at].counters);
        counters.map_or((0, 0), |counters| (counters.kept, counters.dropped))
    }

    /// The counters of a station's sleep up to `now`, if the station sleeps.
    pub(super) fn sleep(&self, station: StationId, now: Time) -> Option<SleepCounters> {
        let sleeper = &self.sleepers[self.sleeper_of(station)?];
        if sleeper.spec.wake_up == WakeUp::Awake {
            return None;
        }
        let (mut counters, mut wakefulness) = (sleeper.counters, sleeper.wakefulness);
        wakefulness.count(&mut counters, now);
        Some(counters)
    }

    /// The stations that send beacons.
    pub(super) fn access_points(&self) -> impl Iterator<Item = StationId> {
        self.cells.iter().map(|cell| cell.spec.station)
    }
}

impl Cell {
    fn new(spec: BeaconSpec, first: Time) -> Cell {
        Cell {
            spec,
            members: Vec::new(),
            dozing: 0,
            next: first,
            number: 0,
            due: None,
            group: VecDeque::new(),
            delivers_group: false,
            cleanup: None,
            dtim: false,
            group_follows: false,
            traffic: Vec::new(),
            counters: BeaconCounters::default(),
            delays: Timings::default(),
            group_waits: Timings::default(),
        }
    }

    /// Beacons from the last one that was due to the next DTIM; 0: that one is a DTIM.
    fn dtim_count(&self) -> u32 {
        let (number, period) = (self.number - 1, u64::from(self.spec.dtim_period));
        ((period - number % period) % period) as u32
    }
}

impl<E> Sleeper<E> {
    fn new(spec: PowerSaveSpec, cell: u32, timer: Timer<E>, seed: Seed) -> Sleeper<E> {
        let twt = spec.twt.as_ref().map(|twt| WakeTimes::new(twt, spec.station, seed));
        let mut sleeper = Sleeper {
            spec,
            cell,
            wakefulness: Wakefulness::AWAKE,
            listens_until: Time::MAX,
            awaits_group: false,
            awaits_answer: false,
            waits_since: Time::ZERO,
            service: Service::NONE,
            twt,
            active: false,
            activity: Time::ZERO,
            request: None,
            timer,
            dozing: false,
            late: false,
            buffers: Default::default(),
            neighbours: [None; 4],
            answering: false,
            counters: SleepCounters::default(),
            waits: Timings::default(),
        };
        sleeper.dozing = sleeper.is_always_dozing();
        sleeper.active = !sleeper.dozing;
        sleeper
    }
}
