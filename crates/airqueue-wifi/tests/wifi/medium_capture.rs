//! The receiver: truth tables of the capture rules, and each rule against a direct implementation.

use airqueue_core::{Span, Time};
use airqueue_wifi::medium::{
    Air, Capture, End, FrameId, Level, Link, MediumError, Reach, Reception, RxOutcome,
    RxOutcome::*, Signal, StationId,
};
use proptest::prelude::*;

/// A frame at one receiver; powers and times in units that make sums exact.
#[derive(Clone, Copy, Debug)]
struct TestFrame {
    power_w: f64,
    level: Level,
    begins: i64,
    ends: i64,
}

const fn decodable(power_w: f64, begins: i64, ends: i64) -> TestFrame {
    TestFrame { power_w, level: Level::Decodable, begins, ends }
}

const fn sensed(power_w: f64, begins: i64, ends: i64) -> TestFrame {
    TestFrame { level: Level::Sensed, ..decodable(power_w, begins, ends) }
}

fn air(begins: i64, ends: i64) -> Air {
    Air { begins: Time::from_nanos(begins), ends: Time::from_nanos(ends) }
}

/// Drives a receiver as an engine does. Frames and own transmissions that begin together are reported in the order of
/// `turns`.
fn drive(capture: Capture, frames: &[TestFrame], own: &[(i64, i64)], turns: &[u32]) -> Vec<End> {
    driven(capture, frames, own, turns).0
}

/// As [`drive`]; also returns the instants at which the receiver is with a frame, before others begin.
fn driven(
    capture: Capture,
    frames: &[TestFrame],
    own: &[(i64, i64)],
    turns: &[u32],
) -> (Vec<End>, Vec<i64>) {
    let mut receiving = Vec::new();
    let mut reception = Reception::new(capture).expect("valid");
    let mut ends = vec![None; frames.len()];
    let turn = |i: usize| turns.get(i).copied().unwrap_or(0);
    let last = frames.iter().map(|f| f.ends).max().unwrap_or(0);
    for now in 0..=last {
        let mut ending: Vec<usize> = (0..frames.len()).filter(|&i| frames[i].ends == now).collect();
        ending.sort_by_key(|&i| turn(i));
        for i in ending {
            ends[i] = Some(reception.on_end(FrameId(i as u64)).expect("it began"));
        }
        if reception.receiving(Time::from_nanos(now)) {
            receiving.push(now);
        }
        let begins = |k: usize| match k.checked_sub(frames.len()) {
            None => frames[k].begins,
            Some(k) => own[k].0,
        };
        let mut beginning: Vec<usize> =
            (0..frames.len() + own.len()).filter(|&k| begins(k) == now).collect();
        beginning.sort_by_key(|&k| turn(k));
        for k in beginning {
            if let Some(frame) = frames.get(k) {
                let signal = Signal { power_w: frame.power_w, level: frame.level };
                reception.on_begin(FrameId(k as u64), air(frame.begins, frame.ends), signal);
            } else {
                let (begins, ends) = own[k - frames.len()];
                reception.on_transmit(air(begins, ends));
            }
        }
        let on_air = |f: &TestFrame| f.begins <= now && now < f.ends && f.level >= Level::Sensed;
        assert_eq!(reception.senses(), frames.iter().any(on_air), "carrier sense at {now}");
    }
    (ends.into_iter().map(|end| end.expect("all have ended")).collect(), receiving)
}

#[track_caller]
fn check(
    capture: Capture,
    frames: &[TestFrame],
    own: &[(i64, i64)],
    expected: &[(RxOutcome, bool)],
) {
    let ends = drive(capture, frames, own, &[]);
    let found: Vec<_> = ends.iter().map(|end| (end.outcome, end.engaged)).collect();
    assert_eq!(found, expected, "{capture:?}, {frames:?}");
}

const SINR: Capture = Capture::Sinr { threshold_db: 10.0, noise_w: 1.0, window: Span::ZERO };
const RULES: [Capture; 3] = [Capture::None, Capture::NS2, SINR];

#[test]
fn a_frame_alone_is_received_and_touching_is_not_overlapping() {
    for rule in RULES {
        check(rule, &[decodable(20.0, 0, 5)], &[], &[(Received, true)]);
        let back_to_back = [decodable(20.0, 0, 5), decodable(1000.0, 5, 9)];
        check(rule, &back_to_back, &[], &[(Received, true), (Received, true)]);
    }
}

/// The parts of a received frame that survive overlaps are known.
#[test]
fn surviving_parts_of_a_frame_are_known() {
    // The instants of the first frame that survive, each with the interfering power.
    let left = |capture, frames: &[TestFrame]| -> Vec<(i64, f64)> {
        let mut reception = Reception::new(capture).unwrap();
        let mut order: Vec<usize> = (1..frames.len()).collect();
        order.sort_by_key(|&at| frames[at].begins);
        let signal = |f: &TestFrame| Signal { power_w: f.power_w, level: f.level };
        let begin = |reception: &mut Reception, at: usize| {
            let f = &frames[at];
            reception.on_begin(FrameId(at as u64), air(f.begins, f.ends), signal(f));
        };
        begin(&mut reception, 0);
        let mut ended = Vec::new();
        for at in order {
            let over: Vec<usize> = (1..frames.len())
                .filter(|other| frames[*other].ends <= frames[at].begins && !ended.contains(other))
                .collect();
            for other in over {
                reception.on_end(FrameId(other as u64));
                ended.push(other);
            }
            begin(&mut reception, at);
        }
        let end = reception.on_end(FrameId(0)).unwrap();
        if !end.overlapped {
            return Vec::new();
        }
        let instants = frames[0].begins..frames[0].ends;
        let part = |at: i64| {
            let beside = reception.beside(air(at, at + 1), signal(&frames[0]));
            beside.map(|beside| (at, beside))
        };
        instants.filter_map(part).collect()
    };
    let at = |ranges: &[(i64, i64)]| -> Vec<(i64, f64)> {
        ranges.iter().flat_map(|&(from, to)| from..to).map(|at| (at, 0.0)).collect()
    };
    for rule in RULES {
        // A short frame within, a frame across the end, and both.
        let long = decodable(20.0, 0, 100);
        let (within, across) = (decodable(20.0, 30, 40), decodable(20.0, 90, 120));
        assert_eq!(left(rule, &[long, within]), at(&[(0, 30), (40, 100)]), "{rule:?}");
        assert_eq!(left(rule, &[long, across]), at(&[(0, 90)]), "{rule:?}");
        assert_eq!(left(rule, &[long, within, across]), at(&[(0, 30), (40, 90)]), "{rule:?}");
        assert_eq!(left(rule, &[long]), [], "{rule:?}");
        // Too weak to be decoded in any case.
        assert_eq!(left(rule, &[sensed(20.0, 0, 100), within]), [], "{rule:?}");
    }
    // The frame survives each weaker frame; their sum may be too strong.
    let weak = [decodable(100.0, 0, 100), decodable(5.0, 30, 60), decodable(7.0, 50, 80)];
    assert_eq!(left(Capture::NS2, &weak), []);
    let beside = |(at, _): (i64, f64)| {
        (
            at,
            if !(30..80).contains(&at) {
                0.0
            } else if at < 50 {
                5.0
            } else {
                7.0
            },
        )
    };
    let clear = at(&[(0, 50), (60, 100)]).into_iter().map(beside);
    assert_eq!(left(SINR, &weak), clear.collect::<Vec<_>>());
}

/// The rows: power of the second of two frames, where the first has 100, and its beginning.
#[test]
fn two_frames_under_each_rule() {
    let second = |power| [decodable(100.0, 0, 10), decodable(power, 5, 20)];
    for power in [1.0, 10.0, 100.0, 100_000.0] {
        check(Capture::None, &second(power), &[], &[(Collided, false), (Collided, true)]);
    }
    let survives = [(Captured, true), (Overpowered, false)];
    let both_lost = [(Collided, false), (Collided, true)];
    check(Capture::NS2, &second(10.0), &[], &survives);
    check(Capture::NS2, &second(10.1), &[], &both_lost);
    check(Capture::NS2, &second(100_000.0), &[], &both_lost);
    // 100 >= 10 (1 + 9), but not for more power; the receiver stays with the first frame.
    let first_lost = [(Collided, true), (Overpowered, false)];
    check(SINR, &second(9.0), &[], &[(Captured, true), (Undecodable, false)]);
    check(SINR, &second(9.1), &[], &[(Collided, true), (Undecodable, false)]);
    check(SINR, &second(100.0), &[], &first_lost);
    check(SINR, &second(100_000.0), &[], &first_lost);
}

#[test]
fn the_stronger_of_two_that_begin_together_is_the_first() {
    let together = |power| [decodable(10.0, 0, 10), decodable(power, 0, 20)];
    check(Capture::None, &together(1e6), &[], &[(Collided, false), (Collided, true)]);
    check(Capture::NS2, &together(100.0), &[], &[(Overpowered, false), (Captured, true)]);
    check(Capture::NS2, &together(99.0), &[], &[(Collided, false), (Collided, true)]);
    check(SINR, &together(110.0), &[], &[(Overpowered, false), (Captured, true)]);
    // The receiver locks onto neither frame, so that no reception ends in an error.
    check(SINR, &together(109.0), &[], &[(Collided, false), (Collided, false)]);
}

#[test]
fn frames_that_cannot_be_decoded_still_collide() {
    check(Capture::None, &[sensed(5.0, 0, 5)], &[], &[(Undecodable, true)]);
    check(Capture::NS2, &[sensed(5.0, 0, 5)], &[], &[(Undecodable, true)]);
    check(SINR, &[sensed(50.0, 0, 5)], &[], &[(Undecodable, false)]);
    // ns-2 locks onto the first frame even if undecodable; under the SINR rule the receiver stays free for the next.
    let weak_first = [sensed(5.0, 0, 9), decodable(60.0, 4, 8)];
    check(Capture::NS2, &weak_first, &[], &[(Collided, true), (Collided, false)]);
    check(SINR, &weak_first, &[], &[(Undecodable, false), (Captured, true)]);
    let interference = TestFrame { level: Level::Interference, ..weak_first[0] };
    let quiet = [interference, decodable(59.0, 4, 8)];
    check(Capture::None, &quiet, &[], &[(Undecodable, false), (Received, true)]);
    check(Capture::NS2, &quiet, &[], &[(Undecodable, false), (Received, true)]);
    check(SINR, &quiet, &[], &[(Undecodable, false), (Collided, false)]);
}

#[test]
fn chains_of_overlaps() {
    // The first and the last frame do not overlap.
    let chain = [decodable(10.0, 0, 10), decodable(10.0, 5, 20), decodable(10.0, 15, 30)];
    let lost = [(Collided, false), (Collided, false), (Collided, true)];
    check(Capture::None, &chain, &[], &lost);
    check(Capture::NS2, &chain, &[], &lost);
    // ns-2 forgets the frame that it ignored: the third is received as if alone.
    let forgotten = [decodable(100.0, 0, 10), decodable(10.0, 5, 30), decodable(10.0, 15, 20)];
    let outcomes = [(Captured, true), (Overpowered, false), (Received, true)];
    check(Capture::NS2, &forgotten, &[], &outcomes);
    // After a collision, later frames are compared with the frame that lasts longest.
    let third = |power| [decodable(10.0, 0, 10), decodable(50.0, 5, 20), decodable(power, 7, 30)];
    let ignored = [(Collided, false), (Collided, true), (Overpowered, false)];
    check(Capture::NS2, &third(5.0), &[], &ignored);
    check(Capture::NS2, &third(5.1), &[], &lost);
    // Interference adds up under the SINR rule alone: 100 < 10 (1 + 5 + 5).
    let two = [decodable(100.0, 0, 10), sensed(5.0, 1, 9), sensed(5.0, 2, 8)];
    let weak = (Undecodable, false);
    check(SINR, &two, &[], &[(Collided, true), weak, weak]);
    check(SINR, &two[..2], &[], &[(Captured, true), weak]);
    check(Capture::NS2, &two[..1], &[], &[(Received, true)]);
    check(Capture::NS2, &two, &[], &[(Captured, true), (Overpowered, false), (Overpowered, false)]);
}

#[test]
fn a_station_that_transmits_is_deaf() {
    let frame = [decodable(50.0, 5, 10)];
    for rule in RULES {
        for own in [(0, 6), (4, 12), (5, 7), (7, 9), (9, 20)] {
            let engaged = own.1 <= 10 && !matches!(rule, Capture::Sinr { .. });
            check(rule, &frame, &[own], &[(Deaf, engaged)]);
        }
        for own in [(0, 5), (10, 20)] {
            check(rule, &frame, &[own], &[(Received, true)]);
        }
    }
    // An ignored frame stays ignored, even if the station transmits.
    let ignored = [decodable(100.0, 0, 10), decodable(10.0, 5, 30)];
    for own in [(4, 6), (6, 8), (11, 15)] {
        let end = drive(Capture::NS2, &ignored, &[own], &[])[1];
        assert_eq!((end.outcome, end.engaged, end.ignored), (Deaf, false, true));
    }
    // A frame that begins after the station's own transmission overlaps the frame that was lost to it.
    let later = [decodable(50.0, 5, 20), decodable(50.0, 10, 30)];
    check(Capture::None, &later, &[(0, 7)], &[(Deaf, false), (Collided, true)]);
    check(SINR, &later, &[(0, 7)], &[(Deaf, false), (Collided, false)]);
}

#[test]
fn refused_rules() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(Reception::new(Capture::Ns2 { margin_db: bad }).is_err());
        assert!(
            Reception::new(Capture::Sinr { threshold_db: bad, noise_w: 1.0, window: Span::ZERO })
                .is_err()
        );
    }
    for noise_w in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused =
            Reception::new(Capture::Sinr { threshold_db: 10.0, noise_w, window: Span::ZERO });
        assert!(matches!(refused, Err(MediumError::NotPositive { .. })), "{noise_w}");
    }
    let link =
        Link { from: StationId(0), to: StationId(1), level: Level::Decodable, power_w: None };
    let reach = Reach::from_links(2, &[link]).expect("valid");
    assert!(matches!(reach.receptions(SINR), Err(MediumError::NoPowers(_))));
    assert_eq!(reach.receptions(Capture::NS2).expect("valid").len(), 2);
    assert!(Reception::new(SINR).expect("valid").on_end(FrameId(1)).is_none());
}

// Direct implementations of the rules, which see all frames at once, where the receiver sees events.

fn overlap(a: (i64, i64), b: (i64, i64)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

fn deaf(frame: &TestFrame, own: &[(i64, i64)]) -> bool {
    own.iter().any(|&tx| overlap((frame.begins, frame.ends), tx))
}

fn restated_none(frames: &[TestFrame], own: &[(i64, i64)]) -> Vec<RxOutcome> {
    let one = |(i, f): (usize, &TestFrame)| {
        let meets = |(j, g): (usize, &TestFrame)| {
            i != j && g.level >= Level::Sensed && overlap((f.begins, f.ends), (g.begins, g.ends))
        };
        match f.level {
            _ if deaf(f, own) => Deaf,
            Level::Interference => Undecodable,
            _ if frames.iter().enumerate().any(meets) => Collided,
            Level::Sensed => Undecodable,
            Level::Decodable => Received,
        }
    };
    frames.iter().enumerate().map(one).collect()
}

/// The structure of ns-2's code: one packet in reception, a timer, and two states besides idle.
fn restated_ns2(frames: &[TestFrame], own: &[(i64, i64)]) -> Vec<RxOutcome> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    let arrival = |i: usize| (frames[i].begins, -frames[i].power_w as i64, i);
    order.sort_by_key(|&i| arrival(i));
    let mut outcome = vec![Undecodable; frames.len()];
    let mut receiving: Option<usize> = None;
    let mut expire = 0;
    for i in order {
        let new = frames[i];
        if new.level == Level::Interference {
            continue;
        }
        if new.begins >= expire {
            receiving = None;
        }
        match receiving {
            None => {
                (receiving, expire) = (Some(i), new.ends);
                outcome[i] = if new.level == Level::Decodable { Received } else { Undecodable };
            }
            Some(held) if frames[held].power_w / new.power_w >= 10.0 => {
                outcome[i] = Overpowered;
                if outcome[held] == Received {
                    outcome[held] = Captured;
                }
            }
            Some(held) => {
                (outcome[held], outcome[i]) = (Collided, Collided);
                if new.ends > expire {
                    (receiving, expire) = (Some(i), new.ends);
                }
            }
        }
    }
    let with_own = |(f, o): (&TestFrame, RxOutcome)| if deaf(f, own) { Deaf } else { o };
    frames.iter().zip(outcome).map(with_own).collect()
}

/// Noise 1, ratio 10.
fn restated_sinr(frames: &[TestFrame], own: &[(i64, i64)]) -> Vec<RxOutcome> {
    let n = frames.len();
    let mut outcome = vec![Undecodable; n];
    let mut held: Option<usize> = None;
    for now in 0..frames.iter().map(|f| f.ends).max().unwrap_or(0) {
        if own.iter().any(|tx| tx.0 == now) {
            held = None;
        }
        held = held.filter(|&h| frames[h].ends > now);
        let sum: f64 =
            frames.iter().filter(|f| f.begins <= now && now < f.ends).map(|f| f.power_w).sum();
        let good = |i: usize| frames[i].power_w >= 10.0 * (1.0 + sum - frames[i].power_w);
        let usable = |i: usize| frames[i].level == Level::Decodable && frames[i].power_w >= 10.0;
        let new: Vec<usize> = (0..n).filter(|&i| frames[i].begins == now).collect();
        for &i in new.iter().filter(|&&i| usable(i)) {
            outcome[i] = if held.is_some() { Overpowered } else { Collided };
        }
        if let Some(h) = held {
            if !new.is_empty() && outcome[h] != Collided {
                outcome[h] = if good(h) { Captured } else { Collided };
            }
        } else if own.iter().all(|&tx| !overlap((now, now + 1), tx))
            && let Some(&best) = new.iter().find(|&&i| usable(i) && good(i))
        {
            new.iter().filter(|&&i| usable(i)).for_each(|&i| outcome[i] = Overpowered);
            outcome[best] = if sum > frames[best].power_w { Captured } else { Received };
            held = Some(best);
        }
    }
    (0..n).map(|i| if deaf(&frames[i], own) { Deaf } else { outcome[i] }).collect()
}

fn some_frames() -> impl Strategy<Value = Vec<TestFrame>> {
    let power = prop::sample::select(vec![1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 5000.0]);
    let level = prop::sample::select(vec![Level::Interference, Level::Sensed, Level::Decodable]);
    let one = (power, level, 0i64..20, 1i64..12).prop_map(|(power_w, level, begins, length)| {
        // In part of the cases only strong frames are decoded, as with thresholds.
        let level = if power_w >= 100.0 { Level::Decodable } else { level };
        TestFrame { power_w, level, begins, ends: begins + length }
    });
    // Of many frames on the air the receiver keeps those that have ended for a while.
    prop_oneof![
        9 => prop::collection::vec(one.clone(), 1..9),
        1 => prop::collection::vec(one, 30..80),
    ]
}

/// Transmissions of the station itself, which do not overlap.
fn own_transmissions() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((1i64..12, 1i64..5), 0..3).prop_map(|gaps| {
        let mut now = 0;
        let one = |(gap, length)| {
            let begins = now + gap;
            now = begins + length;
            (begins, now)
        };
        gaps.into_iter().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_receiver_does_what_the_rule_says(frames in some_frames(), own in own_transmissions()) {
        type Restated = fn(&[TestFrame], &[(i64, i64)]) -> Vec<RxOutcome>;
        let rules: [(Capture, Restated); 3] =
            [(Capture::None, restated_none), (Capture::NS2, restated_ns2), (SINR, restated_sinr)];
        for (rule, restated) in rules {
            let found: Vec<RxOutcome> = drive(rule, &frames, &own, &[]).iter().map(|e| e.outcome).collect();
            prop_assert_eq!(found, restated(&frames, &own), "{:?}", rule);
        }
    }

    #[test]
    fn the_order_of_calls_within_an_instant_is_free(
        frames in some_frames(),
        own in own_transmissions(),
        turns in prop::collection::vec(any::<u32>(), 80),
    ) {
        for rule in RULES {
            prop_assert_eq!(drive(rule, &frames, &own, &turns), drive(rule, &frames, &own, &[]));
        }
    }

    /// The receiver is with one frame at a time: frames that it stays with to the end do not overlap, except in
    /// collisions, where the last frame stands for all.
    #[test]
    fn survivors_never_overlap(frames in some_frames(), own in own_transmissions()) {
        for rule in RULES {
            let ends = drive(rule, &frames, &own, &[]);
            let survivors: Vec<&TestFrame> = frames.iter().zip(&ends)
                .filter(|(_, end)| end.outcome.decoded()).map(|(f, _)| f).collect();
            for (i, a) in survivors.iter().enumerate() {
                prop_assert_eq!(a.level, Level::Decodable);
                for b in &survivors[i + 1..] {
                    prop_assert!(!overlap((a.begins, a.ends), (b.begins, b.ends)));
                }
            }
            for end in &ends {
                prop_assert!(end.engaged || !end.outcome.decoded());
            }
        }
    }

    /// During a reception, an end of a reception is reported within the present busy time.
    #[test]
    fn a_reception_ends_within_its_busy_period(frames in some_frames()) {
        let wide = Capture::Sinr { threshold_db: 10.0, noise_w: 1.0, window: Span::from_nanos(2) };
        // No frame is so short that it ends before a receiver has detected it.
        let frames: Vec<TestFrame> =
            frames.into_iter().map(|f| TestFrame { ends: f.ends + 3, ..f }).collect();
        for rule in RULES.into_iter().chain([wide]) {
            let (ends, receiving) = driven(rule, &frames, &[], &[]);
            for now in receiving {
                let on_air = |at: i64| frames.iter().any(|f| f.begins < at && at < f.ends);
                let silence = (now..).find(|&at| !on_air(at)).expect("they all end");
                let ended = |(f, end): (&TestFrame, &End)| {
                    now < f.ends && f.ends <= silence && end.engaged
                };
                prop_assert!(frames.iter().zip(&ends).any(ended), "{:?} at {}", rule, now);
            }
        }
    }

    /// Under the two rules with one reception per busy period, each busy period without an own transmission ends with a
    /// frame that the receiver was with, unless a frame was ignored.
    #[test]
    fn every_busy_time_without_capture_ends_a_reception(frames in some_frames()) {
        let ends = drive(Capture::None, &frames, &[], &[]);
        let sensed: Vec<usize> = (0..frames.len()).filter(|&i| frames[i].level >= Level::Sensed).collect();
        for &i in &sensed {
            let at = frames[i].ends;
            let busy_after = sensed.iter().any(|&j| frames[j].begins < at && at < frames[j].ends);
            if !busy_after {
                prop_assert!(sensed.iter().any(|&j| frames[j].ends == at && ends[j].engaged));
            }
        }
    }
}
