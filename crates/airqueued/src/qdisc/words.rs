//! Trees in words.

use super::tree::{Node, Tree};
use super::{kinds, rates};
use crate::netlink::attributes;

/// What a tree is: "a FIFO of 100 packets", "the system's default (fq_codel)".
pub(super) fn of(tree: &Tree) -> String {
    match (&tree.default, tree.root()) {
        (_, None) => {
            format!("the system's default ({})", tree.default.as_deref().unwrap_or("none"))
        }
        (_, Some(root)) => {
            // What has classes holds no packets itself.
            let queue = |node: &&Node| !node.class && !kinds::has_classes(&node.kind);
            let below: Vec<String> = tree.nodes[1..].iter().filter(queue).map(one).collect();
            match &below[..] {
                [] => one(root),
                [only] => format!("{} above {only}", one(root)),
                several => {
                    format!("{} above {} queues ({}, ...)", one(root), several.len(), several[0])
                }
            }
        }
    }
}

fn one(node: &Node) -> String {
    let options = node.options.as_deref().unwrap_or_default();
    let limit = || options.get(..4).and_then(attributes::number).unwrap_or_default();
    match node.kind.as_str() {
        "pfifo" => format!("a FIFO of {} packets", limit()),
        "bfifo" => format!("a FIFO of {} bytes", limit()),
        "tbf" => format!("tbf at {}", rate(rates::bytes_per_s("tbf", options).unwrap_or_default())),
        "fq_codel" | "codel" => format!("{}{}", node.kind, codel(options, node.kind == "fq_codel")),
        "cake" => match rates::bytes_per_s("cake", options) {
            None => "cake".to_owned(),
            Some(bytes_per_s) => format!("cake at {}", rate(bytes_per_s)),
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
    let told: Vec<String> = [target, limit, queues].into_iter().flatten().collect();
    if told.is_empty() { String::new() } else { format!(" ({})", told.join(", ")) }
}

fn rate(bytes_per_s: u64) -> String {
    match bytes_per_s.saturating_mul(8) {
        bps if bps >= 1_000_000 => format!("{} Mb/s", bps as f64 / 1e6),
        bps => format!("{} kb/s", bps as f64 / 1e3),
    }
}
