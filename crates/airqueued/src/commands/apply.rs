//! `apply`.

use super::args::{ApplyArgs, Args};
use super::obeys::{self, Looked, Place};
use super::survey::{Line, survey};
use super::{Code, Ground, Stop, applied, elsewhere, say, show, this_run, why};
use crate::carry::{Company, carry};
use crate::points::Points;
use crate::state::State;
use airqueue_control::journal::{Forward, Journal, Step};
use airqueue_control::plan::{Plan, Set};
use airqueue_control::transaction::Transaction;
use airqueue_core::Span;
use clap::CommandFactory;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A plan of 256 settings with their reasons has less.
const LARGEST: u64 = 4 << 20;

pub(super) fn run(args: &ApplyArgs) -> Result<(), Stop> {
    if let (Some(look), Some(wait)) = (args.look, args.confirm)
        && look >= wait
    {
        let what = "the time of --look must be shorter than that of --confirm";
        Args::command().error(ErrorKind::ValueValidation, what).exit()
    }
    let plan = read(&args.plan)?;
    match args.confirm {
        Some(wait) => apply(args, plan, wait),
        None => dry_run(args, &plan),
    }
}

/// Reads a plan from a file, or from the standard input.
pub(super) fn read(path: &Path) -> Result<Plan, Stop> {
    let from = if path == Path::new("-") {
        "the standard input".into()
    } else {
        path.display().to_string()
    };
    let source: io::Result<Box<dyn Read>> = match path == Path::new("-") {
        true => Ok(Box::new(io::stdin())),
        false => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let mut text = String::new();
    source.and_then(|source| source.take(LARGEST + 1).read_to_string(&mut text)).map_err(
        |error| Stop::new(Code::Refused, format!("cannot read the plan {from}: {}", why(&error))),
    )?;
    if text.len() as u64 > LARGEST {
        return Err(Stop::new(
            Code::Refused,
            format!("{from} is longer than {LARGEST} bytes: it is no plan"),
        ));
    }
    // Editors may begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    Plan::read(text).map_err(|error| Stop::new(Code::Refused, format!("{from}: {error}")))
}

fn dry_run(args: &ApplyArgs, plan: &Plan) -> Result<(), Stop> {
    // Nothing is written, not even the directory.
    let (run, mut journal) = (this_run()?, Journal::default());
    if args.state.directory().exists() {
        let state = State::open(args.state.directory())?;
        journal = state.journal()?;
        elsewhere(&journal, &run, &state)?;
    }
    let survey = survey(plan, &journal, &run, &mut Points::default())?;
    if args.state.json {
        return show(&json!({"outcome": "dry run", "settings": survey.lines}).to_string());
    }
    for line in &survey.lines {
        show(&line.to_string())?;
    }
    let waiting = if journal.change.is_some() {
        " once the plan that waits is confirmed or restored"
    } else {
        ""
    };
    show(&format!(
        "Nothing was changed. Apply it{waiting}: airqueued apply {} --confirm 90s",
        args.plan.display()
    ))
}

fn print(lines: &[Line]) {
    for line in lines {
        say(&line.to_string());
    }
}

fn apply(args: &ApplyArgs, plan: Plan, wait: Span) -> Result<(), Stop> {
    let state = State::open(args.state.directory())?;
    must_last(&plan, &state)?;
    let mut ground = Ground::of(&state)?;
    ground.recover(&state)?;
    let survey = survey(&plan, &ground.journal, &ground.run, &mut ground.points)?;
    let (steps, lines) = (survey.changes(), survey.lines);
    if !args.state.json {
        print(&lines);
    }
    if steps.is_empty() {
        report(args, "already so", &lines, "All is so already; nothing was changed.");
        return Ok(());
    }
    let places = limited(&steps);
    let read_back = read_back(&steps, &mut ground.points);
    let forward = Forward { made_by: plan.made_by, run: ground.run.clone(), steps };
    let work = Transaction::apply(&ground.journal, forward, wait)
        .map_err(|why| Stop::new(Code::NotNow, why))?;
    applied(carry(work, &ground.lock, &mut ground.points, Company::Guard(&state)))?;
    // A confirmation may come while this process looks.
    drop(ground);
    let back =
        format!("It goes back in {} s unless you keep it: airqueued confirm", wait.as_secs_f64());
    match args.look.filter(|_| !places.is_empty()) {
        Some(time) => seen_to_obey(args, &lines, &places, time, &format!("{read_back}{back}")),
        None => {
            let seen = not_yet_seen(&places, args.look.is_some());
            report(args, "set", &lines, &format!("{read_back}{seen}{back}"));
            Ok(())
        }
    }
}

/// The places whose backlogs settings limit, each once.
fn limited(steps: &[Step]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for place in steps.iter().filter_map(|step| Place::of(&step.set)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// What is known of settings that have just been made.
fn read_back(steps: &[Step], points: &mut Points) -> &'static str {
    let told = |step: &Step| points.of(&step.set).is_ok_and(|point| point.tells());
    match steps.iter().all(told) {
        true => "Set and read back. ",
        false => "Set, and read back where the machine tells. ",
    }
}

fn not_yet_seen(places: &[Place], is_asked: bool) -> String {
    match (places.is_empty(), is_asked) {
        (true, false) => return String::new(),
        (true, true) => return "Nothing to look at: no setting limits a queue. ".to_owned(),
        (false, _) => {}
    }
    let looks: Vec<String> =
        places.iter().map(|place| format!("airqueued obeys {}", place.name())).collect();
    format!("Not yet seen to obey: fill the queue, and look: {}. ", looks.join(", "))
}

/// Looks, and calls the plan applied if every queue obeyed. The plan waits to be confirmed in any case.
fn seen_to_obey(
    args: &ApplyArgs,
    lines: &[Line],
    places: &[Place],
    time: Span,
    set: &str,
) -> Result<(), Stop> {
    if !args.state.json {
        say(set);
    }
    let (found, verdict) = match obeys::look(places, time) {
        Ok(found) => {
            let verdict = obeys::verdict(&found, args.state.json);
            (found, verdict)
        }
        // The plan is set all the same.
        Err(stop) => {
            (Vec::new(), Err(Stop::new(Code::Unknown, format!("not seen to obey: {}", stop.text))))
        }
    };
    let outcome = if verdict.is_ok() { "applied" } else { "set" };
    if args.state.json {
        let queues: Vec<_> = found.iter().map(Looked::json).collect();
        say(&document(args, outcome, lines, &queues).to_string());
    } else if verdict.is_ok() {
        say("Applied: seen to obey.");
    }
    verdict
}

/// What stays over a restart of the machine must not be set by a journal that does not.
pub(super) fn must_last(plan: &Plan, state: &State) -> Result<(), Stop> {
    let Some(lasting) = plan.settings.iter().find(|item| matches!(item.set, Set::Uci(_))) else {
        return Ok(());
    };
    if state.outlives() {
        return Ok(());
    }
    let (point, path) = (lasting.set.point(), state.path().display());
    let what = format!(
        "the {point} stays when the machine restarts, and the journal in {path} does not, since this directory is memory: give one on the flash, as --state /etc/airqueued"
    );
    Err(Stop::new(Code::Refused, what))
}

fn report(args: &ApplyArgs, outcome: &str, lines: &[Line], sentence: &str) {
    match args.state.json {
        true => say(&document(args, outcome, lines, &[]).to_string()),
        false => say(sentence),
    }
}

/// For programs. `queues` has what looks have shown.
fn document(args: &ApplyArgs, outcome: &str, lines: &[Line], queues: &[Value]) -> Value {
    let confirm_within_s = args.confirm.filter(|_| outcome != "already so").map(Span::as_secs_f64);
    json!({"outcome": outcome, "confirm_within_s": confirm_within_s, "settings": lines, "queues": queues})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::fs;

    #[test]
    fn what_is_no_plan_is_told_in_words_of_its_own() {
        let folder = Folder::new("plans");
        let cases: [(&str, &[u8], &str); 4] = [
            ("none", b"", ": No such file or directory"),
            ("bytes", b"\xff\xfe\xff", ": it is no text in UTF-8"),
            ("empty", b" \n", ": the plan is empty: a plan begins with {\"plan\": 1, ...}"),
            ("open", b"{", ": line 1, column 1: the text ends too early"),
        ];
        for (name, content, expected) in cases {
            let path = folder.path().join(name);
            if name != "none" {
                fs::write(&path, content).unwrap();
            }
            let told = read(&path).unwrap_err().text;
            assert!(told.ends_with(expected), "{told}");
        }
    }
}
