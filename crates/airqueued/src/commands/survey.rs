//! What a plan means on this machine: from what to what.

use super::{Code, Stop};
use crate::points::Points;
use crate::radio::facts;
use airqueue_control::journal::{Journal, Kept, Run, Step};
use airqueue_control::places::holds_queue;
use airqueue_control::plan::{Item, Plan, QueueOf, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use serde::Serialize;
use std::fmt;

/// A setting of a plan on this machine.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// What is set.
    point: String,
    /// What it is now.
    from: String,
    /// What it becomes.
    to: String,
    /// Why.
    why: String,
    /// What happens to others.
    interrupts: Option<String>,
    /// Why no packet will wait in this queue.
    stays_empty: Option<String>,
    /// Whether it is so already.
    already: bool,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { point, from, to, why, .. } = self;
        match self.already {
            true => write!(f, "{point}\n  is      {to} already\n  why     {why}")?,
            false => write!(f, "{point}\n  from    {from}\n  to      {to}\n  why     {why}")?,
        }
        let mut but = self.interrupts.iter().chain(&self.stays_empty);
        but.try_for_each(|what| write!(f, "\n  but     {what}"))
    }
}

/// A plan on this machine.
pub(super) struct Survey {
    /// Every setting, for people.
    pub(super) lines: Vec<Line>,
    /// Every setting, for the journal, in the same order.
    pub(super) steps: Vec<Step>,
}

impl Survey {
    /// What has to be changed.
    pub(super) fn changes(&self) -> Vec<Step> {
        let changes = self.lines.iter().zip(&self.steps).filter(|(line, _)| !line.already);
        changes.map(|(_, step)| step.clone()).collect()
    }
}

/// Reads everything that a plan sets. All settings that this machine cannot hold are named together.
pub(super) fn survey(
    plan: &Plan,
    journal: &Journal,
    run: &Run,
    points: &mut Points,
) -> Result<Survey, Stop> {
    let mut survey = Survey { lines: Vec::new(), steps: Vec::new() };
    let (mut refusals, mut denied) = (Vec::new(), false);
    for (index, item) in plan.settings.iter().enumerate() {
        let surveyed = one(item, journal, run, points).and_then(|(line, step)| {
            has_one_name(&step, &survey.steps, journal, run)?;
            Ok((line, step))
        });
        match surveyed {
            Ok((line, step)) => {
                survey.lines.push(line);
                survey.steps.push(step);
            }
            Err(error) => {
                denied |= matches!(error, PointError::Denied(_));
                refusals.push(format!("settings[{index}]: {error}"));
            }
        }
    }
    match refusals.is_empty() {
        true => Ok(survey),
        false => Err(Stop::new(
            if denied { Code::Failed } else { Code::Refused },
            refusals.join("\nairqueued: "),
        )),
    }
}

fn one(
    item: &Item,
    journal: &Journal,
    run: &Run,
    points: &mut Points,
) -> Result<(Line, Step), PointError> {
    let stays_empty = match &item.set {
        Set::Queue(queue) => fills(queue)?,
        _ => None,
    };
    let point = points.of(&item.set)?;
    let now = point.read(&item.set, None)?;
    let kept = kept(item, &now, journal, run, point);
    let original = kept.map_or_else(|| now.clone(), |kept| kept.original.clone());
    // What the machine does not tell is what our last plan has set.
    let now = kept.filter(|_| !point.tells()).map_or(now, |kept| kept.ours.clone());
    // The same setting as that of a confirmed plan. What it leaves open is as it was then.
    let same = |kept: &&Kept| kept.set == item.set && point.tells() && point.same(&now, &kept.ours);
    let same = journal.kept(&item.set).filter(same);
    let outdated = same.is_some() && point.is_outdated(&item.set, &now)?;
    let (aim, already) = match same.filter(|_| !outdated) {
        Some(kept) => (Aim { value: kept.ours.clone(), interrupts: None }, true),
        None => {
            let aim = point.aim(&item.set, &now, &original)?;
            let already = point.tells() && point.same(&now, &aim.value);
            (aim, already)
        }
    };
    let line = Line {
        point: item.set.point(),
        from: now.words.clone(),
        to: aim.value.words.clone(),
        why: item.why.clone(),
        interrupts: aim.interrupts.filter(|_| !already),
        stays_empty,
        already,
    };
    let (set, why, target) = (item.set.clone(), item.why.clone(), aim.value);
    let step = Step { set, why, original, before: now, target };
    Ok((line, step))
}

/// Refuses an interface that the plan, or a confirmed plan, sets under another name, an alternative one or a former one: what
/// was before the first of the two would not come back.
fn has_one_name(
    step: &Step,
    earlier: &[Step],
    journal: &Journal,
    run: &Run,
) -> Result<(), PointError> {
    let Some((name, number)) = interface(&step.set, &step.before) else { return Ok(()) };
    let other =
        |set, value| interface(set, value).filter(|&(other, same)| other != name && same == number);
    if let Some((other, _)) = earlier.iter().find_map(|step| other(&step.set, &step.before)) {
        let what = "which the plan sets as well; keep one of the two";
        return Err(PointError::Refused(format!("{name} is another name of {other}, {what}")));
    }
    let mut kept = journal.kept.iter().filter(|kept| kept.run == *run);
    match kept.find_map(|kept| other(&kept.set, &kept.ours)) {
        Some((other, _)) => Err(PointError::Refused(format!(
            "a confirmed plan has set {name} as {other}; `airqueued restore` first"
        ))),
        None => Ok(()),
    }
}

/// Name and number of the interface whose queue is set.
fn interface<'a>(set: &'a Set, value: &Value) -> Option<(&'a str, u64)> {
    let Set::Queue(queue) = set else { return None };
    Some((&queue.interface, value.raw.get("index")?.as_u64()?))
}

/// Refuses a queue of a radio in which no packet would wait. Of other interfaces it says why none will.
fn fills(of: &QueueOf) -> Result<Option<String>, PointError> {
    let refused = |error: &dyn fmt::Display| PointError::Refused(error.to_string());
    // Of an interface that is not there the control point speaks.
    match facts::of(&of.interface).map_err(|error| refused(&error))? {
        Some(facts) => holds_queue(&facts, &of.queue).map_err(|error| refused(&error)),
        None => Ok(None),
    }
}

/// What a confirmed plan has set, if that is still so. It goes back to what was before that plan; but what the machine
/// has set since its restart, or has on a new device of the same name, is the system's.
fn kept<'a>(
    item: &Item,
    now: &Value,
    journal: &'a Journal,
    run: &Run,
    point: &mut dyn ControlPoint,
) -> Option<&'a Kept> {
    let ours = |kept: &&Kept| match kept.run == *run {
        true => {
            point.read(&item.set, Some(&kept.ours)).is_ok_and(|same_device| same_device == *now)
        }
        false => point.tells() && point.same(now, &kept.ours),
    };
    journal.kept(&item.set).filter(ours)
}
