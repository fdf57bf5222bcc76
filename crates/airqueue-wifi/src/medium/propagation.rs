//! The received power of a station at a distance, and what a listener can do with it.

use super::error::positive;
use super::{Level, MediumError, Signal, from_db};

const SPEED_OF_LIGHT_M_S: f64 = 299_792_458.0;

/// How far stations are heard. Propagation is symmetric; links become asymmetric where stations have different
/// transmit powers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// All stations within a range are heard, and no stations beyond. Powers are not modelled, and neither is capture:
    /// all frames count as equally strong. The transmit powers of the stations have no effect.
    Disc {
        /// Distance in metres up to which frames are decoded.
        reception_m: f64,
        /// Distance in metres up to which the medium is found busy.
        carrier_sense_m: f64,
    },
    /// Power falls with distance; thresholds decide whether a frame is decoded, sensed, or interferes.
    Loss {
        /// The path loss model.
        path_loss: PathLoss,
        /// The powers from which frames are decoded, sensed and counted as interference.
        thresholds: Thresholds,
    },
}

/// The loss between two isotropic antennas (antenna gain is part of the transmit power). The received power never
/// exceeds the transmit power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// Friis: P = P_t (λ / 4πd)².
    FreeSpace {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
    },
    /// Free space up to the distance 4πh² / λ, and P = P_t h⁴ / d⁴ beyond, where the ray reflected by the ground
    /// nearly cancels the direct ray (Rappaport, Wireless Communications, 4.6). The two formulas agree at this
    /// distance.
    TwoRayGround {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
        /// Height of all antennas above the ground, in metres.
        antenna_height_m: f64,
    },
    /// P = P_t 10^(-L₀/10) (d / d₀)^-n; below d₀ the loss is L₀.
    LogDistance {
        /// The exponent n: 2 in free space, 3 to 4 inside buildings.
        exponent: f64,
        /// The distance d₀ in metres.
        reference_m: f64,
        /// The loss L₀ in dB.
        reference_loss_db: f64,
    },
}

/// The smallest received powers, in watts, at which a frame has an effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The smallest power at which a frame can be decoded.
    pub reception_w: f64,
    /// The smallest power at which the medium is busy; at most `reception_w`.
    pub carrier_sense_w: f64,
    /// The smallest power that counts as interference under [`super::Capture::Sinr`]; at most `carrier_sense_w`.
    /// Weaker frames have no effect at all: a lower threshold means more listeners.
    pub interference_w: f64,
}

impl Thresholds {
    /// The thresholds of ns-2's `Phy/WirelessPhy` (`tcl/lib/ns-default.tcl`).
    pub const NS2: Thresholds = Thresholds {
        reception_w: 3.652e-10,
        carrier_sense_w: 1.559e-11,
        interference_w: 1.559e-11,
    };

    /// What a listener can do with a frame of this power; `None`: nothing.
    pub fn level(&self, power_w: f64) -> Option<Level> {
        if power_w >= self.reception_w {
            Some(Level::Decodable)
        } else if power_w >= self.carrier_sense_w {
            Some(Level::Sensed)
        } else {
            (power_w >= self.interference_w).then_some(Level::Interference)
        }
    }

    fn check(&self) -> Result<(), MediumError> {
        positive("the reception threshold in W", self.reception_w)?;
        positive("the carrier-sense threshold in W", self.carrier_sense_w)?;
        positive("the interference threshold in W", self.interference_w)?;
        let order = |lower, low_w, upper, high_w| {
            let wrong = MediumError::ThresholdOrder { lower, low_w, upper, high_w };
            if low_w > high_w { Err(wrong) } else { Ok(()) }
        };
        order("carrier-sense", self.carrier_sense_w, "reception", self.reception_w)?;
        order("interference", self.interference_w, "carrier-sense", self.carrier_sense_w)
    }
}

impl Propagation {
    /// Transmit power of ns-2's `Phy/WirelessPhy` in watts (24.5 dBm).
    pub const NS2_TRANSMIT_POWER_W: f64 = 0.28183815;

    /// ns-2's `Propagation/TwoRayGround` with the defaults of `Phy/WirelessPhy` and
    /// `Antenna/OmniAntenna`: 914 MHz, 1.5 m. With [`Self::NS2_TRANSMIT_POWER_W`] frames are
    /// decoded up to 250 m and sensed up to 550 m.
    pub const fn ns2() -> Propagation {
        Propagation::Loss {
            path_loss: PathLoss::TwoRayGround { frequency_hz: 914e6, antenna_height_m: 1.5 },
            thresholds: Thresholds::NS2,
        }
    }

    pub(super) fn check(&self) -> Result<(), MediumError> {
        match *self {
            Propagation::Disc { reception_m, carrier_sense_m } => {
                positive("the reception range in m", reception_m)?;
                positive("the carrier-sense range in m", carrier_sense_m)?;
                if carrier_sense_m < reception_m {
                    return Err(MediumError::SensesTooLittle { carrier_sense_m, reception_m });
                }
                Ok(())
            }
            Propagation::Loss { path_loss, thresholds } => {
                path_loss.check()?;
                thresholds.check()
            }
        }
    }

    /// How a listener `distance_m` metres away hears a station that transmits with `transmit_w` watts; `None`: not at
    /// all.
    pub fn signal(&self, transmit_w: f64, distance_m: f64) -> Option<Signal> {
        match *self {
            Propagation::Disc { reception_m, carrier_sense_m } => {
                let level = if distance_m <= reception_m {
                    Level::Decodable
                } else if distance_m <= carrier_sense_m {
                    Level::Sensed
                } else {
                    return None;
                };
                Some(Signal { power_w: Signal::NOMINAL_W, level })
            }
            Propagation::Loss { path_loss, thresholds } => {
                let power_w = path_loss.received_w(transmit_w, distance_m);
                let level = thresholds.level(power_w)?;
                Some(Signal { power_w, level })
            }
        }
    }

    /// The distance in metres beyond which a station with this transmit power is not heard, up to rounding.
    pub fn range_m(&self, transmit_w: f64) -> f64 {
        match *self {
            Propagation::Disc { carrier_sense_m, .. } => carrier_sense_m,
            Propagation::Loss { path_loss, thresholds } => {
                path_loss.range_m(transmit_w, thresholds.interference_w)
            }
        }
    }
}

impl PathLoss {
    fn check(&self) -> Result<(), MediumError> {
        match *self {
            PathLoss::FreeSpace { frequency_hz } => {
                positive("the frequency in Hz", frequency_hz)?;
            }
            PathLoss::TwoRayGround { frequency_hz, antenna_height_m } => {
                positive("the frequency in Hz", frequency_hz)?;
                positive("the antenna height in m", antenna_height_m)?;
            }
            PathLoss::LogDistance { exponent, reference_m, reference_loss_db } => {
                positive("the path loss exponent", exponent)?;
                positive("the reference distance in m", reference_m)?;
                if !(0.0..f64::INFINITY).contains(&reference_loss_db) {
                    return Err(MediumError::ReferenceLoss(reference_loss_db));
                }
            }
        }
        Ok(())
    }

    /// Received watts `distance_m` metres (at least 0) from an antenna that radiates `transmit_w`.
    pub fn received_w(&self, transmit_w: f64, distance_m: f64) -> f64 {
        let received = match *self {
            PathLoss::FreeSpace { frequency_hz } => friis(frequency_hz, transmit_w, distance_m),
            PathLoss::TwoRayGround { frequency_hz, antenna_height_m: h } => {
                if distance_m <= crossover_m(frequency_hz, h) {
                    friis(frequency_hz, transmit_w, distance_m)
                } else {
                    let ratio = h / distance_m;
                    transmit_w * (ratio * ratio) * (ratio * ratio)
                }
            }
            PathLoss::LogDistance { exponent, reference_m, reference_loss_db } => {
                let ratio = (distance_m / reference_m).max(1.0);
                transmit_w * from_db(-reference_loss_db) * libm::pow(ratio, -exponent)
            }
        };
        received.min(transmit_w)
    }

    /// The largest distance in metres at which the received power is `floor_w` watts; 0 if there is none.
    pub fn range_m(&self, transmit_w: f64, floor_w: f64) -> f64 {
        let excess = transmit_w / floor_w;
        if self.received_w(transmit_w, 0.0) < floor_w {
            return 0.0;
        }
        match *self {
            PathLoss::FreeSpace { frequency_hz } => friis_range_m(frequency_hz, excess),
            PathLoss::TwoRayGround { frequency_hz, antenna_height_m } => {
                let direct = friis_range_m(frequency_hz, excess);
                if direct <= crossover_m(frequency_hz, antenna_height_m) {
                    direct
                } else {
                    antenna_height_m * excess.sqrt().sqrt()
                }
            }
            PathLoss::LogDistance { exponent, reference_m, reference_loss_db } => {
                reference_m * libm::pow(excess * from_db(-reference_loss_db), 1.0 / exponent)
            }
        }
    }
}

fn wavelength_m(frequency_hz: f64) -> f64 {
    SPEED_OF_LIGHT_M_S / frequency_hz
}

fn friis(frequency_hz: f64, transmit_w: f64, distance_m: f64) -> f64 {
    let ratio = wavelength_m(frequency_hz) / (4.0 * std::f64::consts::PI * distance_m);
    transmit_w * (ratio * ratio)
}

fn friis_range_m(frequency_hz: f64, excess: f64) -> f64 {
    wavelength_m(frequency_hz) / (4.0 * std::f64::consts::PI) * excess.sqrt()
}

/// The distance at which the two formulas of two-ray ground meet.
fn crossover_m(frequency_hz: f64, height_m: f64) -> f64 {
    4.0 * std::f64::consts::PI * height_m * height_m / wavelength_m(frequency_hz)
}
