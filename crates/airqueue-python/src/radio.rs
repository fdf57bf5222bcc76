//! `Radio`: a physical layer of `airqueue_wifi::phy` for formulas over arrays.

use crate::error;
use crate::radio_facts::{PyAccessCategory, PyMode};
use airqueue_core::{DataRate, Span};
use airqueue_wifi::phy::{
    AmpduLimits, BandName, Conventions, DsssTxTime, EdcaEdition, EdcaRole, Format, FrameChoices,
    GENERATIONS, Generation, GuardInterval, Mcs, Options, Phy, Preamble, RateIndex, Slot, Width,
    alternatives, edca_defaults, frames,
};
use numpy::ndarray::{ArrayViewD, Zip};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::hash::{Hash, Hasher};

pub(crate) type Places<'py> = PyReadonlyArrayDyn<'py, i64>;
pub(crate) type Numbers<'py> = PyReadonlyArrayDyn<'py, f64>;
pub(crate) type Answer<'py> = Bound<'py, PyArrayDyn<f64>>;

/// (slot_ns, sifs_ns, CWmin, CWmax)
type Access = (i64, i64, u32, u32);

/// The arguments that made a radio.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recipe {
    generation: &'static Generation,
    options: Options,
    exact_dsss: bool,
    access: Option<Access>,
    /// In bits per second.
    basic_rates: Option<Vec<u64>>,
}

/// A physical layer with one number of streams, one width and one guard interval, so that a rate names one mode; and
/// the control rates of a network.
#[pyclass(name = "Radio", frozen, eq, hash, module = "airqueue._native")]
pub(crate) struct PyRadio {
    recipe: Recipe,
    phy: Phy,
    /// Modes of data frames, by rising rate.
    data: Vec<RateIndex>,
    /// Modes of control frames, by rising rate.
    control: Vec<RateIndex>,
    modes: Py<PyTuple>,
    control_modes: Py<PyTuple>,
}

impl PartialEq for PyRadio {
    fn eq(&self, other: &PyRadio) -> bool {
        self.recipe == other.recipe
    }
}

impl Hash for PyRadio {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.recipe.hash(state);
    }
}

#[pymethods]
impl PyRadio {
    #[new]
    #[pyo3(signature = (standard, *, preamble="long", short_slot=true, exact_dsss=false, band="5", streams=1, width_mhz=20, guard_interval_ns=800, ltf_ns=None, packet_extension_ns=0, access=None, basic_rates_bps=None))]
    #[expect(clippy::too_many_arguments)] // they are Python's keywords
    fn new(
        py: Python<'_>,
        standard: &str,
        preamble: &str,
        short_slot: bool,
        exact_dsss: bool,
        band: &str,
        streams: u8,
        width_mhz: u32,
        guard_interval_ns: i64,
        ltf_ns: Option<i64>,
        packet_extension_ns: i64,
        access: Option<Access>,
        basic_rates_bps: Option<Vec<f64>>,
    ) -> PyResult<PyRadio> {
        let generation = generation(standard)?;
        let mut options = Options {
            preamble: Some(self::preamble(preamble)?),
            slot: Some(if short_slot { Slot::Short } else { Slot::Long }),
            ..Options::default()
        };
        if let Some(format) = generation.format {
            options = Options {
                band: Some(self::band(band)?),
                width: Some(width(width_mhz)?),
                streams: Some(streams),
                guard: Some(guard(format, guard_interval_ns)?),
                frames: FrameChoices {
                    ltf: ltf_ns.map(Span::from_nanos),
                    packet_extension: Span::from_nanos(packet_extension_ns),
                },
                ..options
            };
        }
        let basic_rates = basic_rates_bps.map(whole);
        PyRadio::made(py, Recipe { generation, options, exact_dsss, access, basic_rates })
    }

    /// For copies and pickles.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let Recipe { generation, options, exact_dsss, access, basic_rates } = &self.recipe;
        let (shape, frames) = (generation.shape(options), options.frames);
        let short_preamble = options.preamble == Some(Preamble::Short);
        let keywords = PyDict::new(py);
        keywords.set_item("preamble", if short_preamble { "short" } else { "long" })?;
        keywords.set_item("short_slot", options.slot != Some(Slot::Long))?;
        keywords.set_item("exact_dsss", exact_dsss)?;
        keywords.set_item("band", self.band())?;
        keywords.set_item("streams", shape.streams)?;
        keywords.set_item("width_mhz", shape.width.mhz())?;
        keywords.set_item("guard_interval_ns", shape.guard.duration().as_nanos())?;
        keywords.set_item("ltf_ns", frames.ltf.map(Span::as_nanos))?;
        keywords.set_item("packet_extension_ns", frames.packet_extension.as_nanos())?;
        keywords.set_item("access", access)?;
        keywords.set_item("basic_rates_bps", basic_rates.clone())?;
        Ok(((generation.name.to_owned(),), keywords))
    }

    fn __repr__(&self) -> String {
        format!("<Radio {:?}, {} modes>", self.recipe.generation.name, self.data.len())
    }

    /// A copy with other channel access timing and basic rates; the same object if neither changes.
    fn variant(
        slf: &Bound<'_, PyRadio>,
        access: Access,
        basic_rates_bps: Vec<f64>,
    ) -> PyResult<Py<PyRadio>> {
        let this = slf.get();
        let basic = whole(basic_rates_bps);
        let unchanged = access == this.access()
            && this.phy.basic_rates().iter().map(|rate| rate.as_bps()).eq(basic.iter().copied());
        if unchanged {
            return Ok(slf.clone().unbind());
        }
        let recipe =
            Recipe { access: Some(access), basic_rates: Some(basic), ..this.recipe.clone() };
        Py::new(slf.py(), PyRadio::made(slf.py(), recipe)?)
    }

    /// A copy in which DSSS frames last as long as their bits, to the nanosecond.
    fn unrounded(&self, py: Python<'_>) -> PyResult<PyRadio> {
        PyRadio::made(py, Recipe { exact_dsss: true, ..self.recipe.clone() })
    }

    /// In GHz.
    #[getter]
    fn band(&self) -> &'static str {
        self.recipe.generation.band(&self.recipe.options).ghz()
    }

    #[getter]
    fn slot_s(&self) -> f64 {
        self.phy.slot().as_secs_f64()
    }

    #[getter]
    fn sifs_s(&self) -> f64 {
        self.phy.sifs().as_secs_f64()
    }

    #[getter]
    fn cw_min(&self) -> u32 {
        self.phy.w_min() - 1
    }

    #[getter]
    fn cw_max(&self) -> u32 {
        self.phy.w_max() - 1
    }

    #[getter]
    fn eifs_s(&self) -> f64 {
        self.phy.eifs().as_secs_f64()
    }

    /// The response timeout after a frame of the fastest mode, in seconds.
    #[getter]
    fn response_timeout_s(&self) -> f64 {
        self.phy.response_timeout(self.fastest()).as_secs_f64()
    }

    #[getter]
    fn basic_rates_bps(&self) -> Vec<f64> {
        self.phy.basic_rates().iter().map(|rate| rate.as_bps() as f64).collect()
    }

    #[getter]
    fn modes(&self, py: Python<'_>) -> Py<PyTuple> {
        self.modes.clone_ref(py)
    }

    #[getter]
    fn control_modes(&self, py: Python<'_>) -> Py<PyTuple> {
        self.control_modes.clone_ref(py)
    }

    /// The maximum number of MPDUs in an A-MPDU; 1 before 802.11n.
    #[getter]
    fn max_mpdus(&self) -> u32 {
        self.phy.ampdu_limits(self.fastest()).map_or(1, |limits| limits.mpdus)
    }

    /// The maximum PSDU of a data frame in bytes.
    #[getter]
    fn max_psdu_bytes(&self) -> u32 {
        let limits = self.phy.ampdu_limits(self.fastest());
        limits.map_or(frames::MAX_NON_HT_PSDU_BYTES, |limits| limits.bytes)
    }

    /// The maximum MPDU of a data frame in bytes, at the fastest mode.
    #[getter]
    fn max_mpdu_bytes(&self) -> u32 {
        self.phy.max_mpdu_bytes(self.fastest())
    }

    /// Rate of the response to a frame of each mode.
    #[getter]
    fn response_rates_bps(&self) -> Vec<f64> {
        let answer = |&index| self.phy.bits_per_second(self.phy.response_rate(index));
        self.data.iter().map(answer).collect()
    }

    /// Durations of data frames, or of control frames.
    #[pyo3(signature = (modes, psdu_bytes, *, control=false))]
    fn frame_s<'py>(
        &self,
        py: Python<'py>,
        modes: Places<'py>,
        psdu_bytes: Numbers<'py>,
        control: bool,
    ) -> PyResult<Answer<'py>> {
        let places = if control { &self.control } else { &self.data };
        let (modes, bytes) = (modes.as_array(), psdu_bytes.as_array());
        check(places, &modes, &bytes)?;
        let duration = |&at: &i64, &bytes: &f64| {
            self.phy.airtime_of_fraction(places[at as usize], bytes).as_secs_f64()
        };
        Ok(Zip::from(modes).and(bytes).map_collect(duration).into_pyarray(py))
    }

    /// The maximum number of MPDUs of equal size in an A-MPDU.
    fn most_mpdus<'py>(
        &self,
        py: Python<'py>,
        modes: Places<'py>,
        mpdu_bytes: Numbers<'py>,
        max_mpdus: u32,
        max_bytes: u32,
        max_ppdu_ns: i64,
    ) -> PyResult<Answer<'py>> {
        let (modes, sizes) = (modes.as_array(), mpdu_bytes.as_array());
        check(&self.data, &modes, &sizes)?;
        let duration = span("max_ppdu", max_ppdu_ns)?;
        let most = |at: i64, size: f64| {
            let index = self.data[at as usize];
            let Some(of_standard) = self.phy.ampdu_limits(index) else { return 0.0 };
            let limits = AmpduLimits {
                mpdus: of_standard.mpdus.min(max_mpdus),
                bytes: of_standard.bytes.min(max_bytes),
                duration,
                ..of_standard
            };
            let size = size.ceil() as u32;
            f64::from(self.phy.fill(index, &limits, std::iter::repeat(size)).mpdus())
        };
        let found = Zip::from(modes).and(sizes).map_collect(|&at, &size| most(at, size));
        Ok(found.into_pyarray(py))
    }

    /// Default parameters of BK, BE, VI, VO.
    fn edca_defaults(&self, edition: &str, access_point: bool) -> PyResult<Vec<PyAccessCategory>> {
        let edition = match edition {
            "2005" => EdcaEdition::Ieee2005,
            "2016" => EdcaEdition::Ieee2016,
            _ => {
                return Err(error(format!(
                    "edition is {edition:?}, expected \"2005\" or \"2016\""
                )));
            }
        };
        let role = if access_point { EdcaRole::AccessPoint } else { EdcaRole::Station };
        Ok(PyAccessCategory::all(edca_defaults(&self.phy, edition, role)))
    }
}

impl PyRadio {
    fn made(py: Python<'_>, recipe: Recipe) -> PyResult<PyRadio> {
        let (mut phy, shape) = recipe.layer()?;
        if let Some((slot, sifs, cw_min, cw_max)) = recipe.access {
            // The engine counts the values of a window, which include 0.
            let [low, high] = [cw_min, cw_max].map(|cw| cw.saturating_add(1));
            phy = phy.with_access(span("slot", slot)?, span("SIFS", sifs)?, low, high);
        }
        if let Some(basic) = &recipe.basic_rates {
            let rate = |&bps: &u64| {
                DataRate::from_bps(bps).ok_or_else(|| error("a basic rate is 0 or no number"))
            };
            let rates = basic.iter().map(rate).collect::<PyResult<Vec<_>>>()?;
            phy = phy.with_basic_rates(&rates).map_err(error)?;
        }
        let places = |wanted: &dyn Fn(RateIndex) -> bool| {
            let indices = phy.rates().map(|(index, _)| index).filter(|index| wanted(*index));
            let mut places: Vec<_> = indices.collect();
            places.sort_by_key(|index| phy.rate(*index));
            places
        };
        let data = match shape {
            None => places(&|_| true),
            Some(shape) => {
                places(&|index| phy.mcs(index).is_some_and(|mcs| Mcs { index: 0, ..mcs } == shape))
            }
        };
        let control = places(&|index| phy.is_control(index));
        let described = |places: &[RateIndex]| {
            let modes: Vec<_> = places.iter().map(|index| PyMode::of(&phy, *index)).collect();
            PyResult::Ok(PyTuple::new(py, modes)?.unbind())
        };
        let (modes, control_modes) = (described(&data)?, described(&control)?);
        Ok(PyRadio { recipe, phy, data, control, modes, control_modes })
    }

    fn access(&self) -> Access {
        let phy = &self.phy;
        (phy.slot().as_nanos(), phy.sifs().as_nanos(), phy.w_min() - 1, phy.w_max() - 1)
    }

    fn fastest(&self) -> RateIndex {
        *self.data.last().expect("a layer has modes")
    }
}

impl Recipe {
    /// The layer, and from 802.11n on with scheme 0 for data frames.
    fn layer(&self) -> PyResult<(Phy, Option<Mcs>)> {
        let conventions = Conventions {
            dsss_txtime: match self.exact_dsss {
                true => DsssTxTime::Exact,
                false => DsssTxTime::WholeMicroseconds,
            },
            ..Conventions::STANDARD
        };
        let phy = self.generation.phy(&self.options, conventions).map_err(error)?;
        let shape = self.generation.shape(&self.options);
        Ok((phy, self.generation.format.map(|format| shape.mcs(format, 0))))
    }
}

pub(crate) fn generation(name: &str) -> PyResult<&'static Generation> {
    let known = || alternatives(GENERATIONS.iter().map(|generation| generation.name));
    Generation::named(name)
        .ok_or_else(|| error(format!("standard is {name:?}, expected {}", known())))
}

pub(crate) fn band(name: &str) -> PyResult<BandName> {
    let mut bands = [BandName::Ghz2_4, BandName::Ghz5].into_iter();
    bands
        .find(|band| band.ghz() == name)
        .ok_or_else(|| error(format!("band is {name:?}, expected \"2.4\" or \"5\"")))
}

fn preamble(name: &str) -> PyResult<Preamble> {
    match name {
        "long" => Ok(Preamble::Long),
        "short" => Ok(Preamble::Short),
        _ => Err(error(format!("preamble is {name:?}, expected \"long\" or \"short\""))),
    }
}

fn width(mhz: u32) -> PyResult<Width> {
    let known = || alternatives(Width::ALL.iter().map(|width| width.mhz()));
    Width::of_mhz(mhz.into())
        .ok_or_else(|| error(format!("width_mhz is {mhz}, expected {}", known())))
}

fn guard(format: Format, nanoseconds: i64) -> PyResult<GuardInterval> {
    GuardInterval::of(format, Span::from_nanos(nanoseconds))
        .ok_or_else(|| error(format!("{format} has no guard interval of {nanoseconds} ns")))
}

/// A time of at most a second, so that no sum can overflow.
fn span(name: &str, nanoseconds: i64) -> PyResult<Span> {
    match nanoseconds {
        0..=1_000_000_000 => Ok(Span::from_nanos(nanoseconds)),
        _ => Err(error(format!("{name} is {nanoseconds} ns, expected 0 to 1e9"))),
    }
}

/// Rates in whole bits per second; 0 for values that are not valid rates.
fn whole(rates_bps: Vec<f64>) -> Vec<u64> {
    rates_bps.into_iter().map(|rate| rate.round() as u64).collect()
}

/// Checks that the arrays have one shape, and that their values are indices of modes and numbers of bytes.
fn check(
    places: &[RateIndex],
    modes: &ArrayViewD<'_, i64>,
    bytes: &ArrayViewD<'_, f64>,
) -> PyResult<()> {
    if modes.shape() != bytes.shape() {
        let shapes = format!("{:?} and {:?}", modes.shape(), bytes.shape());
        return Err(error(format!(
            "modes and sizes have the shapes {shapes}, expected equal ones"
        )));
    }
    let there = |at: &i64| usize::try_from(*at).is_ok_and(|at| at < places.len());
    if let Some(at) = modes.iter().find(|at| !there(at)) {
        return Err(error(format!("there is no mode {at}; the last one is {}", places.len() - 1)));
    }
    let most = f64::from(u32::MAX);
    match bytes.iter().find(|size| !(0.0..=most).contains(*size)) {
        Some(size) => Err(error(format!("a frame has {size} bytes, expected 0 to {most}"))),
        None => Ok(()),
    }
}
