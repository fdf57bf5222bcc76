//! TCP with adaptive pacing in scenarios: its knowledge of the path, and its results on a chain.

use crate::figures::{figure, results};
use crate::scenarios::{refusal_of, set};
use airqueue_core::DataRate;
use airqueue_network::network::Traffic;
use airqueue_scenario::Scenario;
use airqueue_transport::tcp::{Pacing, Spread, TcpApSpec};
use serde_json::{Value, json};

/// Five stations in a row, each in range of its neighbours, and a server behind the last.
fn chain(tcp: Value) -> Value {
    json!({
        "behaviour": "ns2",
        "duration": "60 s",
        "warm_up": "10 s",
        "phy": {"standard": "802.11b", "rate": "11 Mb/s", "control_rate": "1 Mb/s"},
        "medium": {"path_loss": {"two_ray": {}}},
        "stations": [{"name": "n", "count": 5, "position": ["0 m", "0 m"], "step": ["200 m", "0 m"]}],
        "hosts": [{"name": "server", "link": "n5", "rate": "100 Mb/s"}],
        "tcp": {"mss": "1460 B", "window": "1000 packets"},
        "flows": [{"name": "far", "from": "n1", "to": "n5", "via": ["n2", "n3", "n4"], "source": "tcp",
                   "tcp": tcp}]
    })
}

/// The pacing of the first flow.
fn pacing(scenario: &Value) -> Pacing {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    match &scenario.spec().flows[0].traffic {
        Traffic::Tcp(tcp) => tcp.tcp.sender.pacing,
        other => panic!("{other:?}"),
    }
}

/// The hops and the slowest rate are those of the route over the air, regardless of wired links.
#[test]
fn tcp_ap_has_the_hops_and_the_rate_of_its_route() {
    let expected = |hops, mbps: u64, spread| {
        let rate = DataRate::from_bps(mbps * 1_000_000).unwrap();
        Pacing::TcpAp(TcpApSpec { hops, rate, overhead_bytes: 112, spread })
    };
    let paced = chain(json!({"pacing": "tcp-ap"}));
    assert_eq!(pacing(&paced), expected(4, 11, Spread::Deviation));
    let code = chain(json!({"pacing": "tcp-ap-code"}));
    assert_eq!(pacing(&code), expected(4, 11, Spread::MeanAbsolute));
    let to_server = set(paced.clone(), "flows[0].to", json!("server"));
    assert_eq!(pacing(&to_server), expected(4, 11, Spread::Deviation));
    let shorter = set(paced.clone(), "flows[0].from", json!("n2"));
    let shorter = set(shorter, "flows[0].via", json!(["n3", "n4"]));
    assert_eq!(pacing(&shorter), expected(3, 11, Spread::Deviation));
    let slow = set(paced, "flows[0].phy_rate", json!("2 Mb/s"));
    assert_eq!(pacing(&slow), expected(4, 2, Spread::Deviation));
}

/// The scenario's `tcp` applies to flows without their own settings.
#[test]
fn flows_may_differ_from_the_scenario() {
    let all = set(chain(json!({})), "tcp.pacing", json!("tcp-ap"));
    assert!(matches!(pacing(&all), Pacing::TcpAp(_)));
    let own = set(all.clone(), "flows[0].tcp.pacing", json!(false));
    assert_eq!(pacing(&own), Pacing::Off);
    let linux = set(all, "flows[0].tcp.pacing", json!(true));
    assert!(matches!(pacing(&linux), Pacing::Window { .. }));
}

#[test]
fn tcp_ap_needs_rates_and_a_route_over_the_air() {
    let says = |scenario: Value, start: &str, part: &str| {
        let refusal = refusal_of(scenario);
        assert!(refusal.starts_with(start) && refusal.contains(part), "{refusal}");
    };
    let paced = chain(json!({"pacing": "tcp-ap"}));
    let controlled = set(paced.clone(), "flows[0].rate_control", json!("arf"));
    says(controlled, "flows[0].tcp.pacing: ", "rate control");
    let wired = set(paced.clone(), "flows[0].from", json!("server"));
    let wired = set(wired, "flows[0].via", json!([]));
    says(wired, "flows[0].tcp.pacing: ", "wired links only");
    let blind = set(paced.clone(), "tcp.timestamps", json!(false));
    says(blind, "tcp.timestamps: ", "round-trip times");
    let unknown = set(paced, "flows[0].tcp.pacing", json!("ap"));
    says(unknown, "flows[0].tcp.pacing: ", "\"tcp-ap\"");
}

/// Jamshaid and others, "Deflating link buffers in a wireless mesh network", Tables 3 and 4: among queues of 50
/// packets, small queues and TCP-AP, TCP-AP has the lowest delay, and a tenth of the goodput of queues of 50 packets.
#[test]
fn on_a_chain_it_has_the_lowest_delay() {
    for spacing in ["130 m", "200 m"] {
        let measured = |tcp: Value, limits: [u32; 5]| {
            let mut scenario = set(chain(tcp), "stations[0].step", json!([spacing, "0 m"]));
            let station = |(at, limit): (usize, u32)| {
                let limit = format!("{limit} packets");
                json!({"at": "0 s", "station": format!("n{}", at + 1), "queue_limit": limit})
            };
            scenario["changes"] = limits.into_iter().enumerate().map(station).collect();
            let results = results(&scenario, 1);
            let of = |name| figure(&results, "connections", "far", name);
            (of("goodput_bps"), of("rtt_mean_s"))
        };
        let (most_bps, longest_s) = measured(json!({}), [50; 5]);
        let (_, sized_s) = measured(json!({}), [2, 2, 3, 3, 3]);
        for pacing in ["tcp-ap", "tcp-ap-code"] {
            let (bps, rtt_s) = measured(json!({"pacing": pacing}), [50; 5]);
            assert!(
                rtt_s < sized_s && sized_s < longest_s / 5.0,
                "{rtt_s} {sized_s} {longest_s} s"
            );
            assert!(bps > 0.85 * most_bps && bps < most_bps, "{bps} {most_bps} b/s");
        }
    }
}

/// Their parking lot, flows over four, five and six hops to one gateway: beside unpaced flows a paced flow has less
/// than a tenth of their goodput, and among paced flows its share.
#[test]
fn beside_flows_that_are_not_paced_it_starves() {
    let shares = |pacings: [Value; 3]| {
        let mut scenario = set(chain(json!({})), "stations[0].count", json!(7));
        scenario["hosts"] = json!([]);
        scenario["duration"] = json!("120 s");
        let flow = |(first, pacing): (usize, Value)| {
            let via: Vec<String> = (first + 1..7).map(|at| format!("n{at}")).collect();
            json!({
                "name": format!("{} hops", 7 - first), "source": "tcp", "tcp": {"pacing": pacing},
                "from": format!("n{first}"), "to": "n7", "via": via
            })
        };
        scenario["flows"] = (1..).zip(pacings).map(flow).collect();
        let seeds: Vec<_> = (1..=4).map(|seed| results(&scenario, seed)).collect();
        [6, 5, 4].map(|hops| {
            let name = format!("{hops} hops");
            let of = |results| figure(results, "connections", &name, "goodput_bps");
            seeds.iter().map(of).sum::<f64>() / 4.0
        })
    };
    let [six, five, four] = shares([json!(false), json!(false), json!("tcp-ap")]);
    assert!(four < 0.1 * six && four < 0.1 * five, "{six} {five} {four} b/s");
    let all = shares([json!("tcp-ap"), json!("tcp-ap"), json!("tcp-ap")]);
    let sum: f64 = all.iter().sum();
    assert!(all.iter().all(|&bps| bps > sum / 5.0), "{all:?}");
}
