//! Which stations hear each other: hand-made topologies, ns-2's ranges, the grid against all pairs, and bad input.

use airqueue_core::Seed;
use airqueue_wifi::medium::{
    Level, Link, MediumError, PathLoss, Place, Propagation, Reach, ReachEntry, Signal, StationId,
    Thresholds,
};
use proptest::prelude::*;

const DISC: Propagation = Propagation::Disc { reception_m: 250.0, carrier_sense_m: 550.0 };

fn at(id: u32, x_m: f64, y_m: f64) -> Place {
    Place::new(StationId(id), x_m, y_m)
}

fn level(reach: &Reach, from: u32, to: u32) -> Option<Level> {
    reach.signal(StationId(from), StationId(to)).map(|signal| signal.level)
}

fn loss(path_loss: PathLoss) -> Propagation {
    let thresholds =
        Thresholds { reception_w: 1e-10, carrier_sense_w: 1e-11, interference_w: 1e-12 };
    Propagation::Loss { path_loss, thresholds }
}

fn all_models() -> [Propagation; 5] {
    [
        DISC,
        Propagation::ns2(),
        loss(PathLoss::FreeSpace { frequency_hz: 2.4e9 }),
        loss(PathLoss::TwoRayGround { frequency_hz: 5.2e9, antenna_height_m: 2.0 }),
        loss(PathLoss::LogDistance { exponent: 3.5, reference_m: 1.0, reference_loss_db: 40.0 }),
    ]
}

/// Stations 0 and 2 both reach 1 and do not hear each other; 1 and 3 are within carrier sense.
#[test]
fn hidden_and_exposed_stations() {
    let places = [at(0, 0.0, 0.0), at(1, 240.0, 0.0), at(2, 480.0, 0.0), at(3, 780.0, 0.0)];
    let short = Propagation::Disc { reception_m: 250.0, carrier_sense_m: 300.0 };
    let reach = Reach::from_places(&places, &short).expect("valid");
    assert_eq!(level(&reach, 0, 1), Some(Level::Decodable));
    assert_eq!(level(&reach, 2, 1), Some(Level::Decodable));
    assert_eq!(level(&reach, 0, 2), None);
    assert_eq!(level(&reach, 2, 3), Some(Level::Sensed));
    assert_eq!(reach.links(), 6);
    // With ns-2's carrier sense 0 and 2 are no longer hidden.
    let reach = Reach::from_places(&places, &DISC).expect("valid");
    assert_eq!(level(&reach, 0, 2), Some(Level::Sensed));
    assert_eq!(level(&reach, 1, 3), Some(Level::Sensed));
    assert_eq!(level(&reach, 0, 3), None);
    assert!(!reach.powers_known());
    assert_eq!(reach.stations(), 4);
}

#[test]
fn a_weak_station_hears_and_is_not_heard() {
    let weak = Place { transmit_w: Propagation::NS2_TRANSMIT_POWER_W / 16.0, ..at(1, 200.0, 0.0) };
    let reach = Reach::from_places(&[weak, at(0, 0.0, 0.0)], &Propagation::ns2()).expect("valid");
    assert_eq!(level(&reach, 0, 1), Some(Level::Decodable));
    // The fourth root of 16 halves the range: 125 m, and 275 m for carrier sense.
    assert_eq!(level(&reach, 1, 0), Some(Level::Sensed));
    assert!(reach.powers_known());
}

#[test]
fn levels_follow_the_thresholds() {
    let free = loss(PathLoss::FreeSpace { frequency_hz: 2.4e9 });
    let range = free.range_m(0.1);
    // Thresholds a factor 10 apart are distances a factor √10 apart.
    let places = [0.0, 0.0999, 0.1001, 0.316, 0.3163, 0.9999, 1.0001]
        .iter()
        .zip(0..)
        .map(|(&part, id)| Place { transmit_w: 0.1, ..at(id, part * range, 0.0) });
    let reach = Reach::from_places(&places.collect::<Vec<_>>(), &free).expect("valid");
    let found: Vec<_> = (1..7).map(|to| level(&reach, 0, to)).collect();
    use Level::*;
    let expected =
        [Some(Decodable), Some(Sensed), Some(Sensed), Some(Interference), Some(Interference), None];
    assert_eq!(found, expected);
}

/// Pr = Pt h⁴ / d⁴ beyond 86 m: (0.28183815 · 5.0625 / 3.652e-10)^¼ = 250.01 m, and 550.02 m.
#[test]
fn the_defaults_of_ns2_decode_up_to_250_m_and_sense_up_to_550_m() {
    let ns2 = Propagation::ns2();
    let level_at = |d: f64| ns2.signal(Propagation::NS2_TRANSMIT_POWER_W, d).map(|s| s.level);
    assert_eq!(level_at(250.0), Some(Level::Decodable));
    assert_eq!(level_at(250.02), Some(Level::Sensed));
    assert_eq!(level_at(550.0), Some(Level::Sensed));
    assert_eq!(level_at(550.03), None);
    let exact = 1.5 * (Propagation::NS2_TRANSMIT_POWER_W / 3.652e-10).powf(0.25);
    assert_eq!(level_at(exact * (1.0 - 1e-12)), Some(Level::Decodable));
    assert_eq!(level_at(exact * (1.0 + 1e-12)), Some(Level::Sensed));
}

#[test]
fn path_losses_against_their_closed_forms() {
    let (f, h) = (914e6, 1.5);
    let free = PathLoss::FreeSpace { frequency_hz: f };
    let two_ray = PathLoss::TwoRayGround { frequency_hz: f, antenna_height_m: h };
    let crossover = 4.0 * std::f64::consts::PI * h * h * f / 299_792_458.0;
    assert!((86.0..86.5).contains(&crossover), "{crossover}");
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} and {b}");
    // 32.45 dB + 20 log f/MHz + 20 log d/km, the rounded engineers' form.
    let db = -10.0 * free.received_w(1.0, 3000.0).log10();
    let engineers = 32.45 + 20.0 * 914f64.log10() + 20.0 * 3f64.log10();
    assert!((db - engineers).abs() < 0.01, "{db}");
    close(two_ray.received_w(2.0, 50.0), free.received_w(2.0, 50.0));
    close(two_ray.received_w(2.0, crossover), two_ray.received_w(2.0, crossover * (1.0 + 1e-15)));
    close(two_ray.received_w(2.0, 400.0), 2.0 * (1.5f64 / 400.0).powi(4));
    let indoor = PathLoss::LogDistance { exponent: 3.0, reference_m: 1.0, reference_loss_db: 40.0 };
    close(indoor.received_w(0.1, 10.0), 0.1e-7);
    close(indoor.received_w(0.1, 0.2), 0.1e-4);
    // A loss of n = 2 with Friis's loss at 1 m is free space.
    let reference_loss_db = -10.0 * free.received_w(1.0, 1.0).log10();
    let same = PathLoss::LogDistance { exponent: 2.0, reference_m: 1.0, reference_loss_db };
    close(same.received_w(1.0, 77.0), free.received_w(1.0, 77.0));
    for loss in [free, two_ray] {
        assert_eq!(loss.received_w(0.5, 0.0), 0.5);
    }
}

#[test]
fn a_table_says_exactly_who_hears_whom() {
    let link = |from, to, level, power_w| Link {
        from: StationId(from),
        to: StationId(to),
        level,
        power_w,
    };
    let links = [
        link(2, 0, Level::Sensed, Some(1e-11)),
        link(0, 2, Level::Decodable, Some(1e-9)),
        link(0, 1, Level::Interference, Some(1e-13)),
    ];
    let reach = Reach::from_links(4, &links).expect("valid");
    let hearer = |to, level, power_w| ReachEntry { station: StationId(to), level, power_w };
    let of_0 = [hearer(1, Level::Interference, 1e-13), hearer(2, Level::Decodable, 1e-9)];
    assert_eq!(reach.listeners_of(StationId(0)), of_0);
    assert_eq!(reach.listeners_of(StationId(1)), []);
    assert_eq!(reach.listeners_of(StationId(2)), [hearer(0, Level::Sensed, 1e-11)]);
    assert_eq!(reach.listeners_of(StationId(3)), []);
    assert!(reach.powers_known());
    let bare = Reach::from_links(2, &[link(0, 1, Level::Decodable, None)]).expect("valid");
    assert!(!bare.powers_known());
    assert_eq!(bare.signal(StationId(0), StationId(1)).expect("a link").power_w, Signal::NOMINAL_W);
    assert_eq!(Reach::from_links(3, &[]).expect("silence is a network").links(), 0);
}

#[test]
fn bad_tables_are_refused() {
    let link = |from, to| Link {
        from: StationId(from),
        to: StationId(to),
        level: Level::Decodable,
        power_w: None,
    };
    let powered = |power_w| Link { power_w: Some(power_w), ..link(0, 1) };
    let refused = |stations, links: &[Link]| Reach::from_links(stations, links).expect_err("bad");
    assert_eq!(refused(0, &[]), MediumError::NoStations);
    let unknown = MediumError::UnknownStation { id: StationId(2), stations: 2 };
    assert_eq!(refused(2, &[link(0, 2)]), unknown);
    assert_eq!(refused(2, &[link(2, 0)]), unknown);
    assert_eq!(refused(2, &[link(1, 1)]), MediumError::SelfLink(StationId(1)));
    let (from, to) = (StationId(0), StationId(1));
    let twice = [link(0, 1), link(1, 0), link(0, 1)];
    assert_eq!(refused(2, &twice), MediumError::DuplicateLink { from, to });
    assert_eq!(refused(2, &[powered(1.0), link(1, 0)]), MediumError::SomePowers);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(refused(2, &[powered(bad)]), MediumError::LinkPower { .. }));
    }
}

#[test]
fn bad_places_are_refused() {
    let refused = |places: &[Place]| Reach::from_places(places, &DISC).expect_err("bad");
    assert_eq!(refused(&[]), MediumError::NoStations);
    let twice = [at(0, 0.0, 0.0), at(1, 0.0, 0.0), at(0, 5.0, 0.0)];
    assert_eq!(refused(&twice), MediumError::DuplicateStation(StationId(0)));
    let gap = [at(0, 0.0, 0.0), at(2, 0.0, 0.0)];
    let unknown = MediumError::UnknownStation { id: StationId(2), stations: 2 };
    assert_eq!(refused(&gap), unknown);
    assert_eq!(unknown.to_string(), "station 2 does not exist; 2 stations have the ids 0 to 1");
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e9, -1e300] {
        assert!(matches!(refused(&[at(0, bad, 0.0)]), MediumError::Position { .. }));
        assert!(matches!(refused(&[at(0, 0.0, bad)]), MediumError::Position { .. }));
    }
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let place = Place { transmit_w: bad, ..at(0, 0.0, 0.0) };
        assert!(matches!(refused(&[place]), MediumError::TransmitPower { .. }));
    }
}

#[test]
fn bad_propagation_is_refused() {
    let refused = |model: &Propagation| {
        Reach::from_places(&[at(0, 0.0, 0.0)], model).expect_err("bad propagation")
    };
    for bad in [0.0, -250.0, f64::NAN, f64::INFINITY] {
        let models = [
            Propagation::Disc { reception_m: bad, carrier_sense_m: 550.0 },
            Propagation::Disc { reception_m: 250.0, carrier_sense_m: bad },
            loss(PathLoss::FreeSpace { frequency_hz: bad }),
            loss(PathLoss::TwoRayGround { frequency_hz: bad, antenna_height_m: 1.5 }),
            loss(PathLoss::TwoRayGround { frequency_hz: 1e9, antenna_height_m: bad }),
            loss(PathLoss::LogDistance {
                exponent: bad,
                reference_m: 1.0,
                reference_loss_db: 40.0,
            }),
            loss(PathLoss::LogDistance {
                exponent: 3.0,
                reference_m: bad,
                reference_loss_db: 40.0,
            }),
        ];
        for model in models {
            assert!(matches!(refused(&model), MediumError::NotPositive { .. }), "{model:?}");
        }
        let thresholds = [
            Thresholds { reception_w: bad, ..Thresholds::NS2 },
            Thresholds { carrier_sense_w: bad, ..Thresholds::NS2 },
            Thresholds { interference_w: bad, ..Thresholds::NS2 },
        ];
        let path_loss = PathLoss::FreeSpace { frequency_hz: 1e9 };
        for thresholds in thresholds {
            let model = Propagation::Loss { path_loss, thresholds };
            assert!(matches!(refused(&model), MediumError::NotPositive { .. }), "{model:?}");
        }
    }
    for reference_loss_db in [-1.0, f64::NAN, f64::INFINITY] {
        let model = PathLoss::LogDistance { exponent: 3.0, reference_m: 1.0, reference_loss_db };
        assert!(matches!(refused(&loss(model)), MediumError::ReferenceLoss(_)));
    }
    let deaf = Propagation::Disc { reception_m: 250.0, carrier_sense_m: 249.0 };
    assert!(matches!(refused(&deaf), MediumError::SensesTooLittle { .. }));
    let path_loss = PathLoss::FreeSpace { frequency_hz: 1e9 };
    let with = |carrier_sense_w, interference_w| Propagation::Loss {
        path_loss,
        thresholds: Thresholds { reception_w: 1e-10, carrier_sense_w, interference_w },
    };
    for model in [with(2e-10, 1e-12), with(1e-11, 2e-11)] {
        assert!(matches!(refused(&model), MediumError::ThresholdOrder { .. }));
    }
}

/// The table from all pairs, without a grid.
fn by_all_pairs(places: &[Place], model: &Propagation) -> Vec<Vec<ReachEntry>> {
    let mut sorted = places.to_vec();
    sorted.sort_by_key(|p| p.id);
    let hears = |a: &Place, b: &Place| {
        let (dx, dy) = (b.x_m - a.x_m, b.y_m - a.y_m);
        let signal = model.signal(a.transmit_w, (dx * dx + dy * dy).sqrt())?;
        let Signal { power_w, level } = signal;
        (a.id != b.id).then_some(ReachEntry { station: b.id, level, power_w })
    };
    sorted.iter().map(|a| sorted.iter().filter_map(|b| hears(a, b)).collect()).collect()
}

/// Stations in a few clusters, some at multiples of the ranges, some far away.
fn some_places() -> impl Strategy<Value = Vec<Place>> {
    let coordinate = prop_oneof![
        -2000.0..2000.0f64,
        (-4i32..4).prop_map(|k| f64::from(k) * 250.0),
        (-4i32..4).prop_map(|k| f64::from(k) * 550.0),
        (0i32..3).prop_map(|k| 999_999_000.0 + f64::from(k) * 250.0),
    ];
    let power = prop_oneof![4 => Just(0.28183815), 1 => 1e-6..10.0f64];
    prop::collection::vec((coordinate.clone(), coordinate, power), 1..60).prop_map(|all| {
        (0..).zip(all).map(|(id, (x, y, w))| Place { transmit_w: w, ..at(id, x, y) }).collect()
    })
}

/// Stations at the edges of each other's ranges and of the grid's cells, up to a rounding error.
#[test]
fn rounding_loses_no_one_on_the_rim() {
    for model in all_models() {
        let range = model.range_m(Propagation::NS2_TRANSMIT_POWER_W);
        let ulps = |k: i32, j: i32| f64::from(k) * range * (1.0 + f64::from(j) * f64::EPSILON);
        let coordinates = (-4..=4).flat_map(|k| (-3..=3).map(move |j| ulps(k, j)));
        let places: Vec<Place> = (0..).zip(coordinates).map(|(id, x)| at(id, x, 0.0)).collect();
        let reach = Reach::from_places(&places, &model).expect("valid");
        for (id, listeners_of) in (0..).zip(by_all_pairs(&places, &model)) {
            assert_eq!(reach.listeners_of(StationId(id)), listeners_of, "{model:?}");
        }
    }
}

proptest! {
    #[test]
    fn the_grid_finds_what_all_pairs_find(places in some_places(), reversed: bool) {
        let mut given = places.clone();
        if reversed {
            given.reverse();
        }
        for model in all_models() {
            let reach = Reach::from_places(&given, &model).expect("valid");
            let expected = by_all_pairs(&places, &model);
            for (id, listeners_of) in (0..).zip(&expected) {
                prop_assert_eq!(reach.listeners_of(StationId(id)), &listeners_of[..], "{:?}", model);
                for hearer in listeners_of {
                    let signal = reach.signal(StationId(id), hearer.station);
                    prop_assert_eq!(signal, Some(hearer.signal()));
                }
            }
            prop_assert_eq!(reach.links(), expected.iter().map(Vec::len).sum::<usize>());
        }
    }

    /// No station is heard beyond the range, and every station within it is; power falls with distance.
    #[test]
    fn ranges_invert_losses(transmit_w in 1e-6..10.0f64, part in 0.0..1.0f64, beyond in 1.0..100.0f64) {
        for model in all_models() {
            let range = model.range_m(transmit_w);
            prop_assert!(model.signal(transmit_w, range * (1.0 + 1e-9) * beyond).is_none());
            prop_assert!(range == 0.0 || model.signal(transmit_w, range * (1.0 - 1e-9) * part).is_some());
            if let Propagation::Loss { path_loss, .. } = model {
                let at = |d| path_loss.received_w(transmit_w, d);
                prop_assert!(at(range * part) >= at(range * part * beyond));
                prop_assert!(at(range * part) <= transmit_w);
            }
        }
    }

    /// All numbers that pass the checks give a table without a panic.
    #[test]
    fn extreme_numbers_do_no_harm(
        a in prop::num::f64::POSITIVE, b in prop::num::f64::POSITIVE, c in prop::num::f64::POSITIVE,
        w in prop::num::f64::POSITIVE,
    ) {
        let thresholds = Thresholds { reception_w: w, carrier_sense_w: w, interference_w: w };
        let losses = [
            PathLoss::FreeSpace { frequency_hz: a },
            PathLoss::TwoRayGround { frequency_hz: a, antenna_height_m: b },
            PathLoss::LogDistance { exponent: a, reference_m: b, reference_loss_db: c },
        ];
        let places = [at(0, 0.0, 0.0), at(1, 0.0, 0.0), at(2, 1e9, -1e9)];
        for path_loss in losses {
            let model = Propagation::Loss { path_loss, thresholds };
            if let Ok(reach) = Reach::from_places(&places, &model) {
                for id in 0..3 {
                    for hearer in reach.listeners_of(StationId(id)) {
                        prop_assert!(hearer.power_w >= w && hearer.power_w.is_finite());
                    }
                }
            }
        }
    }
}

/// `n` stations at random in a square, each heard by about 10 others with `DISC`.
fn scattered(n: u32) -> Vec<Place> {
    let side = (f64::from(n) * std::f64::consts::PI * 550.0 * 550.0 / 10.0).sqrt();
    let mut rng = Seed(1).stream("places");
    (0..n).map(|id| at(id, rng.unit() * side, rng.unit() * side)).collect()
}

/// A disc of radius r lies in at most 3 x 3 cells of width r: 9 / π = 2.9 pairs examined for each link.
#[test]
fn building_costs_stations_times_neighbours() {
    let cost = |n: u32| {
        let reach = Reach::from_places(&scattered(n), &DISC).expect("valid");
        let mean = reach.links() as f64 / f64::from(n);
        assert!((9.0..10.5).contains(&mean), "{mean} neighbours");
        reach.pairs_examined() as f64 / f64::from(n)
    };
    let (small, large) = (cost(10_000), cost(100_000));
    assert!(large < 3.0 * 10.0, "{large} pairs examined for each station");
    assert!((large / small - 1.0).abs() < 0.05, "{small} and {large}");
    // A few stations that are heard everywhere cost their own links, and no examined pairs of others.
    let mut loud = scattered(10_000);
    for place in &mut loud[..5] {
        place.transmit_w = 1e9;
    }
    let reach = Reach::from_places(&loud, &Propagation::ns2()).expect("valid");
    let examined = reach.pairs_examined() as f64;
    assert!(examined < 10_000.0 * (small + 1.0) + 5.0 * 10_000.0, "{examined}");
}

#[test]
fn all_in_range_and_all_in_one_place() {
    let n = 300u32;
    let crowd: Vec<Place> = (0..n).map(|id| at(id, f64::from(id % 7), 0.0)).collect();
    for model in all_models() {
        let reach = Reach::from_places(&crowd, &model).expect("valid");
        assert_eq!(reach.links(), (n * (n - 1)) as usize, "{model:?}");
        assert_eq!(reach.pairs_examined(), u64::from(n * (n - 1)));
    }
    assert_eq!(size_of::<ReachEntry>(), 16);
}
