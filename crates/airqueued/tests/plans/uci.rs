//! Plans on OpenWrt's configuration with the real `uci`, and `wifi` pretended: guarded as every other setting.

use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A guard has everything back within this time, also where many tests run at once.
const PATIENCE: Duration = Duration::from_secs(60);
const WIRELESS: &str = "package wireless\n\nconfig wifi-device 'radio0'\n\toption channel '6'\n\tlist hostapd_options 'wmm_ac_be_aifs=3'\n\n";

struct Router {
    folder: PathBuf,
}

impl Drop for Router {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Router {
    /// None, with the reason printed, where there is no `uci`.
    fn new(name: &str) -> Option<Router> {
        let real = std::env::var("AIRQUEUE_UCI").unwrap_or_else(|_| "uci".to_owned());
        if Command::new(&real).output().is_err() {
            eprintln!("SKIPPED: there is no {real}; AIRQUEUE_UCI can name OpenWrt's uci");
            return None;
        }
        // Not the folder of temporary files, which may be memory.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("uci-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("config")).unwrap();
        fs::write(folder.join("config/wireless"), WIRELESS).unwrap();
        let router = Router { folder };
        let at = router.folder.display().to_string();
        router.script("uci", &format!("exec {real} -c {at}/config -t {at}/changes \"$@\""));
        router.script("wifi", &format!("echo $* >>{at}/reloads"));
        Some(router)
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn airqueued(&self, arguments: &[&str], state: &Path) -> Output {
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_airqueued"));
        command.args(arguments).arg("--state").arg(state).env("PATH", path).output().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.airqueued(arguments, &self.folder.join("state"))
    }

    fn plan(&self, consent: bool) -> String {
        let set = json!({"uci": {"config": "wireless", "section": "radio0", "drops_stations": consent,
            "options": {"hostapd_options": ["wmm_ac_be_aifs=2", "wmm_ac_be_cwmin=4"], "tx_burst": "2.0"}}});
        let plan =
            json!({"plan": 1, "made_by": "a test", "settings": [{"why": "a test", "set": set}]});
        let path = self.folder.join("plan.json");
        fs::write(&path, plan.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn exported(&self) -> String {
        let output = Command::new(self.folder.join("uci")).args(["export", "wireless"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    fn reloads(&self) -> usize {
        fs::read_to_string(self.folder.join("reloads")).map_or(0, |text| text.lines().count())
    }
}

#[track_caller]
fn ends(output: &Output, code: i32, words: &str) {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&all);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(words), "{words:?} is not in {text}");
}

#[test]
fn a_section_goes_back_unless_it_is_confirmed() {
    let Some(router) = Router::new("back") else { return };
    ends(&router.run(&["apply", &router.plan(false), "--confirm", "9s"]), 3, "drops_stations");
    assert_eq!((router.exported().as_str(), router.reloads()), (WIRELESS, 0));
    let plan = router.plan(true);
    ends(&router.run(&["apply", &plan, "--dry-run"]), 0, "stations may lose");
    ends(&router.run(&["apply", &plan, "--confirm", "1s"]), 0, "goes back in 1 s");
    let until = Instant::now() + PATIENCE;
    while router.reloads() < 2 || router.exported() != WIRELESS {
        assert!(Instant::now() < until, "{}", router.exported());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_confirmed_section_stays_until_it_is_restored() {
    let Some(router) = Router::new("stays") else { return };
    ends(&router.run(&["apply", &router.plan(true), "--confirm", "60s"]), 0, "goes back in 60 s");
    ends(&router.run(&["confirm"]), 0, "Confirmed");
    let set = router.exported();
    for words in
        ["list hostapd_options 'wmm_ac_be_cwmin=4'", "option tx_burst '2.0'", "channel '6'"]
    {
        assert!(set.contains(words), "{words}: {set}");
    }
    ends(&router.run(&["restore"]), 0, "as it was before");
    assert_eq!((router.exported().as_str(), router.reloads()), (WIRELESS, 2));
}

#[test]
fn a_journal_in_memory_is_refused() {
    let Some(router) = Router::new("memory") else { return };
    let memory = Path::new("/dev/shm").join(format!("airqueued-test-{}", std::process::id()));
    if fs::create_dir(&memory).is_err() {
        eprintln!("SKIPPED: there is no /dev/shm");
        return;
    }
    let done = router.airqueued(&["apply", &router.plan(true), "--confirm", "60s"], &memory);
    let _ = fs::remove_dir_all(&memory);
    ends(&done, 3, "stays when the machine restarts");
    assert_eq!(router.exported(), WIRELESS);
}
