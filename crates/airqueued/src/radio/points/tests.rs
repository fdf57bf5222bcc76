//! Without a radio: what control points make of a plan's settings, hostapd's answers and files.

use super::*;
use crate::testing::Folder;
use airqueue_control::plan::{Aql, Category, Edca, Set};
use airqueue_control::point::{ControlPoint, PointError};
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

/// A hostapd with two BSSs that agrees to everything until `TERMINATE`; returns what was asked, with the BSS.
fn agree(folder: &std::path::Path) -> Vec<thread::JoinHandle<Vec<String>>> {
    let bss = ["wlan0", "guests"];
    let listen = |name: &'static str| {
        let socket = UnixDatagram::bind(folder.join(name)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        thread::spawn(move || {
            let mut asked = Vec::new();
            let mut bytes = [0; 256];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                let command = String::from_utf8_lossy(&bytes[..length]).into_owned();
                let answer = match command.as_str() {
                    "TERMINATE" => break,
                    "PING" => "PONG\n",
                    "STATUS" => "state=ENABLED\nbss[0]=wlan0\nbss[1]=guests\n",
                    _ => "OK\n",
                };
                asked.push(command);
                socket.send_to_addr(answer.as_bytes(), &from).unwrap();
            }
            asked
        })
    };
    bss.map(listen).into()
}

fn terminate(folder: &std::path::Path) {
    let end = UnixDatagram::unbound().unwrap();
    for name in ["wlan0", "guests"] {
        end.send_to(b"TERMINATE", folder.join(name)).unwrap();
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

fn edca(folder: &std::path::Path) -> Set {
    Set::Edca(Edca {
        interface: "wlan0".to_owned(),
        control: Some(folder.to_str().unwrap().to_owned()),
        access_category: Category::BestEffort,
        aifsn: Some(2),
        cw_min: None,
        cw_max: Some(63),
        txop_us: None,
    })
}

#[test]
fn what_a_plan_leaves_out_stays_and_every_bss_announces() {
    let folder = Folder::new("edca-point");
    let configuration = "interface=wlan0\nwmm_ac_be_cwmin=3\nwmm_ac_be_txop_limit=32\n";
    std::fs::write(folder.path().join("hostapd.conf"), configuration).unwrap();
    let hostapd = agree(folder.path());
    let mut point = EdcaPoint::with_configurations(vec![folder.path().to_owned()]);
    let set = edca(folder.path());
    let now = point.read(&set, None).unwrap();
    assert!(
        now.words.starts_with("AIFSN 3, CWmin 7, CWmax 1023, TXOP 1024 us (from /"),
        "{}",
        now.words
    );
    let aim = point.aim(&set, &now, &now).unwrap();
    assert_eq!(aim.value.words, "AIFSN 2, CWmin 7, CWmax 63, TXOP 1024 us");
    assert_eq!(aim.interrupts, None, "stations stay");
    point.put(&set, &aim.value).unwrap();
    assert!(!point.tells());
    assert!(point.read(&set, Some(&aim.value)).is_ok());
    terminate(folder.path());
    let mut asked = hostapd.into_iter().map(|each| each.join().unwrap());
    let (first, second) = (asked.next().unwrap(), asked.next().unwrap());
    let changes = [
        "SET wmm_ac_be_aifs 2",
        "SET wmm_ac_be_cwmin 3",
        "SET wmm_ac_be_cwmax 6",
        "SET wmm_ac_be_txop_limit 32",
        "STATUS",
        "UPDATE_BEACON",
    ];
    assert_eq!(first, [&["PING"], &changes[..], &["PING"]].concat());
    let counted = ["SET wmm_ac_be_aifs 2", "UPDATE_BEACON"];
    assert_eq!(second, counted, "the other BSS of the radio has a beacon and a count of its own");

    // A hostapd that is started anew announces its configuration: nothing of ours is there any more.
    let another = agree(folder.path());
    assert!(matches!(point.read(&set, Some(&aim.value)), Err(PointError::Gone(_))));
    terminate(folder.path());
    for each in another {
        each.join().unwrap();
    }
    // No hostapd at all.
    let said = point.read(&set, None).unwrap_err().to_string();
    assert!(said.contains("cannot reach hostapd"), "{said}");
}

#[test]
fn windows_that_a_plan_turns_round_are_refused() {
    let folder = Folder::new("edca-turned");
    std::fs::write(folder.path().join("hostapd.conf"), "interface=wlan0\nwmm_ac_be_cwmin=9\n")
        .unwrap();
    let hostapd = agree(folder.path());
    let mut point = EdcaPoint::with_configurations(vec![folder.path().to_owned()]);
    let set = edca(folder.path());
    let now = point.read(&set, None).unwrap();
    let said = point.aim(&set, &now, &now).unwrap_err().to_string();
    assert!(said.contains("CWmin of 2^9 - 1 is above CWmax of 2^6 - 1"), "{said}");
    terminate(folder.path());
    for each in hostapd {
        each.join().unwrap();
    }
}

#[test]
fn limits_of_airtime_are_set_read_back_and_put_back() {
    let folder = Folder::new("aql-point");
    let phy = folder.path().join("ieee80211/phy0");
    std::fs::create_dir_all(&phy).unwrap();
    let file = phy.join("aql_txq_limit");
    let text = |be: &str| format!("AC\tlow\thigh\nVO\t1\t2\nVI\t3\t4\nBE\t{be}\nBK\t7\t8\n");
    std::fs::write(&file, text("5\t6")).unwrap();
    std::fs::write(phy.join("aql_threshold"), "24000\n").unwrap();
    let mut point = AqlPoint::below(folder.path());
    let set = Set::Aql(Aql {
        phy: "phy0".to_owned(),
        access_category: Category::BestEffort,
        limit_low_us: 1500,
        limit_high_us: 5000,
    });
    let before = point.read(&set, None).unwrap();
    let aim = point.aim(&set, &before, &before).unwrap();
    assert!(!point.same(&before, &aim.value));
    point.put(&set, &aim.value).unwrap();
    // debugfs takes what one write brings; a file keeps what was behind it.
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("2 1500 5000"));
    // What the kernel would show then.
    std::fs::write(&file, text("1500\t5000")).unwrap();
    assert!(point.same(&point.clone().read(&set, None).unwrap(), &aim.value));
    point.put(&set, &before).unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("2 5 6"));
}

#[test]
fn a_value_of_another_version_is_refused_in_words() {
    let value = Value { words: "100 packets".to_owned(), raw: serde_json::json!({"colour": 3}) };
    let set = Set::Ring(airqueue_control::plan::Ring { interface: "lo".to_owned(), packets: 3 });
    for error in [
        RingPoint.put(&set, &value).unwrap_err(),
        TxqPoint.put(&set, &value).unwrap_err(),
        RingPoint.read(&set, Some(&value)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("another version"), "{error}");
    }
    let said = TxqPoint.read(&set, None).unwrap_err().to_string();
    assert!(said.contains("another control point"), "{said}");
}

#[test]
fn an_interface_without_a_ring_says_so_and_an_absent_one_is_gone() {
    let ring = |name: &str| {
        Set::Ring(airqueue_control::plan::Ring { interface: name.to_owned(), packets: 64 })
    };
    let said = RingPoint.read(&ring("lo"), None).unwrap_err().to_string();
    assert!(said.contains("lo has no ring"), "{said}");
    assert!(matches!(RingPoint.read(&ring("no-such-one"), None), Err(PointError::Gone(_))));
}
