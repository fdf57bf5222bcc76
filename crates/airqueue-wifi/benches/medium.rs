//! Cost of a frame at its listeners, and of finding the listeners.
//!
//! `cargo bench -p airqueue-wifi --bench medium`; the items are pairs of stations.

use airqueue_core::{Seed, Span, Time};
use airqueue_wifi::medium::{Air, Capture, FrameId, Place, Propagation, Reach, StationId};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// `n` stations, each heard by about `neighbours` others.
fn scattered(n: u32, neighbours: f64) -> Vec<Place> {
    let side = (f64::from(n) * std::f64::consts::PI * 550.0 * 550.0 / neighbours).sqrt();
    let mut rng = Seed(1).stream("places");
    let mut coordinate = || rng.unit() * side;
    (0..n).map(|id| Place::new(StationId(id), coordinate(), coordinate())).collect()
}

fn reach(n: u32) -> Reach {
    Reach::from_places(&scattered(n, 10.0), &Propagation::ns2()).expect("valid")
}

#[divan::bench(args = [1000, 10_000, 100_000])]
fn build(bencher: divan::Bencher, n: u32) {
    let places = scattered(n, 10.0);
    let links = reach(n).links();
    bencher
        .counter(ItemsCount::new(links))
        .bench_local(|| Reach::from_places(&places, &Propagation::ns2()));
}

/// Every station transmits once, and the powers received at its listeners are summed.
#[divan::bench(args = [10, 1000, 100_000])]
fn iterate(bencher: divan::Bencher, n: u32) {
    let reach = reach(n);
    bencher.counter(ItemsCount::new(reach.links())).bench_local(|| {
        let received_power_w =
            |id| reach.listeners_of(StationId(id)).iter().map(|h| h.power_w).sum::<f64>();
        (0..n).map(received_power_w).sum::<f64>()
    });
}

const RULES: [Capture; 3] = [
    Capture::None,
    Capture::NS2,
    Capture::Sinr { threshold_db: 10.0, noise_w: 1e-13, window: Span::ZERO },
];

/// A cell in which all stations hear each other, and a field in which each station hears about 10 of 1000.
#[divan::bench(args = RULES, consts = [1, 3])]
fn receive_in_a_cell<const OVERLAPPING: u32>(bencher: divan::Bencher, rule: Capture) {
    let places: Vec<Place> = (0..51).map(|id| Place::new(StationId(id), 0.0, 0.0)).collect();
    let reach = Reach::from_places(&places, &Propagation::ns2()).expect("valid");
    receive::<OVERLAPPING>(bencher, rule, &reach);
}

#[divan::bench(args = RULES, consts = [1, 3])]
fn receive_in_a_field<const OVERLAPPING: u32>(bencher: divan::Bencher, rule: Capture) {
    receive::<OVERLAPPING>(bencher, rule, &reach(999));
}

/// Every station transmits once, `OVERLAPPING` of them at a time.
fn receive<const OVERLAPPING: u32>(bencher: divan::Bencher, rule: Capture, reach: &Reach) {
    let mut receptions = reach.receptions(rule).expect("valid");
    let mut now = 0;
    bencher.counter(ItemsCount::new(reach.links())).bench_local(|| {
        for first in (0..reach.stations() as u32).step_by(OVERLAPPING as usize) {
            let group = first..first + OVERLAPPING;
            let air = Air { begins: Time::from_nanos(now), ends: Time::from_nanos(now + 1) };
            now += 1;
            for id in group.clone() {
                for hearer in reach.listeners_of(StationId(id)) {
                    let frame = FrameId(u64::from(id));
                    receptions[hearer.station.index()].on_begin(frame, air, hearer.signal());
                }
            }
            for id in group {
                for hearer in reach.listeners_of(StationId(id)) {
                    let frame = FrameId(u64::from(id));
                    divan::black_box(receptions[hearer.station.index()].on_end(frame));
                }
            }
        }
    });
}
