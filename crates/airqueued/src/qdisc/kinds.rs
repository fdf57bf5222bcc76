//! What the kernel tells of each kind of discipline, and what it takes back.

use super::tbf;
use super::tree::Node;
use crate::netlink::attributes::{self, Writer};

/// Disciplines that can be put back from what the kernel tells. In tests each is set by tc, replaced and put back, and
/// tc tells the same before and after. Others may take back something else than they tell, as pie does with its times.
const KNOWN: [&str; 14] = [
    "pfifo",
    "bfifo",
    "pfifo_head_drop",
    "pfifo_fast",
    "tbf",
    "htb",
    "drr",
    "fq_codel",
    "codel",
    "cake",
    "sfq",
    "fq",
    "mq",
    "noqueue",
];

const TBF_PARMS: u16 = 1;
const HTB_PARMS: u16 = 1;
const HTB_INIT: u16 = 2;

/// Bytes of `struct tc_ratespec`.
const RATESPEC: usize = 12;

pub(super) fn known(node: &Node) -> bool {
    KNOWN.contains(&node.kind.as_str())
}

/// Whether classes of the discipline are made by its user. Other disciplines show their flows as classes.
pub(super) fn has_classes(kind: &str) -> bool {
    // hfsc, qfq and ets too; they are refused by name as disciplines.
    matches!(kind, "htb" | "drr")
}

/// Whether `now` has the options of `wanted`.
pub(super) fn holds(wanted: &Node, now: &Node) -> bool {
    let (Some(asked), told) = (&wanted.options, now.options.as_deref().unwrap_or_default()) else {
        return true;
    };
    match (wanted.kind.as_str(), wanted.class) {
        ("mq" | "noqueue" | "pfifo_fast", _) => true,
        ("pfifo" | "bfifo" | "pfifo_head_drop" | "sfq", _) => told.starts_with(asked),
        _ => {
            let (Ok(asked), Ok(told)) = (attributes::read(asked), attributes::read(told)) else {
                return false;
            };
            asked.0.iter().all(|each| {
                // The kernel takes bursts in bytes, and tells the times that they last.
                (wanted.kind == "tbf" && matches!(each.kind, tbf::BURST | tbf::PEAK_BURST))
                    || told
                        .find(each.kind)
                        .is_some_and(|told| same(wanted, each.kind, each.value, told))
            })
        }
    }
}

/// Whether an attribute has the value that was asked for.
fn same(node: &Node, attribute: u16, asked: &[u8], told: &[u8]) -> bool {
    match (node.kind.as_str(), attribute) {
        ("tbf", TBF_PARMS) | ("htb", HTB_PARMS) => {
            let rest = |bytes: &[u8]| bytes.get(2 * RATESPEC..).unwrap_or_default().to_vec();
            same_rates(asked, told) && same_words(&rest(asked), &rest(told), node.kind == "htb")
        }
        // Version, quantum divisor, default class; debugging and a count of packets follow.
        ("htb", HTB_INIT) => {
            let version = |bytes: &[u8]| {
                word(bytes, 0).map(|version| if version > 0xffff { version >> 16 } else { version })
            };
            version(asked) == version(told) && (1..3).all(|at| word(asked, at) == word(told, at))
        }
        // Whole numbers of 1024 ns, told in µs.
        ("fq_codel" | "codel", kind) if is_time(node, kind) => {
            match (word(asked, 0), word(told, 0)) {
                (Some(asked), Some(told)) => ticks_of(asked).abs_diff(ticks_of(told)) <= 1,
                _ => false,
            }
        }
        _ => asked == told,
    }
}

/// The two rates of a shaper: the rest of `struct tc_ratespec` speeds tables up that kernels no longer need.
fn same_rates(asked: &[u8], told: &[u8]) -> bool {
    [RATESPEC / 4 - 1, 2 * RATESPEC / 4 - 1]
        .iter()
        .all(|&at| word(asked, at).is_some() && word(asked, at) == word(told, at))
}

/// The words after the two rates. Of tbf: limit in bytes, burst, burst at the peak rate. Of a class of htb: burst,
/// burst at the ceiling, quantum, level, priority.
fn same_words(asked: &[u8], told: &[u8], class: bool) -> bool {
    let alike = |at: usize, close: bool| match (word(asked, at), word(told, at)) {
        // Times of a burst are rounded to 64 ns on both ways.
        (Some(asked), Some(told)) if close => asked.abs_diff(told) <= 1 + asked / 1000,
        (asked, told) => asked == told,
    };
    if class {
        alike(0, true) && alike(1, true) && alike(2, false) && alike(4, false)
    } else {
        alike(0, false) && alike(1, true) && alike(2, true)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(4 * at..4 * at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Whether the kernel changes such a node in place, to the whole of `wanted`: what `wanted` leaves out would stay.
pub(super) fn changeable(wanted: &Node, now: &Node) -> bool {
    match (wanted.kind.as_str(), wanted.class) {
        ("pfifo" | "bfifo" | "tbf", false) | ("htb" | "drr", true) => true,
        // The kernel cannot change these; they must be as they are to be.
        ("htb" | "drr", false) => holds(wanted, now),
        _ => false,
    }
}

/// Whether a change in place sends a request for the node.
pub(super) fn is_changed(node: &Node) -> bool {
    node.class || !matches!(node.kind.as_str(), "htb" | "drr")
}

/// The options in the form in which the kernel takes them.
pub(super) fn for_kernel(node: &Node) -> Option<Vec<u8>> {
    let told = node.options.as_deref()?;
    let rewrite: fn(&Node, u16, &[u8]) -> Vec<u8> = match node.kind.as_str() {
        "tbf" => return Some(tbf::for_kernel(told)),
        "htb" if !node.class => htb_version,
        "fq_codel" | "codel" => codel_time,
        _ => return Some(told.to_vec()),
    };
    let Ok(all) = attributes::read(told) else { return Some(told.to_vec()) };
    let written = all.0.iter().fold(Writer::default(), |to, each| {
        to.bytes(each.kind, &rewrite(node, each.kind, each.value))
    });
    Some(written.finish())
}

/// htb tells its whole version and takes the major one alone (`htb_init`, `htb_dump`).
fn htb_version(_: &Node, attribute: u16, value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    if let (HTB_INIT, Some(version @ 0x1_0000..)) = (attribute, word(&value, 0)) {
        value[..4].copy_from_slice(&(version >> 16).to_ne_bytes());
    }
    value
}

/// CoDel rounds times down to 1024 ns, and tells them rounded down to µs: without rounding up each reading and putting
/// back would make them a little shorter.
fn codel_time(node: &Node, attribute: u16, value: &[u8]) -> Vec<u8> {
    match word(value, 0) {
        Some(told) if is_time(node, attribute) && value.len() == 4 => {
            let ticks = u64::from(ticks_of(told));
            u32::try_from((ticks * 1024).div_ceil(1000)).unwrap_or(u32::MAX).to_ne_bytes().to_vec()
        }
        _ => value.to_vec(),
    }
}

/// The ticks of 1024 ns that are told as so many µs.
fn ticks_of(us: u32) -> u32 {
    u32::try_from((u64::from(us) * 1000).div_ceil(1024)).unwrap_or(u32::MAX)
}

/// Target, interval and the threshold of CE marks, of fq_codel and of codel.
fn is_time(node: &Node, attribute: u16) -> bool {
    match node.kind.as_str() {
        "fq_codel" => matches!(attribute, 1 | 3 | 7),
        "codel" => matches!(attribute, 1 | 3 | 5),
        _ => false,
    }
}
