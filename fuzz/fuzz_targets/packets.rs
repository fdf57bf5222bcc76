//! Any bytes from the device of a real node: each is refused and counted, or offered and accounted for.
#![no_main]

use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap", "real": true}, {"name": "phone", "real": true}]
}"#;

fuzz_target!(|data: &[u8]| {
    let emulated = Scenario::emulated(CELL, &[]).expect("the scenario is right");
    let mut emulation = Emulation::new(&emulated, Seed(1)).expect("the scenario is right");
    for node in 0..2 {
        emulation.set_address(node, IpAddr::V4(Ipv4Addr::from([10, 0, 0, node as u8])));
        emulation.set_address(node, IpAddr::V6(Ipv6Addr::from([node as u8; 16])));
    }
    let offered = emulation.arrive(0, data, Time::ZERO, &mut |_| {}).is_ok();
    let mut delivered = 0;
    while emulation.step(Time::ZERO + Span::from_secs(1), &mut |of| {
        assert_eq!(of.bytes.len(), data.len());
        delivered += 1;
    }) {}
    assert_eq!((delivered, emulation.packets_held()), (usize::from(offered), 0));
});
