use super::*;
use crate::journal::Step;
use crate::plan::Ring;
use proptest::prelude::*;
use serde_json::json;

/// Neither an old value nor one of ours: what a process leaves that dies while it sets.
const REMAINDER: u32 = 9_999;

/// A machine with a few settings, and a disk.
#[derive(Clone, Debug)]
struct Machine {
    settings: Vec<u32>,
    disk: Journal,
    run: Run,
    guard: bool,
    /// The setting that refuses new values, if any.
    refuses: Option<(usize, u32)>,
}

/// After how many actions a process dies, and whether the last one still had its effect, or half of it.
#[derive(Clone, Copy, Debug)]
struct Death {
    after: usize,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    None,
    Half,
    Whole,
}

fn set(index: usize) -> Set {
    Set::Ring(Ring { interface: format!("eth{index}"), packets: 3 })
}

fn index(set: &Set) -> usize {
    let Set::Ring(ring) = set else { panic!("{set:?}") };
    ring.interface["eth".len()..].parse().unwrap()
}

fn value(number: u32) -> Value {
    Value { words: number.to_string(), raw: json!(number) }
}

fn number(value: &Value) -> u32 {
    value.raw.as_u64().unwrap() as u32
}

impl Machine {
    fn new(settings: &[u32]) -> Machine {
        let run = Run { boot: "first".into(), namespace: 1 };
        Machine {
            settings: settings.to_vec(),
            disk: Journal::default(),
            run,
            guard: false,
            refuses: None,
        }
    }

    fn forward(&self, targets: &[u32]) -> Forward {
        let step = |(at, target): (usize, &u32)| Step {
            set: set(at),
            why: "a test".into(),
            original: match self.disk.kept(&set(at)) {
                Some(kept) => kept.original.clone(),
                None => value(self.settings[at]),
            },
            before: value(self.settings[at]),
            target: value(*target),
        };
        let steps = targets.iter().enumerate().map(step).collect();
        Forward { made_by: "a test".into(), run: self.run.clone(), steps }
    }

    fn apply(&self, targets: &[u32]) -> Transaction {
        Transaction::apply(&self.disk, self.forward(targets), Span::from_secs(90)).unwrap()
    }

    fn steer(&self, targets: &[u32]) -> Transaction {
        Transaction::steer(&self.disk, self.forward(targets)).unwrap()
    }

    fn found(&self, tasks: &[Task]) -> Vec<Found> {
        let one = |task: &Task| match self.settings[index(&task.set)] {
            now if now == number(&task.to) => Found::Old,
            now if now == number(&task.ours) => Found::Ours,
            now => Found::Other(now.to_string()),
        };
        tasks.iter().map(one).collect()
    }

    fn undo(&self) -> Transaction {
        Transaction::undo(&self.disk, &self.run, "a test", &self.found(&self.disk.undoing()))
    }

    fn restore(&self) -> Transaction {
        Transaction::restore(&self.disk, &self.run, &self.found(&self.disk.restoring()))
    }

    /// Carries a transaction out until it ends, or until the process dies.
    fn drive(&mut self, mut work: Transaction, death: Option<Death>) -> Option<Outcome> {
        for number in 0.. {
            let effect = match death {
                Some(death) if number == death.after => death.effect,
                _ => Effect::Whole,
            };
            let done = match work.action() {
                Action::End(outcome) => return Some(outcome.clone()),
                action => self.act(&action, effect),
            };
            if death.is_some_and(|death| number == death.after) {
                return None;
            }
            work.on_result(done, Time::ZERO);
        }
        unreachable!()
    }

    fn act(&mut self, action: &Action, effect: Effect) -> Done {
        match action {
            // The disk takes a journal whole or not at all.
            Action::Write(journal) if effect != Effect::None => {
                let text = journal.write();
                self.disk = Journal::read(&text).unwrap();
                assert_eq!(self.disk, **journal);
            }
            Action::Guard => self.guard |= effect != Effect::None,
            Action::Put(set, value) => return self.put(set, number(value), effect),
            Action::Check(set, value) if self.settings[index(set)] != number(value) => {
                return Done::Badly("it is another value".into());
            }
            _ => {}
        }
        Done::Well
    }

    fn put(&mut self, set: &Set, number: u32, effect: Effect) -> Done {
        let at = index(set);
        let known = self.disk.undoing().iter().any(|task| task.set == *set);
        assert!(known, "{set:?} is touched and the disk knows no way back: {:?}", self.disk.change);
        let forward = matches!(self.disk.change, Some(Change::Applying(_)));
        assert!(!forward || self.guard, "{set:?} is touched before there is a guard");
        if forward && self.refuses == Some((at, number)) {
            self.settings[at] = REMAINDER;
            return Done::Badly("refused".into());
        }
        match effect {
            Effect::None => {}
            Effect::Half => self.settings[at] = REMAINDER,
            Effect::Whole => self.settings[at] = number,
        }
        Done::Well
    }

    /// Others find the journal again and again, and may die as well; the last one does not.
    fn recover(&mut self, deaths: &[Death]) -> Option<Outcome> {
        for death in deaths {
            if self.disk.change.is_none() {
                break;
            }
            self.drive(self.undo(), Some(*death));
        }
        let undo = self.disk.change.is_some().then(|| self.undo());
        undo.and_then(|undo| self.drive(undo, None))
    }
}

fn deaths(most: usize) -> impl Strategy<Value = Vec<Death>> {
    let effect = prop_oneof![Just(Effect::None), Just(Effect::Half), Just(Effect::Whole)];
    let death = (0usize..20, effect).prop_map(|(after, effect)| Death { after, effect });
    prop::collection::vec(death, 0..=most)
}

/// Old values, values of a first plan, values of a second plan, for the same settings.
fn values() -> impl Strategy<Value = (Vec<u32>, Vec<u32>, Vec<u32>)> {
    (1usize..5).prop_flat_map(|count| {
        let of = |range: std::ops::Range<u32>| prop::collection::vec(range, count);
        (of(0..100), of(100..200), of(200..300))
    })
}

proptest! {
    /// Whenever processes die, what is left in the end is the whole plan or none of it.
    #[test]
    fn a_plan_is_applied_whole_or_not_at_all((old, first, second) in values(), at in deaths(5)) {
        let mut machine = Machine::new(&old);
        machine.drive(machine.apply(&first), None);
        machine.disk = machine.disk.confirmed();
        let outcome = machine.drive(machine.apply(&second), at.first().copied());
        if outcome == Some(Outcome::Applied) {
            prop_assert_eq!(&machine.settings, &second);
            return Ok(());
        }
        machine.recover(at.get(1..).unwrap_or_default());
        prop_assert_eq!(&machine.settings, &first);
        prop_assert_eq!(&machine.disk.change, &None);
        machine.drive(machine.restore(), None);
        prop_assert_eq!(&machine.settings, &old);
        prop_assert!(machine.disk.kept.is_empty());
    }

    /// Restoring goes to what was before the first plan, whenever processes die.
    #[test]
    fn restoring_ends_whole((old, first, second) in values(), at in deaths(5)) {
        let mut machine = Machine::new(&old);
        for targets in [&first, &second] {
            prop_assert_eq!(machine.drive(machine.apply(targets), None), Some(Outcome::Applied));
            machine.disk = machine.disk.confirmed();
            prop_assert_eq!(&machine.settings, targets);
        }
        machine.drive(machine.restore(), at.first().copied());
        if machine.disk.change.is_none() && !machine.disk.kept.is_empty() {
            // It died before the first journal was written: the plan is whole.
            prop_assert_eq!(&machine.settings, &second);
            machine.drive(machine.restore(), None);
        }
        machine.recover(at.get(1..).unwrap_or_default());
        prop_assert_eq!(&machine.settings, &old);
        prop_assert_eq!(&machine.disk.kept, &[]);
        // Once more is no change.
        machine.drive(machine.restore(), None);
        prop_assert_eq!(&machine.settings, &old);
    }

    /// What a process steers goes back to the confirmed plan when the process ends, whatever it has set meanwhile.
    #[test]
    fn steered_settings_go_back_whole((old, first, second) in values(), steered in 300u32..400, at in deaths(5)) {
        let mut machine = Machine::new(&old);
        machine.drive(machine.apply(&first), None);
        machine.disk = machine.disk.confirmed();
        let outcome = machine.drive(machine.steer(&second), at.first().copied());
        if outcome == Some(Outcome::Applied) {
            prop_assert_eq!(&machine.settings, &second);
            machine.settings.fill(steered);
            // A confirmation is for plans that wait, not for these.
            prop_assert_eq!(&machine.disk.confirmed(), &machine.disk);
        }
        machine.recover(at.get(1..).unwrap_or_default());
        prop_assert_eq!(&machine.settings, &first);
        prop_assert_eq!(&machine.disk.change, &None);
        machine.drive(machine.restore(), None);
        prop_assert_eq!(&machine.settings, &old);
    }

    /// A setting that the machine refuses takes the whole plan back.
    #[test]
    fn a_refusal_takes_the_plan_back((old, first, _) in values(), which in 0usize..4) {
        let mut machine = Machine::new(&old);
        let which = which % old.len();
        machine.refuses = Some((which, first[which]));
        let outcome = machine.drive(machine.apply(&first), None);
        prop_assert_eq!(outcome, Some(Outcome::PutBack { why: "refused".into(), left_alone: Vec::new() }));
        prop_assert_eq!(&machine.settings, &old);
        prop_assert_eq!(&machine.disk.change, &None);
    }

    /// After a restart of the machine its own settings stay, and settings equal to ours go back.
    #[test]
    fn a_restart_gives_settings_to_the_system(
        (old, ours, system) in values(), confirmed: bool, at in deaths(1), kept_ours in 0usize..5
    ) {
        let mut machine = Machine::new(&old);
        machine.drive(machine.apply(&ours), at.first().copied());
        if confirmed {
            machine.disk = machine.disk.confirmed();
        }
        machine.run.boot = "second".into();
        machine.settings = system.clone();
        let mut expected = system;
        let claimed = machine.disk.change.is_some() || !machine.disk.kept.is_empty();
        if kept_ours < old.len() {
            machine.settings[kept_ours] = ours[kept_ours];
            expected[kept_ours] = if claimed { old[kept_ours] } else { ours[kept_ours] };
        }
        // What nobody had touched yet is not put back either.
        let untouched = matches!(machine.disk.change, Some(Change::Prepared(_)));
        if untouched && kept_ours < old.len() {
            expected[kept_ours] = ours[kept_ours];
        }
        machine.recover(&[]);
        machine.drive(machine.restore(), None);
        prop_assert_eq!(&machine.settings, &expected);
        prop_assert_eq!(&machine.disk.change, &None);
    }
}

#[test]
fn what_others_set_since_stays() {
    let mut machine = Machine::new(&[1, 2]);
    machine.drive(machine.apply(&[11, 12]), None);
    machine.settings[1] = 77;
    let outcome = machine.drive(machine.undo(), None).unwrap();
    let Outcome::PutBack { left_alone, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(left_alone, ["the transmit ring of eth1 was set by another program to 77"]);
    assert_eq!(machine.settings, [1, 77]);
}

#[test]
fn what_the_machine_does_not_tell_goes_back_unless_the_machine_was_restarted() {
    let mut machine = Machine::new(&[1, 2, 3]);
    machine.drive(machine.apply(&[11, 12, 13]), None);
    let untold = |at: usize| Found::Untold(format!("nobody tells eth{at}"));
    let found = [untold(0), Found::Gone("eth1 is gone".into()), Found::Ours];
    let back = |run: &Run| Transaction::undo(&machine.disk, run, "a test", &found);
    let tasks = |work: Transaction| match work.journal().change.clone() {
        Some(Change::Back(back)) => {
            (back.tasks.iter().map(|task| index(&task.set)).collect::<Vec<_>>(), back.left_alone)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(tasks(back(&machine.run)), (vec![0, 2], vec!["eth1 is gone".to_owned()]));
    let restarted = Run { boot: "second".into(), namespace: 1 };
    let left = vec!["nobody tells eth0".to_owned(), "eth1 is gone".to_owned()];
    assert_eq!(tasks(back(&restarted)), (vec![2], left));
}

#[test]
fn a_thing_that_vanishes_while_it_is_put_back_is_named() {
    let mut machine = Machine::new(&[1, 2]);
    machine.drive(machine.apply(&[11, 12]), None);
    let mut work = machine.undo();
    while !matches!(work.action(), Action::End(_)) {
        let gone = matches!(work.action(), Action::Put(at, _) if index(at) == 1);
        let done = match gone {
            true => Done::Gone("eth1 is gone".into()),
            false => machine.act(&work.action(), Effect::Whole),
        };
        work.on_result(done, Time::ZERO);
    }
    let left_alone = vec!["eth1 is gone".to_owned()];
    assert_eq!(work.action(), Action::End(&Outcome::PutBack { why: "a test".into(), left_alone }));
    assert_eq!((machine.settings, machine.disk.change), (vec![1, 12], None));
}

#[test]
fn a_second_plan_waits_for_the_first() {
    let mut machine = Machine::new(&[1]);
    machine.drive(machine.apply(&[11]), None);
    let error = Transaction::apply(&machine.disk, machine.forward(&[21]), Span::ZERO).unwrap_err();
    assert!(error.contains("confirm or restore it first"), "{error}");
}

#[test]
fn what_cannot_be_put_back_stays_in_the_journal() {
    let mut machine = Machine::new(&[1, 2]);
    machine.drive(machine.apply(&[11, 12]), None);
    let mut work = machine.undo();
    while !matches!(work.action(), Action::End(_)) {
        let refused = matches!(work.action(), Action::Put(at, _) if index(at) == 0);
        let done = if refused {
            Done::Badly("busy".into())
        } else {
            machine.act(&work.action(), Effect::Whole)
        };
        work.on_result(done, Time::ZERO);
    }
    assert_eq!(
        work.action(),
        Action::End(&Outcome::Stuck(vec!["transmit ring of eth0: busy".into()]))
    );
    assert_eq!(machine.settings, [11, 2]);
    machine.recover(&[]);
    assert_eq!(machine.settings, [1, 2]);
}

#[test]
fn a_disk_that_refuses_the_journal_keeps_settings_as_they_are() {
    let mut machine = Machine::new(&[1]);
    for refused in 0..2 {
        let mut work = machine.apply(&[11]);
        let mut writes = 0;
        while !matches!(work.action(), Action::End(_)) {
            let write = matches!(work.action(), Action::Write(_));
            writes += usize::from(write);
            let full = write && writes == refused + 1;
            let done = if full {
                Done::Badly("the disk is full".into())
            } else {
                machine.act(&work.action(), Effect::Whole)
            };
            work.on_result(done, Time::ZERO);
        }
        assert_eq!(work.action(), Action::End(&Outcome::NotBegun("the disk is full".into())));
        assert_eq!(machine.settings, [1]);
        assert_eq!(machine.disk.change, None);
    }
}

#[test]
fn the_deadline_begins_when_all_is_applied() {
    let machine = Machine::new(&[1]);
    let mut work = machine.apply(&[11]);
    for second in 0.. {
        if let Action::Write(Journal {
            change: Some(Change::Applied { deadline_ns, .. }), ..
        }) = work.action()
        {
            // The last step was told at second 4: prepared, guard, applying, put, check.
            assert_eq!(*deadline_ns, Span::from_secs(4 + 90).as_nanos());
            return;
        }
        work.on_result(Done::Well, Time::from_nanos(Span::from_secs(second).as_nanos()));
    }
}

#[test]
fn a_damaged_journal_is_an_error_that_names_the_place() {
    for (text, expected) in [
        ("", "EOF"),
        ("{\"journal\": 2, \"kept\": [], \"change\": null, \"last\": null}", "its version is 2"),
        (
            "{\"journal\": 1, \"kept\": [], \"change\": {\"applied\": 3}, \"last\": null}",
            "change.applied",
        ),
        ("{\"journal\": 1, \"kept\": [], \"change\": null, \"last\": null} more", "trailing"),
    ] {
        let error = Journal::read(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
