//! On files as the kernel writes them (`aql_txq_limit_read`, `sta_airtime_read`).

use super::*;
use crate::testing::Folder;

struct Tree(Folder);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = Folder::new(name);
        for (path, text) in files {
            let path = root.path().join("ieee80211/phy0").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn phy(&self) -> PhyFolder {
        PhyFolder::new(self.0.path(), "phy0").unwrap()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join("ieee80211/phy0").join(name)).unwrap()
    }
}

const OLD: &str = "AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t12000\nVI\t5001\t\t12001\nBE\t5002\t\t12002\nBK\t5003\t\t12003\n";

#[test]
fn limits_are_read_by_category() {
    for text in [OLD.to_owned(), format!("{OLD}BC/MC\t50000\n")] {
        let tree = Tree::new("read", &[(LIMITS, &text), (THRESHOLD, "24000\n")]);
        let read = tree.phy().read().unwrap().unwrap();
        let lows = read.limits.map(|limit| limit.low_us);
        let highs = read.limits.map(|limit| limit.high_us);
        assert_eq!(lows, [5000, 5001, 5002, 5003]);
        assert_eq!(highs, [12000, 12001, 12002, 12003]);
        assert_eq!(read.threshold_us, 24_000);
    }
}

#[test]
fn a_kernel_without_the_files_has_no_limits() {
    let tree = Tree::new("absent", &[("other", "")]);
    assert_eq!(tree.phy().read().unwrap(), None);
    let limit = AqlLimit { low_us: 1, high_us: 2 };
    let said = tree.phy().set_limit(Category::Voice, limit).unwrap_err().to_string();
    assert!(said.contains("there is no"), "{said}");
    assert!(!tree.0.path().join("ieee80211/phy0").join(LIMITS).exists(), "no file is made");
}

#[test]
fn what_is_written_is_what_the_kernel_scans() {
    let tree = Tree::new("write", &[(LIMITS, ""), (THRESHOLD, "")]);
    let limit = AqlLimit { low_us: 1500, high_us: 5000 };
    tree.phy().set_limit(Category::BestEffort, limit).unwrap();
    // `sscanf(buf, "%u %u %u", &ac, &q_limit_low, &q_limit_high)`; IEEE80211_AC_BE is 2.
    assert_eq!(tree.text(LIMITS), "2 1500 5000");
    tree.phy().set_threshold(12_000).unwrap();
    assert_eq!(tree.text(THRESHOLD), "12000");
    let turned = AqlLimit { low_us: 2, high_us: 1 };
    assert!(matches!(tree.phy().set_limit(Category::Voice, turned), Err(RadioError::Value(_))));
}

#[test]
fn files_that_say_something_else_are_refused_by_name() {
    for (limits, threshold) in [("VO 1 2\n", "1"), (OLD, "many"), ("VO x y\n", "1"), ("", "1")] {
        let tree = Tree::new("unclear", &[(LIMITS, limits), (THRESHOLD, threshold)]);
        let said = tree.phy().read().unwrap_err().to_string();
        assert!(said.contains("aql_"), "{said}");
    }
    for name in ["", ".", "..", "../phy0"] {
        assert!(PhyFolder::new(Path::new("/sys"), name).is_err(), "{name:?}");
    }
}

#[test]
fn the_airtime_of_a_station_is_read() {
    let station = "02:00:00:00:01:00";
    let text = "RX: 12 us\nTX: 3456789012345 us\nWeight: 256\nVirt-T: 1 us\n";
    let name = format!("netdev:wlan0/stations/{station}/airtime");
    let tree = Tree::new("airtime", &[(&name, text)]);
    let expected = Airtime { receive_us: 12, transmit_us: 3_456_789_012_345 };
    assert_eq!(tree.phy().airtime("wlan0", station).unwrap(), Some(expected));
    assert_eq!(tree.phy().airtime("wlan1", station).unwrap(), None);
}
