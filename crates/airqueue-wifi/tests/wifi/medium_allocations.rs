//! A receiver allocates nothing after the largest number of overlapping frames.

use crate::counting::allocations;
use airqueue_core::{RandomStream, Seed, Span, Time};
use airqueue_wifi::medium::{Air, Capture, FrameId, Place, Propagation, Reach, StationId};

const STATIONS: u32 = 12;

/// Rounds of 1 to 6 frames that overlap, from stations chosen at random, all in range.
fn rounds(reach: &Reach, rule: Capture, count: u64) -> u64 {
    let mut receptions = reach.receptions(rule).expect("valid");
    let mut rng: RandomStream = Seed(5).stream("rounds");
    let mut before = 0;
    for round in 0..2 * count {
        if round == count {
            before = allocations();
        }
        let base = round as i64 * 100;
        let frames = if round == 0 { 6 } else { 1 + rng.below(6) };
        for k in 0..frames {
            let begins = base + k as i64 / 2;
            let air = Air { begins: Time::from_nanos(begins), ends: Time::from_nanos(base + 50) };
            let from = StationId(((round + k) % u64::from(STATIONS)) as u32);
            receptions[from.index()].on_transmit(air);
            for hearer in reach.listeners_of(from) {
                let id = FrameId(round * 10 + k);
                receptions[hearer.station.index()].on_begin(id, air, hearer.signal());
            }
        }
        for k in 0..frames {
            let from = StationId(((round + k) % u64::from(STATIONS)) as u32);
            for hearer in reach.listeners_of(from) {
                let end = receptions[hearer.station.index()].on_end(FrameId(round * 10 + k));
                assert!(end.is_some());
            }
        }
    }
    allocations() - before
}

#[test]
fn no_allocation_in_steady_state() {
    let place = |id| Place::new(StationId(id), f64::from(id), 0.0);
    let places: Vec<Place> = (0..STATIONS).map(place).collect();
    let reach = Reach::from_places(&places, &Propagation::ns2()).expect("valid");
    let sinr = Capture::Sinr { threshold_db: 10.0, noise_w: 1e-13, window: Span::ZERO };
    let start = allocations();
    for rule in [Capture::None, Capture::NS2, sinr] {
        assert_eq!(rounds(&reach, rule, 1000), 0, "{rule:?}");
    }
    assert!(allocations() > start, "the counter counts");
}
