//! Any text: a quantity, values or a queue, or one sentence; and what is written is read back.
#![no_main]

use airqueue_core::quantity::{Kind, Measure};
use airqueue_core::ranges::{self, Element};
use airqueue_qdisc::text::QueueText;
use libfuzzer_sys::fuzz_target;

/// More values take longer than a fuzzer has.
const MOST_VALUES: usize = 1000;

fn sentence(refused: &str) {
    assert!(!refused.is_empty() && !refused.contains('\n') && refused.len() < 1000, "{refused}");
}

fuzz_target!(|text: &str| {
    for kind in Kind::ALL {
        match kind.parse(text) {
            Ok(value) => assert_eq!(kind.parse(&kind.written(value)), Ok(value)),
            Err(refused) => sentence(&refused),
        }
    }
    let _ = Measure::of_any_kind(text);
    for element in [Element::Number, Element::Whole, Element::Any, Element::Of(Kind::Duration)] {
        match ranges::values(text, element, Some("none"), MOST_VALUES) {
            Ok(found) => assert!(!found.values.is_empty()),
            Err(refused) => sentence(&refused),
        }
        if let Err(refused) = ranges::lists(text, element, Some("none")) {
            sentence(&refused);
        }
    }
    if let Err(refused) = QueueText::parse(text) {
        sentence(&refused);
    }
});
