//! Changes while a network runs, as real packets meet them.

use crate::common::{CELL, datagram, run, seconds, start};
use airqueue_core::{Span, Time};
use airqueue_emulator::Emulation;
use airqueue_scenario::Scenario;

/// Full-sized packets from the server to the phone, one every 5 ms, for a second from `at`; their delays.
fn second_of_packets(emulation: &mut Emulation, at: Time) -> Vec<Span> {
    let mut delays = Vec::new();
    for n in 0..200 {
        let sent = at + Span::from_millis(5 * n);
        let packet = datagram(1, 0, 1000, 0, 1500);
        emulation.arrive(1, &packet, sent, &mut |_| {}).unwrap();
        let end = sent + Span::from_millis(5) - Span::from_nanos(1);
        delays.extend(run(emulation, end).iter().map(|(_, _, due)| *due - sent));
    }
    delays
}

const NEAR: &str = r#"{
    "warm_up": "0 s",
    "phy": {"standard": "802.11n", "rate": "HT-MCS7"},
    "stations": [{"name": "ap"}, {"name": "phone", "real": true}],
    "hosts": [{"name": "server", "link": "ap", "delay": "100 us", "real": true}]
    CHANGES
}"#;

/// A change in the file, and one that is asked for while the network runs, reach every flow of a pair, whichever flow a
/// program's packets take.
#[test]
fn changes_of_rates_are_those_of_real_packets() {
    let written = r#", "changes": [{"at": "1 s", "link": ["ap", "phone"], "rate": "HT-MCS0"}]"#;
    for changes in ["", written] {
        let emulated = Scenario::emulated(&NEAR.replace("CHANGES", changes), &[]).unwrap();
        let mut emulation = start(&emulated);
        let before = second_of_packets(&mut emulation, Time::ZERO);
        if changes.is_empty() {
            let asked = r#"{"station": "phone", "rate": "HT-MCS0"}"#;
            emulation.change(&emulated.change(asked).unwrap(), seconds(1.0));
        }
        let after = second_of_packets(&mut emulation, seconds(1.0));
        assert_eq!((before.len(), after.len()), (200, 200));
        // 12 304 bits take 0.19 ms at 65 Mb/s, and 1.9 ms at 6.5 Mb/s.
        let least = |delays: &[Span]| delays.iter().min().unwrap().as_secs_f64();
        let longer = least(&after) - least(&before);
        assert!((0.0015..0.0020).contains(&longer), "{longer} s longer");
    }
}

/// A file that only programs use is checked without them first: nothing is wrong there with what they alone use.
#[test]
fn changes_of_what_only_programs_use_are_no_errors_of_the_file() {
    let of = |change: &str| NEAR.replace("CHANGES", &format!(r#", "changes": [{change}]"#));
    for change in [
        r#"{"at": "1 s", "station": "phone", "rate": "HT-MCS0"}"#,
        r#"{"at": "1 s", "link": ["ap", "phone"], "rate": "HT-MCS0"}"#,
    ] {
        assert!(Scenario::from_json(&of(change)).is_ok());
        let simulated = of(change).replace(r#", "real": true"#, "");
        assert!(Scenario::from_json(&simulated).is_err());
        assert!(Scenario::emulated(&of(change), &[]).is_ok());
    }
    let nobody = of(r#"{"at": "1 s", "link": ["phone", "tablet"], "rate": "HT-MCS0"}"#)
        .replace(r#"{"name": "ap"}"#, r#"{"name": "ap"}, {"name": "tablet"}"#);
    let problem = Scenario::emulated(&nobody, &[]).unwrap_err().to_string();
    assert!(problem.contains("no flow goes"), "{problem}");
}

#[test]
fn changes_of_wires_and_stations_are_those_of_real_packets() {
    let emulated = Scenario::emulated(&NEAR.replace("CHANGES", ""), &[]).unwrap();
    let mut emulation = start(&emulated);
    let mut at = Time::ZERO;
    let mut next = |change: &str| {
        emulation.change(&emulated.change(change).unwrap(), at);
        let delays = second_of_packets(&mut emulation, at);
        at += Span::from_secs(1);
        (delays.len(), delays.iter().min().copied())
    };
    let (count, usual) = next(r#"{"host": "server", "loss": 0}"#);
    assert_eq!(count, 200);
    assert_eq!(next(r#"{"host": "server", "loss": 1}"#).0, 0);
    let (count, least) = next(r#"{"host": "server", "loss": 0, "delay": "2.1 ms"}"#);
    assert_eq!((count, least.unwrap() - usual.unwrap()), (200, Span::from_millis(2)));
    assert_eq!(next(r#"{"station": "phone", "away": true}"#).0, 0);
    // The packet that the access point holds may be repeated until the phone is back.
    assert!(next(r#"{"station": "phone", "away": false}"#).0 >= 200);
    let (_, _, to_server) = emulation.pairs().next().unwrap();
    assert_eq!(to_server.offered.packets, 0);
    let (_, _, counters) = emulation.pairs().nth(1).unwrap();
    assert_eq!(counters.offered.packets, 1000);
    let lost = counters.lost.packets + counters.dropped.packets;
    assert!(counters.lost.packets > 200 && counters.dropped.packets > 0);
    assert_eq!(counters.delivered.packets + lost + emulation.packets_held() as u64, 1000);
}

#[test]
fn what_cannot_be_changed_now_is_refused_without_a_place() {
    let changes = r#", "changes": [{"at": "1 s", "host": "server", "loss": 0.5}]"#;
    let emulated = Scenario::emulated(&NEAR.replace("CHANGES", changes), &[]).unwrap();
    for (change, says) in [
        ("{", "EOF"),
        ("[]", "a change is a table of keys"),
        ("{}", "it changes nothing"),
        (r#"{"at": "1 s", "station": "phone", "away": true}"#, "at: a change of a running"),
        (r#"{"station": "phone"}"#, "with the key `station` the key `rate`"),
        (r#"{"station": "nobody", "away": true}"#, "station: there is no station or group"),
        (r#"{"station": "phone", "away": "yes"}"#, "away: wrong type"),
        (r#"{"station": "phone", "rate": "3 Mb/s"}"#, "rate: "),
        (r#"{"power": 1}"#, "power: unknown key"),
        (r#"{"flow": "real phone to server", "via": []}"#, "flow: there is no flow"),
    ] {
        let error = emulated.change(change).unwrap_err().to_string();
        assert!(error.starts_with(says) || error.contains(says), "{change}: {error}");
        assert!(!error.contains("changes["), "{error}");
    }
}

/// A route that the file does not have cannot be taken later; one that it has can.
#[test]
fn routes_are_those_of_the_file() {
    let text = r#"{
        "warm_up": "0 s",
        "phy": {"standard": "802.11g"},
        "stations": [{"name": "ap"}, {"name": "phone"}, {"name": "relay"}, {"name": "other"}],
        "hosts": [{"name": "server", "link": "ap"}],
        "flows": [{"name": "up", "from": "phone", "to": "server", "source": "cbr", "rate": "1 Mb/s"}],
        "changes": [{"at": "1 s", "flow": "up", "via": ["relay"]}]
    }"#;
    let real = ["phone".to_owned(), "server".to_owned()];
    let emulated = Scenario::emulated(text, &real).unwrap();
    let via =
        |station: &str| emulated.change(&format!(r#"{{"flow": "up", "via": ["{station}"]}}"#));
    assert_eq!(via("relay").unwrap().len(), 1);
    let error = via("other").unwrap_err().to_string();
    assert!(error.starts_with("via: the running network has no such route"), "{error}");
    let mut emulation = start(&emulated);
    emulation.change(&via("relay").unwrap(), Time::ZERO);
    run(&mut emulation, seconds(2.0));
    let figures: serde_json::Value = serde_json::from_str(&emulation.figures()).unwrap();
    assert!(figures["queues"]["relay"]["offered_packets"].as_u64() > Some(0), "{figures}");
}

/// A queue that was replaced has no limits of flows any more; what the file would change later is kept.
#[test]
fn queues_are_replaced_and_their_flows_then_refused() {
    let text = |changes: &str| {
        CELL.replacen('{', r#"{ "flows": [{"name": "beside", "from": "ap", "to": "tablet", "source": "cbr", "rate": "1 Mb/s"}],"#, 1)
            .replace(r#""discipline": "droptail""#, r#""discipline": "drr""#)
            .replacen('{', &format!("{{ {changes}"), 1)
    };
    let flow = r#"{"station": "ap", "flow": "beside", "queue_limit": "5 packets"}"#;
    let queue = r#"{"station": "ap", "queue": "fq_codel"}"#;
    let emulated = Scenario::emulated(&text(""), &[]).unwrap();
    let mut emulation = start(&emulated);
    for (at, change) in
        [flow, queue, r#"{"station": "ap", "queue_limit": "7 packets"}"#].iter().enumerate()
    {
        emulation.change(&emulated.change(change).unwrap(), seconds(at as f64));
        second_of_packets(&mut emulation, seconds(at as f64));
    }
    run(&mut emulation, seconds(4.0));
    let error = emulated.change(flow).unwrap_err().to_string();
    assert!(error.starts_with("flow: the queue of the station was replaced"), "{error}");
    let (_, _, counters) = emulation.pairs().nth(1).unwrap();
    assert_eq!(counters.delivered.packets, 600);

    let later = r#""changes": [{"at": "9 s", "station": "ap", "flow": "beside", "queue_limit": "5 packets"}],"#;
    let emulated = Scenario::emulated(&text(later), &[]).unwrap();
    let error = emulated.change(queue).unwrap_err().to_string();
    assert!(error.starts_with("changes[0].flow: another change replaces"), "{error}");
}
