//! What cfg80211 and traffic control have answered, read: recorded messages (`recorded/README.md`).

use airqueued::netlink::Message;
use airqueued::qdisc::counts::{self, Unit};
use airqueued::qdisc::{self, rates};
use airqueued::radio::nl80211::{MacAddress, bodies};
use airqueued::radio::radar;
use airqueued::radio::station::{self, Station};
use airqueued::radio::survey;
use airqueued::radio::txq::TxqLimits;
use airqueued::radio::wiphy::{self, InterfaceType, Wiphy};
use airqueued::radio::{links, mesh_path};
use netlink_packet_core::NetlinkBuffer;
use proptest::prelude::*;
use std::path::Path;

/// The kernel with TXQs, Linux 6.12, and the one from before hwsim had them, Linux 6.1.
const KERNELS: [&str; 2] = ["txqs", "before-txqs"];

fn file(kernel: &str, name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(kernel).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The messages of an answer, as the transport hands them on.
fn recorded(kernel: &str, name: &str) -> Vec<Message> {
    let bytes = file(kernel, &format!("{name}.netlink"));
    let mut rest = bytes.as_slice();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let message = NetlinkBuffer::new_checked(rest).unwrap();
        found.push(Message { kind: message.message_type(), body: message.payload().to_vec() });
        rest = &rest[(message.length() as usize).next_multiple_of(4).min(rest.len())..];
    }
    found
}

fn phy(kernel: &str, name: &str) -> Wiphy {
    let phys = wiphy::read_all(bodies(&recorded(kernel, name))).unwrap();
    assert_eq!(phys.len(), 1, "many messages describe one phy");
    phys.into_iter().next().unwrap()
}

fn stations(kernel: &str, name: &str) -> Vec<Station> {
    station::read_all(bodies(&recorded(kernel, name))).unwrap()
}

/// hwsim's radios have these addresses, by their number.
fn radio(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, number, 0])
}

#[test]
fn phys_with_and_without_txqs_are_told_apart() {
    let with = phy("txqs", "ap-wiphy");
    assert_eq!((with.index, with.name.as_str()), (0, "phy0"));
    assert!(with.has_txqs);
    // Defaults of mac80211: `ieee80211_txq_setup_flows`.
    let limits =
        TxqLimits { limit_packets: 8192, memory_limit_bytes: 16 << 20, quantum_bytes: 300 };
    assert_eq!(with.txq_limits, Some(limits));
    assert_eq!(with.txq.unwrap().backlog_packets, Some(0));

    let without = phy("before-txqs", "ap-wiphy");
    assert_eq!((without.name.as_str(), without.has_txqs), ("phy0", false));
    assert_eq!((without.txq_limits, without.txq), (None, None));
}

/// The world's regulatory domain (00), which hwsim begins with: radar at channels 52 to 64 and 100 to 144. hwsim's last
/// of these is 140.
#[test]
fn phys_say_at_which_channels_there_is_radar() {
    for kernel in KERNELS {
        let found = radar::read_all(bodies(&recorded(kernel, "ap-wiphy"))).unwrap();
        let frequencies: Vec<u32> = found.iter().map(|channel| channel.frequency_mhz).collect();
        let expected = (5260..=5320).step_by(20).chain((5500..=5700).step_by(20));
        let expected: Vec<u32> = expected.collect();
        assert_eq!(frequencies, expected, "{kernel}");
        assert!(found.iter().all(|channel| channel.check_s == Some(60)), "{kernel}: {found:?}");
    }
}

#[test]
fn interfaces_say_what_they_are_for() {
    for kernel in KERNELS {
        for (name, interface, kind, wiphy) in [
            ("ap-interface", "wlan0", InterfaceType::AccessPoint, 0),
            ("mesh-interface", "wlan2", InterfaceType::MeshPoint, 2),
        ] {
            let found = wiphy::read_interfaces(bodies(&recorded(kernel, name))).unwrap();
            assert_eq!(found.len(), 1);
            let found = &found[0];
            assert_eq!((found.name.as_str(), found.kind, found.wiphy), (interface, kind, wiphy));
            assert_eq!(found.address, Some(radio(wiphy as u8)));
            assert_eq!(found.frequency_mhz, Some(2412));
            // The queue of frames to groups.
            assert_eq!(found.txq.is_some(), kernel == "txqs");
        }
    }
}

#[test]
fn a_station_has_its_rates_and_the_queue_of_each_tid() {
    for kernel in KERNELS {
        let found = stations(kernel, "ap-station");
        assert_eq!(found.len(), 1);
        let station = &found[0];
        assert_eq!(station.address, radio(1));
        // hwsim's signal.
        assert_eq!(station.signal_dbm, Some(-30));
        // The lowest of 802.11b and the highest of 802.11n with two streams of 20 MHz and a short guard interval.
        for rate in [station.tx_rate_bps, station.rx_rate_bps] {
            assert!((1_000_000..=144_500_000).contains(&rate.unwrap()), "{rate:?}");
        }
        assert!(station.tx_packets.unwrap() > 0 && station.tx_bytes.unwrap() > 0);
        // hwsim counts no airtime.
        assert_eq!(station.tx_duration_us.unwrap_or(0), 0);
        let tids: Vec<_> = station.tids.iter().map(|each| each.tid).collect();
        let expected: Vec<_> = (0..16).map(Some).chain([None]).collect();
        assert_eq!(tids, expected);
        for tid in &station.tids {
            assert_eq!(tid.txq.is_some(), kernel == "txqs" && tid.tid.is_some(), "{:?}", tid.tid);
        }
        // Three pings each way: from here as best effort (TID 0), the replies to the station's with its class
        // (DSCP 46 is TID 5 or 6, `cfg80211_classify8021d`).
        let sent = |tids: &[u8]| -> u64 {
            let of =
                station.tids.iter().filter(|each| each.tid.is_some_and(|tid| tids.contains(&tid)));
            of.map(|each| each.tx_msdu.unwrap()).sum()
        };
        assert!(sent(&[0]) >= 3);
        assert!(sent(&[5, 6]) >= 3);
    }
}

#[test]
fn a_queue_that_does_not_drain_is_seen_with_its_station_and_tid() {
    let backlog = stations("txqs", "full-station")[0]
        .tids
        .iter()
        .filter_map(|each| Some((each.tid?, each.txq?.backlog_packets?)))
        .filter(|each| each.1 > 0)
        .collect::<Vec<_>>();
    // 400 packets of best effort were sent; no limit of 8192 drops one of them. CoDel drops when packets leave.
    assert!(matches!(backlog[..], [(0, 390..=400)]), "{backlog:?}");
    let phy = phy("txqs", "full-wiphy").txq.unwrap();
    assert!((390..=410).contains(&phy.backlog_packets.unwrap()), "{phy:?}");
    assert_eq!(phy.overlimit, Some(0));
}

#[test]
fn paths_of_a_mesh_have_next_hops_and_lengths() {
    for kernel in KERNELS {
        let mut paths = mesh_path::read_all(bodies(&recorded(kernel, "mesh-mpath"))).unwrap();
        paths.sort_by_key(|path| path.destination);
        // m2 - m3 - m4; the outer two do not hear each other.
        let found: Vec<_> =
            paths.iter().map(|path| (path.destination, path.next_hop, path.hops)).collect();
        let next = Some(radio(3));
        assert_eq!(found, [(radio(3), next, Some(1)), (radio(4), next, Some(2))]);
        assert!(paths[0].metric.unwrap() < paths[1].metric.unwrap());
        let peers = stations(kernel, "mesh-station");
        // `NL80211_PLINK_ESTAB` is 4, `NL80211_PLINK_BLOCKED` is 6.
        let states: Vec<_> =
            peers.iter().map(|peer| (peer.address, peer.plink_state.unwrap())).collect();
        assert!(states.contains(&(radio(3), 4)), "{states:?}");
        assert!(states.contains(&(radio(4), 6)), "{states:?}");
    }
}

#[test]
fn channels_have_their_times() {
    for kernel in KERNELS {
        let found = survey::read_all(bodies(&recorded(kernel, "station-survey"))).unwrap();
        assert!(found.iter().any(|each| each.frequency_mhz == 2412), "{found:?}");
        for each in &found {
            let active = each.active_ms.unwrap();
            assert!(active > 0 && each.busy_ms.unwrap() <= active, "{each:?}");
            // hwsim tells the times of its scan alone (`mac80211_hwsim_get_survey`).
            assert!(!each.in_use);
        }
    }
}

/// Numbers of the interfaces in the recorded namespace: `lo`, and those that were made after it.
const LO: u32 = 1;

fn disciplines() -> Vec<Message> {
    recorded("tc", "qdiscs")
}

#[test]
fn disciplines_have_limits_rates_and_an_mq_above() {
    let told = disciplines();
    let roots = rates::at_roots(&told).unwrap();
    // A tbf at the root of one interface; htb and mq have no rate of their own.
    assert_eq!(roots.values().collect::<Vec<_>>(), [&2_000_000]);
    let of = |index: u32| -> Vec<_> {
        let found = counts::read(&told, index).unwrap();
        found.into_iter().map(|each| (each.kind, each.limit, each.unit, each.mq)).collect()
    };
    assert_eq!(
        of(LO),
        [
            ("pfifo".to_owned(), 20, Unit::Packets, None),
            ("bfifo".to_owned(), 30_000, Unit::Bytes, None)
        ]
    );
    let below_mq = (LO + 1..20).map(of).find(|found| !found.is_empty()).unwrap();
    assert_eq!(below_mq, vec![("pfifo".to_owned(), 5, Unit::Packets, Some(0x1_0000)); 2]);
    let words = qdisc::describe(&told[0]).unwrap();
    assert!(!words.is_empty());
}

#[test]
fn a_filter_of_ours_names_its_class() {
    let found = qdisc::classified(&recorded("tc", "filters"));
    assert!(found.iter().any(|(class, filter)| *class == 3 && filter & 0xfff == 3), "{found:?}");
}

/// Reads as every reader of traffic control does: none of them may panic.
fn read_all_of_traffic_control(messages: &[Message]) {
    for message in messages {
        let _ = qdisc::describe(message);
    }
    for index in 0..6 {
        let _ = counts::read(messages, index);
    }
    let _ = rates::at_roots(messages);
    let _ = qdisc::classified(messages);
}

/// Reads as every reader does: none of them may panic.
fn read_everything(body: &[u8]) {
    let message = Message { kind: 16, body: body.to_vec() };
    let _ = links::read_all(&[message]);
    let _ = wiphy::read_all([body]);
    let _ = radar::read_all([body]);
    let _ = wiphy::read_interfaces([body]);
    let _ = station::read_all([body]);
    let _ = survey::read_all([body]);
    let _ = mesh_path::read_all([body]);
}

fn any_recorded() -> impl Strategy<Value = Vec<u8>> {
    let names =
        ["ap-wiphy", "ap-interface", "ap-station", "mesh-mpath", "mesh-station", "station-survey"];
    let all = KERNELS.map(|kernel| names.map(|name| recorded(kernel, name)));
    let bodies: Vec<_> = all.into_iter().flatten().flatten().map(|message| message.body).collect();
    prop::sample::select(bodies)
}

proptest! {
    #[test]
    fn hostile_disciplines_do_not_panic(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..5)) {
        let message = |body: Vec<u8>| Message { kind: 36, body };
        read_all_of_traffic_control(&bodies.into_iter().map(message).collect::<Vec<_>>());
    }

    /// Recorded dumps with some bytes, or the ends of messages, changed: also trees that no kernel has.
    #[test]
    fn damaged_disciplines_do_not_panic(
        name in prop::sample::select(vec!["qdiscs", "classes", "filters"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..20),
        cut in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>())),
        kinds in prop::sample::select(vec![36_u16, 40, 44]),
    ) {
        let mut messages = recorded("tc", name);
        for (which, at, byte) in changes {
            let which = which.index(messages.len());
            let body = &mut messages[which].body;
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Some((which, length)) = cut {
            let which = which.index(messages.len());
            let body = &mut messages[which].body;
            let length = length.index(body.len() + 1);
            body.truncate(length);
        }
        messages.iter_mut().for_each(|message| message.kind = kinds);
        read_all_of_traffic_control(&messages);
    }

    #[test]
    fn hostile_bytes_do_not_panic(command in 0..120_u8, rest in prop::collection::vec(any::<u8>(), 0..300)) {
        read_everything(&rest);
        read_everything(&[vec![command, 0, 0, 0], rest].concat());
    }

    #[test]
    fn damaged_messages_do_not_panic(
        body in any_recorded(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        length in any::<prop::sample::Index>(),
    ) {
        let mut body = body;
        for (index, byte) in changes {
            let at = index.index(body.len());
            body[at] = byte;
        }
        read_everything(&body);
        read_everything(&body[..length.index(body.len())]);
    }
}
