//! The plan in force, whose values a service changes.

use super::rdqm::Moves;
use crate::carry::{Company, carry};
use crate::commands::apply::must_last;
use crate::commands::survey::survey;
use crate::commands::{Code, Ground, PATIENCE, STEERED, Stop, applied, this_run};
use crate::points::Points;
use crate::state::{Locked, Post, State};
use airqueue_control::journal::{Change, Forward, Journal, Run, Step};
use airqueue_control::plan::{Plan, Set};
use airqueue_control::point::{PointError, Value};
use airqueue_control::transaction::Transaction;

/// The right to steer, and what is steered. The journal has what was before; when this process ends, the guard puts it back.
pub(super) struct Helm<'a> {
    state: &'a State,
    /// None if there is nothing to steer: then other plans may be applied.
    _post: Option<Post>,
    run: Run,
    points: Points,
    steps: Vec<Step>,
}

/// What became of a setting that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// As it was set.
    So,
    /// Another program, or the machine, had set it; it is ours again. What it was, in words.
    SetAgain(String),
    /// The thing is not there now; in a sentence.
    Gone(String),
}

impl<'a> Helm<'a> {
    /// Applies a plan, to be steered from now on.
    pub(super) fn take(state: &'a State, plan: &Plan) -> Result<Helm<'a>, Stop> {
        if plan.settings.is_empty() {
            let (run, points, steps) = (this_run()?, Points::default(), Vec::new());
            return Ok(Helm { state, _post: None, run, points, steps });
        }
        must_last(plan, state)?;
        let mut ground = Ground::of(state)?;
        ground.recover(state)?;
        let post = state.take_helm()?.ok_or_else(|| Stop::new(Code::NotNow, STEERED))?;
        let steps = survey(plan, &ground.journal, &ground.run, &mut ground.points)?.steps;
        let forward = Forward {
            made_by: plan.made_by.clone(),
            run: ground.run.clone(),
            steps: steps.clone(),
        };
        let work = Transaction::steer(&ground.journal, forward)
            .map_err(|why| Stop::new(Code::NotNow, why))?;
        applied(carry(work, &ground.lock, &mut ground.points, Company::Guard(state)))?;
        let Ground { run, points, .. } = ground;
        Ok(Helm { state, _post: Some(post), run, points, steps })
    }

    /// The settings as they are now.
    pub(super) fn settings(&self) -> impl ExactSizeIterator<Item = (&Set, &Value)> {
        self.steps.iter().map(|step| (&step.set, &step.target))
    }

    /// Changes the setting at a place in the plan. Returns the values before and after, in words; none if the thing is gone:
    /// it gets the value when there is another one.
    pub(super) fn turn(&mut self, at: usize, set: Set) -> Result<Option<(String, String)>, Stop> {
        let (lock, _) = ours(self.state)?;
        let turned = self.turned(at, &set);
        drop(lock);
        let step = &mut self.steps[at];
        step.set = set;
        match turned {
            Ok(target) => {
                let before = std::mem::replace(&mut step.target, target);
                Ok(Some((before.words, step.target.words.clone())))
            }
            Err(PointError::Gone(_)) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }

    /// Sets a value in the place of the one at a place in the plan, and reads it back.
    fn turned(&mut self, at: usize, set: &Set) -> Result<Value, PointError> {
        let step = &self.steps[at];
        let point = self.points.of(set)?;
        let read = point.read(set, Some(&step.target))?;
        let now = if point.tells() { read } else { step.target.clone() };
        let target = point.aim(set, &now, &step.original)?.value;
        point.put(set, &target)?;
        self.points.check(set, &target)?;
        Ok(target)
    }

    /// Moves flows between the classes of a queue.
    pub(super) fn classify(&mut self, moves: &Moves) -> Result<(), Stop> {
        let Moves { interface, handle, released, assigned } = moves;
        let _lock = ours(self.state)?;
        let queues = self.points.queues().map_err(refused)?;
        queues.classify(interface, *handle, released, assigned).map_err(refused)
    }

    /// Puts flows into their classes again whose filters another program has taken away. Returns how many there were.
    pub(super) fn reclassify(&mut self, moves: Moves) -> Result<usize, Stop> {
        let Moves { interface, handle, released, assigned } = moves;
        let queues = self.points.queues().map_err(refused)?;
        let assigned = queues.unclassified(&interface, handle, assigned).map_err(refused)?;
        let missing = assigned.len();
        if missing > 0 {
            self.classify(&Moves { interface, handle, released, assigned })?;
        }
        Ok(missing)
    }

    /// Sees to it that the setting at a place in the plan is as it was set last.
    pub(super) fn keep(&mut self, at: usize) -> Result<Kept, Stop> {
        let Step { set, target, .. } = self.steps[at].clone();
        let point = match self.points.of(&set) {
            Ok(point) => point,
            Err(error) => return Ok(Kept::Gone(error.to_string())),
        };
        match point.read(&set, Some(&target)) {
            Ok(now) if !point.tells() || point.same(&now, &target) => Ok(Kept::So),
            Ok(now) => {
                let _lock = ours(self.state)?;
                self.set_again(at, now.words)
            }
            Err(PointError::Gone(what)) => self.anew(at, what),
            Err(error) => Err(refused(error)),
        }
    }

    /// Sets what is gone anew if there is another one by the same name: an interface that was made again, a hostapd that was
    /// started again. What it has now is what it goes back to.
    fn anew(&mut self, at: usize, gone: String) -> Result<Kept, Stop> {
        let (lock, mut journal) = ours(self.state)?;
        let set = self.steps[at].set.clone();
        let point = self.points.of(&set).map_err(refused)?;
        let Ok(before) = point.read(&set, None) else { return Ok(Kept::Gone(gone)) };
        let target = match point.aim(&set, &before, &before) {
            Ok(aim) => aim.value,
            Err(error) => return Ok(Kept::Gone(error.to_string())),
        };
        let step = &mut self.steps[at];
        *step = Step { original: before.clone(), before, target, ..step.clone() };
        let words = step.before.words.clone();
        // The way back is known before the first change.
        let forward = Forward {
            made_by: journal.forward().map_or_else(String::new, |known| known.made_by.clone()),
            run: self.run.clone(),
            steps: self.steps.clone(),
        };
        journal.change = Some(Change::Steered(forward));
        lock.write(&journal)?;
        self.set_again(at, words)
    }

    /// Sets the value at a place in the plan, where there was another one.
    fn set_again(&mut self, at: usize, was: String) -> Result<Kept, Stop> {
        let Step { set, target, .. } = &self.steps[at];
        match self.points.of(set).and_then(|point| point.put(set, target)) {
            Ok(()) => Ok(Kept::SetAgain(was)),
            Err(PointError::Gone(what)) => Ok(Kept::Gone(what)),
            Err(error) => Err(refused(error)),
        }
    }

    /// Puts everything back. Returns what was left as it is.
    pub(super) fn leave(self, why: &str) -> Result<Vec<String>, Stop> {
        if self.steps.is_empty() {
            return Ok(Vec::new());
        }
        let mut ground = Ground::of(self.state)?;
        match ground.journal.change {
            Some(Change::Steered(_)) => ground.undo(why, self.state),
            // They were put back by another airqueued; what is under way now is its own.
            _ => Ok(Vec::new()),
        }
    }
}

/// The right to act, and the journal, if the settings are still this process's to change: `airqueued restore` takes them away.
fn ours(state: &State) -> Result<(Locked<'_>, Journal), Stop> {
    let lock = state.lock(PATIENCE)?;
    let journal = state.journal()?;
    match journal.change {
        Some(Change::Steered(_)) => Ok((lock, journal)),
        _ => Err(Stop::new(
            Code::NotNow,
            "the settings were put back by another airqueued: nothing is left to steer",
        )),
    }
}

fn refused(error: PointError) -> Stop {
    let code = if matches!(error, PointError::Denied(_)) { Code::Failed } else { Code::PutBack };
    Stop::new(code, error.to_string())
}
