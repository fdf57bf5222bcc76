//! `confirm`.

use super::args::StateArgs;
use super::{Code, Ground, Stop, say};
use crate::guard;
use crate::state::State;
use airqueue_control::journal::Change;
use airqueue_control::point::PointError;
use serde_json::json;

pub(super) fn run(args: &StateArgs) -> Result<(), Stop> {
    let state = State::open(args.directory())?;
    let mut ground = Ground::of(&state)?;
    if let Some(why) = guard::reason(&ground.journal, &ground.run, &state)? {
        ground.undo(&why, &state)?;
        return Err(Stop::new(
            Code::NotNow,
            format!("too late: {why}; everything was put back. Apply it again"),
        ));
    }
    if ground.journal.ends_confirmed() {
        let points = ground.journal.kept.iter().map(|kept| kept.set.point()).collect();
        return told(args, points, "Nothing waits: the plan is confirmed already.");
    }
    let Some(Change::Applied { forward, .. }) = &ground.journal.change else {
        let last = ground.journal.last.map_or(String::new(), |last| format!(" (last: {last})"));
        return Err(Stop::new(Code::NotNow, format!("no plan waits to be confirmed{last}")));
    };
    for step in &forward.steps {
        ground.points.check(&step.set, &step.target).map_err(|error| {
            let who = match error {
                PointError::Gone(_) => "",
                _ => ": another program changed it",
            };
            let what = format!("{error}{who}; `airqueued restore`, then apply again");
            Stop::new(Code::NotNow, what)
        })?;
    }
    ground.lock.write(&ground.journal.confirmed())?;
    let points = forward.steps.iter().map(|step| step.set.point()).collect();
    told(args, points, "Confirmed. As it was before: airqueued restore")
}

fn told(args: &StateArgs, points: Vec<String>, sentence: &str) -> Result<(), Stop> {
    match args.json {
        true => say(&json!({"outcome": "confirmed", "points": points}).to_string()),
        false => say(sentence),
    }
    Ok(())
}
