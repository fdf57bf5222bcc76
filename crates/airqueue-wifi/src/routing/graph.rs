//! The cheapest route from one station to another.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

/// The cost of a link, in any unit, never zero.
pub type Cost = NonZeroU32;

/// Directed links between the stations 0 to n - 1, with their costs.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the links into each station begin in `links`, and the end of the last.
    first: Vec<usize>,
    /// The transmitter, and the cost.
    links: Vec<(u32, Cost)>,
}

/// The routes in a graph: the cheapest; of equally cheap routes those with the fewest hops; of these the route whose
/// stations have the lowest numbers, compared from the sender on.
///
/// Each part of such a route is itself such a route. All packets to a destination therefore follow the same route from
/// the station where their routes meet. Successive queries for one destination share one search.
#[derive(Clone, Debug)]
pub struct ShortestPaths {
    graph: Graph,
    to: Option<u32>,
    labels: Vec<Label>,
    /// Stations by the cost from there to `to`, as far as known; outdated entries too.
    open: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Number of the current search, one for each destination: labels of other searches are invalid.
    search: u64,
}

/// The known route from a station to the destination.
#[derive(Clone, Copy, Debug, Default)]
struct Label {
    search: u64,
    cost: u64,
    hops: u32,
    next: u32,
}

impl Graph {
    /// A graph of `stations` stations; `into` lists for each station the stations that can send to it and the cost of
    /// each link, each station at most once.
    ///
    /// # Panics
    ///
    /// If a link begins at a station outside the graph.
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

    /// The stations that can send to a station, with the cost of each link.
    ///
    /// # Panics
    ///
    /// If the station is not in the graph.
    pub fn into(&self, to: usize) -> impl Iterator<Item = (usize, Cost)> {
        self.links[self.first[to]..self.first[to + 1]]
            .iter()
            .map(|&(from, cost)| (from as usize, cost))
    }

    /// For each station, whether there is a route to `to`.
    ///
    /// # Panics
    ///
    /// If the station is not in the graph.
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
    /// The routes in a graph.
    pub fn new(graph: Graph) -> ShortestPaths {
        let labels = vec![Label::default(); graph.stations()];
        ShortestPaths { graph, to: None, labels, open: BinaryHeap::new(), search: 0 }
    }

    /// The graph of these routes.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The stations on the route, both ends included; `None`: there is no route.
    ///
    /// # Panics
    ///
    /// If a station is not in the graph.
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

    /// The cost of the route that [`Self::between`] returns.
    ///
    /// # Panics
    ///
    /// If a station is not in the graph.
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
            // Only stations nearer than `from` can be on a route from `from`.
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

    /// Updates the costs of the stations that can send to a station with their routes through it.
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
