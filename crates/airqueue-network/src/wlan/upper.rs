//! The upper layer, as the link layer sees it.

use super::engine::Event;
use crate::{HopId, InterfaceId};
use airqueue_core::{DataRate, Dropped, Packet, Span, Time};
use airqueue_wifi::medium::StationId;

/// The layer above the link layer. The link layer reports the fate of each offered packet, and asks saturated sources
/// for packets when a queue runs empty.
///
/// A packet names its hop over the air in [`Packet::flow`] ([`HopId::of`](crate::HopId::of)).
pub trait UpperLayer {
    /// The events of the loop that drives both layers.
    type Event: Copy + From<Event>;

    /// A queue has dropped a packet.
    fn on_dropped(&mut self, dropped: &Dropped);

    /// The MAC has taken a packet out of its queue.
    fn on_taken(&mut self, packet: &Packet, now: Time);

    /// Whether [`Self::on_sent`] is called.
    fn watches_frames(&self) -> bool {
        false
    }

    /// A data frame with a packet has ended; a packet is in as many frames as it takes. Called after
    /// [`Self::on_delivered`] of this frame's packets.
    fn on_sent(&mut self, _packet: &Packet) {}

    /// The MAC is done with a number of packets of a hop, one at least: the last data frame of each had this rate, and all
    /// their transmissions together took this time.
    fn on_finished<'a>(
        &mut self,
        hop: HopId,
        packets: (u64, impl Iterator<Item = &'a Packet>),
        rate: DataRate,
        airtime: Span,
    );

    /// The MAC has given up a packet that its receiver does not have.
    fn on_given_up(&mut self, packet: Packet);

    /// A packet that the MAC had taken out of its queue has been discarded while it waited for its receiver to wake up.
    fn on_discarded(&mut self, packet: Packet);

    /// Whether nothing of what the link layer has told waits to be dealt with after the present event.
    fn is_at_rest(&self) -> bool;

    /// The receiver has passed up these packets, all of them, or a packet to all stations has reached one of them at
    /// least: each packet once, and the packets of a sender's queue in order. Returns the number of packets.
    fn on_delivered<'a>(&mut self, packets: impl Iterator<Item = &'a Packet>, now: Time) -> usize;

    /// A station has associated with an access point: from now on packets go between the two.
    fn on_associated(&mut self, _station: StationId, _access_point: StationId) {}

    /// Number of saturated sources of a queue. Begins a round in which each source may add a packet.
    fn begin_top_up(&mut self, interface: InterfaceId) -> usize;

    /// The packet that a saturated source adds in its turn, if none of its packets waits.
    fn top_up(&mut self, interface: InterfaceId, turn: usize, now: Time) -> Option<Packet>;
}
