//! What an access point keeps for stations that sleep: the buffers, and what they drop.
//!
//! Linux's mac80211 puts a packet for a station that sleeps into the station's buffer before the packet reaches a queue
//! (`ieee80211_tx_h_ps_buf` comes before `ieee80211_queue_skb` in `ieee80211_tx`); what a queue holds for the station when
//! the station falls asleep stays there (`sta_ps_start`), and comes before what the buffer holds
//! (`ieee80211_sta_ps_get_frames`, `ieee80211_sta_ps_deliver_wakeup`). With [`BeaconSpec::before_queue`] the access point
//! does so. Otherwise packets enter the buffer when their turn in the queue comes.
//!
//! [`BeaconSpec::before_queue`]: super::BeaconSpec::before_queue

use super::{Cell, Kept, Receivers, Sleeper};
use crate::HopId;
use crate::wlan::engine::Wlan;
use crate::wlan::upper::UpperLayer;
use airqueue_core::{NeighbourId, Packet, Span, Time};
use airqueue_wifi::phy::AccessCategory;

/// Packets that have been kept for so long are dropped (`STA_TX_BUFFER_EXPIRE`), and how often the access point looks for
/// them (`STA_INFO_CLEANUP_INTERVAL`).
const EXPIRY: Span = Span::from_secs(10);
const CLEANUP: Span = Span::from_secs(10);

impl<U: UpperLayer> Wlan<U> {
    /// Whether a packet that arrives waits in a buffer, instead of in its queue. Packets to all stations do not overtake
    /// those that wait for a DTIM (`ieee80211_tx_h_multicast_ps_buf`).
    #[inline(never)]
    pub(in crate::wlan) fn waits_before_queue(&self, packet: &Packet) -> bool {
        let hop = HopId::of(packet);
        let waits = match self.hops[hop.index()].receivers {
            Receivers::Awake => false,
            Receivers::Sleeper(at) => {
                let sleeper = &self.power.sleepers[at as usize];
                sleeper.dozing && self.power.cells[sleeper.cell as usize].spec.before_queue
            }
            Receivers::All(at) => {
                let cell = &self.power.cells[at as usize];
                cell.spec.before_queue && (cell.dozing > 0 || !cell.group.is_empty())
            }
        };
        waits && self.is_hop_open(hop)
    }

    /// Keeps a packet that arrives, and that no queue has had yet.
    #[cold]
    pub(in crate::wlan) fn keep_arrival(&mut self, packet: Packet, now: Time) {
        let hop = &mut self.hops[HopId::of(&packet).index()];
        self.interfaces[hop.interface.index()].backlog.add(&mut hop.presence);
        let packet = Packet { neighbour: hop.neighbour, ..packet };
        self.put(Kept { packet, since: now, arrived: true }, now);
    }

    /// Keeps a packet, which the queue has handed out.
    pub(super) fn keep(&mut self, packet: Packet, now: Time) {
        let interface = self.hops[HopId::of(&packet).index()].interface;
        self.interfaces[interface.index()].queue.tx_queue.on_put_aside(&packet);
        self.put(Kept { packet, since: now, arrived: false }, now);
    }

    fn put(&mut self, kept: Kept, now: Time) {
        let hop = &self.hops[HopId::of(&kept.packet).index()];
        let (receivers, ac) = (hop.receivers, self.interfaces[hop.interface.index()].ac);
        let at = match receivers {
            Receivers::Awake => unreachable!("packets wait for receivers that sleep"),
            Receivers::Sleeper(at) => self.power.sleepers[at as usize].cell,
            Receivers::All(at) => at,
        };
        self.make_room(at as usize, now);
        let cell = &mut self.power.cells[at as usize];
        let dropped = match receivers {
            Receivers::Sleeper(at) => {
                cell.cleanup.get_or_insert(now + CLEANUP);
                let sleeper = &mut self.power.sleepers[at as usize];
                let buffer = &mut sleeper.buffers[ac.index()];
                Kept::put(buffer, kept);
                sleeper.counters.kept += 1;
                let full = buffer.len() > cell.spec.buffer_packets;
                let dropped = if full { buffer.pop_front() } else { None };
                sleeper.counters.dropped += u64::from(dropped.is_some());
                dropped
            }
            _ => {
                Kept::put(&mut cell.group, kept);
                cell.counters.group_kept += 1;
                let full = cell.group.len() > cell.spec.group_buffer_packets;
                if full { cell.drop_of_group() } else { None }
            }
        };
        if let Some(dropped) = dropped {
            self.drop_kept(dropped, now);
        }
    }

    /// Where the buffers of an access point hold as much as they may together, each of them loses its oldest packet, those
    /// of a station in the lowest category that has one (`purge_old_ps_buffers`).
    fn make_room(&mut self, at: usize, now: Time) {
        let cell = &self.power.cells[at];
        let of = cell.members.iter().map(|&member| &self.power.sleepers[member as usize]);
        let kept: usize = of.flat_map(|of| &of.buffers).map(|buffer| buffer.len()).sum();
        if kept + cell.group.len() < cell.spec.total_buffer_packets {
            return;
        }
        if let Some(dropped) = self.power.cells[at].drop_of_group() {
            self.drop_kept(dropped, now);
        }
        for place in 0..self.power.cells[at].members.len() {
            let member = self.power.cells[at].members[place] as usize;
            let sleeper = &mut self.power.sleepers[member];
            let Some(buffer) = sleeper.buffers.iter_mut().find(|buffer| !buffer.is_empty()) else {
                continue;
            };
            let dropped = buffer.pop_front();
            sleeper.counters.dropped += u64::from(dropped.is_some());
            if let Some(dropped) = dropped {
                self.drop_kept(dropped, now);
            }
        }
    }

    /// Every [`CLEANUP`] while packets are kept, those that have been kept for too long are dropped
    /// (`sta_info_cleanup_expire_buffered_ac`); at a beacon here.
    pub(super) fn clean_up(&mut self, at: usize, now: Time) {
        if self.power.cells[at].cleanup.is_none_or(|due| due > now) {
            return;
        }
        let mut left = false;
        for place in 0..self.power.cells[at].members.len() {
            let member = self.power.cells[at].members[place] as usize;
            let most = self.power.sleepers[member].expiry(&self.power.cells[at]);
            for ac in AccessCategory::ALL {
                let sleeper = &mut self.power.sleepers[member];
                let buffer = &mut sleeper.buffers[ac.index()];
                let mut expired = Vec::new();
                while buffer.front().is_some_and(|kept| now - kept.since > most) {
                    expired.extend(buffer.pop_front());
                }
                left |= !buffer.is_empty();
                sleeper.counters.dropped += expired.len() as u64;
                expired.into_iter().for_each(|kept| self.drop_kept(kept, now));
            }
        }
        self.power.cells[at].cleanup = left.then(|| now + CLEANUP);
    }

    fn drop_kept(&mut self, kept: Kept, now: Time) {
        let packet = self.enter(kept, now);
        let interface = self.hops[HopId::of(&packet).index()].interface;
        self.end_in_queue(interface, &packet, false, now);
        self.upper.on_discarded(packet);
    }

    /// A packet leaves its buffer other than into the queue: one that no queue has had counts as one that has waited in the
    /// queue for no time.
    pub(super) fn enter(&mut self, kept: Kept, now: Time) -> Packet {
        let mut packet = kept.packet;
        if kept.arrived {
            packet.enqueued = now;
            self.upper.on_taken(&packet, now);
        }
        packet
    }

    /// The neighbour number of a station that sleeps at a queue of its access point, if packets go there.
    fn neighbour_of(&self, at: usize, ac: AccessCategory) -> Option<NeighbourId> {
        self.power.sleepers[at].neighbours[ac.index()]
    }

    /// Whether the queues of the access point hold back packets for a station from now on.
    pub(super) fn set_asleep(&mut self, at: usize, asleep: bool) {
        let sleeper = &self.power.sleepers[at];
        if !self.power.cells[sleeper.cell as usize].spec.before_queue {
            return;
        }
        let ap = sleeper.spec.access_point;
        for ac in AccessCategory::first(self.queues_of(ap)) {
            if let Some(neighbour) = self.neighbour_of(at, ac) {
                let interface = self.interface_of(ap, ac);
                let queue = &mut self.interfaces[interface.index()].queue;
                queue.tx_queue.set_asleep(neighbour, asleep);
            }
        }
    }

    /// Number of packets of a category that wait for a station that sleeps: in its buffer, and held back by the queue.
    pub(super) fn kept_in(&self, at: usize, ac: AccessCategory) -> usize {
        self.power.sleepers[at].buffers[ac.index()].len() + self.held_in_queue(at, ac)
    }

    fn held_in_queue(&self, at: usize, ac: AccessCategory) -> usize {
        let ap = self.power.sleepers[at].spec.access_point;
        let Some(neighbour) = self.neighbour_of(at, ac) else { return 0 };
        let interface = self.interface_of(ap, ac);
        self.interfaces[interface.index()].queue.tx_queue.held_for(neighbour)
    }

    /// Whether packets of any of these categories wait for a station that sleeps.
    pub(super) fn has_kept(
        &self,
        at: usize,
        of: impl Fn(&Sleeper<U::Event>, AccessCategory) -> bool,
    ) -> bool {
        let sleeper = &self.power.sleepers[at];
        AccessCategory::ALL.into_iter().any(|ac| of(sleeper, ac) && self.kept_in(at, ac) > 0)
    }

    /// Takes the first packet of the highest of these categories that has one, and has the device count the packet: what
    /// the queue holds back comes first (`ieee80211_sta_ps_get_frames`).
    pub(super) fn take_kept(
        &mut self,
        at: usize,
        now: Time,
        of: impl Fn(&Sleeper<U::Event>, AccessCategory) -> bool,
    ) -> Option<(AccessCategory, Packet)> {
        for ac in AccessCategory::ALL.into_iter().rev() {
            if !of(&self.power.sleepers[at], ac) {
                continue;
            }
            if let Some(packet) = self.take_held_in_queue(at, ac, now) {
                return Some((ac, packet));
            }
            let sleeper = &mut self.power.sleepers[at];
            let Some(kept) = sleeper.buffers[ac.index()].pop_front() else { continue };
            sleeper.waits.add(now - kept.since);
            let packet = self.enter(kept, now);
            let interface = self.hops[HopId::of(&packet).index()].interface;
            self.interfaces[interface.index()].queue.tx_queue.on_taken_up(&packet);
            if kept.arrived {
                self.top_up(interface, now);
            }
            return Some((ac, packet));
        }
        None
    }

    fn take_held_in_queue(&mut self, at: usize, ac: AccessCategory, now: Time) -> Option<Packet> {
        if self.held_in_queue(at, ac) == 0 {
            return None;
        }
        let neighbour = self.neighbour_of(at, ac)?;
        let interface = self.interface_of(self.power.sleepers[at].spec.access_point, ac);
        let queue = &mut self.interfaces[interface.index()].queue;
        let packet = queue.take_for_neighbour(neighbour, now);
        self.report_drops(interface);
        if let Some(packet) = &packet {
            self.upper.on_taken(packet, now);
        }
        self.top_up(interface, now);
        packet
    }
}

impl Kept {
    /// Adds a packet at its place: what a queue has had is older than what no queue has had.
    fn put(buffer: &mut std::collections::VecDeque<Kept>, kept: Kept) {
        let place = match kept.arrived {
            true => buffer.len(),
            false => buffer.iter().position(|other| other.arrived).unwrap_or(buffer.len()),
        };
        buffer.insert(place, kept);
    }
}

impl Cell {
    /// Takes the oldest packet to all stations out, which is dropped.
    fn drop_of_group(&mut self) -> Option<Kept> {
        let dropped = self.group.pop_front()?;
        self.counters.group_dropped += 1;
        Some(dropped)
    }
}

impl<E> Sleeper<E> {
    /// How long packets are kept at most: twice the listen interval, if that is more (`sta_info_buffer_expired`). An
    /// agreement on wake times says itself when the station comes.
    fn expiry(&self, cell: &Cell) -> Span {
        if self.twt.is_some() {
            return Span::from_nanos(i64::MAX);
        }
        let beacons = 2 * i64::from(self.spec.listen_interval);
        let seconds = cell.spec.interval.as_nanos().saturating_mul(beacons) / 1_000_000_000;
        EXPIRY.max(Span::from_nanos(seconds.saturating_mul(1_000_000_000)))
    }
}
