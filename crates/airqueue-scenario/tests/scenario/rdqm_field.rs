//! What RDQM's receivers report, in the Duration/ID fields of captured responses.

use crate::figures::{close, figure, results};
use crate::pcap_records::{le16, records};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_network::wlan::pcap::{Pcap, View, WHOLE_FRAMES};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// Frame Control, first byte (IEEE 802.11-2016, 9.2.4.1.3).
const ACK: u8 = 0xd4;
const BLOCK_ACK: u8 = 0x94;
const MARKED: u16 = 0x8000;

/// An access point that sends to a station that reports and to one that does not.
fn cell(phy: Value, access_point: Value) -> Value {
    let mut ap = json!({"name": "ap"});
    ap.as_object_mut().unwrap().extend(access_point.as_object().unwrap().clone());
    json!({
        "duration": "10 s", "warm_up": "2 s",
        "phy": phy,
        "queue": {"discipline": "rdqm", "limit": "80 packets", "rdqm": {"beyond_limit": false}},
        "stations": [ap, {"name": "near"}, {"name": "legacy"}],
        "flows": [
            {"name": "a", "from": "ap", "to": "near", "source": "poisson",
             "rate": "60 Mb/s", "rdqm_rtt": "149.6 ms"},
            {"name": "b", "from": "ap", "to": "legacy", "source": "poisson", "rate": "60 Mb/s"},
        ],
    })
}

/// Kind and Duration/ID field of the responses to the access point in a second, by the station that sent them: the
/// receiver of the last data frame before.
fn responses(scenario: &Value) -> Vec<(u8, u32, u16)> {
    let spec = Scenario::from_json(&scenario.to_string()).unwrap().spec().clone();
    let mut network = Network::new(&spec, Seed(7)).unwrap();
    let tap = spec.pcap(View::Air, WHOLE_FRAMES, Vec::new()).unwrap();
    network.model.wlan_mut().plug(Box::new(tap));
    network.run_until(Time::ZERO + Span::from_secs(1));
    let tap = network.model.wlan_mut().unplug::<Pcap<Vec<u8>>>().unwrap();
    let mut found = Vec::new();
    let mut receiver = 0;
    for record in records(&tap.finish().unwrap(), WHOLE_FRAMES) {
        let frame = record.frame();
        match frame[0] {
            ACK | BLOCK_ACK => found.push((frame[0], receiver, le16(&frame[2..]))),
            _ => receiver = u32::from_be_bytes(frame[6..10].try_into().unwrap()),
        }
    }
    found
}

const NEAR: u32 = 1;

#[test]
fn acknowledgements_carry_the_rate_and_the_round_trip_time() {
    let phy = json!({"standard": "802.11b", "rate": "11 Mb/s"});
    let found = responses(&cell(phy, json!({})));
    assert!(found.iter().filter(|(_, from, _)| *from == NEAR).count() > 100, "{found:?}");
    for (kind, from, field) in found {
        // Number 3 is 11 Mb/s; 149.6 ms are 150.
        let told = if from == NEAR { MARKED | 3 << 10 | 150 } else { 0 };
        assert_eq!((kind, field), (ACK, told));
    }
}

/// Rates of 802.11n have no number: 15 stands for that of the data frame.
#[test]
fn block_acknowledgements_leave_the_rate_to_the_sender() {
    let phy = json!({"standard": "802.11n", "width": "20 MHz", "streams": 1, "rate": "HT-MCS7"});
    let found = responses(&cell(phy, json!({})));
    let blocks: Vec<_> = found.iter().filter(|(kind, ..)| *kind == BLOCK_ACK).collect();
    assert!(blocks.iter().filter(|(_, from, _)| *from == NEAR).count() > 10, "{found:?}");
    for (_, from, field) in blocks {
        assert_eq!(*field, if *from == NEAR { MARKED | 15 << 10 | 150 } else { 0 });
    }
}

/// Where frames announce the rest of their TXOP, so do the responses: these fields have no room for a report.
#[test]
fn an_announced_txop_leaves_no_room() {
    let phy = json!({"standard": "802.11g", "rate": "54 Mb/s"});
    let txop = json!({"mac": {"access": "edca", "edca": {"be": {"txop": "3 ms"}}}});
    let mut scenario = cell(phy, txop);
    for behaviour in ["standard", "ns3"] {
        scenario["behaviour"] = json!(behaviour);
        let found = responses(&scenario);
        let of_near: Vec<_> = found.iter().filter(|(_, from, _)| *from == NEAR).collect();
        assert!(of_near.len() > 100);
        for (.., field) in of_near {
            match behaviour {
                "ns3" => assert!((1..MARKED).contains(field), "{field}"),
                _ => assert_eq!(*field, MARKED | 11 << 10 | 150),
            }
        }
    }
}

/// With A-MPDUs, too, the shares follow the round-trip times, though a response speaks of one flow. The queue is long
/// beside a frame of 64 packets: it stays full, and all packets wait equally long.
#[test]
fn shares_follow_reports_in_block_acknowledgements() {
    let phy = json!({"standard": "802.11n", "width": "20 MHz", "streams": 1, "rate": "HT-MCS7"});
    let mut scenario = cell(phy, json!({}));
    scenario["queue"]["limit"] = json!("2000 packets");
    scenario["flows"][1]["to"] = json!("near");
    for (rtt, ratio) in [("150 ms", 1.0), ("50 ms", 3.0)] {
        scenario["flows"][1]["rdqm_rtt"] = json!(rtt);
        let results = results(&scenario, 1);
        let of = |flow| figure(&results, "flows", flow, "throughput_bps");
        close(of("a") / of("b"), ratio, 0.03);
    }
}
