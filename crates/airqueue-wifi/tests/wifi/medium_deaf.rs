//! What a receiver makes of frames that it cannot hear for its station's own transmission.

use airqueue_core::{Span, Time};
use airqueue_wifi::medium::{Air, Capture, End, FrameId, Level, Reception, RxOutcome, Signal};
use proptest::prelude::*;

fn air((begins, lasts): (i64, i64)) -> Air {
    Air { begins: Time::from_nanos(begins), ends: Time::from_nanos(begins + lasts) }
}

fn signal((power_w, level): (f64, Level)) -> Signal {
    Signal { power_w, level }
}

/// The ends of frames beside a station's own transmission. `told`: whether the receiver is told of a frame.
fn ends(
    rule: Capture,
    own: Air,
    frames: &[(Air, Signal)],
    told: impl Fn(Air) -> bool,
) -> Vec<Option<End>> {
    let mut receiver = Reception::new(rule).expect("valid");
    let mut ends = vec![None; frames.len()];
    for now in (0..200).map(Time::from_nanos) {
        let all = || (0..).zip(frames).filter(|(_, (air, _))| told(*air));
        for (id, _) in all().filter(|(_, (air, _))| air.ends == now) {
            ends[id as usize] = receiver.on_end(FrameId(id));
        }
        if own.begins == now {
            receiver.on_transmit(own);
        }
        for (id, (air, signal)) in all().filter(|(_, (air, _))| air.begins == now) {
            receiver.on_begin(FrameId(id), *air, *signal);
        }
    }
    ends
}

fn is_within(own: Air, frame: Air) -> bool {
    own.begins <= frame.begins && frame.ends <= own.ends
}

/// What a station sees of an end: while it transmits, no more than that it heard nothing, and whether the frame was
/// ignored.
fn seen(end: Option<End>) -> Option<End> {
    let deaf = |end: &End| end.outcome == RxOutcome::Deaf;
    end.map(|end| if deaf(&end) { End { ignored: end.ignored, ..End::DEAF } } else { end })
}

/// Frames that outlast the window of the rules.
fn frames() -> impl Strategy<Value = Vec<(Air, Signal)>> {
    let power = prop::sample::select(vec![1.0, 5.0, 20.0, 100.0, 5000.0]);
    let level = prop::sample::select(vec![Level::Interference, Level::Sensed, Level::Decodable]);
    let frame = ((0i64..40, 5i64..30).prop_map(air), (power, level).prop_map(signal));
    prop::collection::vec(frame, 2..7)
}

fn sinr(window: i64) -> Capture {
    Capture::Sinr { threshold_db: 10.0, noise_w: 1.0, window: Span::from_nanos(window) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_frame_within_an_own_transmission_leaves_no_trace(
        own in (0i64..30, 5i64..30).prop_map(air), frames in frames(),
    ) {
        for rule in [Capture::None, sinr(0), sinr(4)] {
            prop_assert!(Reception::new(rule).expect("valid").forgets_deaf());
            let all = ends(rule, own, &frames, |_| true);
            let told = ends(rule, own, &frames, |frame| !is_within(own, frame));
            for ((frame, _), (one, other)) in frames.iter().zip(all.into_iter().zip(told)) {
                if is_within(own, *frame) {
                    prop_assert_eq!(seen(one), Some(End::DEAF), "{:?}", rule);
                } else {
                    prop_assert_eq!(seen(one), seen(other), "{:?}", rule);
                }
            }
        }
    }
}

/// A receiver of ns-2 is with a frame that it cannot hear, too, and decides by its power about those that follow.
#[test]
fn ns2_does_not_forget() {
    assert!(!Reception::new(Capture::NS2).expect("valid").forgets_deaf());
    let own = air((0, 10));
    let frame = |at, power_w| (air(at), signal((power_w, Level::Decodable)));
    let frames = [frame((2, 6), 100.0), frame((5, 15), 5.0), frame((12, 20), 50.0)];
    let outcome = |ends: Vec<Option<End>>| ends[2].map(|end| end.outcome);
    let all = outcome(ends(Capture::NS2, own, &frames, |_| true));
    let told = outcome(ends(Capture::NS2, own, &frames, |frame| !is_within(own, frame)));
    assert_eq!((all, told), (Some(RxOutcome::Received), Some(RxOutcome::Collided)));
}
