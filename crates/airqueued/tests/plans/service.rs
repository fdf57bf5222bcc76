//! The service: a plan is kept right until it ends, and goes back however it ends.

use crate::bed::{Bed, GUARDED, PATIENCE, apart, two_queues};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

/// A service that runs, and is killed with the test.
struct Service<'a> {
    bed: &'a Bed,
    process: Child,
}

impl<'a> Service<'a> {
    fn start(bed: &'a Bed, configuration: &str) -> Service<'a> {
        let file = configured(bed, configuration);
        let mut command = bed.airqueued(&["--config", file.to_str().unwrap()]);
        command.arg("--json");
        let process = apart(command);
        let service = Service { bed, process };
        bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
        service
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).unwrap();
    }

    /// The process's exit code, once it has ended by itself.
    fn ended(&mut self) -> Option<i32> {
        let process = std::cell::RefCell::new(&mut self.process);
        self.bed.until("the service has ended", PATIENCE, || {
            process.borrow_mut().try_wait().unwrap().is_some()
        });
        process.into_inner().wait().unwrap().code()
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Writes a configuration beside the plan.
fn configured(bed: &Bed, text: &str) -> PathBuf {
    bed.plan(&two_queues(20));
    let file = bed.plan_file().with_file_name("airqueued.toml");
    std::fs::write(&file, text).unwrap();
    file
}

const PLAN: &str = "config = 1\nplan = \"plan.json\"\n";

#[test]
fn a_plan_is_kept_right_until_the_service_is_told_to_end() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    let mut service = Service::start(&bed, PLAN);
    let set = bed.both();
    assert!(set[0].contains("limit 20p") && set[1].contains("limit 32000b"), "{set:?}");
    // Another program changes both: one in place, one as a whole.
    let fifo = set[0].lines().find(|line| line.starts_with("qdisc pfifo")).unwrap();
    let words: Vec<&str> = fifo.split_whitespace().collect();
    bed.tc(&format!("qdisc change dev va parent {} handle {} pfifo limit 5", words[4], words[2]));
    bed.tc("qdisc replace dev vb root pfifo limit 7");
    bed.until("set again", PATIENCE, || bed.both() == set);
    // No other plan, and no other service, at the same time.
    bed.apply(&bed.plan(&two_queues(30)), "9s").ends(4, "another airqueued steers settings");
    let other = configured(&bed, PLAN);
    bed.run(&["--config", other.to_str().unwrap()]).ends(4, "another airqueued steers settings");
    bed.run(&["confirm"]).ends(4, "no plan waits to be confirmed");
    assert_eq!(bed.both(), set);
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended(), Some(0));
    assert_eq!(bed.both(), before);
    assert_eq!(bed.status()["state"], "nothing of ours");
}

#[test]
fn a_service_over_a_confirmed_plan_goes_back_to_that_plan() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    bed.apply(&bed.plan(&two_queues(77)), "60s").ends(0, "Set and read back");
    bed.run(&["confirm"]).ends(0, "Confirmed");
    let kept = bed.both();
    let mut service = Service::start(&bed, PLAN);
    assert_ne!(bed.both(), kept);
    service.signal(Signal::SIGINT);
    assert_eq!(service.ended(), Some(0));
    assert_eq!(bed.both(), kept);
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), before);
}

#[test]
fn settings_of_a_service_that_is_killed_go_back() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    for round in 0..4 {
        let service = Service::start(&bed, PLAN);
        assert_ne!(bed.both(), before);
        std::thread::sleep(Duration::from_millis(170 * round));
        // Its guard dies before it in every other round; the guard's successor takes over.
        if round % 2 == 1 {
            kill(Pid::from_raw(bed.guard().unwrap()), Signal::SIGKILL).unwrap();
        }
        service.signal(Signal::SIGKILL);
        bed.until("all as before", GUARDED, || bed.both() == before);
        drop(service);
        bed.settled();
    }
}

/// An interface that is removed does not end the service, one that is made anew gets its queue, and the packets of the new one
/// are heard: the limit of the FIFO follows its flow.
#[test]
fn an_interface_that_is_made_anew_gets_its_queue_again() {
    let Some(bed) = Bed::new() else { return };
    let loops = "sample_interval = \"200 ms\"\nat_most_every = \"1 s\"\n\
                 [[adaptive]]\ninterface = \"va\"\nrate = \"8 Mb/s\"\n";
    let events = bed.plan_file().with_file_name("events");
    let file = configured(&bed, &format!("{PLAN}{loops}"));
    let mut command = bed.airqueued(&["--config", file.to_str().unwrap(), "--json"]);
    command.stdout(std::fs::File::create(&events).unwrap());
    let process = command.spawn().unwrap();
    let mut service = Service { bed: &bed, process };
    bed.until("steered", PATIENCE, || bed.status()["state"] == "steered");
    bed.ip("link del va");
    let told = |event: &str| std::fs::read_to_string(&events).unwrap().matches(event).count();
    bed.until("it is told", PATIENCE, || told("va was removed since") == 1);
    let now = bed.status()["settings"][0]["now"].as_str().unwrap().to_owned();
    assert!(now.contains("va was removed since"), "{now}");
    // The service has looked once more, and has said nothing.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(told("was removed since"), 2, "one for each interface");
    bed.ip("link add va type veth peer name vb");
    bed.ip("link set va up");
    bed.ip("link set vb up");
    let before = bed.both();
    let begins = || bed.disciplines("va").contains("limit 20p");
    bed.until("set again", PATIENCE, begins);
    bed.until("the flow is heard", PATIENCE, || {
        bed.send(300, 1400);
        !begins()
    });
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended(), Some(0));
    assert_eq!(bed.both(), before);
}

#[test]
fn a_restore_ends_the_service() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    let mut service = Service::start(&bed, PLAN);
    bed.run(&["restore"]).ends(0, "as it was before");
    assert_eq!(bed.both(), before);
    assert_eq!(service.ended(), Some(4));
    assert_eq!(bed.both(), before);
}

#[test]
fn a_plan_that_follows_a_restore_is_not_the_services_to_take_back() {
    let Some(bed) = Bed::new() else { return };
    let mut service = Service::start(&bed, PLAN);
    bed.run(&["restore"]).ends(0, "as it was before");
    bed.apply(&bed.plan(&two_queues(30)), "60s").ends(0, "Set and read back");
    let applied = bed.both();
    assert_eq!(service.ended(), Some(4));
    assert_eq!(bed.both(), applied);
    assert_eq!(bed.status()["state"], "waits to be confirmed");
}

#[test]
fn a_configuration_that_cannot_be_followed_changes_nothing() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    let edca = "[[edca]]\ninterface = \"va\"\npacket = \"1.3 ms\"\n";
    let adaptive = "[[adaptive]]\nrate = \"8 Mb/s\"\ninterface = ";
    let rdqm =
        "[[rdqm]]\nuplink = \"vb\"\nbuffer = \"99 p\"\nrate = \"9 Mb/s\"\ninterface = \"va\"";
    for (text, code, words) in [
        ("config = 1".to_owned(), 3, "plan: is missing"),
        (format!("{PLAN}evry = \"1 s\""), 3, "unknown key `evry`"),
        (format!("{PLAN}{edca}"), 3, "edca[0]: the plan has no setting"),
        (format!("{PLAN}{adaptive}\"vb\""), 3, "a fifo with limit_packets"),
        (format!("{PLAN}{rdqm}"), 3, "sets the queue of va again"),
        ("config = 1\nplan = \"none.json\"".to_owned(), 3, "cannot read the plan"),
        (format!("config = 1\n{rdqm}").replace("vb", "vc"), 1, "no interface vc"),
    ] {
        let file = configured(&bed, &text);
        bed.run(&["--config", file.to_str().unwrap()]).ends(code, words);
        assert_eq!(bed.both(), before, "{words}");
        assert_eq!(bed.status()["state"], "nothing of ours");
    }
}

/// A service that sets nothing leaves the machine to plans. Namespaces have no radio: either cfg80211 is not loaded, or it lists none.
#[test]
fn a_service_that_only_watches_sets_nothing() {
    let Some(bed) = Bed::new() else { return };
    let before = bed.both();
    let configuration = "config = 1\n[watch]\nprometheus = \"airqueued.prom\"\n";
    let file = configured(&bed, configuration);
    let [events, figures] = ["events", "airqueued.prom"].map(|name| file.with_file_name(name));
    let mut command = bed.airqueued(&["--config", file.to_str().unwrap(), "--json"]);
    command.stdout(std::fs::File::create(&events).unwrap());
    let process = command.spawn().unwrap();
    let mut service = Service { bed: &bed, process };
    bed.until("it watches", PATIENCE, || {
        std::fs::read_to_string(&events).unwrap().contains("not watched") || figures.exists()
    });
    assert_eq!(bed.status()["state"], "nothing of ours");
    bed.apply(&bed.plan(&two_queues(30)), "60s").ends(0, "Set and read back");
    let applied = bed.both();
    assert_ne!(applied, before);
    service.signal(Signal::SIGTERM);
    assert_eq!(service.ended(), Some(0));
    assert_eq!(bed.both(), applied, "what others set stays");
    assert_eq!(bed.status()["state"], "waits to be confirmed");
    assert!(!figures.exists());
}
