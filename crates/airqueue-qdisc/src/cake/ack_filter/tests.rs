//! Which acknowledgements the filter drops, in a queue of CAKE's that holds all packets.

use super::super::{Cake, CakeParams, Isolation};
use super::*;
use airqueue_core::{
    DataRate, DropReason, Drops, EcnFlags, LinkFeedback, QueueDisc, SackBlocks, Seed, Span, Time,
};

/// A queue that holds all packets, and the time of the next arrival.
struct Bench {
    cake: Cake,
    drops: Drops,
    now: Time,
    next: u64,
}

impl Bench {
    fn new(ack_filter: AckFilter) -> Bench {
        let params =
            CakeParams { ack_filter, isolation: Isolation::Blind, ..CakeParams::default() };
        Bench::with(params)
    }

    fn with(params: CakeParams) -> Bench {
        let cake = Cake::new(params, Seed(1).stream("cake"));
        Bench { cake, drops: Drops::new(), now: Time::ZERO, next: 0 }
    }

    /// Offers a packet of a flow; returns the ids of the packets that the filter dropped.
    fn offer_of(&mut self, flow: u32, header: Option<TcpHeader>) -> Vec<u64> {
        let packet = Packet::new(self.next, FlowKey(flow), 52, self.now);
        self.next += 1;
        self.now += Span::from_micros(10);
        if let Some(header) = header {
            self.cake.set_tcp_header(packet.id, &header);
        }
        let before = (self.cake.len_packets() as u64, self.cake.len_bytes());
        self.cake.enqueue(packet, self.now, &mut self.drops);
        let dropped = self.drops.drain().map(|drop| {
            assert_eq!(drop.reason, DropReason::AckFilter);
            drop.packet.id
        });
        let dropped: Vec<u64> = dropped.collect();
        let more = 1 - dropped.len() as u64;
        assert_eq!(self.cake.len_packets() as u64, before.0 + more);
        assert_eq!(self.cake.len_bytes(), before.1 + 52 * more);
        dropped
    }

    fn offer(&mut self, header: TcpHeader) -> Vec<u64> {
        self.offer_of(0, Some(header))
    }

    /// The ids of all packets that leave.
    fn drain(&mut self) -> Vec<u64> {
        let Bench { cake, drops, now, .. } = self;
        let left = std::iter::from_fn(|| cake.dequeue(*now, drops)).map(|of| of.id).collect();
        assert_eq!((cake.len_packets(), cake.len_bytes()), (0, 0));
        left
    }
}

/// Offers headers to an empty queue; returns the ids that the filter dropped at each arrival.
fn dropped(ack_filter: AckFilter, headers: &[TcpHeader]) -> Vec<Vec<u64>> {
    let mut bench = Bench::new(ack_filter);
    headers.iter().map(|&header| bench.offer(header)).collect()
}

/// The id that the filter drops when the last of these headers arrives, and none before.
fn at_last(ack_filter: AckFilter, headers: &[TcpHeader]) -> Option<u64> {
    let mut found = dropped(ack_filter, headers);
    let last = found.pop().unwrap();
    assert!(found.iter().all(Vec::is_empty), "{found:?}");
    assert!(last.len() <= 1);
    last.first().copied()
}

fn conservative(headers: &[TcpHeader]) -> Option<u64> {
    at_last(AckFilter::AckFilter, headers)
}

fn aggressive(headers: &[TcpHeader]) -> Option<u64> {
    at_last(AckFilter::AckFilterAggressive, headers)
}

fn ack(ack: u64) -> TcpHeader {
    TcpHeader { ack: Some(ack), ..TcpHeader::default() }
}

fn sack(number: u64, blocks: &[(u64, u64)]) -> TcpHeader {
    let blocks: Vec<_> = blocks.iter().map(|&(start, end)| OctetRange { start, end }).collect();
    TcpHeader { sack: SackBlocks::from(&blocks[..]), ..ack(number) }
}

fn echo(header: TcpHeader) -> TcpHeader {
    TcpHeader { ecn: EcnFlags { ece: true, cwr: false }, ..header }
}

fn stamped(header: TcpHeader, value: i64, reply: i64) -> TcpHeader {
    TcpHeader { stamps: [value, reply].map(Time::from_nanos), ..header }
}

/// Of three acknowledgements that advance the oldest goes, so that two wait from then on.
#[test]
fn two_acknowledgements_remain() {
    let headers = [1, 2, 3, 4, 5].map(ack);
    let found = dropped(AckFilter::AckFilter, &headers);
    assert_eq!(found, [vec![], vec![], vec![0], vec![1], vec![2]]);
    let mut bench = Bench::new(AckFilter::AckFilter);
    assert_eq!(headers.map(|header| bench.offer(header).len()), [0, 0, 1, 1, 1]);
    assert_eq!(bench.drain(), [3, 4]);
}

#[test]
fn the_aggressive_filter_leaves_the_newest_only() {
    let headers = [1, 2, 3, 4, 5].map(ack);
    let found = dropped(AckFilter::AckFilterAggressive, &headers);
    assert_eq!(found, [vec![], vec![0], vec![1], vec![2], vec![3]]);
    let mut bench = Bench::new(AckFilter::AckFilterAggressive);
    assert_eq!(headers.map(|header| bench.offer(header).len()), [0, 1, 1, 1, 1]);
    assert_eq!(bench.drain(), [4]);
}

#[test]
fn without_the_filter_nothing_is_read() {
    let mut bench = Bench::new(AckFilter::NoAckFilter);
    assert!(!bench.cake.reads_tcp_headers());
    (1..9).for_each(|number| assert!(bench.offer(ack(number)).is_empty()));
    assert!(bench.cake.headers.waiting.is_empty() && bench.cake.headers.next.is_none());
    assert!(Bench::new(AckFilter::AckFilter).cake.reads_tcp_headers());
    assert!(Bench::new(AckFilter::AckFilterAggressive).cake.reads_tcp_headers());
}

/// Another packet between the only redundant acknowledgement and the arrival: even the aggressive filter keeps it.
#[test]
fn one_redundant_acknowledgement_must_be_next_to_the_arrival() {
    let mut bench = Bench::new(AckFilter::AckFilterAggressive);
    assert!(bench.offer(ack(1)).is_empty());
    assert!(bench.offer_of(0, None).is_empty(), "a packet of another protocol");
    assert!(bench.offer(ack(2)).is_empty());
    assert_eq!(bench.offer(ack(3)), [0]);
    assert_eq!(bench.drain(), [1, 2, 3]);
}

/// Flows that share a queue, and connections of a flow.
#[test]
fn other_connections_are_not_touched() {
    for filter in [AckFilter::AckFilter, AckFilter::AckFilterAggressive] {
        let mut bench = Bench::new(filter);
        for flow in 0..4 {
            let connection = flow % 2;
            let header = TcpHeader { connection, ..ack(9 + u64::from(flow)) };
            assert!(bench.offer_of(flow / 2, Some(header)).is_empty());
        }
        let header = |number| TcpHeader { connection: 1, ..ack(number) };
        assert!(bench.offer_of(0, Some(header(98))).is_empty());
        // The packets of flow 0, connection 1 are 1, 4 and 5.
        assert_eq!(bench.offer_of(0, Some(header(99))), [1]);
    }
}

/// A header is that of one packet: the packet that arrives next, and only if it has the id.
#[test]
fn a_header_belongs_to_one_packet() {
    let mut bench = Bench::new(AckFilter::AckFilterAggressive);
    assert!(bench.offer(ack(1)).is_empty());
    bench.cake.set_tcp_header(1000, &ack(2));
    assert!(bench.offer_of(0, None).is_empty());
    assert!(bench.offer_of(0, None).is_empty());
    // Its place in the store had a header before.
    assert_eq!(bench.drain(), [0, 1, 2]);
    assert!(bench.offer_of(0, None).is_empty());
    assert!(bench.offer(ack(3)).is_empty());
}

#[test]
fn data_and_flags_of_the_connection_are_not_touched() {
    let kept = [
        TcpHeader { has_data: true, ..ack(1) },
        TcpHeader { syn: true, ..ack(1) },
        TcpHeader { fin: true, ..ack(1) },
        TcpHeader { ack: None, ..ack(1) },
        ack(7),
    ];
    for header in kept {
        assert_eq!(aggressive(&[header, ack(5)]), None, "{header:?}");
        assert_eq!(conservative(&[header, ack(3), ack(5)]), None, "{header:?}");
    }
}

/// Data makes an acknowledgement redundant as well as a bare acknowledgement does; a SYN or a segment without ACK does
/// not.
#[test]
fn the_arrival_may_carry_data() {
    let data = TcpHeader { has_data: true, ..ack(3) };
    let last = TcpHeader { fin: true, ..data };
    for header in [data, last] {
        assert_eq!(conservative(&[ack(1), ack(2), header]), Some(0));
        assert_eq!(aggressive(&[ack(1), header]), Some(0));
    }
    for header in [TcpHeader { syn: true, ..ack(3) }, TcpHeader { ack: None, ..data }] {
        assert_eq!(aggressive(&[ack(1), header]), None);
    }
}

/// RFC 5681, section 3.2: three duplicates say that a segment is lost.
#[test]
fn duplicate_acknowledgements_are_kept() {
    assert_eq!(aggressive(&[ack(5), ack(5), ack(5), ack(5)]), None);
    assert_eq!(aggressive(&[sack(5, &[(9, 12)]), sack(5, &[(9, 12)])]), None);
    assert_eq!(conservative(&[ack(5), ack(5), ack(6)]), Some(0));
    // An acknowledgement that was overtaken covers nothing.
    assert_eq!(aggressive(&[ack(5), ack(4)]), None);
}

#[test]
fn blocks_that_would_be_lost_keep_their_acknowledgement() {
    let old = sack(1, &[(20, 30), (10, 15)]);
    let kept = [
        ack(5),
        sack(5, &[(20, 30)]),
        sack(5, &[(20, 29), (10, 15)]),
        sack(5, &[(21, 40), (10, 15)]),
        sack(5, &[(20, 25), (25, 30), (10, 15)]),
    ];
    for new in kept {
        assert_eq!(aggressive(&[old, new]), None, "{new:?}");
    }
    let covering =
        [sack(5, &[(20, 30), (10, 15)]), sack(5, &[(10, 30)]), sack(5, &[(40, 50), (9, 31)])];
    for new in covering {
        assert_eq!(aggressive(&[old, new]), Some(0), "{new:?}");
    }
}

/// The same acknowledgement with more blocks says more, and covers the earlier one.
#[test]
fn more_blocks_make_a_duplicate_redundant() {
    assert_eq!(aggressive(&[ack(5), sack(5, &[(9, 12)])]), Some(0));
    assert_eq!(aggressive(&[sack(5, &[(9, 12)]), sack(5, &[(9, 15)])]), Some(0));
    assert_eq!(aggressive(&[sack(5, &[(9, 12)]), sack(5, &[(20, 23), (9, 12)])]), Some(0));
    // The blocks of the first cover those of the second.
    assert_eq!(aggressive(&[sack(5, &[(9, 15)]), sack(5, &[(9, 12)])]), None);
}

/// RFC 2883: a block below the acknowledgement reports a duplicate segment.
#[test]
fn reports_of_duplicates_are_kept() {
    let report = sack(10, &[(5, 8)]);
    assert_eq!(aggressive(&[report, sack(20, &[(5, 8)])]), None);
    assert_eq!(aggressive(&[sack(10, &[(15, 18), (5, 8)]), sack(12, &[(5, 18)])]), None);
    // The blocks of the arrival may begin anywhere.
    assert_eq!(aggressive(&[ack(10), sack(20, &[(5, 8)])]), Some(0));
}

#[test]
fn timestamps_never_go_back() {
    assert_eq!(aggressive(&[stamped(ack(1), 5, 3), stamped(ack(2), 5, 3)]), Some(0));
    assert_eq!(aggressive(&[stamped(ack(1), 5, 3), stamped(ack(2), 6, 4)]), Some(0));
    assert_eq!(aggressive(&[stamped(ack(1), 5, 3), stamped(ack(2), 4, 3)]), None);
    assert_eq!(aggressive(&[stamped(ack(1), 5, 3), stamped(ack(2), 5, 2)]), None);
    assert_eq!(aggressive(&[stamped(ack(1), 5, 3), ack(2)]), None);
    assert_eq!(aggressive(&[ack(1), stamped(ack(2), 5, 3)]), Some(0));
}

/// An acknowledgement with other flags than the next packet of its connection is kept: a change is information.
#[test]
fn changes_of_the_flags_for_ecn_are_kept() {
    let cwr = |number| TcpHeader { ecn: EcnFlags { ece: false, cwr: true }, ..ack(number) };
    for flagged in [echo(ack(2)), cwr(2), TcpHeader { has_data: true, ..echo(ack(2)) }] {
        // 0 and 1 have different flags, and 1 and 2 too.
        assert_eq!(conservative(&[ack(1), flagged, ack(3), ack(4)]), None, "{flagged:?}");
        assert_eq!(aggressive(&[ack(1), flagged]), None, "{flagged:?}");
    }
    // From the change on the filter counts anew: 1 and 2 have the same flags.
    let found = dropped(
        AckFilter::AckFilter,
        &[ack(1), echo(ack(2)), echo(ack(3)), echo(ack(4)), echo(ack(5))],
    );
    assert_eq!(found, [vec![], vec![], vec![], vec![1], vec![2]]);
    // The flags of the arrival count only for the aggressive filter.
    assert_eq!(conservative(&[ack(1), ack(2), echo(ack(3))]), Some(0));
    // Flags of other connections do not matter.
    let other = TcpHeader { connection: 1, ..echo(ack(9)) };
    assert_eq!(conservative(&[ack(1), other, ack(2), ack(3)]), Some(0));
}

/// The shaper does not notice an acknowledgement that is dropped: those that remain leave when the first ones leave
/// without the filter.
#[test]
fn dropped_acknowledgements_cost_the_rate_nothing() {
    let params = CakeParams { rate: DataRate::from_bps(416_000), ..CakeParams::default() };
    let serve = |ack_filter, numbers: &[u64]| {
        let mut bench = Bench::with(CakeParams { ack_filter, ..params });
        let mut left = Vec::new();
        for &number in numbers {
            bench.offer(ack(number));
        }
        let mut now = bench.now;
        while !bench.cake.is_empty() {
            match bench.cake.dequeue(now, &mut bench.drops) {
                Some(packet) => left.push((packet.id, now)),
                None => now = bench.cake.next_wakeup(now).unwrap(),
            }
        }
        left
    };
    let numbers = [1, 2, 3, 4, 5, 6];
    let (filtered, all) =
        (serve(AckFilter::AckFilter, &numbers), serve(AckFilter::NoAckFilter, &numbers));
    assert_eq!(all.iter().map(|of| of.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(filtered, [(4, all[0].1), (5, all[1].1)]);
}

/// Only the packets that have not been decided on are searched (`qdisc_peek_dequeued`).
#[test]
fn a_packet_that_was_shown_to_the_shaper_is_kept() {
    let mut bench = Bench::new(AckFilter::AckFilterAggressive);
    assert!(bench.offer(ack(1)).is_empty());
    assert_eq!(bench.cake.peek(bench.now, &mut bench.drops).map(|of| of.id), Some(0));
    assert!(bench.offer(ack(2)).is_empty());
    assert_eq!(bench.offer(ack(3)), [1]);
    assert_eq!(bench.drain(), [0, 2]);
}
