//! A look as a table for people.

use airqueue_control::watch::{Alarm, Report, Row};
use std::fmt::Write;

/// Lines of a table, and a line for each alarm.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    let head = ["interface", "station", "category", "waiting", "for", "sent/s", "drops", "airtime"];
    line(&mut text, &head.map(str::to_owned));
    for row in &report.queues {
        line(&mut text, &cells(row));
    }
    if report.queues.is_empty() {
        text += "no station has a queue that the kernel shows; `airqueued places` says where queues are\n";
    }
    for alarm in &report.alarms {
        let _ = writeln!(text, "{}", sentence(alarm));
    }
    text
}

fn line(text: &mut String, cells: &[String; 8]) {
    let [interface, station, category, waiting, wait, sent, drops, airtime] = cells;
    let _ = writeln!(
        text,
        "{interface:<15} {station:<17} {category:<11} {waiting:>9} {wait:>9} {sent:>9} {drops:>7} {airtime:>7}"
    );
}

fn cells(row: &Row) -> [String; 8] {
    let or_nothing = |found: Option<String>| found.unwrap_or_else(|| "-".to_owned());
    let wait = match (row.stuck_s, row.sojourn_s) {
        (Some(stuck_s), _) => format!(">{stuck_s:.1} s"),
        (None, Some(sojourn_s)) => format!("{:.1} ms", sojourn_s * 1e3),
        (None, None) => "-".to_owned(),
    };
    [
        row.interface.clone(),
        row.station.clone(),
        row.category.words().to_owned(),
        row.backlog_packets.to_string(),
        wait,
        or_nothing(row.sent_pps.map(|pps| format!("{pps:.0}"))),
        row.dropped_packets.to_string(),
        or_nothing(row.airtime_share.map(|share| format!("{:.1} %", share * 100.0))),
    ]
}

fn sentence(alarm: &Alarm) -> String {
    let Alarm { station, interface, category, backlog_packets, .. } = alarm;
    let category = category.words();
    format!(
        "STUCK: {backlog_packets} packets ({category}) for {station} at {interface} {}",
        standstill(alarm)
    )
}

/// For how long packets have stood, how much room they take, and who waits meanwhile: what follows the packets in a sentence.
pub(in crate::commands) fn standstill(alarm: &Alarm) -> String {
    let mut text = format!("have not moved for {:.0} s", alarm.stuck_s);
    if let Some(share) = alarm.share_of_limit {
        let _ = write!(text, ", {:.0} % of what {} may hold", share * 100.0, alarm.phy);
    }
    if !alarm.others_wait.is_empty() {
        let _ = write!(text, "; meanwhile wait {}", alarm.others_wait.join(", "));
    }
    text
}
