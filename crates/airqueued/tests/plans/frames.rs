//! Plans on interfaces whose frames are longer than usual.

use crate::bed::{Bed, two_queues};
use serde_json::{Value, json};

/// Packets that the disciplines of `va` have dropped, as tc counts them.
fn drops(bed: &Bed) -> u64 {
    let output = bed.inside("tc", &["-s", "-j", "qdisc", "show", "dev", "va"]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    told.as_array().unwrap().iter().map(|each| each["drops"].as_u64().unwrap()).sum()
}

/// tc shows the same of a bucket that is a byte smaller, which drops every long frame.
#[test]
fn a_bucket_of_one_frame_holds_that_frame_when_it_is_back() {
    let Some(bed) = Bed::new() else { return };
    for bucket in [
        "rate 7mbit burst 1514",
        "rate 100mbit burst 1514",
        "rate 933mbit burst 1514",
        "rate 900kbit burst 1538 overhead 24 mpu 64",
        "rate 7mbit burst 3000 peakrate 20mbit mtu 1514",
    ] {
        bed.tc(&format!("qdisc add dev va root tbf {bucket} limit 300000"));
        let before = bed.both();
        bed.send(3, 1472);
        assert_eq!(drops(&bed), 0, "{bucket}");
        bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
        bed.run(&["restore"]).ends(0, "as it was before");
        assert_eq!(bed.both(), before, "{bucket}");
        bed.send(3, 1472);
        assert_eq!(drops(&bed), 0, "{bucket}");
        bed.tc("qdisc del dev va root");
    }
}

#[test]
fn a_plan_is_set_anew_once_the_mtu_is_larger() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&two_queues(20));
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    let before = bed.shown("va");
    for device in ["va", "vb"] {
        bed.ip(&format!("link set {device} mtu 9000"));
    }
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    // The bucket that takes merged packets apart holds one frame: by tc, "minburst" or "burst" beside the peak rate.
    assert_ne!(bed.shown("va"), before);
    bed.send(5, 8900);
    assert_eq!(drops(&bed), 0);
    // And nothing more is to be done.
    bed.apply(&plan, "60s").ends(0, "All is so already");
}

#[test]
fn what_would_drop_every_long_frame_is_refused() {
    let Some(bed) = Bed::new() else { return };
    let shaped = |burst: u32, limit: u32| json!({"shaped": {"rate_bps": 80_000_000, "burst_bytes": burst, "below": {"fifo": {"limit_bytes": limit}}}});
    let ends = |queue: Value, code, words: &str| {
        bed.apply(&bed.plan(&[("va", queue)]), "60s").ends(code, words);
        bed.run(&["restore"]);
    };
    ends(shaped(1518, 200_000), 0, "Set and read back");
    bed.ip("link set va mtu 9000");
    let asked =
        "and the MTU of 9000 allows frames of 9018 bytes, which would all be dropped; give 9018";
    ends(shaped(1518, 200_000), 3, &format!("va: burst_bytes is 1518, {asked}"));
    ends(shaped(9018, 9000), 3, &format!("va: limit_bytes is 9000, {asked}"));
    ends(json!({"fifo": {"limit_bytes": 5000}}), 3, "va: limit_bytes is 5000");
    ends(shaped(9018, 9018), 0, "Set and read back");
    let slow = json!({"shaped": {"by": "htb", "rate_bps": 8000, "burst_bytes": 1_000_000_000, "below": {"fifo": {"limit_packets": 9}}}});
    ends(slow, 3, "for more than 274 s at 8000 b/s");
}
