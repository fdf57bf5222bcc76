//! The E-model over arrays. The caller has checked the inputs, which have equal shapes.

use crate::dicts::{CodecDict, Named};
use airqueue_transport::voice::{self, CODECS, Codec};
use numpy::ndarray::{ArrayD, Zip};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArrayDyn};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

type Numbers<'py> = PyReadonlyArrayDyn<'py, f64>;
type Answer<'py> = Bound<'py, PyArrayDyn<f64>>;

fn codec(name: &str) -> PyResult<&'static Codec> {
    let found = CODECS.into_iter().find(|codec| codec.name == name);
    found.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
}

fn each<'py>(py: Python<'py>, of: &Numbers<'py>, f: impl FnMut(f64) -> f64) -> Answer<'py> {
    of.as_array().mapv(f).into_pyarray(py)
}

/// Name -> planning values and times.
#[pyfunction]
pub(crate) fn voice_codecs() -> Named<CodecDict> {
    let of = |codec: &Codec| CodecDict {
        ie: codec.ie,
        bpl: codec.bpl,
        frame_s: codec.frame.as_secs_f64(),
        lookahead_s: codec.lookahead.as_secs_f64(),
        frames_per_packet: codec.frames_per_packet,
        rate_bps: codec.rate_bps(),
    };
    Named(CODECS.iter().map(|codec| (codec.name.to_owned(), of(codec))).collect())
}

/// The coding delay, for numbers of frames per packet.
#[pyfunction]
pub(crate) fn voice_coding_delay<'py>(
    py: Python<'py>,
    name: &str,
    frames: Numbers<'py>,
) -> PyResult<Answer<'py>> {
    let codec = codec(name)?;
    Ok(each(py, &frames, |frames| voice::coding_delay_s(codec, frames)))
}

/// Idd.
#[pyfunction]
pub(crate) fn voice_delay_impairment<'py>(
    py: Python<'py>,
    mouth_to_ear_s: Numbers<'py>,
) -> Answer<'py> {
    each(py, &mouth_to_ear_s, voice::delay_impairment)
}

/// Ie,eff.
#[pyfunction]
pub(crate) fn voice_loss_impairment<'py>(
    py: Python<'py>,
    name: &str,
    loss: Numbers<'py>,
    burst_ratio: Numbers<'py>,
) -> PyResult<Answer<'py>> {
    let codec = codec(name)?;
    let (loss, burst) = (loss.as_array(), burst_ratio.as_array());
    let found: ArrayD<f64> =
        Zip::from(loss).and(burst).map_collect(|&loss, &burst| codec.loss_impairment(loss, burst));
    Ok(found.into_pyarray(py))
}

/// R without the advantage factor.
#[pyfunction]
pub(crate) fn voice_r_factor<'py>(
    py: Python<'py>,
    name: &str,
    mouth_to_ear_s: Numbers<'py>,
    loss: Numbers<'py>,
    burst_ratio: Numbers<'py>,
) -> PyResult<Answer<'py>> {
    let codec = codec(name)?;
    let (delay, loss) = (mouth_to_ear_s.as_array(), loss.as_array());
    let found: ArrayD<f64> = Zip::from(delay)
        .and(loss)
        .and(burst_ratio.as_array())
        .map_collect(|&delay, &loss, &burst| codec.r_factor(delay, loss, burst));
    Ok(found.into_pyarray(py))
}

/// MOS, on request with the cubic's dip below 1.
#[pyfunction]
pub(crate) fn voice_mos<'py>(py: Python<'py>, r: Numbers<'py>, as_printed: bool) -> Answer<'py> {
    each(py, &r, if as_printed { voice::mos_as_printed } else { voice::mos })
}
