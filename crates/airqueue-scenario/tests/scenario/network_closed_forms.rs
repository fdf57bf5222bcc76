//! Wires and TCP without a radio, against exact results.

use airqueue_core::{Seed, Span};
use airqueue_scenario::Scenario;
use serde_json::{Value, json};

/// The figures of hosts `a` and `b` behind one station, with these wired links and flows.
fn figures(duration: &str, warm_up: &str, hosts: Value, tcp: Value, flows: Value) -> Value {
    let scenario = json!({
        "duration": duration, "warm_up": warm_up, "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}], "hosts": hosts, "tcp": tcp, "flows": flows,
    });
    run(&scenario, 1)
}

/// The figures of a scenario.
fn run(scenario: &Value, seed: u64) -> Value {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let mut run = scenario.start(Seed(seed)).unwrap();
    run.advance(Span::from_secs(1_000_000_000));
    serde_json::from_str(&run.results()).unwrap()
}

/// Wired links of `a` and `b`; the link of `a` has a rate and the queue `queue`, or no queue if that is null.
fn wires(rate_bps: f64, queue: Value, delays_ms: [f64; 2]) -> Value {
    let [a, b] = delays_ms.map(|ms| format!("{ms} ms"));
    let mut hosts = json!([
        {"name": "a", "link": "ap", "rate": format!("{rate_bps} b/s"), "delay": a},
        {"name": "b", "link": "ap", "delay": b},
    ]);
    if !queue.is_null() {
        hosts[0]["queue"] = queue;
    }
    hosts
}

fn number(figures: &Value, path: &str) -> f64 {
    figures.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {figures}"))
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let error = (found / expected - 1.0).abs();
    assert!(error <= tolerance, "found {found}, expected {expected}: off by {error}");
}

/// ns-2's TCP: 1000 bytes of data in packets of 1040, each acknowledged by 40 bytes.
fn ns2(window: u32) -> Value {
    json!({"stack": "ns2", "window": format!("{window} packets")})
}

/// Goodput is window / round-trip time, or the link's rate of data.
#[test]
fn tcp_sends_a_window_for_each_round_trip_or_what_the_link_carries() {
    let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "tcp"}]);
    for (rate_bps, delays_ms) in [(2e6, [10.0, 40.0]), (1e7, [3.0, 0.0]), (5e5, [1.0, 99.5])] {
        let one_way_s = (delays_ms[0] + delays_ms[1]) * 1e-3;
        let rtt_s = 2.0 * one_way_s + 8.0 * (1040.0 + 40.0) / rate_bps;
        for window in [1, 5, 20, 60, 150] {
            let hosts = wires(rate_bps, Value::Null, delays_ms);
            let figures = figures("100 s", "20 s", hosts, ns2(window), flows.clone());
            let goodput = number(&figures, "/connections/f/goodput_bps");
            let by_window = f64::from(window) * 8000.0 / rtt_s;
            let by_link = rate_bps * 1000.0 / 1040.0;
            close(goodput, by_window.min(by_link), 0.005);
            assert_eq!(number(&figures, "/connections/f/retransmitted_segments"), 0.0);
            // The round-trip time is that of a window at the link's rate, or the delay of the wired links.
            let rtt = number(&figures, "/connections/f/rtt_mean_s");
            close(rtt, rtt_s.max(f64::from(window) * 8.0 * 1040.0 / rate_bps), 0.005);
            // All alike: quantiles are known to 1.6 %.
            for quantile in ["rtt_p50_s", "rtt_p95_s", "rtt_p99_s"] {
                close(number(&figures, &format!("/connections/f/{quantile}")), rtt, 0.016);
            }
            close(number(&figures, "/connections/f/rtt_max_s"), rtt, 0.005);
            assert!(number(&figures, "/connections/f/rtt_sd_s") < 0.005 * rtt);
        }
    }
}

/// Serialisation and delay of each wired link, to the nanosecond, without waiting.
#[test]
fn packets_take_what_their_wires_take() {
    let hosts = json!([
        {"name": "a", "link": "ap", "rate": "8 Mb/s", "delay": "7 ms"},
        {"name": "b", "link": "ap", "rate": "2 Mb/s", "delay": "1 us", "queue": {"limit": "1 packet"}},
        {"name": "c", "link": "b", "delay": "250 us"},
        {"name": "d", "link": "c", "rate": "1 Gb/s", "queue": {"discipline": "fq_codel"}},
    ]);
    let flow = |name: &str, from: &str, to: &str| {
        json!({"name": name, "from": from, "to": to, "source": "cbr", "packet_rate": "100 packets/s",
               "size": "1000 B", "start": "1 ms"})
    };
    let flows = json!([flow("there", "a", "d"), flow("back", "d", "a"), flow("down", "c", "d")]);
    let figures = figures("2 s", "1 s", hosts, json!({}), flows);
    let (a, b, d) = (1_000_000 + 7_000_000, 4_000_000 + 1_000, 8_000);
    for (name, expected_ns) in
        [("there", a + b + 250_000 + d), ("back", a + b + 250_000 + d), ("down", d)]
    {
        for figure in ["delay_mean_s", "delay_max_s"] {
            let found = number(&figures, &format!("/flows/{name}/{figure}"));
            assert_eq!((found * 1e9).round() as i64, expected_ns, "{name} {figure}");
        }
        assert_eq!(number(&figures, &format!("/flows/{name}/offered_packets")), 200.0);
        assert_eq!(number(&figures, &format!("/flows/{name}/delivered_packets")), 200.0);
    }
}

/// The probability that a packet of an M/D/1 queue waits no longer than `x` times the service time, at the utilisation
/// `load` (Erlang 1909).
fn md1_waits_at_most(x: f64, load: f64) -> f64 {
    let term = |k: u32| {
        let y = load * (f64::from(k) - x);
        let factorial: f64 = (1..=k).map(f64::from).product();
        y.powi(k as i32) / factorial * (-y).exp()
    };
    (1.0 - load) * (0..=x.floor() as u32).map(term).sum::<f64>()
}

/// Poisson arrivals at a link that takes 1 ms a packet: the sojourn time in the queue is the wait of M/D/1. Quantiles are
/// reported to 1.6 %; of 2.1 million packets, of which some 110 000 are independent, the 99th percentile has a standard
/// error of 0.7 %.
#[test]
fn quantiles_of_the_sojourn_time_are_those_of_md1() {
    let load = 0.7;
    let hosts = wires(8e6, json!({"limit": "1000 packets"}), [1.0, 1.0]);
    let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "poisson", "size": "1000 B",
                        "packet_rate": format!("{} packets/s", 1000.0 * load)}]);
    let figures = figures("3010 s", "10 s", hosts, json!({}), flows);
    let of = |name: &str| number(&figures, &format!("/queues/a->ap/{name}"));
    for (name, share) in [("sojourn_p50_s", 0.5), ("sojourn_p95_s", 0.95), ("sojourn_p99_s", 0.99)]
    {
        let (mut low, mut high) = (0.0, 100.0);
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            if md1_waits_at_most(middle, load) < share { low = middle } else { high = middle }
        }
        close(of(name), low * 1e-3, 0.04);
    }
    // Pollaczek and Khinchine.
    close(of("sojourn_mean_s"), load / (2.0 * (1.0 - load)) * 1e-3, 0.02);
    assert!(of("sojourn_p99_s") <= of("sojourn_max_s"));
}

/// An overloaded link: packets above its rate are dropped, and an arrival finds the queue full except for the place
/// that has just become free.
#[test]
fn an_overloaded_link_is_busy_and_its_queue_full() {
    const LIMIT: f64 = 30.0;
    let hosts = wires(2e6, json!({"limit": "30 packets"}), [5.0, 0.0]);
    let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "cbr", "rate": "2.5 Mb/s",
                        "size": "1000 B"}]);
    let figures = figures("100 s", "10 s", hosts, json!({}), flows);
    let figure = |name: &str| number(&figures, &format!("/flows/f/{name}"));
    close(figure("throughput_bps"), 2e6, 1e-4);
    close(figure("loss_ratio"), 0.2, 1e-3);
    let packet_s = 0.004;
    for delay in [figure("delay_mean_s"), figure("delay_max_s"), figure("delay_p50_s")] {
        // A packet waits for the packets before it and for the rest of the one in service, and is then serialised.
        let waited = (delay - 0.005) / packet_s;
        assert!(waited > LIMIT - 0.5 && waited <= LIMIT + 1.0, "{waited} packets");
    }
    let accounted = ["delivered_packets", "queue_dropped_packets"].map(figure).iter().sum::<f64>();
    assert!((figure("offered_packets") - accounted).abs() <= LIMIT + 2.0);
}

/// The utilisation of a link by one TCP flow whose window halves when a buffer of `buffer` bandwidth-delay products is
/// full: while the window is below one bandwidth-delay product the link idles.
fn utilisation(buffer: f64) -> f64 {
    let most = 1.0 + buffer;
    let idle = (1.0 - most / 2.0).max(0.0);
    // A round takes the base round-trip time while the link idles; afterwards rounds grow with the window.
    let carried = (1.0 - (1.0 - idle).powi(2)) / 2.0;
    let busy = (most.powi(2) - 1.0) / 2.0;
    if idle == 0.0 { 1.0 } else { (carried + busy) / (idle + busy) }
}

/// A buffer of one bandwidth-delay product keeps a link busy; with a smaller buffer the link idles after each loss.
#[test]
fn tcp_needs_a_buffer_of_a_round_trip() {
    let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "tcp",
                        "tcp": {"ack_every": 1, "window": "10000 packets"}}]);
    // 100 packets of 1500 bytes, 1448 of them data, in a round trip of 100 ms.
    let rate_bps = 1e7 * 1.2;
    for buffer in [0.1, 0.25, 0.5, 1.3] {
        let queue = json!({"limit": format!("{} packets", 100.0 * buffer)});
        let hosts = wires(rate_bps, queue, [25.0, 25.0]);
        let figures = figures("150 s", "50 s", hosts, json!({}), flows.clone());
        let goodput = number(&figures, "/connections/f/goodput_bps");
        close(goodput, rate_bps * 1448.0 / 1500.0 * utilisation(buffer), 0.02);
        assert_eq!(number(&figures, "/connections/f/timeouts"), 0.0);
    }
}

/// SYN, SYN-ACK, data, acknowledgement; the data carry FIN.
#[test]
fn a_small_transfer_takes_two_round_trips_or_one_without_a_handshake() {
    let hosts = json!([
        {"name": "a", "link": "ap", "delay": "12 ms"},
        {"name": "b", "link": "ap", "delay": "30 ms"},
    ]);
    for (handshake, round_trips) in [(true, 2.0), (false, 1.0)] {
        let tcp = json!({"handshake": handshake, "ack_every": 1, "window": "100 packets"});
        let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "tcp", "transfer_size": "1000 B",
                            "start": "50 ms"}]);
        let figures = figures("10 s", "0 s", hosts.clone(), tcp, flows);
        let figure = |name: &str| number(&figures, &format!("/connections/f/{name}"));
        let took = figure("session_mean_s");
        assert!((took - round_trips * 0.084).abs() < 1e-9, "{took}");
        assert_eq!((figure("sessions"), figure("segments")), (1.0, 1.0));
        assert_eq!(figure("goodput_bps"), 800.0);
    }
}

/// Slow start: windows of `first`, 2 `first`, 4 `first` ... segments, after a round trip for the handshake.
#[test]
fn a_file_takes_the_rounds_of_slow_start() {
    let hosts = json!([
        {"name": "a", "link": "ap", "delay": "5 ms"},
        {"name": "b", "link": "ap", "delay": "15 ms"},
    ]);
    for (first, segments) in [(2, 1), (2, 2), (2, 3), (2, 14), (2, 15), (3, 45), (3, 46), (10, 70)]
    {
        let rounds = (1..).find(|&rounds| first * ((1 << rounds) - 1) >= segments).unwrap();
        let tcp = json!({"mss": "1000 B", "ack_every": 1, "window": "1000 packets",
                         "initial_window": format!("{first} packets")});
        let web = json!({"file_size": format!("{} B", 1000 * segments), "distribution": "constant",
                         "think_time": "500 ms"});
        let flows = json!([{"name": "f", "from": "a", "to": "b", "source": "web", "web": web}]);
        let figures = figures("1000 s", "1 s", hosts.clone(), tcp, flows);
        let figure = |name: &str| number(&figures, &format!("/connections/f/{name}"));
        let expected = f64::from(1 + rounds) * 0.040;
        for name in ["session_mean_s", "session_max_s"] {
            assert!((figure(name) - expected).abs() < 1e-9, "{segments}: {}", figure(name));
        }
        for name in ["session_p50_s", "session_p95_s"] {
            close(figure(name), expected, 0.016);
        }
        // Pauses and sessions alternate: the number of sessions has the mean of a renewal process, and at most its
        // standard deviation, (standard deviation of pauses / cycle) √n.
        let cycle = 0.5 + expected;
        let (sessions, mean) = (figure("sessions"), 1000.0 / cycle);
        assert!(
            (sessions - mean).abs() < 5.0 * 0.5 / cycle * mean.sqrt() + 1.0,
            "{sessions} {mean}"
        );
        let delivered = figure("goodput_bps") * 1000.0 / 8000.0;
        let whole = sessions * f64::from(segments);
        assert!((delivered - whole).abs() <= f64::from(segments), "{delivered} {whole}");
        assert_eq!(number(&figures, "/medium/sessions"), sessions);
        for name in ["session_p95_s", "session_p99_s", "session_max_s"] {
            assert_eq!(number(&figures, &format!("/medium/{name}")), figure(name));
        }
    }
}

/// A finished transfer is counted once, whatever happens after its end.
#[test]
fn a_finished_transfer_is_counted_once() {
    let hosts = wires(1e7, Value::Null, [5.0, 5.0]);
    for stop in [json!("900 ms"), json!("20 s"), Value::Null] {
        let mut flow = json!({"name": "f", "from": "a", "to": "b", "source": "tcp", "transfer_size": "100 kB",
                              "start": "10 ms"});
        if !stop.is_null() {
            flow["stop"] = stop;
        }
        // No timer is due before the first stop.
        let tcp = json!({"ack_every": 1});
        let figures = figures("10 s", "0 s", hosts.clone(), tcp, json!([flow]));
        let figure = |name: &str| number(&figures, &format!("/connections/f/{name}"));
        assert_eq!(figure("goodput_bps"), 8.0 * 100_000.0 / 10.0);
        assert_eq!((figure("sessions"), figure("segments")), (1.0, 70.0)); // of 1448 bytes
    }
}

/// An aborted transfer delivers no more data and counts no session.
#[test]
fn a_connection_is_broken_off() {
    let hosts = wires(1e6, Value::Null, [5.0, 5.0]);
    let flows = json!([
        {"name": "f", "from": "a", "to": "b", "source": "tcp", "stop": "2 s"},
        {"name": "g", "from": "a", "to": "b", "source": "tcp", "start": "20 s", "stop": "21 s"},
    ]);
    let figures = figures("10 s", "0 s", hosts, ns2(10), flows);
    let figure = |name: &str| number(&figures, &format!("/connections/f/{name}"));
    // Two seconds at 1 Mb/s, less a round trip.
    close(figure("goodput_bps") * 10.0, 2.0 * 1e6 * 1000.0 / 1040.0, 0.05);
    assert_eq!(figure("sessions"), 0.0);
    assert_eq!(number(&figures, "/flows/f/in_transit_packets"), 0.0);
    assert_eq!(number(&figures, "/connections/g/segments"), 0.0);
}

/// A link whose backlog exceeds the clock's range continues, and a user with pauses of thirty years requests nothing.
#[test]
fn nothing_happens_beyond_the_end_of_the_clock() {
    let hosts = json!([
        {"name": "a", "link": "ap", "rate": "1 b/s", "delay": "1e9 s"},
        {"name": "b", "link": "ap", "delay": "1 ms"},
    ]);
    let flows = json!([
        {"name": "f", "from": "a", "to": "b", "source": "cbr", "rate": "500 Gb/s", "size": "65535 B"},
        {"name": "g", "from": "b", "to": "a", "source": "web", "web": {"think_time": "1e9 s"}},
    ]);
    let figures = figures("20 ms", "0 s", hosts, json!({}), flows);
    assert_eq!(number(&figures, "/flows/f/delivered_packets"), 0.0);
    assert!(number(&figures, "/flows/f/in_transit_packets") > 17_600.0);
    assert_eq!(number(&figures, "/connections/g/segments"), 0.0);
}

/// The number of packets of a flow gives its start time: over a wired link, over the air and with TCP, each flow starts
/// at a different time.
#[test]
fn flows_begin_at_times_of_their_own_within_the_spread() {
    let scenario = json!({
        "duration": "3 s", "warm_up": "0 s", "phy": {"standard": "802.11b"},
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "hosts": [{"name": "a", "link": "ap", "count": 20}, {"name": "b", "link": "ap"}],
        "tcp": {"stack": "ns2", "window": "1 packets"},
        "flows": [
            {"name": "wire", "from": "a", "to": "b", "source": "cbr", "packet_rate": "1000 packets/s",
             "size": "100 B", "start": "1 s", "start_spread": "1 s"},
            {"name": "air", "from": "sta", "to": "ap", "source": "cbr", "packet_rate": "200 packets/s",
             "size": "100 B", "start": "1 s", "start_spread": "1 s"},
            {"name": "tcp", "from": "sta", "to": "ap", "source": "tcp", "start": "1 s",
             "start_spread": "1 s"},
        ],
    });
    let begun_s = |figures: &Value| -> Vec<f64> {
        let wire = (1..=20)
            .map(|n| 3.0 - number(figures, &format!("/flows/wire{n}/delivered_packets")) / 1000.0);
        wire.chain([3.0 - number(figures, "/flows/air/delivered_packets") / 200.0]).collect()
    };
    let (one, two) = (begun_s(&run(&scenario, 1)), begun_s(&run(&scenario, 2)));
    assert_eq!(one, begun_s(&run(&scenario, 1)));
    for begun in [&one, &two] {
        assert!(begun.iter().all(|s| (0.99..2.01).contains(s)), "{begun:?}");
    }
    let apart = |times: &[f64]| times.iter().any(|s| (s - times[0]).abs() > 0.01);
    assert!(apart(&one[..20]) && apart(&two[..20]) && apart(&[one[20], two[20]]));
    let [one, two] =
        [1, 2].map(|seed| number(&run(&scenario, seed), "/connections/tcp/goodput_bps"));
    assert!((one / two - 1.0).abs() > 0.01, "{one} {two}");
}
