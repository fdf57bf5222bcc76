//! `Contention`: the slot-level Monte Carlo of saturated queues.

use crate::error;
use airqueue_core::Seed;
use airqueue_wifi::contention::{Contender, Contention, CountdownRule, Tally};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Steps of a contender between two looks for Ctrl-C: some tens of milliseconds.
const STEPS_BETWEEN_SIGNALS: u64 = 5_000_000;

/// (aifs_slots, w_min, w_max, retries, packets, node)
type NativeContender = (u32, u32, u32, Option<u32>, u32, u32);

/// Queues that always have a packet to send, from a start with fresh packets.
#[pyclass(name = "Contention", module = "airqueue._native")]
pub(crate) struct PyContention {
    process: Contention,
    contenders: u64,
}

#[pymethods]
impl PyContention {
    #[new]
    fn new(contenders: Vec<NativeContender>, rule: &str, seed: u64) -> PyResult<Self> {
        let rule = match rule {
            "edca" => CountdownRule::Edca,
            "freeze" => CountdownRule::Freeze,
            _ => return Err(error(format!("rule is {rule:?}, expected \"edca\" or \"freeze\""))),
        };
        let contenders: Vec<_> = contenders
            .into_iter()
            .map(|(aifs_slots, w_min, w_max, retries, packets, node)| Contender {
                aifs_slots,
                w_min,
                w_max,
                retries,
                packets,
                node,
            })
            .collect();
        let process = Contention::new(&contenders, rule, Seed(seed)).map_err(error)?;
        Ok(PyContention { process, contenders: contenders.len() as u64 })
    }

    /// Goes on until that many more busy periods have passed, and returns what happened in them.
    fn run<'py>(&mut self, py: Python<'py>, transmissions: u64) -> PyResult<Bound<'py, PyDict>> {
        let chunk = (STEPS_BETWEEN_SIGNALS / self.contenders).max(1);
        let mut left = transmissions;
        while left > 0 {
            let now = left.min(chunk);
            let process = &mut self.process;
            py.detach(|| process.run(now));
            py.check_signals()?;
            left -= now;
        }
        let counts = self.process.take_counts();
        let dict = PyDict::new(py);
        dict.set_item("idle_slots", counts.idle_slots)?;
        dict.set_item("transmissions", counts.transmissions)?;
        dict.set_item("collided", counts.collided)?;
        let column = |of: fn(&Tally) -> u64| {
            counts.contenders.iter().map(of).collect::<Vec<u64>>().into_pyarray(py)
        };
        dict.set_item("attempts", column(|t| t.attempts))?;
        dict.set_item("successes", column(|t| t.successes))?;
        dict.set_item("collisions", column(|t| t.collisions))?;
        dict.set_item("internal_collisions", column(|t| t.internal_collisions))?;
        dict.set_item("drops", column(|t| t.drops))?;
        dict.set_item("packets", column(|t| t.packets))?;
        Ok(dict)
    }
}
