//! What disciplines with a limit count: what waits in them, and how often their limit was exceeded.

use super::message::{GET_QDISC, INGRESS, NEW_QDISC, Told, request};
use crate::netlink::attributes::{self, Attributes};
use crate::netlink::{Message, Netlink, NetlinkError};
use serde::Serialize;
use std::collections::BTreeMap;

/// `TCA_STATS2`, and inside it `TCA_STATS_QUEUE` and `TCA_STATS_APP`.
const STATISTICS: u16 = 7;
const QUEUE: u16 = 3;
const APP: u16 = 4;
/// `TCA_FQ_CODEL_LIMIT`.
const FQ_CODEL_LIMIT: u16 = 2;
/// `TCA_CAKE_STATS_MEMORY_LIMIT`, and `_USED`, which is the most since cake was made, before cake dropped anything for it
/// (`cake_enqueue`).
const CAKE_LIMIT: u16 = 3;
const CAKE_MOST: u16 = 4;
/// Memory of the longest merged packet, all of whose parts cake takes in before it drops.
const CAKE_MERGED: u32 = 1 << 17;
/// `TC_H_MAJ_MASK`: the number of a discipline in that of its class.
const MAJOR: u32 = 0xffff_0000;

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
    /// How often an arrival exceeded the limit, since the discipline was made. cake tells no more than that it happened.
    pub overflows: u32,
    /// Whether `overflows` counts no further than to one.
    pub once: bool,
    /// The number of the mq above it, one of whose queues it is: packets of a flow go into one of them.
    pub mq: Option<u32>,
}

/// The disciplines with limits of the interface with this number.
pub fn of(netlink: &mut Netlink, index: u32) -> Result<Vec<Counts>, NetlinkError> {
    read(&netlink.dump(&request(GET_QDISC, 0, index, 0, 0))?, index)
}

/// The disciplines with limits of an interface, among the messages of a dump.
pub fn read(messages: &[Message], index: u32) -> Result<Vec<Counts>, NetlinkError> {
    let mut ours = Vec::new();
    for message in messages.iter().filter(|message| message.kind == NEW_QDISC) {
        let told = Told::read(message)?;
        if told.index == index && told.parent != INGRESS {
            ours.push((told, message));
        }
    }
    // Disciplines that the kernel has made by itself have no number, and nothing below them but an mq.
    let numbered = ours.iter().filter(|(told, _)| told.handle != 0 || told.kind == "mq");
    let places: BTreeMap<u32, (&str, u32)> =
        numbered.map(|(told, _)| (told.handle, (told.kind.as_str(), told.parent))).collect();
    let mut found = Vec::new();
    for (told, message) in &ours {
        let mq = mq_above(told.parent, &places);
        found.extend(one(told, message)?.map(|counts| Counts { mq, ..counts }));
    }
    Ok(found)
}

/// The number of the mq above a place. A chain that the kernel would not make may be a ring.
fn mq_above(mut parent: u32, places: &BTreeMap<u32, (&str, u32)>) -> Option<u32> {
    for _ in 0..places.len() {
        let handle = parent & MAJOR;
        let (kind, above) = places.get(&handle)?;
        if *kind == "mq" {
            return Some(handle);
        }
        parent = *above;
    }
    None
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
        "cake" => cake(&statistics).map(|(limit, over)| (Some(limit), Unit::Bytes, bytes, over)),
        _ => None,
    };
    let Some((Some(limit), unit, backlog, overflows)) = counted else { return Ok(None) };
    let handle = format!("{:x}:", told.handle >> 16);
    let (kind, parent, once) = (told.kind.clone(), told.parent, told.kind == "cake");
    Ok(Some(Counts { kind, handle, parent, limit, unit, backlog, overflows, once, mq: None }))
}

/// The limit of cake's memory, and whether packets have exceeded it. More than a merged packet above the limit was never
/// held under it: the limit was lowered since, and nothing is known of the new one.
fn cake(statistics: &Attributes<'_>) -> Option<(u32, u32)> {
    let told = statistics.inside(APP).ok()?;
    let number = |kind| u32::try_from(told.number(kind)?).ok();
    let (limit, most) = (number(CAKE_LIMIT)?, number(CAKE_MOST)?);
    let is_exceeded = most > limit && most - limit <= CAKE_MERGED;
    Some((limit, is_exceeded.into()))
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
    use super::super::message::ROOT;
    use super::*;
    use crate::netlink::attributes::Writer;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn told(kind: &str, options: &[u8], queue: &[u32], app: Option<&[u32]>) -> Option<Counts> {
        let app = app.map(words);
        let message = message(kind, (0x2_0000, 0x1_0001), options, queue, app.as_deref());
        let mut found = read(&[message], 7).unwrap();
        assert!(found.len() <= 1);
        found.pop()
    }

    fn message(
        kind: &str,
        (handle, parent): (u32, u32),
        options: &[u8],
        queue: &[u32],
        app: Option<&[u8]>,
    ) -> Message {
        let header = words(&[0, 7, handle, parent, 0]);
        let mut statistics = Writer::default().bytes(QUEUE, &words(queue));
        if let Some(app) = app {
            statistics = statistics.bytes(APP, app);
        }
        let body = Writer::after(&header).text(1, kind).bytes(2, options);
        Message { kind: NEW_QDISC, body: body.nested(STATISTICS, statistics).finish() }
    }

    #[test]
    fn cake_tells_that_its_memory_was_exceeded_by_no_more_than_a_merged_packet() {
        let told = |most: u32| {
            let app = Writer::default().u32(CAKE_LIMIT, 40_000).u32(CAKE_MOST, most).finish();
            let message = message("cake", (0x2_0000, ROOT), &[], &[3, 4500, 9, 0, 11], Some(&app));
            let found = read(&[message], 7).unwrap().remove(0);
            assert_eq!((found.limit, found.unit, found.backlog), (40_000, Unit::Bytes, 4500));
            assert!(found.once);
            found.overflows
        };
        assert_eq!([0, 40_000, 40_001, 42_304].map(told), [0, 0, 1, 1]);
        // The limit was lowered since.
        assert_eq!(told(4_000_000), 0);
        // Without the memory in its statistics cake has no limit that is told.
        let bare = message("cake", (0x2_0000, ROOT), &[], &[3, 4500, 9, 0, 11], None);
        assert_eq!(read(&[bare], 7).unwrap(), []);
    }

    #[test]
    fn queues_below_an_mq_know_it_through_shapers_and_by_the_kernels_own_numbers() {
        let queue = [0, 0, 0, 0, 0];
        let pfifo = |place| message("pfifo", place, &words(&[5]), &queue, None);
        let plain = |kind: &str, place| message(kind, place, &[], &queue, None);
        let mqs = |messages: &[Message]| {
            read(messages, 7).unwrap().iter().map(|each| each.mq).collect::<Vec<_>>()
        };
        let tree = [
            plain("mq", (0x1_0000, ROOT)),
            plain("tbf", (0x2_0000, 0x1_0001)),
            pfifo((0x3_0000, 0x2_0001)),
            pfifo((0x4_0000, 0x1_0002)),
        ];
        assert_eq!(mqs(&tree), [Some(0x1_0000); 2]);
        assert_eq!(mqs(&[plain("mq", (0, ROOT)), pfifo((0, 1)), pfifo((0, 2))]), [Some(0); 2]);
        assert_eq!(mqs(&[plain("htb", (0x1_0000, ROOT)), pfifo((0x3_0000, 0x1_0002))]), [None]);
        // A ring, which the kernel would not make.
        let ring = [plain("tbf", (0x1_0000, 0x2_0001)), plain("tbf", (0x2_0000, 0x1_0001))];
        assert_eq!(mqs(&[&ring[..], &[pfifo((0x3_0000, 0x2_0001))]].concat()), [None]);
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
