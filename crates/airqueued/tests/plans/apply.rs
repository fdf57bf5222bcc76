//! Plans on the kernel's own queue disciplines: set, read back, put back.

use crate::bed::{Bed, two_queues};
use serde_json::{Value, json};
use std::time::Duration;

/// A queue of a plan, and what tc tells of it.
fn queues() -> Vec<(Value, Vec<&'static str>)> {
    let shaped = |by: &str| json!({"shaped": {"by": by, "rate_bps": 8_000_000, "burst_bytes": 3200, "below": {"fifo": {"limit_packets": 50}}}});
    let shared = json!({"shared": {"handle": 5, "rate_bps": 80_000_000, "other": 3, "classes": [
        {"id": 2, "rate_bps": 8_000_000, "queue": {"limit_packets": 10}},
        {"id": 3, "rate_bps": 16_000_000, "queue": {"limit_bytes": 30_000}}]}});
    vec![
        (json!({"fifo": {"limit_packets": 30}}), vec!["pfifo", "limit 30p"]),
        (json!({"fifo": {"limit_bytes": 45_000}}), vec!["bfifo", "limit 45000b"]),
        (shaped("tbf"), vec!["tbf", "rate 8Mbit burst 3200b", "pfifo", "limit 50p"]),
        (shaped("htb"), vec!["htb", "rate 8Mbit ceil 8Mbit burst 3200b", "limit 50p"]),
        (
            shared,
            vec![
                "class htb 5:2 parent 5:1",
                "rate 8Mbit ceil 80Mbit",
                "limit 10p",
                "limit 30000b",
                "default 0x3",
            ],
        ),
        (
            json!({"fq_codel": {"target_us": 7000, "limit_packets": 600, "ecn": false}}),
            vec!["fq_codel", "limit 600p", "target 7ms"],
        ),
        (
            json!({"cake": {"rate_bps": 8_000_000, "isolation": "dual_dsthost"}}),
            vec!["cake", "bandwidth 8Mbit", "dual-dsthost"],
        ),
    ]
}

#[test]
fn every_queue_is_set_told_by_tc_and_put_back() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    for (queue, words) in queues() {
        let kind = queue.as_object().unwrap().keys().next().unwrap().clone();
        let plan = bed.plan(&[("va", queue.clone()), ("vb", queue)]);
        let done = bed.apply(&plan, "60s");
        if matches!(kind.as_str(), "fq_codel" | "cake") && !bed.has(&kind) {
            done.ends(3, "this kernel does not take");
            done.ends(3, &format!("module of the discipline is missing: install sch_{kind}"));
        } else {
            done.ends(0, "goes back in 60 s");
            for shown in bed.both() {
                assert!(words.iter().all(|word| shown.contains(word)), "{words:?} in {shown}");
            }
            bed.run(&["confirm"]).ends(0, "Confirmed");
            bed.run(&["restore"]).ends(0, "as it was before");
        }
        assert_eq!(bed.both(), before, "{kind}");
    }
}

#[test]
fn what_somebody_has_set_is_put_back_as_it_was() {
    let Some(bed) = Bed::new() else { return };
    let trees: [&[&str]; 7] = [
        &["qdisc add dev va root handle 1: pfifo limit 77"],
        &["qdisc add dev va root pfifo_head_drop limit 9"],
        &[
            "qdisc add dev va root handle 7a00: tbf rate 7mbit burst 1540 limit 3000000",
            "qdisc add dev va parent 7a00:1 handle 7a01: pfifo limit 120",
        ],
        &[
            "qdisc add dev va root handle 1: htb default 20 r2q 5",
            "class add dev va parent 1: classid 1:1 htb rate 50mbit burst 20k cburst 15k quantum 3000",
            "class add dev va parent 1:1 classid 1:10 htb rate 10mbit ceil 40mbit prio 2",
            "class add dev va parent 1:1 classid 1:20 htb rate 3333kbit ceil 50mbit",
            "qdisc add dev va parent 1:10 handle 10: bfifo limit 12345",
            "qdisc add dev va parent 1:20 handle 20: tbf rate 3mbit burst 5k latency 40ms",
            "qdisc add dev va parent 20:1 handle 21: pfifo limit 5",
        ],
        &["qdisc add dev va root noqueue"],
        &["qdisc add dev va root pfifo_fast"],
        &[
            "qdisc add dev va root handle 1: mq",
            "qdisc add dev va parent 1:2 handle 3: pfifo limit 33",
        ],
    ];
    for commands in trees {
        commands.iter().for_each(|line| bed.tc(line));
        let before = bed.both();
        // One plan over the other: what comes back is what was before the first.
        for packets in [20, 30] {
            bed.apply(&bed.plan(&two_queues(packets)), "60s").ends(0, "Set and read back");
            bed.run(&["confirm"]).ends(0, "Confirmed");
            assert_ne!(bed.both(), before);
        }
        bed.run(&["restore"]).ends(0, "as it was before");
        assert_eq!(bed.both(), before, "{commands:?}");
        bed.tc("qdisc del dev va root");
    }
}

#[test]
fn what_could_not_be_put_back_is_refused_beforehand() {
    let Some(bed) = Bed::new() else { return };
    let refused = |commands: &[&str], words: &str| {
        commands.iter().for_each(|line| bed.tc(line));
        let before = bed.both();
        let plan = bed.plan(&two_queues(20));
        for how in [&["--dry-run"][..], &["--confirm", "60s"]] {
            let arguments = [&["apply", plan.to_str().unwrap()], how].concat();
            bed.run(&arguments).ends(3, words);
        }
        assert_eq!(bed.both(), before);
        bed.tc("qdisc del dev va root");
    };
    refused(
        &[
            "qdisc add dev va root handle 1: htb",
            "class add dev va parent 1: classid 1:1 htb rate 50mbit",
            "filter add dev va parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:1",
        ],
        "settings[0]: va has a filter (u32) at 1:",
    );
    refused(
        &[
            "qdisc add dev va root stab overhead 10 linklayer adsl tbf rate 7mbit burst 1540 limit 30000",
        ],
        "va has a size table (tc stab)",
    );
    refused(
        &["qdisc add dev va root est 1sec 8sec pfifo limit 33"],
        "va has a rate estimator (tc estimator)",
    );
}

#[test]
fn ingress_disciplines_are_left_alone() {
    let Some(bed) = Bed::new() else { return };
    bed.tc("qdisc add dev va ingress");
    let before = bed.both();
    bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
    assert!(bed.shown("va").contains("ingress"));
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), before);
}

#[test]
fn a_dry_run_says_everything_and_changes_nothing() {
    let Some(bed) = Bed::new() else { return };
    bed.tc("qdisc add dev va root pfifo limit 5");
    let (before, plan) = (bed.both(), bed.plan(&two_queues(20)));
    let done = bed.run(&["apply", plan.to_str().unwrap(), "--dry-run"]);
    for words in [
        "queue of va",
        "from    a FIFO of 5 packets",
        "from    the system's default (noqueue)",
        "to      tbf at 8 Mb/s above a FIFO of 20 packets",
        "why     a test",
        "but     packets that wait in the queue of va are dropped",
        "but     no packet will wait in this queue: it is a device (veth) that hands packets on at once",
        "Nothing was changed.",
    ] {
        done.ends(0, words);
    }
    assert_eq!(bed.both(), before);
    assert!(!bed.state().exists());
    let json = bed.run(&["apply", plan.to_str().unwrap(), "--dry-run", "--json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["settings"][1]["to"], "a FIFO of 32000 bytes");
    assert_eq!(json["settings"][1]["interrupts"], Value::Null);
    assert_eq!(json["settings"][0]["stays_empty"], Value::Null);
    // What nobody could read was not shown.
    let words = ["apply", plan.to_str().unwrap(), "--dry-run"];
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = bed.airqueued(&words).stdout(full).status().unwrap();
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn a_limit_changes_in_place_and_drops_nothing() {
    let Some(bed) = Bed::new() else { return };
    bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    let number =
        |shown: String| shown.lines().next().unwrap().split(' ').nth(2).unwrap().to_owned();
    let first = number(bed.shown("vb"));
    let done = bed.apply(&bed.plan(&two_queues(30)), "60s");
    done.ends(0, "to      a FIFO of 48000 bytes");
    assert!(!done.stdout.contains("dropped"), "{done:?}");
    assert_eq!(number(bed.shown("vb")), first);
    assert!(bed.shown("vb").contains("limit 48000b") && bed.shown("va").contains("limit 30p"));
    // The same plan again is no change.
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.apply(&bed.plan(&two_queues(30)), "60s").ends(0, "All is so already");
    bed.run(&["confirm"]).ends(0, "confirmed already");
}

#[test]
fn rates_are_said_of_every_shaper() {
    let Some(bed) = Bed::new() else { return };
    let htb = |rate_bps: u64| json!({"shaped": {"by": "htb", "rate_bps": rate_bps, "below": {"fifo": {"limit_packets": 40}}}});
    let set = |queue| bed.apply(&bed.plan(&[("va", queue)]), "60s");
    set(htb(8_000_000)).ends(0, "to      htb at 8 Mb/s above a FIFO of 40 packets");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    set(htb(80_000)).ends(0, "from    htb at 8 Mb/s above a FIFO of 40 packets");
    bed.run(&["restore"]).ends(0, "");
    let class = |id: u16, rate_bps: u64| json!({"id": id, "rate_bps": rate_bps, "queue": {"limit_packets": 10}});
    let shared = json!({"shared": {"handle": 5, "rate_bps": 80_000_000_000_u64, "other": 3,
        "classes": [class(2, 8_000_000), class(3, 16_000_000)]}});
    set(shared).ends(
        0,
        "htb at 80000 Mb/s above 2 queues (8 Mb/s for a FIFO of 10 packets; 16 Mb/s for a FIFO of 10 packets)",
    );
}

#[test]
fn classes_change_in_place_and_packets_that_wait_in_them_stay() {
    let Some(bed) = Bed::new() else { return };
    // So slow that what waits is still there afterwards: a packet of 1442 bytes takes half a second.
    let shared = |limits: [u32; 2], rates: [u64; 2]| {
        let class = |at: usize| json!({"id": 2 + at, "rate_bps": rates[at], "queue": {"limit_packets": limits[at]}});
        json!({"shared": {"handle": 5, "rate_bps": 24_000, "other": 3, "classes": [class(0), class(1)]}})
    };
    let set = |queue| bed.apply(&bed.plan(&[("va", queue)]), "60s");
    set(shared([9, 60], [16_000, 8000])).ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.send(50, 1400);
    // Packets that wait in both FIFOs, and those that were dropped.
    let waiting = || {
        let output = bed.inside("tc", &["-s", "-j", "qdisc", "show", "dev", "va"]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let fifos = told.as_array().unwrap().iter().filter(|each| each["kind"] == "pfifo");
        let number = |each: &Value, key: &str| each[key].as_u64().unwrap();
        fifos.fold((0, 0), |(qlen, drops), each| {
            (qlen + number(each, "qlen"), drops + number(each, "drops"))
        })
    };
    let began = std::time::Instant::now();
    let (before, dropped) = waiting();
    assert!(before >= 40 && dropped == 0, "{before} wait, {dropped} dropped");
    // The second FIFO is then far shorter than what waits in it.
    for (limits, rates) in [([20, 90], [8000, 8000]), ([60, 5], [8000, 16_000])] {
        let done = set(shared(limits, rates));
        done.ends(0, "Set and read back");
        assert!(!done.stdout.contains("dropped"), "{done:?}");
        bed.run(&["confirm"]).ends(0, "Confirmed");
        let shown = bed.disciplines("va");
        assert!(limits.iter().all(|limit| shown.contains(&format!("limit {limit}p"))), "{shown}");
    }
    let (after, dropped) = waiting();
    // The shaper sends two in a second, and its buckets hold three.
    let sent = began.elapsed().as_secs_f64() * 24_000.0 / 8.0 / 1442.0 + 3.0;
    assert!(
        dropped == 0 && after as f64 + sent >= before as f64,
        "{after} of {before}, {dropped} dropped"
    );
    assert!(after > 5, "too slow a machine: {after} packets are no more than the limit");
    bed.run(&["restore"]).ends(0, "as it was before");
}

/// The number of its classes cannot change in place; the shaper of the new tree has the number of the old one.
#[test]
fn a_shaper_with_other_classes_takes_the_place_of_one_with_its_number() {
    let Some(bed) = Bed::new() else { return };
    bed.tc("qdisc add dev va root handle 5: htb default 20");
    bed.tc("class add dev va parent 5: classid 5:20 htb rate 50mbit");
    let before = bed.shown("va");
    let shared = |classes: &[u16]| {
        let class =
            |id: &u16| json!({"id": id, "rate_bps": 8000, "queue": {"limit_packets": 10 + id}});
        json!({"shared": {"handle": 5, "rate_bps": 800_000, "other": 2,
            "classes": classes.iter().map(class).collect::<Vec<_>>()}})
    };
    for classes in [&[2, 3][..], &[2, 3, 4], &[2]] {
        bed.apply(&bed.plan(&[("va", shared(classes))]), "60s").ends(0, "Set and read back");
        bed.run(&["confirm"]).ends(0, "Confirmed");
        let shown = bed.shown("va");
        assert_eq!(shown.matches("class htb 5:").count(), 1 + classes.len(), "{shown}");
        assert!(classes.iter().all(|id| shown.contains(&format!("limit {}p", 10 + id))), "{shown}");
    }
    // Another number is another shaper, though all else is as it was.
    let mut other = shared(&[2]);
    other["shared"]["handle"] = json!(6);
    bed.apply(&bed.plan(&[("va", other)]), "60s").ends(0, "Set and read back");
    assert!(bed.shown("va").contains("class htb 6:2"), "{}", bed.shown("va"));
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.shown("va"), before);
}

#[test]
fn a_plan_goes_back_unless_it_is_confirmed() {
    let Some(bed) = Bed::new() else { return };
    let (before, plan) = (bed.both(), bed.plan(&two_queues(20)));
    bed.apply(&plan, "1s").ends(0, "Set and read back");
    assert_eq!(bed.status()["state"], "waits to be confirmed");
    bed.apply(&plan, "1s").ends(4, "another plan waits to be confirmed");
    assert_ne!(bed.both(), before);
    bed.until("the plan goes back", Duration::from_secs(2), || bed.both() == before);
    bed.run(&["confirm"]).ends(4, "the plan was not confirmed in time");
    bed.until("no guard is left", Duration::from_secs(2), || bed.guards().is_empty());
    bed.apply(&plan, "1s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(bed.status()["state"], "confirmed");
    assert_ne!(bed.both(), before);
    bed.until("no guard is left", Duration::from_secs(2), || bed.guards().is_empty());
    for words in ["Everything else is as it was", "Nothing of ours"] {
        bed.run(&["restore"]).ends(0, words);
        assert_eq!(bed.both(), before);
    }
}

#[test]
fn what_others_changed_since_stays() {
    let Some(bed) = Bed::new() else { return };
    bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
    bed.tc("qdisc replace dev vb root handle 9: pfifo limit 99");
    bed.run(&["confirm"])
        .ends(4, "the queue of vb is a FIFO of 99 packets instead of a FIFO of 32000 bytes");
    bed.run(&["restore"]).ends(
        0,
        "Left as it is: the queue of vb was set by another program to a FIFO of 99 packets",
    );
    assert!(bed.shown("vb").contains("limit 99p") && bed.shown("va").contains("noqueue"));
}

#[test]
fn an_interface_that_is_gone_or_made_again_is_named() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&two_queues(20));
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.inside("ip", &["link", "del", "va"]);
    bed.apply(&plan, "60s").ends(3, "settings[0]: there is no interface va; `ip link` lists those there are\nairqueued: settings[1]: there is no interface vb");
    bed.inside("ip", &["link", "add", "va", "type", "veth", "peer", "name", "vb"]);
    bed.tc("qdisc add dev va root pfifo limit 55");
    let before = bed.both();
    // What was before us is what the new interfaces have, not what the old ones had.
    bed.apply(&plan, "60s").ends(0, "from    a FIFO of 55 packets");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), before);
}

#[test]
fn another_namespace_is_no_place_for_the_journal() {
    let (Some(bed), Some(other)) = (Bed::new(), Bed::new()) else { return };
    let plan = bed.plan(&two_queues(20));
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    let there = |words: &[&str]| {
        let mut command = other.command(env!("CARGO_BIN_EXE_airqueued"));
        let output = command.args(words).arg("--state").arg(bed.state()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    for words in [&["restore"][..], &["apply", plan.to_str().unwrap(), "--dry-run"]] {
        let (code, said) = there(words);
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains("is about another network namespace"), "{said}");
    }
    // There is a va, too, and it is another one.
    let (code, said) = there(&["status"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("now     in another network namespace").count(), 2, "{said}");
}

#[test]
fn after_a_restart_of_the_machine_its_own_settings_stay() {
    let Some(bed) = Bed::new() else { return };
    bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    restart(&bed);
    // One queue is the machine's, one is still ours.
    bed.tc("qdisc replace dev va root handle 9: pfifo limit 99");
    bed.run(&["restore"])
        .ends(0, "the queue of va was set by the machine's start to a FIFO of 99 packets");
    assert!(bed.shown("va").contains("limit 99p") && bed.shown("vb").contains("noqueue"));
}

/// Makes the journal one of another boot, as it is found after a restart.
fn restart(bed: &Bed) {
    let path = bed.state().join("journal.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    std::fs::write(&path, text.replace(boot.trim(), "another")).unwrap();
}

#[test]
fn a_plan_that_waited_when_the_machine_was_restarted_is_not_confirmed() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
    restart(&bed);
    bed.run(&["confirm"]).ends(4, "the machine was restarted before the plan was confirmed");
    assert_eq!(bed.both(), before);
}

#[test]
fn what_was_before_a_plan_after_a_restart_is_what_the_machine_has_set() {
    let Some(bed) = Bed::new() else { return };
    let first = bed.both();
    let mut plan = bed.plan(&two_queues(20));
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    restart(&bed);
    // va is still as we set it, vb as the machine has set it.
    bed.tc("qdisc replace dev vb root handle 9: pfifo limit 99");
    let machines = bed.shown("vb");
    plan = bed.plan(&two_queues(30));
    bed.apply(&plan, "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), [first[0].clone(), machines]);
}

#[test]
fn a_damaged_journal_or_an_open_directory_is_an_error() {
    let Some(bed) = Bed::new() else { return };
    let (before, plan) = (bed.both(), bed.plan(&two_queues(20)));
    std::fs::create_dir(bed.state()).unwrap();
    for text in ["", "{\"journal\": 1", "[]", "\u{0}"] {
        std::fs::write(bed.state().join("journal.json"), text).unwrap();
        for command in ["confirm", "restore", "status"] {
            bed.run(&[command]).ends(1, "is damaged");
        }
        bed.apply(&plan, "60s").ends(1, "is damaged");
    }
    // Its keys may be others, too.
    std::fs::write(bed.state().join("journal.json"), "{\"journal\": 9, \"held\": []}").unwrap();
    bed.run(&["restore"]).ends(1, "is of version 9, and this airqueued reads version 1");
    std::fs::remove_file(bed.state().join("journal.json")).unwrap();
    nix::unistd::mkfifo(&bed.state().join("journal.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    bed.run(&["status"]).ends(1, "is damaged");
    std::fs::remove_file(bed.state().join("journal.json")).unwrap();
    std::fs::set_permissions(bed.state(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    bed.apply(&plan, "60s").ends(1, "others may write to it");
    assert_eq!(bed.both(), before);
}

#[test]
fn plans_that_cannot_be_read_are_refused() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&[("va", json!({"fifo": {"limit_packets": 0}}))]);
    bed.apply(&plan, "60s")
        .ends(3, "plan.json: settings[0].set.queue.queue.fifo.limit_packets: 0 is not possible");
    bed.run(&["apply", "/no/such/plan", "--dry-run"]).ends(3, "cannot read the plan /no/such/plan");
    bed.run(&["apply", "/dev/zero", "--dry-run"]).ends(3, "/dev/zero is longer than");
    let plan = bed.plan(&[("lo", json!({"fifo": {"limit_packets": 5}}))]);
    let text = std::fs::read_to_string(&plan)
        .unwrap()
        .replace("{\"queue\":{\"interface\"", "{\"ring\":{\"packets\":9,\"interface\"");
    std::fs::write(&plan, text.replace(",\"queue\":{\"fifo\":{\"limit_packets\":5}}", "")).unwrap();
    bed.apply(&plan, "60s").ends(3, "settings[0]: lo has no ring");
}

#[test]
fn a_right_that_is_missing_is_named() {
    let Some(bed) = Bed::new() else { return };
    let plan = bed.plan(&two_queues(20));
    let airqueued = env!("CARGO_BIN_EXE_airqueued");
    let with = |capabilities: &[&str]| {
        let mut command = bed.command("setpriv");
        command.args(capabilities).args([
            airqueued,
            "apply",
            plan.to_str().unwrap(),
            "--confirm",
            "60s",
            "--state",
        ]);
        command.arg(bed.state()).output().unwrap()
    };
    let none = with(&["--bounding-set=-all", "--inh-caps=-all"]);
    assert_eq!(none.status.code(), Some(5), "{none:?}");
    assert!(
        String::from_utf8_lossy(&none.stderr).contains("run as root, or with CAP_NET_ADMIN"),
        "{none:?}"
    );
    // It needs this one right alone.
    let one = with(&["--bounding-set=-all,+net_admin", "--inh-caps=-all,+net_admin"]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    bed.run(&["restore"]).ends(0, "as it was before");
}
