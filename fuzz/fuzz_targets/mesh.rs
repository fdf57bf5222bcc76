//! Any messages of neighbours with the key at a router with flows: limits stay between one packet and the safe limit.
#![no_main]

use airqueue_control::mesh::wire::{MOST_BYTES, decode, decode_body, encode};
use airqueue_control::mesh::{FlowNumber, Hop, LinkFacts, MeshKey, Policy, Router, RouterId};
use airqueue_core::{Span, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let key = MeshKey::new(&[7; 32]).unwrap();
    let policy = Policy::default();
    let bounds = policy.minimum_packets..=policy.unsized_packets;
    let mut router = Router::new(RouterId(1), 1, key.clone(), policy).unwrap();
    let mut now = Time::ZERO;
    let facts = LinkFacts { rate_bps: 11_000_000, round_trip_ns: 2_698_000, channel: 1 };
    let hop = Hop { previous: Some(RouterId(2)), next: Some(RouterId(3)), ..Hop::default() };
    router.on_link(RouterId(3), Some(facts), now).unwrap();
    router.on_route(FlowNumber(1), Some(hop), now).unwrap();
    // A length, then so many bytes.
    let mut rest = data;
    while let Some((&[high, low], tail)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(tail.len());
        let (body, after) = tail.split_at(length);
        rest = after;
        now += Span::from_millis(i64::from(low));
        router.on_active(FlowNumber(1), now);
        assert!(decode(body, &key).is_err());
        if let Ok(message) = decode_body(body) {
            let bytes = encode(&message, &key);
            if bytes.len() <= MOST_BYTES {
                assert_eq!(decode(&bytes, &key), Ok(message.clone()));
            }
            let _ = router.on_message(message.sender, &bytes, now);
        }
        router.on_time(now);
        while router.poll_message(now).is_some() {}
        router.poll_decision(now);
        assert!(router.limits().0.values().all(|packets| bounds.contains(packets)));
        assert!(router.next_deadline(now).is_none_or(|at| at > now));
    }
});
