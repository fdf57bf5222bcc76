use super::*;
use crate::radio::nl80211::command;
use crate::testing::{Folder, pretended, recorded};
use airqueue_control::plan::Category;
use airqueue_control::steer::Config;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The station of the recorded access point.
const STATION: &str = "best effort queue of 02:00:00:00:01:00 at wlan0";

fn at(second: i64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn config(text: &str) -> WatchConfig {
    Config::read(&format!("config = 1\n[watch]\n{text}")).unwrap().watch.unwrap()
}

/// Watches the recorded access point, which is silent while 400 packets wait; the flag says that its station has left.
fn queues(folder: &Path, left: Arc<AtomicBool>) -> Queues {
    let config = config("prometheus = \"airqueued.prom\"\nstuck_after = \"3 s\"");
    let mut queues = Queues::new(&config, folder, Time::ZERO);
    queues.nl80211 = Some(pretended(move |request| match request.command {
        command::GET_WIPHY => recorded("full-wiphy"),
        command::GET_INTERFACE => recorded("ap-interface"),
        command::GET_STATION if !left.load(Ordering::Relaxed) => recorded("full-station"),
        _ => Vec::new(),
    }));
    queues
}

fn told(news: &[News]) -> Vec<(&'static str, &str)> {
    news.iter().map(|news| (news.event, news.what.as_str())).collect()
}

#[test]
fn a_recorded_queue_that_does_not_drain_is_told_once_and_when_it_is_gone() {
    let folder = Folder::new("queues");
    let left = Arc::new(AtomicBool::new(false));
    let mut queues = queues(folder.path(), left.clone());
    for second in 0..3 {
        assert_eq!(told(&queues.look(at(second))), []);
    }
    let stuck = queues.look(at(3));
    assert_eq!(told(&stuck), [("stuck", STATION)]);
    let alarm = stuck[0].alarm.as_ref().unwrap();
    assert_eq!((alarm.since_s, alarm.stuck_s, alarm.category), (0.0, 3.0, Category::BestEffort));
    let why = &stuck[0].why;
    assert!(why.starts_with(&format!("{} packets have not moved for 3 s", alarm.backlog_packets)));
    assert!(why.contains("% of what phy0 may hold"), "{why}");
    let file = folder.path().join("airqueued.prom");
    let figures = fs::read_to_string(&file).unwrap();
    let labels =
        r#"{phy="phy0",interface="wlan0",station="02:00:00:00:01:00",category="best effort"}"#;
    assert!(figures.contains(&format!("airqueue_station_stuck_seconds{labels} 3\n")), "{figures}");
    // Between two looks, and as long as it goes on, nothing is said.
    let between = at(3) + Span::from_millis(500);
    assert_eq!(told(&queues.look(between)), []);
    assert_eq!(queues.due(), at(4));
    assert_eq!(told(&queues.look(at(4))), []);
    left.store(true, Ordering::Relaxed);
    let gone = queues.look(at(5));
    assert_eq!(told(&gone), [("gone", STATION)]);
    assert!(gone[0].why.contains("none has left for 5 s"), "{}", gone[0].why);
    drop(queues);
    assert!(!file.exists(), "figures that nobody keeps up are no figures");
}

#[test]
fn what_cannot_be_seen_or_written_is_told_once() {
    let folder = Folder::new("unseen");
    let mut queues = queues(folder.path(), Arc::default());
    queues.look(at(0));
    let file = folder.path().join("airqueued.prom");
    assert!(file.exists());
    let unseen = || Err("no radio".to_owned());
    let told_now = queues.take(unseen());
    assert_eq!(told(&told_now), [("not watched", "queues of stations")]);
    assert_eq!(told_now[0].why, "no radio");
    assert!(!file.exists());
    assert_eq!(told(&queues.take(unseen())), []);
    // It works again, and then no more.
    assert_eq!(told(&queues.look(at(1))), []);
    assert_eq!(told(&queues.take(unseen())), [("not watched", "queues of stations")]);
    queues.prometheus = Some(folder.path().join("absent/airqueued.prom"));
    let unwritten = queues.look(at(2));
    assert_eq!(told(&unwritten), [("not written", "queues of stations")]);
    assert!(unwritten[0].why.contains("absent/airqueued.prom"), "{}", unwritten[0].why);
}

#[test]
fn a_queue_that_drains_again_says_so() {
    let folder = Folder::new("drains");
    let mut queues = queues(folder.path(), Arc::default());
    (0..3).for_each(|second| drop(queues.look(at(second))));
    let alarm = queues.look(at(3)).remove(0).alarm.unwrap();
    let drains = news(Event::Drains(Ended { alarm: alarm.clone(), stood_s: 7.0 }));
    assert_eq!(told(std::slice::from_ref(&drains)), [("drains", STATION)]);
    assert_eq!(drains.why, "packets leave again, after 7 s");
    assert_eq!(drains.alarm, Some(alarm));
}
