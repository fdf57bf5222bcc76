//! Captures of packets whose routes may continue beyond one hop over the air.

use super::spec::{Hop, NetworkSpec, Node, Traffic};
use crate::FlowId;
use crate::wlan::pcap::{Origin, Pcap, PcapError, TcpDirection, View};
use std::io::Write;

impl NetworkSpec {
    /// A capture of the air, to be plugged in before the network runs; see [`Pcap::new`]. On all hops packets carry the
    /// addresses of the ends of their flows, and TCP segments their headers.
    pub fn pcap<W: Write>(
        &self,
        view: View,
        snap_bytes: u32,
        out: W,
    ) -> Result<Pcap<W>, PcapError> {
        let mut pcap = Pcap::new(&self.wlan, view, snap_bytes, out)?;
        for (flow, of) in (0..).map(FlowId).zip(&self.flows) {
            let (from, to) = (self.number(of.from), self.number(of.to));
            let tcp = match &of.traffic {
                Traffic::Tcp(tcp) => Some(tcp),
                _ => None,
            };
            let answers = match &of.traffic {
                Traffic::Answered { back, .. } => Some(&**back),
                _ => None,
            };
            let direction = |back| tcp.map(|tcp| TcpDirection { spec: tcp.tcp, back });
            let there = Origin { flow, from, to, tcp: direction(false) };
            of.routes_of_lanes().for_each(|route| set_origins(&mut pcap, route, there));
            let back = Origin { flow, from: to, to: from, tcp: direction(true) };
            let routes = tcp.map(|tcp| &*tcp.back).or(answers).into_iter();
            let routes = routes.chain(of.others.iter().map(|other| &*other.back));
            let routes = routes.chain(of.lanes().iter().flatten().map(|lane| &*lane.back));
            routes.for_each(|route| set_origins(&mut pcap, route, back));
        }
        Ok(pcap)
    }

    /// The number of a node: stations first, then hosts.
    fn number(&self, node: Node) -> u32 {
        match node {
            Node::Station(id) => id.0,
            Node::Host(host) => self.wlan.stations.len() as u32 + host,
        }
    }
}

fn set_origins<W: Write>(pcap: &mut Pcap<W>, route: &[Hop], origin: Origin) {
    for hop in route.iter().filter_map(|hop| hop.over_air()) {
        pcap.set_origin(hop, origin);
    }
}
