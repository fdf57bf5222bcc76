//! The journal: what was set before us and what we set, written before the first change.
//!
//! A change of the machine is one plan, or the way back. The journal knows one change at a time; each of its states is
//! replaced as a whole, so that whoever finds it after a crash knows what may be half done.

use crate::plan::Set;
use crate::point::Value;
use serde::{Deserialize, Serialize};

/// The version that this code reads and writes.
pub const VERSION: u32 = 1;

/// A run of the machine, within which settings that the machine forgets at a restart stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The boot's identity (Linux: `/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The network namespace, in which names of interfaces mean something.
    pub namespace: u64,
}

impl Run {
    /// Whether it is another network namespace of the same run of the machine: names of interfaces mean others there.
    pub fn is_elsewhere(&self, now: &Run) -> bool {
        self.boot == now.boot && self.namespace != now.namespace
    }
}

/// Everything that has to be known to put settings back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// Version of this format: 1.
    pub journal: u32,
    /// What confirmed plans have set.
    pub kept: Vec<Kept>,
    /// What is under way.
    pub change: Option<Change>,
    /// How the last change ended, in a sentence.
    pub last: Option<String>,
}

/// [`Journal::last`] of a plan that was confirmed.
const CONFIRMED: &str = "the plan was confirmed";

impl Default for Journal {
    fn default() -> Journal {
        Journal { journal: VERSION, kept: Vec::new(), change: None, last: None }
    }
}

/// A setting of a confirmed plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// What is set.
    pub set: Set,
    /// Why, in the plan's words.
    pub why: String,
    /// What was set before our first plan.
    pub original: Value,
    /// What the plan set.
    pub ours: Value,
    /// When it was set.
    pub run: Run,
}

/// A change that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// The old values are known; nothing has been touched.
    Prepared(Forward),
    /// Settings are being changed, in the order of the steps.
    Applying(Forward),
    /// All is changed. It goes back unless it is confirmed.
    Applied {
        /// What was changed.
        forward: Forward,
        /// Until when it may be confirmed, ns since the machine started, sleep included.
        deadline_ns: i64,
    },
    /// All is changed, and a process goes on changing the values. All goes back when the process ends.
    Steered(Forward),
    /// Settings are being put back.
    Back(Back),
}

/// A plan on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// Who wrote the plan.
    pub made_by: String,
    /// When it was begun.
    pub run: Run,
    /// Its settings.
    pub steps: Vec<Step>,
}

/// A setting of a plan on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is set.
    pub set: Set,
    /// Why, in the plan's words.
    pub why: String,
    /// What was set before our first plan.
    pub original: Value,
    /// What was set before this plan.
    pub before: Value,
    /// What this plan sets.
    pub target: Value,
}

/// The way back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// Why it goes back, in a sentence.
    pub why: String,
    /// What is to be put back, in the order in which it had been set. The last one is put back first.
    pub tasks: Vec<Task>,
    /// What is left as it is, in sentences.
    pub left_alone: Vec<String>,
    /// Which settings of ours stay.
    pub then: Vec<Kept>,
}

/// Something to be put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What was set.
    pub set: Set,
    /// What we set.
    pub ours: Value,
    /// What it goes back to.
    pub to: Value,
    /// When we set it.
    pub run: Run,
}

impl Journal {
    /// Reads a journal.
    pub fn read(text: &str) -> Result<Journal, String> {
        let mut source = serde_json::Deserializer::from_str(text);
        let journal: Journal = serde_path_to_error::deserialize(&mut source).map_err(|e| {
            let path = e.path().to_string();
            format!("{path}: {}", e.into_inner())
        })?;
        source.end().map_err(|e| e.to_string())?;
        match journal.journal {
            VERSION => Ok(journal),
            other => Err(format!("its version is {other}; this program reads version {VERSION}")),
        }
    }

    /// The version of a journal, whatever else the text has.
    pub fn version(text: &str) -> Option<u64> {
        let json: serde_json::Value = serde_json::from_str(text).ok()?;
        json.get("journal")?.as_u64()
    }

    /// The journal as text.
    pub fn write(&self) -> String {
        serde_json::to_string_pretty(self).expect("a journal is JSON")
    }

    /// The setting that a confirmed plan has made at the same point.
    pub fn kept(&self, set: &Set) -> Option<&Kept> {
        let point = set.point();
        self.kept.iter().find(|kept| kept.set.point() == point)
    }

    /// The plan under way: being applied, to be confirmed, or steered.
    pub fn forward(&self) -> Option<&Forward> {
        match &self.change {
            Some(Change::Prepared(forward) | Change::Applying(forward)) => Some(forward),
            Some(Change::Steered(forward)) => Some(forward),
            Some(Change::Applied { forward, .. }) => Some(forward),
            Some(Change::Back(_)) | None => None,
        }
    }

    /// What is to be put back to have the settings before the change under way.
    pub fn undoing(&self) -> Vec<Task> {
        match &self.change {
            Some(Change::Back(back)) => back.tasks.clone(),
            _ => self.forward().map(Forward::tasks).unwrap_or_default(),
        }
    }

    /// What is to be put back to have the settings before our first plan, once no change is under way.
    pub fn restoring(&self) -> Vec<Task> {
        let task = |kept: &Kept| Task {
            set: kept.set.clone(),
            ours: kept.ours.clone(),
            to: kept.original.clone(),
            run: kept.run.clone(),
        };
        self.kept.iter().map(task).collect()
    }

    /// Whether nothing is under way since a plan was confirmed.
    pub fn ends_confirmed(&self) -> bool {
        self.change.is_none() && !self.kept.is_empty() && self.last.as_deref() == Some(CONFIRMED)
    }

    /// The journal once the plan that waits is confirmed.
    pub fn confirmed(&self) -> Journal {
        let mut journal = self.clone();
        let Some(Change::Applied { forward, .. }) = journal.change.take() else {
            return self.clone();
        };
        for step in forward.steps {
            let point = step.set.point();
            journal.kept.retain(|kept| kept.set.point() != point);
            journal.kept.push(Kept {
                set: step.set,
                why: step.why,
                original: step.original,
                ours: step.target,
                run: forward.run.clone(),
            });
        }
        journal.last = Some(CONFIRMED.into());
        journal
    }
}

impl Forward {
    fn tasks(&self) -> Vec<Task> {
        let task = |step: &Step| Task {
            set: step.set.clone(),
            ours: step.target.clone(),
            to: step.before.clone(),
            run: self.run.clone(),
        };
        self.steps.iter().map(task).collect()
    }
}
