//! What disciplines with a limit count: what waits in them, and how often their limit was exceeded.

use super::message::{GET_QDISC, INGRESS, NEW_QDISC, Told, request};
use crate::netlink::attributes::{self, Attributes};
use crate::netlink::{Message, Netlink, NetlinkError};
use serde::Serialize;

/// `TCA_STATS2`, and inside it `TCA_STATS_QUEUE` and `TCA_STATS_APP`.
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
const APP: u16 = 4;
/// `TCA_FQ_CODEL_LIMIT`.
const FQ_CODEL_LIMIT: u16 = 2;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Packets, merged ones as one.
    Packets,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
        }
    }
}

/// The counters of a discipline with a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Its name in tc.
    pub kind: String,
    /// Its number, as in tc.
    pub handle: String,
    /// What it is below, as the kernel has it: with the number it says which queue this is.
    pub parent: u32,
    /// Its limit.
    pub limit: u32,
    /// What the limit counts.
    pub unit: Unit,
    /// What waits, in the limit's unit.
    pub backlog: u32,
    /// How often an arrival exceeded the limit, since the discipline was made.
    pub overflows: u32,
}

/// The disciplines with limits of the interface with this number.
pub fn of(netlink: &mut Netlink, index: u32) -> Result<Vec<Counts>, NetlinkError> {
    let messages = netlink.dump(&request(GET_QDISC, 0, index, 0, 0))?;
    let ours = messages.iter().filter(|message| message.kind == NEW_QDISC);
    let mut found = Vec::new();
    for message in ours {
        let told = Told::read(message)?;
        if told.index == index && told.parent != INGRESS {
            found.extend(one(&told, message)?);
        }
    }
    Ok(found)
}

/// None for disciplines without a limit, or whose overflows are not counted apart from other drops.
fn one(told: &Told, message: &Message) -> Result<Option<Counts>, NetlinkError> {
    let statistics = Told::attributes(message)?.inside(STATISTICS)?;
    let queue = statistics.find(QUEUE).unwrap_or_default();
    // `struct gnet_stats_queue`: packets, bytes, drops.
    let (Some(packets), Some(bytes), Some(drops)) =
        (word(queue, 0), word(queue, 1), word(queue, 2))
    else {
        return Ok(None);
    };
    let options = told.options.as_deref().unwrap_or_default();
    let counted = match told.kind.as_str() {
        "pfifo" | "pfifo_head_drop" => Some((word(options, 0), Unit::Packets, packets, drops)),
        "bfifo" => Some((word(options, 0), Unit::Bytes, bytes, drops)),
        // CoDel's drops are not those of the limit.
        "fq_codel" => overlimit(&statistics)
            .map(|over| (fq_codel_limit(options), Unit::Packets, packets, over)),
        _ => None,
    };
    let Some((Some(limit), unit, backlog, overflows)) = counted else { return Ok(None) };
    let handle = format!("{:x}:", told.handle >> 16);
    let (kind, parent) = (told.kind.clone(), told.parent);
    Ok(Some(Counts { kind, handle, parent, limit, unit, backlog, overflows }))
}

fn fq_codel_limit(options: &[u8]) -> Option<u32> {
    attributes::read(options).ok()?.number(FQ_CODEL_LIMIT)?.try_into().ok()
}

/// `struct tc_fq_codel_xstats`: the type, the largest packet, drops because of the limit.
fn overlimit(statistics: &Attributes<'_>) -> Option<u32> {
    let app = statistics.find(APP)?;
    (word(app, 0)? == 0).then(|| word(app, 2))?
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(4 * at..4 * at + 4)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attributes::Writer;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn told(kind: &str, options: &[u8], queue: &[u32], app: Option<&[u32]>) -> Option<Counts> {
        let header = words(&[0, 7, 0x2_0000, 0x1_0001, 0]);
        let mut statistics = Writer::default().bytes(QUEUE, &words(queue));
        if let Some(app) = app {
            statistics = statistics.bytes(APP, &words(app));
        }
        let body = Writer::after(&header).text(1, kind).bytes(2, options);
        let message =
            Message { kind: NEW_QDISC, body: body.nested(STATISTICS, statistics).finish() };
        one(&Told::read(&message).unwrap(), &message).unwrap()
    }

    #[test]
    fn limits_backlogs_and_overflows_are_in_one_unit() {
        let queue = [3, 4500, 9, 0, 11];
        let seen = |counts: Option<Counts>| {
            counts.map(|each| (each.handle, each.limit, each.unit, each.backlog, each.overflows))
        };
        let handle = || "2:".to_owned();
        let pfifo = told("pfifo", &words(&[20]), &queue, None);
        assert_eq!(seen(pfifo), Some((handle(), 20, Unit::Packets, 3, 9)));
        let bfifo = told("bfifo", &words(&[32_000]), &queue, None);
        assert_eq!(seen(bfifo), Some((handle(), 32_000, Unit::Bytes, 4500, 9)));
        // Of nine drops two are because of the limit.
        let options = Writer::default().bytes(FQ_CODEL_LIMIT, &words(&[100])).finish();
        let fq_codel = told("fq_codel", &options, &queue, Some(&[0, 1514, 2]));
        assert_eq!(seen(fq_codel), Some((handle(), 100, Unit::Packets, 3, 2)));
    }

    #[test]
    fn what_has_no_limit_or_is_cut_short_is_left_out() {
        assert_eq!(told("htb", &[], &[1, 2, 3, 0, 0], None), None);
        assert_eq!(told("pfifo", &words(&[20]), &[1, 2], None), None);
        assert_eq!(told("pfifo", &[1], &[1, 2, 3, 0, 0], None), None);
        // A class of fq_codel has other statistics, of type 1.
        assert_eq!(told("fq_codel", &[], &[1, 2, 3, 0, 0], Some(&[1, 0, 5])), None);
    }
}
