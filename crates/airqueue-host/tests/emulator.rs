//! The loop of an emulation on the wall clock, with sockets in place of TUN devices.

use airqueue_core::{Seed, Span};
use airqueue_emulator::Emulation;
use airqueue_host::emulator::Emulator;
use airqueue_scenario::Scenario;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// An emulation of two nodes and a saturated station, and the ends of the nodes' devices.
fn cell(warm_up: &str) -> (Emulator, [UnixDatagram; 2]) {
    let scenario = format!(
        r#"{{
            "warm_up": "{warm_up}",
            "phy": {{"standard": "802.11n", "rate": "HT-MCS7"}},
            "stations": [{{"name": "ap", "real": true}}, {{"name": "phone", "real": true}}, {{"name": "tv"}}],
            "flows": [{{"from": "tv", "to": "ap"}}]
        }}"#
    );
    let emulated = Scenario::emulated(&scenario, &[]).unwrap();
    let emulator = Emulator::new(Emulation::new(&emulated, Seed(1)).unwrap());
    let ends = [0, 1].map(|node| {
        let (inner, outer) = UnixDatagram::pair().unwrap();
        inner.set_nonblocking(true).unwrap();
        outer.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = &emulated.nodes[node].name;
        emulator.attach(name, (inner.as_fd(), false), &[address(node)]).unwrap();
        outer
    });
    (emulator, ends)
}

fn address(node: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, node as u8 + 1).into()
}

/// A datagram of 100 bytes from node 0 to node 1, whose checksum the network does not look at.
fn packet() -> Vec<u8> {
    let mut packet = vec![0; 100];
    packet[..10].copy_from_slice(&[0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17]);
    packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    packet
}

#[test]
fn packets_pass_in_real_time_and_are_counted() {
    let (emulator, [ap, phone]) = cell("10 ms");
    thread::scope(|scope| {
        let run = scope.spawn(|| emulator.run(None, false));
        for _ in 0..20 {
            ap.send(&packet()).unwrap();
            let mut received = [0; 200];
            assert_eq!(phone.recv(&mut received).unwrap(), 100);
            assert_eq!(received[..100], packet());
        }
        emulator.stop();
        run.join().unwrap().unwrap();
    });
    emulator.with(|state| {
        assert_eq!((state.lateness.all.count, state.unwritten), (20, 0));
        assert!(state.elapsed > Span::ZERO && !state.priority);
    });
}

#[test]
fn a_warm_up_without_end_can_be_looked_at_and_stopped() {
    let (emulator, _ends) = cell("900000000 s");
    thread::scope(|scope| {
        let run = scope.spawn(|| emulator.run(None, false));
        let mut before = emulator.with(|state| state.emulation.now());
        for _ in 0..5 {
            // The state is free again and again, and the warm-up goes on.
            let passed = loop {
                let now = emulator.with(|state| state.emulation.now());
                if now > before {
                    break now;
                }
            };
            before = passed;
        }
        emulator.stop();
        run.join().unwrap().unwrap();
    });
}

#[test]
fn a_node_without_a_device_is_named() {
    let emulated = r#"{
        "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
        "stations": [{"name": "ap", "real": true}, {"name": "phone", "real": true}]
    }"#;
    let emulated = Scenario::emulated(emulated, &[]).unwrap();
    let emulator = Emulator::new(Emulation::new(&emulated, Seed(1)).unwrap());
    let error = emulator.run(None, false).unwrap_err().to_string();
    assert_eq!(error, "the node \"ap\" has no device");
}
