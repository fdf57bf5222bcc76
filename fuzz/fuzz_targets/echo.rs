//! Answers to probes: any bytes, as messages and as errors about each method's probes.
#![no_main]

use airqueue_core::{Span, Time};
use airqueue_probe::echo::Method;
use airqueue_probe::echo::message::after_ipv4_header;
use airqueue_probe::echo::pace::Pace;
use airqueue_probe::echo::prober::{IcmpError, Prober, Target};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

fuzz_target!(|data: &[u8]| {
    let [kind, code, port, rest @ ..] = data else { return };
    let methods =
        [Method::Icmp, Method::Hop(1), Method::Udp(None), Method::Tcp(9), Method::Server(9)];
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
        let address = SocketAddr::new(ip, 0);
        let pace = Pace::new(Time::ZERO, Span::from_secs(1));
        let targets = methods.map(|method| Target { method, address, id: 7, pace });
        let mut prober = Prober::new(targets.to_vec(), [0; 32]);
        let mut bytes = vec![];
        while let Some(probe) = prober.poll_transmit(Time::ZERO, &mut bytes) {
            prober.on_sent(probe, Time::ZERO);
        }
        for target in 0..methods.len() {
            let port = 33434 + u16::from(*port);
            let error = IcmpError { from: ip, kind: *kind, code: *code, port };
            prober.on_message(target, ip, rest, Time::ZERO, false);
            prober.on_icmp_error(target, error, rest, Time::ZERO, false);
        }
    }
    let _ = after_ipv4_header(data);
});
