//! Limits that real packets exceed: a plan counts as applied once its queues were seen to obey.

use crate::bed::{Bed, PATIENCE, apart};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::process::Child;

/// 40 packets of 1250 bytes a second leave; any sender is faster.
fn slow(below: &Value) -> Value {
    json!({"shaped": {"rate_bps": 400_000, "below": below}})
}

fn fifo(key: &str, limit: u32) -> Value {
    json!({"fifo": {key: limit}})
}

/// Packets to nobody, sent by a shell of its own as fast as it can.
struct Flood(Child);

impl Flood {
    fn through(bed: &Bed, interface: &str) -> Flood {
        for line in [
            format!("address add 10.7.0.1/24 dev {interface}"),
            format!("neighbour replace 10.7.0.2 lladdr 02:00:00:00:00:07 dev {interface}"),
        ] {
            bed.ip(&line);
        }
        let mut command = bed.command("bash");
        let send = "exec 3>/dev/udp/10.7.0.2/9; while true; do printf %1208s . >&3; done";
        command.args(["-c", send]);
        Flood(apart(command))
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// `obeys` takes no directory of a journal.
fn obeys(bed: &Bed, arguments: &[&str]) -> (i32, String) {
    let mut command = bed.command(env!("CARGO_BIN_EXE_airqueued"));
    let output = command.arg("obeys").args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn a_full_queue_is_seen_to_obey_and_an_empty_one_is_not() {
    let Some(bed) = Bed::new() else { return };
    let mut below = vec![
        ("pfifo", fifo("limit_packets", 5), 5, "packets"),
        ("bfifo", fifo("limit_bytes", 6000), 6000, "bytes"),
    ];
    if bed.has("fq_codel") {
        below.push(("fq_codel", json!({"fq_codel": {"limit_packets": 5}}), 5, "packets"));
    }
    for (kind, queue, limit, unit) in below {
        let plan = bed.plan(&[("va", slow(&queue))]);
        let done = bed.apply(&plan, "60s");
        done.ends(0, "Set and read back. Not yet seen to obey: fill the queue, and look: airqueued obeys va.");
        assert!(!done.stdout.contains("Applied"), "{done:?}");
        let (code, said) = obeys(&bed, &["va", "--for", "1s"]);
        assert_eq!(code, 8, "{said}");
        assert!(
            said.contains(&format!("the {kind} ")) && said.contains("never exceeded"),
            "{said}"
        );
        let flood = Flood::through(&bed, "va");
        // The sender may begin late on a busy machine.
        bed.until(kind, PATIENCE, || obeys(&bed, &["va", "--for", "1s"]).0 == 0);
        let (code, said) = obeys(&bed, &["va", "--for", "2s", "--json"]);
        drop(flood);
        assert_eq!(code, 0, "{said}");
        let told: Value = serde_json::from_str(&said).unwrap();
        let [queue] = &told["queues"].as_array().unwrap()[..] else { panic!("{told}") };
        assert_eq!(
            (&queue["kind"], &queue["limit"], &queue["unit"], &queue["seen"]),
            (&json!(kind), &json!(limit), &json!(unit), &json!("yes"))
        );
        assert!(queue["most"].as_u64().unwrap() <= limit, "{told}");
        assert!(queue["overflows"].as_u64().unwrap() > 0, "{told}");
        bed.run(&["restore"]).ends(0, "as it was before");
        bed.inside("ip", &["address", "flush", "dev", "va"]);
    }
}

/// A flow goes into one of an mq's queues: that one has to fill.
#[test]
fn one_queue_of_an_mq_that_fills_is_enough() {
    let Some(bed) = Bed::new() else { return };
    bed.tc("qdisc add dev va root handle 1: mq");
    for (queue, shaper, fifo) in [(1, 10, 11), (2, 20, 21)] {
        let shaped = "tbf rate 400kbit burst 1600 limit 100000";
        bed.tc(&format!("qdisc add dev va parent 1:{queue} handle {shaper}: {shaped}"));
        bed.tc(&format!("qdisc add dev va parent {shaper}:1 handle {fifo}: pfifo limit 5"));
    }
    let (code, said) = obeys(&bed, &["va", "--for", "1s"]);
    assert!(code == 8 && said.matches("was not seen to obey").count() == 2, "{said}");
    let _flood = Flood::through(&bed, "va");
    bed.until("a queue fills", PATIENCE, || obeys(&bed, &["va", "--for", "1s"]).0 == 0);
    let (code, said) = obeys(&bed, &["va", "--for", "2s", "--json"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    let queues = told["queues"].as_array().unwrap();
    assert!(
        code == 0 && queues.len() == 2 && queues.iter().all(|each| each["mq"] == true),
        "{told}"
    );
    let mut seen: Vec<_> = queues.iter().map(|each| each["seen"].as_str().unwrap()).collect();
    seen.sort();
    assert_eq!(seen, ["not_filled", "yes"], "{told}");
    let (_, said) = obeys(&bed, &["va", "--for", "2s"]);
    assert!(said.contains("which another queue of the same mq exceeded"), "{said}");
}

#[test]
fn a_plan_is_called_applied_once_its_queues_were_seen_to_obey() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&[("va", slow(&fifo("limit_packets", 5)))]);
    let apply = ["apply", plan.to_str().unwrap(), "--confirm", "600s", "--look"];
    let look = |rest: &[&str]| bed.run(&[&apply[..], rest].concat());
    // Nothing fills cake's memory.
    bed.plan(&[(
        "va",
        json!({"shaped": {"rate_bps": 400_000, "by": "htb", "below": {"cake": {}}}}),
    )]);
    if bed.has("cake") {
        look(&["1s"]).ends(8, "not seen to obey");
        bed.run(&["restore"]).ends(0, "as it was before");
    }
    bed.plan(&[("va", slow(&fifo("limit_packets", 5)))]);
    let done = look(&["1s"]);
    done.ends(8, "was not seen to obey");
    assert!(!done.stdout.contains("Applied"), "{done:?}");
    // It is set all the same, and waits.
    assert_eq!(bed.status()["state"], "waits to be confirmed");
    bed.run(&["restore"]).ends(0, "as it was before");

    let _flood = Flood::through(&bed, "va");
    let obeyed = || {
        let done = look(&["2s"]);
        let is_applied = done.stdout.contains("Applied: seen to obey.");
        assert_eq!(is_applied, done.code == 0, "{done:?}");
        bed.run(&["restore"]).ends(0, "as it was before");
        is_applied
    };
    bed.until("the flood fills the queue", PATIENCE, obeyed);
    let done = look(&["2s", "--json"]);
    let told: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&told["outcome"], &told["queues"][0]["seen"]), (&json!("applied"), &json!("yes")));
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.run(&["restore"]).ends(0, "as it was before");
}

#[test]
fn looks_that_make_no_sense_are_refused() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&[("va", slow(&fifo("limit_packets", 5)))]);
    let plan = plan.to_str().unwrap();
    let before = bed.both();
    bed.run(&["apply", plan, "--confirm", "5s", "--look", "5s"]).ends(2, "must be shorter");
    bed.run(&["apply", plan, "--dry-run", "--look", "5s"]).ends(2, "cannot be used with");
    assert_eq!(bed.both(), before);
    let (code, said) = obeys(&bed, &["va", "--for", "1s"]);
    assert!(code == 1 && said.contains("airqueued places"), "{said}");
    let (code, said) = obeys(&bed, &["nobody", "--for", "1s"]);
    assert!(code == 1 && said.contains("nobody"), "{said}");
}
