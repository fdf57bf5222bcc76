//! `watch`: the queues of all stations, live.

mod prometheus;
mod table;

use super::args::WatchArgs;
use super::{Code, Stop};
use crate::machine;
use crate::radio::error::RadioError;
use crate::radio::nl80211::Nl80211;
use crate::radio::stations;
use airqueue_control::watch::{Report, Watch};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Has a terminal begin at its upper left corner, and forget what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

pub(super) fn run(args: &WatchArgs) -> Result<(), Stop> {
    let failed = |error: RadioError| Stop::new(Code::Failed, error.to_string());
    let nl80211 = Nl80211::open().map_err(|error| failed(error.into()))?;
    let mut nl80211 = nl80211.ok_or_else(|| {
        Stop::new(
            Code::Failed,
            "there is no radio in this network namespace: cfg80211 is not loaded",
        )
    })?;
    let mut watch = Watch::new(args.stuck_after);
    let mut due = machine::now();
    let mut looks = 0_u32;
    loop {
        let look = stations::look(&mut nl80211, machine::now()).map_err(failed)?;
        let report = watch.on_look(&look);
        if let Some(path) = &args.prometheus {
            write(path, &prometheus::text(&report)).map_err(|error| {
                let path = path.display();
                Stop::new(
                    Code::Failed,
                    format!("cannot write {path}: {error}; give another --prometheus"),
                )
            })?;
        }
        // A reader that went away wants no more.
        if show(&report, args.print.json).is_err() {
            return Ok(());
        }
        looks = looks.saturating_add(1);
        if args.count.is_some_and(|count| looks >= count) {
            return Ok(());
        }
        due += args.every;
        let now = machine::now();
        if due > now {
            thread::sleep(Duration::from_nanos((due - now).as_nanos().unsigned_abs()));
        } else {
            due = now;
        }
    }
}

fn show(report: &Report, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(report).expect("a report is JSON"))?;
    } else {
        let clear = if out.is_terminal() { CLEAR } else { "" };
        writeln!(out, "{clear}{}", table::text(report))?;
    }
    out.flush()
}

/// Writes a file whole: a reader sees the old one or the new one, also if this process dies.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    // node_exporter reads files that end in .prom alone.
    name.push(format!(".{}", std::process::id()));
    let begun = path.with_file_name(name);
    let written = fs::write(&begun, text).and_then(|()| fs::rename(&begun, path));
    if written.is_err() {
        let _ = fs::remove_file(&begun);
    }
    written
}

#[cfg(test)]
mod tests;
