//! Trees in words.

use super::tree::{Node, Tree};
use super::{cake, kinds, rates};
use crate::netlink::attributes;
use std::collections::BTreeSet;

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
            let root = match of_classes(tree) {
                Some(bytes_per_s) if root.kind == "htb" => format!("htb at {}", rate(bytes_per_s)),
                _ => one(root),
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

/// The rate of the class of htb that has all others, in bytes per second.
fn of_classes(tree: &Tree) -> Option<u64> {
    let top = tree.nodes.iter().find(|node| node.class && node.kind == "htb");
    top.and_then(|class| rates::of_class(class.options.as_deref().unwrap_or_default()))
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
        "tbf" => format!("tbf at {}", rate(rates::bytes_per_s("tbf", options).unwrap_or_default())),
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

/// Target and limit, where they are told.
fn codel(options: &[u8], flows: bool) -> String {
    let Ok(all) = attributes::read(options) else { return String::new() };
    let target = all.number(1).map(|us| format!("target {} ms", us.div_ceil(10) as f64 / 100.0));
    let limit = all.number(2).map(|packets| format!("limit {packets} packets"));
    let queues = all.number(5).filter(|_| flows).map(|queues| format!("{queues} queues"));
    bracketed([target, limit, queues].into_iter().flatten().collect())
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
