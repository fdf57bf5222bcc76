//! Any answer of the kernel: read, or an error.
#![no_main]

use airqueued::netlink::{answer, attributes};
use airqueued::qdisc;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(messages) = answer(data) {
        for message in &messages {
            let _ = qdisc::describe(message);
        }
    }
    if let Ok(found) = attributes::read(data) {
        let written = found
            .0
            .iter()
            .fold(attributes::Writer::default(), |to, each| to.bytes(each.kind, each.value));
        assert_eq!(attributes::read(&written.finish()).expect("what was written is read"), found);
    }
});
