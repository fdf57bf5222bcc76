//! `airqueued --config FILE`: the service that keeps settings right until it is stopped.

mod ears;
mod helm;
mod loops;
mod mesh;
mod queues;
mod rdqm;

use super::args::StateArgs;
use super::{Code, Stop, say, why};
use crate::machine;
use crate::state::State;
use crate::tap;
use airqueue_control::plan::Plan;
use airqueue_control::steer::Config;
use airqueue_control::watch::Alarm;
use airqueue_core::{Span, Time};
use helm::{Helm, Kept};
use loops::{Loops, News};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use queues::Queues;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// A configuration has less.
const LARGEST: u64 = 1 << 20;
/// How often every setting is looked at: another program may have changed it.
const KEPT_EVERY: Span = Span::from_secs(5);

pub(super) fn run(path: &Path, args: &StateArgs) -> Result<(), Stop> {
    let config = config(path)?;
    let plan = plan(&config, path)?;
    let state = State::open(args.directory())?;
    let loops = Loops::new(&config, &plan, folder(path), &state, machine::now())?;
    let watching = |watch| Queues::new(watch, folder(path), machine::now());
    let queues = config.watch.as_ref().map(watching);
    let signals = signals()?;
    let helm = Helm::take(&state, &plan)?;
    let mut service = Service { helm, loops, queues, gone: BTreeSet::new(), json: args.json };
    service.greet();
    let ended = service.steer(&signals, config.sample_interval.value);
    // The reason to end is told after the settings are back; if they were put back by another, nothing is to be done.
    let left_alone = service.helm.leave(ended.as_ref().unwrap_or_else(|stop| &stop.text))?;
    for what in left_alone {
        say(&line(args.json, "left alone", &what, None, None));
    }
    ended.map(|_| ())
}

fn config(path: &Path) -> Result<Config, Stop> {
    let refused = |what: String| Stop::new(Code::Refused, format!("{}: {what}", path.display()));
    let source: io::Result<Box<dyn Read>> = match path == Path::new("-") {
        true => Ok(Box::new(io::stdin())),
        false => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
    };
    let text = source.and_then(|source| io::read_to_string(source.take(LARGEST + 1)));
    let text = text.map_err(|error| refused(format!("cannot be read: {}", why(&error))))?;
    if text.len() as u64 > LARGEST {
        return Err(refused(format!("is longer than {LARGEST} bytes: it is no configuration")));
    }
    Config::read(text.trim_start_matches('\u{feff}')).map_err(|error| refused(error.to_string()))
}

/// The plan of the configuration, whose path is that seen from the configuration's folder, and what its loops add.
fn plan(config: &Config, path: &Path) -> Result<Plan, Stop> {
    let read = |plan| super::apply::read(&folder(path).join(plan));
    let plan = config.plan.as_ref().map(read).transpose()?;
    let refused = |error| Stop::new(Code::Refused, format!("{}: {error}", path.display()));
    config.whole(plan).map_err(refused)
}

/// The folder from which a configuration's paths are seen.
fn folder(configuration: &Path) -> &Path {
    configuration.parent().unwrap_or(Path::new(""))
}

/// The signals that end the service. A SIGKILL is the guard's business.
fn signals() -> Result<SignalFd, Stop> {
    let ends: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    let failed = |errno: nix::errno::Errno| {
        Stop::new(Code::Failed, format!("cannot wait for signals: {errno}"))
    };
    ends.thread_block().map_err(failed)?;
    SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)
}

struct Service<'a> {
    helm: Helm<'a>,
    loops: Loops,
    queues: Option<Queues>,
    /// Places of settings whose things are gone, as was told.
    gone: BTreeSet<usize>,
    json: bool,
}

impl Service<'_> {
    fn greet(&self) {
        for (set, value) in self.helm.settings() {
            self.tell("set", &format!("{} is {}", set.point(), value.words), None);
        }
    }

    /// Keeps settings right until a signal. Returns why it ended.
    fn steer(&mut self, signals: &SignalFd, sample_interval: Span) -> Result<String, Stop> {
        let mut look_at = machine::now();
        let mut keep_at = look_at + KEPT_EVERY;
        loop {
            if let Ok(Some(signal)) = signals.read_signal() {
                let name =
                    i32::try_from(signal.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok());
                return Ok(format!(
                    "airqueued ended by {}",
                    name.map_or("a signal", Signal::as_str)
                ));
            }
            let now = machine::now();
            self.loops.drain(now);
            if now >= look_at {
                look_at = now + sample_interval;
                self.look(now)?;
            }
            if now >= keep_at {
                keep_at = now + KEPT_EVERY;
                self.keep()?;
            }
            let news = self.queues.as_mut().map(|queues| queues.look(now));
            self.tell_all(news.unwrap_or_default());
            wait(signals, self.wake_at(look_at.min(keep_at)))?;
        }
    }

    /// When there is something to be done next.
    fn wake_at(&self, due: Time) -> Time {
        let due = self.queues.as_ref().map_or(due, |queues| due.min(queues.due()));
        if self.loops.is_listening() { due.min(machine::now() + tap::READ_EVERY) } else { due }
    }

    /// Has each loop look, and changes what a loop says.
    fn look(&mut self, now: Time) -> Result<(), Stop> {
        let sets: Vec<_> = self.helm.settings().map(|(set, _)| set.clone()).collect();
        for turn in self.loops.look(&sets, now) {
            let Some((from, to)) = self.helm.turn(turn.at, turn.set)? else { continue };
            if let Some(moves) = &turn.moves {
                self.helm.classify(moves)?;
            }
            let point = sets[turn.at].point();
            let what = if from == to { point } else { format!("{point} from {from} to {to}") };
            self.tell("changed", &what, Some(&turn.why));
        }
        let news = self.loops.news();
        self.tell_all(news);
        Ok(())
    }

    /// Sees to it that settings are as they were set. What is gone is told once.
    fn keep(&mut self) -> Result<(), Stop> {
        let settings = self.helm.settings().len();
        for at in 0..settings {
            let kept = self.helm.keep(at)?;
            let point =
                self.helm.settings().nth(at).map(|(set, _)| set.point()).unwrap_or_default();
            let missing = match (&kept, self.loops.again(at)) {
                (Kept::So | Kept::SetAgain(_), Some(moves)) => self.helm.reclassify(moves)?,
                _ => 0,
            };
            if !matches!(kept, Kept::Gone(_)) {
                self.gone.remove(&at);
            }
            let (event, why) = match kept {
                Kept::So if missing == 0 => continue,
                Kept::So => ("set again", format!("{missing} filters were missing")),
                Kept::SetAgain(was) => ("set again", format!("it had become {was}")),
                Kept::Gone(_) if !self.gone.insert(at) => continue,
                Kept::Gone(what) => ("gone", what),
            };
            self.tell(event, &point, Some(&why));
        }
        Ok(())
    }

    fn tell(&self, event: &str, what: &str, why: Option<&str>) {
        say(&line(self.json, event, what, why, None));
    }

    fn tell_all(&self, all: Vec<News>) {
        for News { event, what, why, alarm } in all {
            say(&line(self.json, event, &what, Some(&why), alarm.as_ref()));
        }
    }
}

/// What happened, as a line of text or of JSON.
fn line(
    as_json: bool,
    event: &str,
    what: &str,
    why: Option<&str>,
    alarm: Option<&Alarm>,
) -> String {
    if !as_json {
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        return format!("{event}: {what}{why}");
    }
    let at_s = machine::now().as_secs_f64();
    let mut line = json!({"at_s": at_s, "event": event, "what": what, "why": why});
    if let Some(alarm) = alarm {
        line["alarm"] = json!(alarm);
    }
    line.to_string()
}

/// Waits for a signal, or until a time.
fn wait(signals: &SignalFd, until: Time) -> Result<(), Stop> {
    let left_ms = (until - machine::now()).as_nanos().max(0) / 1_000_000 + 1;
    let timeout = PollTimeout::try_from(i32::try_from(left_ms).unwrap_or(i32::MAX))
        .unwrap_or(PollTimeout::MAX);
    let mut polled = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    match poll(&mut polled, timeout) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(Stop::new(Code::Failed, format!("cannot wait: {errno}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use airqueue_control::plan::Category;
    use std::fs;

    #[test]
    fn a_wrong_configuration_is_one_sentence_with_file_and_key() {
        let folder = Folder::new("configurations");
        let cases: [(&[u8], &str); 4] = [
            (b"", ": the configuration is empty: it begins with config = 1"),
            (b"watch = {}\n", ": line 1: missing key `config`"),
            (b"config = 1\n\nplna = \"p\"", ": line 3: unknown key `plna`, expected one of"),
            (b"\xff", ": cannot be read: it is no text in UTF-8"),
        ];
        for (content, expected) in cases {
            let path = folder.path().join("c.toml");
            fs::write(&path, content).unwrap();
            let told = config(&path).unwrap_err().text;
            assert!(told.contains(&format!("c.toml{expected}")), "{told}");
            assert_eq!(told.lines().count(), 1);
        }
        let endless = config(Path::new("/dev/zero")).unwrap_err().text;
        assert!(endless.starts_with("/dev/zero: is longer than"), "{endless}");
    }

    #[test]
    fn events_are_lines_of_text_or_of_json() {
        assert_eq!(line(false, "set", "a is 1", None, None), "set: a is 1");
        assert_eq!(line(false, "changed", "a", Some("b"), None), "changed: a: b");
        let alarm = Alarm {
            phy: "phy0".into(),
            interface: "wlan0".into(),
            station: "02:00:00:00:01:00".into(),
            category: Category::Voice,
            stuck_s: 5.0,
            since_s: 100.0,
            backlog_packets: 9,
            share_of_limit: None,
            others_wait: vec![],
        };
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let told = read(line(true, "stuck", "a queue", Some("why"), Some(&alarm)));
        assert_eq!((&told["event"], &told["what"]), (&json!("stuck"), &json!("a queue")));
        assert_eq!((&told["why"], &told["alarm"]), (&json!("why"), &json!(alarm)));
        assert!(told["at_s"].is_number());
        let told = read(line(true, "set", "a", None, None));
        assert_eq!((&told["why"], told.get("alarm")), (&json!(null), None));
    }
}
