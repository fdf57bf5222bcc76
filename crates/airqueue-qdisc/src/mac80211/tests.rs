//! The queues of mac80211 in front of a device that sends one frame at a time.

use super::*;
use airqueue_core::{AirRate, DataRate, Ecn, FlowKey, NeighbourId, Seed};

fn queue(params: Mac80211Params) -> Mac80211 {
    Mac80211::new(params, &mut Seed(1).stream("hash"))
}

fn ms(ms: i64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

fn offer(q: &mut Mac80211, neighbour: NeighbourId, flow: u32, packets: usize, now: Time) -> Drops {
    let mut drops = Drops::new();
    for _ in 0..packets {
        q.enqueue(
            Packet { neighbour, ..Packet::new(0, FlowKey(flow), 1500, now) },
            now,
            &mut drops,
        );
    }
    drops
}

fn report(q: &mut Mac80211, packet: Packet, airtime: Span, now: Time) {
    q.on_sent(&Sent { packet, acknowledged: true, airtime, rate: None, feedback: None }, now);
}

/// What waits for a station that sleeps is not in the device: the station's limit does not count it, and holds nothing back.
#[test]
fn aql_does_not_count_what_waits_for_a_station_that_sleeps() {
    let mut q = queue(Mac80211Params::default());
    let (sleeps, wakes) = (NeighbourId(0), NeighbourId(1));
    offer(&mut q, sleeps, 0, 100, Time::ZERO);
    let mut drops = Drops::new();
    let mut kept = Vec::new();
    while let Some(packet) = q.dequeue(Time::ZERO, &mut drops) {
        q.on_put_aside(&packet);
        kept.push(packet);
    }
    assert_eq!((kept.len(), q.len_packets()), (100, 0));
    // As many packets as AQL lets go to a station while the device has nothing else.
    let in_device = |q: &mut Mac80211| {
        offer(q, wakes, 1, 100, Time::ZERO);
        std::iter::from_fn(|| q.dequeue(Time::ZERO, &mut Drops::new())).count()
    };
    let alone = in_device(&mut queue(Mac80211Params::default()));
    assert_eq!(in_device(&mut q), alone);
    assert!(alone < 100);
    // Taken up, they count until they are reported.
    kept.iter().for_each(|packet| q.on_taken_up(packet));
    offer(&mut q, sleeps, 0, 1, Time::ZERO);
    assert!(q.dequeue(Time::ZERO, &mut drops).is_none());
    for packet in kept {
        report(&mut q, packet, Span::ZERO, Time::ZERO);
    }
    assert_eq!(q.dequeue(Time::ZERO, &mut drops).map(|packet| packet.neighbour), Some(sleeps));
}

/// `sta_ps_start`, `ieee80211_sta_ps_get_frames`, `ieee80211_sta_ps_deliver_wakeup`: the packets of a station that sleeps stay,
/// and hold nobody back; the station gets them by asking, or at the front of the turns once it is awake.
#[test]
fn a_station_that_sleeps_has_no_turns() {
    let mut q = queue(Mac80211Params { aql: None, ..without_codel() });
    let (sleeps, wakes) = (NeighbourId(0), NeighbourId(1));
    let mut drops = Drops::new();
    offer(&mut q, sleeps, 0, 3, ms(0));
    assert_eq!((q.held_for(sleeps), q.held_for(NeighbourId(7))), (0, 0), "it is awake");
    // A promise to a station that falls asleep is void, and no packet is lost.
    assert_eq!(q.peek(ms(0), &mut drops).map(|packet| packet.neighbour), Some(sleeps));
    q.set_asleep(sleeps, true);
    assert_eq!(q.peek(ms(0), &mut drops), None);
    offer(&mut q, sleeps, 0, 1, ms(0));
    offer(&mut q, wakes, 1, 2, ms(0));
    assert_eq!((q.held_for(sleeps), q.len_packets()), (4, 6));
    assert_eq!(q.other_neighbour(&[wakes], ms(0), &mut drops), None);
    assert_eq!(q.dequeue(ms(1), &mut drops).map(|packet| packet.neighbour), Some(wakes));
    assert!(q.dequeue_for_neighbour(sleeps, ms(1), &mut drops).is_some());
    assert_eq!(q.held_for(sleeps), 3);
    q.set_asleep(sleeps, false);
    assert_eq!(q.held_for(sleeps), 0);
    let order: Vec<_> = std::iter::from_fn(|| q.dequeue(ms(2), &mut drops)).collect();
    let order: Vec<_> = order.iter().map(|packet| packet.neighbour.0).collect();
    assert_eq!(order, [0, 0, 0, 1]);
    // A station without packets wakes up to nothing.
    q.set_asleep(sleeps, true);
    q.set_asleep(sleeps, false);
    assert_eq!((q.dequeue(ms(3), &mut drops), q.len_packets()), (None, 0));
}

/// What a full store drops, and what CoDel drops, no longer waits for the station.
#[test]
fn drops_are_not_held_for_a_station_that_sleeps() {
    let sleeps = NeighbourId(0);
    let mut q = queue(Mac80211Params { limit: 10, aql: None, ..Mac80211Params::default() });
    q.set_asleep(sleeps, true);
    let drops = offer(&mut q, sleeps, 0, 11, ms(0));
    assert_eq!((drops.as_slice().len(), q.held_for(sleeps)), (5, 6));
    // CoDel with 20 ms: after 100 ms above that it drops packets of the standing queue when the station asks.
    let mut drops = Drops::new();
    let mut asked = 0;
    for t in [200, 400, 600, 800] {
        asked += usize::from(q.dequeue_for_neighbour(sleeps, ms(t), &mut drops).is_some());
    }
    assert!(!drops.as_slice().is_empty());
    assert_eq!(q.held_for(sleeps), 6 - asked - drops.as_slice().len());
    assert_eq!(q.len_packets(), q.held_for(sleeps));
}

/// A device that sends one packet at a time, each for the airtime of its station, until `until`, with all stations
/// backlogged; returns the airtime of each station in seconds.
fn serve(q: &mut Mac80211, times_us: &[i64], until: Time) -> Vec<f64> {
    let mut had = vec![0.0; times_us.len()];
    let (mut now, mut drops) = (Time::ZERO, Drops::new());
    for neighbour in 0..times_us.len() as u16 {
        offer(q, NeighbourId(neighbour), neighbour.into(), 2, now);
    }
    while now < until {
        let packet = q.dequeue(now, &mut drops).expect("stations are backlogged");
        offer(q, packet.neighbour, packet.flow.0, 1, now);
        let airtime = Span::from_micros(times_us[packet.neighbour.index()]);
        now += airtime;
        had[packet.neighbour.index()] += airtime.as_secs_f64();
        report(q, packet, airtime, now);
    }
    had
}

/// CoDel that drops nothing.
fn without_codel() -> Mac80211Params {
    let codel = CodelParams { target: Span::from_secs(1000), ..Mac80211Params::default().codel };
    Mac80211Params { codel, ..Mac80211Params::default() }
}

/// Each station has a third of the airtime to within a turn and a packet, whatever airtime its packets take; without
/// airtime fairness each has a third of the packets.
#[test]
fn stations_share_the_air() {
    let times = [250, 400, 2200];
    let shares = |airtime, aql| {
        let had =
            serve(&mut queue(Mac80211Params { airtime, aql, ..without_codel() }), &times, ms(3000));
        let all: f64 = had.iter().sum();
        had.iter().map(|had| had / all).collect::<Vec<_>>()
    };
    for aql in [None, Some(AqlParams::default())] {
        for share in shares(Some(Span::from_micros(256)), aql) {
            assert!((share - 1.0 / 3.0).abs() < 0.003, "{share}");
        }
        for (share, time) in shares(None, aql).into_iter().zip(times) {
            assert!((share - time as f64 / 2850.0).abs() < 0.003, "{share}");
        }
    }
}

fn set_weights(q: &mut Mac80211, weights: &[u16]) {
    for (id, &airtime_weight) in (0..).map(NeighbourId).zip(weights) {
        q.set_neighbour(id, NeighbourFacts { airtime_weight, is_group: false });
    }
}

/// Shares of the airtime are in proportion to the weights, whatever airtime packets take.
#[test]
fn stations_share_the_air_by_weight() {
    let (times, weights) = ([250, 400, 2200], [512, 256, 128]);
    for aql in [None, Some(AqlParams::default())] {
        let mut q = queue(Mac80211Params { aql, ..without_codel() });
        set_weights(&mut q, &weights);
        let had = serve(&mut q, &times, ms(20_000));
        for (had, weight) in had.into_iter().zip(weights) {
            let ratio = had / 20.0 / (f64::from(weight) / 896.0);
            assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        }
    }
}

fn with_group(params: Mac80211Params, stations: u16) -> Mac80211 {
    let mut q = queue(params);
    set_weights(&mut q, &vec![NeighbourFacts::USUAL_WEIGHT; stations.into()]);
    let facts = NeighbourFacts { is_group: true, ..NeighbourFacts::default() };
    q.set_neighbour(NeighbourId(stations), facts);
    q
}

/// In each round the stations have a turn of 256 µs each, and the packets for all stations one packet.
#[test]
fn packets_for_all_stations_have_one_packet_in_turn() {
    let mut q = with_group(without_codel(), 2);
    let had = serve(&mut q, &[250, 400, 2000], ms(5000));
    let expected = [256.0, 256.0, 2000.0].map(|time| 5.0 * time / 2512.0);
    for (had, expected) in had.into_iter().zip(expected) {
        assert!((had - expected).abs() < 0.05, "{had} {expected}");
    }
}

/// Packets for all stations have a limit of their own, and leave the stations theirs.
#[test]
fn packets_for_all_stations_have_their_own_limit() {
    let aql = AqlParams {
        high: Span::from_millis(11),
        multicast: Span::from_millis(49),
        ..AqlParams::default()
    };
    let mut q = with_group(Mac80211Params { aql: Some(aql), ..without_codel() }, 1);
    let mut drops = Drops::new();
    // Without a report, 1500 bytes are expected to take 2104 µs: 24 such packets reach 49 ms, and six 11 ms.
    offer(&mut q, NeighbourId(1), 2, 40, ms(0));
    let group = std::iter::from_fn(|| q.dequeue(ms(0), &mut drops)).count();
    assert_eq!(group, 24);
    offer(&mut q, NeighbourId(0), 1, 40, ms(0));
    let station = std::iter::from_fn(|| q.dequeue(ms(0), &mut drops)).count();
    assert_eq!(station, 6);
    report(
        &mut q,
        Packet { neighbour: NeighbourId(1), ..Packet::new(0, FlowKey(2), 1500, ms(0)) },
        Span::ZERO,
        ms(1),
    );
    assert_eq!(q.dequeue(ms(1), &mut drops).unwrap().neighbour, NeighbourId(1));
}

/// The drops and marks of a flow of ECN-capable packets that wait for so long, for a station whose packets take so much
/// airtime, beside so many other stations.
fn signals(slow_stations: bool, delay_ms: i64, airtime: Span, others: u16) -> (usize, u64) {
    let params = Mac80211Params { aql: None, slow_stations, ..Mac80211Params::default() };
    let mut q = queue(params);
    set_weights(&mut q, &vec![NeighbourFacts::USUAL_WEIGHT; usize::from(others) + 1]);
    let mut drops = Drops::new();
    for t in 0..3000 {
        let packet = Packet { ecn: Ecn::Ect, ..Packet::new(0, FlowKey(1), 1500, ms(t)) };
        q.enqueue(packet, ms(t), &mut drops);
        if t >= delay_ms
            && let Some(packet) = q.dequeue(ms(t), &mut drops)
        {
            report(&mut q, packet, airtime, ms(t));
        }
    }
    (drops.as_slice().len(), drops.marks())
}

/// `sta_update_codel_params`: below 6 Mb/s times the number of stations 50 ms for 300 ms, and drops instead of marks.
#[test]
fn codel_is_patient_with_slow_stations() {
    // 1500 bytes in 1.1 ms are 10.9 Mb/s: slow for one of two stations, not for the only one.
    let time = Span::from_micros(1100);
    assert_eq!(signals(true, 30, time, 1), (0, 0));
    let (drops, marks) = signals(true, 70, time, 1);
    assert!(drops > 2 && marks == 0, "{drops} {marks}");
    for (slow_stations, others) in [(true, 0), (false, 1)] {
        let (drops, marks) = signals(slow_stations, 30, time, others);
        assert!(drops == 0 && marks > 5, "{drops} {marks}");
    }
    // 1500 bytes in 0.9 ms are 13.3 Mb/s.
    assert!(signals(true, 30, Span::from_micros(900), 1).1 > 5);
}

/// A report after which 1500 bytes for the neighbour are expected to take 1 ms: 1552 bytes at 12.8 Mb/s are 970 µs.
fn expect_a_millisecond(q: &mut Mac80211, neighbour: NeighbourId) {
    let rate = DataRate::from_bps(12_800_000).unwrap();
    let rate = Some(AirRate::Legacy { rate, overhead_us: 30 });
    let packet = Packet { neighbour, ..Packet::new(u64::MAX, FlowKey(0), 1500, ms(0)) };
    let airtime = Span::from_millis(1);
    q.on_sent(&Sent { packet, acknowledged: true, airtime, rate, feedback: None }, ms(0));
}

/// Packets in transit count: the device takes all packets that it gets, and no station exceeds its limit.
#[test]
fn the_device_gets_no_more_than_the_limit() {
    let mut q = queue(without_codel());
    let mut drops = Drops::new();
    for neighbour in 0..4 {
        offer(&mut q, NeighbourId(neighbour), 10 + u32::from(neighbour), 40, ms(0));
        expect_a_millisecond(&mut q, NeighbourId(neighbour));
    }
    let mut out = vec![Vec::new(); 4];
    while let Some(packet) = q.dequeue(ms(0), &mut drops) {
        out[packet.neighbour.index()].push(packet);
    }
    // All stations together: 12 ms for one of them and 2.5 ms for each other, and what is missing to the last packet.
    let counts: Vec<usize> = out.iter().map(Vec::len).collect();
    assert!(counts.iter().all(|&count| (2..=12).contains(&count)), "{counts:?}");
    let all: usize = counts.iter().sum();
    assert!((19..=20).contains(&all), "{counts:?}");
    assert_eq!(q.peek(ms(0), &mut drops), None);
    assert_eq!(q.next_wakeup(ms(0)), None);
    assert_eq!(q.len_packets(), 160 - all);
    // A report makes room.
    let packet = out[2].pop().unwrap();
    report(&mut q, packet, Span::from_millis(1), ms(1));
    assert!(q.dequeue(ms(1), &mut drops).is_some() && q.dequeue(ms(1), &mut drops).is_none());
    // A single station may have 12 ms.
    let mut q = queue(without_codel());
    offer(&mut q, NeighbourId(0), 1, 40, ms(0));
    expect_a_millisecond(&mut q, NeighbourId(0));
    let alone = std::iter::from_fn(|| q.dequeue(ms(0), &mut drops)).count();
    assert_eq!(alone, 12);
}

/// All packets of an aggregate are the station's, and the limit applies to them.
#[test]
fn a_frame_takes_the_packets_of_its_station() {
    let mut q = queue(without_codel());
    let mut drops = Drops::new();
    offer(&mut q, NeighbourId(0), 1, 3, ms(0));
    offer(&mut q, NeighbourId(1), 2, 20, ms(0));
    let first = q.dequeue(ms(0), &mut drops).unwrap();
    assert_eq!(first.neighbour, NeighbourId(1), "the station that came last is in front");
    let along = std::iter::from_fn(|| q.dequeue_for_neighbour(NeighbourId(1), ms(0), &mut drops));
    assert!(along.map(|packet| assert_eq!(packet.neighbour, NeighbourId(1))).count() >= 2);
    assert_eq!(q.peek_for_neighbour(NeighbourId(1), ms(0), &mut drops), None);
    assert_eq!(
        q.peek_for_neighbour(NeighbourId(7), ms(0), &mut drops),
        None,
        "the station is unknown"
    );
    assert!(q.peek_for_neighbour(NeighbourId(0), ms(0), &mut drops).is_some());
    assert_eq!(q.dequeue(ms(0), &mut drops).unwrap().neighbour, NeighbourId(0));
}

/// A station with an occasional packet does not wait for the bulk flows of others.
#[test]
fn sparse_stations_come_first() {
    let mut q = queue(without_codel());
    let mut drops = Drops::new();
    for neighbour in 0..5 {
        offer(&mut q, NeighbourId(neighbour), 10 + u32::from(neighbour), 50, ms(0));
    }
    for round in 0..10 {
        offer(&mut q, NeighbourId(9), 99, 1, ms(round));
        let packet = q.dequeue(ms(round), &mut drops).unwrap();
        assert_eq!(packet.neighbour, NeighbourId(9));
        report(&mut q, packet, Span::from_micros(20), ms(round));
        let packet = q.dequeue(ms(round), &mut drops).unwrap();
        report(&mut q, packet, Span::from_micros(300), ms(round));
    }
}

/// 20 ms for 100 ms: a flow queue with a delay of 30 ms loses packets, a flow queue with 15 ms does not, whatever other
/// stations have.
#[test]
fn each_flow_is_under_codel() {
    let drops_with = |delay_ms: i64| {
        let mut q = queue(Mac80211Params { aql: None, ..Mac80211Params::default() });
        let mut drops = Drops::new();
        for t in 0..2000 {
            offer(&mut q, NeighbourId(0), 1, 1, ms(t));
            if t >= delay_ms {
                q.dequeue(ms(t), &mut drops);
            }
        }
        drops.as_slice().len()
    };
    assert_eq!(drops_with(15), 0);
    assert!(drops_with(30) > 5);
}

/// In a full store the longest flow queue loses half, but at most 32 packets.
#[test]
fn the_fattest_flow_pays() {
    let mut q = queue(Mac80211Params { limit: 100, ..Mac80211Params::default() });
    offer(&mut q, NeighbourId(0), 1, 90, ms(0));
    assert!(offer(&mut q, NeighbourId(1), 2, 10, ms(0)).as_slice().is_empty());
    let drops = offer(&mut q, NeighbourId(1), 2, 1, ms(0));
    assert_eq!((drops.as_slice().len(), q.len_packets()), (32, 69));
    assert!(drops.as_slice().iter().all(|drop| drop.packet.flow == FlowKey(1)));
    q.set_limit(Limit::Bytes(9000));
    offer(&mut q, NeighbourId(1), 2, 1, ms(0));
    assert!(q.len_bytes() <= 9000);
    q.set_limit(Limit::Bytes(0));
    offer(&mut q, NeighbourId(3), 2, 1, ms(0));
    assert_eq!(q.len_packets(), 0);
}

/// With a single flow queue for all: each station has a queue of its own, and no packet overtakes another of its flow.
#[test]
fn flows_that_share_a_queue_stay_in_order() {
    let mut q = queue(Mac80211Params { flows: 1, ..without_codel() });
    let mut drops = Drops::new();
    let offer_id = |q: &mut Mac80211, neighbour: NeighbourId, id| {
        q.enqueue(
            Packet { neighbour, ..Packet::new(id, FlowKey(neighbour.0.into()), 1500, ms(0)) },
            ms(0),
            &mut Drops::new(),
        );
    };
    offer_id(&mut q, NeighbourId(0), 0);
    for id in 1..4 {
        offer_id(&mut q, NeighbourId(1), id);
    }
    assert_eq!(q.stations[1].diverted.len(), 1);
    // Until station 0 has left the shared queue, and a packet of station 1 came then.
    let mut order = Vec::new();
    while let Some(packet) = q.dequeue(ms(0), &mut drops) {
        report(&mut q, packet, Span::from_micros(300), ms(0));
        order.push(packet);
        if order.len() == 3 {
            offer_id(&mut q, NeighbourId(1), 4);
        }
    }
    let ids = |neighbour| {
        order.iter().filter(|p| p.neighbour == neighbour).map(|p| p.id).collect::<Vec<_>>()
    };
    assert_eq!((ids(NeighbourId(0)), ids(NeighbourId(1))), (vec![0], vec![1, 2, 3, 4]));
    assert!(q.stations[1].diverted.is_empty() && q.is_empty());
}

/// A thousand stations, each with a flow: each station gets its packet, and the last station waits for at most a round.
#[test]
fn a_thousand_stations() {
    let mut q = queue(without_codel());
    let times: Vec<i64> = (0..1000).map(|at| 100 + at % 7 * 200).collect();
    let had = serve(&mut q, &times, ms(8000));
    for had in had {
        assert!((had - 0.008).abs() < 0.003, "{had}");
    }
}

#[test]
fn only_ecn_capable_packets_are_marked() {
    let mut q = queue(Mac80211Params { aql: None, ..Mac80211Params::default() });
    let mut drops = Drops::new();
    for t in 0..1000 {
        q.enqueue(
            Packet { ecn: Ecn::Ect, ..Packet::new(0, FlowKey(1), 1500, ms(t)) },
            ms(t),
            &mut drops,
        );
        if t > 40 {
            q.dequeue(ms(t), &mut drops);
        }
    }
    assert!(drops.marks() > 2 && drops.as_slice().is_empty());
}
