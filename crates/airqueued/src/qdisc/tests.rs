use super::build::Interface;
use super::message::ROOT;
use super::tree::{Node, Tree, ordered};
use super::{build, kinds, words};
use crate::netlink::Message;
use crate::netlink::attributes::{self, Writer};
use airqueue_control::plan::{Plan, Queue, Set};
use proptest::prelude::*;
use serde_json::{Value, json};

const ETHERNET: Interface = Interface { index: 3, mtu: Some(1500) };

fn queue(queue: Value) -> Queue {
    let set = json!({"queue": {"interface": "va", "queue": queue}});
    let plan = json!({"plan": 1, "made_by": "a test", "settings": [{"why": "a test", "set": set}]});
    let Set::Queue(of) = Plan::read(&plan.to_string()).unwrap().settings.remove(0).set else {
        panic!("a queue is no queue")
    };
    of.queue
}

fn shared(packets: u32) -> Queue {
    queue(json!({"shared": {"handle": 5, "rate_bps": 80_000_000, "other": 3, "classes": [
        {"id": 2, "rate_bps": 8_000_000, "queue": {"limit_packets": packets}},
        {"id": 3, "rate_bps": 16_000_000, "queue": {"limit_packets": 7}}]}}))
}

fn node(kind: &str, class: bool, options: Option<Vec<u8>>) -> Node {
    Node { class, kind: kind.into(), handle: 1 << 16, parent: ROOT, options }
}

/// µs as the kernel tells them: `codel_time_to_us` of `(us * NSEC_PER_USEC) >> CODEL_SHIFT`.
fn kernels_time(us: u32) -> u32 {
    (((u64::from(us) * 1000) >> 10) * 1024 / 1000) as u32
}

fn target(us: u32) -> Node {
    node("fq_codel", false, Some(Writer::default().u32(1, us).finish()))
}

fn target_of(options: &[u8]) -> u32 {
    attributes::read(options).unwrap().number(1).unwrap() as u32
}

#[test]
fn a_tree_that_is_asked_for_holds_itself_and_no_other() {
    let kinds = [
        queue(json!({"fifo": {"limit_packets": 30}})),
        queue(json!({"fifo": {"limit_bytes": 30_000}})),
        queue(json!({"fq_codel": {"target_us": 7000}})),
        queue(json!({"fq_codel": {"target_us": 9000}})),
        queue(json!({"cake": {"rate_bps": 8_000_000}})),
        queue(json!({"shaped": {"rate_bps": 8_000_000, "below": {"fifo": {"limit_packets": 9}}}})),
        queue(json!({"shaped": {"rate_bps": 16_000_000, "below": {"fifo": {"limit_packets": 9}}}})),
        queue(
            json!({"shaped": {"by": "htb", "rate_bps": 8_000_000, "below": {"fifo": {"limit_packets": 9}}}}),
        ),
        shared(10),
        shared(11),
    ];
    for (first, one) in kinds.iter().enumerate() {
        for (second, other) in kinds.iter().enumerate() {
            let (one, other) = (build::tree(one, ETHERNET, &[]), build::tree(other, ETHERNET, &[]));
            assert_eq!(one.holds(&other), first == second, "{one:?} and {other:?}");
        }
    }
}

#[test]
fn limits_of_classes_change_in_place_and_their_number_does_not() {
    let before = build::tree(&shared(10), ETHERNET, &[]);
    let other = build::tree(&queue(json!({"fifo": {"limit_packets": 30}})), ETHERNET, &[]);
    let after = build::tree(&shared(20), ETHERNET, &[&other]).renumbered(&before).unwrap();
    assert!(after.in_place(&before));
    // The token bucket, three classes and their two queues; htb itself cannot be changed.
    assert_eq!(after.requests(&before).len(), 6);
    assert!(other.clone().renumbered(&before).is_none());
    assert!(!other.in_place(&before));
}

/// tbf takes apart what is longer than its buckets, and drops what it cannot take apart.
#[test]
fn a_bucket_holds_the_longest_packet_and_no_two() {
    let fifo = json!({"shaped": {"rate_bps": 800_000, "below": {"fifo": {"limit_packets": 9}}}});
    let peak = |tree: &Tree| {
        let root = tree.root().unwrap();
        assert_eq!(root.kind, "tbf");
        let options = attributes::read(root.options.as_ref().unwrap()).unwrap();
        (options.number(6).unwrap(), options.number(7))
    };
    for mtu in [576, 1500, 2304, 9000, 65_535] {
        let interface = Interface { index: 3, mtu: Some(mtu) };
        for tree in [queue(fifo.clone()), shared(10)].map(|q| build::tree(&q, interface, &[])) {
            let (burst, longest) = (peak(&tree).0, u64::from(mtu) + 18);
            // The kernel tells it in steps of 128 bytes, perhaps one less than it was given.
            let second = peak(&tree).1.unwrap();
            assert!(second % 128 == 0 && second - 128 >= longest && burst >= longest, "{mtu}");
            assert!(second < longest + 2 * 128 || mtu == 576, "{mtu}: {second}");
        }
    }
    // Queues that count bytes, or packets by themselves, get them as they come; and so does what has no frames.
    for below in [json!({"fifo": {"limit_bytes": 9000}}), json!({"fq_codel": {}})] {
        let shaped = json!({"shaped": {"rate_bps": 800_000, "below": below}});
        assert_eq!(peak(&build::tree(&queue(shaped), ETHERNET, &[])).1, None);
    }
    let loopback = Interface { index: 1, mtu: None };
    assert_eq!(peak(&build::tree(&queue(fifo), loopback, &[])).1, None);
    assert_eq!(build::tree(&shared(10), loopback, &[]).root().unwrap().kind, "htb");
}

/// Without it a discipline of ours would become the root, or keep its children.
#[test]
fn a_tree_is_taken_away_first_if_it_has_a_number_of_the_next_one() {
    let ours = build::tree(&shared(10), ETHERNET, &[]);
    let theirs = Tree { nodes: vec![Node { handle: 5 << 16, ..target(5000) }], ..ours.clone() };
    assert_eq!(theirs.requests(&ours).len(), 2);
    assert_eq!(ours.requests(&theirs).len(), 1 + ours.nodes.len());
    let other = Tree { nodes: vec![Node { handle: 6 << 16, ..target(5000) }], ..ours.clone() };
    assert_eq!(other.requests(&ours).len(), 1);
}

#[test]
fn numbers_in_use_are_avoided() {
    let shaped =
        queue(json!({"shaped": {"rate_bps": 8_000_000, "below": {"fifo": {"limit_packets": 9}}}}));
    let first = build::tree(&shaped, ETHERNET, &[]);
    let second = build::tree(&shaped, ETHERNET, &[&first]);
    let third = build::tree(&shaped, ETHERNET, &[&first, &second]);
    let mut majors: Vec<u16> =
        [&first, &second, &third].iter().flat_map(|tree| tree.majors()).collect();
    majors.dedup();
    assert_eq!(majors.len(), 6);
}

#[test]
fn rates_beyond_four_gigabytes_per_second_have_their_own_attribute() {
    let fast = queue(
        json!({"shaped": {"rate_bps": 80_000_000_000_u64, "below": {"fifo": {"limit_packets": 9}}}}),
    );
    let tree = build::tree(&fast, ETHERNET, &[]);
    let options = attributes::read(tree.nodes[0].options.as_ref().unwrap()).unwrap();
    assert_eq!(options.number(4), Some(10_000_000_000));
    assert!(words::of(&tree).starts_with("tbf at 80000 Mb/s above a FIFO of 9 packets"));
}

#[test]
fn htbs_version_is_told_in_full_and_taken_in_part() {
    let glob = |version: u32| {
        let words = [version, 10, 0x20, 0, 7]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect::<Vec<_>>();
        Writer::default().bytes(2, &words).finish()
    };
    let told = node("htb", false, Some(glob(0x3_0011)));
    assert_eq!(kinds::for_kernel(&told), Some(glob(3)));
    assert!(kinds::holds(&node("htb", false, Some(glob(3))), &told));
}

#[test]
fn parents_come_before_children_and_strays_are_named() {
    let tree = build::tree(&shared(10), ETHERNET, &[]);
    let mut nodes = tree.nodes.clone();
    nodes.reverse();
    let (sorted, strays) = ordered(nodes.clone());
    assert_eq!((sorted.len(), strays.len()), (nodes.len(), 0));
    for (at, node) in sorted.iter().enumerate() {
        // The class of a token bucket is there with it.
        let has = |nodes: &[Node], handle: u32| nodes.iter().any(|other| other.handle == handle);
        let made = has(&sorted, node.parent);
        let parent = if made { node.parent } else { node.parent & 0xffff_0000 };
        assert!(node.parent == ROOT || has(&sorted[..at], parent), "{node:?}");
    }
    nodes.retain(|node| node.parent != ROOT);
    assert_eq!(ordered(nodes).0, []);
}

#[test]
fn a_journal_that_names_nonsense_is_an_error() {
    let tree = |kind: &str, options: &str| {
        json!({"index": 3, "default": null, "nodes": [
            {"class": false, "kind": kind, "handle": 65_536, "parent": ROOT, "options": options}]})
    };
    assert!(serde_json::from_value::<Tree>(tree("pfifo", "64000000")).is_ok());
    for (kind, options) in [
        ("pfifo", "6400000"),
        ("pfifo", "+1"),
        ("pfifo", "é0"),
        ("a kind of sixteen", ""),
        ("pf\u{0}fo", ""),
        ("", ""),
        ("pfifo", &"00".repeat(70_000)),
    ] {
        assert!(
            serde_json::from_value::<Tree>(tree(kind, options)).is_err(),
            "{kind} {options:.20}"
        );
    }
}

proptest! {
    /// However often a time is read and put back, it stays.
    #[test]
    fn times_of_codel_do_not_creep(us in 0u32..100_000_000) {
        let told = kernels_time(us);
        let put_back = target_of(&kinds::for_kernel(&target(told)).unwrap());
        prop_assert_eq!(kernels_time(put_back), told);
        prop_assert!(kinds::holds(&target(us), &target(told)));
        prop_assert!(!kinds::holds(&target(us), &target(told + 4)));
    }

    #[test]
    fn hostile_messages_do_not_panic(body in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = super::describe(&Message { kind: 36, body });
    }

    /// Of any nodes each is placed once or is a stray, and what is placed comes after what it is below.
    #[test]
    fn whatever_the_kernel_tells_is_put_in_order(
        told in prop::collection::vec((any::<bool>(), 0u32..4, 0u32..3, 0u32..4, 0u32..3), 0..30),
    ) {
        let nodes: Vec<Node> = told
            .into_iter()
            .map(|(class, major, minor, above, below)| Node {
                class,
                handle: (major << 16) | if class { minor } else { 0 },
                parent: if above == 0 { ROOT } else { (above << 16) | below },
                ..node("htb", class, None)
            })
            .collect();
        let (placed, strays) = ordered(nodes.clone());
        let sorted = |mut all: Vec<Node>| {
            all.sort_by_key(|node| (node.class, node.handle, node.parent));
            all
        };
        prop_assert_eq!(sorted([placed.clone(), strays].concat()), sorted(nodes));
        for (at, each) in placed.iter().enumerate() {
            let owner = if each.class { each.handle } else { each.parent } & 0xffff_0000;
            let is_there = placed[..at].iter().any(|other| !other.class && other.handle == owner);
            prop_assert!(is_there || (each.parent == ROOT && !each.class));
            let waits = placed[at..].iter().any(|other| other.class && other.handle == each.parent);
            prop_assert!(each.parent == ROOT || !waits);
        }
    }

    #[test]
    fn hostile_options_do_not_panic(
        kind in prop::sample::select(vec!["pfifo", "tbf", "htb", "drr", "fq_codel", "codel", "cake", "sfq", "mq", "x"]),
        class: bool,
        asked in prop::option::of(prop::collection::vec(any::<u8>(), 0..90)),
        told in prop::option::of(prop::collection::vec(any::<u8>(), 0..90)),
    ) {
        let (asked, told) = (node(kind, class, asked), node(kind, class, told));
        let _ = kinds::holds(&asked, &told);
        let _ = kinds::changeable(&asked, &told);
        let _ = kinds::for_kernel(&told);
        let _ = words::of(&Tree { index: 1, default: None, nodes: vec![asked, told], zero_length: false });
    }

    /// The same with right attributes around wrong values.
    #[test]
    fn hostile_attributes_do_not_panic(
        kind in prop::sample::select(vec!["tbf", "htb", "drr", "fq_codel", "codel", "cake"]),
        class: bool,
        attribute in 1u16..12,
        asked in prop::collection::vec(any::<u8>(), 0..60),
        told in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let of = |value: &[u8]| node(kind, class, Some(Writer::default().bytes(attribute, value).finish()));
        let (asked, told) = (of(&asked), of(&told));
        let _ = kinds::holds(&asked, &told);
        let _ = kinds::for_kernel(&told);
        let _ = words::of(&Tree { index: 1, default: None, nodes: vec![asked, told], zero_length: false });
    }
}

/// A dry run tells what changes, whatever of it a plan can change.
#[test]
fn what_a_plan_changes_is_told_in_words() {
    let told = |asked: Value| words::of(&build::tree(&queue(asked), ETHERNET, &[]));
    let shaped = |by: &str, burst: Option<u32>| {
        let mut shaped =
            json!({"by": by, "rate_bps": 8_000_000, "below": {"fifo": {"limit_packets": 9}}});
        if let Some(bytes) = burst {
            shaped["burst_bytes"] = json!(bytes);
        }
        told(json!({"shaped": shaped}))
    };
    for by in ["tbf", "htb"] {
        assert_eq!(shaped(by, None), format!("{by} at 8 Mb/s above a FIFO of 9 packets"));
        let burst = format!("{by} at 8 Mb/s (burst 6000 bytes) above a FIFO of 9 packets");
        assert_eq!(shaped(by, Some(6000)), burst);
    }
    let usual = json!({"fq_codel": {"interval_us": 100_000, "ecn": true, "quantum_bytes": 1514}});
    assert_eq!(told(usual), "fq_codel");
    let unusual = json!({"fq_codel": {"interval_us": 50_000, "ecn": false, "quantum_bytes": 300, "memory_limit_bytes": 4_000_000}});
    let words = "fq_codel (interval 50 ms, no ECN, quantum 300 bytes, memory 4000000 bytes)";
    assert_eq!(told(unusual), words);
    let cake = json!({"cake": {"memory_limit_bytes": 4_000_000}});
    assert_eq!(told(cake), "cake (memory 4000000 bytes)");
}
