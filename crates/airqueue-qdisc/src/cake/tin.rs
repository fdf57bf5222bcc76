//! A tin of CAKE: hashed queues that take turns, each under COBALT, and the hosts that share the queues.

use super::chains::{Chain, Chains};
use super::cobalt::{Cobalt, CobaltParams};
use super::diffserv::Share;
use super::hosts::HostTable;
use super::shaper::Pace;
use super::{CakeParams, Isolation};
use airqueue_core::{RandomStream, Span, Time};

/// Queues of a tin (`CAKE_QUEUES`).
pub(super) const QUEUES: usize = 1024;
/// Queues that a flow may be hashed to (`CAKE_SET_WAYS`).
pub(super) const WAYS: usize = 8;

/// The longest and the shortest turn of a queue in bytes (`cake_set_rate`).
const MOST_QUANTUM: u64 = 1514;
const LEAST_QUANTUM: u64 = 300;

/// The state of a queue among the turns (`CAKE_SET_NONE` and so on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    /// In no chain, and without a flow.
    #[default]
    Free,
    Sparse,
    /// Counts as sparse, although among the old queues: the queue was empty when its turn was used up.
    SparseWait,
    Bulk,
    Decaying,
}

/// The state of a queue; the packets are stored elsewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    cobalt: Cobalt,
    deficit: i64,
    /// The flow that the queue belongs to.
    tag: u32,
    source: u16,
    destination: u16,
    set: Set,
}

/// A tin.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    params: CobaltParams,
    pace: Pace,
    /// The time at which the tin's packets sent so far end, at the tin's share of the rate. Until then other tins come
    /// first.
    next: Time,
    quantum: u64,
    /// Bytes of the tin's turn, and what is left of the turn, if there is no rate.
    turn: i64,
    deficit: i64,
    queues: Vec<Queue>,
    chains: Chains,
    hosts: HostTable,
    isolation: Isolation,
    sparse: u32,
    bulk: u32,
    /// Packets that wait in the tin.
    pub(super) packets: usize,
}

impl Tin {
    /// An empty tin (`cake_set_rate`).
    pub(super) fn new(params: &CakeParams, share: Share) -> Tin {
        let pace = Pace::new(share.rate);
        let mtu_time = pace.time_for(params.mtu);
        let (rtt, usual) = (params.interval(), params.target());
        let target = usual.max(Span::from_nanos(mtu_time.as_nanos().saturating_mul(3) / 2));
        let quantum = match share.rate {
            0 => MOST_QUANTUM,
            rate => (rate >> 12).clamp(LEAST_QUANTUM, MOST_QUANTUM),
        };
        Tin {
            params: CobaltParams {
                target,
                interval: (rtt + (target - usual)).max(target + target),
                mtu_time,
            },
            pace,
            next: Time::ZERO,
            quantum,
            turn: i64::from(share.quantum),
            deficit: 0,
            queues: vec![Queue::default(); QUEUES],
            chains: Chains::new(QUEUES as u16),
            hosts: HostTable::new(params.isolation),
            isolation: params.isolation,
            sparse: 0,
            bulk: 0,
            packets: 0,
        }
    }

    /// Whether a queue of the tin waits for a turn.
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The queue of a packet: of the eight places that the hash allows, the place of the flow, or else the first free
    /// place; if all are taken, two flows share the first place (`cake_hash`). `hosts` gives the hashes of the packet's
    /// source and destination, which only a queue with a new flow needs.
    pub(super) fn place(&mut self, flow: u32, hosts: impl FnOnce() -> [u32; 2]) -> usize {
        if self.isolation == Isolation::Blind {
            return 0;
        }
        let place = flow as usize % QUEUES;
        if self.queues[place].tag == flow && self.queues[place].set != Set::Free {
            return place;
        }
        let found = ways(place).find(|&way| self.queues[way].tag == flow);
        if let Some(own) = found
            && self.queues[own].set != Set::Free
        {
            return own;
        }
        let free = || ways(place).find(|&way| self.queues[way].set == Set::Free);
        let place = found.or_else(free).unwrap_or(place);
        self.take_over(place, flow, hosts());
        place
    }

    /// Assigns a queue to another flow and its hosts.
    fn take_over(&mut self, place: usize, flow: u32, [source, destination]: [u32; 2]) {
        let is_bulk = self.queues[place].set == Set::Bulk;
        if is_bulk {
            self.count_host(place, false);
        }
        let queue = &mut self.queues[place];
        queue.tag = flow;
        if let Some(source) = self.hosts.source(source) {
            queue.source = source;
        }
        if let Some(destination) = self.hosts.destination(destination) {
            queue.destination = destination;
        }
        if is_bulk {
            self.count_host(place, true);
        }
    }

    /// Counts a bulk flow more, or less, for the hosts of a queue.
    fn count_host(&mut self, queue: usize, more: bool) {
        let Queue { source, destination, .. } = self.queues[queue];
        self.hosts.count(source, destination, more);
    }

    /// The turn of a queue, divided by the number of bulk flows of the busier host (`cake_get_flow_quantum`). The
    /// remainder of the division is rounded at random.
    fn quantum(&self, queue: usize, random: &mut RandomStream) -> i64 {
        let Queue { source, destination, .. } = self.queues[queue];
        let load = u64::from(self.hosts.load(source, destination));
        let dither = random.next_u64() & 0xffff;
        ((self.quantum * (65_535 / load) + dither) >> 16) as i64
    }

    /// A packet arrives at an empty tin: the share that the tin did not use is lost (`cake_enqueue`).
    pub(super) fn restart(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// A packet has arrived at a queue.
    pub(super) fn on_arrival(&mut self, queue: usize, random: &mut RandomStream) {
        match self.queues[queue].set {
            Set::Free | Set::Decaying => {
                self.chains.move_to(queue, Chain::New);
                self.queues[queue].set = Set::Sparse;
                self.sparse += 1;
                self.queues[queue].deficit = self.quantum(queue, random);
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.become_bulk(queue);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn become_bulk(&mut self, queue: usize) {
        self.queues[queue].set = Set::Bulk;
        self.bulk += 1;
        self.count_host(queue, true);
    }

    /// The queue whose turn it is (`cake_dequeue`). `decaying`: a decaying queue comes first, once per packet.
    pub(super) fn turn(
        &mut self,
        mut decaying: bool,
        holds_packets: impl Fn(usize) -> bool,
        random: &mut RandomStream,
    ) -> Option<usize> {
        loop {
            let first = if decaying { self.chains.first(Chain::Decaying) } else { None };
            let of = |chain| self.chains.first(chain);
            let first = first
                .or_else(|| of(Chain::New))
                .or_else(|| of(Chain::Old))
                .or_else(|| of(Chain::Decaying));
            let queue = first?;
            decaying = false;
            if self.queues[queue].deficit > 0 {
                return Some(queue);
            }
            if self.queues[queue].set == Set::Sparse {
                if holds_packets(queue) {
                    self.sparse -= 1;
                    self.become_bulk(queue);
                } else {
                    self.queues[queue].set = Set::SparseWait;
                }
            }
            self.queues[queue].deficit += self.quantum(queue, random);
            self.chains.move_to(queue, Chain::Old);
        }
    }

    /// A queue that had its turn is empty: the queue stays in a chain while its AQM has a history.
    pub(super) fn on_empty(&mut self, queue: usize, now: Time) {
        self.queues[queue].cobalt.on_empty(&self.params, now);
        match self.queues[queue].set {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_host(queue, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Free | Set::Decaying => {}
        }
        if self.queues[queue].cobalt.is_at_rest(now) {
            self.chains.remove(queue);
            self.queues[queue].set = Set::Free;
        } else {
            self.chains.move_to(queue, Chain::Decaying);
            self.queues[queue].set = Set::Decaying;
        }
    }

    /// The AQM of a queue.
    pub(super) fn cobalt(&mut self, queue: usize) -> (&mut Cobalt, &CobaltParams) {
        (&mut self.queues[queue].cobalt, &self.params)
    }

    /// A packet of a queue leaves (`cake_advance_shaper`).
    pub(super) fn charge(&mut self, queue: usize, bytes: u32, now: Time) {
        self.queues[queue].deficit -= i64::from(bytes);
        self.deficit -= i64::from(bytes);
        let time = self.pace.time_for(bytes);
        if self.next < now {
            self.next = self.next.saturating_add(time);
        } else {
            self.next = self.next.max(now.saturating_add(time));
        }
    }

    /// Whether the tin has its turn, in the round of tins without a rate. A tin that has used up its turn gets the next
    /// turn.
    pub(super) fn has_turn(&mut self) -> bool {
        let has = self.deficit >= 0 && self.is_active();
        if !has && self.deficit <= 0 {
            self.deficit += self.turn;
        }
        has
    }

    /// By how much time the tin is ahead of its share of the rate.
    pub(super) fn ahead(&self, now: Time) -> Span {
        self.next - now
    }
}

/// The places that a hash allows: eight adjacent places, starting at the hash's own.
pub(super) fn ways(place: usize) -> impl Iterator<Item = usize> {
    let (inner, outer) = (place % WAYS, place - place % WAYS);
    (0..WAYS).map(move |step| outer + (inner + step) % WAYS)
}
