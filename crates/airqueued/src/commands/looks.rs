//! What commands share that look again and again.

use super::{Stop, print};
use crate::machine;
use crate::tap::READ_EVERY;
use airqueue_core::Span;
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::thread;
use std::time::Duration;

/// Has a terminal begin at its upper left corner, and forget what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// Looks at regular times, so many times or until a look says that nobody wants more; each look gets its number, from 1. Calls
/// `meanwhile` as often as a tap is read.
pub(super) fn each(
    every: Span,
    count: Option<u32>,
    mut meanwhile: impl FnMut(),
    mut look: impl FnMut(u32) -> Result<bool, Stop>,
) -> Result<(), Stop> {
    let mut due = machine::now();
    let mut looks = 0_u32;
    loop {
        looks = looks.saturating_add(1);
        if !look(looks)? {
            return Ok(());
        }
        if count.is_some_and(|count| looks >= count) {
            return Ok(());
        }
        // A look that is late is not made up for.
        due = (due + every).max(machine::now());
        while machine::now() < due {
            sleep((due - machine::now()).min(READ_EVERY));
            meanwhile();
        }
    }
}

fn sleep(span: Span) {
    thread::sleep(Duration::from_nanos(span.as_nanos().max(0).unsigned_abs()));
}

/// Prints a look: a line of JSON, or a page of text. Returns whether there is still a reader.
pub(super) fn show<T: Serialize>(
    look: &T,
    json: bool,
    page: impl FnOnce() -> String,
) -> Result<bool, Stop> {
    if json {
        return print(&serde_json::to_string(look).expect("a look is JSON"));
    }
    let clear = if io::stdout().is_terminal() { CLEAR } else { "" };
    print(&format!("{clear}{}", page()))
}
