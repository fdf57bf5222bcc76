//! With ns-2's conventions, the same as ns-2.

use crate::bottleneck::through_bottleneck;
use airqueue_transport::tcp::{AckEvery, TcpSpec};

/// One connection through a drop-tail link of 400 packets a second, whose buffer counts the packet being
/// sent; `benches/peers/ns2/bottleneck.tcl` made the rows. From buffers that cost timeouts to such that
/// cost delay, and windows that lose nothing: goodput within 0.5 %, losses but for one, packets waiting
/// within 5 % or a twentieth of a packet.
#[test]
fn a_drop_tail_bottleneck() {
    let rows = include_str!("../data/ns2_bottleneck.csv").lines().skip(1);
    for row in rows {
        let [agent, sink, rest @ ..] = &row.split(',').collect::<Vec<_>>()[..] else { panic!() };
        let number = |i: usize| rest[i].parse::<f64>().unwrap();
        let mut spec = TcpSpec::ns2(1000);
        spec.sack = *agent == "Sack1";
        spec.sender.window_segments = number(1) as u32;
        spec.receiver.acknowledge = AckEvery::Fixed(if *sink == "/DelAck" { 2 } else { 1 });
        let seen = through_bottleneck(&spec, 8 * 1040 * 400, number(0) as usize);
        let (packets, waiting, lost) = (number(2), number(3), number(4));
        let near = |ours: f64, theirs: f64, part: f64, room: f64| {
            let far = (ours - theirs).abs();
            assert!(far <= (part * theirs).max(room), "{ours} in {row}, where it is {theirs}");
        };
        near(seen.packets as f64, packets, 0.005, 0.0);
        near(seen.dropped as f64, lost, 0.0, 1.0);
        // The one being sent is in our buffer, and not among ns-2's waiting.
        near(seen.queue - seen.share, waiting, 0.05, 0.05);
    }
}
