//! Any frames at a tap, and any configuration of the service: no panic, and flows within their bounds.
#![no_main]

use airqueue_control::flows::{Flows, MOST_FLOWS, Packet};
use airqueue_control::steer::Config;
use airqueue_core::{Span, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<(Vec<u8>, u32, bool, u16)>, &str)| {
    let (frames, text) = input;
    let (mut flows, mut now) = (Flows::new(Time::ZERO), Time::ZERO);
    for (frame, wire_bytes, outgoing, ms) in frames {
        now = now + Span::from_millis(ms.into());
        if let Some(packet) = Packet::of_frame(&frame, wire_bytes) {
            flows.on_packet(&packet, outgoing, now);
        }
    }
    assert!(flows.look(now).flows.len() <= MOST_FLOWS);
    if let Err(error) = Config::read(text) {
        assert!(!error.to_string().is_empty());
    }
});
