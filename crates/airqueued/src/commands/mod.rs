//! The commands.

mod apply;
pub mod args;
mod confirm;
mod flows;
mod looks;
mod obeys;
mod places;
mod restore;
mod service;
mod status;
mod survey;
pub mod watch;

use crate::carry::{Company, carry};
use crate::guard;
use crate::machine;
use crate::points::Points;
use crate::state::{Locked, State, StateError};
use airqueue_control::journal::{Change, Journal, Run};
use airqueue_control::transaction::{Outcome, Transaction};
use args::{Args, Command};
use clap::CommandFactory;
use clap::error::ErrorKind;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long a command waits for another one that acts.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why nothing else changes settings while a service does.
const STEERED: &str =
    "another airqueued steers settings: stop it first, or change its configuration";

/// Why a command did not do what was asked, and the program's exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Stop {
    code: Code,
    text: String,
}

/// Exit codes; [`args`] describes them for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// The operating system refused something.
    Failed = 1,
    /// The plan is wrong or cannot be applied here.
    Refused = 3,
    /// Not at this time.
    NotNow = 4,
    /// It was tried, and all is as before.
    PutBack = 5,
    /// Some settings could not be put back.
    Stuck = 6,
    /// A queue holds more than its limit.
    Disobeys = 7,
    /// A queue did not fill.
    Unknown = 8,
}

impl Stop {
    fn new(code: Code, text: impl Into<String>) -> Stop {
        Stop { code, text: text.into() }
    }
}

impl From<StateError> for Stop {
    fn from(error: StateError) -> Stop {
        let code = if matches!(error, StateError::Busy) { Code::NotNow } else { Code::Failed };
        Stop::new(code, error.to_string())
    }
}

/// Why a file cannot be read, in the system's words without its number.
fn why(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::InvalidData {
        return "it is no text in UTF-8".to_owned();
    }
    let words = error.to_string();
    words.split(" (os error ").next().unwrap_or_default().to_owned()
}

/// Runs a command.
pub fn run(args: &Args) -> ExitCode {
    let began = Instant::now();
    tell(args, format_args!("version {}", env!("CARGO_PKG_VERSION")));
    let code = carry_out(args);
    tell(args, format_args!("took {:.3} s", began.elapsed().as_secs_f64()));
    code
}

/// Says what is done, to who asked for that.
fn tell(args: &Args, what: fmt::Arguments<'_>) {
    if args.talk.verbose {
        let _ = writeln!(std::io::stderr(), "airqueued: {what}");
    }
}

fn carry_out(args: &Args) -> ExitCode {
    let command = match (&args.command, &args.service.config) {
        (Some(command), _) => command,
        (None, Some(config)) => {
            tell(args, format_args!("reading {}", config.display()));
            return exit(service::run(config, &args.service.state));
        }
        (None, None) => {
            let what = "give a command, or a configuration by --config FILE";
            Args::command().error(ErrorKind::MissingRequiredArgument, what).exit()
        }
    };
    if let Command::Apply(given) = command {
        tell(args, format_args!("reading {}", given.plan.display()));
    }
    exit(match command {
        Command::Apply(args) => apply::run(args),
        Command::Confirm(args) => confirm::run(args),
        Command::Restore(args) => restore::run(args),
        Command::Status(args) => status::run(args),
        Command::Places(args) => places::run(args),
        Command::Obeys(args) => obeys::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Flows(args) => flows::run(args),
        Command::Guard(args) => {
            State::open(args.directory()).and_then(|state| guard::stand(&state)).map_err(Stop::from)
        }
    })
}

/// The program's exit code; an error is told.
fn exit(done: Result<(), Stop>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop { code, text }) => {
            let _ = writeln!(std::io::stderr(), "airqueued: {text}");
            ExitCode::from(code as u8)
        }
    }
}

/// Says a line about what was done, which stays done whether or not somebody can read the line.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints a line of what was asked for. A reader that went away is no reason to fail.
fn show(text: &str) -> Result<(), Stop> {
    print(text).map(|_| ())
}

/// Prints a line, and returns whether there is still a reader.
fn print(text: &str) -> Result<bool, Stop> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(unwritten(&error)),
    }
}

fn unwritten(error: &std::io::Error) -> Stop {
    Stop::new(Code::Failed, format!("the output cannot be written: {error}"))
}

/// Prints what clap says in place of a run: a help, a version, or what is wrong in the arguments.
pub fn refuse(said: &clap::Error) -> ExitCode {
    match said.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            exit(Err(unwritten(&error)))
        }
        _ => ExitCode::from(u8::try_from(said.exit_code()).expect("clap's codes are 0 and 2")),
    }
}

/// What commands that act begin with: the lock, the journal, and this run of the machine.
struct Ground<'a> {
    lock: Locked<'a>,
    journal: Journal,
    run: Run,
    points: Points,
}

impl Ground<'_> {
    fn of(state: &State) -> Result<Ground<'_>, Stop> {
        machine::not_to_be_stopped();
        let lock = state.lock(PATIENCE)?;
        let journal = state.journal()?;
        let run = this_run()?;
        elsewhere(&journal, &run, state)?;
        Ok(Ground { lock, journal, run, points: Points::default() })
    }

    /// Ends what another process left half done. A plan that waits to be confirmed, or is steered, stays.
    fn recover(&mut self, state: &State) -> Result<(), Stop> {
        let not_now = |why| Err(Stop::new(Code::NotNow, why));
        match (guard::reason(&self.journal, &self.run, state)?, &self.journal.change) {
            (Some(why), _) => self.undo(&why, state).map(|_| ()),
            (None, Some(Change::Applied { .. })) => not_now(
                "another plan waits to be confirmed: `airqueued confirm` or `airqueued restore` it first",
            ),
            (None, Some(_)) => not_now(STEERED),
            (None, None) => Ok(()),
        }
    }

    /// Puts back what is under way. Returns what was left as it is.
    fn undo(&mut self, why: &str, state: &State) -> Result<Vec<String>, Stop> {
        let found = self.points.found(&self.journal.undoing(), &self.run);
        let work = Transaction::undo(&self.journal, &self.run, why, &found);
        let outcome = carry(work, &self.lock, &mut self.points, Company::Guard(state));
        self.journal = state.journal()?;
        ended(outcome)
    }
}

fn this_run() -> Result<Run, Stop> {
    machine::run().map_err(|error| {
        Stop::new(
            Code::Failed,
            format!("cannot tell this run of the machine: {error}; is /proc mounted?"),
        )
    })
}

/// Names of interfaces mean others in another network namespace.
fn elsewhere(journal: &Journal, now: &Run, state: &State) -> Result<(), Stop> {
    let mut runs = journal.undoing().into_iter().chain(journal.restoring()).map(|task| task.run);
    let other = runs.find(|run| run.is_elsewhere(now));
    other.map_or(Ok(()), |_| {
        let path = state.path().join("journal.json");
        let what = format!(
            "{} is about another network namespace: run airqueued there, or give another --state; if that namespace is gone, its settings are too: remove the file",
            path.display()
        );
        Err(Stop::new(Code::NotNow, what))
    })
}

/// The end of a plan's application.
fn applied(outcome: Outcome) -> Result<(), Stop> {
    match outcome {
        Outcome::Applied => Ok(()),
        Outcome::PutBack { why, left_alone } => {
            let rest = left_alone.iter().map(|what| format!("; {what}")).collect::<String>();
            Err(Stop::new(Code::PutBack, format!("{why}. Everything was put back{rest}")))
        }
        outcome => ended(outcome).map(|_| ()),
    }
}

/// The end of a way back as the result of a command that was to lead there.
fn ended(outcome: Outcome) -> Result<Vec<String>, Stop> {
    match outcome {
        Outcome::PutBack { left_alone, .. } => Ok(left_alone),
        Outcome::Applied => Ok(Vec::new()),
        Outcome::NotBegun(why) => Err(Stop::new(Code::Failed, why)),
        Outcome::Unwritten(why) => {
            let text =
                format!("everything was put back, but {why}; then try `airqueued restore` again");
            Err(Stop::new(Code::Stuck, text))
        }
        Outcome::Stuck(what) => {
            let text = format!(
                "could not put everything back: {}; try `airqueued restore` again",
                what.join("; ")
            );
            Err(Stop::new(Code::Stuck, text))
        }
    }
}
