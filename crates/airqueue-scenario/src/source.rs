//! The keys of a flow that describe its packets.

use super::error::{Result, wrong};
use super::file::{Delays, FlowTable, RttName};
use super::quantity::{Duration, Quantity};
use airqueue_core::{Span, Time};
use airqueue_network::wlan::RttReport;
use airqueue_transport::traffic::{Asked, Carried, NOT_TCP, SourceSpec, SourceTables};

/// The packets of a flow without TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets {
    /// The source; `None`: packets are offered from outside.
    pub(super) source: Option<SourceSpec>,
    /// Size of the largest packets, in IP bytes.
    pub(super) size_bytes: u32,
}

/// The traffic of a flow.
pub(super) fn carried(key: &str, table: &FlowTable) -> Result<Carried> {
    if !table.source.is_over_tcp() {
        check_tcp_keys(key, table)?;
    }
    let (start, stop) = times(key, table)?;
    table.source.carried(&Asked {
        key,
        rate: table.rate.as_ref(),
        packet_rate: table.packet_rate.as_ref(),
        size: table.size.as_ref(),
        transfer_size: table.transfer_size.as_ref(),
        jitter: table.jitter.as_ref(),
        tables: SourceTables {
            web: table.web.as_deref(),
            page: table.page.as_deref(),
            video: table.video.as_deref(),
            voice: table.voice.as_deref(),
            frames: table.frames.as_deref(),
            ping: table.ping.as_deref(),
        },
        start,
        start_spread: table.start_spread.as_ref().map(|spread| spread.value),
        stop: table.stop.as_ref().map(|_| stop),
    })
}

/// The start and stop times of a flow.
pub(super) fn times(key: &str, table: &FlowTable) -> Result<(Time, Time)> {
    let start = start(table, 0);
    let stop = table.stop.as_ref().map_or(Time::MAX, |stop| Time::ZERO + stop.value);
    if let Some(start) = starts(table).iter().find(|start| stop <= Time::ZERO + start.value) {
        let problem = format_args!("a flow must stop after its start, {}", start.text);
        return wrong(format_args!("{key}.stop"), problem);
    }
    Ok((start, stop))
}

fn starts(table: &FlowTable) -> &[Quantity<Duration>] {
    match &table.start {
        Delays::All(start) => std::slice::from_ref(start),
        Delays::Each(starts) => starts,
    }
}

/// The start of flow `at` of a table.
pub(super) fn start(table: &FlowTable, at: usize) -> Time {
    let starts = starts(table);
    starts.get(at).or(starts.first()).map_or(Time::ZERO, |start| Time::ZERO + start.value)
}

/// Whether each flow of a table has a start of its own.
pub(super) fn has_own_starts(table: &FlowTable) -> bool {
    matches!(table.start, Delays::Each(_))
}

/// Checks that there is a start for each of a table's flows.
pub(super) fn check_starts(key: &str, table: &FlowTable, count: usize) -> Result<()> {
    match &table.start {
        Delays::Each(starts) if starts.len() != count => {
            let problem = format_args!(
                "found {} starts, expected one for all or one for each of {count} flows",
                starts.len()
            );
            wrong(format_args!("{key}.start"), problem)
        }
        _ => Ok(()),
    }
}

/// Largest random delay of the start.
pub(super) fn spread(key: &str, table: &FlowTable) -> Result<Span> {
    let Some(spread) = &table.start_spread else { return Ok(Span::ZERO) };
    let (_, stop) = times(key, table)?;
    let late = |start: &Quantity<Duration>| stop <= Time::ZERO + start.value + spread.value;
    if starts(table).iter().any(late) {
        let problem =
            format_args!("a flow must not begin after it stops; with {} it can", spread.text);
        return wrong(format_args!("{key}.start_spread"), problem);
    }
    Ok(spread.value)
}

/// The reports of receivers.
pub(super) fn report(key: &str, table: &FlowTable) -> Result<Option<RttReport>> {
    match (&table.rdqm_rtt, table.rdqm_rtt_kind) {
        (None, Some(_)) if table.rdqm != Some(true) => {
            let problem =
                "its receiver reports nothing without rdqm_rtt; give that too, or leave it out";
            wrong(format_args!("{key}.rdqm_rtt_kind"), problem)
        }
        (None, _) => Ok(None),
        (Some(rtt), kind) => {
            Ok(Some(RttReport { base: rtt.value, smoothed: kind == Some(RttName::Smoothed) }))
        }
    }
}

/// The start offset of flow `at` of `count` flows of a group: without offsets, flows at a constant rate would all send
/// at the same instants.
pub(super) fn offset(source: &SourceSpec, at: usize, count: usize) -> Span {
    let Some(interval) = source.period() else { return Span::ZERO };
    Span::from_nanos((i128::from(interval.as_nanos()) * at as i128 / count as i128) as i64)
}

/// Rejects keys that only TCP has.
fn check_tcp_keys(key: &str, table: &FlowTable) -> Result<()> {
    let given = [
        ("tcp", table.tcp.is_some()),
        ("transfer_size", table.transfer_size.is_some()),
        ("ack_category", table.ack_category.is_some()),
        ("rdqm", table.rdqm.is_some()),
    ];
    match given.into_iter().find(|&(_, is_given)| is_given) {
        Some((name, _)) => wrong(format_args!("{key}.{name}"), NOT_TCP),
        None => Ok(()),
    }
}
