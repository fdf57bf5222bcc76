//! Trees in words.

use super::tree::{Node, Tree};
use super::{build, cake, kinds, rates, tbf};
use crate::netlink::attributes;
use std::collections::BTreeSet;

/// What fq_codel has on Ethernet unless it is told otherwise.
const USUAL_INTERVAL_MS: f64 = 100.0;
const USUAL_QUANTUM: u64 = 1514;
const USUAL_MEMORY: u64 = 32 << 20;
/// How many queues of a shaper are told one by one.
const MOST_TOLD: usize = 4;

/// What a tree is: "a FIFO of 100 packets", "the system's default (fq_codel)".
pub(super) fn of(tree: &Tree) -> String {
    match (&tree.default, tree.root()) {
        (_, None) => {
            format!("the system's default ({})", tree.default.as_deref().unwrap_or("none"))
        }
        (_, Some(root)) => {
            // What has classes holds no packets itself.
            let queue = |node: &&Node| !node.class && !kinds::has_classes(&node.kind);
            let root = match of_classes(tree).filter(|_| root.kind == "htb") {
                Some(options) => shaper("htb", options),
                None => one(root),
            };
            let below = tree.nodes[1..].iter().filter(queue);
            let below: Vec<String> =
                below.map(|node| class_rate(tree, node) + &one(node)).collect();
            match &below[..] {
                [] => root,
                [only] => format!("{root} above {only}"),
                several => {
                    let (all, told) =
                        (several.len(), several[..several.len().min(MOST_TOLD)].join("; "));
                    let rest = if all > MOST_TOLD { "; ..." } else { "" };
                    format!("{root} above {all} queues ({told}{rest})")
                }
            }
        }
    }
}

/// The modules that disciplines of a tree are in.
pub(super) fn modules(tree: &Tree) -> String {
    let kinds = tree.nodes.iter().filter(|node| !node.class).map(|node| node.kind.as_str());
    let kinds: BTreeSet<&str> = kinds.filter(|kind| !["pfifo", "bfifo"].contains(kind)).collect();
    let modules: Vec<String> = kinds.into_iter().map(|kind| format!("sch_{kind}")).collect();
    modules.join(", ")
}

/// The options of the class of htb that has all others, if they tell a rate.
fn of_classes(tree: &Tree) -> Option<&[u8]> {
    let top = tree.nodes.iter().find(|node| node.class && node.kind == "htb")?;
    top.options.as_deref().filter(|options| rates::of_class(options).is_some())
}

/// The rate of a queue's class, where there are several.
fn class_rate(tree: &Tree, queue: &Node) -> String {
    let several = tree.nodes.iter().filter(|node| node.class && node.kind == "htb").count() > 1;
    let class = tree.nodes.iter().find(|node| node.class && node.handle == queue.parent);
    let options = class.filter(|_| several).and_then(|class| class.options.as_deref());
    let found = options.and_then(rates::of_class);
    found.map_or_else(String::new, |bytes_per_s| format!("{} for ", rate(bytes_per_s)))
}

fn one(node: &Node) -> String {
    let options = node.options.as_deref().unwrap_or_default();
    let limit = || options.get(..4).and_then(attributes::number).unwrap_or_default();
    match node.kind.as_str() {
        "pfifo" if limit() == 1 => "a FIFO of 1 packet".to_owned(),
        "pfifo" => format!("a FIFO of {} packets", limit()),
        "bfifo" => format!("a FIFO of {} bytes", limit()),
        "tbf" => shaper("tbf", options),
        "fq_codel" | "codel" => format!("{}{}", node.kind, codel(options, node.kind == "fq_codel")),
        "cake" => match rates::bytes_per_s("cake", options) {
            None => format!("cake{}", bracketed(cake::unusual(options))),
            Some(bytes_per_s) => {
                format!("cake at {}{}", rate(bytes_per_s), bracketed(cake::unusual(options)))
            }
        },
        kind => kind.to_owned(),
    }
}

/// A shaper with its rate, and with its burst unless that is the usual one of a plan.
fn shaper(kind: &str, options: &[u8]) -> String {
    let found = match kind {
        "htb" => rates::of_class(options),
        _ => rates::bytes_per_s(kind, options),
    };
    let bytes_per_s = found.unwrap_or_default();
    let usual = build::with_usual_burst(bytes_per_s.saturating_mul(8)).burst();
    // The kernel tells bursts in ticks.
    let other = |bytes: &u32| bytes.abs_diff(usual) > 1 + usual / 1000;
    let burst = tbf::burst(kind, options).filter(other);
    let burst = burst.map(|bytes| format!("burst {bytes} bytes")).into_iter().collect();
    format!("{kind} at {}{}", rate(bytes_per_s), bracketed(burst))
}

/// Target and limit, where they are told, and what is not usual.
fn codel(options: &[u8], flows: bool) -> String {
    let Ok(all) = attributes::read(options) else { return String::new() };
    let ms = |us: u64| us.div_ceil(10) as f64 / 100.0;
    let target = all.number(1).map(|us| format!("target {} ms", ms(us)));
    let limit = all.number(2).map(|packets| format!("limit {packets} packets"));
    let queues = all.number(5).filter(|_| flows).map(|queues| format!("{queues} queues"));
    let interval = all.number(3).map(ms).filter(|&ms| ms != USUAL_INTERVAL_MS);
    let interval = interval.map(|ms| format!("interval {ms} ms"));
    let ecn = all.number(4).filter(|&ecn| (ecn != 0) != flows);
    let ecn = ecn.map(|ecn| if ecn == 0 { "no ECN" } else { "ECN" }.to_owned());
    let of_flows = |kind, usual| all.number(kind).filter(|&bytes| flows && bytes != usual);
    let quantum = of_flows(6, USUAL_QUANTUM).map(|bytes| format!("quantum {bytes} bytes"));
    let memory = of_flows(9, USUAL_MEMORY).map(|bytes| format!("memory {bytes} bytes"));
    let told = [target, limit, queues, interval, ecn, quantum, memory];
    bracketed(told.into_iter().flatten().collect())
}

/// What is told of a discipline, behind its name.
fn bracketed(told: Vec<String>) -> String {
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

fn rate(bytes_per_s: u64) -> String {
    match bytes_per_s.saturating_mul(8) {
        bps if bps >= 1_000_000 => format!("{} Mb/s", bps as f64 / 1e6),
        bps => format!("{} kb/s", bps as f64 / 1e3),
    }
}
