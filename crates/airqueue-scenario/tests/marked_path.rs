//! Traffic classes of measured packets over simulated paths: marks of queues, and queues that classes choose.

mod sessions;

use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{Classes, Run};
use airqueue_scenario::path::{CellConfig, PathConfig, SimulatedPath};
use serde_json::{Value, json};
use sessions::{FLOOD, PROBE, cbr, delays, mean, run};

const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;
const EF: u8 = 46 << 2;
const CS1: u8 = 8 << 2;
const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

/// 802.11g at 54 Mb/s, in which both stations have this queue, and the flow down these keys. Some 2700 packets of 1500 bytes
/// are sent in a second.
fn cell(queue: &Value, down: &Value) -> SimulatedPath {
    let mut flow = json!({"from": "ap", "to": "sta", "source": "external"});
    flow.as_object_mut().unwrap().extend(down.as_object().unwrap().clone());
    let scenario = json!({
        "phy": {"standard": "802.11g"},
        "queue": queue,
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [flow, {"from": "sta", "to": "ap", "source": "external"}],
    });
    let cell = CellConfig { scenario, down: "ap->sta".to_owned(), up: "sta->ap".to_owned() };
    let config = PathConfig { cell: Some(cell), ..PathConfig::default() };
    SimulatedPath::new(&config, 1).expect("a valid path")
}

/// A flood of a class above the rate of the cell, for three seconds.
fn flood(traffic_class: u8) -> Segment {
    Segment { traffic_class, ..cbr(FLOOD, 0.0, 3.0, 4000.0) }
}

fn classes(run: &Run) -> &Classes {
    run.records.classes.as_ref().expect("they are recorded")
}

/// How often packets of a class arrived with each of these classes.
fn counts<const N: usize>(run: &Run, sent: u8, as_received: [u8; N]) -> [usize; N] {
    let of = classes(run);
    as_received.map(|class| {
        let arrived = delays(run).into_iter().map(|(i, _)| i);
        arrived.filter(|&i| of.sent[i] == sent && of.received[i] == class).count()
    })
}

#[test]
fn codel_marks_what_is_capable_and_nothing_else() {
    for direction in BOTH {
        for (ecn, marks) in [(true, true), (false, false)] {
            let queue = json!({"discipline": "codel", "codel": {"ecn": ecn}});
            for (sent, capable) in
                [(NOT_ECT, false), (EF, false), (ECT_0, true), (EF | ECT_1, true)]
            {
                let run = run(
                    &mut cell(&queue, &json!({})),
                    &Plan { segments: vec![flood(sent)] },
                    direction,
                );
                let dscp = sent & !CE;
                let [same, marked] = counts(&run, sent, [sent, dscp | CE]);
                assert!(same > 100, "{direction:?} {ecn} {sent}: {same}");
                assert_eq!(marked > 100, marks && capable, "{direction:?} {ecn} {sent}: {marked}");
                assert_eq!(marked > 0, marks && capable);
                assert_eq!(same + marked, delays(&run).len(), "no other class arrives");
            }
        }
    }
}

/// Packets of one five-tuple whose DSCP alone differs: a queue with classes sends EF before the flood.
#[test]
fn a_dscp_chooses_the_queue_of_its_flow() {
    let probe = |traffic_class| Segment { traffic_class, ..cbr(FLOOD, 0.005, 3.0, 50.0) };
    // The mean delay of the class above the least delay of the run.
    let waits = |queue: &Value, class: u8, direction| {
        let plan = Plan { segments: vec![flood(NOT_ECT), probe(class)] };
        let run = run(&mut cell(queue, &json!({})), &plan, direction);
        let [same, other] = counts(&run, class, [class, NOT_ECT]);
        // Of evenly spaced packets a full queue may drop more than of the flood.
        assert_eq!((same > 20, other > 0), (true, class == NOT_ECT), "{direction:?} {same}");
        let all = delays(&run);
        let least = all.iter().map(|d| d.1).fold(f64::INFINITY, f64::min);
        mean(all.iter().filter(|d| classes(&run).sent[d.0] == class).map(|d| d.1 - least))
    };
    for direction in BOTH {
        let cake = json!({"discipline": "cake", "cake": {"rate": "20 Mb/s"}});
        let (ef, default) = (waits(&cake, EF, direction), waits(&cake, NOT_ECT, direction));
        assert!(ef < 0.1 * default, "{direction:?}: {ef} and {default}");
        // One FIFO for all.
        let fifo = json!({"limit": "50 packets"});
        let (ef, default) = (waits(&fifo, EF, direction), waits(&fifo, NOT_ECT, direction));
        assert!((ef / default - 1.0).abs() < 0.1, "{direction:?}: {ef} and {default}");
    }
}

/// What the scenario says of the flow holds for packets of class 0, as without classes; a class of one's own replaces it.
#[test]
fn a_flow_of_the_scenario_may_have_a_class() {
    let of_flow = json!({"ecn": true, "dscp": "EF"});
    let queue = json!({"limit": "50 packets"});
    let probe = |flow, traffic_class| Segment { traffic_class, ..cbr(flow, 0.0, 1.0, 20.0) };
    let plan = Plan { segments: vec![probe(FLOOD, NOT_ECT), probe(PROBE, CS1)] };
    let down = run(&mut cell(&queue, &of_flow), &plan, Direction::Down);
    assert_eq!(counts(&down, NOT_ECT, [NOT_ECT, EF | ECT_0]), [0, 20]);
    assert_eq!(counts(&down, CS1, [CS1]), [20]);
    let up = run(&mut cell(&queue, &of_flow), &plan, Direction::Up);
    assert_eq!(counts(&up, NOT_ECT, [NOT_ECT]), [20]);
}

/// A FIFO before a link changes no class, even of packets that are lost beside it.
#[test]
fn a_bottleneck_changes_no_class() {
    let every = |class: u8| Segment {
        traffic_class: class,
        ..cbr(class % 2, 0.0, 2.0, 10.0 + f64::from(class))
    };
    let plan = Plan { segments: (0..192).step_by(5).map(every).collect() };
    for direction in BOTH {
        let config = PathConfig { queue: "pfifo:50".to_owned(), ..PathConfig::default() };
        let run = run(&mut SimulatedPath::new(&config, 1).unwrap(), &plan, direction);
        let (of, arrived) = (classes(&run), delays(&run));
        assert!(arrived.len() < of.sent.len(), "some are lost");
        assert!(arrived.iter().all(|&(i, _)| of.received[i] == of.sent[i]));
    }
}
