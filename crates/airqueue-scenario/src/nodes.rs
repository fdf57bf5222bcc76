//! Stations and hosts by name, the wired links of hosts, and the routes between all of them.

use super::emulated::MTU_BYTES;
use super::error::{Result, error, hint, probability, wrong};
use super::file::{Delays, File, HostTable};
use super::stations::{MOST_STATIONS, Memory, Named, Stations, check_name};
use airqueue_core::Span;
use airqueue_core::keys::Layers;
use airqueue_network::WireId;
use airqueue_network::network::{Node, WireSpec};
use airqueue_qdisc::queue::check_used;
use airqueue_qdisc::{DisciplineName, Link, QueueSpec};
use airqueue_wifi::medium::StationId;
use std::collections::HashMap;

/// Smallest MTU of a link that carries IPv6 (RFC 8200, section 5).
const LEAST_MTU_BYTES: u32 = 1280;

/// All nodes that packets can come from or go to: stations first, then hosts.
pub(super) struct Nodes<'a> {
    stations: &'a Stations,
    hosts: Vec<Host>,
    by_name: HashMap<String, Named>,
    /// Two wires for each host: towards the other end of its wired link, and back.
    pub(super) wires: Vec<WireSpec>,
    /// The largest packets of each wire, in IP bytes, where the file says so.
    pub(super) mtus: Vec<Option<u32>>,
}

/// A host at the end of a wired link.
struct Host {
    name: String,
    /// The node at the other end.
    link: usize,
}

/// A hop of a route, before hops over the air have ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// Through this wire.
    Wire(WireId),
    /// From one station to another.
    Air(usize, usize),
}

impl Nodes<'_> {
    pub(super) fn new<'a>(file: &File, stations: &'a Stations) -> Result<Nodes<'a>> {
        let mut nodes = Nodes {
            stations,
            hosts: Vec::new(),
            by_name: HashMap::new(),
            wires: Vec::new(),
            mtus: Vec::new(),
        };
        let mut memory = Memory::default();
        for (at, table) in file.hosts.iter().enumerate() {
            let first = nodes.wires.len();
            nodes.add(&format!("hosts[{at}]"), table)?;
            for queue in nodes.wires[first..].iter().filter_map(|wire| wire.queue.as_ref()) {
                memory.add(format_args!("hosts[{at}].queue"), queue)?;
            }
        }
        Ok(nodes)
    }

    fn add(&mut self, key: &str, table: &HostTable) -> Result<()> {
        check_name(&format!("{key}.name"), &table.name)?;
        let count = table.members();
        if count == 0 {
            return wrong(format_args!("{key}.count"), "found 0, expected at least 1");
        }
        if count > MOST_STATIONS - self.hosts.len() {
            let all = self.hosts.len() + count;
            let problem = format_args!("with it there are {all} hosts, more than {MOST_STATIONS}");
            return wrong(format_args!("{key}.count"), problem);
        }
        let link = self.get(&table.link).ok_or_else(|| {
            let shown: String = table.link.chars().take(64).collect();
            let problem = format_args!(
                "there is no station {shown:?}, and no host of that name before this one{}",
                hint(&table.link, self.names())
            );
            error(format_args!("{key}.link"), problem)
        })?;
        if link.group {
            let problem = format_args!("{:?} is a group; name one of its members", table.link);
            return wrong(format_args!("{key}.link"), problem);
        }
        let delays = delays(key, table, count)?;
        let first = self.count();
        let ids = first..first + count;
        self.add_name(key, &table.name, Named { ids, group: table.count.is_some() })?;
        for (at, delay) in delays.into_iter().enumerate() {
            let mut name = table.name.clone();
            if table.count.is_some() {
                name = format!("{name}{}", at + 1);
                let id = first + at;
                self.add_name(key, &name, Named { ids: id..id + 1, group: false })?;
            }
            self.add_wire(key, table, &name, link.ids.start, delay)?;
            self.hosts.push(Host { name, link: link.ids.start });
        }
        Ok(())
    }

    fn add_wire(
        &mut self,
        key: &str,
        table: &HostTable,
        name: &str,
        link: usize,
        delay: Span,
    ) -> Result<()> {
        let rate = table.rate.as_ref().map(|rate| rate.value);
        let to_host = table.rate_to_host.as_ref().map(|rate| rate.value);
        if to_host.is_some() && rate.is_none() {
            let problem = "the wired link has no rate from the host; give rate too";
            return wrong(format_args!("{key}.rate_to_host"), problem);
        }
        let loss = probability(format_args!("{key}.loss"), table.loss)?;
        let queue = match (&table.queue, rate) {
            (None, _) => None,
            (Some(_), None) => {
                let problem = "packets wait for a rate, and the wired link has none; give rate too";
                return wrong(format_args!("{key}.queue"), problem);
            }
            (Some(own), Some(_)) => {
                let layers = Layers::new(vec![(format!("{key}.queue"), &**own)]);
                let name = DisciplineName::of(&layers);
                check_used(format_args!("{key}.queue"), own, &[name])?;
                Some(QueueSpec::check(&layers, Link::Wire)?)
            }
        };
        let mtu = mtu(key, table)?;
        let other = self.name(link).to_owned();
        let both =
            [(format!("{name}->{other}"), rate), (format!("{other}->{name}"), to_host.or(rate))];
        for (name, rate) in both {
            self.wires.push(WireSpec { name, rate, delay, loss, queue });
            self.mtus.push(mtu);
        }
        Ok(())
    }

    fn add_name(&mut self, key: &str, name: &str, named: Named) -> Result<()> {
        let known = self.stations.get(name).is_some();
        if self.by_name.insert(name.to_owned(), named).is_some() || known {
            let problem =
                format_args!("a station, a host or a group before it is called {name:?} too");
            return wrong(format_args!("{key}.name"), problem);
        }
        Ok(())
    }

    /// Number of nodes.
    fn count(&self) -> usize {
        self.stations.specs.len() + self.hosts.len()
    }

    /// The station, host or group that a key names.
    pub(super) fn find(&self, key: impl std::fmt::Display, name: &str) -> Result<Named> {
        self.get(name).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let hint = hint(name, self.names());
            error(key, format_args!("there is no station, host or group {shown:?}{hint}"))
        })
    }

    /// The names of stations, hosts and groups.
    fn names(&self) -> Vec<&str> {
        let mut names = self.stations.names();
        names.extend(self.by_name.keys().map(String::as_str));
        names.sort_unstable();
        names
    }

    fn get(&self, name: &str) -> Option<Named> {
        self.by_name.get(name).or_else(|| self.stations.get(name)).cloned()
    }

    fn host(&self, node: usize) -> Option<&Host> {
        self.hosts.get(node.checked_sub(self.stations.specs.len())?)
    }

    pub(super) fn name(&self, node: usize) -> &str {
        match self.host(node) {
            Some(host) => &host.name,
            None => self.stations.name(node),
        }
    }

    pub(super) fn node(&self, node: usize) -> Node {
        match node.checked_sub(self.stations.specs.len()) {
            Some(host) => Node::Host(host as u32),
            None => Node::Station(StationId(node as u32)),
        }
    }

    /// The nodes along wired links from a node to its station; the first is the node itself.
    fn towards_station(&self, node: usize) -> Vec<usize> {
        let next = |&node: &usize| self.host(node).map(|host| host.link);
        std::iter::successors(Some(node), next).collect()
    }

    /// The station to which a node is connected, or the node itself if it is a station.
    pub(super) fn station(&self, node: usize) -> usize {
        self.towards_station(node).pop().expect("the node itself is on the path")
    }

    /// Both wires of each host that a key names.
    pub(super) fn wires_of(&self, key: impl std::fmt::Display, name: &str) -> Result<Vec<WireId>> {
        let stations = self.stations.specs.len();
        let found = self.get(name).filter(|found| found.ids.start >= stations);
        let Named { ids, .. } = found.ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let hint = hint(name, self.by_name.keys().map(String::as_str));
            error(key, format_args!("there is no host or group of hosts {shown:?}{hint}"))
        })?;
        Ok((2 * (ids.start - stations)..2 * (ids.end - stations)).map(WireId::at).collect())
    }

    /// Whether a wire leads to its host.
    pub(super) fn leads_to_host(wire: WireId) -> bool {
        wire.index() % 2 == 1
    }

    /// The wire from a host to the other end of its wired link, or the wire to the host.
    fn wire(&self, host: usize, from: bool) -> Leg {
        Leg::Wire(WireId::at(2 * (host - self.stations.specs.len()) + usize::from(from)))
    }

    /// The route between two nodes, over the air by these stations. `None`: the route leads through wired links only,
    /// and the stations are not on it.
    pub(super) fn legs(&self, from: usize, to: usize, via: &[usize]) -> Option<Vec<Leg>> {
        let (up, down) = (self.towards_station(from), self.towards_station(to));
        let meeting = up.iter().position(|node| down.contains(node));
        let (up, down, stations) = match meeting {
            // Both nodes are connected to one station.
            Some(at) if via.is_empty() => {
                let below = down.iter().position(|&node| node == up[at])?;
                (&up[..at], &down[..below], Vec::new())
            }
            Some(_) => return None,
            None => {
                let stations = [&[*up.last()?], via, &[*down.last()?]].concat();
                (&up[..up.len() - 1], &down[..down.len() - 1], stations)
            }
        };
        let mut legs: Vec<Leg> = up.iter().map(|&host| self.wire(host, false)).collect();
        legs.extend(stations.windows(2).map(|pair| Leg::Air(pair[0], pair[1])));
        legs.extend(down.iter().rev().map(|&host| self.wire(host, true)));
        Some(legs)
    }
}

/// The largest packets of a wired link, in IP bytes, if the table says so.
fn mtu(key: &str, table: &HostTable) -> Result<Option<u32>> {
    let Some(mtu) = &table.mtu else { return Ok(None) };
    if (LEAST_MTU_BYTES..=MTU_BYTES).contains(&mtu.value) {
        return Ok(Some(mtu.value));
    }
    let problem = format_args!("found {}, expected {LEAST_MTU_BYTES} to {MTU_BYTES} B", mtu.text);
    wrong(format_args!("{key}.mtu"), problem)
}

/// The reverse route.
pub(super) fn back(legs: &[Leg]) -> Vec<Leg> {
    let turned = |part: &Leg| match *part {
        // The two wires of a link have adjacent ids.
        Leg::Wire(wire) => Leg::Wire(WireId(wire.0 ^ 1)),
        Leg::Air(from, to) => Leg::Air(to, from),
    };
    legs.iter().rev().map(turned).collect()
}

/// The delays of the wired links of a table's members.
fn delays(key: &str, table: &HostTable, count: usize) -> Result<Vec<Span>> {
    match &table.delay {
        None => Ok(vec![Span::ZERO; count]),
        Some(Delays::All(delay)) => Ok(vec![delay.value; count]),
        Some(Delays::Each(each)) if each.len() == count => {
            Ok(each.iter().map(|delay| delay.value).collect())
        }
        Some(Delays::Each(each)) => {
            let problem = format_args!(
                "found {} delays, expected one for all or one for each of {count} wired links",
                each.len()
            );
            wrong(format_args!("{key}.delay"), problem)
        }
    }
}
