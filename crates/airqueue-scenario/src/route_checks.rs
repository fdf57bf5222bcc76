//! Checks of the route of a flow, and of the keys that depend on the route.

use super::error::{Result, error, wrong};
use super::file::FlowTable;
use super::flows::{FlowDraft, Flows};
use super::nodes::Leg;
use super::source::Packets;
use airqueue_core::{Limit, Seed, Span, Time};
use airqueue_network::network::WireSpec;
use airqueue_transport::tcp::TcpSpec;
use airqueue_transport::traffic::{Arrivals, Source, SourceError, SourceName, SourceSpec};

/// Rejects keys about the air for a route without a hop over the air.
pub(super) fn check_air_keys(flows: &Flows<'_>, draft: &FlowDraft<'_>, legs: &[Leg]) -> Result<()> {
    let &FlowDraft { key, table, to, .. } = draft;
    let reports = [("rdqm", table.rdqm == Some(true)), ("rdqm_rtt", table.rdqm_rtt.is_some())];
    if !matches!(legs.last(), Some(Leg::Air(..)))
        && let Some((name, _)) = reports.into_iter().find(|&(_, given)| given)
    {
        let to = flows.nodes.name(to);
        let problem = format_args!("{to:?} has no radio for reports; leave it out");
        return wrong(format_args!("{key}.{name}"), problem);
    }
    let given = [
        ("category", table.category.is_some()),
        ("ack_category", table.ack_category.is_some()),
        ("phy_rate", table.phy_rate.is_some()),
        ("rate_control", table.rate_control.is_some()),
    ];
    if legs.iter().all(|part| matches!(part, Leg::Wire(_)))
        && let Some((name, _)) = given.into_iter().find(|&(_, given)| given)
    {
        let problem =
            "the flow takes wired links only, and nothing goes over the air; leave the key out";
        return wrong(format_args!("{key}.{name}"), problem);
    }
    check_categories(flows, draft, legs)
}

/// Rejects keys that packets to all stations cannot have.
pub(super) fn check_to_all(key: &str, table: &FlowTable) -> Result<()> {
    let problem = match table.source {
        source if source.is_over_tcp() => Some("TCP has one receiver; give a source of packets"),
        SourceName::External => Some("packets from outside have one receiver each"),
        SourceName::Voice => Some("a call has one listener"),
        _ => None,
    };
    if let Some(problem) = problem {
        return wrong(format_args!("{key}.source"), problem);
    }
    let given = [
        ("via", table.via.is_some()),
        ("rate_control", table.rate_control.is_some()),
        ("rdqm_rtt", table.rdqm_rtt.is_some()),
    ];
    match given.into_iter().find(|&(_, given)| given) {
        Some((name, _)) => {
            let problem = "packets to all stations have no receiver that answers; leave it out";
            wrong(format_args!("{key}.{name}"), problem)
        }
        None => Ok(()),
    }
}

/// Checks that a station on the route has the queue that a category names.
fn check_categories(flows: &Flows<'_>, draft: &FlowDraft<'_>, legs: &[Leg]) -> Result<()> {
    let &FlowDraft { key, table, .. } = draft;
    let radio_hops = legs.iter().filter_map(|part| match *part {
        Leg::Wire(_) => None,
        Leg::Air(from, to) => Some((from, to)),
    });
    let (mut senders, answerers): (Vec<usize>, Vec<usize>) = radio_hops.unzip();
    if table.source.is_over_tcp() && table.ack_category.is_none() {
        senders.extend_from_slice(&answerers);
    }
    let categories =
        [("category", table.category, senders), ("ack_category", table.ack_category, answerers)];
    for (name, given, stations) in categories {
        if given.is_some()
            && !stations.iter().any(|&id| flows.radio_hops.stations.has_categories(id))
        {
            let station = stations.first().map_or("", |&id| flows.nodes.name(id));
            let problem = format_args!(
                "{station:?} has DCF and no access categories; leave the key out, or give it access \
                 = \"edca\""
            );
            return wrong(format_args!("{key}.{name}"), problem);
        }
    }
    Ok(())
}

/// Checks that something limits the pace of TCP: otherwise a window that opens with every acknowledgement would grow
/// without end while hardly any time passes.
pub(super) fn check_pace(
    flows: &Flows<'_>,
    draft: &FlowDraft<'_>,
    legs: &[Leg],
    tcp: &TcpSpec,
) -> Result<()> {
    let mut delay = Span::ZERO;
    for part in legs {
        let &Leg::Wire(wire) = part else { return Ok(()) };
        // Both directions of a wired link are equal.
        let WireSpec { rate, delay: one_way, .. } = flows.nodes.wires[wire.index()];
        if rate.is_some() {
            return Ok(());
        }
        delay = delay + one_way;
    }
    let problem = if delay == Span::ZERO {
        "takes no time; give a wired link a rate, or a delay and TCP a window"
    } else if tcp.sender.window_segments == u32::MAX {
        "has no rate, and TCP would send ever faster; give a wired link a rate, or TCP a window"
    } else {
        return Ok(());
    };
    let (from, to) = (flows.nodes.name(draft.from), flows.nodes.name(draft.to));
    wrong(
        format_args!("{}.source", draft.key),
        format_args!("the route from {from:?} to {to:?} {problem}"),
    )
}

/// Checks that the source is valid, regardless of the limits on its packets.
pub(super) fn check_source(key: &str, packets: &Packets) -> Result<()> {
    let any = SourceSpec {
        arrivals: Arrivals::Saturated,
        size_bytes: packets.size_bytes,
        start: Time::ZERO,
        stop: Time::MAX,
    };
    let source = packets.source.unwrap_or(any);
    Source::new(source, Seed(0).stream("")).map(drop).map_err(|problem| match problem {
        SourceError::Size(_) => error(format_args!("{key}.size"), problem),
        _ => error(key, problem),
    })
}

/// Checks that a packet fits through a wired link with this MTU, and into the queue in front of the link.
pub(super) fn check_wire(
    key: &str,
    wire: &WireSpec,
    mtu: Option<u32>,
    size_bytes: u32,
) -> Result<()> {
    if let Some(mtu) = mtu.filter(|&mtu| size_bytes > mtu) {
        let problem = format_args!(
            "the wired link {:?} carries packets of at most {mtu} B, and the flow has packets of {size_bytes} B; \
             give a smaller size",
            wire.name
        );
        return wrong(format_args!("{key}.size"), problem);
    }
    let Some(queue) = &wire.queue else { return Ok(()) };
    let needed = u64::from(size_bytes) + u64::from(queue.link_layer_bytes);
    for limit in queue.room() {
        if let Limit::Bytes(most) = limit
            && needed > most
        {
            let problem = format_args!(
                "the queue of the wired link {:?} holds {most} B, but a packet needs room for {needed}",
                wire.name
            );
            return wrong(key, problem);
        }
    }
    Ok(())
}
