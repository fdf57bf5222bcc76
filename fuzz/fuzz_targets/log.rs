//! Any log: bounded rows, no panic.
#![no_main]

use airqueue_core::Span;
use airqueue_probe::log::{decode_receiver, decode_sender, join};
use airqueue_probe::plan::{Plan, Segment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let segment = Segment {
        flow: 0,
        start: Span::ZERO,
        duration: Span::from_secs(1),
        count: 1000,
        size: 100,
        traffic_class: 2,
    };
    let plan = Plan { segments: vec![segment] };
    let received = decode_receiver(data, 1000).unwrap_or_default();
    assert!(received.times_ns.len() <= 1000 && received.classes.len() == received.times_ns.len());
    if let Ok(sent) = decode_sender(data, 1000) {
        let records = join(&plan, &sent, received.arrivals());
        assert_eq!(records.sent_ns.len(), sent.lateness_ns.len());
        assert_eq!(records.received_ns.len(), records.sent_ns.len());
        let classes = records.classes.unwrap_or_default();
        assert_eq!(
            (classes.sent.len(), classes.received.len()),
            (records.sent_ns.len(), records.sent_ns.len())
        );
    }
});
