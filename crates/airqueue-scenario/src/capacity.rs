//! Checks that queues have room for what they must hold.

use super::error::{Result, wrong};
use airqueue_core::Limit;
use airqueue_network::wlan::HopSpec;
use airqueue_qdisc::{QueuePer, QueueSpec};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;
use std::collections::HashMap;

/// Packets and bytes that saturated flows keep in queues, or in the queues of links.
pub(super) type SaturatedBacklog =
    HashMap<(StationId, AccessCategory, Option<StationId>), (u64, u64)>;

/// Checks that a queue has room for the hop's largest packet, and for one packet of each saturated flow that begins
/// there. The queue belongs to the station `name`; `saturated`: a saturated flow begins with the hop.
pub(super) fn check_capacity(
    key: &str,
    name: &str,
    queue: &QueueSpec,
    hop: &HopSpec,
    saturated: bool,
    kept: &mut SaturatedBacklog,
) -> Result<()> {
    let size = u64::from(hop.size_bytes) + u64::from(queue.link_layer_bytes);
    // Where flows or links are separated, the limit applies to each of them.
    let facts = queue.discipline.facts();
    let apart = facts.apart;
    let to = apart.map(|_| hop.to);
    let shared = kept.entry((hop.from, hop.ac, to)).or_default();
    let mut own = (0, 0);
    let by_flow = apart == Some(QueuePer::Flow);
    let (packets, bytes) = if by_flow { &mut own } else { shared };
    if saturated {
        if facts.refuses_for_ever {
            let word = queue.discipline.name().word();
            let problem = format_args!(
                "the queue of {name:?} has the discipline {word:?}, and what it drops of a saturated \
                 flow would be offered again at once; give the source a rate"
            );
            return wrong(format_args!("{key}.source"), problem);
        }
        *packets += 1;
        *bytes += size;
    }
    for limit in queue.room() {
        let (needed, most, unit) = match limit {
            Limit::Packets(most) => (*packets, u64::from(most), "packets"),
            Limit::Bytes(most) => (size.max(*bytes), most, "B"),
        };
        if needed > most {
            let problem = format_args!(
                "the queue of {name:?} holds {most} {unit}, but its flows need room for {needed}: a \
                 packet, and one of each saturated flow"
            );
            return wrong(key, problem);
        }
    }
    Ok(())
}
