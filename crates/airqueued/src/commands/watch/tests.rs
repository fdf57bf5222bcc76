use super::*;
use crate::testing::Folder;
use airqueue_control::plan::Category;
use airqueue_control::watch::{Alarm, Report, Row};
use std::fs;

fn report() -> Report {
    let row = Row {
        phy: "phy0".to_owned(),
        interface: "wlan\"0".to_owned(),
        station: "02:00:00:00:01:00".to_owned(),
        category: Category::BestEffort,
        backlog_packets: 100,
        backlog_bytes: 150_000,
        sent_pps: Some(400.0),
        sojourn_s: Some(0.25),
        dropped_packets: 3,
        overflows: 0,
        airtime_share: None,
        stuck_s: None,
    };
    let stuck = Row { sojourn_s: None, sent_pps: Some(0.0), stuck_s: Some(7.0), ..row.clone() };
    let alarm = Alarm {
        phy: "phy0".to_owned(),
        interface: "wlan0".to_owned(),
        station: "02:00:00:00:02:00".to_owned(),
        category: Category::Voice,
        stuck_s: 7.0,
        since_s: 93.0,
        backlog_packets: 50,
        share_of_limit: Some(0.5),
        others_wait: vec!["02:00:00:00:01:00".to_owned()],
    };
    Report { at_s: 100.0, queues: vec![row, stuck], alarms: vec![alarm] }
}

#[test]
fn people_read_what_waits_for_how_long_and_who_is_stuck() {
    let text = table::text(&report());
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[1].contains("250.0 ms") && lines[1].contains("400"), "{text}");
    assert!(lines[2].contains(">7.0 s"), "{text}");
    let alarm = lines[3];
    for words in ["02:00:00:00:02:00", "voice", "7 s", "50 %", "meanwhile wait 02:00:00:00:01:00"] {
        assert!(alarm.contains(words), "{words}: {alarm}");
    }
    let nothing = Report { at_s: 0.0, queues: vec![], alarms: vec![] };
    assert!(table::text(&nothing).contains("airqueued places"));
}

#[test]
fn prometheus_reads_each_figure_with_its_labels() {
    let text = prometheus::text(&report());
    let at = r#"phy="phy0",interface="wlan\"0",station="02:00:00:00:01:00",category="best effort""#;
    assert!(text.contains(&format!("airqueue_station_sojourn_seconds{{{at}}} 0.25\n")), "{text}");
    assert!(text.contains("airqueue_station_stuck_seconds{phy=\"phy0\""), "{text}");
    // What is not known is absent, and every family has its head once.
    assert!(!text.contains("airqueue_station_airtime_ratio{"), "{text}");
    let heads = text.lines().filter(|line| line.starts_with("# TYPE")).count();
    assert_eq!(heads, 5);
}

#[test]
fn a_file_is_written_whole_or_stays() {
    let folder = Folder::new("watch");
    let path = folder.path().join("a.prom");
    prometheus::whole(&path, "first").unwrap();
    prometheus::whole(&path, "second").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    assert!(prometheus::whole(&folder.path().join("absent/a.prom"), "x").is_err());
}
