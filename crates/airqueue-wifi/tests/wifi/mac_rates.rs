//! Outcomes of data frames that a MAC reports, and changes of their rate.

use crate::script::{Answer, Station, dcf};
use airqueue_core::DataRate;
use airqueue_wifi::mac::{Behaviour, FrameKind, MacConfig, Transmission};
use airqueue_wifi::phy::{AccessCategory, Protection, Response};

/// A lost RTS gives no outcome for the data rate; a lost or acknowledged data frame does.
#[test]
fn only_data_frames_are_reported() {
    let mut station =
        Station::new(Behaviour::Standard, MacConfig { protection: Protection::RtsCts, ..dcf() });
    let answers = [Answer::None, Answer::Received, Answer::None, Answer::Received, Answer::Lost];
    station.packets(0, 1000, 1).answers(&answers).run(100_000);
    let reported = |acknowledged| Transmission {
        ac: AccessCategory::FIRST,
        rate: station.data_rate(),
        mpdus: 1,
        acknowledged,
    };
    // A lost ACK cannot be distinguished from lost data.
    assert_eq!(station.transmissions, [reported(0), reported(0), reported(1)]);
}

#[test]
fn a_frame_is_tried_again_at_the_rate_that_is_set() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.packets(0, 1000, 2).answers(&[Answer::None]);
    let mut until = 1_000;
    while station.transmissions.is_empty() {
        until += 10;
        station.run(until);
    }
    let slow = station.radio.phy.rate_index(DataRate::from_bps(1_000_000).unwrap()).unwrap();
    let radio = station.radio.clone();
    station.mac.set_rate(AccessCategory::FIRST, slow, &radio);
    station.run(100_000);
    let data = station.sent.iter().filter(|sent| sent.frame.kind == FrameKind::Data);
    let sent: Vec<_> = data.map(|sent| (sent.frame.rate, sent.frame.nav)).collect();
    let fast = station.data_rate();
    let at = |rate| (rate, radio.phy.response_nav(rate, Response::Ack));
    assert_eq!(sent, [at(fast), at(slow), at(fast)]);
    let reported: Vec<_> = station.transmissions.iter().map(|reported| reported.rate).collect();
    assert_eq!(reported, [fast, slow, fast]);
}
