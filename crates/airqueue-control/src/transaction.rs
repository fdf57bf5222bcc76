//! A plan is applied whole, or taken back whole: the order of journal, guard and changes, as a state machine.
//!
//! The driver carries out [`Transaction::action`], one after the other, and tells [`Transaction::on_result`] how it
//! went. It may be killed between any two of them, and within each of them. What it leaves is found in the journal:
//!
//! | journal | settings | whoever finds it |
//! |---|---|---|
//! | prepared | old | forgets the plan |
//! | applying | each old, new, or neither | puts all back |
//! | applied | new | waits for the deadline, then puts all back |
//! | steered | new, or what the steering process has set since | puts all back once that process has ended |
//! | back | each old, new, or neither | goes on putting back |
//! | no change | old, or new after a confirmation | nothing |
//!
//! The driver holds the lock of the journal all the time, and the kernel releases the lock when it dies. That is how
//! a guard knows.

use crate::journal::{Back, Change, Forward, Journal, Kept, Run, Task};
use crate::plan::Set;
use crate::point::Value;
use airqueue_core::{Span, Time};

/// What the driver is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'a> {
    /// Write the journal so that it survives a power cut.
    Write(&'a Journal),
    /// See to it that a guard runs: another process that puts everything back if this one dies.
    Guard,
    /// Set a value.
    Put(&'a Set, &'a Value),
    /// Read what is set and compare.
    Check(&'a Set, &'a Value),
    /// Nothing any more.
    End(&'a Outcome),
}

/// How an action went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// As it should; of a check: the value is the wanted one.
    Well,
    /// The thing is gone, with what was set; in a sentence.
    Gone(String),
    /// Not as it should; why, in a sentence.
    Badly(String),
}

/// How the transaction ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The plan is applied, and waits to be confirmed or is steered.
    Applied,
    /// Nothing was touched; why.
    NotBegun(String),
    /// Everything is as it was before; why.
    PutBack {
        /// Why it went back.
        why: String,
        /// What was left as it is, in sentences.
        left_alone: Vec<String>,
    },
    /// Everything is as it was before, and the journal could not be told so; why. The next try finds nothing to do.
    Unwritten(String),
    /// Some settings could not be put back; they stay in the journal, and the next try goes on.
    Stuck(Vec<String>),
}

/// What was found before a way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// What it goes back to.
    Old,
    /// What we set.
    Ours,
    /// Neither; in words.
    Other(String),
    /// The thing is gone; in a sentence.
    Gone(String),
    /// The machine does not tell; in a sentence.
    Untold(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Stage {
    Announce,
    CallGuard,
    Begin,
    Forward { step: usize, put: bool },
    Settle,
    CallHelp,
    TurnBack,
    Backward { left: usize, put: bool },
    Clear(Outcome),
    End(Outcome),
}

/// What an applied plan waits for.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// A confirmation, for so long.
    Confirm(Span),
    /// The end of the process that steers its values.
    Steer,
}

/// A change of the machine under way.
#[derive(Clone, Debug)]
pub struct Transaction {
    journal: Journal,
    stage: Stage,
    then: Then,
    /// What could not be put back, with the task.
    stuck: Vec<(Task, String)>,
}

impl Transaction {
    /// Applies a plan, which then waits so long to be confirmed. The error says why it must not be begun.
    pub fn apply(journal: &Journal, forward: Forward, wait: Span) -> Result<Transaction, String> {
        Transaction::begin(journal, forward, Then::Confirm(wait))
    }

    /// Applies a plan whose values a process then steers. The error says why it must not be begun.
    pub fn steer(journal: &Journal, forward: Forward) -> Result<Transaction, String> {
        Transaction::begin(journal, forward, Then::Steer)
    }

    fn begin(journal: &Journal, forward: Forward, then: Then) -> Result<Transaction, String> {
        if journal.change.is_some() {
            return Err(
                "another plan is steered, or waits to be confirmed or put back: confirm or restore it first"
                    .into(),
            );
        }
        let mut journal = journal.clone();
        journal.change = Some(Change::Prepared(forward));
        Ok(Transaction { journal, stage: Stage::Announce, then, stuck: Vec::new() })
    }

    /// Takes the change under way back, or ends the way back that another process began. `found` are the values at
    /// [`Journal::undoing`], in that order.
    pub fn undo(journal: &Journal, now: &Run, why: &str, found: &[Found]) -> Transaction {
        let half_done = matches!(
            journal.change,
            Some(Change::Applying(_) | Change::Steered(_) | Change::Back(_))
        );
        let (why, then) = match &journal.change {
            Some(Change::Back(back)) => (back.why.clone(), back.then.clone()),
            _ => (why.to_owned(), journal.kept.clone()),
        };
        if matches!(journal.change, Some(Change::Prepared(_)) | None) {
            let back = Back { why, tasks: Vec::new(), left_alone: Vec::new(), then };
            return Transaction::back(journal, back);
        }
        let back = sorted(journal.undoing(), now, half_done, found, why, then);
        Transaction::back(journal, back)
    }

    /// Puts everything back that confirmed plans have set. `found` are the values at [`Journal::restoring`], in that
    /// order. No change may be under way.
    pub fn restore(journal: &Journal, now: &Run, found: &[Found]) -> Transaction {
        let why = "restored on request".to_owned();
        Transaction::back(journal, sorted(journal.restoring(), now, false, found, why, Vec::new()))
    }

    fn back(journal: &Journal, back: Back) -> Transaction {
        let mut journal = journal.clone();
        journal.change = Some(Change::Back(back));
        Transaction { journal, stage: Stage::CallHelp, then: Then::Steer, stuck: Vec::new() }
    }

    /// What is to be done now.
    pub fn action(&self) -> Action<'_> {
        match &self.stage {
            Stage::Announce | Stage::Begin | Stage::Settle | Stage::TurnBack | Stage::Clear(_) => {
                Action::Write(&self.journal)
            }
            Stage::CallGuard | Stage::CallHelp => Action::Guard,
            Stage::Forward { step, put } => {
                let step = &self.forward().steps[*step];
                at(*put, &step.set, &step.target)
            }
            Stage::Backward { left, put } => {
                let task = &self.tasks()[*left - 1];
                at(*put, &task.set, &task.to)
            }
            Stage::End(outcome) => Action::End(outcome),
        }
    }

    /// The journal as it is to be, or was last, written.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether it puts values back.
    pub fn goes_back(&self) -> bool {
        matches!(self.journal.change, Some(Change::Back(_)))
    }

    /// How the action went, at the time since the machine started.
    pub fn on_result(&mut self, done: Done, now: Time) {
        self.stage = match (self.stage.clone(), done) {
            (Stage::Announce, Done::Well) => Stage::CallGuard,
            (Stage::CallGuard, Done::Well) => {
                self.advance(Change::Applying);
                Stage::Begin
            }
            (
                Stage::Announce | Stage::CallGuard | Stage::Begin,
                Done::Badly(why) | Done::Gone(why),
            ) => self.forget(why),
            (Stage::Begin, Done::Well) => self.step(0, now),
            (Stage::Forward { step, put: true }, Done::Well) => Stage::Forward { step, put: false },
            (Stage::Forward { step, put: false }, Done::Well) => self.step(step + 1, now),
            (Stage::Forward { step, .. }, Done::Badly(why) | Done::Gone(why)) => {
                self.turn(step + 1, why)
            }
            (Stage::Settle, Done::Well) => Stage::End(Outcome::Applied),
            (Stage::Settle, Done::Badly(why) | Done::Gone(why)) => {
                let all = self.forward().steps.len();
                self.turn(all, why)
            }
            // The way back does not wait for help.
            (Stage::CallHelp, _) => Stage::TurnBack,
            // Nor for a disk that is full: a journal of a plan under way leads back as well, and a restore is wanted
            // even if nobody could end it.
            (Stage::TurnBack, _) => self.task(self.tasks().len()),
            (Stage::Backward { left, put: true }, Done::Well) => {
                Stage::Backward { left, put: false }
            }
            (Stage::Backward { left, put: false }, Done::Well) => self.task(left - 1),
            (Stage::Backward { left, .. }, Done::Gone(what)) => {
                self.back_mut().left_alone.push(what);
                self.task(left - 1)
            }
            (Stage::Backward { left, .. }, Done::Badly(why)) => {
                let task = self.tasks()[left - 1].clone();
                self.stuck.insert(0, (task, why));
                self.task(left - 1)
            }
            // The settings are back, and whoever reads the old journal finds nothing to do.
            (Stage::Clear(Outcome::PutBack { .. }), Done::Badly(why) | Done::Gone(why)) => {
                Stage::End(Outcome::Unwritten(why))
            }
            (Stage::Clear(outcome), _) | (Stage::End(outcome), _) => Stage::End(outcome),
        };
    }

    /// The next step forward, or the end of the way.
    fn step(&mut self, step: usize, now: Time) -> Stage {
        if step < self.forward().steps.len() {
            return Stage::Forward { step, put: true };
        }
        match self.then {
            Then::Confirm(wait) => {
                let deadline_ns = (now + wait).as_nanos();
                self.advance(|forward| Change::Applied { forward, deadline_ns });
            }
            Then::Steer => self.advance(Change::Steered),
        }
        Stage::Settle
    }

    /// Turns back because of the step before `steps`.
    fn turn(&mut self, steps: usize, why: String) -> Stage {
        let mut tasks = self.journal.undoing();
        tasks.truncate(steps);
        let then = self.journal.kept.clone();
        self.journal.change = Some(Change::Back(Back { why, tasks, left_alone: Vec::new(), then }));
        Stage::TurnBack
    }

    /// The next task back; there are `left` of them. After the last one the journal forgets the change, or keeps what
    /// could not be put back.
    fn task(&mut self, left: usize) -> Stage {
        if left > 0 {
            return Stage::Backward { left, put: true };
        }
        let back = self.back_mut().clone();
        if self.stuck.is_empty() {
            self.journal.kept = back.then;
            self.journal.last = Some(back.why.clone());
            self.journal.change = None;
            return Stage::Clear(Outcome::PutBack { why: back.why, left_alone: back.left_alone });
        }
        self.back_mut().tasks = self.stuck.iter().map(|(task, _)| task.clone()).collect();
        let stuck = |(task, why): &(Task, String)| format!("{}: {why}", task.set.point());
        Stage::Clear(Outcome::Stuck(self.stuck.iter().map(stuck).collect()))
    }

    fn forget(&mut self, why: String) -> Stage {
        self.journal.change = None;
        Stage::Clear(Outcome::NotBegun(why))
    }

    fn forward(&self) -> &Forward {
        self.journal.forward().expect("steps forward are those of a plan")
    }

    fn advance(&mut self, state: impl FnOnce(Forward) -> Change) {
        let forward = self.forward().clone();
        self.journal.change = Some(state(forward));
    }

    fn tasks(&self) -> &[Task] {
        match &self.journal.change {
            Some(Change::Back(back)) => &back.tasks,
            _ => &[],
        }
    }

    fn back_mut(&mut self) -> &mut Back {
        match &mut self.journal.change {
            Some(Change::Back(back)) => back,
            _ => unreachable!("tasks back are those of a way back"),
        }
    }
}

fn at<'a>(put: bool, set: &'a Set, value: &'a Value) -> Action<'a> {
    if put { Action::Put(set, value) } else { Action::Check(set, value) }
}

/// What of the tasks is to be done. If the change was half done in this run of the machine, or steered, whatever is found
/// is a remainder of it. Otherwise others may have set something since, which stays; and after a restart of the machine the
/// settings are the system's again.
fn sorted(
    tasks: Vec<Task>,
    now: &Run,
    half_done: bool,
    found: &[Found],
    why: String,
    then: Vec<Kept>,
) -> Back {
    let mut back = Back { why, tasks: Vec::new(), left_alone: Vec::new(), then };
    for (task, found) in tasks.into_iter().zip(found) {
        let same_run = task.run == *now;
        match found {
            Found::Old => {}
            Found::Ours => back.tasks.push(task),
            Found::Gone(what) => back.left_alone.push(what.clone()),
            Found::Other(_) if half_done && same_run => back.tasks.push(task),
            Found::Untold(_) if same_run => back.tasks.push(task),
            Found::Other(what) => {
                let who = if same_run { "another program" } else { "the machine's start" };
                back.left_alone
                    .push(format!("the {} was set by {who} to {what}", task.set.point()));
            }
            Found::Untold(what) => back.left_alone.push(what.clone()),
        }
    }
    back
}

#[cfg(test)]
mod tests;
