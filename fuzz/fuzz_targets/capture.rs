//! Any file: what is read is written back and read the same.
#![no_main]

use airqueue_probe::capture::{decode, encode_header, encode_run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(capture) = decode(data) else { return };
    let mut bytes = encode_header(&capture.header);
    for (meta, run) in &capture.runs {
        bytes.extend(encode_run(meta, run));
    }
    let again = decode(&bytes).expect("what was written can be read");
    assert!(!again.torn);
    assert_eq!((again.header, again.runs), (capture.header, capture.runs));
});
