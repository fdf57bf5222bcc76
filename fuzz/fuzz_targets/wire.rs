//! Any datagram: what decodes is written back the same.
#![no_main]

use airqueue_probe::wire::{Message, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(packet) = decode(data) else { return };
    let mut out = Vec::new();
    encode(packet.flow, &packet.message, &mut out);
    // Reserved bytes, padding and tag are not part of the message.
    if !matches!(packet.message, Message::Version { .. }) {
        out.resize(out.len().max(data.len()), 0);
    }
    if let Ok(again) = decode(&out) {
        assert_eq!(again, packet);
    }
});
