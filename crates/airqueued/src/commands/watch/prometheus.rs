//! A look in Prometheus' text format, version 0.0.4.

use airqueue_control::plan::Category;
use airqueue_control::watch::{Report, Row};
use std::fmt::Write;

type Figure = (&'static str, &'static str, fn(&Row) -> Option<f64>);

/// Figures of queues: name, help, and value.
const FIGURES: [Figure; 4] = [
    ("backlog_packets", "packets that wait", |row| Some(row.backlog_packets.into())),
    ("sojourn_seconds", "what waits, by the rate at which packets leave", |row| row.sojourn_s),
    ("sent_packets_per_second", "packets that leave", |row| row.sent_pps),
    ("airtime_ratio", "the station's share of the time", |row| row.airtime_share),
];

/// The text of a look.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    for (name, help, value) in FIGURES {
        head(&mut text, name, help);
        for row in &report.queues {
            if let Some(value) = value(row) {
                let at = labels(&row.phy, &row.interface, &row.station, row.category);
                let _ = writeln!(text, "airqueue_station_{name}{at} {value}");
            }
        }
    }
    head(&mut text, "stuck_seconds", "for how long a queue has not drained that is stuck");
    for alarm in &report.alarms {
        let at = labels(&alarm.phy, &alarm.interface, &alarm.station, alarm.category);
        let _ = writeln!(text, "airqueue_station_stuck_seconds{at} {}", alarm.stuck_s);
    }
    text
}

fn head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP airqueue_station_{name} {help}");
    let _ = writeln!(text, "# TYPE airqueue_station_{name} gauge");
}

fn labels(phy: &str, interface: &str, station: &str, category: Category) -> String {
    let all = [
        ("phy", phy),
        ("interface", interface),
        ("station", station),
        ("category", category.words()),
    ];
    let all = all.map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
    format!("{{{}}}", all.join(","))
}

/// Names of interfaces may have these characters.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
