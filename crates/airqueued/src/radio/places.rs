//! `airqueued places`: where the queue of each interface is, what limits it there, and what it is now.

use crate::radio::error::RadioError;
use crate::radio::ethtool::TxRing;
use crate::radio::facts::{self, Known};
use crate::radio::txq::TxqLimits;
use airqueue_control::places::{Facts, Placed, Row, place};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// An interface and the place of its queue.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// What was found out.
    #[serde(flatten)]
    facts: Facts,
    /// The place, how it is known, and notes.
    #[serde(flatten)]
    placed: Placed,
    /// What holds for this place.
    row: &'static Row,
    /// Limits of the phy's TXQs at present.
    txq_limits: Option<TxqLimits>,
    /// The driver's ring at present.
    ring: Option<TxRing>,
}

/// Finds the place of every interface's queue.
pub fn reports() -> Result<Vec<Report>, RadioError> {
    Ok(facts::read()?.into_iter().map(report).collect())
}

fn report(known: Known) -> Report {
    let placed = place(&known.facts);
    Report {
        row: placed.place.row(),
        placed,
        txq_limits: known.phy.and_then(|phy| phy.txq_limits),
        ring: known.ring,
        facts: known.facts,
    }
}

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { facts, placed, row, .. } = self;
        writeln!(out, "{}: {}", facts.interface, placed.because)?;
        writeln!(out, "    limited by  {}", row.mechanism)?;
        writeln!(out, "    for         {}", row.granularity)?;
        writeln!(out, "    costs       {}", row.cost)?;
        writeln!(out, "    cannot hold {}", row.cannot)?;
        if let Some(now) = self.txq_limits {
            let TxqLimits { limit_packets, memory_limit_bytes, quantum_bytes } = now;
            writeln!(
                out,
                "    now         {limit_packets} packets, {memory_limit_bytes} bytes, quantum {quantum_bytes} bytes"
            )?;
        }
        if let Some(TxRing { packets, most_packets }) = self.ring {
            writeln!(out, "    ring        {packets} packets of at most {most_packets}")?;
        }
        for note in &placed.notes {
            writeln!(out, "    note        {note}")?;
        }
        Ok(())
    }
}
