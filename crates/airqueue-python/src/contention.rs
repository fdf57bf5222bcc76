//! `Contention`: the slot-level Monte Carlo of saturated queues.

use crate::dicts::{Column, ContentionDict};
use crate::error;
use airqueue_core::Seed;
use airqueue_wifi::contention::{Contender, ContenderCounters, Contention, CountdownRule};
use pyo3::prelude::*;

/// Steps of a contender between two checks for Ctrl-C: some tens of milliseconds.
const STEPS_BETWEEN_SIGNALS: u64 = 5_000_000;

/// (aifs_slots, w_min, w_max, retries, packets, node)
type NativeContender = (u32, u32, u32, Option<u32>, u32, u32);

/// Queues that always have a packet to send; all start with new packets.
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

    /// Continues for this many more busy periods, and returns what happened in them.
    fn run<'py>(&mut self, py: Python<'py>, transmissions: u64) -> PyResult<ContentionDict<'py>> {
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
        let column = |of: fn(&ContenderCounters) -> u64| {
            Column::new(py, counts.contenders.iter().map(of).collect())
        };
        Ok(ContentionDict {
            idle_slots: counts.idle_slots,
            transmissions: counts.transmissions,
            collided: counts.collided,
            attempts: column(|t| t.attempts),
            successes: column(|t| t.successes),
            collisions: column(|t| t.collisions),
            internal_collisions: column(|t| t.internal_collisions),
            drops: column(|t| t.drops),
            packets: column(|t| t.packets),
        })
    }
}
