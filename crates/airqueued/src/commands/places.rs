//! `places`: where the queue of each interface is, what limits it there, and what it is now.

use super::args::PrintArgs;
use super::{Code, Stop, show};
use crate::radio::ethtool::TxRing;
use crate::radio::facts::{self, Known};
use crate::radio::txq::TxqLimits;
use airqueue_control::places::{Facts, Placed, Row, place};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// An interface and the place of its queue.
#[derive(Debug, Serialize)]
struct Report {
    /// What was found out.
    #[serde(flatten)]
    facts: Facts,
    /// The place, how it is known, and notes.
    #[serde(flatten)]
    placed: Placed,
    /// What holds for this place.
    holds: Row,
    /// Limits of the phy's TXQs at present.
    txq_limits: Option<TxqLimits>,
    /// The driver's ring at present.
    ring: Option<TxRing>,
}

pub(super) fn run(args: &PrintArgs) -> Result<(), Stop> {
    let known = facts::read().map_err(|error| Stop::new(Code::Failed, error.to_string()))?;
    let reports: Vec<Report> = known.into_iter().map(report).collect();
    if args.json {
        return show(&serde_json::to_string(&reports).expect("a report is JSON"));
    }
    if reports.is_empty() {
        show("There is no interface besides the loopback in this network namespace.")?;
    }
    for report in reports {
        show(report.to_string().trim_end())?;
    }
    Ok(())
}

fn report(known: Known) -> Report {
    let placed = place(&known.facts);
    Report {
        holds: *placed.place.row(),
        placed,
        txq_limits: known.phy.and_then(|phy| phy.txq_limits),
        ring: known.ring,
        facts: known.facts,
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { facts, placed, holds, .. } = self;
        writeln!(out, "{}: {}", facts.interface, placed.because)?;
        writeln!(out, "  limited by   {}", holds.mechanism)?;
        writeln!(out, "  for          {}", holds.granularity)?;
        writeln!(out, "  costs        {}", holds.cost)?;
        writeln!(out, "  cannot hold  {}", holds.cannot)?;
        if let Some(now) = self.txq_limits {
            writeln!(out, "  now          {now}")?;
        }
        if let Some(TxRing { packets, most_packets }) = self.ring {
            writeln!(out, "  ring         {packets} packets of at most {most_packets}")?;
        }
        for note in &placed.notes {
            writeln!(out, "  note         {note}")?;
        }
        Ok(())
    }
}
