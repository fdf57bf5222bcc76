//! `obeys`: whether queues keep to their limits while something fills them.

use super::args::ObeysArgs;
use super::{Code, Stop, show};
use crate::machine;
use crate::netlink::{Netlink, ROUTE};
use crate::qdisc::counts::{self, Counts, Unit};
use crate::radio::error::RadioError;
use crate::radio::facts::Radios;
use crate::radio::nl80211::Nl80211;
use crate::radio::txq::TxqStatistics;
use crate::radio::wiphy::Wiphy;
use airqueue_control::places::{Obeyed, Sample, judge};
use airqueue_control::plan::Set;
use airqueue_core::Span;
use nix::net::if_::if_nametoindex;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// Time between two looks: a phy sends some hundred packets meanwhile.
const BETWEEN: Duration = Duration::from_millis(20);

/// Where queues with limits are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// TXQs of a phy.
    Phy(String),
    /// Queue disciplines of an interface.
    Interface(String),
}

impl Place {
    /// The queues that a setting limits; none if it limits no backlog.
    pub(super) fn of(set: &Set) -> Option<Place> {
        match set {
            Set::Queue(queue) => Some(Place::Interface(queue.interface.clone())),
            Set::Txq(txq) => Some(Place::Phy(txq.phy.clone())),
            _ => None,
        }
    }

    /// An interface has this name, or else a phy.
    fn named(name: &str) -> Place {
        match if_nametoindex(name) {
            Ok(_) => Place::Interface(name.to_owned()),
            Err(_) => Place::Phy(name.to_owned()),
        }
    }

    /// As `obeys` takes it.
    pub(super) fn name(&self) -> &str {
        match self {
            Place::Phy(name) | Place::Interface(name) => name,
        }
    }
}

/// A queue, and what looks at it have shown.
#[derive(Debug)]
pub(super) struct Looked {
    place: Place,
    /// In the discipline's words; those of a phy have none.
    queue: Option<(String, String, u32)>,
    limit: u32,
    unit: Unit,
    /// The mq whose queue it is one of.
    mq: Option<u32>,
    /// Backlogs are in the unit of the limit.
    samples: Vec<Sample>,
}

pub(super) fn run(args: &ObeysArgs) -> Result<(), Stop> {
    let place = Place::named(&args.of);
    let found = look(&[place], args.time)?;
    if args.print.json {
        show(&document(&found).to_string())?;
    }
    verdict(&found, args.print.json)
}

/// The end of a command whose queues were looked at; what obeys is said.
pub(super) fn verdict(found: &[Looked], is_json: bool) -> Result<(), Stop> {
    let mut codes = Vec::new();
    let mut texts = Vec::new();
    for looked in found {
        match looked.words_among(found) {
            (None, _) if is_json => {}
            (None, text) => show(&text)?,
            (Some(code), text) => {
                codes.push(code);
                texts.push(text);
            }
        }
    }
    // That a queue disobeys is worse than that one did not fill.
    let worst = codes.iter().find(|code| **code == Code::Disobeys).or(codes.first());
    worst.map_or(Ok(()), |code| Err(Stop::new(*code, texts.join("\nairqueued: "))))
}

/// For programs: of a phy its TXQs, of an interface every discipline with a limit.
fn document(found: &[Looked]) -> Value {
    match found {
        [only] if matches!(only.place, Place::Phy(_)) => only.json(),
        several => {
            let interface = several.first().map(|looked| looked.place.name());
            let queues: Vec<Value> = several.iter().map(Looked::json).collect();
            json!({"interface": interface, "queues": queues})
        }
    }
}

impl Looked {
    fn obeyed(&self) -> Obeyed {
        judge(self.limit, &self.samples)
    }

    fn name(&self) -> String {
        let at = self.place.name();
        match &self.queue {
            None => at.to_owned(),
            Some((kind, handle, _)) => format!("the {kind} {handle} of {at}"),
        }
    }

    /// As [`Looked::words`], but of the queues of one mq those that the flows did not go into need not fill.
    fn words_among(&self, all: &[Looked]) -> (Option<Code>, String) {
        let kind = |looked: &Looked| looked.queue.as_ref().map(|(kind, ..)| kind.clone());
        let is_alike = |other: &&Looked| {
            (&other.place, other.mq, other.limit, kind(other))
                == (&self.place, self.mq, self.limit, kind(self))
        };
        let (code, text) = self.words();
        let is_filled = |other: &Looked| matches!(other.obeyed(), Obeyed::Yes { .. });
        let filled = all.iter().filter(is_alike).any(is_filled);
        if self.mq.is_none() || code != Some(Code::Unknown) || !filled {
            return (code, text);
        }
        let (name, limit, unit) = (self.name(), self.limit, self.unit.name());
        let text = format!(
            "{name} stayed within its limit of {limit} {unit}, which another queue of the same mq exceeded."
        );
        (None, text)
    }

    /// The exit code of what is not good, and the sentence.
    fn words(&self) -> (Option<Code>, String) {
        let (name, limit, unit) = (self.name(), self.limit, self.unit.name());
        match self.obeyed() {
            Obeyed::Yes { most_packets: most, overflows } => (
                None,
                format!(
                    "{name} obeys: {overflows} times the limit of {limit} {unit} was exceeded, at most {most} waited."
                ),
            ),
            Obeyed::No { backlog_packets: backlog, .. } => (
                Some(Code::Disobeys),
                format!("{name} does not obey: {backlog} {unit} waited, its limit is {limit}"),
            ),
            Obeyed::NotFilled { most_packets: most } => (
                Some(Code::Unknown),
                format!(
                    "{name} was not seen to obey: at most {most} {unit} waited, and its limit of {limit} was never exceeded; load it and look again"
                ),
            ),
        }
    }

    pub(super) fn json(&self) -> Value {
        let (obeyed, looks) = (self.obeyed(), self.samples.len());
        let Some((kind, handle, _)) = &self.queue else {
            let phy = self.place.name();
            return json!({"phy": phy, "limit_packets": self.limit, "looks": looks, "obeyed": obeyed});
        };
        let (seen, most, overflows) = match obeyed {
            Obeyed::Yes { most_packets, overflows } => ("yes", most_packets, overflows),
            Obeyed::No { backlog_packets, .. } => ("no", backlog_packets, 0),
            Obeyed::NotFilled { most_packets } => ("not_filled", most_packets, 0),
        };
        json!({"interface": self.place.name(), "kind": kind, "handle": handle, "limit": self.limit,
            "unit": self.unit, "looks": looks, "mq": self.mq.is_some(), "seen": seen, "most": most, "overflows": overflows})
    }
}

/// Looks at all queues of places for a time.
pub(super) fn look(places: &[Place], time: Span) -> Result<Vec<Looked>, Stop> {
    look_at(places, time).map_err(|error| Stop::new(Code::Failed, error.to_string()))
}

fn look_at(places: &[Place], time: Span) -> Result<Vec<Looked>, RadioError> {
    let mut eyes = Eyes::default();
    let mut found: Vec<Looked> = Vec::new();
    let began = machine::now();
    loop {
        let passed = machine::now() - began;
        let at_ns = passed.as_nanos().unsigned_abs();
        let mut seen = Vec::new();
        for place in places {
            seen.extend(eyes.see(place, at_ns, found.is_empty())?);
        }
        if found.is_empty() {
            found = seen;
        } else {
            join(&mut found, seen)?;
        }
        if passed >= time {
            return Ok(found);
        }
        thread::sleep(BETWEEN);
    }
}

/// Adds a look to those before it.
fn join(found: &mut [Looked], seen: Vec<Looked>) -> Result<(), RadioError> {
    let same = |one: &Looked, other: &Looked| {
        (&one.place, &one.queue, one.limit) == (&other.place, &other.queue, other.limit)
    };
    let is_same = found.len() == seen.len();
    match is_same && found.iter().zip(&seen).all(|(one, other)| same(one, other)) {
        true => {
            for (looked, seen) in found.iter_mut().zip(seen) {
                looked.samples.extend(seen.samples);
            }
            Ok(())
        }
        false => {
            let name = found.first().map_or("the place", |looked| looked.place.name());
            let what = format!("queues or limits of {name} were changed meanwhile; look again");
            Err(RadioError::Value(what))
        }
    }
}

/// Connections, each opened when it is first needed.
#[derive(Default)]
struct Eyes {
    nl80211: Option<Nl80211>,
    netlink: Option<Netlink>,
}

impl Eyes {
    /// is_first: whether there was no look before.
    fn see(
        &mut self,
        place: &Place,
        at_ns: u64,
        is_first: bool,
    ) -> Result<Vec<Looked>, RadioError> {
        match place {
            Place::Phy(name) => self.see_phy(name, at_ns).map(|looked| vec![looked]),
            Place::Interface(name) => self.see_interface(name, at_ns, is_first),
        }
    }

    fn see_phy(&mut self, name: &str, at_ns: u64) -> Result<Looked, RadioError> {
        let absent = || RadioError::Absent { kind: "phy", name: name.to_owned() };
        if self.nl80211.is_none() {
            self.nl80211 = Nl80211::open()?;
        }
        let radios = Radios::read_by(self.nl80211.as_mut().ok_or_else(absent)?)?;
        let phy = radios.phys.into_iter().find(|phy| phy.name == name).ok_or_else(absent)?;
        let (limit, backlog_packets, overflows) = told(&phy)?;
        let samples = vec![Sample { at_ns, backlog_packets, overflows }];
        let place = Place::Phy(name.to_owned());
        Ok(Looked { place, queue: None, limit, unit: Unit::Packets, mq: None, samples })
    }

    fn see_interface(
        &mut self,
        name: &str,
        at_ns: u64,
        is_first: bool,
    ) -> Result<Vec<Looked>, RadioError> {
        let absent = || RadioError::Absent { kind: "interface", name: name.to_owned() };
        let index = if_nametoindex(name).map_err(|_| absent())?;
        if self.netlink.is_none() {
            self.netlink = Some(Netlink::open(ROUTE)?);
        }
        let netlink = self.netlink.as_mut().expect("it was opened above");
        let found = counts::of(netlink, index)?;
        if found.is_empty() {
            return Err(RadioError::Unsupported {
                what: name.to_owned(),
                setting: "counters of a queue discipline with a limit",
                reason: "`airqueued places` says where its queue is".to_owned(),
            });
        }
        let looked = |counts: Counts| Looked {
            place: Place::Interface(name.to_owned()),
            queue: Some((counts.kind.clone(), counts.handle.clone(), counts.parent)),
            limit: counts.limit,
            unit: counts.unit,
            mq: counts.mq,
            samples: samples(&counts, at_ns, is_first),
        };
        Ok(found.into_iter().map(looked).collect())
    }
}

/// A look at a discipline. What counts to one only is held against its beginning: it will not count again. What waits is
/// then that of the look, so that nothing seems to have come since.
fn samples(counts: &Counts, at_ns: u64, is_first: bool) -> Vec<Sample> {
    let now = Sample { at_ns, backlog_packets: counts.backlog, overflows: counts.overflows };
    let begin = Sample { overflows: 0, ..now };
    let begin = (is_first && counts.once).then_some(begin);
    begin.into_iter().chain([now]).collect()
}

/// The limit, and what the phy has counted.
fn told(phy: &Wiphy) -> Result<(u32, u32, u32), RadioError> {
    let unsupported = || RadioError::Unsupported {
        what: phy.name.clone(),
        setting: "counters of TXQs",
        reason: "`airqueued places` says where its queue is".to_owned(),
    };
    let limits = phy.txq_limits.ok_or_else(unsupported)?;
    let Some(TxqStatistics { backlog_packets: Some(backlog), overlimit: Some(over), .. }) = phy.txq
    else {
        return Err(unsupported());
    };
    Ok((limits.limit_packets, backlog, over))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked(limit: u32, looks: &[(u32, u32)]) -> Looked {
        let sample = |(at, &(backlog_packets, overflows)): (usize, &(u32, u32))| Sample {
            at_ns: at as u64,
            backlog_packets,
            overflows,
        };
        Looked {
            place: Place::Interface("va".to_owned()),
            queue: Some(("pfifo".to_owned(), format!("{limit:x}:"), 1)),
            limit,
            unit: Unit::Packets,
            mq: None,
            samples: looks.iter().enumerate().map(sample).collect(),
        }
    }

    #[test]
    fn the_worst_queue_decides_and_every_bad_one_is_named() {
        let good = looked(1, &[(1, 0), (1, 5)]);
        let empty = looked(2, &[(0, 0), (1, 0)]);
        let bad = looked(3, &[(0, 0), (4, 0)]);
        let code = |found: &[Looked]| verdict(found, true).map_err(|stop| stop.code);
        assert_eq!(code(&[]), Ok(()));
        let found = [good, empty, bad];
        assert_eq!(code(&found[..1]), Ok(()));
        assert_eq!(code(&found[..2]), Err(Code::Unknown));
        let stop = verdict(&found, true).unwrap_err();
        assert_eq!(stop.code, Code::Disobeys);
        assert!(stop.text.contains("the pfifo 2: of va was not seen to obey"), "{}", stop.text);
        assert!(stop.text.contains("the pfifo 3: of va does not obey: 4 packets"), "{}", stop.text);
    }

    #[test]
    fn of_an_mqs_queues_one_has_to_fill_and_all_have_to_obey() {
        let below = |mq, looks: &[(u32, u32)]| Looked { mq: Some(mq), ..looked(3, looks) };
        let [good, empty, bad] = [&[(3, 0), (3, 5)], &[(0, 0), (1, 0)], &[(0, 0), (4, 0)]];
        let code = |found: &[Looked]| verdict(found, true).map_err(|stop| stop.code);
        assert_eq!(code(&[below(1, good), below(1, empty)]), Ok(()));
        assert_eq!(code(&[below(1, empty), below(1, empty)]), Err(Code::Unknown));
        assert_eq!(code(&[below(1, good), below(1, empty), below(1, bad)]), Err(Code::Disobeys));
        // Queues of different trees, or with another limit, say nothing of each other.
        assert_eq!(code(&[below(1, good), below(2, empty)]), Err(Code::Unknown));
        assert_eq!(code(&[below(1, good), looked(3, empty)]), Err(Code::Unknown));
        let other = Looked { limit: 9, ..below(1, empty) };
        assert_eq!(code(&[below(1, good), other]), Err(Code::Unknown));
    }

    #[test]
    fn what_happened_before_the_looks_counts_where_it_counts_once() {
        let of = |once, overflows| Counts {
            kind: "cake".to_owned(),
            handle: "1:".to_owned(),
            parent: 1,
            limit: 9,
            unit: Unit::Bytes,
            backlog: 2,
            overflows,
            once,
            mq: None,
        };
        let seen = |counts: &Counts| {
            let all = [samples(counts, 0, true), samples(counts, 1, false)].concat();
            matches!(judge(counts.limit, &all), Obeyed::Yes { overflows: 1, .. })
        };
        assert!(seen(&of(true, 1)) && !seen(&of(true, 0)) && !seen(&of(false, 1)));
        // What waits above a limit that was lowered just now does not disobey.
        let lowered = samples(&Counts { backlog: 20, ..of(true, 0) }, 0, true);
        assert_eq!(judge(9, &lowered), Obeyed::NotFilled { most_packets: 0 });
    }

    #[test]
    fn looks_at_queues_that_change_meanwhile_are_not_judged() {
        let mut found = vec![looked(1, &[(0, 0)])];
        join(&mut found, vec![looked(1, &[(1, 1)])]).unwrap();
        assert_eq!(found[0].samples.len(), 2);
        for other in [vec![], vec![looked(2, &[(1, 1)])]] {
            let said = join(&mut found, other).unwrap_err().to_string();
            assert!(said.contains("changed meanwhile"), "{said}");
        }
    }
}
