//! `status`.

use super::args::StateArgs;
use super::{Stop, show, this_run};
use crate::machine;
use crate::points::Points;
use crate::state::State;
use airqueue_control::journal::{Change, Journal, Run, Task};
use airqueue_control::transaction::Found;
use serde::Serialize;
use serde_json::json;

/// A setting of ours.
#[derive(Serialize)]
struct Line {
    /// What is set.
    point: String,
    /// To what we set it.
    ours: String,
    /// To what it goes back.
    before: String,
    /// What it is now.
    now: String,
    /// Whether it waits to be confirmed.
    waits: bool,
}

pub(super) fn run(args: &StateArgs) -> Result<(), Stop> {
    let known = args.directory().exists();
    let (journal, guarded) = match known {
        true => {
            let state = State::open(args.directory())?;
            (state.journal()?, state.is_guarded()?)
        }
        false => (Journal::default(), false),
    };
    let run = this_run()?;
    let mut points = Points::default();
    let mut lines = Vec::new();
    for (tasks, waits) in [(journal.restoring(), false), (journal.undoing(), true)] {
        let found = points.found(&tasks, &run);
        lines.extend(
            tasks.into_iter().zip(found).map(|(task, found)| line(task, found, waits, &run)),
        );
    }
    let (state, left_s) = match &journal.change {
        None if journal.kept.is_empty() => ("nothing of ours", None),
        None => ("confirmed", None),
        Some(Change::Prepared(_) | Change::Applying(_)) => ("applying", None),
        Some(Change::Applied { deadline_ns, .. }) => {
            let left_ns = deadline_ns.saturating_sub(machine::now().as_nanos());
            ("waits to be confirmed", Some(left_ns.max(0) as f64 / 1e9))
        }
        Some(Change::Steered(_)) => ("steered", None),
        Some(Change::Back(_)) => ("going back", None),
    };
    if args.json {
        return show(&json!({"state": state, "left_s": left_s, "guarded": guarded, "settings": lines, "last": journal.last}).to_string());
    }
    for Line { point, ours, before, now, .. } in &lines {
        show(&format!("{point}\n  ours    {ours}\n  before  {before}\n  now     {now}"))?;
    }
    let left = left_s.map_or(String::new(), |left_s| format!(", {left_s:.0} s left"));
    let guard = if guarded { ", guarded" } else { "" };
    let last = journal.last.map_or(String::new(), |last| format!(" (last: {last})"));
    let missing = match known {
        true => String::new(),
        false => format!(" (there is no {})", args.directory().display()),
    };
    show(&format!("State: {state}{missing}{left}{guard}{last}."))
}

fn line(task: Task, found: Found, waits: bool, run: &Run) -> Line {
    let now = match found {
        // What was found is another thing of that name.
        _ if task.run.is_elsewhere(run) => "in another network namespace: ask there".to_owned(),
        Found::Old => task.to.words.clone(),
        Found::Ours => task.ours.words.clone(),
        Found::Other(words) | Found::Gone(words) | Found::Untold(words) => words,
    };
    Line { point: task.set.point(), ours: task.ours.words, before: task.to.words, now, waits }
}
