//! Laws of disciplines that drop at random, packet by packet: what their fits evaluate thousands of times.

use crate::error;
use numpy::ndarray::ArrayView1;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// A product of probabilities below this is turned into a logarithm: one more factor must not make the product zero.
const SMALL: f64 = 1e-150;
/// A least probability whose product with `SMALL` is a normal number.
const LEAST: f64 = 1e-150;
/// Sum of RED's probabilities since the last drop, beyond which the next packet is dropped for certain.
const MOST_ADDED: f64 = 0.999;

/// The hazard accumulated since the last drop, each packet's own included.
#[pyfunction]
pub(crate) fn since_last_drop<'py>(
    py: Python<'py>,
    hazard: PyReadonlyArray1<'py, f64>,
    lost: PyReadonlyArray1<'py, bool>,
) -> PyResult<Floats<'py>> {
    let (hazard, lost) = (hazard.as_array(), lost.as_array());
    same_length([hazard.len(), lost.len()])?;
    let mut sum = Sum::default();
    let added: Vec<f64> =
        hazard.iter().zip(lost).map(|(&own, &lost)| sum.with(own, lost)).collect();
    Ok(added.into_pyarray(py))
}

/// The log-likelihood of the losses of the known packets, each with its hazard.
#[pyfunction]
pub(crate) fn log_likelihood(
    hazard: PyReadonlyArray1<'_, f64>,
    lost: PyReadonlyArray1<'_, bool>,
    known: PyReadonlyArray1<'_, bool>,
    losses: Losses,
) -> PyResult<f64> {
    let (hazard, lost, known) = (hazard.as_array(), lost.as_array(), known.as_array());
    same_length([hazard.len(), lost.len(), known.len()])?;
    let mut likelihood = Likelihood::new(losses, lost, known)?;
    for ((&hazard, &lost), &known) in hazard.iter().zip(lost).zip(known) {
        likelihood.with(hazard, lost, known);
    }
    Ok(likelihood.logarithm())
}

/// As `log_likelihood`, with the hazards of `red_hazards`.
#[pyfunction]
pub(crate) fn red_log_likelihood(
    waiting: PyReadonlyArray1<'_, f64>,
    lost: PyReadonlyArray1<'_, bool>,
    known: PyReadonlyArray1<'_, bool>,
    law: RedLaw,
    losses: Losses,
) -> PyResult<f64> {
    let (waiting, lost, known) = (waiting.as_array(), lost.as_array(), known.as_array());
    same_length([waiting.len(), lost.len(), known.len()])?;
    let mut likelihood = Likelihood::new(losses, lost, known)?;
    let mut red = Red::new(law);
    for ((&length, &lost), &known) in waiting.iter().zip(lost).zip(known) {
        likelihood.with(red.packet(length, lost).hazard, lost, known);
    }
    Ok(likelihood.logarithm())
}

/// RED led by the lengths that were seen: for each packet the average, the probability, the hazard, and the sum of the
/// probabilities since the last drop.
#[pyfunction]
pub(crate) fn red_hazards<'py>(
    py: Python<'py>,
    waiting: PyReadonlyArray1<'py, f64>,
    lost: PyReadonlyArray1<'py, bool>,
    law: RedLaw,
) -> PyResult<(Floats<'py>, Floats<'py>, Floats<'py>, Floats<'py>)> {
    let (waiting, lost) = (waiting.as_array(), lost.as_array());
    same_length([waiting.len(), lost.len()])?;
    let mut red = Red::new(law);
    let packets: Vec<Packet> =
        waiting.iter().zip(lost).map(|(&length, &lost)| red.packet(length, lost)).collect();
    let of =
        |value: fn(&Packet) -> f64| packets.iter().map(value).collect::<Vec<_>>().into_pyarray(py);
    Ok((of(|p| p.average), of(|p| p.chance), of(|p| p.hazard), of(|p| p.added)))
}

/// What is lost beside any law.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) struct Losses(
    /// Part of the packets that is lost with the share of all.
    f64,
    /// Share that the path loses by itself.
    f64,
    /// No probability is below this, nor above the rest to one.
    f64,
);

/// RED's parameters: weight, average before the first packet, lower threshold, distance of the upper one, greatest
/// probability, and the share of the upper threshold by which an average may be wrong.
#[derive(FromPyObject, Clone, Copy)]
pub(crate) struct RedLaw(f64, f64, f64, f64, f64, f64);

/// The likelihood of losses, one packet after the other.
struct Likelihood {
    /// A hazard is multiplied by the first and added to the second.
    scale: f64,
    beside: f64,
    least: f64,
    sum: f64,
    product: f64,
}

impl Likelihood {
    fn new(
        losses: Losses,
        lost: ArrayView1<'_, bool>,
        known: ArrayView1<'_, bool>,
    ) -> PyResult<Likelihood> {
        let Losses(mixed, idle, least) = losses;
        if !(LEAST..0.5).contains(&least) {
            return Err(error(format!("the least probability must be in [{LEAST:e}, 0.5)")));
        }
        let (mut of_known, mut of_lost) = (0_u64, 0_u64);
        for (&lost, &known) in lost.iter().zip(known) {
            of_known += u64::from(known);
            of_lost += u64::from(known && lost);
        }
        let share = of_lost as f64 / of_known.max(1) as f64;
        let (scale, beside) = ((1.0 - idle) * (1.0 - mixed), idle + (1.0 - idle) * mixed * share);
        Ok(Likelihood { scale, beside, least, sum: 0.0, product: 1.0 })
    }

    /// Adds a packet; one that is not known says nothing.
    fn with(&mut self, hazard: f64, lost: bool, known: bool) {
        if !known {
            return;
        }
        let p = (self.scale * hazard + self.beside).clamp(self.least, 1.0 - self.least);
        self.product *= if lost { p } else { 1.0 - p };
        if self.product < SMALL {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    fn logarithm(&self) -> f64 {
        self.sum + self.product.ln()
    }
}

/// RED of Floyd and Jacobson (1993, section 7). Divisors are kept as factors: a division takes as long as all else that a packet
/// needs.
struct Red {
    weight: f64,
    low: f64,
    /// The probability for each packet of the average beyond the lower threshold, and the greatest one.
    slope: f64,
    probability: f64,
    /// A packet is dropped for certain beyond the upper threshold: factor and summand of the average.
    forcing: (f64, f64),
    average: f64,
    sum: Sum,
}

/// What RED has for a packet.
struct Packet {
    average: f64,
    chance: f64,
    hazard: f64,
    added: f64,
}

impl Red {
    fn new(law: RedLaw) -> Red {
        let RedLaw(weight, average, low, apart, probability, blurred) = law;
        let forcing = (1.0 / ((low + apart) * blurred), 0.5 - 1.0 / blurred);
        let slope = probability / apart;
        Red { weight, low, slope, probability, forcing, average, sum: Sum::default() }
    }

    #[inline]
    fn packet(&mut self, length: f64, lost: bool) -> Packet {
        self.average += self.weight * (length - self.average);
        let average = self.average;
        let chance = (self.slope * (average - self.low)).max(0.0).min(self.probability);
        let forced = (average * self.forcing.0 + self.forcing.1).clamp(0.0, 1.0);
        let added = self.sum.with(chance, lost);
        let even = (chance / (1.0 - (added - chance).min(MOST_ADDED))).min(1.0);
        Packet { average, chance, hazard: even.max(forced), added }
    }
}

/// What has been added up since the last drop.
#[derive(Default)]
struct Sum(f64);

impl Sum {
    /// The sum with one packet's own; the packet's drop ends the sum.
    fn with(&mut self, own: f64, lost: bool) -> f64 {
        let added = self.0 + own;
        self.0 = if lost { 0.0 } else { added };
        added
    }
}

fn same_length<const N: usize>(lengths: [usize; N]) -> PyResult<()> {
    if lengths.iter().all(|&length| length == lengths[0]) {
        return Ok(());
    }
    Err(error(format!("arrays of different lengths: {lengths:?}")))
}
