//! Of two frames, the outcomes at a receiver follow from how their powers compare there.

use airqueue_core::{Span, Time};
use airqueue_wifi::medium::{Air, Capture, End, FrameId, Level, Reception, Signal};
use proptest::prelude::*;

const WINDOW: Span = Span::from_nanos(3);

fn air(begins: i64, lasts: i64) -> Air {
    Air { begins: Time::from_nanos(begins), ends: Time::from_nanos(begins + lasts) }
}

/// Both frames, the first of which begins first.
fn ends(rule: Capture, airs: [Air; 2], signals: [Signal; 2]) -> [End; 2] {
    let mut reception = Reception::new(rule).expect("valid");
    let on_end = |of: &mut Reception, at: usize| of.on_end(FrameId(at as u64)).expect("it began");
    reception.on_begin(FrameId(0), airs[0], signals[0]);
    reception.on_begin(FrameId(1), airs[1], signals[1]);
    if airs[0].ends <= airs[1].ends {
        [0, 1].map(|at| on_end(&mut reception, at))
    } else {
        let [second, first] = [1, 0].map(|at| on_end(&mut reception, at));
        [first, second]
    }
}

/// All frames, each of which begins no earlier than the one before, in the order in which they end.
fn ends_of_all(rule: Capture, airs: &[Air], signals: &[Signal]) -> Vec<End> {
    let mut reception = Reception::new(rule).expect("valid");
    for (at, (&air, &signal)) in airs.iter().zip(signals).enumerate() {
        reception.on_begin(FrameId(at as u64), air, signal);
    }
    let mut order: Vec<usize> = (0..airs.len()).collect();
    order.sort_by_key(|&at| airs[at].ends);
    order.iter().map(|&at| reception.on_end(FrameId(at as u64)).expect("it began")).collect()
}

fn signal() -> impl Strategy<Value = Signal> {
    let powers = vec![1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 100.0, 1000.0, 5000.0];
    let power = prop::sample::select(powers);
    let level = prop::sample::select(vec![Level::Interference, Level::Sensed, Level::Decodable]);
    (power, level).prop_map(|(power_w, level)| Signal { power_w, level })
}

fn signals() -> impl Strategy<Value = [Signal; 2]> {
    [signal(), signal()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn equal_comparisons_have_equal_outcomes(
        here in signals(), there in signals(), later in 0i64..6, lasts in [6i64..12, 6i64..12],
    ) {
        let airs = [air(0, lasts[0]), air(later, lasts[1])];
        let sinr = |window| Capture::Sinr { threshold_db: 10.0, noise_w: 1.0, window };
        for rule in [Capture::None, Capture::NS2, sinr(Span::ZERO), sinr(WINDOW)] {
            let receiver = Reception::new(rule).expect("valid");
            let compared = |of: [Signal; 2]| receiver.compare(of[0], of[1]);
            prop_assert!(compared(here) < Reception::COMPARISONS);
            if compared(here) == compared(there) {
                let [one, other] = [here, there].map(|of| ends(rule, airs, of));
                prop_assert_eq!(one, other, "{:?}", rule);
            }
        }
    }

    /// Other powers that are not far away often compare alike.
    #[test]
    fn equal_comparisons_of_each_two_have_equal_outcomes(
        here in [signal(), signal(), signal(), signal()],
        scale in [0.5f64..2.0, 0.5f64..2.0, 0.5f64..2.0, 0.5f64..2.0],
        later in [0i64..3, 0i64..3, 0i64..3], lasts in [12i64..15, 12i64..15, 12i64..15, 12i64..15],
        frames in 3usize..5,
    ) {
        let begins = later.iter().scan(0, |at, later| { *at += later; Some(*at) });
        let begins = std::iter::once(0).chain(begins);
        let airs: Vec<Air> = begins.zip(lasts).map(|(at, lasts)| air(at, lasts)).take(frames).collect();
        let near = |(signal, scale): (Signal, f64)| {
            Signal { power_w: signal.power_w * scale, ..signal }
        };
        let there: Vec<Signal> = here.into_iter().zip(scale).map(near).take(frames).collect();
        let here = &here[..frames];
        for rule in [Capture::None, Capture::NS2] {
            let receiver = Reception::new(rule).expect("valid");
            prop_assert!(receiver.compares_in_pairs());
            let mut pairs = (1..frames).flat_map(|later| (0..later).map(move |one| (one, later)));
            let compared = |of: &[Signal], (one, later): (usize, usize)| {
                receiver.compare(of[one], of[later])
            };
            if pairs.all(|pair| compared(here, pair) == compared(&there, pair)) {
                prop_assert_eq!(ends_of_all(rule, &airs, here), ends_of_all(rule, &airs, &there));
            }
        }
    }
}

/// The comparison tells the cases apart: as many outcomes as the rules have.
#[test]
fn a_stronger_frame_compares_otherwise() {
    let signal = |power_w| Signal { power_w, level: Level::Decodable };
    let [weak, strong, strongest] = [1.0, 2.0, 100.0].map(signal);
    let receiver = Reception::new(Capture::NS2).expect("valid");
    let all = [
        receiver.compare(weak, strong),
        receiver.compare(strong, weak),
        receiver.compare(weak, strongest),
        receiver.compare(strongest, weak),
    ];
    assert!((0..all.len()).all(|at| !all[..at].contains(&all[at])), "{all:?}");
}
