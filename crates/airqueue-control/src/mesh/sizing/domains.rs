//! Collision domains: the links that share the air with a link (MESH section 3.1).

use super::{ALIKE, Mesh, MeshError, SATURATED};

/// How busy the media of all nodes were measured to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Busy {
    /// Of each node, the fraction of time.
    pub fraction: Vec<f64>,
    /// Whether each node calls its medium full.
    pub full: Vec<bool>,
}

impl Busy {
    /// Fractions of which those from [`SATURATED`] are full.
    pub fn new(fraction: Vec<f64>) -> Busy {
        let full = fraction.iter().map(|&of| of >= SATURATED).collect();
        Busy { fraction, full }
    }
}

/// The domains of the links of a mesh; domain i is that of link i: the link, and all links of its channel that have
/// an end in the hearing of one of its ends (two hops).
///
/// ```
/// use airqueue_control::mesh::sizing::{Domains, Flow, Link, Mesh};
///
/// let link = |sender| Link { sender, receiver: sender + 1, rate_bps: 11e6, round_trip_s: 2.698e-3, channel: 1 };
/// let flow = Flow { hops: vec![0, 1, 2, 3], demand_bps: None, other_delay_s: 0.0 };
/// let chain = Mesh { nodes: 5, hears: vec![], links: (0..4).map(link).collect(), flows: vec![flow] };
/// let sized = Domains::new(&chain).unwrap().buffers(None, 1460.0, 1);
/// assert_eq!(sized[0].packets, [2, 2, 3, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Domains<'a> {
    pub(super) mesh: &'a Mesh,
    /// Links of each domain, ascending.
    members: Vec<Vec<usize>>,
    /// Of each domain, the flows in it, ascending, and their air time in it per bit.
    pub(super) load: Vec<Vec<(usize, f64)>>,
    /// Of each flow, the domains that it crosses, ascending, and its hops in each.
    pub(super) crossed: Vec<Vec<(usize, usize)>>,
}

impl<'a> Domains<'a> {
    /// The domains of a mesh.
    pub fn new(mesh: &'a Mesh) -> Result<Domains<'a>, MeshError> {
        mesh.check()?;
        let members = interference(mesh);
        let mut users = vec![Vec::new(); mesh.links.len()];
        for (flow, of) in mesh.flows.iter().enumerate() {
            of.hops.iter().for_each(|&hop| users[hop].push(flow));
        }
        let mut load = Vec::with_capacity(members.len());
        let mut crossed = vec![Vec::new(); mesh.flows.len()];
        // Of the domain in hand, by flow.
        let mut sums = vec![(0, 0.0); mesh.flows.len()];
        for (domain, inside) in members.iter().enumerate() {
            let mut there = Vec::new();
            for &link in inside {
                for &flow in &users[link] {
                    let (hops, air) = &mut sums[flow];
                    if *hops == 0 {
                        there.push(flow);
                    }
                    *hops += 1;
                    *air += 1.0 / mesh.links[link].rate_bps;
                }
            }
            there.sort_unstable();
            let taken = there.into_iter().map(|flow| (flow, std::mem::take(&mut sums[flow])));
            let taken: Vec<_> = taken.collect();
            taken.iter().for_each(|&(flow, (hops, _))| crossed[flow].push((domain, hops)));
            load.push(taken.into_iter().map(|(flow, (_, air))| (flow, air)).collect());
        }
        Ok(Domains { mesh, members, load, crossed })
    }

    /// The flow's hops within a domain, counted from 0 at the source.
    pub(super) fn hops(&self, domain: usize, flow: usize) -> Vec<usize> {
        let inside = &self.members[domain];
        let route = self.mesh.flows[flow].hops.iter().enumerate();
        route.filter(|(_, link)| inside.binary_search(link).is_ok()).map(|(hop, _)| hop).collect()
    }

    /// How much of its time each domain is used at these rates of the flows.
    pub(super) fn utilisation(&self, rates_bps: &[f64]) -> Vec<f64> {
        let of =
            |load: &Vec<(usize, f64)>| load.iter().map(|&(flow, air)| air * rates_bps[flow]).sum();
        self.load.iter().map(of).collect()
    }

    /// How busy the domain is: the busier end of the link in its middle. One end that says "full" makes the domain
    /// full.
    pub(super) fn busy(&self, domain: usize, busy: &Busy) -> (f64, bool) {
        let link = &self.mesh.links[domain];
        let ends = [link.sender, link.receiver];
        let fraction = ends.map(|node| busy.fraction.get(node).copied().unwrap_or(0.0));
        let full = ends.iter().any(|&node| busy.full.get(node).copied().unwrap_or(false));
        (fraction[0].max(fraction[1]), full)
    }

    /// Of the domains that a flow crosses, those that measured busy times leave as its bottleneck: the full ones, or
    /// else those about as busy as the busiest, which a measurement does not tell apart.
    pub(super) fn likely(&self, flow: usize, busy: &Busy) -> Vec<usize> {
        let measured: Vec<_> = self.crossed[flow]
            .iter()
            .map(|&(domain, _)| (domain, self.busy(domain, busy)))
            .collect();
        let full: Vec<_> =
            measured.iter().filter(|(_, (_, full))| *full).map(|&(domain, _)| domain).collect();
        if !full.is_empty() {
            return full;
        }
        let busiest = measured.iter().map(|(_, (fraction, _))| *fraction).fold(0.0, f64::max);
        let near = measured.iter().filter(|(_, (fraction, _))| *fraction >= busiest - ALIKE);
        near.map(|&(domain, _)| domain).collect()
    }
}

fn interference(mesh: &Mesh) -> Vec<Vec<usize>> {
    let mut hears: Vec<Vec<usize>> = (0..mesh.nodes).map(|node| vec![node]).collect();
    let linked = mesh.links.iter().map(|link| (link.sender, link.receiver));
    for (a, b) in mesh.hears.iter().copied().chain(linked) {
        hears[a].push(b);
        hears[b].push(a);
    }
    let mut at_node = vec![Vec::new(); mesh.nodes];
    for (i, link) in mesh.links.iter().enumerate() {
        at_node[link.sender].push(i);
        at_node[link.receiver].push(i);
    }
    // By link: the last domain that it was put into.
    let mut put_into = vec![usize::MAX; mesh.links.len()];
    let members = |(domain, link): (usize, &super::Link)| {
        let mut inside = Vec::new();
        for &node in hears[link.sender].iter().chain(&hears[link.receiver]) {
            for &other in &at_node[node] {
                if put_into[other] != domain && mesh.links[other].channel == link.channel {
                    put_into[other] = domain;
                    inside.push(other);
                }
            }
        }
        inside.sort_unstable();
        inside
    };
    mesh.links.iter().enumerate().map(members).collect()
}
