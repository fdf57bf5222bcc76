//! Flows whose figures are what people feel: round trips, pictures, and what makes both late. Against closed forms.

use crate::figures::{close, figure, results};
use crate::scenarios::{refusal_of, set};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::Recording;
use airqueue_scenario::Scenario;
use airqueue_wifi::mac::FrameKind;
use serde_json::{Value, json};

/// A station beside its access point, which has nothing else to do.
fn idle(flow: Value) -> Value {
    let mut flow = flow;
    flow["from"] = json!("sta");
    flow["to"] = json!("ap");
    json!({
        "duration": "100 s", "warm_up": "1 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "2 Mb/s"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [flow],
    })
}

/// Time on the air of a packet of 802.11b at 11 Mb/s: preamble, and 36 bytes of header, LLC and FCS besides the packet.
fn data_us(bytes: f64) -> f64 {
    192.0 + ((bytes + 36.0) * 8.0 / 11.0).ceil()
}

const SIFS_US: f64 = 10.0;
const DIFS_US: f64 = 50.0;
/// At 2 Mb/s: 14 bytes behind the preamble.
const ACK_US: f64 = 192.0 + 56.0;

/// On an idle cell a request is sent at once, since the medium has been idle for DIFS, and its answer waits for the
/// acknowledgement of the request, DIFS and a backoff of 15.5 slots in the mean (the queue of the answer is filled while SIFS
/// runs). All is known but the backoff: the tolerance of the mean is four of its standard errors, the longest of 1000 pings has
/// 31 slots.
#[test]
fn a_ping_on_an_idle_cell_takes_two_accesses() {
    for bytes in [84.0, 1000.0] {
        let flow = json!({"name": "ping", "source": "ping", "size": format!("{bytes} B"), "ping": {"interval": "100 ms"}});
        let results = results(&idle(flow), 3);
        let ping = |name| figure(&results, "pings", "ping", name);
        let request = data_us(bytes);
        let answer = SIFS_US + ACK_US + DIFS_US + 15.5 * 20.0 + data_us(bytes);
        let error_us = 4.0 * 20.0 * f64::sqrt(1023.0 / 12.0 / 1000.0);
        let mean_us = ping("round_trip_mean_s") * 1e6;
        assert!((mean_us - request - answer).abs() < error_us, "{mean_us} {}", request + answer);
        // The backoff is uniform over 32 slots: its deviation is sqrt((32^2 - 1) / 12) slots.
        close(ping("round_trip_sd_s"), 20e-6 * f64::sqrt(1023.0 / 12.0), 0.1);
        close(ping("round_trip_max_s"), (request + answer + 15.5 * 20.0) * 1e-6, 1e-3);
        // One more or fewer at the ends of the counted time.
        close(ping("requests"), 1000.0, 1.5e-3);
        close(ping("answered"), ping("requests"), 1.5e-3);
        assert_eq!(ping("loss_ratio"), 0.0);
    }
}

/// Through a wire of 10 ms, without queue, a round trip is that of the wire and of the serialisation of both.
#[test]
fn requests_are_answered_with_several_packets() {
    let scenario = json!({
        "duration": "20 s", "warm_up": "1 s",
        "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}],
        "hosts": [
            {"name": "one", "link": "ap", "rate": "10 Mb/s", "delay": "5 ms"},
            {"name": "two", "link": "ap", "rate": "1000 Mb/s", "delay": "5 ms"},
        ],
        "flows": [{
            "name": "web", "from": "two", "to": "one", "source": "ping", "size": "1000 B",
            "ping": {"interval": "50 ms", "distribution": "exponential", "answer_size": "4 kB"},
        }],
    });
    let found = results(&scenario, 5);
    let ping = |name| figure(&found, "pings", "web", name);
    // Four wires of delay; the request on both, and three packets of the answer on the slow wire, the last one on the fast.
    let request_us = 1000.0 * 8.0 / 10.0 + 1000.0 * 8.0 / 1000.0;
    let answer_us = 4000.0 * 8.0 / 10.0 + 1000.0 * 8.0 / 1000.0;
    let least = 0.02 + (request_us + answer_us) * 1e-6;
    assert!(ping("round_trip_p50_s") >= least * 0.984 && ping("round_trip_mean_s") > least);
    // 20 requests a second occupy 6 % of the slow wire: most find no other.
    close(ping("round_trip_p50_s"), least, 0.017);
    close(figure(&found, "flows", "web", "delivered_packets"), ping("answered"), 0.01);
    let all = results(&set(scenario, "hosts[0].loss", json!(0.2)), 5);
    // A message of one and three packets passes 2 + 6 wires, of which the first and the three slow ones lose a fifth each.
    let lost = figure(&all, "pings", "web", "loss_ratio");
    let expected = 1.0 - f64::powi(0.8, 4);
    let error = f64::sqrt(expected * (1.0 - expected) / 400.0);
    assert!((lost - expected).abs() < 4.0 * error, "{lost} for {expected}");
}

/// A picture of 4000 bytes is three packets, which a wire of 10 Mb/s sends one after the other: 3.2 ms and the delay.
#[test]
fn a_picture_is_there_with_its_last_packet() {
    let scenario = json!({
        "duration": "30 s", "warm_up": "1 s",
        "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}],
        "hosts": [{"name": "server", "link": "ap", "rate": "10 Mb/s", "delay": "5 ms"}],
        "flows": [{
            "name": "game", "from": "server", "to": "ap", "source": "frames",
            "frames": {"interval": "20 ms", "frame_size": "4 kB", "deadline": "8 ms"},
        }],
    });
    let found = results(&scenario, 1);
    let game = |name| figure(&found, "frames", "game", name);
    close(game("frames"), 1500.0, 1e-3);
    close(game("frame_delay_mean_s"), 0.0082, 1e-6);
    assert_eq!(game("late_ratio"), 1.0);
    assert_eq!(game("loss_ratio"), 0.0);
    let later = set(scenario.clone(), "flows[0].frames.deadline", json!("9 ms"));
    assert_eq!(figure(&results(&later, 1), "frames", "game", "late_ratio"), 0.0);
    // A picture is lost with any of its three packets: 1 - 0.9^3, to four standard errors.
    let lossy = set(later, "hosts[0].loss", json!(0.1));
    let (lost, expected) =
        (figure(&results(&lossy, 2), "frames", "game", "late_ratio"), 1.0 - f64::powi(0.9, 3));
    assert!(
        (lost - expected).abs() < 4.0 * f64::sqrt(expected * (1.0 - expected) / 1500.0),
        "{lost}"
    );
}

fn processed(rate: &str, load: &str, size: &str) -> Value {
    json!({
        "duration": "20 s", "warm_up": "1 s",
        "phy": {"standard": "802.11ac", "width": "80 MHz", "streams": 2, "rate": "VHT-MCS9"},
        "queue": {"limit": "2000 packets"},
        "stations": [{"name": "ap", "processing_rate": rate}, {"name": "sta"}],
        "hosts": [{"name": "server", "link": "ap", "rate": "1000 Mb/s"}],
        "flows": [{"name": "down", "from": "server", "to": "sta", "source": "poisson", "packet_rate": load, "size": size}],
    })
}

/// A processor that takes 100 us a packet passes 10000 packets a second, whatever their size, and is then always busy.
#[test]
fn a_processor_passes_so_many_packets_whatever_their_size() {
    for size in ["100 B", "1000 B"] {
        let found = results(&processed("10000 packets/s", "14000 packets/s", size), 2);
        let passed = figure(&found, "flows", "down", "delivered_packets") / 20.0;
        close(passed, 10_000.0, 2e-3);
        assert!(figure(&found, "stations", "ap", "processor_busy_ratio") > 0.9999);
        let unprocessed = figure(&found, "queues", "ap.be", "dropped_unprocessed_packets");
        assert_eq!(unprocessed, figure(&found, "queues", "ap.be", "dropped_packets"));
        // The balance of packets.
        let flow = |name| figure(&found, "flows", "down", name);
        close(
            flow("offered_packets"),
            flow("delivered_packets") + flow("queue_dropped_packets"),
            0.005,
        );
        let free = results(
            &set(
                processed("10000 packets/s", "14000 packets/s", size),
                "stations[0].processing_rate",
                Value::Null,
            ),
            2,
        );
        close(figure(&free, "flows", "down", "delivered_packets") / 20.0, 14_000.0, 0.01);
    }
}

/// Poisson arrivals at a processor with a constant time each are M/D/1: at a load of 0.8 packets wait 2 services in the mean,
/// at 0.5 half of one. The difference of two delays has nothing else; 5 % are four standard errors at the higher load.
#[test]
fn packets_wait_for_the_processor_as_in_m_d_1() {
    let scenario = |load| {
        json!({
            "duration": "200 s", "warm_up": "1 s",
            "phy": {"standard": "802.11b"},
            "stations": [{"name": "ap", "processing_rate": "1000 packets/s"}],
            "hosts": [{"name": "one", "link": "ap", "rate": "1000 Mb/s"}],
            "flows": [{"name": "up", "from": "ap", "to": "one", "source": "poisson", "packet_rate": load, "size": "100 B"}],
        })
    };
    for (load, rate) in [(0.8, "800 packets/s"), (0.5, "500 packets/s")] {
        let found = results(&scenario(rate), 7);
        let delay_s = figure(&found, "flows", "up", "delay_mean_s");
        let expected_s = 1e-3 * (1.0 + load / (2.0 * (1.0 - load))) + 100.0 * 8.0 / 1e9;
        close(delay_s, expected_s, 0.05);
        close(figure(&found, "stations", "ap", "processor_busy_ratio"), load, 0.02);
    }
}

#[test]
fn wrong_keys_are_refused() {
    let refused = |flow: Value, start: &str, part: &str| {
        let refusal = refusal_of(idle(flow));
        assert!(refusal.starts_with(start) && refusal.contains(part), "{refusal}");
    };
    let zero = json!({"source": "ping", "ping": {"interval": "0 s"}});
    refused(zero, "flows[0].ping.interval: ", "no time");
    refused(json!({"source": "ping", "rate": "1 Mb/s"}), "flows[0].rate: ", "ping.interval");
    refused(
        json!({"source": "cbr", "rate": "1 Mb/s", "ping": {}}),
        "flows[0].ping: ",
        "source = \"ping\"",
    );
    refused(
        json!({"source": "frames", "frames": {"sigma": 1}}),
        "flows[0].frames.sigma: ",
        "lognormal",
    );
    refused(
        json!({"source": "frames", "frames": {"frame_size": "1 B"}}),
        "flows[0].frames.frame_size: ",
        "28 B",
    );
    refused(
        json!({"source": "poisson", "rate": "1 Mb/s", "jitter": {"uniform": "1 ms"}}),
        "flows[0].jitter: ",
        "cbr",
    );
    refused(
        json!({"source": "cbr", "rate": "1 Mb/s", "jitter": {"uniform": "0 s"}}),
        "flows[0].jitter.uniform: ",
        "no delay",
    );
    refused(
        json!({"source": "web", "web": {"think_shape": 2}}),
        "flows[0].web.think_shape: ",
        "pareto",
    );
    refused(
        json!({"source": "web", "web": {"think_distribution": "pareto", "think_shape": 1}}),
        "flows[0].web.think_shape: ",
        "1.001",
    );
    refused(
        json!({"source": "web", "web": {"think_sigma": 2}}),
        "flows[0].web.think_sigma: ",
        "lognormal",
    );
    refused(
        json!({"source": "cbr", "rate": "1 Mb/s", "start": ["0 s", "1 s"]}),
        "flows[0].start: ",
        "each of 1 flows",
    );
    refused(
        json!({"source": "cbr", "rate": "1 Mb/s", "start": ["3 s"], "stop": "2 s"}),
        "flows[0].stop: ",
        "3 s",
    );
    let room = set(idle(json!({})), "stations[0].processing_room", json!("5 packets"));
    assert!(refusal_of(room).starts_with("stations[0].processing_room: "));
    let none = set(idle(json!({})), "stations[1].processing_rate", json!("0 packets/s"));
    assert!(refusal_of(none).starts_with("stations[1].processing_rate: "));
    let full = set(idle(json!({})), "stations[1].processing_rate", json!("100 packets/s"));
    assert!(refusal_of(full).starts_with("flows[0].source: "));
}

/// A list of starts, one for each flow of a group.
#[test]
fn members_of_a_group_start_when_their_list_says() {
    let scenario = json!({
        "duration": "10 s", "warm_up": "0 s",
        "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}, {"name": "sta", "count": 3}],
        "flows": [{"name": "up", "from": "sta", "to": "ap", "source": "cbr", "packet_rate": "10 packets/s", "stop": "10 s",
                   "start": ["0 s", "5 s", "9 s"]}],
    });
    let found = results(&scenario, 1);
    let offered = ["up1", "up2", "up3"].map(|of| figure(&found, "flows", of, "offered_packets"));
    assert_eq!(offered, [100.0, 50.0, 10.0]);
    let tcp = json!([{"name": "up", "from": "sta", "to": "ap", "source": "tcp", "start": ["0 s", "5 s", "9.9 s"]}]);
    let found = results(&set(scenario, "flows", tcp), 1);
    let sent = ["up1", "up2", "up3"].map(|of| figure(&found, "connections", of, "segments"));
    assert!(sent[0] > sent[1] && sent[1] > 3.0 * sent[2] && sent[2] > 0.0, "{sent:?}");
}

/// When the station's data frames begin, on a cell where each finds the medium idle.
fn frames_begin_s(flow: Value) -> Vec<f64> {
    let scenario = Scenario::from_json(&idle(flow).to_string()).unwrap();
    let mut network = Network::new(scenario.spec(), Seed(1)).unwrap();
    network.model.wlan_mut().plug(Box::new(Recording::default()));
    network.run_until(Time::ZERO + Span::from_secs(101));
    let tap: Recording = network.model.wlan_mut().unplug().unwrap();
    let data = tap.frames.iter().filter(|of| of.frame.kind == FrameKind::Data);
    data.map(|of| of.begins.as_nanos() as f64 * 1e-9).collect()
}

/// Gaps of frames have the interval as their mean, and the deviation of the difference of two delays: sqrt(2) times that of the
/// law, which is the mean for an exponential law and most / sqrt(12) for a uniform one. Of some 2000 gaps the deviation is known
/// to sqrt((kurtosis - 1) / 4 / 2000): four standard errors are 5.3 % of a triangle (kurtosis 2.4) and 10 % of a Laplace
/// law (6). A late packet does not delay the next one: neighbouring gaps are correlated by -1/2, four standard errors are 0.09.
/// No packet is late by as much as the interval, but for 1 in e^25.
#[test]
fn gaps_of_late_packets_have_the_deviation_of_their_law() {
    let late = [
        (json!({"uniform": "4 ms"}), 4e-3 / f64::sqrt(12.0), 0.053),
        (json!({"exponential": "2 ms"}), 2e-3, 0.1),
    ];
    for (jitter, deviation_s, tolerance) in late {
        let flow = json!({
            "source": "cbr", "packet_rate": "20 packets/s", "size": "200 B", "jitter": jitter,
        });
        let begin_s = frames_begin_s(flow);
        let gaps_s: Vec<f64> = begin_s.windows(2).map(|of| of[1] - of[0] - 0.05).collect();
        let count = gaps_s.len() as f64;
        assert!((2000.0..=2021.0).contains(&count), "{count}");
        let mean_of = |lag: usize| {
            let pairs = gaps_s.iter().zip(&gaps_s[lag..]);
            pairs.map(|(one, other)| one * other).sum::<f64>() / (count - lag as f64)
        };
        close(mean_of(0).sqrt(), f64::sqrt(2.0) * deviation_s, tolerance);
        let correlation = mean_of(1) / mean_of(0);
        assert!((correlation + 0.5).abs() < 0.09, "{correlation}");
    }
}

/// With jitter the delay between sending and arriving is as before, and no packet is lost.
#[test]
fn jitter_of_a_sender_does_not_change_its_rate() {
    let steady = json!({"source": "cbr", "packet_rate": "100 packets/s", "size": "200 B"});
    let mut late = steady.clone();
    late["jitter"] = json!({"exponential": "2 ms"});
    let [steady, late] = [steady, late].map(|flow| results(&idle(flow), 1));
    let flow = |of: &Value, name| figure(of, "flows", "sta->ap", name);
    close(flow(&late, "delivered_packets"), flow(&steady, "delivered_packets"), 1e-3);
    // On an idle cell most packets find the medium idle with either.
    close(flow(&late, "delay_p50_s"), flow(&steady, "delay_p50_s"), 0.02);
}
