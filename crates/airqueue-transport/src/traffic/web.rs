//! Files requested by a user, one after the other, with pauses between them.

use super::law::Law;
use super::registry::{Asked, Carried, Kind, Load};
use super::tcp::NO_RATE;
use airqueue_core::keys::{self, wrong};
use airqueue_core::quantity::{Bytes, Duration, Quantity};
use airqueue_core::{RandomStream, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// β of the files of the HTTP paper.
const PARETO_SHAPE: f64 = 1.5;
/// Smallest shape: for shapes up to 1 there is no mean.
const LEAST_SHAPE: f64 = 1.001;
const MOST_SHAPE: f64 = 50.0;
/// Default standard deviation of the logarithm of a lognormal law.
pub(super) const SIGMA: f64 = 1.0;
/// The mean of a lognormal law with this deviation is 268 337 times its median.
pub(super) const MOST_SIGMA: f64 = 5.0;
/// Default mean size of the files.
const FILE_BYTES: u64 = 30_000;
/// Default mean of the pauses.
pub(super) const THINK: Span = Span::from_secs(10);

/// A user of the web: files, each over a connection of its own, with pauses between them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebTable {
    /// Mean size of a file. The default is `30 kB`.
    pub file_size: Option<Quantity<Bytes>>,
    /// Distribution of file sizes. The default is exponential.
    pub distribution: Option<SizeDistributionName>,
    /// The shape of the Pareto distribution: the smaller, the heavier the tail. The default is 1.5.
    #[schemars(range(min = 1.001, max = 50))]
    pub shape: Option<f64>,
    /// Whether sizes are rounded up to whole segments. The default is false; true for TCP like ns2's.
    pub whole_segments: Option<bool>,
    /// Mean of the pauses before each file. The default is `10 s`.
    pub think_time: Option<Quantity<Duration>>,
    /// Distribution of the pauses. The default is exponential.
    pub think_distribution: Option<ThinkDistributionName>,
    /// The shape of pareto pauses: the smaller, the heavier the tail. The default is 1.5.
    #[schemars(range(min = 1.001, max = 50))]
    pub think_shape: Option<f64>,
    /// Standard deviation of the logarithm of lognormal pauses. The default is 1.
    #[schemars(range(min = 0, max = 5))]
    pub think_sigma: Option<f64>,
}

/// A distribution of pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThinkDistributionName {
    /// All pauses last as long as the mean.
    Constant,
    /// The exponential distribution.
    #[default]
    Exponential,
    /// The Pareto distribution.
    Pareto,
    /// The lognormal distribution.
    Lognormal,
}

/// A distribution of the sizes of files or objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeDistributionName {
    /// All files have the mean size.
    #[default]
    Constant,
    /// The exponential distribution.
    Exponential,
    /// The Pareto distribution.
    Pareto,
}

pub(super) struct Web;

impl Kind for Web {
    const ABOUT: &'static str = "A user of the web: files, each over a TCP connection of its own, with pauses between them.";
    const OVER_TCP: bool = true;
    const TABLE_OF: &'static str = "files";

    fn carried(asked: &Asked<'_>) -> keys::Result<Carried> {
        asked.refuse(&["rate", "packet_rate"], NO_RATE)?;
        let why = "the sizes of files are those of flows.web; leave the key out";
        asked.refuse(&["transfer_size"], why)?;
        let none = WebTable::default();
        let web = asked.tables.web.unwrap_or(&none);
        let key = &format!("{}.web", asked.key);
        let sizes = web.distribution.unwrap_or(SizeDistributionName::Exponential);
        let think = (web.think_distribution, web.think_shape, web.think_sigma);
        let files = FilesSpec {
            mean_bytes: web.file_size.as_ref().map_or(FILE_BYTES, |size| size.value),
            law: size_law(key, sizes, web.shape)?,
            unit_bytes: 1,
            think: web.think_time.as_ref().map_or(THINK, |think| think.value),
            think_law: think_law(key, think)?,
        };
        Ok(Carried::Tcp(Load::Files { files, whole_segments: web.whole_segments }))
    }
}

/// The law of pauses, from the keys `think_distribution`, `think_shape` and `think_sigma` of the table `key`.
pub(super) fn think_law(
    key: &str,
    (name, shape, sigma): (Option<ThinkDistributionName>, Option<f64>, Option<f64>),
) -> keys::Result<Law> {
    let law = match name.unwrap_or_default() {
        ThinkDistributionName::Constant => Law::Constant,
        ThinkDistributionName::Exponential => Law::Exponential,
        ThinkDistributionName::Pareto => Law::Pareto(shape.unwrap_or(PARETO_SHAPE)),
        ThinkDistributionName::Lognormal => Law::Lognormal(sigma.unwrap_or(SIGMA)),
    };
    match (shape, law) {
        (Some(shape), Law::Pareto(_)) if !(LEAST_SHAPE..=MOST_SHAPE).contains(&shape) => wrong(
            format_args!("{key}.think_shape"),
            format_args!("found {shape}, expected {LEAST_SHAPE} to {MOST_SHAPE}"),
        ),
        (Some(_), Law::Constant | Law::Exponential | Law::Lognormal(_) | Law::Uniform) => wrong(
            format_args!("{key}.think_shape"),
            "only think_distribution = \"pareto\" has a shape; leave it out",
        ),
        _ => match (sigma, law) {
            (Some(sigma), Law::Lognormal(_)) if !(0.0..=MOST_SIGMA).contains(&sigma) => wrong(
                format_args!("{key}.think_sigma"),
                format_args!("found {sigma}, expected 0 to {MOST_SIGMA}"),
            ),
            (Some(_), Law::Constant | Law::Exponential | Law::Pareto(_) | Law::Uniform) => wrong(
                format_args!("{key}.think_sigma"),
                "only think_distribution = \"lognormal\" has it; leave it out",
            ),
            _ => Ok(law),
        },
    }
}

/// The law of sizes, from the keys `distribution` and `shape` of the table `key`.
pub(super) fn size_law(
    key: &str,
    name: SizeDistributionName,
    shape: Option<f64>,
) -> keys::Result<SizeDistribution> {
    let law = match name {
        SizeDistributionName::Constant => SizeDistribution::Constant,
        SizeDistributionName::Exponential => SizeDistribution::Exponential,
        SizeDistributionName::Pareto => SizeDistribution::Pareto(shape.unwrap_or(PARETO_SHAPE)),
    };
    let problem = match (shape, law) {
        (Some(_), SizeDistribution::Constant | SizeDistribution::Exponential) => {
            "only distribution = \"pareto\" has a shape; leave it out".to_owned()
        }
        (Some(shape), _) if !(LEAST_SHAPE..=MOST_SHAPE).contains(&shape) => {
            format!("found {shape}, expected {LEAST_SHAPE} to {MOST_SHAPE}")
        }
        _ => return Ok(law),
    };
    wrong(format_args!("{key}.shape"), problem)
}

/// A distribution of file sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizeDistribution {
    /// All files have the mean size.
    Constant,
    /// The exponential distribution.
    Exponential,
    /// The Pareto distribution with this shape, above 1 since the mean is infinite otherwise; up to 2 the variance is
    /// infinite.
    Pareto(f64),
}

/// Files and pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilesSpec {
    /// Mean size in bytes, before rounding up.
    pub mean_bytes: u64,
    /// Distribution of the sizes.
    pub law: SizeDistribution,
    /// Sizes are multiples of this many bytes, rounded up.
    pub unit_bytes: u32,
    /// Mean of the pauses before each file.
    pub think: Span,
    /// Distribution of the pauses.
    pub think_law: Law,
}

/// Why files were refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[expect(missing_docs)] // the messages say it
pub enum FilesError {
    #[error("files of {0} bytes in the mean; they have 1 to 10^15")]
    Mean(u64),
    #[error("sizes that are multiples of 0 bytes")]
    Unit,
    #[error("a shape of {0}; sizes after Pareto have a mean only if it is above 1")]
    Shape(f64),
    #[error("pauses of {0} in the mean")]
    Think(Span),
}

/// A user who transfers files: the state of the source.
#[derive(Clone, Debug)]
pub struct Files {
    spec: FilesSpec,
    rng: RandomStream,
}

impl Files {
    /// No file is longer.
    pub(super) const MOST_BYTES: u64 = 1_000_000_000_000_000;

    /// A user whose draws come from `rng`.
    pub fn new(spec: FilesSpec, rng: RandomStream) -> Result<Files, FilesError> {
        if !(1..=Files::MOST_BYTES).contains(&spec.mean_bytes) {
            return Err(FilesError::Mean(spec.mean_bytes));
        }
        if spec.unit_bytes == 0 {
            return Err(FilesError::Unit);
        }
        if spec.think < Span::ZERO {
            return Err(FilesError::Think(spec.think));
        }
        match spec.law {
            SizeDistribution::Pareto(shape) if !(shape > 1.0 && shape.is_finite()) => {
                Err(FilesError::Shape(shape))
            }
            _ => Ok(Files { spec, rng }),
        }
    }

    /// Bytes of the next file, at least 1.
    pub fn next_bytes(&mut self) -> u64 {
        let mean = self.spec.mean_bytes as f64;
        let bytes = match self.spec.law {
            SizeDistribution::Constant => mean,
            SizeDistribution::Exponential => -mean * libm::log(1.0 - self.rng.unit()),
            SizeDistribution::Pareto(shape) => {
                let smallest = mean * (shape - 1.0) / shape;
                smallest * libm::pow(1.0 - self.rng.unit(), -1.0 / shape)
            }
        };
        let bytes = bytes.clamp(1.0, Files::MOST_BYTES as f64).ceil() as u64;
        bytes.next_multiple_of(u64::from(self.spec.unit_bytes))
    }

    /// The pause before the next file.
    pub fn next_pause(&mut self) -> Span {
        self.spec.think_law.span(self.spec.think, &mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::Seed;

    fn files(law: SizeDistribution, unit_bytes: u32) -> Result<Files, FilesError> {
        let (think, think_law) = (Span::from_secs(10), Law::Exponential);
        let spec = FilesSpec { mean_bytes: 30_000, law, unit_bytes, think, think_law };
        Files::new(spec, Seed(7).stream("files"))
    }

    /// Means and variances of the laws; five standard errors.
    #[test]
    fn sizes_and_pauses_have_their_means() {
        const DRAWS: usize = 100_000;
        // Pareto with shape 3: variance = mean² / (shape (shape - 2)).
        let cases = [
            (SizeDistribution::Constant, 0.0),
            (SizeDistribution::Exponential, 1.0),
            (SizeDistribution::Pareto(3.0), 1.0 / 3.0),
        ];
        for (law, variance) in cases {
            let mut files = files(law, 1).unwrap();
            let mean = (0..DRAWS).map(|_| files.next_bytes() as f64).sum::<f64>() / DRAWS as f64;
            // Rounding up adds half a byte.
            let error = (mean - 30_000.5).abs() / 30_000.0;
            assert!(error <= 5.0 * f64::sqrt(variance / DRAWS as f64) + 2e-5, "{law:?} {mean}");
            let pauses: f64 = (0..DRAWS).map(|_| files.next_pause().as_secs_f64()).sum();
            let error = (pauses / DRAWS as f64 / 10.0 - 1.0).abs();
            assert!(error < 5.0 / f64::sqrt(DRAWS as f64), "{pauses}");
        }
    }

    /// The survival function of Pareto's law at twice its smallest value.
    #[test]
    fn paretos_tail_is_a_power() {
        const DRAWS: usize = 40_000;
        let mut files = files(SizeDistribution::Pareto(1.5), 1).unwrap();
        let above = (0..DRAWS).filter(|_| files.next_bytes() > 20_000).count() as f64;
        let expected = f64::powf(0.5, 1.5);
        let error = f64::sqrt(expected * (1.0 - expected) / DRAWS as f64);
        assert!((above / DRAWS as f64 - expected).abs() < 5.0 * error);
    }

    #[test]
    fn sizes_are_multiples_of_the_unit() {
        let mut files = files(SizeDistribution::Exponential, 1000).unwrap();
        assert!((0..1000).all(|_| files.next_bytes().is_multiple_of(1000)));
    }

    #[test]
    fn impossible_files_are_refused() {
        assert!(matches!(files(SizeDistribution::Pareto(1.0), 1), Err(FilesError::Shape(_))));
        assert!(matches!(files(SizeDistribution::Pareto(f64::NAN), 1), Err(FilesError::Shape(_))));
        assert!(matches!(files(SizeDistribution::Constant, 0), Err(FilesError::Unit)));
    }
}
