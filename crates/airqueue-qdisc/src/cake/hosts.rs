//! The hosts of a tin's flows, and how many bulk flows each has.

use super::Isolation;
use super::tin::{QUEUES, ways};

/// A host at one end of flows.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    bulk: u16,
}

/// Hosts by their hash, as sources and as destinations of flows.
#[derive(Clone, Debug)]
pub(super) struct HostTable {
    /// Empty if hosts do not count.
    sources: Vec<Host>,
    destinations: Vec<Host>,
}

impl HostTable {
    pub(super) fn new(isolation: Isolation) -> HostTable {
        let table = |counts| vec![Host::default(); if counts { QUEUES } else { 0 }];
        HostTable {
            sources: table(isolation.counts_sources()),
            destinations: table(isolation.counts_destinations()),
        }
    }

    /// The place of a source host, if sources count.
    pub(super) fn source(&mut self, hash: u32) -> Option<u16> {
        find(&mut self.sources, hash)
    }

    /// The place of a destination host, if destinations count.
    pub(super) fn destination(&mut self, hash: u32) -> Option<u16> {
        find(&mut self.destinations, hash)
    }

    /// Counts a bulk flow between two hosts more, or less.
    pub(super) fn count(&mut self, source: u16, destination: u16, more: bool) {
        for (hosts, at) in [(&mut self.sources, source), (&mut self.destinations, destination)] {
            if let Some(host) = hosts.get_mut(usize::from(at)) {
                let bulk = host.bulk;
                host.bulk = if more { bulk + 1 } else { bulk.saturating_sub(1) };
            }
        }
    }

    /// The number of bulk flows of the busier of two hosts; at least one.
    pub(super) fn load(&self, source: u16, destination: u16) -> u16 {
        let of = |hosts: &[Host], at: u16| hosts.get(usize::from(at)).map_or(1, |host| host.bulk);
        of(&self.sources, source).max(of(&self.destinations, destination)).max(1)
    }
}

/// The place of a host among the eight places that the hash allows: the host's own, or the place of a host without bulk
/// flows (`cake_hash`).
fn find(hosts: &mut [Host], hash: u32) -> Option<u16> {
    if hosts.is_empty() {
        return None;
    }
    let place = hash as usize % QUEUES;
    let own = ways(place).find(|&way| hosts[way].tag == hash);
    let at = own.unwrap_or_else(|| {
        let at = ways(place).find(|&way| hosts[way].bulk == 0).unwrap_or(place);
        hosts[at].tag = hash;
        at
    });
    Some(at as u16)
}
