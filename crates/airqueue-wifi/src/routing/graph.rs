//! The cheapest route from one station to another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

/// What a link costs: any unit, and never nothing.
pub type Cost = NonZeroU32;

/// Links of one direction each between the stations 0 to n - 1, with their costs.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the links into each station begin in `links`, and the end of the last.
    first: Vec<usize>,
    /// From where, and what it costs.
    links: Vec<(u32, Cost)>,
}

/// The ways in a graph: the cheapest; of equally cheap ones those with the fewest hops; and of these the one whose
/// stations have the lowest numbers, where the one nearest to the sender counts first.
///
/// Since each part of such a way is itself such a way, all that goes to a station takes the same way from wherever it
/// meets. Ways to the same destination, one after the other, share one search.
#[derive(Clone, Debug)]
pub struct ShortestPaths {
    graph: Graph,
    to: Option<u32>,
    labels: Vec<Label>,
    /// Stations by what it costs from there to `to`, as far as that is known; outdated entries too.
    open: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Counts destinations: labels of others mean nothing.
    search: u64,
}

/// What is known of the way from a station to the destination.
#[derive(Clone, Copy, Debug, Default)]
struct Label {
    search: u64,
    cost: u64,
    hops: u32,
    next: u32,
}

impl Graph {
    /// A graph of `stations` stations; `into` has those that can send to a station and what it costs them, each
    /// at most once.
    ///
    /// # Panics
    ///
    /// If a link begins at no station.
    pub fn new<I: IntoIterator<Item = (usize, Cost)>>(
        stations: usize,
        mut into: impl FnMut(usize) -> I,
    ) -> Graph {
        let (mut first, mut links) = (Vec::with_capacity(stations + 1), Vec::new());
        first.push(0);
        for to in 0..stations {
            for (from, cost) in into(to) {
                assert!(from < stations, "there is no station {from}");
                links.push((from as u32, cost));
            }
            first.push(links.len());
        }
        links.shrink_to_fit();
        Graph { first, links }
    }

    /// Number of stations.
    pub fn stations(&self) -> usize {
        self.first.len() - 1
    }

    /// Who can send to a station, and what it costs them.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    pub fn into(&self, to: usize) -> impl Iterator<Item = (usize, Cost)> {
        self.links[self.first[to]..self.first[to + 1]]
            .iter()
            .map(|&(from, cost)| (from as usize, cost))
    }

    /// Whether there is a way from each station to this one.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    pub fn reaching(&self, to: usize) -> Vec<bool> {
        let mut reaching = vec![false; self.stations()];
        reaching[to] = true;
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            for (from, _) in self.into(at) {
                if !reaching[from] {
                    reaching[from] = true;
                    open.push(from);
                }
            }
        }
        reaching
    }
}

impl ShortestPaths {
    /// Those of a graph.
    pub fn new(graph: Graph) -> ShortestPaths {
        let labels = vec![Label::default(); graph.stations()];
        ShortestPaths { graph, to: None, labels, open: BinaryHeap::new(), search: 0 }
    }

    /// Whose ways they are.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The stations on the way, both ends included; `None`: there is no way.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    pub fn between(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.aim(to as u32);
        self.search_from(from);
        let mut at = from;
        let mut route = vec![from];
        while at != to {
            at = self.label(at)?.next as usize;
            route.push(at);
        }
        Some(route)
    }

    /// What the way costs that [`Self::between`] finds.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    pub fn cost(&mut self, from: usize, to: usize) -> Option<u64> {
        self.aim(to as u32);
        self.search_from(from);
        self.label(from).map(|label| label.cost)
    }

    fn aim(&mut self, to: u32) {
        if self.to != Some(to) {
            self.to = Some(to);
            self.search += 1;
            self.labels[to as usize] = Label { search: self.search, cost: 0, hops: 0, next: to };
            self.open.clear();
            self.open.push(Reverse((0, 0, to)));
        }
    }

    fn label(&self, station: usize) -> Option<&Label> {
        Some(&self.labels[station]).filter(|label| label.search == self.search)
    }

    /// Dijkstra's algorithm from the destination backwards, up to a station.
    fn search_from(&mut self, from: usize) {
        while let Some(&Reverse((cost, hops, at))) = self.open.peek() {
            // What is nearer than `from`, and only that, can be on a way from there.
            if self.label(from).is_some_and(|found| (found.cost, found.hops) <= (cost, hops)) {
                return;
            }
            self.open.pop();
            let own = &self.labels[at as usize];
            if (own.cost, own.hops) == (cost, hops) {
                self.widen(at, cost, hops + 1);
            }
        }
    }

    /// Tells those who can send to a station what their ways through it cost.
    fn widen(&mut self, through: u32, cost: u64, hops: u32) {
        let range = self.graph.first[through as usize]..self.graph.first[through as usize + 1];
        for &(from, own) in &self.graph.links[range] {
            let label = &mut self.labels[from as usize];
            let found = (cost + u64::from(own.get()), hops);
            if label.search != self.search || found < (label.cost, label.hops) {
                let (cost, hops) = found;
                *label = Label { search: self.search, cost, hops, next: through };
                self.open.push(Reverse((cost, hops, from)));
            } else if found == (label.cost, label.hops) {
                label.next = label.next.min(through);
            }
        }
    }
}
