//! The guard: a process of its own that takes a plan back if the one who applies it dies, or if nobody confirms it.
//!
//! One process has the post (a lock that ends with it). It has a successor, which waits for the post and takes it at
//! the instant when the first one dies; so a killed guard is replaced without anybody looking. The guard knows that the
//! applier is dead because the lock of the journal is free while a plan is half done.

use crate::carry::{self, Company};
use crate::machine;
use crate::points::Points;
use crate::state::{Locked, Post, State, StateError};
use airqueue_control::journal::{Change, Journal, Run};
use airqueue_control::transaction::{Outcome, Transaction};
use nix::unistd::setsid;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often the guard looks.
const GLANCE: Duration = Duration::from_millis(200);
/// How often it looks whether a process that steers still lives.
const CALM: Duration = Duration::from_secs(1);
/// How long a guard may take to start.
const START: Duration = Duration::from_secs(3);
/// Longest pause between tries to put back what could not be put back.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Sees to it that a guard is at its post. Returns why there is none otherwise.
pub fn ensure(state: &State) -> Result<(), String> {
    let known = |error: StateError| error.to_string();
    if state.is_guarded().map_err(known)? {
        return Ok(());
    }
    let mut guard =
        start(state.path()).map_err(|error| format!("cannot start a guard: {error}"))?;
    let until = Instant::now() + START;
    while Instant::now() < until {
        if state.is_guarded().map_err(known)? {
            return Ok(());
        }
        if let Ok(Some(status)) = guard.try_wait() {
            return Err(format!("the guard ended at once ({status})"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err("the guard did not start in time".into())
}

/// Starts a process of this program as guard.
fn start(state: &Path) -> io::Result<Child> {
    // Not the program's path: an update may have replaced it.
    Command::new("/proc/self/exe")
        .arg0("airqueued")
        .args(["guard", "--state"])
        .arg(state)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// What the guard does until nothing is left to guard.
pub fn stand(state: &State) -> Result<(), StateError> {
    // Its own session: the end of a terminal is not its end. It fails for the first process of a session alone.
    let _ = setsid();
    let mut post = Some(state.wait_for_post()?);
    let mut successor: Option<Child> = None;
    let mut points = Points::default();
    let mut pause = GLANCE;
    while post.is_some() {
        match state.lock(Duration::ZERO) {
            Ok(lock) => match look(&lock, state, &mut points)? {
                Look::Ended => leave(&mut post, lock),
                Look::Waiting => pause = GLANCE,
                Look::Steered => pause = CALM,
                Look::Stuck => pause = (pause * 2).min(LONGEST_PAUSE),
            },
            // The journal went with its directory: nobody knows any more what there was to put back.
            Err(error) if error.is_gone() => return Err(error),
            Err(_) => {}
        }
        if post.is_some() {
            succeed(&mut successor, state);
            std::thread::sleep(pause);
        }
    }
    Ok(())
}

/// Gives up the post before the lock. Whoever has the lock and sees a guard at its post can therefore rely on it: it
/// will look at the journal again.
fn leave(post: &mut Option<Post>, lock: Locked) {
    drop(post.take());
    drop(lock);
}

/// Sees to it that there is a successor.
fn succeed(successor: &mut Option<Child>, state: &State) {
    let alive = successor.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)));
    if !alive {
        // Without a successor this process still guards, and tries again when it looks next.
        *successor = start(state.path()).ok();
    }
}

enum Look {
    /// Nothing is under way.
    Ended,
    /// A plan waits to be confirmed.
    Waiting,
    /// A process steers its settings.
    Steered,
    /// Something could not be put back.
    Stuck,
}

fn look(lock: &Locked, state: &State, points: &mut Points) -> Result<Look, StateError> {
    let journal = state.journal()?;
    let Ok(run) = machine::run() else { return Ok(Look::Stuck) };
    let Some(why) = reason(&journal, &run, state)? else {
        return Ok(match journal.change {
            None => Look::Ended,
            Some(Change::Steered(_)) => Look::Steered,
            Some(_) => Look::Waiting,
        });
    };
    let found = points.found(&journal.undoing(), &run);
    let work = Transaction::undo(&journal, &run, &why, &found);
    Ok(match carry::carry(work, lock, points, Company::None) {
        Outcome::Stuck(_) | Outcome::Unwritten(_) => Look::Stuck,
        _ => Look::Ended,
    })
}

/// Why what is under way has to be taken back now, while the lock of the journal is free; none if it has not.
pub fn reason(journal: &Journal, run: &Run, state: &State) -> Result<Option<String>, StateError> {
    let why = match journal.change.as_ref() {
        None => return Ok(None),
        Some(Change::Prepared(_)) => "the plan was given up before its first setting",
        Some(Change::Applying(_)) => "the process that applied the plan died",
        Some(Change::Applied { forward, .. }) if forward.run.boot != run.boot => {
            "the machine was restarted before the plan was confirmed"
        }
        Some(Change::Applied { deadline_ns, .. }) if machine::now().as_nanos() >= *deadline_ns => {
            "the plan was not confirmed in time"
        }
        Some(Change::Applied { .. }) => return Ok(None),
        Some(Change::Steered(_)) if state.is_steered()? => return Ok(None),
        Some(Change::Steered(_)) => "the airqueued that steered the settings ended",
        Some(Change::Back(back)) => &back.why,
    };
    Ok(Some(why.to_owned()))
}
