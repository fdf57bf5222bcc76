//! TCP with adaptive pacing in scenarios: what it is told of its path, and what it does on a chain.

mod scenarios;

use airqueue_core::DataRate;
use airqueue_sim::network::Traffic;
use airqueue_sim::scenario::Scenario;
use airqueue_transport::tcp::{Pacing, Spread, TcpApSpec};
use scenarios::{refusal_of, set};
use serde_json::{Value, json};

/// Five stations in a row, each in reach of the next, and a server behind the last.
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

/// What the first flow paces by.
fn pacing(scenario: &Value) -> Pacing {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    match &scenario.spec().flows[0].traffic {
        Traffic::Tcp(tcp) => tcp.tcp.sender.pacing,
        other => panic!("{other:?}"),
    }
}

/// The hops and the slowest rate are those of the way over the air, whatever cables are behind it.
#[test]
fn it_knows_its_path() {
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

/// The scenario's `tcp` is for the flows that say nothing themselves.
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
fn it_needs_rates_and_a_way_over_the_air() {
    let says = |scenario: Value, start: &str, part: &str| {
        let refusal = refusal_of(scenario);
        assert!(refusal.starts_with(start) && refusal.contains(part), "{refusal}");
    };
    let paced = chain(json!({"pacing": "tcp-ap"}));
    let controlled = set(paced.clone(), "flows[0].rate_control", json!("arf"));
    says(controlled, "flows[0].tcp.pacing: ", "rate control");
    let wired = set(paced.clone(), "flows[0].from", json!("server"));
    let wired = set(wired, "flows[0].via", json!([]));
    says(wired, "flows[0].tcp.pacing: ", "cables only");
    let unknown = set(paced, "flows[0].tcp.pacing", json!("ap"));
    says(unknown, "flows[0].tcp.pacing: ", "\"tcp-ap\"");
}
