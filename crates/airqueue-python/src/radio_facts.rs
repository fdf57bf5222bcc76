//! The constants of IEEE 802.11 that hold for all layers, and the small objects that a `Radio` returns.

use crate::error;
use crate::radio::{Answer, Numbers, band, generation};
use airqueue_core::Span;
use airqueue_wifi::phy::{
    AccessCategory, EdcaParameters, GENERATIONS, Generation, GuardInterval, MAX_DURATION, MAX_PPDU,
    ModulationClass, Options, Phy, RateIndex, Response, Width, equal_mpdus_bytes, frames,
};
use numpy::IntoPyArray;
use numpy::ndarray::Zip;
use pyo3::prelude::*;

/// A float represents all whole numbers up to this one exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// One rate of a layer.
#[pyclass(name = "Mode", frozen, eq, get_all, module = "airqueue._native")]
#[derive(Debug, PartialEq)]
pub(crate) struct PyMode {
    rate_bps: f64,
    modulation_class: &'static str,
    preamble_ns: i64,
    overhead_ns: i64,
    extra_bits: f64,
    bits_per_symbol: f64,
    symbol_ns: i64,
}

#[pymethods]
impl PyMode {
    fn __hash__(&self) -> u64 {
        self.rate_bps.to_bits()
    }

    fn __repr__(&self) -> String {
        format!("<Mode {} Mb/s>", self.rate_bps / 1e6)
    }
}

impl PyMode {
    pub(crate) fn of(phy: &Phy, index: RateIndex) -> PyMode {
        let preamble = phy.preamble(index);
        let symbols = phy.symbols(index);
        PyMode {
            rate_bps: phy.bits_per_second(index),
            modulation_class: match phy.class(index).of_response() {
                ModulationClass::Dsss => "dsss",
                _ => "ofdm",
            },
            preamble_ns: preamble.as_nanos(),
            overhead_ns: (preamble + phy.signal_extension(index)).as_nanos(),
            extra_bits: symbols.extra_bits,
            bits_per_symbol: symbols.bits,
            symbol_ns: symbols.duration.as_nanos(),
        }
    }
}

/// Channel access of one category.
#[pyclass(name = "AccessCategory", frozen, get_all, module = "airqueue._native")]
pub(crate) struct PyAccessCategory {
    name: &'static str,
    aifsn: u32,
    cw_min: u32,
    cw_max: u32,
    txop_s: f64,
}

impl PyAccessCategory {
    pub(crate) fn all(parameters: [EdcaParameters; 4]) -> Vec<PyAccessCategory> {
        let described = |category: AccessCategory| {
            let of = parameters[category.index()];
            PyAccessCategory {
                name: category.acronym(),
                aifsn: of.aifsn,
                cw_min: of.w_min - 1,
                cw_max: of.w_max - 1,
                txop_s: of.txop.as_secs_f64(),
            }
        };
        AccessCategory::ALL.map(described).into()
    }
}

/// The choices from which a `Radio` of 802.11n or later is made.
#[pyclass(name = "RadioChoices", frozen, get_all, module = "airqueue._native")]
pub(crate) struct PyRadioChoices {
    most_streams: u8,
    widths_mhz: Vec<u32>,
    usual_width_mhz: u32,
    guard_intervals_ns: Vec<i64>,
    ltfs_ns: Vec<i64>,
    packet_extensions_ns: Vec<i64>,
}

/// The choices of a standard in a band.
#[pyfunction]
#[pyo3(signature = (standard, band="5"))]
pub(crate) fn radio_choices(standard: &str, band: &str) -> PyResult<PyRadioChoices> {
    let generation = generation(standard)?;
    let format = generation.format.ok_or_else(|| {
        error(format!("standard is {standard:?}, expected 802.11n or one of its successors"))
    })?;
    let name = self::band(band)?;
    let widest = name.widest(format);
    let widest = widest.ok_or_else(|| error(format!("{standard} is not at {band} GHz")))?;
    let usual = generation.shape(&Options { band: Some(name), ..Options::default() });
    let nanoseconds = |spans: &[Span]| spans.iter().map(|span| span.as_nanos()).collect();
    let guards: Vec<_> = format.guards().iter().copied().map(GuardInterval::duration).collect();
    Ok(PyRadioChoices {
        most_streams: format.most_streams(),
        widths_mhz: Width::ALL.iter().filter(|w| **w <= widest).map(|w| w.mhz()).collect(),
        usual_width_mhz: usual.width.mhz(),
        guard_intervals_ns: nanoseconds(&guards),
        ltfs_ns: nanoseconds(format.ltfs()),
        packet_extensions_ns: nanoseconds(format.packet_extensions()),
    })
}

/// The standards, oldest first: name, bands in GHz with the usual band first, and whether a `Radio` of the standard has
/// `RadioChoices`.
#[pyfunction]
pub(crate) fn radio_standards() -> Vec<(&'static str, Vec<&'static str>, bool)> {
    let described = |generation: &&Generation| {
        let bands = generation.bands.iter().map(|band| band.ghz()).collect();
        (generation.name, bands, generation.format.is_some())
    };
    GENERATIONS.iter().map(described).collect()
}

/// Sizes of frames and limits.
#[pyclass(name = "Ieee80211", frozen, module = "airqueue._native")]
pub(crate) struct PyIeee80211;

#[pymethods]
impl PyIeee80211 {
    #[classattr]
    const HEADER_BYTES: u32 = frames::HEADER_BYTES;
    #[classattr]
    const QOS_HEADER_BYTES: u32 = frames::QOS_HEADER_BYTES;
    #[classattr]
    const FOUR_ADDRESS_QOS_HEADER_BYTES: u32 = frames::FOUR_ADDRESS_QOS_HEADER_BYTES;
    #[classattr]
    const FCS_BYTES: u32 = frames::FCS_BYTES;
    #[classattr]
    const LLC_SNAP_BYTES: u32 = frames::LLC_SNAP_BYTES;
    #[classattr]
    const NS2_OVERHEAD_BYTES: u32 = frames::NS2_OVERHEAD_BYTES;
    #[classattr]
    const RTS_BYTES: u32 = frames::RTS_BYTES;
    #[classattr]
    const CTS_BYTES: u32 = frames::CTS_BYTES;
    #[classattr]
    const ACK_BYTES: u32 = frames::ACK_BYTES;
    #[classattr]
    const MAX_NON_HT_PSDU_BYTES: u32 = frames::MAX_NON_HT_PSDU_BYTES;
    #[classattr]
    const MAX_PPDU_S: f64 = MAX_PPDU.as_nanos() as f64 / 1e9;
    #[classattr]
    const MAX_DURATION_S: f64 = MAX_DURATION.as_nanos() as f64 / 1e9;
}

/// Bytes of the block ack of A-MPDUs.
#[pyfunction]
pub(crate) fn block_ack_bytes<'py>(py: Python<'py>, mpdus: Numbers<'py>) -> Answer<'py> {
    let bytes = |mpdus: f64| f64::from(Response::to_window(mpdus.ceil() as u32).bytes());
    mpdus.as_array().mapv(bytes).into_pyarray(py)
}

/// Bytes of A-MPDUs of equal MPDUs.
#[pyfunction]
pub(crate) fn ampdu_bytes<'py>(
    py: Python<'py>,
    mpdu_bytes: Numbers<'py>,
    mpdus: Numbers<'py>,
) -> PyResult<Answer<'py>> {
    let (sizes, counts) = (mpdu_bytes.as_array(), mpdus.as_array());
    if sizes.shape() != counts.shape() {
        return Err(error("the arrays of sizes and of numbers of MPDUs differ in shape"));
    }
    let fits = |number: &f64| (1.0..=EXACT).contains(&number.ceil());
    if let Some(wrong) = sizes.iter().chain(counts.iter()).find(|number| !fits(number)) {
        return Err(error(format!("{wrong} is no number of bytes or MPDUs from 1 to 2^53")));
    }
    let total = |&size: &f64, &count: &f64| {
        let whole = size.ceil();
        // The last MPDU has no padding, so that its fraction of a byte remains.
        equal_mpdus_bytes(count as u64, whole as u64) as f64 - (whole - size)
    };
    Ok(Zip::from(sizes).and(counts).map_collect(total).into_pyarray(py))
}
