//! Which limits a place can hold.

use super::{Facts, Place, place};
use crate::plan::Queue;
use serde::Serialize;

/// Most packets that an overflow of mac80211's queues drops at once (`fq_flow_drop`).
pub const MOST_DROPPED_AT_ONCE: u32 = 32;
/// Smallest limit for TXQs: below it an overflow drops half of a queue, above it at most 32 packets of more.
pub const FEWEST_IN_TXQS: u32 = 2 * MOST_DROPPED_AT_ONCE;

/// What holds a limit on every interface.
const SHAPE: &str = "shape below the rate of the air and limit the queue below the shaper";

/// Packets that wait while more arrive than leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Just after an overflow, if one flow has all that waits.
    pub fewest_packets: u32,
    /// Just before it.
    pub most_packets: u32,
}

/// Why a limit is refused at a place, and what would hold it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{interface} cannot hold {asked}: {reason}; {instead}")]
pub struct Refused {
    /// The interface or phy.
    pub interface: String,
    /// What was asked for.
    pub asked: String,
    /// What stands against it.
    pub reason: String,
    /// What to do.
    pub instead: &'static str,
}

/// Packets that an overflow of mac80211's queues drops if a single flow has all of `waiting` packets: half of them, at
/// most 32, at least one (`fq_flow_drop`, `include/net/fq_impl.h`).
pub fn dropped_at_once(waiting: u32) -> u32 {
    (waiting / 2).clamp(1, MOST_DROPPED_AT_ONCE)
}

/// The queue that a limit results in, or why the place cannot hold the limit.
pub fn holds(interface: &str, place: Place, limit_packets: u32) -> Result<Standing, Refused> {
    let refuse = |reason: String, instead| {
        let asked = format!("a limit of {limit_packets} packets");
        Err(Refused { interface: interface.to_owned(), asked, reason, instead })
    };
    match place {
        Place::Txqs if limit_packets < FEWEST_IN_TXQS => {
            let standing = in_txqs(limit_packets);
            refuse(
                format!(
                    "mac80211 drops half of the fattest flow when it overflows, so that {} to {} packets of all \
                     stations would wait",
                    standing.fewest_packets, standing.most_packets
                ),
                "give a limit of 64 or more, or shape below the rate of the air and limit the queue below the shaper",
            )
        }
        Place::Txqs => Ok(in_txqs(limit_packets)),
        Place::BeforeTxqs | Place::Shaper | Place::Wired if limit_packets > 0 => {
            Ok(Standing { fewest_packets: limit_packets, most_packets: limit_packets })
        }
        Place::BeforeTxqs | Place::Shaper | Place::Wired => {
            refuse("a queue of no packets sends nothing".to_owned(), "give a limit of 1 or more")
        }
        Place::Firmware | Place::Unknown => refuse(place.row().mechanism.to_owned(), SHAPE),
        Place::Nowhere => refuse(
            place.row().mechanism.to_owned(),
            "set it where the path is slowest, or shape here",
        ),
    }
}

fn in_txqs(limit_packets: u32) -> Standing {
    let waiting = limit_packets.saturating_add(1);
    Standing { fewest_packets: waiting - dropped_at_once(waiting), most_packets: limit_packets }
}

fn stays_empty(because: &str) -> String {
    format!(
        "no packet will wait in this queue: {because}; shape here, or set the queue where the path is slowest"
    )
}

/// Refuses a queue at the root of a wireless interface in which no packet would wait. Of other interfaces it returns why none
/// will: there the queue may still be asked for, as the owner of the machine knows more of its virtual devices.
pub fn holds_queue(facts: &Facts, queue: &Queue) -> Result<Option<String>, Refused> {
    let (qdisc, shaped_bps) = match queue {
        Queue::Fifo(_) => ("pfifo", None),
        Queue::FqCodel(_) => ("fq_codel", None),
        Queue::Cake(cake) => ("cake", cake.rate_bps),
        Queue::Shaped(_) | Queue::Shared(_) => ("htb", None),
    };
    let then = Facts { qdisc: Some(qdisc.to_owned()), shaped_bps, ..facts.clone() };
    let placed = place(&then);
    let instead = match placed.place {
        Place::Txqs => {
            "set the limit of the phy's TXQs, or shape below the rate of the air and limit the queue below the shaper"
        }
        Place::Firmware | Place::Unknown => SHAPE,
        Place::Nowhere => return Ok(Some(stays_empty(&placed.because))),
        // Whether a device has a queue of its own shows while nobody has given it one.
        Place::Wired if facts.qdisc.as_deref() == Some("noqueue") => {
            return Ok(Some(stays_empty(&place(facts).because)));
        }
        Place::BeforeTxqs | Place::Shaper | Place::Wired => return Ok(None),
    };
    Err(Refused {
        interface: facts.interface.clone(),
        asked: format!("a queue in {qdisc}"),
        reason: format!("{}, so that it would stay empty", placed.because),
        instead,
    })
}
