//! The contention kernel against a slot-by-slot simulation of the same process, and its invariants.

use crate::slot_by_slot::Slots;
use airqueue_core::Seed;
use airqueue_wifi::contention::{Contender, Contention, ContentionError, CountdownRule, Counts};
use proptest::prelude::*;

const RULES: [CountdownRule; 2] = [CountdownRule::Edca, CountdownRule::Freeze];

fn queue(node: u32, aifs_slots: u32, w_min: u32, w_max: u32) -> Contender {
    Contender { aifs_slots, w_min, w_max, retries: Some(7), packets: 1, node }
}

/// Networks that use every branch: equal stations, AIFS, windows, three classes, few retries, a
/// window that is capped at once, and two queues in one node.
fn networks() -> Vec<(&'static str, Vec<Contender>)> {
    let few_retries = |c: Contender| Contender { retries: Some(1), ..c };
    let three_classes = |n: u32| match n {
        0..2 => queue(n, 0, 8, 1024),
        2..5 => queue(n, 1, 16, 1024),
        _ => queue(n, 4, 32, 1024),
    };
    vec![
        ("two equal", vec![queue(0, 0, 32, 1024), queue(1, 0, 32, 1024)]),
        ("AIFS 6", vec![queue(0, 0, 32, 1024), queue(1, 6, 32, 1024)]),
        ("windows 8 and 32", vec![queue(0, 0, 8, 1024), queue(1, 0, 32, 1024)]),
        ("three classes", (0..8).map(three_classes).collect()),
        ("one retry", (0..4).map(|n| few_retries(queue(n, n % 2, 8, 64))).collect()),
        ("constant window", (0..3).map(|n| queue(n, 0, 5, 5)).collect()),
        (
            "two queues at the access point",
            vec![
                queue(0, 0, 4, 16),
                queue(0, 2, 16, 256),
                queue(1, 0, 16, 256),
                queue(2, 2, 16, 64),
            ],
        ),
    ]
}

/// All counts common to the two simulations, per transmission.
fn rates(counts: &Counts) -> Vec<f64> {
    let per = |value: u64| value as f64 / counts.transmissions as f64;
    let mut rates = vec![per(counts.idle_slots), per(counts.collided)];
    for t in &counts.contenders {
        rates.extend([t.attempts, t.successes, t.collisions, t.internal_collisions].map(per));
        rates.extend([t.drops, t.packets].map(per));
    }
    rates
}

/// Mean and squared standard error over batches.
fn moments(batches: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let n = batches.len() as f64;
    (0..batches[0].len())
        .map(|k| {
            let mean = batches.iter().map(|b| b[k]).sum::<f64>() / n;
            let spread = batches.iter().map(|b| (b[k] - mean).powi(2)).sum::<f64>();
            (mean, spread / (n - 1.0) / n)
        })
        .collect()
}

/// 30 batches of each simulation: the means differ by less than five standard errors of the difference, and the
/// standard error is small enough for a meaningful comparison.
#[test]
fn equals_the_slot_by_slot_process() {
    for (name, contenders) in networks() {
        for rule in RULES {
            let mut kernel = Contention::new(&contenders, rule, Seed(11)).expect("valid");
            let mut slots = Slots::new(&contenders, rule, Seed(12));
            let of_kernel: Vec<_> = (0..30)
                .map(|_| {
                    kernel.run(20_000);
                    rates(&kernel.take_counts())
                })
                .collect();
            let of_slots: Vec<_> = (0..30)
                .map(|_| {
                    let empty = Slots::new(&contenders, rule, Seed(0)).counts;
                    slots.counts = empty;
                    slots.run(20_000);
                    rates(&slots.counts)
                })
                .collect();
            let pairs = moments(&of_kernel).into_iter().zip(moments(&of_slots));
            for (k, ((a, va), (b, vb))) in pairs.enumerate() {
                let error = (va + vb).sqrt();
                assert!(
                    (a - b).abs() <= 5.0 * error,
                    "{name}, {rule:?}, rate {k}: {a} and {b}, ±{error}"
                );
                assert!(
                    error <= 0.01 + 0.005 * a,
                    "{name}, {rule:?}, rate {k}: ±{error} shows nothing"
                );
            }
        }
    }
}

/// A lone station waits (W-1)/2 slots on average, variance (W²-1)/12, and never collides.
#[test]
fn a_lone_station_waits_half_its_window() {
    for rule in RULES {
        let n = 1_000_000u64;
        let mut process = Contention::new(&[queue(0, 0, 32, 1024)], rule, Seed(5)).expect("valid");
        process.run(n);
        let counts = process.take_counts();
        let mean = counts.idle_slots as f64 / n as f64;
        let error = ((32.0 * 32.0 - 1.0) / 12.0 / n as f64).sqrt();
        assert!((mean - 15.5).abs() < 5.0 * error, "{mean}");
        assert_eq!((counts.contenders[0].successes, counts.contenders[0].collisions), (n, 0));
    }
}

/// Counters from 0 to 3 end before an AIFS of 4 slots: strict priority, not one exception.
#[test]
fn a_short_window_before_a_longer_aifs_always_wins() {
    for rule in RULES {
        let both = [queue(0, 0, 4, 1024), queue(1, 4, 32, 1024)];
        let mut process = Contention::new(&both, rule, Seed(5)).expect("valid");
        process.run(100_000);
        let counts = process.take_counts();
        assert_eq!(counts.contenders[0].successes, 100_000);
        assert_eq!(counts.contenders[1].attempts, 0);
    }
}

/// Two stations that always transmit together lose every packet: R retries are R + 1 attempts.
#[test]
fn a_packet_is_given_up_after_its_last_retry() {
    let both = [0, 1].map(|node| Contender { retries: Some(3), ..queue(node, 0, 1, 1) });
    let mut process = Contention::new(&both, CountdownRule::Edca, Seed(5)).expect("valid");
    process.run(4000);
    let counts = process.take_counts();
    assert_eq!((counts.idle_slots, counts.collided), (0, 4000));
    assert_eq!((counts.contenders[0].collisions, counts.contenders[0].drops), (4000, 1000));
    let forever = [0, 1].map(|node| Contender { retries: None, ..queue(node, 0, 1, 1) });
    let mut process = Contention::new(&forever, CountdownRule::Edca, Seed(5)).expect("valid");
    process.run(4000);
    assert_eq!(process.take_counts().contenders[1].drops, 0);
}

/// Of two queues in one node the first transmits, and the other never does while its window is 1.
#[test]
fn the_first_queue_of_a_node_goes_first() {
    let one_node = [
        Contender { packets: 3, ..queue(7, 0, 1, 1) },
        Contender { retries: Some(0), ..queue(7, 0, 1, 1) },
    ];
    let mut process = Contention::new(&one_node, CountdownRule::Edca, Seed(5)).expect("valid");
    process.run(1000);
    let counts = process.take_counts();
    assert_eq!((counts.contenders[0].packets, counts.collided), (3000, 0));
    assert_eq!(
        (counts.contenders[1].internal_collisions, counts.contenders[1].drops),
        (1000, 1000)
    );
    assert_eq!(counts.contenders[1].attempts, 0);
}

#[test]
fn what_cannot_be_simulated_is_named() {
    let error = |c: &[Contender]| Contention::new(c, CountdownRule::Edca, Seed(1)).err();
    assert_eq!(error(&[]), Some(ContentionError::Empty));
    let many = vec![queue(0, 0, 1, 1); Contention::MOST + 1];
    assert_eq!(error(&many), Some(ContentionError::TooMany(many.len())));
    let good = queue(0, 0, 32, 1024);
    let low = Contender { w_min: 0, ..good };
    assert_eq!(error(&[good, low]), Some(ContentionError::CwMin { index: 1, value: 0 }));
    let high = Contender { w_max: 31, ..good };
    assert_eq!(error(&[high]), Some(ContentionError::CwMax { index: 0, value: 31, low: 32 }));
    let late = Contender { aifs_slots: u32::MAX, ..good };
    assert_eq!(error(&[late]), Some(ContentionError::Aifs { index: 0, value: u32::MAX }));
    let longest = Contention::LONGEST;
    let extreme = [0, 1].map(|n| queue(n, longest, longest, longest));
    assert_eq!(error(&extreme), None);
}

fn any_network() -> impl Strategy<Value = Vec<Contender>> {
    let one = (0u32..12, 1u32..40, 0u32..7, proptest::option::of(0u32..9), 0u32..4, 0u32..6);
    let contender = one.prop_map(|(aifs_slots, w_min, doublings, retries, packets, node)| {
        Contender { aifs_slots, w_min, w_max: w_min << doublings, retries, packets, node }
    });
    proptest::collection::vec(contender, 1..9)
}

proptest! {
    #[test]
    fn counts_add_up(
        network in any_network(), freeze: bool, seed: u64, transmissions in 1u64..3000
    ) {
        let rule = RULES[usize::from(freeze)];
        let mut process = Contention::new(&network, rule, Seed(seed)).expect("valid");
        process.run(transmissions);
        let counts = process.take_counts();
        prop_assert_eq!(counts.transmissions, transmissions);
        let mut collisions = 0;
        let mut successes = 0;
        for (counters, is) in counts.contenders.iter().zip(&network) {
            prop_assert_eq!(counters.attempts, counters.successes + counters.collisions);
            prop_assert_eq!(counters.packets, counters.successes * u64::from(is.packets));
            let failures = counters.collisions + counters.internal_collisions;
            let within = match is.retries {
                Some(retries) => counters.drops * (u64::from(retries) + 1) <= failures,
                None => counters.drops == 0,
            };
            prop_assert!(within, "{} drops, {} failures", counters.drops, failures);
            successes += counters.successes;
            collisions += counters.collisions;
        }
        // Each busy period is one success, or a collision of two or more transmissions.
        prop_assert_eq!(successes + counts.collided, transmissions);
        prop_assert!(collisions >= 2 * counts.collided);
        prop_assert!(collisions <= network.len() as u64 * counts.collided);
        let longest = network.iter().map(|c| u64::from(c.aifs_slots + c.w_max)).max().unwrap_or(0);
        prop_assert!(counts.idle_slots < transmissions * longest);
    }

    #[test]
    fn in_one_node_nothing_collides_in_the_air(network in any_network(), seed: u64) {
        let one_node: Vec<_> = network.iter().map(|&c| Contender { node: 3, ..c }).collect();
        let mut process = Contention::new(&one_node, CountdownRule::Edca, Seed(seed)).expect("valid");
        process.run(1000);
        prop_assert_eq!(process.take_counts().collided, 0);
    }

    /// The seed determines the run, however it is cut into batches.
    #[test]
    fn batches_do_not_matter(network in any_network(), seed: u64, cut in 0u64..500) {
        let mut whole = Contention::new(&network, CountdownRule::Edca, Seed(seed)).expect("valid");
        let mut parts = whole.clone();
        whole.run(500);
        parts.run(cut);
        let first = parts.take_counts();
        parts.run(500 - cut);
        let (all, second) = (whole.take_counts(), parts.take_counts());
        prop_assert_eq!(all.idle_slots, first.idle_slots + second.idle_slots);
        for ((a, b), c) in first.contenders.iter().zip(&second.contenders).zip(&all.contenders) {
            prop_assert_eq!(a.attempts + b.attempts, c.attempts);
            prop_assert_eq!(a.drops + b.drops, c.drops);
        }
    }
}
