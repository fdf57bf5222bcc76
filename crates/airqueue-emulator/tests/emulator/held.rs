//! Packets that belong to their senders while the senders' station has them.

use crate::common::{CELL, cell, datagram, seconds, start};
use airqueue_core::Time;
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;

/// Offers packets with tokens, the number of each packet, and runs to the end. Returns when each token came back, and
/// when each delivered packet left the network.
fn run_held(emulation: &mut Emulation, from: usize, packets: u32) -> (Vec<Time>, Vec<Time>) {
    let (mut came_back, mut left) = (vec![Vec::new(); packets as usize], Vec::new());
    for n in 0..packets {
        let packet = datagram(from, 1 - from, 1000, 0, 1500);
        emulation.arrive_held(from, &packet, Some(n), Time::ZERO, &mut |_| {}).unwrap();
    }
    loop {
        let now = emulation.now();
        for token in emulation.released() {
            assert_eq!(token.node, from);
            came_back[token.id as usize].push(now);
        }
        if !emulation.step(seconds(1.0), &mut |of| left.push(of.due)) {
            break;
        }
    }
    assert!(came_back.iter().all(|times| times.len() == 1), "each once: {came_back:?}");
    assert_eq!(emulation.packets_held(), 0);
    (came_back.into_iter().flatten().collect(), left)
}

#[test]
fn a_packet_is_its_senders_until_the_station_is_done_with_it() {
    // 802.11a: a frame for each packet. 54 Mb/s: at least 248 us of frame, SIFS, and 28 us of acknowledgement at 24 Mb/s.
    let text = CELL.replace(r#""802.11n", "rate": "HT-MCS7""#, r#""802.11a", "rate": "54 Mb/s""#);
    let emulated = Scenario::emulated(&text, &[]).unwrap();
    let (came_back, left) = run_held(&mut start(&emulated), 0, 3);
    assert_eq!(left.len(), 3);
    for (n, (back, delivered)) in (1..).zip(came_back.iter().zip(&left)) {
        // The wire behind the access point takes 10 ms; the acknowledgement ends SIFS and 28 us after the frame.
        let sooner = (*delivered - *back).as_secs_f64();
        assert!((sooner - (0.010 - 16e-6 - 28e-6)).abs() < 2e-6, "{sooner}");
        let frames_s = (*back - Time::ZERO).as_secs_f64() / f64::from(n);
        assert!(frames_s > 292e-6 && frames_s < 500e-6, "{frames_s}");
    }
}

#[test]
fn a_packet_that_the_station_drops_is_its_senders_no_more() {
    let emulated = cell(&[]);
    let mut emulation = start(&emulated);
    let (came_back, left) = run_held(&mut emulation, 0, 100);
    let (_, _, counters) = emulation.pairs().next().unwrap();
    let at_once = came_back.iter().filter(|&&at| at == Time::ZERO).count() as u64;
    assert_eq!(
        (at_once, left.len() as u64),
        (counters.dropped.packets, counters.delivered.packets)
    );
    assert!(at_once > 0 && !left.is_empty());
}

#[test]
fn packets_of_a_host_are_in_nobodys_socket() {
    let emulated = cell(&[]);
    let (came_back, _) = run_held(&mut start(&emulated), 1, 3);
    assert_eq!(came_back, [Time::ZERO; 3]);
}
