//! Cost of a look of `airqueued watch` at many stations, and of judging it: recorded messages of a station, replayed.
//!
//! `cargo bench -p airqueued`; the target is that a look each second at 50 stations takes less than 2 % of a core: 20 ms.
//! What the kernel takes to write the messages is not in it.

use airqueue_control::watch::{Look, PhyLook, Watch};
use airqueue_core::{Span, Time};
use airqueued::radio::nl80211::{MacAddress, attribute};
use airqueued::radio::station;
use airqueued::radio::stations::station_look;
use airqueued::radio::wiphy::{self, WirelessInterface};
use divan::Bencher;
use netlink_packet_core::NetlinkBuffer;

fn main() {
    divan::main();
}

fn recorded(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/recorded/txqs/{name}.netlink", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path).expect("it is in the repository");
    NetlinkBuffer::new_checked(bytes.as_slice()).expect("a message").payload().to_vec()
}

/// The message of the recorded station, with the address of another one.
fn message(of: &[u8], number: u8) -> Vec<u8> {
    let header = [10, 0, attribute::MAC as u8, 0];
    let at = of.windows(4).position(|bytes| bytes == header).expect("a station has an address");
    let mut message = of.to_vec();
    message[at + 4..at + 10].copy_from_slice(&MacAddress([2, 0, 0, 0, number, 0]).0);
    message
}

#[divan::bench(args = [1, 10, 50])]
fn look(bencher: Bencher, stations: u8) {
    let station = recorded("full-station");
    let bodies: Vec<Vec<u8>> = (0..stations).map(|number| message(&station, number)).collect();
    let interface = recorded("ap-interface");
    let interfaces = wiphy::read_interfaces([interface.as_slice()]).expect("an interface");
    let mut watch = Watch::new(Span::from_secs_f64(5.0));
    let mut seconds = 0;
    bencher.bench_local(|| {
        seconds += 1;
        let phy = phy(&interfaces[0], &bodies);
        let look = Look { at: Time::from_nanos(seconds * 1_000_000_000), phys: vec![phy] };
        serde_json::to_string(&watch.on_look(&look))
    });
}

fn phy(interface: &WirelessInterface, bodies: &[Vec<u8>]) -> PhyLook {
    let read = station::read_all(bodies.iter().map(Vec::as_slice)).expect("stations");
    PhyLook {
        phy: "phy0".to_owned(),
        limit_packets: Some(8192),
        backlog_packets: Some(400),
        stations: read.iter().map(|station| station_look(interface, station)).collect(),
    }
}
