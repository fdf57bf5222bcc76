//! The tree of queue disciplines below the root of an interface.

use super::kinds;
use super::message::{
    DELETE_QDISC, GET_CLASS, GET_FILTER, GET_QDISC, INGRESS, NEW_CLASS, NEW_QDISC, ROOT, Told,
    made, request,
};
use crate::netlink::{LONGEST_BATCH, Message, Netlink, NetlinkError, Request};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

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
}

/// A tree, and what of it cannot be put back.
pub(super) struct Found {
    pub(super) tree: Tree,
    /// In words: "a filter (u32) at 1:".
    pub(super) lost: Vec<String>,
}

/// Reads the tree of the interface with this number.
pub(super) fn read(netlink: &mut Netlink, index: u32) -> Result<Found, NetlinkError> {
    let of =
        |all: Vec<Told>| all.into_iter().filter(|told| told.index == index).collect::<Vec<_>>();
    let qdiscs = of(dump(netlink, GET_QDISC, index, 0)?);
    let root = qdiscs.iter().find(|told| told.parent == ROOT);
    let made = |told: &Told| told.handle != 0 && told.parent != INGRESS;
    // Number 0 is that of disciplines that the kernel has made by itself (`qdisc_create_dflt`).
    let Some(root) = root.filter(|root| root.handle != 0) else {
        let default = Some(root.map_or_else(|| "none".to_owned(), |root| root.kind.clone()));
        let below = qdiscs.iter().filter(|told| made(told));
        let lost =
            below.map(|told| format!("{} {} below the default", told.kind, number(told.handle)));
        return Ok(Found {
            tree: Tree { index, default, nodes: Vec::new() },
            lost: lost.collect(),
        });
    };
    let mut nodes = vec![(false, root.clone())];
    nodes.extend(
        qdiscs
            .iter()
            .filter(|told| made(told) && told.parent != ROOT)
            .map(|told| (false, told.clone())),
    );
    let classes = of(dump(netlink, GET_CLASS, index, 0)?);
    nodes.extend(
        classes.into_iter().filter(|told| kinds::has_classes(&told.kind)).map(|told| (true, told)),
    );
    let mut lost = lost_with(netlink, index, &nodes)?;
    let (nodes, strays) = ordered(nodes.into_iter().map(node).collect());
    let stray = |node: &Node| format!("{} {} below nothing known", node.kind, number(node.handle));
    lost.extend(strays.iter().map(stray));
    Ok(Found { tree: Tree { index, default: None, nodes }, lost })
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
    let is_class =
        |parent: u32, nodes: &[Node]| nodes.iter().any(|node| node.class && node.handle == parent);
    let mut placed: Vec<Node> = Vec::new();
    loop {
        let ready = |node: &Node| {
            let owner = if node.class { node.handle } else { node.parent } & MAJOR;
            let below = placed.iter().any(|other| !other.class && other.handle == owner);
            match node.parent {
                ROOT => !node.class || below,
                parent => below && !is_class(parent, &left),
            }
        };
        let Some(next) = left.iter().position(ready) else { return (placed, left) };
        placed.push(left.remove(next));
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
        let place = |node: &Node| (node.class, node.kind.clone(), node.handle, node.parent);
        let alike = |wanted: &Node| {
            let found = now.nodes.iter().find(|other| place(other) == place(wanted));
            found.is_some_and(|found| holds(wanted, found))
        };
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
