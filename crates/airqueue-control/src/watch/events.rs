//! Which alarms have begun and ended since the last report.

use super::{Alarm, Report};

/// What happened to a queue that does not drain.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It has sent nothing for too long.
    Stuck(Alarm),
    /// It sends again.
    Drains(Ended),
    /// Its packets were dropped, or its station has left.
    Gone(Ended),
}

/// An alarm that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The alarm as it was last.
    pub alarm: Alarm,
    /// For how long the queue has stood in all.
    pub stood_s: f64,
}

/// The alarms of the last report.
#[derive(Debug, Clone, Default)]
pub struct Events {
    standing: Vec<Alarm>,
}

impl Events {
    /// Takes a report into account, and returns what is new in it.
    pub fn on_report(&mut self, report: &Report) -> Vec<Event> {
        let before = std::mem::replace(&mut self.standing, report.alarms.clone());
        let (went_on, ended): (Vec<Alarm>, Vec<Alarm>) =
            before.into_iter().partition(|old| report.alarms.iter().any(|now| is_same(old, now)));
        let is_new = |now: &&Alarm| !went_on.iter().any(|old| is_same(old, now));
        let begun = report.alarms.iter().filter(is_new).cloned().map(Event::Stuck);
        ended.into_iter().map(|alarm| end(alarm, report)).chain(begun).collect()
    }
}

/// Whether two alarms are of one standstill of a queue; one that stood, sent and stands anew between two reports has another
/// beginning.
fn is_same(one: &Alarm, other: &Alarm) -> bool {
    of(one) == of(other) && one.since_s == other.since_s
}

fn of(alarm: &Alarm) -> (&str, &str, &str, super::Category) {
    (&alarm.phy, &alarm.interface, &alarm.station, alarm.category)
}

fn end(alarm: Alarm, report: &Report) -> Event {
    let row = report
        .queues
        .iter()
        .find(|row| of(&alarm) == (&row.phy, &row.interface, &row.station, row.category));
    let sends = row.and_then(|row| row.sent_pps).is_some_and(|pps| pps > 0.0);
    let ended = Ended { stood_s: report.at_s - alarm.since_s, alarm };
    if sends { Event::Drains(ended) } else { Event::Gone(ended) }
}
