//! Airtime of a packet's transmissions, as reported to its queue.

use crate::script::{
    ACK_US, Answer, EXCHANGE_US, Ending, RTS_US, SIFS_US, Station, dcf, eager, edca,
};
use airqueue_wifi::mac::{Behaviour, MacConfig};
use airqueue_wifi::phy::Protection;

const PROTECTED: [(Protection, i64); 3] = [
    (Protection::None, 0),
    (Protection::CtsToSelf, ACK_US + SIFS_US),
    (Protection::RtsCts, RTS_US + SIFS_US + ACK_US + SIFS_US),
];

#[test]
fn each_packet_has_its_own_attempts() {
    for (protection, before) in PROTECTED {
        let config = MacConfig { protection, ..dcf() };
        let mut station = Station::new(Behaviour::Standard, config);
        // All frames arrive; then the first frame of an exchange is lost twice, of whatever kind.
        station.packets(0, 1000, 2).run(20_000);
        station.answers(&[Answer::None; 2]).packets(0, 20_000, 1).run(100_000);
        let one = before + EXCHANGE_US;
        let lost = if protection == Protection::RtsCts { before } else { one };
        assert_eq!(station.airtimes, [one, one, one + 2 * lost], "{protection:?}");
    }
}

#[test]
fn also_of_a_packet_that_is_given_up() {
    let mut station = Station::new(Behaviour::Standard, dcf());
    station.packets(0, 1000, 2).answers(&[Answer::Lost; 7]).run(1_000_000);
    assert_eq!(station.airtimes, [7 * EXCHANGE_US, EXCHANGE_US]);
}

/// The queue that loses an internal collision has transmitted nothing.
#[test]
fn an_internal_collision_takes_no_airtime() {
    let config = MacConfig { short_retry_limit: 1, ..MacConfig::new(vec![edca(2, 1); 2]) };
    let mut station = Station::new(Behaviour::Standard, config);
    station.packets(0, 500, 1).packets(1, 500, 1).hears(100, 1000, Ending::Noise).run(100_000);
    assert_eq!(station.airtimes, [0, EXCHANGE_US]);
    assert_eq!(station.data().len(), 1);
    let mut alone = Station::new(Behaviour::Standard, eager());
    assert_eq!(alone.packets(0, 500, 1).run(100_000).airtimes, [EXCHANGE_US]);
}
