//! A real station that goes from one access point to another.

use crate::common::{datagram, run, start};
use airqueue_core::{Span, Time};
use airqueue_scenario::Scenario;

/// The hall is a router in front of the server's wire, and has flows of its own.
const HOUSE: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [
        {"name": "hall"},
        {"name": "attic"},
        {"name": "phone", "real": true, "association": {
            "access_point": "hall",
            "search": "100 ms",
            "roams": [{"at": "1 s", "to": "attic"}, {"at": "2 s", "to": "hall"}]
        }}
    ],
    "beacons": [{"station": "hall"}, {"station": "attic"}],
    "hosts": [{"name": "server", "link": "hall", "delay": "1 ms", "real": true}]
    CHANGES
}"#;

/// The delays of packets from a real phone, and of full-sized ones to the phone; None: lost. One packet goes each way every
/// 10 ms for three seconds.
fn delays(changes: &str) -> [Vec<Option<Span>>; 2] {
    let emulated = Scenario::emulated(&HOUSE.replace("CHANGES", changes), &[]).unwrap();
    let mut emulation = start(&emulated);
    let sent = |number: u16| Time::ZERO + Span::from_millis(10 * i64::from(number));
    let mut delays = [vec![None; 300], vec![None; 300]];
    for n in 0..300 {
        for (from, to, size) in [(0, 1, 200), (1, 0, 1500)] {
            // The sender's port numbers the packets, and distributes them over the flows of the pair.
            let packet = datagram(from, to, n, 0, size);
            emulation.arrive(from, &packet, sent(n), &mut |_| {}).unwrap();
        }
        let end = if n == 299 { sent(400) } else { sent(n + 1) };
        for (to, bytes, due) in run(&mut emulation, end - Span::from_nanos(1)) {
            let number = u16::from_be_bytes([bytes[20], bytes[21]]);
            delays[1 - to][usize::from(number)] = Some(due - sent(number));
        }
    }
    delays
}

#[test]
fn packets_follow_a_station_to_its_access_point_and_back() {
    let lost = delays("").map(|of| (0..300).filter(|&n| of[n].is_none()).collect::<Vec<usize>>());
    // The search lasts 0.1 s, the frames with the access point a few milliseconds. Access points know nothing of the search,
    // and what waits at the phone for the access point before is given up.
    let gaps = [0..15, 99..115, 199..215];
    assert!(lost.iter().flatten().all(|n| gaps.iter().any(|gap| gap.contains(n))), "{lost:?}");
    let [up, down] =
        lost.map(|of| gaps.clone().map(|gap| of.iter().filter(|n| gap.contains(n)).count()));
    // At first the phone has no access point, and keeps its packets.
    assert!(up[0] == 0 && up[1..].iter().chain(&down).all(|&count| count >= 8), "{up:?} {down:?}");
}

/// A change of the rate of a link reaches the flows of a pair on the route by way of that link, and on no other.
#[test]
fn changes_of_a_link_are_those_of_the_route_by_way_of_it() {
    let slow = r#", "changes": [{"at": "0 s", "link": ["attic", "phone"], "rate": "HT-MCS0"}]"#;
    let [_, down] = delays(slow);
    let [hall, attic, again] = [0..90, 120..190, 220..300].map(|numbers| {
        let least = down[numbers].iter().flatten().min();
        least.expect("packets arrive").as_secs_f64()
    });
    // 12 304 bits take 0.19 ms at 65 Mb/s, and 1.9 ms at 6.5 Mb/s.
    assert!((0.0015..0.0020).contains(&(attic - hall)), "{hall} {attic}");
    assert!((again - hall).abs() < 1e-4, "{hall} {again}");
}
