//! What a capture says of packets whose ways do not end with a hop.

use super::spec::{FlowSpec, Hop, NetworkSpec, Node, TcpFlowSpec, Traffic};
use crate::wlan::pcap::{Origin, Pcap, PcapError, TcpLeg, View};
use std::io::Write;

impl NetworkSpec {
    /// A capture of the radio, to be plugged in before anything happens; see [`Pcap::new`]. Packets have the addresses of the
    /// ends of their flows on all hops, and segments of TCP their headers.
    pub fn pcap<W: Write>(
        &self,
        view: View,
        snap_bytes: u32,
        out: W,
    ) -> Result<Pcap<W>, PcapError> {
        let mut pcap = Pcap::new(&self.wlan, view, snap_bytes, out)?;
        for (flow, of) in (0..).zip(&self.flows) {
            let FlowSpec { from, to, route, traffic, .. } = of;
            let (from, to) = (self.number(*from), self.number(*to));
            let leg = |tcp: &TcpFlowSpec, back| Some(TcpLeg { spec: tcp.tcp, back });
            if let Traffic::Tcp(tcp) = traffic {
                set_origins(&mut pcap, route, Origin { flow, from, to, tcp: leg(tcp, false) });
                let back = Origin { flow, from: to, to: from, tcp: leg(tcp, true) };
                set_origins(&mut pcap, &tcp.back, back);
            } else {
                set_origins(&mut pcap, route, Origin { flow, from, to, tcp: None });
            }
        }
        Ok(pcap)
    }

    /// A node's: hosts come after the stations.
    fn number(&self, node: Node) -> u32 {
        match node {
            Node::Station(id) => id.0,
            Node::Host(host) => self.wlan.stations.len() as u32 + host,
        }
    }
}

fn set_origins<W: Write>(pcap: &mut Pcap<W>, route: &[Hop], origin: Origin) {
    for &hop in route {
        if let Hop::Radio(radio) = hop {
            pcap.set_origin(radio, origin);
        }
    }
}
