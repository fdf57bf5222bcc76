//! PyO3 bindings: convert, release the GIL, map errors. Nothing else lives here.

mod capture;
mod client;
mod contention;
mod control_law;
mod convert;
mod dicts;
mod echo;
mod echo_dicts;
mod emulation;
mod grammar;
mod hazards;
mod live;
mod live_dicts;
mod load;
mod load_dicts;
mod mesh;
mod path;
mod pie;
mod plan;
mod probability;
mod radio;
mod radio_facts;
mod scenario;
mod server;
mod shaped;
mod summaries;
mod voice;

use pyo3::prelude::*;

pyo3::create_exception!(
    airqueue._native,
    NativeError,
    pyo3::exceptions::PyException,
    "An endpoint, a simulation or a capture could not do it; the message is one sentence."
);

/// Python aligns its objects to 16 bytes. The engine wants more, and is in a box.
const fn fits_into_python<Class>() {
    assert!(align_of::<Class>() <= 16, "Python's allocator does not align its objects so");
}

const _: () = {
    fits_into_python::<contention::PyContention>();
    fits_into_python::<emulation::PyEmulation>();
    fits_into_python::<live::PyMoment>();
    fits_into_python::<mesh::PyMeshRouter>();
    fits_into_python::<path::PySimulatedPath>();
    fits_into_python::<scenario::PyRun>();
    fits_into_python::<scenario::PyScenario>();
};

/// Converts any error of the crates below to the Python exception.
pub(crate) fn error(error: impl std::fmt::Display) -> PyErr {
    NativeError::new_err(error.to_string())
}

#[pymodule]
mod _native {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::NativeError;
    #[pymodule_export]
    use super::capture::{PyCaptureWriter, read_capture};
    #[pymodule_export]
    use super::client::PyClient;
    #[pymodule_export]
    use super::contention::PyContention;
    #[pymodule_export]
    use super::control_law::{law_chances, law_intervals};
    #[pymodule_export]
    use super::dicts::result_schemas;
    #[pymodule_export]
    use super::echo::{PyEchoes, first_hops};
    #[pymodule_export]
    use super::emulation::{PyEmulation, open_packet_queue, open_tun, open_veth};
    #[pymodule_export]
    use super::grammar::{
        PyRange, measure, parse_limit, parse_lists, parse_quantity, parse_queue, parse_values,
        write_quantity,
    };
    #[pymodule_export]
    use super::hazards::{log_likelihood, red_hazards, red_log_likelihood, since_last_drop};
    #[pymodule_export]
    use super::live::PyMoment;
    #[pymodule_export]
    use super::load::PyLoad;
    #[pymodule_export]
    use super::mesh::{PyMeshRouter, mesh_buffers};
    #[pymodule_export]
    use super::path::PySimulatedPath;
    #[pymodule_export]
    use super::pie::pie_probabilities;
    #[pymodule_export]
    use super::plan::{check_plan, plan_schema};
    #[pymodule_export]
    use super::probability::{binomial_sf, fisher_greater, moving_average, student_t_sf};
    #[pymodule_export]
    use super::radio::PyRadio;
    #[pymodule_export]
    use super::radio_facts::{
        PyAccessCategory, PyIeee80211, PyMode, PyRadioChoices, ampdu_bytes, block_ack_bytes,
        radio_choices, radio_standards,
    };
    #[pymodule_export]
    use super::scenario::{
        PyLiveChanges, PyMonitor, PyRun, PyScenario, devices, renamed_keys, scenario_problems,
        scenario_schema, toml_lines,
    };
    #[pymodule_export]
    const CAPTURE_LEAST_BYTES: u32 = airqueue_network::wlan::pcap::LEAST_SNAP_BYTES;
    #[pymodule_export]
    const CAPTURE_HEADERS_BYTES: u32 = airqueue_network::wlan::pcap::HEADERS_SNAP_BYTES;
    #[pymodule_export]
    const CAPTURE_WHOLE_BYTES: u32 = airqueue_network::wlan::pcap::WHOLE_FRAMES;
    #[pymodule_export]
    use super::server::PyServer;
    #[pymodule_export]
    use super::shaped::serve;
    #[pymodule_export]
    use super::summaries::{summaries, summary, t_interval};
    #[pymodule_export]
    use super::voice::{
        voice_codecs, voice_coding_delay, voice_delay_impairment, voice_loss_impairment, voice_mos,
        voice_r_factor,
    };
}
