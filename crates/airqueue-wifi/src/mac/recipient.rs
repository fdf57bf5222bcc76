//! The recipient (IEEE 802.11-2016, 10.24) of the MPDUs that an access category of another station sends to this
//! station.

use crate::phy::frames;
use airqueue_core::Packet;
use std::collections::VecDeque;

/// The largest window of a block ack agreement.
const LONGEST_WINDOW: usize = frames::LONGEST_WINDOW as usize;

/// The state of a recipient: its scoreboard, or its duplicate detection (10.3.2.11), and its reorder buffer
/// (10.24.7.6).
///
/// Sequence numbers do not wrap around. The recipient learns at once that its originator has given an MPDU up
/// ([`Self::skip`]), not only with the next frame or block ack request.
#[derive(Clone, Debug)]
pub(super) struct Recipient {
    /// All MPDUs before this sequence number have been passed up, or will never arrive.
    next: u64,
    /// The MPDUs from `next` on, as far as any has been received: they wait for an earlier MPDU.
    reorder: VecDeque<Option<Packet>>,
    /// Which MPDUs of the last A-MPDU have been decoded, one bit for each position.
    decoded: [u64; LONGEST_WINDOW / 64],
    /// The sequence number of the last MPDU of the last A-MPDU, decoded or not.
    last: u64,
}

/// The contents of a block ack. They stay with the recipient until the frame has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scoreboard {
    /// All MPDUs before this sequence number have been received, or have been given up.
    next: u64,
    /// Which MPDUs from `next` on have been received.
    received: [u64; LONGEST_WINDOW / 64],
    /// How many MPDUs of the acknowledged A-MPDU have been decoded, including those received before. A real block ack
    /// does not carry this number; rate control receives it nevertheless.
    pub(super) decoded: u32,
}

fn bit(place: usize) -> (usize, u64) {
    (place / 64, 1 << (place % 64))
}

impl Scoreboard {
    /// How many MPDUs from a sequence number on the recipient has without a gap, at least.
    pub(super) fn run_from(&self, sequence: u64) -> u64 {
        let before = self.next.saturating_sub(sequence);
        let place = (sequence + before - self.next) as usize;
        let Some(word) = self.received.get(place / 64) else { return before };
        let within = u64::from((word >> (place % 64)).trailing_ones());
        let more = self.received[place / 64 + 1..].iter();
        let reaches_end = within == 64 - place as u64 % 64;
        let full = if reaches_end { more.take_while(|&&word| word == u64::MAX).count() } else { 0 };
        before + within + 64 * full as u64
    }

    /// Whether the recipient has an MPDU.
    pub(super) fn has(&self, sequence: u64) -> bool {
        let Some(place) = sequence.checked_sub(self.next) else { return true };
        let (word, bit) = bit(place as usize);
        self.received.get(word).is_some_and(|word| word & bit != 0)
    }
}

impl Recipient {
    /// A recipient that has received nothing.
    pub(super) fn new() -> Recipient {
        Recipient {
            next: 0,
            // Without A-MPDUs a larger capacity is never needed.
            reorder: VecDeque::with_capacity(1),
            decoded: [0; LONGEST_WINDOW / 64],
            last: 0,
        }
    }

    /// An MPDU has been decoded.
    #[inline]
    pub(super) fn receive(&mut self, sequence: u64, packet: &Packet) {
        let Some(place) = sequence.checked_sub(self.next) else { return };
        let (place, known) = (place as usize, self.reorder.len());
        if place < known {
            self.reorder[place] = Some(*packet);
            return;
        }
        for _ in known..place {
            self.reorder.push_back(None);
        }
        self.reorder.push_back(Some(*packet));
    }

    /// An A-MPDU has been received: its MPDUs, each with whether it has been decoded. True if any has been decoded.
    #[inline]
    pub(super) fn receive_ampdu<'a>(
        &mut self,
        mpdus: impl Iterator<Item = (u64, &'a Packet, bool)>,
    ) -> bool {
        let mut decoded_at = [0; LONGEST_WINDOW / 64];
        for (place, (sequence, packet, decoded)) in mpdus.enumerate() {
            self.last = sequence;
            if decoded {
                let (word, bit) = bit(place);
                decoded_at[word] |= bit;
                self.receive(sequence, packet);
            }
        }
        self.decoded = decoded_at;
        decoded_at != [0; LONGEST_WINDOW / 64]
    }

    /// Whether the MPDU at this position of the last A-MPDU has been decoded.
    pub(super) fn has_decoded(&self, place: usize) -> bool {
        let (word, bit) = bit(place);
        self.decoded.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The packets to be passed up, each packet once and in order: [`Self::remove`] is due.
    #[inline]
    pub(super) fn ready(&self) -> impl Iterator<Item = &Packet> {
        self.reorder.iter().map_while(Option::as_ref)
    }

    /// The packets that were to be passed up before the last MPDU of the last A-MPDU ended: sequence numbers rise
    /// within a frame, so that the last MPDU releases only itself and later packets.
    pub(super) fn ready_before_last(&self) -> impl Iterator<Item = &Packet> {
        self.ready().take(self.last.saturating_sub(self.next) as usize)
    }

    /// So many packets have been passed up.
    #[inline]
    pub(super) fn remove(&mut self, packets: usize) {
        self.next += packets as u64;
        if packets == 1 {
            self.reorder.pop_front();
        } else {
            self.reorder.drain(..packets);
        }
    }

    /// Whether an MPDU has been received, even if it still waits to be passed up.
    #[inline]
    pub(super) fn has(&self, sequence: u64) -> bool {
        match sequence.checked_sub(self.next) {
            None => true,
            Some(place) => self.reorder.get(place as usize).is_some_and(Option::is_some),
        }
    }

    /// Whether an MPDU has been passed up.
    pub(super) fn is_past(&self, sequence: u64) -> bool {
        sequence < self.next
    }

    /// This MPDU will never arrive, and neither will any earlier MPDU that is still missing.
    pub(super) fn skip(&mut self, sequence: u64) {
        while self.next <= sequence {
            self.next += 1;
            let missing = self.reorder.pop_front().flatten().is_none();
            debug_assert!(missing, "what was received is passed up first");
        }
    }

    /// The contents of a block ack sent now.
    pub(super) fn scoreboard(&self) -> Scoreboard {
        let mut received = [0; LONGEST_WINDOW / 64];
        let mut word = 0;
        for (place, packet) in self.reorder.iter().enumerate() {
            word |= u64::from(packet.is_some()) << (place % 64);
            if place % 64 == 63 {
                received[place / 64] = std::mem::take(&mut word);
            }
        }
        if let Some(last) = received.get_mut(self.reorder.len() / 64) {
            *last = word;
        }
        let decoded = self.decoded.iter().map(|word| word.count_ones()).sum();
        Scoreboard { next: self.next, received, decoded }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airqueue_core::{FlowKey, Time};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn packet(sequence: u64) -> Packet {
        Packet::new(sequence, FlowKey(0), 100, Time::ZERO)
    }

    fn pass_up(recipient: &mut Recipient) -> Vec<u64> {
        let packets: Vec<u64> = recipient.ready().map(|packet| packet.id).collect();
        recipient.remove(packets.len());
        packets
    }

    proptest! {
        /// Whatever the order and number of receptions of the MPDUs of a window, each is passed up once and in order,
        /// and the scoreboard contains them all.
        #[test]
        fn each_is_passed_up_once_and_in_order(
            mpdus in prop::collection::vec((0u64..256, any::<bool>()), 1..600),
        ) {
            let (mut recipient, mut seen) = (Recipient::new(), Vec::new());
            let mut received = BTreeSet::new();
            for (sequence, passes_up) in mpdus {
                recipient.receive(sequence, &packet(sequence));
                received.insert(sequence);
                if passes_up {
                    seen.extend(pass_up(&mut recipient));
                }
                let scoreboard = recipient.scoreboard();
                for from in [0, sequence, sequence / 2] {
                    let run = scoreboard.run_from(from);
                    prop_assert!((from..from + run).all(|each| scoreboard.has(each)), "{run} from {from}");
                    prop_assert!(run > 0 || !scoreboard.has(from));
                }
                for sequence in 0..256 {
                    prop_assert_eq!(scoreboard.has(sequence), received.contains(&sequence));
                    prop_assert_eq!(recipient.has(sequence), received.contains(&sequence));
                }
            }
            seen.extend(pass_up(&mut recipient));
            let in_order = received.iter().copied().zip(0..).take_while(|(a, b)| a == b);
            prop_assert_eq!(seen, in_order.map(|(a, _)| a).collect::<Vec<_>>());
        }
    }

    /// MPDUs 0 to 5 in two A-MPDUs: 1 and 3 are lost at first, and 1 completes 2, 3 completes 4 and 5.
    #[test]
    fn the_last_mpdu_of_a_frame_comes_after_the_others() {
        let mut recipient = Recipient::new();
        let packets: Vec<Packet> = (0..6).map(packet).collect();
        let receive = |recipient: &mut Recipient, mpdus: &[(u64, bool)]| -> [Vec<u64>; 2] {
            let each =
                mpdus.iter().map(|&(number, decoded)| (number, &packets[number as usize], decoded));
            recipient.receive_ampdu(each);
            let within: Vec<u64> = recipient.ready_before_last().map(|packet| packet.id).collect();
            recipient.remove(within.len());
            [within, pass_up(recipient)]
        };
        let first = [(0, true), (1, false), (2, true), (3, false), (4, true), (5, true)];
        assert_eq!(receive(&mut recipient, &first), [vec![0], vec![]]);
        assert_eq!(receive(&mut recipient, &[(1, true), (3, true)]), [vec![1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn what_waits_for_one_that_was_given_up_goes_on() {
        let mut recipient = Recipient::new();
        recipient.receive(1, &packet(1));
        recipient.receive(3, &packet(3));
        assert!(pass_up(&mut recipient).is_empty());
        recipient.skip(0);
        assert_eq!(pass_up(&mut recipient), [1]);
        assert_eq!((recipient.has(2), recipient.is_past(2)), (false, false));
        recipient.skip(2);
        assert_eq!(pass_up(&mut recipient), [3]);
        assert!(recipient.is_past(3) && !recipient.has(4));
    }
}
