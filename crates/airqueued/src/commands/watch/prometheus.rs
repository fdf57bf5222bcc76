//! A look in Prometheus' text format, version 0.0.4.

use airqueue_control::plan::Category;
use airqueue_control::watch::{Report, Row};
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

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

/// Writes a look's file. The error says what cannot be written, and why.
pub(in crate::commands) fn write(path: &Path, report: &Report) -> Result<(), String> {
    whole(path, &text(report)).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes a file whole: a reader sees the old one or the new one, also if this process dies.
pub(super) fn whole(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    // node_exporter reads files that end in .prom alone.
    name.push(format!(".{}", std::process::id()));
    let begun = path.with_file_name(name);
    let written = fs::write(&begun, text).and_then(|()| fs::rename(&begun, path));
    if written.is_err() {
        let _ = fs::remove_file(&begun);
    }
    written
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
