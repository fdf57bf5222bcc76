//! Traffic classes of measured packets over simulated paths: marks of queues, and queues that classes choose.

use crate::sessions::{FLOOD, PROBE, cbr, delays, mean, run};
use airqueue_path::{CellConfig, PathConfig, SimulatedPath};
use airqueue_probe::client::Direction;
use airqueue_probe::plan::{Plan, Segment};
use airqueue_probe::records::{Classes, Run};
use serde_json::{Value, json};

const NOT_ECT: u8 = 0b00;
const ECT_1: u8 = 0b01;
const ECT_0: u8 = 0b10;
const CE: u8 = 0b11;
const EF: u8 = 46 << 2;
const CS1: u8 = 8 << 2;
const NQB: u8 = 45 << 2;
const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

/// 802.11g at 54 Mb/s, one queue a station. Some 2700 packets of 1500 bytes are sent in a second.
const DCF: &str = "802.11g";
/// At most 65 Mb/s, a queue for each access category.
const EDCA: &str = "802.11n";

/// An access point and a station that have this queue, or these queues, and the flow down these keys.
fn cell(standard: &str, queue: &Value, down: &Value) -> SimulatedPath {
    let mut flow = json!({"from": "ap", "to": "sta", "source": "external"});
    flow.as_object_mut().unwrap().extend(down.as_object().unwrap().clone());
    let scenario = json!({
        "phy": {"standard": standard},
        "queue": queue,
        "stations": [{"name": "ap"}, {"name": "sta"}],
        "flows": [flow, {"from": "sta", "to": "ap", "source": "external"}],
    });
    let cell = CellConfig {
        scenario,
        down: "ap->sta".to_owned(),
        up: "sta->ap".to_owned(),
        others: Vec::new(),
    };
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
                    &mut cell(DCF, &queue, &json!({})),
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

/// How long packets of a class wait on average, beside a flood of class 0 in the same five-tuple: their delay above the least
/// of the run.
fn waits(mut path: SimulatedPath, flood: Segment, class: u8, direction: Direction) -> f64 {
    let probe = Segment { traffic_class: class, ..cbr(FLOOD, 0.005, 3.0, 50.0) };
    let run = run(&mut path, &Plan { segments: vec![flood, probe] }, direction);
    let [same, other] = counts(&run, class, [class, NOT_ECT]);
    // Of evenly spaced packets a full queue may drop more than of the flood.
    assert_eq!((same > 20, other > 0), (true, class == NOT_ECT), "{direction:?} {same}");
    let all = delays(&run);
    let least = all.iter().map(|d| d.1).fold(f64::INFINITY, f64::min);
    mean(all.iter().filter(|d| classes(&run).sent[d.0] == class).map(|d| d.1 - least))
}

#[test]
fn a_queue_with_classes_sends_a_dscp_before_the_flood_of_its_flow() {
    let cake = json!({"discipline": "cake", "cake": {"rate": "20 Mb/s"}});
    let fifo = json!({"limit": "50 packets"});
    for direction in BOTH {
        let waits =
            |queue, class| waits(cell(DCF, queue, &json!({})), flood(NOT_ECT), class, direction);
        let (ef, default) = (waits(&cake, EF), waits(&cake, NOT_ECT));
        assert!(ef < 0.1 * default, "{direction:?}: {ef} and {default}");
        // One FIFO for all.
        let (ef, default) = (waits(&fifo, EF), waits(&fifo, NOT_ECT));
        assert!((ef / default - 1.0).abs() < 0.1, "{direction:?}: {ef} and {default}");
    }
}

/// RFC 8325: EF is voice; RFC 9956: NQB is video. Both have a queue of their own, while the flood fills that of best effort.
#[test]
fn at_edca_stations_a_dscp_chooses_the_access_category() {
    let fifo = json!({"limit": "200 packets"});
    let overload = cbr(FLOOD, 0.0, 3.0, 8000.0);
    for direction in BOTH {
        let waits =
            |class, down: Value| waits(cell(EDCA, &fifo, &down), overload, class, direction);
        let default = waits(NOT_ECT, json!({}));
        for class in [EF, NQB, NQB | ECT_1] {
            let own = waits(class, json!({}));
            assert!(own < 0.25 * default, "{direction:?} {class}: {own} and {default}");
        }
        let af21 = waits(18 << 2, json!({}));
        assert!((af21 / default - 1.0).abs() < 0.1, "{direction:?}: {af21} and {default}");
    }
    // Where the scenario's flow is voice, so is the flood, and EF waits with it.
    let voice = json!({"category": "vo"});
    let waits = |class| waits(cell(EDCA, &fifo, &voice), overload, class, Direction::Down);
    let ratio = waits(EF) / waits(NOT_ECT);
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

/// What the scenario says of the flow holds for packets whose fields are 0, as without classes; what they say replaces it.
#[test]
fn a_flow_of_the_scenario_may_have_a_class() {
    let of_flow = json!({"ecn": true, "dscp": "EF"});
    let queue = json!({"limit": "50 packets"});
    let probe = |flow, traffic_class| Segment { traffic_class, ..cbr(flow, 0.0, 1.0, 20.0) };
    let plan = Plan { segments: vec![probe(FLOOD, NOT_ECT), probe(PROBE, CS1 | ECT_1)] };
    let down = run(&mut cell(DCF, &queue, &of_flow), &plan, Direction::Down);
    assert_eq!(counts(&down, NOT_ECT, [NOT_ECT, EF | ECT_0]), [0, 20]);
    assert_eq!(counts(&down, CS1 | ECT_1, [CS1 | ECT_1]), [20]);
    let up = run(&mut cell(DCF, &queue, &of_flow), &plan, Direction::Up);
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
