//! The keys of a scenario for buffers shared by the nodes of a collision domain.

use super::error::{Result, wrong};
use super::file::{
    AllocationName, BuffersTable, CarryingName, DeciderName, DomainsName, File, LimitedName,
    RoundingName, SourceQueueName,
};
use super::quantity::{Duration, Quantity};
use super::stations::Stations;
use airqueue_core::Span;
use airqueue_qdisc::queue::offered;
use schemars::JsonSchema;
use serde::Serialize;

/// How the runner of a network is to set the limits of queues during the run.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct Buffers {
    /// Who computes the limits.
    pub(super) decided_by: DeciderName,
    /// The collision domain that limits a flow.
    domains: DomainsName,
    /// The rate in B = round-trip time · rate.
    carrying: CarryingName,
    /// How B is divided among the nodes.
    allocation: AllocationName,
    /// How buffers are rounded to whole packets.
    rounding: RoundingName,
    /// The queues whose limits are set.
    queues: LimitedName,
    /// The limit at the source of a flow.
    source: SourceQueueName,
    /// Time between two samples of the network.
    look_s: f64,
    /// Longest time between two computations of the limits.
    every_s: f64,
    /// How long a raised limit is kept.
    hold_s: f64,
    /// Least change of any limit for which the limits are set anew.
    change_packets: u64,
}

/// Shortest time between two samples: a sample takes as much work as a hundred packets.
const LEAST_LOOK: Span = Span::from_millis(10);

impl Buffers {
    /// The buffer settings of the file, if the file has any.
    pub(super) fn new(file: &File, stations: &Stations) -> Result<Option<Buffers>> {
        let Some(table) = &file.buffers else { return Ok(None) };
        let BuffersTable { domains, carrying, allocation, rounding, limit_per, source, .. } =
            **table;
        let costed = matches!(
            allocation,
            AllocationName::Optimum | AllocationName::Airtime | AllocationName::AirtimePath
        );
        if matches!(rounding, RoundingName::Best) && !costed {
            let problem = "it is for the allocations that minimise a cost, optimum, airtime and airtime-path; \
                           give \"nearest\" or \"largest-remainder\"";
            return wrong("buffers.rounding", problem);
        }
        if table.sample_interval.value < LEAST_LOOK {
            let problem =
                format_args!("found {}, expected at least 10 ms", table.sample_interval.text);
            return wrong("buffers.sample_interval", problem);
        }
        if table.min_change.value == 0 {
            return wrong("buffers.min_change", "found 0 packets, expected at least 1 packet");
        }
        check_decider(table)?;
        let mut queues_of_all = stations.specs.iter().flat_map(|station| &station.queues);
        let apart = queues_of_all.all(|queue| queue.discipline.facts().apart.is_some());
        if limit_per == LimitedName::Flow && !apart {
            let problem = format_args!(
                "flows have limits of their own where queues are apart; give discipline = {} to the queues of all \
                 stations, or buffers.limit_per = \"node\"",
                offered(|facts| facts.apart.is_some())
            );
            return wrong("buffers.limit_per", problem);
        }
        let seconds = |time: &Quantity<Duration>| time.value.as_secs_f64();
        Ok(Some(Buffers {
            decided_by: table.decided_by,
            domains,
            carrying,
            allocation,
            rounding,
            queues: limit_per,
            source,
            look_s: seconds(&table.sample_interval),
            every_s: seconds(&table.refresh_interval).max(seconds(&table.sample_interval)),
            hold_s: seconds(&table.hold_time),
            change_packets: u64::from(table.min_change.value),
        }))
    }
}

/// Routers compute what the MESH paper prints; the rest is the observer's.
fn check_decider(table: &BuffersTable) -> Result<()> {
    if table.decided_by == DeciderName::Observer {
        return Ok(());
    }
    let kept = [
        (table.carrying == CarryingName::LinkRates, "carrying", "\"link-rates\""),
        (table.allocation == AllocationName::Ratio, "allocation", "\"ratio\""),
        (table.rounding == RoundingName::Nearest, "rounding", "\"nearest\""),
        (table.source == SourceQueueName::First, "source", "\"first\""),
        (table.min_change.value == 1, "min_change", "\"1 packets\""),
    ];
    match kept.iter().find(|(holds, ..)| !holds) {
        Some((_, key, value)) => wrong(
            format_args!("buffers.{key}"),
            format_args!(
                "with decided_by = \"routers\" it is {value}; leave it out, or decided_by"
            ),
        ),
        None => Ok(()),
    }
}
