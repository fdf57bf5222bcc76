//! Interfaces that have several names, or settings that a discipline changes.

use crate::bed::{Bed, two_queues};
use serde_json::json;

/// The kernel gives a veth without a queue length one of 1000 packets when a discipline is set.
#[test]
fn an_interface_without_a_queue_length_has_none_when_a_plan_is_back() {
    let Some(bed) = Bed::new() else { return };
    bed.ip("link set va txqueuelen 0");
    let shown = || String::from_utf8(bed.inside("ip", &["link", "show", "va"]).stdout).unwrap();
    let before = shown();
    assert!(!before.contains("qlen"), "{before}");
    for packets in [20, 30] {
        bed.apply(&bed.plan(&two_queues(packets)), "60s").ends(0, "Set and read back");
        bed.run(&["confirm"]).ends(0, "Confirmed");
    }
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(shown(), before);
}

#[test]
fn one_interface_under_two_names_is_set_once() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    bed.ip("link property add dev va altname wan0");
    let fifo = |packets: u32| json!({"fifo": {"limit_packets": packets}});
    let both = bed.plan(&[("va", fifo(20)), ("wan0", fifo(30))]);
    bed.apply(&both, "60s")
        .ends(3, "settings[1]: wan0 is another name of va, which the plan sets as well");
    assert_eq!(bed.both(), before);
    // One plan after the other, under two names: restore would not know what was before the first.
    bed.apply(&bed.plan(&[("va", fifo(20))]), "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    let (set, second) = (bed.both(), bed.plan(&[("wan0", fifo(30))]));
    bed.apply(&second, "60s").ends(3, "settings[0]: a confirmed plan has set wan0 as va");
    assert_eq!(bed.both(), set);
    bed.run(&["restore"]).ends(0, "as it was before");
    bed.apply(&second, "60s").ends(0, "Set and read back");
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), before);
}
