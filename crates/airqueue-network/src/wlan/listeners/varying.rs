//! Signals that change: how each listener hears a frame is decided when the frame begins.

use super::Listeners;
use super::rx_end::Ending;
use super::tables::Alone;
use crate::wlan::signals::{LinkCounters, LinkSignal, SignalLaw};
use crate::wlan::spec::WlanSpec;
use airqueue_core::{Seed, Time};
use airqueue_wifi::medium::{FadingLink, Level, Reach, Reception, Signal, StationId, Thresholds};

/// No law.
const NONE: u32 = u32::MAX;

/// How a listener hears a frame on the air, and its outcome if it meets no other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) signal: Signal,
    pub(super) alone: Alone,
}

/// The links whose signals change, and how the frames on the air are heard.
#[derive(Debug)]
pub(super) struct Varying {
    stations: usize,
    laws: Vec<SignalLaw>,
    /// The law of each pair of stations, and its state.
    law_of: Vec<u32>,
    links: Vec<FadingLink>,
    thresholds: Option<Thresholds>,
    noise_w: f64,
    /// By the place of the frame, then by listener.
    heard: Vec<Vec<Heard>>,
    /// The directions of these links that packets take, in order, and their counters.
    counted: Vec<((StationId, StationId), LinkCounters)>,
}

/// The place of a pair of stations in a triangle, in either order.
fn pair(one: StationId, other: StationId) -> usize {
    let (low, high) = (one.index().min(other.index()), one.index().max(other.index()));
    high * (high - 1) / 2 + low
}

impl Varying {
    /// The random numbers of fading are those of the stream `fading`.
    pub(super) fn new(spec: &WlanSpec, seed: Seed) -> Varying {
        let (signals, stations) = (&spec.signals, spec.stations.len());
        let pairs = stations * (stations - 1) / 2;
        let mut law_of = vec![NONE; pairs];
        for &LinkSignal { one, other, law } in &signals.links {
            law_of[pair(one, other)] = law;
        }
        let to_one = spec.hops.iter().filter(|hop| !hop.to_all).map(|hop| (hop.from, hop.to));
        let changes = |&(from, to): &(StationId, StationId)| law_of[pair(from, to)] != NONE;
        let mut counted: Vec<_> =
            to_one.filter(changes).map(|link| (link, LinkCounters::default())).collect();
        counted.sort_unstable_by_key(|of| of.0);
        counted.dedup_by_key(|of| of.0);
        let base = seed.stream("fading").next_u64();
        Varying {
            stations,
            laws: signals.laws.clone(),
            law_of,
            links: (0..pairs as u64).map(|at| FadingLink::new(base.wrapping_add(at))).collect(),
            thresholds: signals.thresholds,
            noise_w: spec.noise_w,
            heard: Vec::new(),
            counted,
        }
    }

    /// A frame begins: notes how it is heard.
    pub(super) fn begin(
        &mut self,
        place: u32,
        from: StationId,
        reach: &Reach,
        receptions: &[Reception],
        now: Time,
    ) {
        while self.heard.len() <= place as usize {
            let nothing = Signal { power_w: 0.0, level: Level::Interference };
            let unheard = Heard { signal: nothing, alone: Alone::UNHEARD };
            self.heard.push(vec![unheard; self.stations]);
        }
        for hearer in reach.listeners_of(from) {
            let signal = self.signal(from, hearer.station, hearer.signal(), now);
            let alone = Alone::new(signal, &receptions[hearer.station.index()]);
            self.heard[place as usize][hearer.station.index()] = Heard { signal, alone };
        }
    }

    /// How a listener hears a frame that begins now; `mean`: what the reach says.
    fn signal(&mut self, from: StationId, to: StationId, mean: Signal, now: Time) -> Signal {
        let pair = pair(from, to);
        let law = self.law_of[pair];
        if law == NONE {
            return mean;
        }
        let SignalLaw { fading, snr } = &self.laws[law as usize];
        let mean_w = snr.as_ref().map_or(mean.power_w, |snr| snr.at(now) * self.noise_w);
        let power_w = mean_w * self.links[pair].gain(fading, now);
        let level = match &self.thresholds {
            // What is too weak to count harms nothing either, but keeps its place among the frames here.
            Some(thresholds) => thresholds.level(power_w).unwrap_or(Level::Interference),
            None => mean.level,
        };
        Signal { power_w, level }
    }

    /// How a station hears a frame on the air.
    #[inline]
    pub(super) fn heard(&self, place: u32, station: StationId) -> Heard {
        self.heard[place as usize][station.index()]
    }
}

impl Listeners {
    /// Counts a data frame that has ended at its receiver, if the signal of its link changes.
    pub(in crate::wlan) fn count_link(&mut self, ending: &Ending) {
        let Some(varying) = &mut self.varying else { return };
        let link = (ending.from, ending.to);
        let Ok(at) = varying.counted.binary_search_by_key(&link, |of| of.0) else { return };
        let snr = varying.heard(ending.place, ending.to).signal.power_w / varying.noise_w;
        varying.counted[at].1.on_frame(10.0 * libm::log10(snr), ending.is_received());
    }

    /// The counters of links begin anew.
    pub(in crate::wlan) fn start_counting_links(&mut self) {
        for (_, counters) in self.varying.iter_mut().flat_map(|of| &mut of.counted) {
            *counters = LinkCounters::default();
        }
    }

    /// The counters of each direction of a link whose signal changes and that packets take.
    pub(in crate::wlan) fn links_counted(
        &self,
    ) -> impl Iterator<Item = ((StationId, StationId), LinkCounters)> {
        self.varying.iter().flat_map(|of| of.counted.iter().copied())
    }
}
