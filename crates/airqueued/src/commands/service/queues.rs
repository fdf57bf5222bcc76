//! The queues of all stations, watched by the service as `airqueued watch` does.

use super::loops::News;
use crate::commands::watch::{prometheus, table};
use crate::radio::nl80211::Nl80211;
use crate::radio::stations;
use airqueue_control::steer::WatchConfig;
use airqueue_control::watch::{Alarm, Ended, Event, Events, Look, Watch};
use airqueue_core::{Span, Time};
use std::fs;
use std::path::{Path, PathBuf};

/// What watches.
pub(super) struct Queues {
    every: Span,
    due: Time,
    nl80211: Option<Nl80211>,
    watch: Watch,
    events: Events,
    prometheus: Option<PathBuf>,
    /// What does not work, as it was told last: the event, and why.
    trouble: Option<(&'static str, String)>,
}

impl Queues {
    /// Watches from now on; files are seen from a folder.
    pub(super) fn new(config: &WatchConfig, folder: &Path, now: Time) -> Queues {
        Queues {
            every: config.interval.value,
            due: now,
            nl80211: None,
            watch: config.watch(),
            events: Events::default(),
            prometheus: config.prometheus.as_ref().map(|path| folder.join(path)),
            trouble: None,
        }
    }

    /// When the next look is due.
    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// Looks if it is time. Returns what has happened.
    pub(super) fn look(&mut self, now: Time) -> Vec<News> {
        if now < self.due {
            return Vec::new();
        }
        self.due = now + self.every;
        let seen = self.see(now);
        self.take(seen)
    }

    /// The queues now, or in words why they cannot be seen.
    fn see(&mut self, now: Time) -> Result<Look, String> {
        let unseen = |error: &dyn std::fmt::Display| format!("the radios do not tell: {error}");
        if self.nl80211.is_none() {
            self.nl80211 = Nl80211::open().map_err(|error| unseen(&error))?;
        }
        let Some(nl80211) = &mut self.nl80211 else {
            return Err(
                "there is no radio in this network namespace: cfg80211 is not loaded".into()
            );
        };
        stations::look(nl80211, now).map_err(|error| {
            // A cfg80211 that was loaded anew has another number.
            self.nl80211 = None;
            unseen(&error)
        })
    }

    /// Takes a look into account.
    fn take(&mut self, seen: Result<Look, String>) -> Vec<News> {
        let (mut news, trouble) = match seen {
            Ok(look) => {
                let report = self.watch.on_look(&look);
                let written = self.prometheus.as_ref().map(|to| prometheus::write(to, &report));
                let unwritten = written.and_then(Result::err).map(|why| ("not written", why));
                (self.events.on_report(&report).into_iter().map(news).collect(), unwritten)
            }
            Err(why) => {
                self.forget_file();
                (Vec::new(), Some(("not watched", why)))
            }
        };
        if trouble != self.trouble {
            if let Some((event, why)) = &trouble {
                let what = "queues of stations".to_owned();
                news.push(News { event, what, why: why.clone(), alarm: None });
            }
            self.trouble = trouble;
        }
        news
    }

    /// Nobody is to read figures that are kept up no more.
    fn forget_file(&self) {
        if let Some(path) = &self.prometheus {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.forget_file();
    }
}

fn news(of: Event) -> News {
    let (event, why, alarm) = match of {
        Event::Stuck(alarm) => {
            let why = format!("{} packets {}", alarm.backlog_packets, table::standstill(&alarm));
            ("stuck", why, alarm)
        }
        Event::Drains(Ended { alarm, stood_s }) => {
            ("drains", format!("packets leave again, after {stood_s:.0} s"), alarm)
        }
        Event::Gone(Ended { alarm, stood_s }) => {
            let why =
                format!("no packet waits there any more, and none has left for {stood_s:.0} s");
            ("gone", why, alarm)
        }
    };
    let Alarm { station, interface, category, .. } = &alarm;
    let what = format!("{} queue of {station} at {interface}", category.words());
    News { event, what, why, alarm: Some(alarm) }
}

#[cfg(test)]
mod tests;
