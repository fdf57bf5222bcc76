//! The energy of interferers at the receivers.

use super::Listeners;
use super::bit_errors::BitErrors;
use super::parts::Parts;
use super::rx_end::Ending;
use crate::wlan::signals::{Energy, Received};
use crate::wlan::spec::WlanSpec;
use airqueue_core::{Span, Time};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::Radio;
use airqueue_wifi::medium::{
    Air, Capture, End, FrameErrors, Overlap, Reach, Signal, StationId, from_db,
};

/// The longest PPDU of OFDM (IEEE 802.11-2016, table 17-21: aPPDUMaxTime).
const MAX_PPDU: Span = Span::from_nanos(5_484_000);

/// A burst on the air, or one that may have overlapped a frame on the air.
#[derive(Clone, Copy, Debug)]
struct Burst {
    air: Air,
    source: u32,
}

/// Power during a part of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chunk {
    /// Its share of the part.
    pub(super) share: f64,
    /// The energy during it, of all interferers together.
    pub(super) energy: Energy,
    /// The power during it of all frames that overlap the frame.
    pub(super) frames_w: f64,
}

/// The energy at all stations.
#[derive(Debug)]
pub(super) struct EnergyOnAir {
    sources: Vec<Received>,
    /// By interferer and station.
    at: Vec<Vec<Energy>>,
    bursts: Vec<Burst>,
    /// No frame lasts longer.
    longest: Span,
    /// The ratio of signal to interference and noise below which a receiver loses a frame, and the noise, with
    /// [`Capture::Sinr`].
    least: Option<(f64, f64)>,
}

/// A part of a frame.
pub(super) struct Part {
    pub(super) air: Air,
    pub(super) bytes: u32,
    pub(super) rate: RateIndex,
}

impl EnergyOnAir {
    /// Silence.
    pub(super) fn new(spec: &WlanSpec, radio: &Radio) -> EnergyOnAir {
        let interferers = spec.signals.interferers.iter();
        let sources: Vec<_> = interferers.map(|of| of.received.clone()).collect();
        let phy = &radio.phy;
        let alone = phy.rates().map(|(rate, _)| phy.airtime(rate, phy.max_mpdu_bytes(rate)));
        let longest = alone.max().unwrap_or(MAX_PPDU).max(MAX_PPDU);
        let least = match spec.capture {
            Some(Capture::Sinr { threshold_db, noise_w, .. }) => {
                Some((from_db(threshold_db), noise_w))
            }
            _ => None,
        };
        let room = if sources.is_empty() { 0 } else { 64 };
        let bursts = Vec::with_capacity(room);
        let mut energy = EnergyOnAir { sources, at: Vec::new(), bursts, longest, least };
        energy.move_to(&spec.reach);
        energy
    }

    /// Stations have other places.
    pub(super) fn move_to(&mut self, reach: &Reach) {
        let stations = (0..reach.stations() as u32).map(StationId);
        let from = |source: &Received| match source {
            Received::Told(energies) => energies.clone(),
            Received::From { place, busy_w } => {
                let power = |id| reach.power_from(place, id).unwrap_or(0.0);
                let energy =
                    |power_w| Energy { power_w, sensed: power_w >= *busy_w, destroys: false };
                stations.clone().map(|id| energy(power(id))).collect()
            }
        };
        self.at = self.sources.iter().map(from).collect();
    }

    /// Whether there are interferers.
    #[inline(always)]
    pub(super) fn is_used(&self) -> bool {
        !self.sources.is_empty()
    }

    /// A burst begins. Those that no frame on the air can have met are forgotten.
    fn begin(&mut self, source: u32, air: Air) {
        let oldest = air.begins.as_nanos() - self.longest.as_nanos();
        self.bursts.retain(|burst| burst.air.ends.as_nanos() >= oldest);
        self.bursts.push(Burst { air, source });
    }

    /// The bursts that arrive at a station during a part of a frame.
    fn during(&self, station: StationId, part: Air) -> impl Iterator<Item = (Burst, Energy)> {
        let overlaps = move |air: &Air| air.begins < part.ends && part.begins < air.ends;
        self.bursts.iter().filter(move |burst| overlaps(&burst.air)).filter_map(move |&burst| {
            let energy = self.at[burst.source as usize][station.index()];
            energy.is_any().then_some((burst, energy))
        })
    }

    /// Whether any burst arrives at a station during a part of a frame.
    pub(super) fn meets(&self, station: StationId, part: Air) -> bool {
        self.during(station, part).next().is_some()
    }

    /// Whether energy destroys any of a part of a frame, which other frames overlap, too, regardless of its length.
    fn destroys(&self, station: StationId, air: Air, frames: &[Overlap], signal: Signal) -> bool {
        let too_weak = |other_w: f64| {
            self.least.is_some_and(|(ratio, noise_w)| signal.power_w < ratio * (noise_w + other_w))
        };
        let harms = |of: &Chunk| {
            let power_w = of.energy.power_w;
            of.energy.destroys || power_w > 0.0 && too_weak(of.frames_w + power_w)
        };
        self.meets(station, air) && self.chunks(station, air, frames).any(|chunk| harms(&chunk))
    }

    /// The probability that noise, energy and other frames destroy a part of a frame: each chunk has the bit errors of its
    /// own signal-to-interference-and-noise ratio.
    pub(super) fn loss(
        &self,
        errors: &mut BitErrors,
        station: StationId,
        part: &Part,
        frames: &[Overlap],
        signal: Signal,
    ) -> f64 {
        if self.destroys(station, part.air, frames, signal) {
            return 1.0;
        }
        if !errors.are_by_snr() {
            return errors.loss(part.rate, part.bytes, signal);
        }
        let mut hazard = 0.0;
        for Chunk { share, energy, frames_w } in self.chunks(station, part.air, frames) {
            let others_w = frames_w + energy.power_w;
            hazard += share * errors.hazard(part.rate, others_w, signal.power_w);
        }
        FrameErrors::loss_of(hazard, part.bytes)
    }

    /// The chunks of a part of a frame within which neither the energy at a station nor the frames there change.
    pub(super) fn chunks(
        &self,
        station: StationId,
        part: Air,
        frames: &[Overlap],
    ) -> impl Iterator<Item = Chunk> {
        let lasts = (part.ends - part.begins).as_nanos() as f64;
        let mut begins = part.begins;
        std::iter::from_fn(move || {
            if begins >= part.ends {
                return None;
            }
            let (mut ends, mut energy, mut frames_w) = (part.ends, Energy::NONE, 0.0);
            // Whether something is on the air where the chunk begins, which ends where that changes.
            let mut is_on = |air: &Air| {
                let edge = if air.begins > begins { air.begins } else { air.ends };
                if edge > begins {
                    ends = ends.min(edge);
                }
                air.begins <= begins && begins < air.ends
            };
            for (Burst { air, .. }, of) in self.during(station, part) {
                if is_on(&air) {
                    energy.power_w += of.power_w;
                    energy.destroys |= of.destroys;
                }
            }
            for Overlap { air, power_w } in frames {
                if is_on(air) {
                    frames_w += power_w;
                }
            }
            let share = (ends - begins).as_nanos() as f64 / lasts;
            begins = ends;
            Some(Chunk { share, energy, frames_w })
        })
    }
}

impl Listeners {
    /// A burst of an interferer begins.
    pub(in crate::wlan) fn begin_burst(&mut self, source: usize, now: Time, ends: Time) {
        self.energy.begin(source as u32, Air { begins: now, ends });
        for station in 0..self.macs.len() {
            if self.energy.at[source][station].sensed {
                let mac = &mut self.macs[station];
                if mac.on_energy_begin(now, &self.radio) {
                    self.grants.set(station, mac.next_grant());
                }
            }
        }
    }

    /// Such a burst ends.
    pub(in crate::wlan) fn end_burst(&mut self, source: usize, now: Time) {
        for station in 0..self.macs.len() {
            if self.energy.at[source][station].sensed && self.macs[station].on_sensed_end(now) {
                self.settle(StationId(station as u32), now);
            }
        }
    }

    /// Visits each interferer once of which a burst overlapped a frame at a station.
    pub(in crate::wlan) fn each_hit(
        &self,
        station: StationId,
        begins: Time,
        ends: Time,
        mut visit: impl FnMut(usize),
    ) {
        for source in 0..self.energy.sources.len() {
            let mut met = self.energy.during(station, Air { begins, ends });
            if met.any(|(burst, _)| burst.source as usize == source) {
                visit(source);
            }
        }
    }

    /// Whether energy destroys the beginning of a frame, without which a station decodes nothing of it.
    pub(super) fn is_preamble_lost(&self, station: StationId, ending: &Ending) -> bool {
        if !self.energy.is_used() {
            return false;
        }
        let frame = self.frame_of(ending);
        let parts = Parts::of(frame, ending.begins, ending.now, &self.radio.phy);
        self.energy.destroys(station, parts.preamble(), &[], self.signal(ending, station))
    }

    /// Whether noise, energy or frames that overlap it destroy a frame of one MPDU at a station, where any of these may be.
    #[inline(never)]
    pub(super) fn is_lost_beside_others(
        &mut self,
        (station, tracker): (StationId, StationId),
        end: &End,
        ending: &Ending,
    ) -> bool {
        let signal = self.signal(ending, station);
        let frame = *self.frame_of(ending);
        let Listeners { errors, energy, hearing, radio, .. } = self;
        let parts = Parts::of(&frame, ending.begins, ending.now, &radio.phy);
        let frames = hearing.overlaps(tracker, end);
        let part = Part { air: parts.bytes(0, frame.bytes), bytes: frame.bytes, rate: frame.rate };
        let loss = match energy.destroys(station, parts.preamble(), frames, signal) {
            true => 1.0,
            false => energy.loss(errors, station, &part, frames, signal),
        };
        if errors.happen() { errors.strikes(station, loss) } else { loss >= 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: i64) -> Time {
        Time::ZERO + Span::from_micros(micros)
    }

    fn air(begins: i64, ends: i64) -> Air {
        Air { begins: us(begins), ends: us(ends) }
    }

    /// At one station; by interferer.
    fn at_a_station(energies: &[Energy]) -> EnergyOnAir {
        EnergyOnAir {
            sources: energies.iter().map(|&of| Received::Told(vec![of])).collect(),
            at: energies.iter().map(|&of| vec![of]).collect(),
            bursts: Vec::new(),
            longest: MAX_PPDU,
            least: None,
        }
    }

    #[test]
    fn a_frame_is_cut_where_energy_changes() {
        let weak = Energy { power_w: 1.0, ..Energy::NONE };
        let mut energy =
            at_a_station(&[weak, Energy { power_w: 2.0, destroys: true, ..Energy::NONE }]);
        energy.begin(0, air(0, 300));
        energy.begin(1, air(200, 500));
        let chunks = |begins, ends| {
            let chunks = energy.chunks(StationId(0), air(begins, ends), &[]);
            chunks.map(|of| (of.share, of.energy.power_w, of.energy.destroys)).collect::<Vec<_>>()
        };
        let expected = [(0.1, 1.0, false), (0.1, 3.0, true), (0.2, 2.0, true), (0.6, 0.0, false)];
        assert_eq!(chunks(100, 1100), expected);
        assert_eq!(chunks(500, 600), [(1.0, 0.0, false)]);
        assert_eq!(chunks(210, 290), [(1.0, 3.0, true)]);
        assert!(energy.meets(StationId(0), air(499, 600)));
        assert!(!energy.meets(StationId(0), air(500, 600)));
    }

    #[test]
    fn a_frame_is_cut_where_other_frames_begin_and_end() {
        let weak = Energy { power_w: 1.0, ..Energy::NONE };
        let mut energy = at_a_station(&[weak]);
        energy.begin(0, air(0, 300));
        let frames = [
            Overlap { air: air(50, 200), power_w: 4.0 },
            Overlap { air: air(200, 500), power_w: 8.0 },
            Overlap { air: air(400, 2000), power_w: 16.0 },
        ];
        let chunks = energy.chunks(StationId(0), air(100, 1100), &frames);
        let chunks: Vec<_> = chunks.map(|of| (of.share, of.energy.power_w, of.frames_w)).collect();
        let expected =
            [(0.1, 1.0, 4.0), (0.1, 1.0, 8.0), (0.1, 0.0, 8.0), (0.1, 0.0, 24.0), (0.6, 0.0, 16.0)];
        assert_eq!(chunks, expected);
    }

    #[test]
    fn old_bursts_are_forgotten() {
        let mut energy = at_a_station(&[Energy { power_w: 1.0, ..Energy::NONE }]);
        for at in 0..1000 {
            energy.begin(0, air(at * 1000, at * 1000 + 10));
        }
        assert_eq!(energy.bursts.len(), 6, "those of the last 5.484 ms");
    }
}
