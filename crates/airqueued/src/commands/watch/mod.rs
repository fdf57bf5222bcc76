//! `watch`: the queues of all stations, live.

pub mod prometheus;
pub(super) mod table;

use super::args::WatchArgs;
use super::{Code, Stop, looks};
use crate::machine;
use crate::radio::error::RadioError;
use crate::radio::nl80211::Nl80211;
use crate::radio::stations;
use airqueue_control::watch::Watch;

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
    let look = |number| {
        let look = stations::look(&mut nl80211, machine::now()).map_err(failed)?;
        let report = watch.on_look(&look);
        if let Some(path) = &args.prometheus {
            let refused =
                |what| Stop::new(Code::Failed, format!("{what}; give another --prometheus"));
            prometheus::write(path, &report).map_err(refused)?;
        }
        let page = || table::text(&report);
        if !args.looks.shows(number) {
            return Ok(true);
        }
        looks::show(&report, args.print.json, page)
    };
    looks::each(args.looks.every, args.looks.count, || {}, look)
}

#[cfg(test)]
mod tests;
