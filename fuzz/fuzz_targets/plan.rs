//! Any plan and any journal: refused with a sentence, or read the same again after it was written.
#![no_main]

use airqueue_control::journal::Journal;
use airqueue_control::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Plan::read(text) {
        Ok(plan) => {
            let written = serde_json::to_string(&plan).expect("a plan is JSON");
            assert_eq!(Plan::read(&written).as_ref(), Ok(&plan));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(journal) = Journal::read(text) {
        assert_eq!(Journal::read(&journal.write()).as_ref(), Ok(&journal));
        let _ = (journal.undoing(), journal.restoring(), journal.confirmed());
    }
});
