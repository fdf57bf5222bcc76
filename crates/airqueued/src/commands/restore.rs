//! `restore`.

use super::args::StateArgs;
use super::{Ground, Stop, ended, say};
use crate::carry::{Company, carry};
use crate::state::State;
use airqueue_control::transaction::Transaction;
use serde_json::json;

pub(super) fn run(args: &StateArgs) -> Result<(), Stop> {
    let state = State::open(args.directory())?;
    let mut ground = Ground::of(&state)?;
    let mut left_alone = Vec::new();
    let ours = ground.journal.change.is_some() || !ground.journal.kept.is_empty();
    if ground.journal.change.is_some() {
        left_alone.extend(ground.undo("restored on request", &state)?);
    }
    if !ground.journal.kept.is_empty() {
        let found = ground.points.found(&ground.journal.restoring(), &ground.run);
        let work = Transaction::restore(&ground.journal, &ground.run, &found);
        left_alone.extend(ended(carry(
            work,
            &ground.lock,
            &mut ground.points,
            Company::Guard(&state),
        ))?);
    }
    if args.json {
        let outcome = if ours { "restored" } else { "nothing of ours" };
        say(&json!({"outcome": outcome, "left_alone": left_alone}).to_string());
        return Ok(());
    }
    for what in &left_alone {
        say(&format!("Left as it is: {what}."));
    }
    say(if ours {
        "Everything else is as it was before the first plan."
    } else {
        "Nothing of ours is set."
    });
    Ok(())
}
