//! What a plan means on this machine: from what to what.

use super::{Code, Stop};
use crate::points::Points;
use airqueue_control::journal::{Journal, Kept, Run, Step};
use airqueue_control::plan::{Item, Plan};
use airqueue_control::point::{ControlPoint, PointError, Value};
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
    /// Whether it is so already.
    already: bool,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { point, from, to, why, .. } = self;
        if self.already {
            return write!(f, "{point}\n  is      {to} already\n  why     {why}");
        }
        write!(f, "{point}\n  from    {from}\n  to      {to}\n  why     {why}")?;
        self.interrupts.as_ref().map_or(Ok(()), |what| write!(f, "\n  but     {what}"))
    }
}

/// A plan on this machine.
pub(super) struct Survey {
    /// Every setting, for people.
    pub(super) lines: Vec<Line>,
    /// What has to be changed.
    pub(super) steps: Vec<Step>,
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
        match one(item, journal, run, points) {
            Ok((line, step)) => {
                survey.lines.push(line);
                survey.steps.extend(step);
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
) -> Result<(Line, Option<Step>), PointError> {
    let point = points.of(&item.set)?;
    let now = point.read(&item.set, None)?;
    let original = original(item, &now, journal, run, point);
    let aim = point.aim(&item.set, &now, &original)?;
    let already = point.tells() && point.same(&now, &aim.value);
    let line = Line {
        point: item.set.point(),
        from: now.words.clone(),
        to: aim.value.words.clone(),
        why: item.why.clone(),
        interrupts: aim.interrupts.filter(|_| !already),
        already,
    };
    let step = Step {
        set: item.set.clone(),
        why: item.why.clone(),
        original,
        before: now,
        target: aim.value,
    };
    Ok((line, (!already).then_some(step)))
}

/// What was set before our first plan. What a confirmed plan has set goes back to what was before that plan; but what
/// the machine has set since its restart, or has on a new device of the same name, is the system's.
fn original(
    item: &Item,
    now: &Value,
    journal: &Journal,
    run: &Run,
    point: &mut dyn ControlPoint,
) -> Value {
    let ours = |kept: &&Kept| match kept.run == *run {
        true => {
            point.read(&item.set, Some(&kept.ours)).is_ok_and(|same_device| same_device == *now)
        }
        false => point.tells() && point.same(now, &kept.ours),
    };
    journal.kept(&item.set).filter(ours).map_or_else(|| now.clone(), |kept| kept.original.clone())
}
