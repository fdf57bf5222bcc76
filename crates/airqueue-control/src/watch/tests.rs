use super::*;
use proptest::prelude::*;

fn at(seconds: u64) -> Time {
    Time::from_nanos(seconds as i64 * 1_000_000_000)
}

fn queue(backlog: u32, sent: u32) -> QueueLook {
    QueueLook {
        category: Category::BestEffort,
        backlog_packets: backlog,
        backlog_bytes: backlog * 1500,
        sent_packets: sent,
        dropped_packets: 0,
        overflows: 0,
    }
}

/// A phy with stations `a`, `b`, ... that have one queue each.
fn look(seconds: u64, queues: &[QueueLook]) -> Look {
    let stations = queues.iter().zip('a'..).map(|(queue, name)| StationLook {
        interface: "wlan0".to_owned(),
        station: name.to_string(),
        airtime_us: Some(u64::from(queue.sent_packets) * 1000),
        queues: vec![*queue],
    });
    let phy = PhyLook {
        phy: "phy0".to_owned(),
        limit_packets: Some(200),
        backlog_packets: Some(queues.iter().map(|queue| queue.backlog_packets).sum()),
        stations: stations.collect(),
    };
    Look { at: at(seconds), phys: vec![phy] }
}

fn watch() -> Watch {
    Watch::new(Span::from_secs_f64(5.0))
}

#[test]
fn rates_and_sojourn_times_follow_from_two_looks() {
    let mut watch = watch();
    let first = watch.on_look(&look(10, &[queue(50, 1000)]));
    assert_eq!((first.queues[0].sent_pps, first.queues[0].sojourn_s), (None, None));
    let mut later = queue(50, 1200);
    later.dropped_packets = 3;
    later.overflows = 2;
    let row = watch.on_look(&look(12, &[later])).queues.remove(0);
    assert_eq!(row.sent_pps, Some(100.0));
    // Little: 50 packets at 100 a second.
    assert_eq!(row.sojourn_s, Some(0.5));
    // 200 packets of a millisecond in two seconds.
    assert_eq!(row.airtime_share, Some(0.1));
    assert_eq!((row.dropped_packets, row.overflows, row.stuck_s), (3, 2, None));
}

#[test]
fn a_queue_that_does_not_drain_is_an_alarm_and_says_who_waits() {
    let mut watch = watch();
    // `a` stands from the second look on, `b` drains slowly, `c` has nothing, `d` begins to wait later.
    let looks = (0..8_u32).map(|second| {
        let stands = queue(100, if second == 0 { 9 } else { 10 });
        let late = queue(if second > 3 { 5 } else { 0 }, second);
        look(u64::from(second), &[stands, queue(20, second * 10), queue(0, second), late])
    });
    let reports: Vec<_> = looks.map(|each| watch.on_look(&each)).collect();
    assert!(reports[..6].iter().all(|report| report.alarms.is_empty()), "5 s have not passed");
    let alarm = &reports[6].alarms[..];
    let [alarm] = alarm else { panic!("{alarm:?}") };
    assert_eq!((alarm.station.as_str(), alarm.since_s, alarm.stuck_s), ("a", 1.0, 5.0));
    assert_eq!((alarm.backlog_packets, alarm.share_of_limit), (100, Some(0.5)));
    assert_eq!(alarm.others_wait, ["b"]);
    assert_eq!(reports[7].alarms[0].stuck_s, 6.0);
    let drains = watch.on_look(&look(8, &[queue(99, 11)]));
    assert!(drains.alarms.is_empty());
    let row = &drains.queues[0];
    assert_eq!(row.stuck_s, None);
}

#[test]
fn a_standstill_is_told_when_it_begins_and_how_it_ends() {
    let (mut watch, mut events) = (watch(), Events::default());
    let mut told = |seconds: u64, queues: &[QueueLook]| {
        let report = watch.on_look(&look(seconds, queues));
        events.on_report(&report)
    };
    assert_eq!(told(0, &[queue(30, 7), queue(5, 7)]), []);
    let begun = told(5, &[queue(31, 7), queue(5, 7)]);
    let names = |events: &[Event]| -> Vec<(String, &str, f64)> {
        let name = |event: &Event| match event {
            Event::Stuck(alarm) => (alarm.station.clone(), "stuck", alarm.stuck_s),
            Event::Drains(ended) => (ended.alarm.station.clone(), "drains", ended.stood_s),
            Event::Gone(ended) => (ended.alarm.station.clone(), "gone", ended.stood_s),
        };
        events.iter().map(name).collect()
    };
    let named = |station: &str, what, seconds| (station.to_owned(), what, seconds);
    assert_eq!(names(&begun), [named("a", "stuck", 5.0), named("b", "stuck", 5.0)]);
    // Each is told once.
    assert_eq!(told(6, &[queue(31, 7), queue(5, 7)]), []);
    let ended = told(8, &[queue(30, 8), queue(0, 7)]);
    assert_eq!(names(&ended), [named("a", "drains", 8.0), named("b", "gone", 8.0)]);
    // It stands anew, and its station leaves.
    assert_eq!(names(&told(13, &[queue(30, 8)])), [named("a", "stuck", 5.0)]);
    assert_eq!(names(&told(14, &[])), [named("a", "gone", 6.0)]);
}

#[test]
fn a_queue_that_has_sent_between_two_looks_stands_anew() {
    let (mut watch, mut events) = (watch(), Events::default());
    let mut told = |seconds: u64, sent: u32| {
        let report = watch.on_look(&look(seconds, &[queue(30, sent)]));
        events.on_report(&report).len()
    };
    // A look a minute: what stands at each of them, and has sent meanwhile, is stuck at none.
    assert_eq!([told(0, 1), told(60, 2), told(120, 3)], [0, 0, 0]);
    assert_eq!([told(180, 3), told(240, 3), told(300, 4)], [1, 0, 1]);
}

#[test]
fn an_empty_queue_is_never_stuck() {
    let mut watch = watch();
    for second in 0..20 {
        let report = watch.on_look(&look(second, &[queue(0, 7)]));
        assert!(report.alarms.is_empty());
        assert_eq!(report.queues[0].stuck_s, None);
    }
}

#[test]
fn a_station_that_connects_anew_begins_anew() {
    let mut watch = watch();
    for second in 0..10 {
        watch.on_look(&look(second, &[queue(30, 1000)]));
    }
    let report = watch.on_look(&look(10, &[queue(30, 0)]));
    assert!(report.alarms.is_empty());
    assert_eq!(report.queues[0].sent_pps, None);
    // One that was away as well.
    for second in 11..20 {
        watch.on_look(&look(second, &[queue(30, 0)]));
    }
    watch.on_look(&look(20, &[]));
    assert!(watch.on_look(&look(21, &[queue(30, 0)])).alarms.is_empty());
}

#[test]
fn counters_that_wrap_go_on() {
    let mut watch = watch();
    watch.on_look(&look(0, &[queue(10, u32::MAX - 4)]));
    let report = watch.on_look(&look(1, &[queue(10, 5)]));
    assert_eq!(report.queues[0].sent_pps, Some(10.0));
}

proptest! {
    /// A station of each look draws what it sends; whoever sends in each look is never named.
    #[test]
    fn alarms_are_exactly_the_queues_that_stood(
        sends in prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 1..30),
    ) {
        let mut watch = watch();
        let mut sent = [0_u32; 3];
        let mut stood = [0_usize; 3];
        for (second, each) in sends.iter().enumerate() {
            for station in 0..3 {
                let moves = each[station];
                sent[station] += u32::from(moves);
                // The first look tells nothing about what was before it.
                stood[station] = if moves || second == 0 { 0 } else { stood[station] + 1 };
            }
            let report = watch.on_look(&look(second as u64, &sent.map(|sent| queue(1, sent))));
            let named: Vec<_> = report.alarms.iter().map(|alarm| alarm.station.as_str()).collect();
            let expected: Vec<_> =
                ["a", "b", "c"].into_iter().zip(stood).filter(|each| each.1 >= 5).map(|each| each.0).collect();
            prop_assert_eq!(named, expected);
        }
    }

    #[test]
    fn no_counters_panic(
        looks in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), 0..4_u64), 0..20),
    ) {
        let mut watch = watch();
        for (backlog, sent, drops, second) in looks {
            let mut queue = queue(0, sent);
            queue.backlog_packets = backlog;
            queue.dropped_packets = drops;
            // Time does not go back; it may stand still.
            let last = watch.queues.values().map(|kept| kept.at).max().unwrap_or(at(0));
            let mut look = look(0, &[queue]);
            look.at = last + Span::from_secs_f64(second as f64);
            watch.on_look(&look);
        }
    }
}
