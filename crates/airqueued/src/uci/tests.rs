//! Against a `uci` that answers as the test says and keeps what it was asked, and against the real one where there is one.

use super::*;
use crate::testing::Folder;
use airqueue_control::plan::Plan;
use export::{Section, read};
use proptest::prelude::*;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// As uci 2025-12-02 prints it.
const EXPORTED: &str = "package sqm\n\nconfig queue 'eth1'\n\toption enabled '0'\n\toption download '10'\n\tlist l 'a b'\n\tlist l 'c'\\''d'\n\tlist one 'x'\n\nconfig queue\n\toption a 'x\ny'\n\n";

fn text(text: &str) -> UciValue {
    UciValue::Text(text.to_owned())
}

fn list(list: &[&str]) -> UciValue {
    UciValue::List(list.iter().map(|&text| text.to_owned()).collect())
}

#[test]
fn sections_are_read_as_uci_prints_them() {
    let sections = read(EXPORTED).unwrap();
    let options = [
        ("enabled", text("0")),
        ("download", text("10")),
        ("l", list(&["a b", "c'd"])),
        ("one", list(&["x"])),
    ];
    let options = options.map(|(name, value)| (name.to_owned(), value)).into();
    let section = Section { kind: "queue".to_owned(), options };
    assert_eq!(sections, [("eth1".to_owned(), section)].into());
    assert_eq!(read("").unwrap(), [].into());
    for (wrong, line) in [("colour red", 1), ("config queue 'a'\n\toption b 'c", 2), ("'", 1)] {
        let said = read(wrong).unwrap_err();
        assert!(said.starts_with(&format!("line {line} ")), "{wrong:?}: {said}");
    }
}

proptest! {
    #[test]
    fn no_text_ends_in_a_panic(text in "(config|option|list|package|[ '\n\t\\\\a=]){0,40}") {
        let _ = read(&text);
    }

    /// Written by the rule of `uci_escape`, with whatever is in a text.
    #[test]
    fn every_text_is_read(texts in prop::collection::vec("[a-z' \n\t\\\\]{0,9}", 1..4)) {
        let line = |text: &String| format!("\tlist some '{}'\n", text.replace('\'', "'\\''"));
        let lines: String = texts.iter().map(line).collect();
        let sections = read(&format!("package x\n\nconfig kind 'name'\n{lines}\n")).unwrap();
        prop_assert_eq!(&sections["name"].options["some"], &UciValue::List(texts));
    }
}

/// The setting of a plan, checked.
fn set(uci: serde_json::Value) -> Set {
    let plan = json!({"plan": 1, "made_by": "a test", "settings": [{"why": "a test", "set": {"uci": uci}}]});
    Plan::read(&plan.to_string()).unwrap().settings.remove(0).set
}

fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Programs that write down what they are asked; `uci` exports a file, and tells another one as staged.
fn pretended(folder: &Path) -> UciPoint {
    fs::write(folder.join("exported"), EXPORTED).unwrap();
    fs::write(folder.join("staged"), "").unwrap();
    let at = folder.display();
    let uci = format!(
        "case $1 in export) cat {at}/exported;; changes) cat {at}/staged;; *) echo \"$*\" >>{at}/asked;; esac"
    );
    let told = |name: &str| format!("echo {name} $* >>{at}/asked");
    UciPoint::with(Programs {
        uci: script(folder, "uci", &uci),
        sqm: script(folder, "sqm", &told("sqm")),
        wifi: script(folder, "wifi", &told("wifi")),
    })
}

fn aim(point: &mut UciPoint, set: &Set) -> Result<Aim, PointError> {
    let now = point.read(set, None)?;
    point.aim(set, &now, &now)
}

fn refusal(point: &mut UciPoint, set: &Set) -> String {
    aim(point, set).unwrap_err().to_string()
}

#[test]
fn a_section_is_committed_whole_before_its_program_starts_anew() {
    let folder = Folder::new("uci-asked");
    let mut point = pretended(folder.path());
    let set = set(json!({"config": "sqm", "section": "eth1",
        "options": {"download": "9500", "enabled": null, "l": ["e"], "none": null}}));
    let before = point.read(&set, None).unwrap();
    assert_eq!(before.words, "queue: download '10', enabled '0', l 'a b' 'c'd', no none");
    let aim = aim(&mut point, &set).unwrap();
    assert!(aim.interrupts.unwrap().contains("dropped"));
    point.put(&set, &aim.value).unwrap();
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    let expected = [
        "revert sqm",
        "set sqm.eth1=queue",
        "set sqm.eth1.download=9500",
        "delete sqm.eth1.enabled",
        "delete sqm.eth1.l",
        "add_list sqm.eth1.l=e",
        "commit sqm",
        "sqm restart",
    ];
    assert_eq!(asked.lines().collect::<Vec<_>>(), expected);
    assert!(!point.same(&before, &aim.value));
}

#[test]
fn stations_are_dropped_by_consent_alone_and_changes_of_others_stay() {
    let folder = Folder::new("uci-refused");
    let mut point = pretended(folder.path());
    let radio = |consent: bool| {
        set(json!({"config": "wireless", "section": "eth1", "drops_stations": consent,
            "options": {"download": "11"}}))
    };
    assert!(refusal(&mut point, &radio(false)).contains("\"drops_stations\": true"));
    assert!(aim(&mut point, &radio(true)).unwrap().interrupts.unwrap().contains("stations"));
    let so = set(json!({"config": "wireless", "section": "eth1", "options": {"download": "10"}}));
    assert_eq!(aim(&mut point, &so).unwrap().interrupts, None, "nothing changes");
    fs::write(folder.path().join("staged"), "wireless.eth1.channel='6'\n").unwrap();
    let said = refusal(&mut point, &radio(true));
    assert!(said.contains("nobody has committed (wireless.eth1.channel='6')"), "{said}");
    assert!(!folder.path().join("asked").exists(), "nothing was touched");
}

#[test]
fn sections_that_are_not_there_need_a_type_and_others_keep_theirs() {
    let folder = Folder::new("uci-types");
    let mut point = pretended(folder.path());
    let of = |section: &str, kind: Option<&str>| {
        let mut uci = json!({"config": "sqm", "section": section, "options": {"upload": "1"}});
        if let Some(kind) = kind {
            uci["type"] = kind.into();
        }
        set(uci)
    };
    assert!(refusal(&mut point, &of("wan", None)).contains("give its \"type\""));
    assert!(refusal(&mut point, &of("eth1", Some("shaper"))).contains("is a queue, not a shaper"));
    let made = aim(&mut point, &of("wan", Some("queue"))).unwrap().value;
    assert_eq!(made.words, "queue: upload '1'");
    let said = fs::remove_file(folder.path().join("uci"))
        .map(|()| refusal(&mut point, &of("wan", Some("queue"))));
    assert!(said.unwrap().contains("settings of UCI are for OpenWrt"));
}

#[test]
fn a_program_that_fails_is_named() {
    let folder = Folder::new("uci-fails");
    let mut point = pretended(folder.path());
    let set = set(json!({"config": "sqm", "section": "eth1", "options": {"download": "11"}}));
    let to = aim(&mut point, &set).unwrap().value;
    script(folder.path(), "sqm", "exit 3");
    let said = point.put(&set, &to).unwrap_err().to_string();
    assert!(said.contains("sqm restart` failed (exit status: 3)"), "{said}");
    script(folder.path(), "uci", "echo 'uci: Entry not found' >&2; exit 1");
    let said = point.read(&set, None).unwrap_err();
    assert!(matches!(&said, PointError::Gone(what) if what.contains("Entry not found")), "{said}");
}

/// The real `uci`, which `AIRQUEUE_UCI` names or the PATH has, with files of a test.
fn real(folder: &Path) -> Option<UciPoint> {
    let program = std::env::var("AIRQUEUE_UCI").unwrap_or_else(|_| "uci".to_owned());
    if Command::new(&program).output().is_err() {
        eprintln!("SKIPPED: there is no {program}; AIRQUEUE_UCI can name OpenWrt's uci");
        return None;
    }
    let at = folder.display();
    fs::create_dir_all(folder.join("config")).unwrap();
    let uci = format!("exec {program} -c {at}/config -t {at}/changes \"$@\"");
    let restart = script(folder, "sqm", &format!("echo restart >>{at}/restarts"));
    Some(UciPoint::with(Programs {
        uci: script(folder, "uci", &uci),
        wifi: restart.clone(),
        sqm: restart,
    }))
}

#[test]
fn the_real_uci_takes_values_and_gets_the_old_ones_back() {
    let folder = Folder::new("uci-real");
    let Some(mut point) = real(folder.path()) else { return };
    let file = folder.path().join("config/sqm");
    fs::write(&file, EXPORTED).unwrap();
    point.programs.uci(&["commit", "sqm"]).unwrap();
    let before = point.programs.export(UciConfig::Sqm).unwrap();
    assert_eq!(before, EXPORTED, "the recorded text is what uci prints");
    for uci in [
        json!({"config": "sqm", "section": "eth1", "options":
            {"download": "it's $(id) `id` \"so\"", "enabled": null, "l": ["e"], "one": ["f", "g h"], "new": "1"}}),
        json!({"config": "sqm", "section": "wan", "type": "queue", "options": {"upload": "9500", "l": ["only"]}}),
    ] {
        let set = set(uci);
        let original = point.read(&set, None).unwrap();
        let aim = aim(&mut point, &set).unwrap();
        point.put(&set, &aim.value).unwrap();
        let now = point.read(&set, None).unwrap();
        assert!(point.same(&now, &aim.value), "{} in place of {}", now.words, aim.value.words);
        assert!(fs::read_to_string(&file).unwrap() != EXPORTED, "it is on the disk");
        assert_eq!(point.programs.staged(UciConfig::Sqm).unwrap(), "");
        // A `put` that was killed half-way leaves what it has staged.
        point.programs.uci(&["set", "sqm.eth1.half=1"]).unwrap();
        point.put(&set, &original).unwrap();
        let back = read(&point.programs.export(UciConfig::Sqm).unwrap()).unwrap();
        assert_eq!(back, read(EXPORTED).unwrap());
    }
    let restarts = fs::read_to_string(folder.path().join("restarts")).unwrap();
    assert_eq!(restarts.lines().count(), 4);
}

/// Without cfg80211 the channel of the configuration tells, that of the section's radio.
#[test]
fn a_radio_that_would_be_silent_because_of_radar_is_said_beforehand() {
    let folder = Folder::new("uci-radar");
    let mut point = pretended(folder.path());
    let exported = "package wireless\n\nconfig wifi-device 'radio0'\n\toption band '5g'\n\toption channel '100'\n\toption htmode 'VHT80'\n\nconfig wifi-device 'radio1'\n\toption band '2g'\n\toption channel '100'\n\nconfig wifi-iface 'home'\n\toption device 'radio0'\n\nconfig wifi-iface 'old'\n\toption device 'radio1'\n\n";
    fs::write(folder.path().join("exported"), exported).unwrap();
    let mut says = |section: &str, options: serde_json::Value| {
        let set = set(
            json!({"config": "wireless", "section": section, "options": options, "drops_stations": true}),
        );
        aim(&mut point, &set).unwrap().interrupts.unwrap()
    };
    let silent = "radar has precedence at channel 100 (80 MHz wide): a radio that starts there is silent for 60 s";
    for (section, options) in [("radio0", json!({"tx_burst": "3.0"})), ("home", json!({"x": "1"}))]
    {
        let said = says(section, options);
        assert!(said.starts_with("radios may start anew") && said.contains(silent), "{said}");
    }
    assert!(says("radio0", json!({"channel": "124"})).contains("silent for 10 min"));
    for (section, options) in [
        ("radio0", json!({"channel": "36"})),
        ("radio0", json!({"channel": null})),
        ("radio0", json!({"channel": "auto"})),
        ("radio1", json!({"tx_burst": "3.0"})),
        ("old", json!({"x": "1"})),
    ] {
        let said = says(section, options.clone());
        assert!(!said.contains("radar"), "{section} {options}: {said}");
    }
}
