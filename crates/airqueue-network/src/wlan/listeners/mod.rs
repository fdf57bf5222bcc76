//! The stations as listeners: what each station hears at present, and the effect of a frame on its listeners.
//!
//! [`Listeners`] owns the MACs and everything between them: [`Listeners::begin`] and [`Listeners::end`] a frame, and
//! [`Listeners::split`] a station from its group before an event affects this station alone.
//!
//! Stations that hear alike and only count down are simulated together, as one
//! [`LockstepGroup`](airqueue_wifi::mac::LockstepGroup) that is visited once when a frame begins and once when the
//! frame ends. Each station in range on its own is visited likewise, and no other station is. The grouping is invisible
//! outside this module, and affects only the cost of a frame. Members are examined one by one where they may have heard
//! different things: when frames overlap of which one may survive and that are not equally strong at all members, when
//! frames are lost to noise, and when there is a tap.
//!
//! For stations that no hop leads from or to, only the time in which they sense frames is counted, unless there is a
//! tap. [`grants::Grants`] finds the next end of a backoff.

mod apart;
mod bit_errors;
mod classes;
mod collisions;
mod delayed;
mod ends;
mod energy;
pub mod grants;
mod hearing;
mod joining;
mod on_air;
mod parts;
mod pass;
mod rx_end;
mod tables;
mod varying;

pub use bit_errors::snr;
pub(super) use delayed::Landed;
pub(super) use rx_end::Ending;

use super::spec::{WlanError, WlanSpec};
use airqueue_core::{Seed, Span, Time};
use airqueue_wifi::mac::{Mac, Radio};
use airqueue_wifi::medium::{Air, FrameErrors, Reach, Reception, StationId};
use airqueue_wifi::phy::AccessCategory;
use apart::Ears;
use bit_errors::BitErrors;
use classes::HearingClasses;
use delayed::Flights;
use energy::EnergyOnAir;
use grants::Grants;
use hearing::Hearing;
use on_air::{FrameOnAir, FramesOnAir};
use rx_end::RxEnds;
use std::ops::Range;
use tables::{Alone, ListenerTable, Tables};
use varying::Varying;

/// What takes a station out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Away {
    /// A change of the network.
    ByChange = 1,
    /// A scan, or another absence of the station's own.
    OfItself = 2,
    /// The station looks for an access point on other channels.
    Searching = 4,
}

/// Whether a station is in reach of others.
#[derive(Clone, Copy, Debug)]
struct Reachable {
    /// What takes the station out of reach, one bit each ([`Away`]).
    hindrances: u8,
    /// Since when it is in reach, if it is.
    since: Time,
}

/// All stations of a wireless LAN (see the [module](self)).
#[derive(Debug)]
pub(super) struct Listeners {
    pub(super) radio: Radio,
    /// The MAC of a station that is not on its own must not be touched before [`Self::split`].
    pub(super) macs: Vec<Mac>,
    listeners: Tables,
    /// For each station, whether packets are sent from or to the station.
    takes_part: Vec<bool>,
    hearing: Hearing,
    classes: HearingClasses,
    errors: BitErrors,
    /// Whether each end of a frame is to be examined: noise or energy may destroy frames.
    examines: bool,
    energy: EnergyOnAir,
    /// The frames on their way, if they take time to their listeners.
    flights: Option<Box<Flights>>,
    /// The links whose signals change, if there are any.
    varying: Option<Box<Varying>>,
    on_air_frames: FramesOnAir,
    /// The grants of the stations, then of the groups.
    grants: Grants,
    /// Stations in which the frame that ended last has changed more than their view of the medium.
    touched: Vec<StationId>,
    /// Scratch list: stations that leave a group together.
    called: Vec<u32>,
    rx_ends: RxEnds,
    /// Whether stations that hear and count alike are simulated as one.
    together: bool,
    /// Whether each station is out of reach of all others; empty if no station ever was.
    away: Vec<Reachable>,
    /// Since when each station is awake; [`Time::MAX`]: it sleeps. Empty if no station ever sleeps.
    awake_from: Vec<Time>,
}

impl Listeners {
    /// Stations that hear nothing. Their random streams are `wifi/backoff/STATION` and `wifi/errors/STATION`.
    pub(super) fn new(spec: &WlanSpec, seed: Seed) -> Result<Listeners, WlanError> {
        let radio = spec.radio.clone();
        let mut macs = Vec::with_capacity(spec.stations.len());
        for (id, station) in (0..).map(StationId).zip(&spec.stations) {
            let mac = Mac::new(id, station.mac.clone(), &radio, seed);
            let wrong = |error| WlanError::Mac { station: station.name.clone(), error };
            macs.push(mac.map_err(wrong)?);
        }
        // Before it is found out who counts down alike.
        spec.add_management(&mut macs);
        spec.add_handshakes(&mut macs);
        let stations = macs.len();
        let receptions = match spec.capture {
            Some(capture) => spec.reach.receptions(capture)?,
            // One by one: a clone would have no room for its first frames.
            None => (0..stations)
                .map(|_| Reception::new(radio.rules.capture))
                .collect::<Result<Vec<_>, _>>()?,
        };
        let errors = spec.reach.frame_errors(spec.errors)?;
        let energy = EnergyOnAir::new(spec, &radio);
        let varying = (!spec.signals.links.is_empty()).then(|| Box::new(Varying::new(spec, seed)));
        let alone = Alone::of_links(&spec.reach, &receptions);
        // Energy, signals and delays differ from station to station.
        let apart = spec.signals.is_used() || spec.reach.is_delayed();
        let classes = match apart {
            true => HearingClasses::none(stations),
            false => HearingClasses::new(spec, &alone, &macs),
        };
        let groups = classes.groups.len();
        let takes_part = spec.takes_part();
        let mut listeners =
            Tables::new(ListenerTable::new(spec.reach.clone(), &alone, &classes, &takes_part));
        // With delays a frame may outlast the transmission at its listener.
        let delayed = spec.reach.is_delayed();
        let flights = delayed.then(|| {
            // A flight has one order of all its listeners.
            listeners.let_all_listen();
            Box::default()
        });
        Ok(Listeners {
            examines: errors != FrameErrors::None || energy.is_used(),
            energy,
            varying,
            errors: BitErrors::new(errors, spec.noise_w, &radio.phy, stations, seed),
            listeners,
            flights,
            takes_part,
            hearing: Hearing::new(receptions, groups, radio.rules.deaf_errors || delayed),
            together: groups > 0,
            classes,
            on_air_frames: FramesOnAir::default(),
            grants: Grants::new(stations + groups),
            touched: Vec::with_capacity(stations),
            called: Vec::with_capacity(stations + groups),
            rx_ends: Vec::with_capacity(stations),
            away: Vec::new(),
            awake_from: Vec::new(),
            macs,
            radio,
        })
    }

    /// From now on all stations listen, including those without flows. Stations without flows have not tracked which
    /// other frames overlap a frame now on the air.
    pub(super) fn let_all_listen(&mut self) {
        self.hearing.track_all();
        for group in self.classes.tell_powers_apart() {
            self.hearing.track_at_each(group, self.classes.groups[group].members());
        }
        let watched = |of: &Self, place| {
            let frame = of.on_air_frames.at(place);
            of.listeners.for_frame(frame.version).watchers(frame.from)
        };
        let on_air = self.on_air_frames.all().into_iter();
        let watched_frames: Vec<_> = on_air.map(|place| (place, watched(self, place))).collect();
        if self.listeners.let_all_listen() {
            let Ears { hearing, on, .. } = self.ears();
            for (place, watchers) in watched_frames {
                let &FrameOnAir { version, air, .. } = on.on_air_frames.at(place);
                for &listener in on.listeners.for_frame(version).all(watchers) {
                    hearing.begin(listener, place, air.begins, &on);
                }
            }
        }
    }

    /// Updates the counters of a station on its own with everything that happened at `now`.
    #[inline(always)]
    pub(super) fn settle(&mut self, station: StationId, now: Time) {
        if self.macs[station.index()].is_settled() {
            self.grants.set(station.index(), Time::MAX);
        } else {
            self.settle_counters(station, now);
        }
    }

    #[inline(always)]
    fn settle_counters(&mut self, station: StationId, now: Time) {
        let mac = &mut self.macs[station.index()];
        mac.settle(now, &self.radio);
        self.grants.set(station.index(), mac.next_grant());
    }

    /// When the next backoff ends.
    #[inline]
    pub(super) fn next_grant(&mut self) -> Time {
        self.grants.first()
    }

    /// Adds the stations whose backoff ends by `now`, by rising number. Each of them is on its own from now on.
    #[inline]
    pub(super) fn due(&mut self, now: Time, actors: &mut Vec<u32>) {
        self.grants.due(now, actors);
        self.call_out(actors, now);
    }

    /// Whether the receiver of a station on its own is busy with a frame that the receiver may still decode.
    #[inline]
    pub(super) fn is_receiving(&mut self, station: StationId, now: Time) -> bool {
        let Ears { hearing, on, .. } = self.ears();
        hearing.receiving(station, now, &on)
    }

    /// The next station, by falling number, in which the frame that ended last has changed more than the view of the
    /// medium. The station is on its own.
    #[inline]
    pub(super) fn poll_touched(&mut self) -> Option<StationId> {
        self.touched.pop()
    }

    /// All consequences of the end of a station's frame have been handled: stations with agreeing state join again.
    #[inline]
    pub(super) fn regroup(&mut self, sender: StationId, now: Time) {
        if !self.together {
            return;
        }
        for at in self.listeners.now().of(sender).1 {
            self.gather(self.listeners.now().at(at).class(), now);
        }
    }

    /// The frame that a station on its own has composed begins. Returns the frame's number. [`Self::begin`] is due, when all
    /// frames of this instant have one: no station notices another's frame before its own.
    #[inline]
    pub(super) fn transmit(&mut self, from: StationId, air: Air) -> u32 {
        let place = self.on_air_frames.begin(from, air, self.listeners.version());
        let Ears { hearing, on, .. } = self.ears();
        hearing.track_lone(from, &on);
        hearing.transmit(from, air);
        place
    }

    /// The frame begins at its listeners. Returns its end.
    #[inline]
    pub(super) fn begin(&mut self, place: u32, now: Time) -> Time {
        let &FrameOnAir { from, air, .. } = self.on_air_frames.at(place);
        if let Some(varying) = &mut self.varying {
            varying.begin(
                place,
                from,
                self.listeners.now().reach(),
                self.hearing.receptions(),
                now,
            );
        }
        self.macs[from.index()].on_transmit(now);
        self.settle(from, now);
        if self.flights.is_some() {
            self.set_off(place);
            return air.ends;
        }
        self.begin_at_apart(from, place, now);
        let watchers = self.listeners.now().watchers(from);
        if !watchers.is_empty() {
            self.watch_begin(watchers, place, now);
        }
        if !self.together {
            return air.ends;
        }
        for at in self.listeners.now().of(from).1 {
            let listener = self.listeners.now().at(at);
            for group in (0..self.classes.all[listener.class()].groups().len()).rev() {
                let group = self.classes.all[listener.class()].groups()[group] as usize;
                self.begin_at_group(group, listener.class(), listener.alone, place, now);
            }
        }
        air.ends
    }

    /// A frame begins at listeners that only keep the time in which they sense frames.
    #[inline(never)]
    fn watch_begin(&mut self, watchers: Range<usize>, place: u32, now: Time) {
        for at in watchers {
            let listener = self.listeners.now().at(at);
            if self.alone(listener, place).is_sensed() {
                self.macs[listener.station().index()].watch_begin(now);
            }
        }
    }

    /// A station has another position from now on. Frames on the air are heard as they began. Stations are simulated one
    /// by one from now on, since those that heard alike may not.
    ///
    /// # Panics
    ///
    /// If the stations have no positions, or the new position is not valid.
    pub(super) fn move_station(&mut self, station: StationId, x_m: f64, y_m: f64) {
        let reach = self.listeners.now().reach().moved(station, x_m, y_m);
        let reach = reach.expect("stations have positions").expect("the position is valid");
        self.energy.move_to(&reach);
        self.simulate_one_by_one(reach);
    }

    /// Gives an access category of a station another AIFSN ([`Mac::set_aifsn`]). Stations that heard and counted alike
    /// no longer do.
    pub(super) fn set_aifsn(&mut self, station: StationId, ac: AccessCategory, aifsn: u32) {
        let is_new = self.macs[station.index()].set_aifsn(ac, aifsn, &self.radio.phy);
        if is_new && self.together {
            self.simulate_one_by_one(self.listeners.now().reach().clone());
        }
    }

    /// From now on each station is on its own, with this reach.
    fn simulate_one_by_one(&mut self, reach: Reach) {
        self.together = false;
        for station in (0..self.macs.len() as u32).map(StationId) {
            self.split(station);
        }
        let alone = Alone::of_links(&reach, self.hearing.receptions());
        let classes = HearingClasses::none(self.macs.len());
        let table = ListenerTable::new(reach, &alone, &classes, &self.takes_part);
        let on_air: Vec<_> = self.on_air_frames.all();
        let on_air_frames = &self.on_air_frames;
        let used = |version| on_air.iter().any(|&at| on_air_frames.at(at).version == version);
        self.listeners.replace(table, used);
    }

    /// A station goes out of reach of all others, or comes back, now.
    pub(super) fn set_away(&mut self, station: StationId, of: Away, away: bool, now: Time) {
        self.away.resize(self.macs.len(), Reachable { hindrances: 0, since: Time::ZERO });
        let reachable = &mut self.away[station.index()];
        let before = reachable.hindrances;
        reachable.hindrances = if away { before | of as u8 } else { before & !(of as u8) };
        if before != 0 && reachable.hindrances == 0 {
            reachable.since = now;
        }
    }

    /// Whether a station is out of reach of all others.
    #[inline]
    pub(super) fn is_away(&self, station: StationId) -> bool {
        !self.away.is_empty() && self.away[station.index()].hindrances != 0
    }

    /// Whether a station has been in reach since `begins`, the beginning of a frame.
    #[inline]
    pub(super) fn is_here_since(&self, station: StationId, begins: Time) -> bool {
        self.away.is_empty() || {
            let reachable = &self.away[station.index()];
            reachable.hindrances == 0 && reachable.since <= begins
        }
    }

    /// From now on stations may sleep at times. All are awake at `now`.
    pub(super) fn let_sleep(&mut self, now: Time) {
        self.awake_from.resize(self.macs.len(), now);
    }

    /// A station that may sleep wakes up or falls asleep.
    pub(super) fn set_awake(&mut self, station: StationId, awake: bool, now: Time) {
        self.awake_from[station.index()] = if awake { now } else { Time::MAX };
    }

    /// Whether a station can decode a frame that began at `begins`: the station has been awake and in reach since.
    #[inline]
    pub(super) fn is_listening(&self, station: StationId, begins: Time) -> bool {
        self.is_here_since(station, begins)
            && (self.awake_from.is_empty() || self.awake_from[station.index()] <= begins)
    }

    /// Whether a frame on the air is addressed to all stations.
    #[inline]
    pub(super) fn is_to_all(&self, place: u32) -> bool {
        let from = self.on_air_frames.at(place).from;
        self.macs[from.index()].frame().to == from
    }

    /// How long, up to `now`, a station has sensed frames or transmitted.
    pub(super) fn busy_ever(&self, station: StationId, now: Time) -> Span {
        let mac = &self.macs[station.index()];
        match self.classes.group_of(station) {
            Some(group) => self.classes.groups[group].busy_time(mac, now),
            None => mac.busy_time(now),
        }
    }
}
