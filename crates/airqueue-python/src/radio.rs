//! `Radio`: a physical layer of `airqueue_wifi::phy` for formulas over arrays.

use crate::error;
use crate::radio_facts::{PyAccessCategory, PyMode};
use airqueue_core::{DataRate, Span};
use airqueue_wifi::phy::{
    AmpduLimits, Band, Capability, Conventions, DsssTxTime, EdcaEdition, EdcaRole, Format,
    GuardInterval, FrameChoices, Mcs, Phy, Preamble, RateIndex, Slot, Width, dsss, edca_defaults, erp,
    frames, he_with, ht, ofdm, vht,
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

/// What a radio was made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Recipe {
    standard: String,
    preamble: String,
    short_slot: bool,
    exact_dsss: bool,
    band: String,
    streams: u8,
    width_mhz: u32,
    guard_interval_ns: i64,
    ltf_ns: Option<i64>,
    packet_extension_ns: i64,
    access: Option<Access>,
    /// In bits per second.
    basic_rates: Option<Vec<u64>>,
}

/// A physical layer with one number of streams, one width and one guard interval, so that a rate names
/// one mode; and the control rates of a network.
#[pyclass(name = "Radio", frozen, eq, hash, module = "airqueue._native")]
pub(crate) struct PyRadio {
    recipe: Recipe,
    phy: Phy,
    /// Of data frames, by rising rate.
    data: Vec<RateIndex>,
    /// Of control frames, by rising rate.
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
        let recipe = Recipe {
            standard: standard.to_owned(),
            preamble: preamble.to_owned(),
            short_slot,
            exact_dsss,
            band: band.to_owned(),
            streams,
            width_mhz,
            guard_interval_ns,
            ltf_ns,
            packet_extension_ns,
            access,
            basic_rates: basic_rates_bps.map(whole),
        };
        PyRadio::made(py, recipe)
    }

    /// For copies and pickles.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        let r = &self.recipe;
        let keywords = PyDict::new(py);
        keywords.set_item("preamble", &r.preamble)?;
        keywords.set_item("short_slot", r.short_slot)?;
        keywords.set_item("exact_dsss", r.exact_dsss)?;
        keywords.set_item("band", &r.band)?;
        keywords.set_item("streams", r.streams)?;
        keywords.set_item("width_mhz", r.width_mhz)?;
        keywords.set_item("guard_interval_ns", r.guard_interval_ns)?;
        keywords.set_item("ltf_ns", r.ltf_ns)?;
        keywords.set_item("packet_extension_ns", r.packet_extension_ns)?;
        keywords.set_item("access", r.access)?;
        keywords.set_item("basic_rates_bps", r.basic_rates.clone())?;
        Ok(((r.standard.clone(),), keywords))
    }

    fn __repr__(&self) -> String {
        format!("<Radio {:?}, {} modes>", self.recipe.standard, self.data.len())
    }

    /// The same with other channel access timing and basic rates; itself where both are as they were.
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

    /// The same with DSSS frames that last as long as their bits, to the nanosecond.
    fn unrounded(&self, py: Python<'_>) -> PyResult<PyRadio> {
        PyRadio::made(py, Recipe { exact_dsss: true, ..self.recipe.clone() })
    }

    /// In GHz.
    #[getter]
    fn band(&self) -> &str {
        match self.recipe.standard.as_str() {
            "802.11b" | "802.11g" => "2.4",
            "802.11a" => "5",
            _ => &self.recipe.band,
        }
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
        self.phy.cw_min() - 1
    }

    #[getter]
    fn cw_max(&self) -> u32 {
        self.phy.cw_max() - 1
    }

    #[getter]
    fn eifs_s(&self) -> f64 {
        self.phy.eifs().as_secs_f64()
    }

    /// Of the fastest mode.
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

    /// MPDUs in an A-MPDU; 1 before 802.11n.
    #[getter]
    fn max_mpdus(&self) -> u32 {
        self.phy.ampdu_limits(self.fastest()).map_or(1, |limits| limits.mpdus)
    }

    /// Of data frames.
    #[getter]
    fn max_psdu_bytes(&self) -> u32 {
        let limits = self.phy.ampdu_limits(self.fastest());
        limits.map_or(frames::MAX_NON_HT_PSDU_BYTES, |limits| limits.bytes)
    }

    /// Rate of the response to a frame of each mode.
    #[getter]
    fn response_rates_bps(&self) -> Vec<f64> {
        let answer = |&index| self.phy.bits_per_second(self.phy.response_rate(index));
        self.data.iter().map(answer).collect()
    }

    /// Durations of data frames.
    fn frame_s<'py>(
        &self,
        py: Python<'py>,
        modes: Places<'py>,
        psdu_bytes: Numbers<'py>,
    ) -> PyResult<Answer<'py>> {
        self.durations(py, &self.data, modes.as_array(), psdu_bytes.as_array())
    }

    /// Durations of control frames.
    fn control_frame_s<'py>(
        &self,
        py: Python<'py>,
        control_modes: Places<'py>,
        frame_bytes: Numbers<'py>,
    ) -> PyResult<Answer<'py>> {
        self.durations(py, &self.control, control_modes.as_array(), frame_bytes.as_array())
    }

    /// The most MPDUs of one size that an A-MPDU holds.
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
            // The engine counts the values of a window, of which 0 is one.
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
        (phy.slot().as_nanos(), phy.sifs().as_nanos(), phy.cw_min() - 1, phy.cw_max() - 1)
    }

    fn fastest(&self) -> RateIndex {
        *self.data.last().expect("a layer has modes")
    }

    fn durations<'py>(
        &self,
        py: Python<'py>,
        places: &[RateIndex],
        modes: ArrayViewD<'_, i64>,
        bytes: ArrayViewD<'_, f64>,
    ) -> PyResult<Answer<'py>> {
        check(places, &modes, &bytes)?;
        let duration = |&at: &i64, &bytes: &f64| {
            self.phy.airtime_of_fraction(places[at as usize], bytes).as_secs_f64()
        };
        Ok(Zip::from(modes).and(bytes).map_collect(duration).into_pyarray(py))
    }
}

impl Recipe {
    /// The layer, and from 802.11n on the scheme 0 of its data frames.
    fn layer(&self) -> PyResult<(Phy, Option<Mcs>)> {
        let conventions = Conventions {
            dsss_txtime: match self.exact_dsss {
                true => DsssTxTime::Exact,
                false => DsssTxTime::WholeMicroseconds,
            },
            ..Conventions::STANDARD
        };
        let preamble = match self.preamble.as_str() {
            "long" => Preamble::Long,
            "short" => Preamble::Short,
            other => {
                return Err(error(format!(
                    "preamble is {other:?}, expected \"long\" or \"short\""
                )));
            }
        };
        let slot = if self.short_slot { Slot::Short } else { Slot::Long };
        let format = match self.standard.as_str() {
            "802.11b" => return Ok((dsss(preamble, conventions), None)),
            "802.11a" => return Ok((ofdm(conventions), None)),
            "802.11g" => return Ok((erp(slot, preamble, conventions), None)),
            later => format(later)?,
        };
        let band = band(&self.band, slot, preamble)?;
        let shape = self.shape(format)?;
        let most = Capability { width: shape.width, streams: shape.streams };
        let phy = match format {
            Format::Ht => ht(band, most, conventions),
            Format::Vht if band == Band::Ghz5 => vht(most, conventions),
            Format::Vht => return Err(error("802.11ac is at 5 GHz alone")),
            Format::He => {
                let frame = FrameChoices {
                    ltf: self.ltf_ns.map(Span::from_nanos),
                    packet_extension: Span::from_nanos(self.packet_extension_ns),
                };
                he_with(frame, band, most, conventions)
            }
        };
        Ok((phy.map_err(error)?, Some(shape)))
    }

    fn shape(&self, format: Format) -> PyResult<Mcs> {
        let width = Width::ALL.into_iter().find(|width| width.mhz() == self.width_mhz);
        let width = width.ok_or_else(|| {
            error(format!("width_mhz is {}, expected 20, 40, 80 or 160", self.width_mhz))
        })?;
        let mut guards = format.guards().iter().copied();
        let is_it = |guard: &GuardInterval| guard.duration().as_nanos() == self.guard_interval_ns;
        let guard = guards.find(is_it).ok_or_else(|| {
            error(format!("{format} has no guard interval of {} ns", self.guard_interval_ns))
        })?;
        Ok(Mcs { format, index: 0, streams: self.streams, width, guard })
    }
}

/// The format of a standard's data frames.
pub(crate) fn format(standard: &str) -> PyResult<Format> {
    match standard {
        "802.11n" => Ok(Format::Ht),
        "802.11ac" => Ok(Format::Vht),
        "802.11ax" => Ok(Format::He),
        other => Err(error(format!(
            "standard is {other:?}, expected 802.11b, 802.11a, 802.11g, 802.11n, 802.11ac or 802.11ax"
        ))),
    }
}

pub(crate) fn band(name: &str, slot: Slot, preamble: Preamble) -> PyResult<Band> {
    match name {
        "2.4" => Ok(Band::Ghz2_4 { slot, preamble }),
        "5" => Ok(Band::Ghz5),
        other => Err(error(format!("band is {other:?}, expected \"2.4\" or \"5\""))),
    }
}

/// A time of up to a second, from which no sum can overflow.
fn span(name: &str, nanoseconds: i64) -> PyResult<Span> {
    match nanoseconds {
        0..=1_000_000_000 => Ok(Span::from_nanos(nanoseconds)),
        _ => Err(error(format!("{name} is {nanoseconds} ns, expected 0 to 1e9"))),
    }
}

/// Rates in whole bits per second; 0 for what is none.
fn whole(rates_bps: Vec<f64>) -> Vec<u64> {
    rates_bps.into_iter().map(|rate| rate.round() as u64).collect()
}

/// That the arrays are of one shape, and what is in them a place of a mode and a number of bytes.
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
