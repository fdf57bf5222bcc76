//! `obeys`: whether mac80211's queues of a phy keep to their limit while something fills them.

use super::args::ObeysArgs;
use super::{Code, Stop, say};
use crate::machine;
use crate::radio::error::RadioError;
use crate::radio::facts::Radios;
use crate::radio::nl80211::Nl80211;
use crate::radio::txq::TxqStatistics;
use crate::radio::wiphy::Wiphy;
use airqueue_control::places::{Obeyed, Sample, judge};
use airqueue_core::Span;
use serde_json::json;
use std::thread;
use std::time::Duration;

/// Time between two looks: a phy sends some hundred packets meanwhile.
const BETWEEN: Duration = Duration::from_millis(20);

pub(super) fn run(args: &ObeysArgs) -> Result<(), Stop> {
    let failed = |error: RadioError| Stop::new(Code::Failed, error.to_string());
    let (limit_packets, samples) = look(&args.phy, args.time).map_err(failed)?;
    let obeyed = judge(limit_packets, &samples);
    if args.print.json {
        let all = json!({"phy": args.phy, "limit_packets": limit_packets, "looks": samples.len(), "obeyed": obeyed});
        say(&all.to_string());
    }
    let phy = &args.phy;
    let (code, text) = match obeyed {
        Obeyed::Yes { most_packets, overflows } => {
            if !args.print.json {
                say(&format!(
                    "{phy} obeys: {overflows} times the limit of {limit_packets} packets was exceeded, at most {most_packets} waited."
                ));
            }
            return Ok(());
        }
        Obeyed::No { backlog_packets, .. } => (
            Code::Disobeys,
            format!(
                "{phy} does not obey: {backlog_packets} packets waited, its limit is {limit_packets}"
            ),
        ),
        Obeyed::NotFilled { most_packets } => (
            Code::Unknown,
            format!(
                "{phy} was not seen to obey: at most {most_packets} packets waited, and its limit of {limit_packets} was never exceeded; load it and look again"
            ),
        ),
    };
    Err(Stop::new(code, text))
}

fn look(name: &str, time: Span) -> Result<(u32, Vec<Sample>), RadioError> {
    let absent = || RadioError::Absent { kind: "phy", name: name.to_owned() };
    let mut nl80211 = Nl80211::open()?.ok_or_else(absent)?;
    let mut limit_packets = None;
    let mut samples = Vec::new();
    let began = machine::now();
    while machine::now() - began < time {
        let radios = Radios::read_by(&mut nl80211)?;
        let phy = radios.phys.into_iter().find(|phy| phy.name == name).ok_or_else(absent)?;
        let (limit, backlog_packets, overflows) = told(&phy)?;
        if *limit_packets.get_or_insert(limit) != limit {
            return Err(RadioError::Value(format!(
                "the limit of {name} became {limit} packets meanwhile; look again"
            )));
        }
        let at_ns = (machine::now() - began).as_nanos().unsigned_abs();
        samples.push(Sample { at_ns, backlog_packets, overflows });
        thread::sleep(BETWEEN);
    }
    Ok((limit_packets.ok_or_else(absent)?, samples))
}

/// The limit, and what the phy has counted.
fn told(phy: &Wiphy) -> Result<(u32, u32, u32), RadioError> {
    let unsupported = || RadioError::Unsupported {
        what: phy.name.clone(),
        setting: "counters of TXQs",
        reason: "`airqueued places` says where its queue is".to_owned(),
    };
    let limits = phy.txq_limits.ok_or_else(unsupported)?;
    let Some(TxqStatistics { backlog_packets: Some(backlog), overlimit: Some(over), .. }) = phy.txq
    else {
        return Err(unsupported());
    };
    Ok((limits.limit_packets, backlog, over))
}
