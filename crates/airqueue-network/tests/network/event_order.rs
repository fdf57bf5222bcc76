//! The event queue against the simplest model: a sorted list.

use airqueue_core::{Span, Time};
use airqueue_network::event::{EventId, EventQueue, Phase};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Call {
    Schedule {
        after: i64,
        phase: u8,
    },
    /// The id at this place among all ids given out so far (modulo their number).
    Cancel {
        which: usize,
    },
    Reschedule {
        which: usize,
        after: i64,
        phase: u8,
    },
    /// The closing event is moved.
    Close {
        after: Option<i64>,
    },
    Pop,
}

/// The name of the closing event, and its phase, which comes after all other phases.
const CLOSING: usize = usize::MAX;
const LAST: u16 = u16::MAX;

fn call() -> impl Strategy<Value = Call> {
    // Few distinct times and phases, so that ties are frequent.
    prop_oneof![
        4 => (0i64..6, 0u8..3).prop_map(|(after, phase)| Call::Schedule { after, phase }),
        1 => any::<usize>().prop_map(|which| Call::Cancel { which }),
        2 => (any::<usize>(), 0i64..6, 0u8..3)
            .prop_map(|(which, after, phase)| Call::Reschedule { which, after, phase }),
        2 => proptest::option::of(0i64..6).prop_map(|after| Call::Close { after }),
        3 => Just(Call::Pop),
    ]
}

/// Pending events as (time, phase, sequence, name), unsorted.
#[derive(Default)]
struct Plain {
    pending: Vec<(Time, u16, u64, usize)>,
    sequence: u64,
}

impl Plain {
    fn schedule(&mut self, at: Time, phase: impl Into<u16>, name: usize) {
        self.sequence += 1;
        self.pending.push((at, phase.into(), self.sequence, name));
    }

    fn cancel(&mut self, name: usize) -> bool {
        let before = self.pending.len();
        self.pending.retain(|e| e.3 != name);
        self.pending.len() < before
    }

    fn pop(&mut self) -> Option<(Time, usize)> {
        let first = *self.pending.iter().min()?;
        self.cancel(first.3);
        Some((first.0, first.3))
    }
}

proptest! {
    #[test]
    fn behaves_like_a_sorted_list(calls in prop::collection::vec(call(), 0..400)) {
        let mut queue = EventQueue::new();
        let mut plain = Plain::default();
        let mut ids: Vec<EventId> = Vec::new();
        for call in calls {
            let now = queue.now();
            match call {
                Call::Schedule { after, phase } => {
                    let at = now + Span::from_nanos(after);
                    plain.schedule(at, phase, ids.len());
                    ids.push(queue.schedule(at, Phase(phase), ids.len()));
                }
                Call::Cancel { which } if !ids.is_empty() => {
                    let name = which % ids.len();
                    let pending = plain.cancel(name);
                    prop_assert_eq!(queue.cancel(ids[name]), pending.then_some(name));
                }
                Call::Reschedule { which, after, phase } if !ids.is_empty() => {
                    let (name, at) = (which % ids.len(), now + Span::from_nanos(after));
                    let pending = plain.cancel(name);
                    if pending {
                        plain.schedule(at, phase, name);
                    }
                    prop_assert_eq!(queue.reschedule(ids[name], at, Phase(phase)), pending);
                    prop_assert_eq!(queue.is_pending(ids[name]), pending);
                }
                Call::Close { after } => {
                    plain.cancel(CLOSING);
                    let at = after.map(|after| now + Span::from_nanos(after));
                    if let Some(at) = at {
                        plain.schedule(at, LAST, CLOSING);
                    }
                    queue.set_closing(at.unwrap_or(Time::MAX), CLOSING);
                }
                Call::Cancel { .. } | Call::Reschedule { .. } => {}
                Call::Pop => prop_assert_eq!(queue.pop(), plain.pop()),
            }
            prop_assert_eq!(queue.len(), plain.pending.len());
            prop_assert_eq!(queue.next_at(), plain.pending.iter().map(|e| e.0).min());
        }
        while let Some(next) = plain.pop() {
            prop_assert_eq!(queue.pop(), Some(next));
        }
        prop_assert!(queue.is_empty());
    }
}

#[test]
fn an_instant_is_ordered_by_phase_then_sequence() {
    let mut queue = EventQueue::new();
    let t = Time::from_nanos(5);
    for (phase, name) in [(2, "c1"), (0, "a1"), (1, "b1"), (2, "c2"), (0, "a2")] {
        queue.schedule(t, Phase(phase), name);
    }
    queue.schedule(Time::from_nanos(4), Phase(200), "earlier");
    let order: Vec<&str> = std::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
    assert_eq!(order, ["earlier", "a1", "a2", "b1", "c1", "c2"]);
}

#[test]
fn an_old_id_does_not_reach_the_new_tenant_of_its_slot() {
    let mut queue = EventQueue::new();
    let old = queue.schedule(Time::ZERO, Phase(0), 'a');
    assert_eq!(queue.pop(), Some((Time::ZERO, 'a')));
    let new = queue.schedule(Time::ZERO, Phase(0), 'b');
    assert_eq!(queue.cancel(old), None);
    assert!(!queue.reschedule(old, Time::MAX, Phase(0)));
    assert_eq!(queue.cancel(new), Some('b'));
}

#[test]
#[should_panic(expected = "already")]
fn the_past_is_closed() {
    let mut queue = EventQueue::new();
    queue.schedule(Time::from_nanos(2), Phase(0), ());
    queue.pop();
    queue.schedule(Time::from_nanos(1), Phase(0), ());
}
