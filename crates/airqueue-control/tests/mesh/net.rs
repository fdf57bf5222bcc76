//! Routers in memory: a message reaches those that hear its sender, late, in any order, or not at all.

use crate::world::{World, id};
use airqueue_control::mesh::{FlowNumber, Hop, Limits, MeshKey, Policy, Router};
use airqueue_core::{RandomStream, Seed, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

pub const SECRET: &[u8] = b"the routers of this mesh alone";

/// What a node does with messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    Honest,
    /// Passes packets on, and says nothing.
    Silent,
    /// Does not exist.
    Dead,
}

pub struct Net {
    pub now: Time,
    pub world: World,
    pub policy: Policy,
    pub routers: Vec<Router>,
    pub nodes: Vec<Node>,
    pub loss: f64,
    /// Bytes of messages that each router has sent, and how many.
    pub sent: Vec<(u64, u64)>,
    /// How often a router was asked for what it has to do, without an end if it asks to be called at once.
    pub steps: u64,
    draw: RandomStream,
    mail: BTreeMap<(Time, u64), (usize, usize, Vec<u8>)>,
    posted: u64,
    packets: Time,
    /// What each router was told of flows.
    told: Vec<BTreeMap<FlowNumber, Hop>>,
    boots: u32,
}

pub fn key() -> MeshKey {
    MeshKey::new(SECRET).unwrap()
}

impl Net {
    pub fn new(world: World, policy: Policy, loss: f64, seed: u64) -> Net {
        let nodes = world.nodes;
        let router = |node| Router::new(id(node), 1, key(), policy.clone()).unwrap();
        let mut net = Net {
            now: Time::ZERO,
            routers: (0..nodes).map(router).collect(),
            nodes: vec![Node::Honest; nodes],
            loss,
            sent: vec![(0, 0); nodes],
            steps: 0,
            draw: Seed(seed).stream("air"),
            mail: BTreeMap::new(),
            posted: 0,
            packets: Time::ZERO,
            told: vec![BTreeMap::new(); nodes],
            boots: 1,
            policy,
            world,
        };
        net.tell();
        net
    }

    /// Tells all routers of the links and routes that there are now, as far as they do not know.
    pub fn tell(&mut self) {
        for (&(a, b), &facts) in &self.world.links {
            self.routers[a].on_link(id(b), Some(facts), self.now).unwrap();
        }
        let mut hops = vec![BTreeMap::new(); self.world.nodes];
        for flow in &self.world.flows {
            for (i, &node) in flow.route.iter().enumerate() {
                let hop = Hop {
                    previous: i.checked_sub(1).map(|at| id(flow.route[at])),
                    next: flow.route.get(i + 1).map(|&next| id(next)),
                    demand_bps: flow.demand_bps.filter(|_| i == 0),
                    other_delay_us: if i == 0 { flow.other_delay_us } else { 0 },
                };
                hops[node].insert(flow.number, hop);
            }
        }
        for (node, now) in hops.into_iter().enumerate() {
            let before = std::mem::replace(&mut self.told[node], now.clone());
            let gone: BTreeSet<_> =
                before.into_keys().filter(|flow| !now.contains_key(flow)).collect();
            gone.iter()
                .for_each(|flow| self.routers[node].on_route(*flow, None, self.now).unwrap());
            now.iter().for_each(|(flow, hop)| {
                self.routers[node].on_route(*flow, Some(*hop), self.now).unwrap()
            });
        }
        self.pass_packets();
        (0..self.world.nodes).for_each(|node| self.flush(node));
    }

    pub fn restart(&mut self, node: usize, boot: Option<u32>) {
        self.boots += 1;
        let boot = boot.unwrap_or(self.boots);
        self.routers[node] = Router::new(id(node), boot, key(), self.policy.clone()).unwrap();
        self.nodes[node] = Node::Honest;
        self.told[node].clear();
        self.tell();
    }

    fn pass_packets(&mut self) {
        for flow in &self.world.flows {
            flow.route.iter().for_each(|&node| self.routers[node].on_active(flow.number, self.now));
        }
    }

    pub fn run(&mut self, span: Span) {
        let end = self.now + span;
        let mut due: Vec<_> = (0..self.world.nodes).map(|node| self.deadline(node)).collect();
        loop {
            let mail = self.mail.first_key_value().map(|((at, _), _)| *at);
            let first = due.iter().flatten().min().copied();
            let times = [mail, first, Some(self.packets)];
            let next = times.into_iter().flatten().min().unwrap_or(end).max(self.now);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            self.steps += 1;
            let mut called: Vec<_> =
                due.iter().map(|due| due.is_some_and(|due| due <= next)).collect();
            if self.packets <= self.now {
                self.packets = self.now + Span::from_secs(1);
                self.pass_packets();
                called.fill(true);
            }
            self.deliver(&mut called);
            for node in (0..called.len()).filter(|&node| called[node]) {
                if self.nodes[node] == Node::Honest {
                    self.routers[node].on_time(self.now);
                    self.flush(node);
                }
                due[node] = self.deadline(node);
            }
        }
    }

    /// When a router wants to be called.
    fn deadline(&self, node: usize) -> Option<Time> {
        let lives = self.nodes[node] == Node::Honest;
        lives.then(|| self.routers[node].next_deadline(self.now)).flatten()
    }

    /// Delivers what is due; `called`: who gets some.
    fn deliver(&mut self, called: &mut [bool]) {
        while let Some(entry) = self.mail.first_entry() {
            if entry.key().0 > self.now {
                return;
            }
            let (to, from, bytes) = entry.remove();
            called[to] = true;
            if self.nodes[to] == Node::Honest {
                // Messages that overtook each other are refused as replays.
                let _ = self.routers[to].on_message(id(from), &bytes, self.now);
            }
        }
    }

    fn flush(&mut self, node: usize) {
        if self.nodes[node] != Node::Honest {
            return;
        }
        while let Some(bytes) = self.routers[node].poll_message(self.now) {
            self.sent[node].0 += bytes.len() as u64;
            self.sent[node].1 += 1;
            self.broadcast(node, &bytes);
        }
    }

    /// Sends bytes to all that hear a node.
    pub fn broadcast(&mut self, from: usize, bytes: &[u8]) {
        for to in 0..self.world.nodes {
            if to != from && self.world.are_neighbours(to, from) && !self.draw.bernoulli(self.loss)
            {
                let late = Span::from_micros(500) + self.draw.span_below(Span::from_millis(150));
                self.posted += 1;
                self.mail.insert((self.now + late, self.posted), (to, from, bytes.to_vec()));
            }
        }
    }

    /// What a router has computed: its limits in force, and those that it holds back.
    pub fn wanted(&self, node: usize) -> Limits {
        let (limits, held) = self.routers[node].limits();
        let mut wanted = limits.clone();
        wanted.extend(held);
        wanted
    }

    /// Honest routers whose limits are not the observer's.
    pub fn astray(&self) -> Vec<usize> {
        let observed = self.world.observed(&self.policy);
        let honest = (0..self.world.nodes).filter(|&node| self.nodes[node] == Node::Honest);
        honest.filter(|&node| self.wanted(node) != observed[node]).collect()
    }

    /// Runs for so long, and returns how long it took until all limits were the observer's for good.
    pub fn converge(&mut self, within: Span) -> Span {
        let start = self.now;
        let mut last = None;
        while self.now - start < within {
            self.run(Span::from_millis(100));
            if !self.astray().is_empty() {
                last = Some(self.now);
            }
        }
        last.map_or(Span::ZERO, |last| last - start + Span::from_millis(100))
    }
}
