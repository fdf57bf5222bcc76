//! `watch`: the queues of all stations, live.

pub mod prometheus;
mod table;

use super::args::WatchArgs;
use super::{Code, Stop, looks};
use crate::machine;
use crate::radio::error::RadioError;
use crate::radio::nl80211::Nl80211;
use crate::radio::stations;
use airqueue_control::watch::Watch;
use std::fs;
use std::io;
use std::path::Path;

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
    let look = || {
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
        Ok(looks::show(&report, args.print.json, || table::text(&report)))
    };
    looks::each(args.looks.every, args.looks.count, || {}, look)
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
