//! What makes the packets of a flow that TCP does not govern.

use super::calls::Call;
use super::error::{Result, error, wrong};
use super::file::{FlowTable, RttName, SourceName};
use airqueue_core::{DataRate, Span, Time};
use airqueue_network::wlan::RttReport;
use airqueue_transport::traffic::{Arrivals, SourceSpec};

/// IP bytes of packets, if the table does not say.
const SIZE_BYTES: u32 = 1500;

/// IP bytes of a flow's packets.
fn size_bytes(table: &FlowTable) -> u32 {
    table.size.as_ref().map_or(SIZE_BYTES, |size| size.value)
}

/// The packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets {
    /// What makes them; `None`: whoever runs the network offers them.
    pub(super) source: Option<SourceSpec>,
    /// IP bytes of the largest.
    pub(super) size_bytes: u32,
}

/// What a flow consists of.
pub(super) fn packets(key: &str, table: &FlowTable) -> Result<Packets> {
    if let (SourceName::External, None) = (table.source, mean_rate(key, table)?) {
        check_external(key, table)?;
        return Ok(Packets { source: None, size_bytes: size_bytes(table) });
    }
    let source = source(key, table)?;
    Ok(Packets { source: Some(source), size_bytes: source.size_bytes })
}

/// Its source.
fn source(key: &str, table: &FlowTable) -> Result<SourceSpec> {
    let (start, stop) = times(key, table)?;
    if let Some(call) = Call::new(key, table)? {
        check_call_keys(key, table)?;
        let (arrivals, size_bytes) = (call.arrivals(), call.size_bytes());
        return Ok(SourceSpec { arrivals, size_bytes, start, stop });
    }
    let size_bytes = size_bytes(table);
    let arrivals = match (table.source, mean_rate(key, table)?) {
        (SourceName::Saturated, None) => Arrivals::Saturated,
        (SourceName::Cbr, Some(rate)) => Arrivals::Constant(rate),
        (SourceName::Poisson, Some(rate)) => Arrivals::Poisson(rate),
        (SourceName::External, _) => {
            return wrong(key, "packets from outside come when they come; leave the rate out");
        }
        (SourceName::Saturated, Some(_)) => {
            let problem = "a saturated source has no rate; leave the rate out, or give source \
                           = \"cbr\" or \"poisson\"";
            return wrong(format_args!("{key}.source"), problem);
        }
        (SourceName::Cbr | SourceName::Poisson, None) => {
            return wrong(key, "missing key `rate`, or `packet_rate`");
        }
        (SourceName::Tcp | SourceName::Web | SourceName::Voice, _) => {
            unreachable!("neither TCP nor a call gets here")
        }
    };
    Ok(SourceSpec { arrivals, size_bytes, start, stop })
}

/// From when to when it works.
pub(super) fn times(key: &str, table: &FlowTable) -> Result<(Time, Time)> {
    let start = Time::ZERO + table.start.value;
    let stop = table.stop.as_ref().map_or(Time::MAX, |stop| Time::ZERO + stop.value);
    if stop <= start {
        let start = &table.start.text;
        let problem = format_args!("a flow must stop after its start, {start}");
        return wrong(format_args!("{key}.stop"), problem);
    }
    Ok((start, stop))
}

/// How much later it may begin.
pub(super) fn spread(key: &str, table: &FlowTable) -> Result<Span> {
    let Some(spread) = &table.start_spread else { return Ok(Span::ZERO) };
    let (start, stop) = times(key, table)?;
    if stop <= start + spread.value {
        let problem =
            format_args!("a flow must not begin after it stops; with {} it can", spread.text);
        return wrong(format_args!("{key}.start_spread"), problem);
    }
    Ok(spread.value)
}

fn mean_rate(key: &str, table: &FlowTable) -> Result<Option<DataRate>> {
    match (&table.rate, &table.packet_rate) {
        (Some(_), Some(_)) => {
            wrong(format_args!("{key}.packet_rate"), "rate is given too; leave one of them out")
        }
        (Some(rate), None) => Ok(Some(rate.value)),
        (None, Some(packets)) => {
            let bps = packets.value * 8.0 * f64::from(size_bytes(table));
            let rate = DataRate::from_bps(bps.round() as u64);
            let least = "with that size it is less than 1 b/s";
            rate.map(Some).ok_or_else(|| error(format_args!("{key}.packet_rate"), least))
        }
        (None, None) => Ok(None),
    }
}

/// What receivers say.
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

/// Nobody can say beforehand when packets come from outside.
fn check_external(key: &str, table: &FlowTable) -> Result<()> {
    times(key, table)?;
    let given = [
        ("start", table.start.value > Span::ZERO),
        ("start_spread", table.start_spread.is_some()),
        ("stop", table.stop.is_some()),
    ];
    match given.into_iter().find(|&(_, is_given)| is_given) {
        Some((name, _)) => {
            let problem = "packets from outside come when they come; leave the key out";
            wrong(format_args!("{key}.{name}"), problem)
        }
        None => Ok(()),
    }
}

/// By how much the `at`th of `count` flows of a group begins later: flows at a constant rate would else
/// all send at the same instants.
pub(super) fn offset(source: &SourceSpec, at: usize, count: usize) -> Span {
    let interval = match source.arrivals {
        Arrivals::Constant(rate) => rate.time_for(source.size_bytes),
        Arrivals::Periodic { every, .. } => every,
        _ => return Span::ZERO,
    };
    Span::from_nanos((i128::from(interval.as_nanos()) * at as i128 / count as i128) as i64)
}

/// Keys of what the codec decides.
fn check_call_keys(key: &str, table: &FlowTable) -> Result<()> {
    let given = [
        ("rate", table.rate.is_some()),
        ("packet_rate", table.packet_rate.is_some()),
        ("size", table.size.is_some()),
    ];
    match given.into_iter().find(|&(_, is_given)| is_given) {
        Some((name, _)) => {
            let problem = "the packets of a call are what its codec makes of it; leave the key out, or give source = \"cbr\"";
            wrong(format_args!("{key}.{name}"), problem)
        }
        None => Ok(()),
    }
}

/// Keys that only mean something for TCP.
pub(super) fn check_tcp_keys(key: &str, table: &FlowTable) -> Result<()> {
    let given = [
        ("tcp", table.tcp.is_some()),
        ("web", table.web.is_some()),
        ("volume", table.volume.is_some()),
        ("ack_category", table.ack_category.is_some()),
        ("rdqm", table.rdqm.is_some()),
    ];
    match given.into_iter().find(|&(_, is_given)| is_given) {
        Some((name, _)) => {
            let problem =
                "TCP does not govern the flow; leave the key out, or give source = \"tcp\"";
            wrong(format_args!("{key}.{name}"), problem)
        }
        None => Ok(()),
    }
}
