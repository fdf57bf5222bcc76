//! All control points, by the kind of setting.

use crate::qdisc::Queues;
use crate::radio::points::RadioPoints;
use crate::uci::UciPoint;
use airqueue_control::journal::{Run, Task};
use airqueue_control::plan::Set;
use airqueue_control::point::{ControlPoint, PointError, Value};
use airqueue_control::transaction::Found;

/// The control points of this machine. Each is opened when it is first needed.
#[derive(Default)]
pub struct Points {
    queues: Option<Queues>,
    radio: RadioPoints,
    uci: UciPoint,
}

impl Points {
    /// The control point of a setting.
    pub fn of(&mut self, set: &Set) -> Result<&mut dyn ControlPoint, PointError> {
        match set {
            Set::Queue(_) => Ok(self.queues()?),
            Set::Txq(_) => Ok(&mut self.radio.txq),
            Set::Edca(_) => Ok(&mut self.radio.edca),
            Set::OwnEdca(_) => Ok(&mut self.radio.own_edca),
            Set::AirtimeWeight(_) => Ok(&mut self.radio.airtime_weight),
            Set::Aql(_) => Ok(&mut self.radio.aql),
            Set::Ring(_) => Ok(&mut self.radio.ring),
            Set::Uci(_) => Ok(&mut self.uci),
        }
    }

    /// The queues of interfaces.
    pub fn queues(&mut self) -> Result<&mut Queues, PointError> {
        let queues = match self.queues.take() {
            Some(queues) => queues,
            None => Queues::open()?,
        };
        Ok(self.queues.insert(queues))
    }

    /// What is set where tasks are to be put back.
    pub fn found(&mut self, tasks: &[Task], run: &Run) -> Vec<Found> {
        tasks.iter().map(|task| self.found_at(task, run)).collect()
    }

    fn found_at(&mut self, task: &Task, run: &Run) -> Found {
        let earlier = (task.run == *run).then_some(&task.ours);
        let point = match self.of(&task.set) {
            Ok(point) => point,
            Err(error) => return Found::Untold(error.to_string()),
        };
        match point.read(&task.set, earlier) {
            Err(PointError::Gone(what)) => Found::Gone(what),
            Err(error) => Found::Untold(error.to_string()),
            Ok(_) if !point.tells() => {
                Found::Untold(format!("the machine does not tell the {}", task.set.point()))
            }
            Ok(now) if point.same(&now, &task.to) => Found::Old,
            Ok(now) if point.same(&now, &task.ours) => Found::Ours,
            Ok(now) => Found::Other(now.words),
        }
    }

    /// Whether a value is set; if not, what is set instead, in a sentence.
    pub fn check(&mut self, set: &Set, wanted: &Value) -> Result<(), PointError> {
        let point = self.of(set)?;
        let now = point.read(set, Some(wanted))?;
        if !point.tells() || point.same(&now, wanted) {
            return Ok(());
        }
        Err(PointError::Refused(format!(
            "the {} is {} instead of {}",
            set.point(),
            now.words,
            wanted.words
        )))
    }
}
