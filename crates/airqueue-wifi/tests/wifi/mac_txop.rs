//! TXOPs as in ns-3: announced as a whole, returned by CF-End, resumed after a loss.

use crate::script;
use crate::script::{
    ACK_US, Answer, DATA_US, DIFS_US, EXCHANGE_US, Ending, OTHER, SIFS_US, SLOT_US, Station, THIRD,
    TIMEOUT_US, draws, edca, slots,
};
use airqueue_core::Span;
use airqueue_wifi::mac::{Behaviour, CategoryConfig, FrameKind, MacConfig, Txop};
use airqueue_wifi::phy::AccessCategory;

/// At 1 Mb/s: preamble and 20 bytes.
const CF_END_US: i64 = 192 + 160;
/// The first slot boundary after a packet arrives at 1000 µs on an idle medium.
const FIRST: i64 = 1010;
/// The second exchange of a TXOP.
const SECOND: i64 = FIRST + EXCHANGE_US + SIFS_US;

fn station(behaviour: Behaviour, limit_us: i64) -> Station {
    let txop = Txop::Time(Span::from_micros(limit_us));
    // AIFS is DIFS.
    let config = MacConfig::new(vec![CategoryConfig { txop, w_max: 1024, ..edca(2, 32) }]);
    Station::new(behaviour, config)
}

/// The Duration/ID of each frame, in µs.
fn announced(station: &Station) -> Vec<i64> {
    station.sent.iter().map(|sent| sent.frame.nav.as_nanos() / 1000).collect()
}

#[test]
fn frames_announce_what_is_left_of_the_txop_and_cf_end_gives_it_back() {
    let mut station = station(Behaviour::Ns3, 5000);
    station.packets(0, 1000, 2).run(100_000);
    let end = SECOND + EXCHANGE_US + SIFS_US;
    let sent = [(FIRST, FrameKind::Data), (SECOND, FrameKind::Data), (end, FrameKind::CfEnd)];
    assert_eq!(station.log(), sent);
    let left = |begins: i64| FIRST + 5000 - (begins + DATA_US);
    assert_eq!(announced(&station), [left(FIRST), left(SECOND), 0]);
}

/// A CF-End that would end after the announced NAV is not sent.
#[test]
fn a_cf_end_must_be_worth_it() {
    let least = EXCHANGE_US + SIFS_US + CF_END_US;
    for (limit, count) in [(least, 1), (least + 1, 2)] {
        let mut station = station(Behaviour::Ns3, limit);
        station.packets(0, 1000, 1).run(100_000);
        assert_eq!(station.sent.len(), count, "a limit of {limit} us");
    }
}

/// Neither without a TXOP limit, nor with other behaviours.
#[test]
fn nothing_more_is_announced_than_the_exchange_otherwise() {
    let packets = MacConfig::new(vec![CategoryConfig { txop: Txop::Packets(5), ..edca(2, 32) }]);
    let stations = [Station::new(Behaviour::Ns3, packets), station(Behaviour::Standard, 5000)];
    for mut station in stations {
        station.packets(0, 1000, 1).run(100_000);
        assert_eq!(announced(&station), [SIFS_US + ACK_US]);
    }
}

/// An ACK announces the rest of the NAV of the data frame.
#[test]
fn an_ack_announces_what_follows_it() {
    let mut station = station(Behaviour::Ns3, 5000);
    let data = |nav| station.frame(FrameKind::Data, OTHER, script::ME, nav);
    let (long, short) = (data(3808), data(SIFS_US + ACK_US));
    station.hears(100, 1292, long).hears(2000, 3192, short).run(100_000);
    assert_eq!(announced(&station), [3808 - SIFS_US - ACK_US, 0]);
}

#[test]
fn the_first_loss_ends_a_txop_and_a_later_one_is_repeated_after_pifs() {
    let mut draws = draws();
    let mut first = station(Behaviour::Ns3, 8000);
    first.packets(0, 1000, 1).answers(&[Answer::None]).run(100_000);
    let again = FIRST + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws, 64) * SLOT_US;
    assert_eq!(first.data(), [FIRST, again]);

    let mut second = station(Behaviour::Ns3, 8000);
    second.packets(0, 1000, 2).answers(&[Answer::Received, Answer::None]).run(100_000);
    let again = SECOND + DATA_US + TIMEOUT_US + SIFS_US + SLOT_US;
    assert_eq!(second.data(), [FIRST, SECOND, again]);
    assert_eq!(second.log().last(), Some(&(again + EXCHANGE_US + SIFS_US, FrameKind::CfEnd)));
    assert_eq!(second.mac.counters(AccessCategory::at(0)).failures, 1);
}

/// The backoff is drawn before the window is widened, as the next loss shows.
#[test]
fn a_txop_does_not_go_on_into_a_frame() {
    let mut draws = script::draws();
    let mut station = station(Behaviour::Ns3, 8000);
    let failure = SECOND + DATA_US + TIMEOUT_US;
    let answers = [Answer::Received, Answer::None, Answer::None];
    station.packets(0, 1000, 2).answers(&answers).hears(failure + 6, failure + 600, Ending::Noise);
    station.run(100_000);
    let third = failure + 600 + DIFS_US + slots(&mut draws, 32) * SLOT_US;
    let fourth = third + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws, 128) * SLOT_US;
    assert_eq!(station.data(), [FIRST, SECOND, third, fourth]);
}

/// A retransmission that no longer fits waits for the next TXOP, without a wider window.
#[test]
fn a_repetition_must_fit_too() {
    let mut station = station(Behaviour::Ns3, 3100);
    station.packets(0, 1000, 2).answers(&[Answer::Received, Answer::None]).run(100_000);
    let again = SECOND + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws(), 32) * SLOT_US;
    assert_eq!(station.data(), [FIRST, SECOND, again]);
}

/// A queue with six packets; `extensions` are times and numbers of packets by which its TXOP is extended.
fn by_flows(txop: Txop, extensions: &[(i64, u32)]) -> Station {
    let mut station = Station::new(
        Behaviour::Standard,
        MacConfig::new(vec![CategoryConfig { txop, ..edca(2, 32) }]),
    );
    station.packets(0, 1000, 6);
    for &(at, count) in extensions {
        station.extends(0, at, count);
    }
    station.run(100_000);
    station
}

/// Start times of the packets in TXOPs of these sizes.
fn in_txops(of: &[usize]) -> Vec<i64> {
    let (mut draws, mut begins, mut all) = (draws(), FIRST, Vec::new());
    for &packets in of {
        all.extend((0..packets as i64).map(|at| begins + at * (EXCHANGE_US + SIFS_US)));
        let end = all[all.len() - 1] + EXCHANGE_US;
        begins = end + DIFS_US + slots(&mut draws, 32) * SLOT_US;
    }
    all
}

#[test]
fn a_txop_by_flows_has_a_packet_for_each() {
    for (others, of) in [(0, vec![1; 6]), (2, vec![3, 1, 1, 1]), (u32::MAX, vec![6])] {
        let station = by_flows(Txop::Flows, &[(FIRST, others)]);
        assert_eq!(station.data(), in_txops(&of), "{others} others");
    }
}

/// Extensions count up to the end of the last exchange; after that the TXOP is over, and the next TXOP starts from one
/// packet.
#[test]
fn a_flow_that_comes_during_a_txop_by_flows_has_its_packet_too() {
    let end = SECOND + EXCHANGE_US;
    for (at, of) in [
        (FIRST + 1, vec![3, 1, 1, 1]),
        (SECOND - 1, vec![3, 1, 1, 1]),
        (end - 1, vec![3, 1, 1, 1]),
        (end + 1, vec![2, 1, 1, 1, 1]),
    ] {
        let station = by_flows(Txop::Flows, &[(FIRST, 1), (at, 1)]);
        assert_eq!(station.data(), in_txops(&of), "from {at} us on");
    }
}

#[test]
fn other_txops_do_not_ask_for_flows() {
    let exchange = EXCHANGE_US;
    let time = Txop::Time(Span::from_micros(2 * exchange + SIFS_US));
    for (txop, of) in
        [(Txop::One, vec![1; 6]), (Txop::Packets(2), vec![2, 2, 2]), (time, vec![2, 2, 2])]
    {
        let station = by_flows(txop, &[(FIRST, 3), (FIRST + 1, 3)]);
        assert_eq!(station.data(), in_txops(&of), "{txop:?}");
    }
}

/// A failure ends the TXOP, its rest included.
#[test]
fn a_failure_ends_a_txop_by_flows() {
    let mut station = Station::new(
        Behaviour::Standard,
        MacConfig::new(vec![CategoryConfig { txop: Txop::Flows, ..edca(2, 32) }]),
    );
    let answers = [Answer::Received, Answer::None];
    station.packets(0, 1000, 3).extends(0, FIRST, 2).answers(&answers).run(100_000);
    let mut draws = draws();
    let mut backoff = || DIFS_US + slots(&mut draws, 32) * SLOT_US;
    let again = SECOND + DATA_US + TIMEOUT_US + backoff();
    let last = again + EXCHANGE_US + backoff();
    assert_eq!(station.data(), [FIRST, SECOND, again, last]);
}

#[test]
fn who_hears_a_cf_end_may_contend_at_once() {
    for behaviour in [Behaviour::Ns3, Behaviour::Standard] {
        let mut station = station(behaviour, 5000);
        let long = station.frame(FrameKind::Data, OTHER, THIRD, 9000);
        let cf_end = station.frame(FrameKind::CfEnd, OTHER, OTHER, 0);
        station.packets(0, 500, 1).hears(100, 900, long).hears(910, 1262, cf_end).run(100_000);
        let own = 1262 + DIFS_US + slots(&mut draws(), 32) * SLOT_US;
        assert_eq!(station.data(), [own], "{behaviour:?}");
    }
}
