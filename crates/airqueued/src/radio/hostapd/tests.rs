//! Against a hostapd that answers as the test says: late, falsely, too much, or not at all.

use super::*;
use crate::radio::edca::CATEGORIES;
use crate::testing::Folder;
use configuration::{announced_by, find, is_first, names, own_by, own_default};
use proptest::prelude::*;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Listens as hostapd does, answers each command with the datagrams that `answers` returns, and returns the commands
/// once one of them has no answer.
fn pretend(
    folder: &Path,
    answers: impl Fn(&str) -> Vec<Vec<u8>> + Send + 'static,
) -> JoinHandle<Vec<String>> {
    let socket = UnixDatagram::bind(folder.join("wlan0")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    thread::spawn(move || {
        let mut commands = Vec::new();
        let mut bytes = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            commands.push(String::from_utf8_lossy(&bytes[..length]).into_owned());
            let all = answers(commands.last().unwrap());
            let is_last = all.is_empty();
            for answer in all {
                let _ = socket.send_to_addr(&answer, &from);
            }
            if is_last {
                break;
            }
        }
        commands
    })
}

fn open(folder: &Path) -> Hostapd {
    Hostapd::open_patiently(folder, "wlan0", Duration::from_secs(5)).unwrap()
}

const FASTER: Parameters = Parameters { aifsn: 2, ecw_min: 3, ecw_max: 5, txop_32us: 94 };

#[test]
fn parameters_are_set_one_by_one_and_announced() {
    let folder = Folder::new("announce");
    let other = pretend(folder.path(), |command| match command {
        "PING" => vec![b"PONG\n".to_vec()],
        "RELOAD" => vec![],
        _ => vec![b"<3>WPS-PBC-ACTIVE".to_vec(), b"OK\n".to_vec()],
    });
    let mut hostapd = open(folder.path());
    hostapd.ping().unwrap();
    hostapd.announce(Category::BestEffort, &FASTER).unwrap();
    hostapd.update_beacon().unwrap();
    drop(hostapd);
    let end = UnixDatagram::unbound().unwrap();
    end.send_to(b"RELOAD", folder.path().join("wlan0")).unwrap();
    let expected = [
        "PING",
        "SET wmm_ac_be_aifs 2",
        "SET wmm_ac_be_cwmin 3",
        "SET wmm_ac_be_cwmax 5",
        "SET wmm_ac_be_txop_limit 94",
        "UPDATE_BEACON",
        "RELOAD",
    ];
    assert_eq!(other.join().unwrap(), expected);
}

#[test]
fn what_hostapd_refuses_is_an_error_with_its_words() {
    let folder = Folder::new("refuses");
    let other = pretend(folder.path(), |command| match command {
        "RELOAD" => vec![],
        _ => vec![b"FAIL\x1b[2J\n".to_vec()],
    });
    let mut hostapd = open(folder.path());
    let said = hostapd.update_beacon().unwrap_err().to_string();
    assert!(said.contains("UPDATE_BEACON") && said.contains("FAIL"), "{said}");
    assert!(!said.contains('\x1b'), "an answer does not act on the terminal: {said}");
    // Nothing is sent for values that no beacon can say.
    let wide = Parameters { ecw_max: 16, ..FASTER };
    assert!(matches!(hostapd.announce(Category::Voice, &wide), Err(RadioError::Value(_))));
    assert!(matches!(hostapd.request("PING\nRELOAD"), Err(RadioError::Value(_))));
    let mut impatient =
        Hostapd::open_patiently(folder.path(), "wlan0", Duration::from_millis(100)).unwrap();
    assert!(matches!(impatient.request("RELOAD"), Err(RadioError::Silent { .. })));
    assert_eq!(other.join().unwrap(), ["UPDATE_BEACON", "RELOAD"]);
}

#[test]
fn an_answer_that_comes_too_late_is_not_taken_for_the_next() {
    let folder = Folder::new("late");
    let socket = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
    let mut hostapd =
        Hostapd::open_patiently(folder.path(), "wlan0", Duration::from_millis(100)).unwrap();
    assert!(matches!(hostapd.ping(), Err(RadioError::Silent { .. })));
    let mut bytes = [0; 64];
    let (_, from) = socket.recv_from(&mut bytes).unwrap();
    socket.send_to_addr(b"PONG\n", &from).unwrap();
    assert!(matches!(hostapd.ping(), Err(RadioError::Silent { .. })));
}

#[test]
fn events_without_end_do_not_hold_a_command_up() {
    let folder = Folder::new("events");
    let socket = UnixDatagram::bind(folder.path().join("wlan0")).unwrap();
    let flood = thread::spawn(move || {
        let mut bytes = [0; 64];
        let (_, from) = socket.recv_from(&mut bytes).unwrap();
        while socket.send_to_addr(b"<3>AP-STA-CONNECTED", &from).is_ok() {}
    });
    let mut hostapd =
        Hostapd::open_patiently(folder.path(), "wlan0", Duration::from_millis(200)).unwrap();
    assert!(matches!(hostapd.ping(), Err(RadioError::Silent { .. })));
    drop(hostapd);
    flood.join().unwrap();
}

#[test]
fn an_absent_hostapd_and_a_name_that_leads_elsewhere_are_said() {
    let folder = Folder::new("absent");
    let said = Hostapd::open(folder.path(), "wlan0").unwrap_err().to_string();
    assert!(said.contains("ctrl_interface"), "{said}");
    for name in ["", ".", "..", "../wlan0", "a/b", "wlan 0", "a-name-that-is-too-long"] {
        assert!(
            matches!(Hostapd::open(folder.path(), name), Err(RadioError::Value(_))),
            "{name:?}"
        );
    }
}

#[test]
fn the_bss_of_a_radio_are_read_from_its_status() {
    let status = "state=ENABLED\nfreq=2412\nbss[0]=wlan0\nbssid[0]=02:00:00:00:00:00\nssid[0]=a=b\nbss[1]=wlan0-1\n";
    assert_eq!(About::read(status).bss_names, ["wlan0", "wlan0-1"]);
}

#[test]
fn stations_have_heard_a_beacon_once_the_longest_sleep_is_over() {
    let wait = |status: &str| About::read(status).heard_within();
    // hostapd's defaults: 100 TU of 1.024 ms, and stations wake for every second beacon.
    assert_eq!(wait("state=ENABLED"), Duration::from_micros(307_200));
    assert_eq!(wait("beacon_int=50\ndtim_period=1\n"), Duration::from_micros(102_400));
    for rare in
        ["beacon_int=65535\ndtim_period=255", "beacon_int=4294967295\ndtim_period=4294967295"]
    {
        assert!(wait(rare) < Duration::from_secs(1), "{rare}");
    }
}

const CONFIGURATION: &str = "\
#interface=wlan9
interface=wlan0
bss=guests
wmm_ac_be_aifs=4
wmm_ac_be_cwmin=4
wmm_ac_be_cwmax=8
wmm_ac_be_txop_limit=32
wmm_ac_vo_cwmin=nonsense
tx_queue_data2_aifs=2
tx_queue_data2_cwmin=7
tx_queue_data2_cwmax=31
tx_queue_data2_burst=3.0
wmm_ac_be_aifs=5
";

#[test]
fn a_configuration_says_what_is_announced_and_what_is_used() {
    assert!(names(CONFIGURATION, "wlan0") && names(CONFIGURATION, "guests"));
    assert!(!names(CONFIGURATION, "wlan9") && !names(CONFIGURATION, "wlan"));
    assert!(is_first(CONFIGURATION, "wlan0") && !is_first(CONFIGURATION, "guests"));
    let announced = announced_by(CONFIGURATION, Category::BestEffort);
    let expected = Parameters { aifsn: 5, ecw_min: 4, ecw_max: 8, txop_32us: 32 };
    assert_eq!(announced, expected);
    let voice = announced_by(CONFIGURATION, Category::Voice);
    assert_eq!(voice, Parameters::default_of(Category::Voice));
    // hostapd: 3.0 ms are 94 units of 32 us.
    let own = own_by(CONFIGURATION, Category::BestEffort);
    assert_eq!(own, Parameters { aifsn: 2, ecw_min: 3, ecw_max: 5, txop_32us: 94 });
    assert_eq!(own_by(CONFIGURATION, Category::Video), own_default(Category::Video));
}

#[test]
fn the_configuration_of_an_interface_is_found_in_folders() {
    let folder = Folder::new("found");
    std::fs::write(folder.path().join("hostapd-a.conf"), "interface=wlan1\n").unwrap();
    std::fs::write(folder.path().join("hostapd-b.conf"), CONFIGURATION).unwrap();
    std::fs::write(folder.path().join("other.conf"), "interface=wlan2\n").unwrap();
    let folders = [folder.path().join("absent"), folder.path().to_owned()];
    let (path, text) = find("wlan0", &folders).unwrap();
    assert_eq!((path, text.as_str()), (folder.path().join("hostapd-b.conf"), CONFIGURATION));
    assert!(find("wlan2", &folders).is_none());
}

proptest! {
    /// Whatever hostapd answers, nobody waits long for it; a status that is damaged is read as far as it is whole.
    #[test]
    fn no_status_panics_or_makes_anybody_wait(
        lines in prop::collection::vec("(beacon_int|dtim_period|bss\\[[0-9]{0,3}\\]|.{0,8})=(-?[0-9]{0,12}|.{0,20})", 0..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        random in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut damaged = format!("state=ENABLED\nbeacon_int=100\ndtim_period=2\n{}\n", lines.join("\n")).into_bytes();
        for (index, byte) in changes {
            let at = index.index(damaged.len());
            damaged[at] = byte;
        }
        for bytes in [damaged, random] {
            let text = String::from_utf8_lossy(&bytes);
            let about = About::read(&text);
            prop_assert!(about.heard_within() < Duration::from_secs(1));
            prop_assert!(about.bss_names.len() <= text.lines().count());
        }
    }

    #[test]
    fn no_configuration_panics(text in "(wmm_ac_be_(aifs|cwmin)=[0-9]{0,7}\n|tx_queue_data2_(cwmin|burst)=[-0-9.e]{0,9}\n|.{0,20}\n){0,8}") {
        for category in CATEGORIES {
            announced_by(&text, category);
            own_by(&text, category);
        }
    }

    #[test]
    fn windows_are_one_less_than_a_power_of_two(ecw in 0..=15_u8) {
        let parameters = Parameters { ecw_min: ecw, ecw_max: ecw, ..FASTER };
        prop_assert!(parameters.check().is_ok());
        prop_assert_eq!(u32::from(parameters.cw_min()) + 1, 1 << ecw);
        let text = format!("tx_queue_data2_cwmin={}\n", parameters.cw_min());
        prop_assert_eq!(own_by(&text, Category::BestEffort).ecw_min, ecw);
    }
}
