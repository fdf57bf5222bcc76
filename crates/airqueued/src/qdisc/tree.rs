//! The tree of queue disciplines below the root of an interface.

use super::kinds;
use super::message::{
    DELETE_QDISC, GET_CLASS, GET_FILTER, GET_QDISC, INGRESS, NEW_CLASS, NEW_QDISC, ROOT, Told,
    made, request,
};
use crate::netlink::{LONGEST_BATCH, Message, Netlink, NetlinkError, Request};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// `TC_H_MAJ_MASK`: the number of the discipline in the number of a class.
const MAJOR: u32 = 0xffff_0000;

/// A discipline, or a class that a discipline has been given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Whether it is a class.
    pub class: bool,
    /// The discipline's name in tc; of a class that of its discipline.
    #[serde(deserialize_with = "name")]
    pub kind: String,
    /// Its number.
    pub handle: u32,
    /// The number of what it is below.
    pub parent: u32,
    /// `TCA_OPTIONS` as the kernel tells them.
    #[serde(with = "hexadecimal")]
    pub options: Option<Vec<u8>>,
}

/// Everything below the root of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// Number of the interface, another one if an interface of the same name is made again.
    pub index: u32,
    /// The discipline that the kernel has chosen, which comes back when ours is deleted.
    pub default: Option<String>,
    /// What somebody has set, parents before children; nothing if there is the default.
    pub nodes: Vec<Node>,
    /// Whether the interface's `txqueuelen` is 0. The kernel makes it 1000 when a discipline is set, and leaves it so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zero_length: bool,
}

/// What the kernel tells of an interface.
struct Below {
    /// The discipline that the kernel has chosen, if nobody has set another.
    default: Option<String>,
    /// What somebody has set, and whether it is a class.
    made: Vec<(bool, Told)>,
}

fn below(netlink: &mut Netlink, index: u32) -> Result<Below, NetlinkError> {
    let of =
        |all: Vec<Told>| all.into_iter().filter(|told| told.index == index).collect::<Vec<_>>();
    let qdiscs = of(dump(netlink, GET_QDISC, index, 0)?);
    let root = qdiscs.iter().find(|told| told.parent == ROOT).cloned();
    let made = |told: &Told| told.handle != 0 && told.parent != INGRESS;
    // Number 0 is that of disciplines that the kernel has made by itself (`qdisc_create_dflt`).
    let Some(root) = root.clone().filter(|root| root.handle != 0) else {
        let default = Some(root.map_or_else(|| "none".to_owned(), |root| root.kind));
        let made = qdiscs.into_iter().filter(made).map(|told| (false, told)).collect();
        return Ok(Below { default, made });
    };
    let rest = qdiscs.into_iter().filter(|told| made(told) && told.parent != ROOT);
    let classes = of(dump(netlink, GET_CLASS, index, 0)?);
    let classes = classes.into_iter().filter(|told| kinds::has_classes(&told.kind));
    let made = [(false, root)].into_iter().chain(rest.map(|told| (false, told)));
    Ok(Below { default: None, made: made.chain(classes.map(|told| (true, told))).collect() })
}

/// Reads the tree of the interface with this number, which does not tell the interface's own settings.
pub(super) fn read(netlink: &mut Netlink, index: u32) -> Result<Tree, NetlinkError> {
    let Below { default, made } = below(netlink, index)?;
    let nodes = match default {
        Some(_) => Vec::new(),
        None => ordered(made.into_iter().map(node).collect()).0,
    };
    Ok(Tree { index, default, nodes, zero_length: false })
}

/// What of an interface's queue could not be put back, in words: "a filter (u32) at 1:". The kernel is asked for the filters
/// of each node.
pub(super) fn lost(netlink: &mut Netlink, index: u32) -> Result<Vec<String>, NetlinkError> {
    let Below { default, made } = below(netlink, index)?;
    let named = |node: &Node, place: &str| format!("{} {} {place}", node.kind, number(node.handle));
    if default.is_some() {
        let nodes = made.into_iter().map(node);
        return Ok(nodes.map(|node| named(&node, "below the default")).collect());
    }
    let mut lost = lost_with(netlink, index, &made)?;
    let (_, strays) = ordered(made.into_iter().map(node).collect());
    lost.extend(strays.iter().map(|node| named(node, "below nothing known")));
    Ok(lost)
}

/// What nodes have beside their options, which would be lost with them.
fn lost_with(
    netlink: &mut Netlink,
    index: u32,
    nodes: &[(bool, Told)],
) -> Result<Vec<String>, NetlinkError> {
    let mut lost = Vec::new();
    for (_, told) in nodes {
        let at = number(told.handle);
        lost.extend(told.lost.map(|what| format!("{what} of {} {at}", told.kind)));
        let filters = dump(netlink, GET_FILTER, index, told.handle)?;
        let filter = filters.iter().find(|filter| filter.index == index);
        lost.extend(filter.map(|filter| format!("a filter ({}) at {at}", filter.kind)));
    }
    Ok(lost)
}

pub(super) fn node((class, told): (bool, Told)) -> Node {
    Node { class, kind: told.kind, handle: told.handle, parent: told.parent, options: told.options }
}

fn dump(
    netlink: &mut Netlink,
    kind: u16,
    index: u32,
    parent: u32,
) -> Result<Vec<Told>, NetlinkError> {
    let messages = netlink.dump(&request(kind, 0, index, 0, parent))?;
    messages.iter().map(Told::read).collect()
}

/// The filters at a discipline, as the kernel tells them.
pub(super) fn filters(
    netlink: &mut Netlink,
    index: u32,
    at: u32,
) -> Result<Vec<Message>, NetlinkError> {
    netlink.dump(&request(GET_FILTER, 0, index, 0, at))
}

/// Parents before children, and what has no known parent. Numbers of classes are those of their discipline, and a
/// minor number: 1:0 is the discipline, 1:5 a class of it.
pub(super) fn ordered(mut left: Vec<Node>) -> (Vec<Node>, Vec<Node>) {
    let mut placed: Vec<Node> = Vec::new();
    // Numbers of the disciplines that are placed, and how many classes of each number are not.
    let mut disciplines = BTreeSet::new();
    let mut waiting: BTreeMap<u32, usize> = BTreeMap::new();
    for class in left.iter().filter(|node| node.class) {
        *waiting.entry(class.handle).or_default() += 1;
    }
    loop {
        let before = placed.len();
        let mut later = Vec::new();
        for node in left {
            let owner = if node.class { node.handle } else { node.parent } & MAJOR;
            let below = disciplines.contains(&owner);
            let is_ready = match node.parent {
                ROOT => !node.class || below,
                parent => below && waiting.get(&parent).is_none_or(|&classes| classes == 0),
            };
            if !is_ready {
                later.push(node);
                continue;
            }
            if !node.class {
                disciplines.insert(node.handle);
            } else if let Some(classes) = waiting.get_mut(&node.handle) {
                *classes -= 1;
            }
            placed.push(node);
        }
        left = later;
        if placed.len() == before {
            return (placed, left);
        }
    }
}

impl Tree {
    /// The root, if somebody has set one.
    pub(super) fn root(&self) -> Option<&Node> {
        self.nodes.first()
    }

    /// Whether `now`, as it was read, is this tree in everything that the kernel tells of what was asked for.
    pub(super) fn holds(&self, now: &Tree) -> bool {
        self.index == now.index
            && self.default.is_some() == now.default.is_some()
            && self.every(now, kinds::holds)
    }

    /// Whether this tree comes from `now` by changes in place, in which no packet is dropped.
    pub(super) fn in_place(&self, now: &Tree) -> bool {
        !self.nodes.is_empty() && self.every(now, kinds::changeable)
    }

    /// Whether both trees have the same nodes at the same places, and something holds for each pair of them. The
    /// kernel tells nodes in any order.
    fn every(&self, now: &Tree, holds: fn(&Node, &Node) -> bool) -> bool {
        fn place(node: &Node) -> (bool, &str, u32, u32) {
            (node.class, &node.kind, node.handle, node.parent)
        }
        // The first one of a place, should there be two.
        let places: BTreeMap<_, _> =
            now.nodes.iter().rev().map(|node| (place(node), node)).collect();
        let alike =
            |wanted: &Node| places.get(&place(wanted)).is_some_and(|found| holds(wanted, found));
        self.nodes.len() == now.nodes.len() && self.nodes.iter().all(alike)
    }

    /// This tree with the numbers of `now`, if the two have the same disciplines at the same places.
    pub(super) fn renumbered(mut self, now: &Tree) -> Option<Tree> {
        let mut majors = BTreeMap::new();
        let moved = |majors: &BTreeMap<u32, u32>, handle: u32| match handle {
            ROOT => Some(ROOT),
            handle => majors.get(&(handle & MAJOR)).map(|major| major | (handle & !MAJOR)),
        };
        for node in &mut self.nodes {
            node.parent = moved(&majors, node.parent)?;
            if !node.class {
                let alike = |other: &&Node| {
                    (other.class, other.parent, &other.kind) == (false, node.parent, &node.kind)
                };
                majors.insert(node.handle, now.nodes.iter().find(alike)?.handle);
            }
            node.handle = moved(&majors, node.handle)?;
        }
        Some(self)
    }

    /// The requests that make `now` this tree.
    pub(super) fn requests(&self, now: &Tree) -> Vec<Request> {
        if self.in_place(now) {
            let changed = self.nodes.iter().filter(|node| kinds::is_changed(node));
            return changed.map(|node| self.request(node)).collect();
        }
        let delete = request(DELETE_QDISC, 0, self.index, 0, ROOT);
        if self.root().is_none() {
            return if now.root().is_some() { vec![delete] } else { Vec::new() };
        }
        // What has a number of this tree would be changed in place, with its children kept, or become the root.
        let clash = self.majors().any(|major| now.majors().any(|other| other == major));
        let first = clash.then_some(delete);
        first.into_iter().chain(self.nodes.iter().map(|node| self.request(node))).collect()
    }

    fn request(&self, node: &Node) -> Request {
        let kind = if node.class { NEW_CLASS } else { NEW_QDISC };
        let options = kinds::for_kernel(node);
        made(kind, (self.index, node.handle, node.parent), &node.kind, options.as_deref())
    }

    /// Why this tree could not be set again, if so.
    pub(super) fn refusal(&self) -> Option<String> {
        if let Some(node) = self.nodes.iter().find(|node| !kinds::known(node)) {
            return Some(format!("the discipline {} {}", node.kind, number(node.handle)));
        }
        let bytes: usize = self.nodes.iter().map(|node| self.request(node).body.len() + 32).sum();
        (bytes > LONGEST_BATCH).then(|| {
            format!("{} disciplines and classes, too many for one system call", self.nodes.len())
        })
    }

    /// Major numbers that are in use.
    pub(super) fn majors(&self) -> impl Iterator<Item = u16> + '_ {
        self.nodes.iter().filter(|node| !node.class).map(|node| (node.handle >> 16) as u16)
    }
}

/// A number as tc prints it.
pub(super) fn number(handle: u32) -> String {
    match handle & 0xffff {
        0 => format!("{:x}:", handle >> 16),
        minor => format!("{:x}:{minor:x}", handle >> 16),
    }
}

/// A name as the kernel takes it (`IFNAMSIZ`).
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    match (1..16).contains(&name.len()) && name.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(name),
        false => Err(D::Error::custom("a discipline's name has 1 to 15 letters")),
    }
}

/// Bytes as hexadecimal digits.
mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Digits of an attribute, which has less than 64 kB.
    const LONGEST: usize = 120_000;

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => to.serialize_some(
                &bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            ),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let digits = text.len().is_multiple_of(2)
            && text.len() <= LONGEST
            && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !digits {
            return Err(D::Error::custom("bytes are pairs of hexadecimal digits, 60,000 at most"));
        }
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).map_err(D::Error::custom);
        (0..text.len()).step_by(2).map(byte).collect::<Result<_, _>>().map(Some)
    }
}
