//! The loops of a service: each has one setting of the plan.

use super::super::{Code, Stop};
use airqueue_control::plan::{Plan, Set};
use airqueue_control::steer::{Config, Knob, TxopLoop};
use airqueue_core::Time;

/// A change that a loop wants.
pub(super) struct Turn {
    /// Place of the setting in the plan.
    pub(super) at: usize,
    /// What it becomes.
    pub(super) set: Set,
    /// Why, in words.
    pub(super) why: String,
}

/// All loops.
pub(super) struct Loops {
    edca: Vec<Edca>,
}

struct Edca {
    at: usize,
    knob: Knob,
    txop: TxopLoop,
}

impl Loops {
    /// The loops of a configuration. The error names the loop whose setting the plan lacks.
    pub(super) fn new(config: &Config, plan: &Plan) -> Result<Loops, String> {
        let mut edca = Vec::new();
        for (index, each) in config.edca.iter().enumerate() {
            let knob = each.knob();
            let at = knob.find(plan).ok_or_else(|| {
                format!("edca[{index}]: the plan has no setting to be changed; it needs {}", knob.wanted())
            })?;
            edca.push(Edca { at, knob, txop: TxopLoop::new(each.policy(config.at_most_every.value)) });
        }
        Ok(Loops { edca })
    }
}
