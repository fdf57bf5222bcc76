//! Whether a queue was seen to obey its limit: only then a limit counts as applied.

use serde::{Deserialize, Serialize};

/// A look at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// When, since any fixed moment, in nanoseconds.
    pub at_ns: u64,
    /// Packets that waited.
    pub backlog_packets: u32,
    /// How often the limit had been exceeded since the counter began, as the queue counts it: TXQs' `overlimit`, drops
    /// of a pfifo.
    pub overflows: u32,
}

/// What the looks at a queue say about its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "seen")]
pub enum Obeyed {
    /// The queue overflowed and never held more than its limit.
    Yes {
        /// Most packets that waited.
        most_packets: u32,
        /// How often the limit was exceeded.
        overflows: u32,
    },
    /// The queue held more than its limit: the limit does not act here.
    No {
        /// Packets that waited.
        backlog_packets: u32,
        /// When.
        at_ns: u64,
    },
    /// The queue did not overflow: nothing is known.
    NotFilled {
        /// Most packets that waited.
        most_packets: u32,
    },
}

/// Judges looks at a queue since its limit was set.
///
/// A limit that becomes smaller does not drop what already waits: packets leave, or the next arrival makes the queue
/// overflow. Looks above the limit count from the first look at which the backlog grew or was within the limit.
pub fn judge(limit_packets: u32, samples: &[Sample]) -> Obeyed {
    let drained = samples
        .windows(2)
        .position(|pair| pair[1].backlog_packets > pair[0].backlog_packets)
        .unwrap_or(samples.len());
    let within = samples.iter().position(|sample| sample.backlog_packets <= limit_packets);
    let since = samples.get(drained.min(within.unwrap_or(samples.len()))..).unwrap_or_default();
    let most = since.iter().max_by_key(|sample| sample.backlog_packets);
    match most {
        Some(most) if most.backlog_packets > limit_packets => {
            Obeyed::No { backlog_packets: most.backlog_packets, at_ns: most.at_ns }
        }
        _ => {
            let most_packets = most.map_or(0, |most| most.backlog_packets);
            match overflows(samples) {
                0 => Obeyed::NotFilled { most_packets },
                overflows => Obeyed::Yes { most_packets, overflows },
            }
        }
    }
}

/// The counters have 32 bits and wrap.
fn overflows(samples: &[Sample]) -> u32 {
    let pairs = samples.windows(2);
    pairs.fold(0, |sum, pair| sum.saturating_add(pair[1].overflows.wrapping_sub(pair[0].overflows)))
}
