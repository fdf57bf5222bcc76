//! The description of signals that change, and of interferers.

use crate::wlan::spec::{WlanError, WlanSpec};
use airqueue_core::{Span, Time};
use airqueue_transport::traffic::Law;
use airqueue_wifi::medium::{Fading, Place, StationId, Steps, Thresholds};

/// How the signal of a link changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SignalLaw {
    /// Fading, in both directions alike.
    pub fading: Fading,
    /// The mean signal-to-noise ratio over time, as a ratio of the received power to [`WlanSpec::noise_w`]; `None`: what
    /// the reach says.
    pub snr: Option<Steps>,
}

/// A link whose signal changes, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSignal {
    /// One station.
    pub one: StationId,
    /// The other station.
    pub other: StationId,
    /// The place in [`SignalsSpec::laws`].
    pub law: u32,
}

/// What arrives at a receiver from an interferer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    /// The power in watts.
    pub power_w: f64,
    /// Whether the medium is busy for it.
    pub sensed: bool,
    /// Whether it destroys whatever it overlaps, however strong; then its power does not count.
    pub destroys: bool,
}

impl Energy {
    /// Nothing arrives.
    pub const NONE: Energy = Energy { power_w: 0.0, sensed: false, destroys: false };

    /// Whether anything arrives.
    pub fn is_any(&self) -> bool {
        self.power_w > 0.0 || self.sensed || self.destroys
    }
}

/// What arrives at the stations from an interferer.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// By the distance from its place and the path loss of the reach; the medium is busy from so many watts on.
    From {
        /// Its place and radiated power.
        place: Place,
        /// Least power for which the medium is busy.
        busy_w: f64,
    },
    /// As told for each station.
    Told(Vec<Energy>),
}

/// Spans by a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Within {
    /// The law.
    pub law: Law,
    /// The mean, above zero.
    pub mean: Span,
}

/// When an interferer radiates.
#[derive(Clone, Debug, PartialEq)]
pub enum BurstLaw {
    /// Bursts and pauses follow each other, whatever happens on the medium. It begins anywhere in its first burst or
    /// pause.
    Alternating {
        /// Length of bursts.
        on: Within,
        /// Length of pauses.
        off: Within,
    },
    /// A burst begins with each slot with a probability, as a hopping radio meets the channel at random.
    Slots {
        /// Length of a slot.
        slot: Span,
        /// Length of a burst, less than a slot.
        burst: Span,
        /// The probability, above 0.
        probability: f64,
    },
    /// Bursts arrive in a Poisson process so often that they take a share of the time, and wait for the medium: a burst
    /// begins PIFS after the last frame or burst, before all stations. A burst that arrives during another one follows
    /// at once.
    Arriving {
        /// Length of bursts.
        busy: Within,
        /// The share of the time over time, below 1.
        share: Steps,
    },
}

/// A source of energy that is no frame.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfererSpec {
    /// Its name.
    pub name: String,
    /// When it radiates.
    pub law: BurstLaw,
    /// What arrives at the stations.
    pub received: Received,
    /// From when on it radiates.
    pub start: Time,
    /// Until when.
    pub stop: Time,
}

/// Signals that change, and interferers.
#[derive(Clone, Debug, Default)]
pub struct SignalsSpec {
    /// The laws of links.
    pub laws: Vec<SignalLaw>,
    /// The links whose signals change, each once; all others are as the reach says.
    pub links: Vec<LinkSignal>,
    /// By which power a frame of such a link is decoded, sensed and counted; `None`: the levels of the reach stay.
    pub thresholds: Option<Thresholds>,
    /// The interferers.
    pub interferers: Vec<InterfererSpec>,
}

impl SignalsSpec {
    /// Most stations of a network with links whose signals change: a pair takes 40 bytes.
    pub const MOST_STATIONS: usize = 2048;

    /// Whether there is anything.
    pub fn is_used(&self) -> bool {
        !self.links.is_empty() || !self.interferers.is_empty()
    }

    /// Finds what cannot be simulated.
    pub(in crate::wlan) fn check(&self, wlan: &WlanSpec) -> Result<(), WlanError> {
        let wrong = |problem| Err(WlanError::Signals { problem });
        let stations = wlan.stations.len();
        if !self.links.is_empty() && stations > Self::MOST_STATIONS {
            return wrong("there are more than 2048 stations");
        }
        if !self.links.is_empty() && !wlan.reach.powers_known() {
            return wrong("received powers are not known");
        }
        for LinkSignal { one, other, law } in &self.links {
            let known = one < other && other.index() < stations;
            if !known || *law as usize >= self.laws.len() {
                return wrong("a link is not of two stations in order, or has no law");
            }
        }
        for of in &self.interferers {
            match &of.received {
                Received::Told(energies) if energies.len() != stations => {
                    return wrong("an interferer needs an energy for each station");
                }
                Received::From { place, .. }
                    if wlan.reach.power_from(place, StationId(0)).is_none() =>
                {
                    return wrong(
                        "an interferer has a place, but powers do not follow from places",
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}
