//! The queue of an interface as a control point.

use super::tree::{self, Tree};
use super::trial::{Trial, trial};
use super::{build, filters, words};
use crate::machine;
use crate::netlink::{Netlink, NetlinkError, ROUTE};
use crate::radio::links::{self, Link};
use airqueue_control::flows::FlowKey;
use airqueue_control::plan::{Queue, QueueOf, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

/// Queues of the interfaces of this network namespace.
pub struct Queues {
    netlink: Netlink,
}

impl Queues {
    /// Opens a socket of its own.
    pub fn open() -> Result<Queues, PointError> {
        let netlink =
            Netlink::open(ROUTE).map_err(|error| PointError::Refused(error.to_string()))?;
        Ok(Queues { netlink })
    }

    /// Puts packets of downloads into classes of the shaper `handle` of an interface, after classes were taken from others.
    pub fn classify(
        &mut self,
        interface: &str,
        handle: u16,
        released: &[(FlowKey, u16)],
        assigned: &[(FlowKey, u16)],
    ) -> Result<(), PointError> {
        let index = index(interface)?;
        let there = self.filters(interface, index, handle)?;
        // A class that gets a filter has no other.
        let freed = |class: &u16| released.iter().chain(assigned).any(|(_, each)| each == class);
        let away = there.iter().filter(|(class, _)| freed(class));
        let away = away.map(|(_, filter)| filters::released(index, handle, *filter));
        let new = assigned
            .iter()
            .filter_map(|(flow, class)| filters::assigned(index, handle, *class, flow));
        let requests: Vec<_> = away.chain(new).collect();
        let refusals = self
            .netlink
            .batch(&requests)
            .map_err(|error| refused(interface, "take filters", &error))?;
        match refusals.into_iter().next() {
            Some((_, refusal)) => {
                Err(refused(interface, "take filters", &NetlinkError::Refused(refusal)))
            }
            None => Ok(()),
        }
    }

    /// Flows whose classes have no filter: another program has taken it away.
    pub fn unclassified(
        &mut self,
        interface: &str,
        handle: u16,
        mut assigned: Vec<(FlowKey, u16)>,
    ) -> Result<Vec<(FlowKey, u16)>, PointError> {
        let index = index(interface)?;
        let there = self.filters(interface, index, handle)?;
        assigned.retain(|(_, class)| there.iter().all(|(each, _)| each != class));
        Ok(assigned)
    }

    fn filters(
        &mut self,
        interface: &str,
        index: u32,
        handle: u16,
    ) -> Result<Vec<(u16, u32)>, PointError> {
        let told = tree::filters(&mut self.netlink, index, u32::from(handle) << 16);
        let told = told.map_err(|error| refused(interface, "tell its filters", &error))?;
        Ok(filters::ours(&told).collect())
    }

    /// What a tree of the interface depends on.
    fn interface(&mut self, name: &str, index: u32) -> Result<build::Interface, PointError> {
        let mtu = self.link(name, index)?.and_then(|link| link.mtu);
        Ok(build::Interface { index, mtu })
    }

    /// The interface's own settings; none of the loopback.
    fn link(&mut self, name: &str, index: u32) -> Result<Option<Link>, PointError> {
        let told = self.netlink.dump(&links::list()).and_then(|all| links::read_all(&all));
        let links = told.map_err(|error| refused(name, "tell its MTU and txqueuelen", &error))?;
        Ok(links.into_iter().find(|link| link.index == index))
    }

    fn tree(&mut self, interface: &str, index: u32) -> Result<Tree, PointError> {
        tree::read(&mut self.netlink, index)
            .map_err(|error| refused(interface, "tell its queue", &error))
    }

    /// The tree of the interface that had this number. Its name may be another one's by now.
    fn again(&mut self, interface: &str, index: u32) -> Result<Tree, PointError> {
        if !machine::has_interface(index) {
            let what = "was removed since, and its settings with it";
            return Err(PointError::Gone(format!("the interface {interface} {what}")));
        }
        self.tree(interface, index)
    }
}

impl ControlPoint for Queues {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let interface = &queue_of(set)?.interface;
        let found = match earlier {
            Some(value) => self.again(interface, parsed(value)?.index)?,
            None => self.tree(interface, index(interface)?)?,
        };
        let link = self.link(interface, found.index)?;
        let zero_length = link.is_some_and(|link| link.queue_length == Some(0));
        Ok(value(&Tree { zero_length, ..found }))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let QueueOf { interface, queue } = queue_of(set)?;
        let (now, original) = (parsed(now)?, parsed(original)?);
        let about = self.interface(interface, now.index)?;
        if let Some(what) = build::refusal(queue, about) {
            return Err(PointError::Refused(format!("{interface}: {what}")));
        }
        let tree = aimed(queue, about, &now, &original);
        if tree.in_place(&now) {
            // What else is there, as filters of ours, stays.
            return Ok(Aim { value: value(&tree), interrupts: None });
        }
        let lost = tree::lost(&mut self.netlink, now.index);
        let lost = lost.map_err(|error| refused(interface, "tell its queue", &error))?;
        if let Some(what) =
            lost.into_iter().next().or_else(|| now.refusal()).or_else(|| original.refusal())
        {
            let why = "which airqueued could not put back; remove it with tc first";
            return Err(PointError::Refused(format!("{interface} has {what}, {why}")));
        }
        let why = match trial(&tree) {
            Trial::Taken | Trial::Untried => None,
            Trial::Refused(why) => Some(why),
            Trial::Unknown(why) => Some(format!("{why}; {}", missing(&tree))),
        };
        if let Some(why) = why {
            let what = words::of(&tree);
            return Err(PointError::Refused(format!("this kernel does not take {what}: {why}")));
        }
        let holds_packets = now.root().is_some() || now.default.as_deref() != Some("noqueue");
        let interrupts = holds_packets
            .then(|| format!("packets that wait in the queue of {interface} are dropped"));
        Ok(Aim { value: value(&tree), interrupts })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let interface = &queue_of(set)?.interface;
        let to = parsed(to)?;
        let now = self.again(interface, to.index)?;
        let length = to.zero_length.then(|| links::without_length(to.index));
        let requests: Vec<_> = to.requests(&now).into_iter().chain(length).collect();
        let refusals = self
            .netlink
            .batch(&requests)
            .map_err(|error| refused(interface, "take the queue", &error))?;
        match refusals.into_iter().next() {
            Some((_, refusal)) => {
                Err(refused(interface, "take the queue", &NetlinkError::Refused(refusal)))
            }
            None => Ok(()),
        }
    }

    fn is_outdated(&mut self, set: &Set, now: &Value) -> Result<bool, PointError> {
        let QueueOf { interface, queue } = queue_of(set)?;
        let now = parsed(now)?;
        let today = build::tree(queue, self.interface(interface, now.index)?, &[]);
        Ok(today.renumbered(&now).is_some_and(|today| !today.holds(&now)))
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        match (parsed(now), parsed(wanted)) {
            (Ok(now), Ok(wanted)) => wanted.holds(&now),
            _ => false,
        }
    }
}

/// The tree that is to be set: by changes of `now` if that is possible, else by new disciplines with numbers of
/// their own.
fn aimed(queue: &Queue, interface: build::Interface, now: &Tree, original: &Tree) -> Tree {
    // Priorities and filters name the shaper by the number that the plan gives it.
    let named = |tree: &Tree| match queue {
        Queue::Shared(shared) => tree.majors().any(|major| major == shared.handle),
        _ => true,
    };
    let changed = build::tree(queue, interface, &[]).renumbered(now);
    let changed = changed.filter(|tree| named(tree) && tree.in_place(now));
    changed.unwrap_or_else(|| build::tree(queue, interface, &[now, original]))
}

/// What to do if the kernel does not know a discipline of a tree.
fn missing(tree: &Tree) -> String {
    format!(
        "the module of the discipline is missing: install {} (OpenWrt: the packages kmod-sched-core, kmod-sched-cake and \
         kmod-sched)",
        words::modules(tree)
    )
}

fn queue_of(set: &Set) -> Result<&QueueOf, PointError> {
    match set {
        Set::Queue(queue) => Ok(queue),
        other => {
            Err(PointError::Refused(format!("the {} is no queue of an interface", other.point())))
        }
    }
}

fn index(interface: &str) -> Result<u32, PointError> {
    if_nametoindex(interface).map_err(|_| {
        PointError::Gone(format!(
            "there is no interface {interface}; `ip link` lists those there are"
        ))
    })
}

fn value(tree: &Tree) -> Value {
    let raw = serde_json::to_value(tree).expect("a tree is JSON");
    Value { words: words::of(tree), raw }
}

fn parsed(value: &Value) -> Result<Tree, PointError> {
    serde_json::from_value(value.raw.clone()).map_err(|error| {
        PointError::Refused(format!("the journal has no queue but {}: {error}", value.words))
    })
}

fn refused(interface: &str, what: &str, error: &NetlinkError) -> PointError {
    let text = format!("{interface} does not {what}: {error}");
    match error.errno() {
        Some(Errno::EPERM) => {
            PointError::Denied(format!("{text}; run as root, or with CAP_NET_ADMIN"))
        }
        Some(Errno::ENODEV) => PointError::Gone(text),
        Some(Errno::ENOENT) => {
            PointError::Refused(format!("{text}; this kernel may lack the discipline"))
        }
        _ => PointError::Refused(text),
    }
}
