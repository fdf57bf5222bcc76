//! Any answer of the kernel: read, or an error.
#![no_main]

use airqueued::netlink::{Message, answer, attributes};
use airqueued::qdisc::{self, counts, rates};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // RTM_NEWQDISC, and an interface's number from the data.
    let alone = Message { kind: 36, body: data.to_vec() };
    let index = data.get(4..8).map_or(0, |bytes| u32::from_ne_bytes(bytes.try_into().expect("four")));
    for messages in [answer(data).unwrap_or_default(), vec![alone]] {
        for message in &messages {
            let _ = qdisc::describe(message);
        }
        let _ = counts::read(&messages, index);
        let _ = rates::at_roots(&messages);
        let _ = qdisc::classified(&messages);
    }
    if let Ok(found) = attributes::read(data) {
        let written = found
            .0
            .iter()
            .fold(attributes::Writer::default(), |to, each| to.bytes(each.kind, each.value));
        assert_eq!(attributes::read(&written.finish()).expect("what was written is read"), found);
    }
});
