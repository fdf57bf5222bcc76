//! The exchanges of a station: protection, retries, windows, TXOPs.

use crate::script;
use crate::script::{
    ACK_US, Answer, DATA_US, DIFS_US, EIFS_US, EXCHANGE_US, Ending, ME, OTHER, PEER, RTS_US,
    SIFS_US, SLOT_US, Station, THIRD, TIMEOUT_US, dcf, draws, eager, edca, slots,
};
use airqueue_core::{RandomStream, Span};
use airqueue_wifi::mac::{
    Behaviour, CategoryConfig, Frame, FrameKind, MacConfig, MacError, TxStatus, Txop,
};
use airqueue_wifi::medium::RxOutcome;
use airqueue_wifi::phy::{AccessCategory, Protection};

const ALL: [Behaviour; 3] = [Behaviour::Standard, Behaviour::Ns3, Behaviour::Ns2];

/// When a packet that arrives at 1000 µs on an idle medium is transmitted.
fn first(behaviour: Behaviour, draws: &mut RandomStream) -> i64 {
    match behaviour {
        Behaviour::Standard => 1000,
        Behaviour::Ns3 => 1000 + DIFS_US,
        Behaviour::Ns2 => 1000 + DIFS_US + slots(draws, 31) * SLOT_US,
    }
}

/// From the end of a data frame to the time-out: ns-2 waits for the whole ACK and twice 2 µs.
fn timeout(behaviour: Behaviour) -> i64 {
    if behaviour == Behaviour::Ns2 { SIFS_US + ACK_US + 4 } else { TIMEOUT_US }
}

/// A window of `values` as the behaviour draws from it.
fn draw(behaviour: Behaviour, draws: &mut RandomStream, values: u64) -> i64 {
    slots(draws, values - u64::from(behaviour == Behaviour::Ns2)) * SLOT_US
}

fn kinds(station: &Station) -> Vec<FrameKind> {
    station.log().into_iter().map(|(_, kind)| kind).collect()
}

/// Every packet is lost: number of transmissions, their windows, and the first window of the next packet.
#[test]
fn a_packet_is_sent_seven_times_from_windows_that_double() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 1000, 2).answers(&[Answer::None; 9]).run(1_000_000);
        let mut draws = draws();
        let mut at = first(behaviour, &mut draws);
        let mut expected = vec![at];
        let failures = [64, 128, 256, 512, 1024, 1024];
        // The window after the seventh failure, which gives the packet up, and after the eighth, the first of the next
        // packet. ns-3's window is independent of packets, and restarts after seven failures.
        let more = if behaviour == Behaviour::Ns3 { [1024, 32, 64] } else { [32, 64, 128] };
        for window in failures.into_iter().chain(more) {
            at += DATA_US + timeout(behaviour) + DIFS_US + draw(behaviour, &mut draws, window);
            expected.push(at);
        }
        assert_eq!(station.data(), expected, "{behaviour:?}");
        let fates: Vec<TxStatus> = station.fates.iter().map(|&(_, status)| status).collect();
        assert_eq!(fates, [TxStatus::GivenUp, TxStatus::Acknowledged]);
        let counters = station.mac.counters(AccessCategory::at(0));
        assert_eq!((counters.attempts, counters.failures), (10, 9));
        assert_eq!((counters.acknowledged, counters.given_up), (1, 1));
        let retries: Vec<bool> = station.sent.iter().map(|sent| sent.frame.retry).collect();
        assert_eq!(retries, [0, 1, 1, 1, 1, 1, 1, 0, 1, 1].map(|retry| retry == 1));
    }
}

#[test]
fn a_success_brings_the_smallest_window_back() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 1000, 2).answers(&[Answer::None; 2]).run(1_000_000);
        let mut draws = draws();
        let mut at = first(behaviour, &mut draws);
        let mut expected = vec![at];
        for window in [64, 128] {
            at += DATA_US + timeout(behaviour) + DIFS_US + draw(behaviour, &mut draws, window);
            expected.push(at);
        }
        expected.push(at + EXCHANGE_US + DIFS_US + draw(behaviour, &mut draws, 32));
        assert_eq!(station.data(), expected, "{behaviour:?}");
    }
}

/// A backoff follows a packet that was given up, even if no packet waits. (ns-2 omits this backoff.)
#[test]
fn a_backoff_follows_a_packet_that_was_given_up() {
    let mut config = dcf();
    config.short_retry_limit = 1;
    let mut station = Station::new(Behaviour::Standard, config);
    let given_up = 1000 + DATA_US + TIMEOUT_US;
    station.packets(0, 1000, 1).answers(&[Answer::None]).packets(0, given_up + 60, 1);
    station.run(1_000_000);
    let backoff = slots(&mut draws(), 32);
    assert!(backoff > 1);
    assert_eq!(station.data(), [1000, given_up + DIFS_US + backoff * SLOT_US]);
}

/// Receptions during the wait for an ACK, and when they decide the failure.
#[test]
fn the_end_of_a_reception_decides_the_wait_for_a_response() {
    let (end, other) =
        (1000 + DATA_US, |station: &Station| station.frame(FrameKind::Ack, OTHER, THIRD, 0));
    let retried = |behaviour, begins: i64, ends: i64, ending: &dyn Fn(&Station) -> Ending| {
        let mut station = Station::new(behaviour, eager());
        let ending = ending(&station);
        station.packets(0, 1000, 1).answers(&[Answer::None]).hears(begins, ends, ending);
        station.run(100_000);
        assert_eq!(station.data().len(), 2);
        station.data()[1]
    };
    let standard = Behaviour::Standard;
    // The reception ends before the time-out, or after.
    assert_eq!(retried(standard, end + 20, end + 150, &other), end + 150 + DIFS_US);
    assert_eq!(retried(standard, end + 20, end + 900, &other), end + 900 + DIFS_US);
    let error = |_: &Station| Ending::Error(RxOutcome::Collided);
    assert_eq!(retried(standard, end + 20, end + 900, &error), end + 900 + EIFS_US);
    // Energy alone decides nothing: the time-out does, and the medium is then busy.
    let noise = |_: &Station| Ending::Noise;
    assert_eq!(retried(standard, end + 20, end + 150, &noise), end + TIMEOUT_US + DIFS_US);
    assert_eq!(retried(standard, end + 20, end + 900, &noise), end + 900 + DIFS_US);
    // A frame that began during the station's own frame is not a reception either.
    let deaf = |_: &Station| Ending::Error(RxOutcome::Deaf);
    assert_eq!(retried(standard, end - 20, end + 150, &deaf), end + TIMEOUT_US + DIFS_US);
}

/// In ns-2 nothing but the ACK and the time-out ends the wait.
#[test]
fn ns2_waits_for_the_whole_response() {
    let mut station = Station::new(Behaviour::Ns2, dcf());
    let mut draws = draws();
    let end = first(Behaviour::Ns2, &mut draws) + DATA_US;
    let ack = station.frame(FrameKind::Ack, OTHER, THIRD, 0);
    station.packets(0, 1000, 1).answers(&[Answer::None]).hears(end + 20, end + 150, ack);
    station.run(1_000_000);
    let again = end + timeout(Behaviour::Ns2) + DIFS_US + draw(Behaviour::Ns2, &mut draws, 64);
    assert_eq!(station.data(), [end - DATA_US, again]);
}

/// Only the peer's ACK acknowledges.
#[test]
fn an_ack_of_another_station_acknowledges_nothing() {
    let mut station = Station::new(Behaviour::Standard, eager());
    let end = 1000 + DATA_US;
    let ack = station.frame(FrameKind::Ack, OTHER, ME, 0);
    station.packets(0, 1000, 1).answers(&[Answer::None]).hears(end + 10, end + 258, ack);
    station.run(100_000);
    assert_eq!(station.data(), [1000, end + 258 + DIFS_US]);
    assert_eq!(station.fates.len(), 1);
}

#[test]
fn rts_cts_data_ack() {
    for behaviour in ALL {
        let mut config = dcf();
        config.rts_threshold_bytes = 1374;
        let mut station = Station::new(behaviour, config);
        station.packets(0, 1000, 1).run(100_000);
        let rts = first(behaviour, &mut draws());
        let data = rts + RTS_US + SIFS_US + ACK_US + SIFS_US;
        assert_eq!(station.log(), [(rts, FrameKind::Rts), (data, FrameKind::Data)]);
        assert_eq!(station.fates, [(data + EXCHANGE_US, TxStatus::Acknowledged)]);
        let [rts, data] = [0, 1].map(|at| station.sent[at].frame);
        assert_eq!(us_of(rts.nav), 3 * SIFS_US + ACK_US + DATA_US + ACK_US);
        assert_eq!(us_of(data.nav), SIFS_US + ACK_US);
        assert_eq!((rts.opens, data.opens), (true, false));
        assert_eq!((rts.from, rts.to, data.to), (ME, PEER, PEER));
        assert_eq!(station.mac.counters(AccessCategory::at(0)).attempts, 1);
    }
}

fn us_of(span: Span) -> i64 {
    assert_eq!(span.as_nanos() % 1000, 0);
    span.as_nanos() / 1000
}

/// RTS precedes frames above the threshold only: not a frame of 1375 bytes with a threshold of 1375.
#[test]
fn the_threshold_itself_needs_no_rts() {
    let mut config = dcf();
    config.rts_threshold_bytes = 1375;
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 1000, 1).run(100_000);
    assert_eq!(kinds(&station), [FrameKind::Data]);
}

#[test]
fn cts_to_self_and_data() {
    let mut config = dcf();
    config.protection = Protection::CtsToSelf;
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 1000, 2).answers(&[Answer::None]).run(100_000);
    let data = 1000 + ACK_US + SIFS_US;
    // The data frame is lost, and its retransmission protected again.
    let again = data + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws(), 64) * SLOT_US;
    let log = station.log();
    assert_eq!(log[..2], [(1000, FrameKind::Cts), (data, FrameKind::Data)]);
    assert_eq!(log[2..4], [(again, FrameKind::Cts), (again + 258, FrameKind::Data)]);
    let cts = station.sent[0].frame;
    assert_eq!((cts.from, cts.to), (ME, ME));
    assert_eq!(us_of(cts.nav), SIFS_US + DATA_US + SIFS_US + ACK_US);
    // A CTS to self has no receiver: a collision hits the data frame.
    let opens: Vec<bool> = station.sent[..2].iter().map(|sent| sent.frame.opens).collect();
    assert_eq!(opens, [false, true]);
    assert_eq!(station.mac.counters(AccessCategory::at(0)).attempts, 3);
}

/// If every RTS is lost, the short limit applies. If every data frame after RTS and CTS is lost, the long limit
/// applies, with an RTS for each.
#[test]
fn retries_of_rts_and_of_data_are_counted_apart() {
    for (behaviour, data_frames) in
        [(Behaviour::Standard, 4), (Behaviour::Ns2, 4), (Behaviour::Ns3, 7)]
    {
        let mut config = dcf();
        config.rts_threshold_bytes = 0;
        let mut station = Station::new(behaviour, config.clone());
        station.packets(0, 1000, 1).answers(&[Answer::None; 20]).run(1_000_000);
        assert_eq!(kinds(&station), [FrameKind::Rts; 7]);
        assert_eq!(station.fates.len(), 1);

        let mut station = Station::new(behaviour, config);
        station.packets(0, 1000, 1).answers(&[Answer::Received, Answer::None].repeat(20));
        station.run(1_000_000);
        assert_eq!(kinds(&station), [FrameKind::Rts, FrameKind::Data].repeat(data_frames));
        assert_eq!(station.fates.len(), 1, "{behaviour:?}");
    }
}

/// Six RTS are lost, then a CTS arrives and the data is lost, and so on. Where RTS and data are counted separately, the
/// CTS ends the count of lost RTS (10.3.4.4: an RTS that succeeds resets the short count), and four lost data frames
/// decide; ns-3 gives up at the seventh failure of any kind.
#[test]
fn a_cts_ends_the_count_of_lost_rts() {
    let round = [&[Answer::None; 6][..], &[Answer::Received, Answer::None]].concat();
    for (behaviour, sent) in
        [(Behaviour::Standard, 4 * 8), (Behaviour::Ns2, 4 * 8), (Behaviour::Ns3, 8)]
    {
        let mut config = dcf();
        config.rts_threshold_bytes = 0;
        let mut station = Station::new(behaviour, config);
        station.packets(0, 1000, 1).answers(&round.repeat(5)).run(10_000_000);
        assert_eq!(station.sent.len(), sent, "{behaviour:?}");
        assert_eq!(station.fates.len(), 1);
    }
}

#[test]
fn the_windows_of_rts_and_data_are_one() {
    let mut config = dcf();
    config.rts_threshold_bytes = 0;
    let mut station = Station::new(Behaviour::Standard, config);
    // RTS lost, data lost, then both received.
    let lost = [Answer::None, Answer::Received, Answer::None];
    station.packets(0, 1000, 1).answers(&lost).run(1_000_000);
    let mut draws = draws();
    let second = 1000 + RTS_US + TIMEOUT_US + DIFS_US + slots(&mut draws, 64) * SLOT_US;
    let data = second + RTS_US + SIFS_US + ACK_US + SIFS_US;
    let third = data + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws, 128) * SLOT_US;
    assert_eq!(
        station.log(),
        [
            (1000, FrameKind::Rts),
            (second, FrameKind::Rts),
            (data, FrameKind::Data),
            (third, FrameKind::Rts),
            (third + data - second, FrameKind::Data)
        ]
    );
}

#[test]
fn a_packet_whose_ack_was_lost_is_passed_on_once() {
    for behaviour in ALL {
        let mut station = Station::new(behaviour, dcf());
        station.packets(0, 1000, 2).answers(&[Answer::Lost, Answer::Lost]).run(1_000_000);
        assert_eq!(station.data().len(), 4, "two retries of the first packet");
        assert_eq!(station.received.len(), 2, "{behaviour:?}");
        assert_eq!(station.fates.len(), 2);
    }
    let mut config = dcf();
    config.short_retry_limit = 2;
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 1000, 2).answers(&[Answer::Lost, Answer::None]).run(1_000_000);
    let fates: Vec<TxStatus> = station.fates.iter().map(|&(_, status)| status).collect();
    assert_eq!(fates, [TxStatus::GivenUp, TxStatus::Acknowledged]);
    assert_eq!(station.received.len(), 2);
}

/// Two queues whose counters end together: the higher one transmits, the lower one behaves as after a
/// collision, without having been on the air.
#[test]
fn internal_collision() {
    let low = CategoryConfig { w_max: 64, ..edca(2, 1) };
    let config = MacConfig::new(vec![low, edca(2, 1)]);
    let mut station = Station::new(Behaviour::Standard, config);
    station.hears(100, 1000, Ending::Noise).packets(0, 500, 1).packets(1, 500, 1).run(100_000);
    let mut draws = draws();
    let [0, 0, backoff] = [1, 1, 2].map(|window| slots(&mut draws, window)) else { unreachable!() };
    let high = 1000 + DIFS_US;
    assert_eq!(station.data(), [high, high + EXCHANGE_US + DIFS_US + backoff * SLOT_US]);
    let queues: Vec<usize> = station.sent.iter().map(|sent| sent.frame.ac.index()).collect();
    assert_eq!(queues, [1, 0]);
    let (low, high) =
        (station.mac.counters(AccessCategory::at(0)), station.mac.counters(AccessCategory::at(1)));
    assert_eq!((low.internal_collisions, low.attempts, low.failures), (1, 1, 0));
    assert_eq!((high.internal_collisions, high.attempts, high.acknowledged), (0, 1, 1));
}

/// An internal collision counts as a retry, like a packet that was sent and lost.
#[test]
fn internal_collisions_give_a_packet_up_too() {
    let mut config = MacConfig::new(vec![edca(2, 1), edca(2, 1)]);
    config.short_retry_limit = 3;
    let mut station = Station::new(Behaviour::Standard, config);
    station.hears(100, 1000, Ending::Noise).packets(0, 500, 2).packets(1, 500, 10).run(100_000);
    // The lower queue loses every time while the higher queue has packets: three times for each of two packets.
    let low = station.mac.counters(AccessCategory::at(0));
    assert_eq!((low.internal_collisions, low.given_up, low.attempts), (6, 2, 0));
    assert_eq!(station.mac.counters(AccessCategory::at(1)).acknowledged, 10);
    assert_eq!(station.fates.len(), 12);
}

/// A slot boundary of an idle medium, at which a packet is sent at once.
const START: i64 = 1010;

fn with_txop(txop: Txop) -> MacConfig {
    MacConfig::new(vec![CategoryConfig { txop, ..edca(2, 32) }])
}

/// Number of packets that follow each other SIFS apart.
fn burst(data: &[i64]) -> usize {
    let step = EXCHANGE_US + SIFS_US;
    1 + data.windows(2).take_while(|pair| pair[1] - pair[0] == step).count()
}

/// max(1, floor((TXOP + SIFS) / step)) packets, step = data + SIFS + ACK + SIFS.
#[test]
fn a_txop_by_time_holds_the_packets_that_end_in_it() {
    let step = EXCHANGE_US + SIFS_US;
    let around = (1..=5).flat_map(|n| [n * step - SIFS_US - 1, n * step - SIFS_US, n * step]);
    for limit in around.chain([32, 1024, 3264, 6016, 8160]) {
        let config = with_txop(Txop::Time(Span::from_micros(limit)));
        let mut station = Station::new(Behaviour::Standard, config);
        station.packets(0, 1000, 20).run(1_000_000);
        let expected = ((limit + SIFS_US) / step).max(1) as usize;
        let data = station.data();
        assert_eq!(data.len(), 20);
        assert_eq!(burst(&data), expected, "{limit}");
        // A backoff follows, and the next TXOP is as long.
        let next = data[expected - 1] + EXCHANGE_US + DIFS_US + slots(&mut draws(), 32) * SLOT_US;
        assert_eq!(data[expected], next);
        assert_eq!(burst(&data[expected..]), expected.min(20 - expected));
    }
}

#[test]
fn a_txop_by_packets_holds_so_many() {
    for packets in 1..=10 {
        let mut station = Station::new(Behaviour::Standard, with_txop(Txop::Packets(packets)));
        station.packets(0, 1000, 30).run(1_000_000);
        assert_eq!(burst(&station.data()), packets as usize);
        assert_eq!(station.mac.counters(AccessCategory::at(0)).acknowledged, 30);
    }
}

/// Each packet of a TXOP has its own RTS and CTS, whose time counts.
#[test]
fn protection_takes_its_part_of_a_txop() {
    for (protection, in_front) in [
        (Protection::RtsCts, RTS_US + SIFS_US + ACK_US + SIFS_US),
        (Protection::CtsToSelf, ACK_US + SIFS_US),
    ] {
        let step = in_front + EXCHANGE_US + SIFS_US;
        for (limit, expected) in [(3 * step - SIFS_US - 1, 2), (3 * step - SIFS_US, 3)] {
            let mut config = with_txop(Txop::Time(Span::from_micros(limit)));
            config.protection = protection;
            let mut station = Station::new(Behaviour::Standard, config);
            station.packets(0, 1000, 10).run(1_000_000);
            let data = station.data();
            let in_burst = data.windows(2).take_while(|pair| pair[1] - pair[0] == step).count();
            assert_eq!(in_burst + 1, expected, "{protection:?} {limit}");
        }
    }
}

#[test]
fn a_txop_ends_with_the_last_packet_of_the_queue() {
    for txop in [Txop::Packets(5), Txop::Time(Span::from_micros(8160))] {
        let mut station = Station::new(Behaviour::Standard, with_txop(txop));
        let end = START + 2 * EXCHANGE_US + SIFS_US;
        // The third packet arrives after the last exchange of the TXOP, and waits for the backoff.
        station.packets(0, START, 2).packets(0, end + 5, 1).run(100_000);
        let backoff = slots(&mut draws(), 32) * SLOT_US;
        assert_eq!(station.data(), [START, end - EXCHANGE_US, end + DIFS_US + backoff]);
    }
}

#[test]
fn a_loss_ends_a_txop() {
    let mut station = Station::new(Behaviour::Standard, with_txop(Txop::Packets(5)));
    station.packets(0, START, 6).answers(&[Answer::Received, Answer::None]).run(100_000);
    let second = START + EXCHANGE_US + SIFS_US;
    let third = second + DATA_US + TIMEOUT_US + DIFS_US + slots(&mut draws(), 32) * SLOT_US;
    let data = station.data();
    assert_eq!(data[..3], [START, second, third]);
    assert_eq!(burst(&data[2..]), 5, "a new one begins with the retry");
}

/// A TXOP belongs to one queue: packets in other queues contend.
#[test]
fn a_txop_belongs_to_one_queue() {
    let txop = CategoryConfig { txop: Txop::Packets(3), ..edca(2, 1) };
    let config = MacConfig::new(vec![edca(7, 1), txop]);
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 500, 1).packets(1, 500, 2).hears(100, 1000, Ending::Noise).run(100_000);
    let first = 1000 + DIFS_US;
    let second = first + EXCHANGE_US + SIFS_US;
    assert_eq!(station.data(), [first, second, second + EXCHANGE_US + 150]);
}

#[test]
fn invalid_settings_of_a_mac_are_refused() {
    let refused = |config: MacConfig| {
        let radio = script::network(Behaviour::Standard);
        airqueue_wifi::mac::Mac::new(ME, config, &radio, airqueue_core::Seed(1)).unwrap_err()
    };
    let with = |category: CategoryConfig| refused(MacConfig::new(vec![category]));
    assert_eq!(refused(MacConfig::new(vec![])), MacError::Queues(0));
    assert_eq!(refused(MacConfig::new(vec![edca(2, 32); 5])), MacError::Queues(5));
    assert_eq!(with(edca(0, 32)), MacError::Aifsn { value: 0, most: 15 });
    assert_eq!(with(edca(16, 32)), MacError::Aifsn { value: 16, most: 15 });
    assert_eq!(with(edca(2, 0)), MacError::CwMin { value: 0, least: 1, most: 1 << 15 });
    assert_eq!(with(edca(2, 31)), MacError::NotAPower(31));
    assert_eq!(
        with(CategoryConfig { w_max: 16, ..edca(2, 32) }),
        MacError::CwMax { value: 16, low: 32, most: 1 << 15 }
    );
    assert_eq!(refused(with_txop(Txop::Packets(0))), MacError::NoPackets(0));
    for limit in [-1, 0, 2_097_121] {
        let limit = Span::from_micros(limit);
        assert_eq!(refused(with_txop(Txop::Time(limit))), MacError::TxopLimit(limit));
    }
    let (mut short, mut long) = (dcf(), dcf());
    short.short_retry_limit = 0;
    long.long_retry_limit = 0;
    assert_eq!([refused(short), refused(long)], [MacError::NoAttempt, MacError::NoAttempt]);
    let mut wide = MacConfig::new(vec![edca(50, 31)]);
    wide.experimental = true;
    let radio = script::network(Behaviour::Standard);
    assert!(airqueue_wifi::mac::Mac::new(ME, wide, &radio, airqueue_core::Seed(1)).is_ok());
}

/// Frames carry the access category and the packet's rate; control frames have the rate of responses or the configured
/// rate.
#[test]
fn control_rates() {
    let mut config = dcf();
    config.rts_threshold_bytes = 0;
    let mut station = Station::new(Behaviour::Standard, config.clone());
    let rates: Vec<_> = station.radio.phy.rates().map(|(index, _)| index).collect();
    station.packets(0, 1000, 1).run(100_000);
    let sent = |station: &Station| -> Vec<Frame> { station.sent.iter().map(|s| s.frame).collect() };
    assert_eq!(sent(&station).iter().map(|f| f.rate).collect::<Vec<_>>(), [rates[1], rates[3]]);
    config.protection_rate = Some(rates[0]);
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 1000, 1).run(100_000);
    assert_eq!(sent(&station).iter().map(|f| f.rate).collect::<Vec<_>>(), [rates[0], rates[3]]);
}
