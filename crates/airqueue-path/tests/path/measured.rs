//! The real endpoints over simulated bottlenecks: measurements on the virtual clock.

use crate::sessions;
use crate::sessions::{FLOOD, cbr, delays, published, run};
use airqueue_core::{Span, Time};
use airqueue_path::{PathConfig, PathError, SimulatedPath};
use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{MISSING, Run, RunEnd};

/// 12 Mb/s: 1500 bytes take 1 ms.
fn config(queue: &str) -> PathConfig {
    PathConfig { queue: queue.to_owned(), rate_bps: 12e6, ..PathConfig::default() }
}

/// A session for a queue of n packets before a link of 12 Mb/s.
fn session(n: u32) -> (Plan, std::ops::Range<f64>) {
    sessions::session(n, 1000.0)
}

#[test]
fn the_published_formula_finds_queues_of_all_sizes() {
    for n in [30, 50, 100, 250, 500, 1000] {
        for direction in [Direction::Down, Direction::Up] {
            let mut path = SimulatedPath::new(&config(&format!("pfifo:{n}")), 1).unwrap();
            let (plan, full) = session(n);
            let run = run(&mut path, &plan, direction);
            let q = published(&run, &full);
            assert!((q - f64::from(n)).abs() < 1.0, "{q} for {n}, {direction:?}");
            assert_eq!(path.truth().max_waiting_packets, u64::from(n));
        }
    }
}

#[test]
fn a_driver_ring_adds_up() {
    for n in [1, 50, 100] {
        let config = PathConfig { ring_packets: 40, ..config(&format!("pfifo:{n}")) };
        let mut path = SimulatedPath::new(&config, 1).unwrap();
        let (plan, full) = session(n + 40);
        let q = published(&run(&mut path, &plan, Direction::Down), &full);
        assert!((q - f64::from(n + 40)).abs() < 1.0, "{q} for {n} and 40");
        assert_eq!(path.truth().max_waiting_packets, u64::from(n + 40));
    }
}

#[test]
fn a_token_bucket_and_a_byte_queue_hold_what_they_should() {
    let config = PathConfig {
        shaper: "token_bucket".to_owned(),
        link_layer_bytes: 14,
        ..config("bfifo:151400")
    };
    let mut path = SimulatedPath::new(&config, 1).unwrap();
    let (plan, full) = session(100);
    let q = published(&run(&mut path, &plan, Direction::Down), &full);
    assert_eq!(path.truth().max_waiting_packets, 100);
    assert!((q - 100.0).abs() < 1.0, "{q}");
}

/// Several runs on one path, in both directions, with a pause: the session and the time continue.
#[test]
fn runs_follow_each_other() {
    let config = PathConfig { clock_offset_s: -5000.0, skew_ppm: 80.0, ..config("pfifo:50") };
    let mut path = SimulatedPath::new(&config, 1).unwrap();
    let (plan, full) = session(50);
    let mut last = Time::ZERO;
    for direction in [Direction::Up, Direction::Down, Direction::Down, Direction::Up] {
        path.wait(Span::from_secs(7));
        let q = published(&run(&mut path, &plan, direction), &full);
        // 80 ppm over the 5 s between the middles of both windows: 0.4 ms, or 0.4 packets.
        assert!((q - 50.0).abs() < 1.4, "{q}, {direction:?}");
        assert!(path.now() >= last + Span::from_secs(7) + plan.end());
        last = path.now();
    }
}

#[test]
fn hosts_report_their_own_limits() {
    let capped = PathConfig { sender_cap_pps: Some(600.0), ..config("pfifo:50") };
    let (plan, _) = session(50);
    let mut path = SimulatedPath::new(&capped, 1).unwrap();
    let result = run(&mut path, &plan, Direction::Down);
    let unsent = result.records.sent_ns.iter().filter(|&&ns| ns == MISSING).count();
    assert!(unsent > 0);
    assert_eq!(result.host.send_blocked, unsent as u64);

    let slow = PathConfig {
        receive_buffer_packets: Some(30),
        reader_rate_pps: Some(700.0),
        ..config("pfifo:50")
    };
    let mut path = SimulatedPath::new(&slow, 1).unwrap();
    let result = run(&mut path, &plan, Direction::Down);
    assert!(result.host.receive_overflow > 0);
}

/// The device stops for a minute and a half: the endpoints give up with an error; afterwards the path works again.
#[test]
fn a_path_outlives_a_session_that_failed() {
    let config = PathConfig { stalls_s: vec![[3.0, 90.0]], ..config("pfifo:50") };
    let (plan, full) = session(50);
    let mut path = SimulatedPath::new(&config, 1).unwrap();
    let failed = path.run(&plan, Direction::Down);
    assert!(!matches!(
        failed,
        Ok(Run { end: RunEnd::Complete, .. }) | Err(PathError::Stuck { .. })
    ));
    path.wait(Span::from_secs(120));
    let q = published(&run(&mut path, &plan, Direction::Down), &full);
    assert!((q - 50.0).abs() < 1.0, "{q}");
}

/// A plan that the endpoints refuse is an error, and the path stays usable.
#[test]
fn a_refused_plan_leaves_the_path_usable() {
    let mut path = SimulatedPath::new(&config("pfifo:50"), 1).unwrap();
    for bad in [
        Segment { size: 10, ..cbr(FLOOD, 0.0, 1.0, 10.0) },
        Segment { flow: 9, ..cbr(FLOOD, 0.0, 1.0, 10.0) },
        Segment { duration: Span::from_nanos(i64::MAX), ..cbr(FLOOD, 1.0, 2.0, 10.0) },
        Segment { start: Span::from_nanos(i64::MIN), ..cbr(FLOOD, 1.0, 2.0, 10.0) },
    ] {
        let refused = path.run(&Plan { segments: vec![bad] }, Direction::Down);
        assert!(matches!(refused, Err(PathError::Client(_))), "{bad:?}: {refused:?}");
    }
    let (plan, _) = session(50);
    run(&mut path, &plan, Direction::Down);
}

/// The endpoints work with isolated flows, air loss, stalls and jitter together.
#[test]
fn endpoints_survive_a_bad_path() {
    let config = PathConfig {
        isolate_flows: true,
        aggregate_packets: 16,
        overhead_s: 0.0003,
        service_jitter_s: 0.002,
        loss_probability: 0.2,
        stalls_s: vec![[3.0, 1.5]],
        rate_changes: vec![[1.0, 0.5], [6.0, 2.0]],
        repeat_s: Some(10.0),
        skew_ppm: 200.0,
        clock_steps_s: vec![[4.0, 1.0], [9.0, -3.0]],
        ..config("pfifo:50")
    };
    let (plan, _) = session(50);
    for direction in [Direction::Down, Direction::Up] {
        let mut path = SimulatedPath::new(&config, 3).unwrap();
        let result = run(&mut path, &plan, direction);
        assert!(delays(&result).len() > 1000);
    }
}

#[test]
fn the_same_seed_gives_the_same_records() {
    let config = PathConfig {
        service_jitter_s: 0.0005,
        loss_probability: 0.02,
        stalls_s: vec![[3.0, 0.5]],
        repeat_s: Some(5.0),
        ..config("pfifo:50")
    };
    let (plan, _) = session(50);
    let records = |seed| {
        let mut path = SimulatedPath::new(&config, seed).unwrap();
        run(&mut path, &plan, Direction::Down)
    };
    assert_eq!(records(1), records(1));
    assert_ne!(records(1).records, records(2).records);
}
