//! Any bytes from the device of a real node: each is refused and counted, or offered and accounted for, whole or in
//! fragments. Routers answer at most once, and the sender alone.
#![no_main]

use airqueue_core::{Seed, Span, Time};
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const CELL: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap", "real": true}, {"name": "phone", "real": true}],
    "hosts": [
        {"name": "isp", "link": "ap", "mtu": "1280 B"},
        {"name": "server", "link": "isp", "real": true}
    ]
}"#;
/// The access point, the phone, the server, and the provider's router, which is not real.
const PLACES: u8 = 4;
const PHONE: usize = 1;

fuzz_target!(|data: &[u8]| {
    let emulated = Scenario::emulated(CELL, &[]).expect("the scenario is right");
    let mut emulation = Emulation::new(&emulated, Seed(1)).expect("the scenario is right");
    for place in 0..PLACES {
        emulation.set_address(place.into(), IpAddr::V4(Ipv4Addr::from([10, 0, 0, place])));
        emulation.set_address(place.into(), IpAddr::V6(Ipv6Addr::from([place; 16])));
    }
    emulation.add_prefix(IpAddr::V4(Ipv4Addr::from([10, 0, 0, 0])), 16);
    let _ = emulation.arrive(PHONE, data, Time::ZERO, &mut |_| {});
    let (mut delivered, mut bytes, mut answers) = (0, 0, 0);
    while emulation.step(Time::ZERO + Span::from_secs(1), &mut |of| {
        if of.to == PHONE {
            assert!(of.bytes.len() >= 28);
            answers += 1;
        } else {
            assert!(of.bytes.len() <= 1280);
            bytes += of.bytes.len() as u64;
            delivered += 1;
        }
    }) {}
    let offered = emulation.pairs().map(|(_, _, of)| (of.offered.packets, of.offered.bytes));
    let offered = offered.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    assert_eq!(((delivered, bytes), emulation.packets_held()), (offered, 0));
    // Of 1500 bytes at most: fragments have 1256 of these or more, but for the last one.
    assert!(delivered + answers <= 1 || answers == 0 && delivered == 2 && data.len() > 1280);
    assert!(delivered == 0 || bytes >= data.len() as u64);
});
