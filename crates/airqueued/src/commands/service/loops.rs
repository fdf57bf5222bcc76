//! The loops of a service: each has one setting of the plan, and says what its value is to be.

use crate::commands::{Code, Stop};
use crate::tap::Tap;
use airqueue_control::flows::{Counts, Flows};
use airqueue_control::plan::{Plan, Set};
use airqueue_control::steer::{Config, Knob, TxopLoop};
use airqueue_core::Time;
use std::collections::BTreeMap;

/// A change that a loop wants.
pub(super) struct Turn {
    /// Place of the setting in the plan.
    pub(super) at: usize,
    /// What the setting becomes.
    pub(super) set: Set,
    /// Why, in words.
    pub(super) why: String,
}

/// All loops, and what they listen to.
pub(super) struct Loops {
    ears: BTreeMap<String, Ear>,
    edca: Vec<Edca>,
}

/// An interface that is listened to.
struct Ear {
    tap: Tap,
    flows: Flows,
}

struct Edca {
    at: usize,
    knob: Knob,
    txop: TxopLoop,
    interface: String,
}

impl Loops {
    /// The loops of a configuration. The error names the loop whose setting the plan lacks, or what cannot be listened to.
    pub(super) fn new(config: &Config, plan: &Plan, now: Time) -> Result<Loops, Stop> {
        let mut loops = Loops { ears: BTreeMap::new(), edca: Vec::new() };
        for (index, each) in config.edca.iter().enumerate() {
            let knob = each.knob();
            let at = place(&knob, plan, &format!("edca[{index}]"))?;
            let txop = TxopLoop::new(each.policy(config.at_most_every.value));
            let interface = each.interface.clone();
            loops.listen(&interface, now)?;
            loops.edca.push(Edca { at, knob, txop, interface });
        }
        Ok(loops)
    }

    fn listen(&mut self, interface: &str, now: Time) -> Result<(), Stop> {
        if !self.ears.contains_key(interface) {
            let tap = Tap::open(interface).map_err(|e| Stop::new(Code::Failed, e.to_string()))?;
            self.ears.insert(interface.to_owned(), Ear { tap, flows: Flows::new(now) });
        }
        Ok(())
    }

    /// Whether packets have to be taken in.
    pub(super) fn is_listening(&self) -> bool {
        !self.ears.is_empty()
    }

    /// Takes in the packets that have passed.
    pub(super) fn drain(&mut self) {
        for Ear { tap, flows } in self.ears.values_mut() {
            tap.drain(|packet, outgoing, at| flows.on_packet(packet, outgoing, at));
        }
    }

    /// Looks at the flows. Returns the settings that are to change now; `sets` are those of the plan as they are.
    pub(super) fn look(&mut self, sets: &[Set], now: Time) -> Vec<Turn> {
        let counts: BTreeMap<&str, Counts> = self
            .ears
            .iter_mut()
            .map(|(name, ear)| {
                ear.flows.look(now);
                (name.as_str(), ear.flows.counts())
            })
            .collect();
        let mut turns = Vec::new();
        for Edca { at, knob, txop, interface } in &mut self.edca {
            let downloads = counts.get(interface.as_str()).map_or(0, |counts| counts.downloads);
            if let Some(txop_us) = txop.on_downloads(downloads, now) {
                let why = match downloads {
                    1 => "1 active download".to_owned(),
                    many => format!("{many} active downloads"),
                };
                turns.push(Turn { at: *at, set: knob.turned(&sets[*at], txop_us), why });
            }
        }
        turns
    }
}

/// The setting of the plan that a loop changes.
fn place(knob: &Knob, plan: &Plan, who: &str) -> Result<usize, Stop> {
    knob.find(plan).ok_or_else(|| {
        let what = knob.wanted();
        Stop::new(
            Code::Refused,
            format!("{who}: the plan has no setting for this loop; it needs {what}"),
        )
    })
}
