//! Plans whose processes are killed: in the end the whole plan is set, or none of it.

use crate::bed::{Bed, GUARDED, PATIENCE, apart, two_queues};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Kills at random moments; `make bench-kills` has 500 of them.
const KILLS: u64 = 12;

/// System calls that change something outside the process.
const WRITES: [&str; 10] =
    ["openat", "mkdir", "rename", "fsync", "write", "sendto", "flock", "clone3", "clone", "execve"];

/// The states that a plan may have in the end.
struct Ends {
    before: [String; 2],
    after: [String; 2],
}

impl Ends {
    fn of(bed: &Bed) -> Ends {
        let before = bed.both();
        bed.apply(&bed.plan(&two_queues(20)), "60s").ends(0, "Set and read back");
        let after = bed.both();
        bed.run(&["restore"]).ends(0, "as it was before");
        assert_eq!(bed.both(), before);
        bed.until("no guard is left", PATIENCE, || bed.guards().is_empty());
        Ends { before, after }
    }

    /// Each queue is old or new; and in the end all are. Returns whether the plan is there.
    fn check(&self, bed: &Bed, what: &str) -> bool {
        let now = bed.both();
        assert!(now == self.before || now == self.after, "{what}: half old and half new: {now:?}");
        now == self.after
    }

    /// At any moment each queue by itself is old or new. Returns whether one is old and one is new.
    fn check_each(&self, bed: &Bed, what: &str) -> bool {
        // Disciplines and classes are told one after the other, and a guard may act in between.
        let disciplines = |shown: &String| shown.split("\n\n").next().unwrap().to_owned();
        let is_new = |(at, interface): (usize, &str)| {
            let now = bed.disciplines(interface);
            let (old, new) = (disciplines(&self.before[at]), disciplines(&self.after[at]));
            assert!(now == old || now == new, "{what}: neither old nor new: {now}");
            now == new
        };
        is_new((0, "va")) != is_new((1, "vb"))
    }
}

/// strace that kills a process when it makes a system call for the nth time.
fn killer(bed: &Bed, call: &str, nth: u32) -> Command {
    let mut command = bed.command("strace");
    command.arg(format!("--output={}", trace(bed).display()));
    command.args([format!("--trace={call}"), format!("--inject={call}:signal=KILL:when={nth}")]);
    command
}

fn trace(bed: &Bed) -> PathBuf {
    bed.plan_file().with_file_name("trace")
}

/// Whether strace has killed its process.
fn has_killed(bed: &Bed) -> bool {
    std::fs::read_to_string(trace(bed)).unwrap().contains("killed by SIGKILL")
}

/// Runs `airqueued`, killed at the nth call of a kind. Returns whether it was killed.
fn killed_at(bed: &Bed, call: &str, nth: u32, arguments: &[&str]) -> bool {
    let mut command = killer(bed, call, nth);
    command.arg(env!("CARGO_BIN_EXE_airqueued")).args(arguments).arg("--state").arg(bed.state());
    let output = command.stdout(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("strace: invalid"), "{text}");
    has_killed(bed)
}

/// Ctrl-Z half-way would stop the process with the lock, and its guard would wait for it.
#[test]
fn a_terminal_does_not_stop_a_plan_half_way() {
    let Some(scene) = Scene::new().filter(|_| has_strace()) else { return };
    let mut command = scene.bed.command("timeout");
    command.args(["--signal=KILL", "20", "strace", "--output=/dev/null", "--trace=sendto"]);
    command.args(["--inject=sendto:signal=TSTP", env!("CARGO_BIN_EXE_airqueued"), "apply"]);
    command.args([&scene.plan, "--confirm", "60s", "--state"]).arg(scene.bed.state());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(scene.ends.check(&scene.bed, "stopped"));
    scene.restored("stopped");
}

fn has_strace() -> bool {
    let there = Command::new("strace")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("SKIPPED: there is no strace, which kills at system calls; install it");
    }
    there
}

/// A namespace of its own, the ends of the plan in it, and the plan.
struct Scene {
    bed: Bed,
    ends: Ends,
    plan: String,
}

impl Scene {
    fn new() -> Option<Scene> {
        let bed = Bed::new()?;
        let ends = Ends::of(&bed);
        let plan = bed.plan(&two_queues(20)).to_str().unwrap().to_owned();
        Some(Scene { bed, ends, plan })
    }

    fn apply(&self, confirm: &str) {
        self.bed.apply(Path::new(&self.plan), confirm).ends(0, "Set and read back");
    }

    fn restored(&self, what: &str) {
        self.bed.run(&["restore"]).ends(0, "");
        assert_eq!(self.bed.both(), self.ends.before, "{what}");
    }
}

/// For every kind of call: does something that is killed at the first, second, ... call, until it survives. `kill`
/// returns whether it was killed; `parts` beds share the work for a kind of call. Returns how often it was killed.
fn at_every_call(
    calls: &[&'static str],
    parts: u32,
    kill: impl Fn(&Scene, &'static str, u32) -> bool + Sync,
) -> u32 {
    let part = |call: &'static str, first: u32| {
        let scene = Scene::new()?;
        let mut calls =
            (first..).step_by(parts as usize).take_while(|nth| kill(&scene, call, *nth));
        Some(calls.by_ref().count() as u32)
    };
    std::thread::scope(|scope| {
        let part = &part;
        let works = calls.iter().flat_map(|call| (1..=parts).map(move |first| (*call, first)));
        let works: Vec<_> =
            works.map(|(call, first)| scope.spawn(move || part(call, first))).collect();
        works.into_iter().filter_map(|work| work.join().unwrap()).sum()
    })
}

#[test]
fn apply_killed_at_any_write_leaves_all_or_nothing() {
    if !has_strace() || Bed::new().is_none() {
        return;
    }
    let halves = AtomicU32::new(0);
    let kills = at_every_call(&WRITES, 1, |scene, call, nth| {
        let Scene { bed, ends, plan } = scene;
        let killed = killed_at(bed, call, nth, &["apply", plan, "--confirm", "60s"]);
        let what = format!("{call} {nth}");
        halves.fetch_add(ends.check_each(bed, &what).into(), Ordering::Relaxed);
        // The guard takes a plan back that was not whole; a whole one waits to be confirmed.
        let settled = || {
            let state = bed.status()["state"].as_str().unwrap().to_owned();
            state != "applying" && state != "going back"
        };
        let prepared = || bed.guards().is_empty() && bed.both() == ends.before;
        bed.until("all or nothing", PATIENCE, || settled() || prepared());
        ends.check(bed, &what);
        scene.restored(&what);
        killed
    });
    println!("apply was killed at {kills} calls");
    assert!(halves.into_inner() > 0, "no kill of {kills} left the plan half done");
}

#[test]
fn confirm_killed_at_any_write_leaves_the_plan_confirmed_or_waiting() {
    if !has_strace() || Bed::new().is_none() {
        return;
    }
    let confirmed = AtomicU32::new(0);
    let kills = at_every_call(&WRITES, 1, |scene, call, nth| {
        scene.apply("60s");
        let killed = killed_at(&scene.bed, call, nth, &["confirm"]);
        let what = format!("{call} {nth}");
        assert!(scene.ends.check(&scene.bed, &what), "{what}");
        let status = scene.bed.status();
        match status["state"].as_str().unwrap() {
            "confirmed" => drop(confirmed.fetch_add(1, Ordering::Relaxed)),
            state => {
                assert_eq!(state, "waits to be confirmed", "{what}");
                assert_eq!(status["guarded"], true, "{what}");
            }
        }
        scene.restored(&what);
        killed
    });
    println!("confirm was killed at {kills} calls");
    let confirmed = confirmed.into_inner();
    assert!(0 < confirmed && confirmed < kills, "{confirmed} of {kills}");
}

#[test]
fn restore_killed_at_any_write_leaves_all_or_nothing() {
    if !has_strace() || Bed::new().is_none() {
        return;
    }
    let halves = AtomicU32::new(0);
    let kills = at_every_call(&WRITES, 1, |scene, call, nth| {
        let Scene { bed, ends, .. } = scene;
        scene.apply("60s");
        bed.run(&["confirm"]).ends(0, "Confirmed");
        let killed = killed_at(bed, call, nth, &["restore"]);
        let what = format!("{call} {nth}");
        halves.fetch_add(ends.check_each(bed, &what).into(), Ordering::Relaxed);
        // Of a restore that was killed before its first journal nothing is under way.
        let untouched = || bed.both() == ends.after && bed.status()["state"] == "confirmed";
        bed.until("all or nothing", PATIENCE, || bed.both() == ends.before || untouched());
        scene.restored(&what);
        killed
    });
    println!("restore was killed at {kills} calls");
    assert!(halves.into_inner() > 0, "no kill of {kills} left the plan half restored");
}

/// The guard is killed at each of its calls while it takes a plan back, and its successor goes on.
#[test]
fn a_guard_killed_at_any_write_is_replaced() {
    if !has_strace() || Bed::new().is_none() {
        return;
    }
    // Calls that a guard does not make while it waits.
    let kills = at_every_call(&["rename", "fsync", "write", "sendto"], 6, |scene, call, nth| {
        let Scene { bed, ends, .. } = scene;
        scene.apply("1s");
        let mut strace = killer(bed, call, nth);
        strace.arg(format!("--attach={}", bed.guard().unwrap()));
        let mut strace = apart(strace);
        let back = || bed.both() == ends.before;
        bed.until("the plan goes back", Duration::from_secs(1) + PATIENCE, back);
        bed.settled();
        let _ = strace.wait();
        bed.until("no guard is left", PATIENCE, || bed.guards().is_empty());
        assert!(back(), "{call} {nth}");
        has_killed(bed)
    });
    println!("guards were killed at {kills} calls");
    assert!(kills > 10, "only {kills} guards were killed");
}

/// Without any guard the next restore has everything back.
#[test]
fn a_restore_after_everybody_died_succeeds() {
    let Some(scene) = Scene::new().filter(|_| has_strace()) else { return };
    let mut halves = 0;
    for nth in 1.. {
        let killed =
            killed_at(&scene.bed, "sendto", nth, &["apply", &scene.plan, "--confirm", "60s"]);
        kill_all(&scene.bed);
        let what = format!("sendto {nth}");
        halves += u32::from(scene.ends.check_each(&scene.bed, &what));
        scene.restored(&what);
        if !killed {
            break;
        }
    }
    assert!(halves > 0, "no kill left the plan half done");
}

/// Kills guards until there is none: a guard that is killed first is replaced by its successor.
fn kill_all(bed: &Bed) {
    bed.until("all guards are dead", PATIENCE, || {
        let guards = bed.guards();
        for (pid, _) in &guards {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        guards.is_empty()
    });
}

/// Numbers from a seed (splitmix64), so that a campaign can be repeated.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// How long a command takes from its start to its end.
fn duration(bed: &Bed, arguments: &[&str]) -> u64 {
    let began = Instant::now();
    bed.run(arguments);
    began.elapsed().as_micros() as u64
}

/// Starts a command and kills it after a random part of its duration, and its guard as well every other time.
fn kill_within(bed: &Bed, draws: &mut Draws, longest_us: u64, arguments: &[&str]) -> String {
    let pause_us = draws.below(longest_us * 5 / 4);
    let both = draws.below(2) == 0;
    let mut child = apart(bed.airqueued(arguments));
    std::thread::sleep(Duration::from_micros(pause_us));
    if both && let Some(guard) = bed.guard() {
        let _ = kill(Pid::from_raw(guard), Signal::SIGKILL);
    }
    // With everything that it started and that did not leave its group.
    let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    let _ = child.wait();
    format!("{arguments:?} killed after {pause_us} µs{}", if both { ", and its guard" } else { "" })
}

#[test]
fn kills_at_random_moments_leave_all_or_nothing() {
    let Some(bed) = Bed::new() else { return };
    let kills = std::env::var("AIRQUEUE_KILLS").ok().map_or(KILLS, |text| text.parse().unwrap());
    let ends = Ends::of(&bed);
    let plan = bed.plan(&two_queues(20));
    let apply = ["apply", plan.to_str().unwrap(), "--confirm", "60s"];
    let longest =
        [duration(&bed, &apply), duration(&bed, &["confirm"]), duration(&bed, &["restore"])];
    let mut draws = Draws(20_261_125);
    let mut found = [0; 2];
    let mut longest_wait = Duration::ZERO;
    for number in 0..kills {
        let which = (number % 3) as usize;
        let arguments = [&apply[..], &["confirm"], &["restore"]][which];
        if which > 0 {
            bed.apply(&plan, "60s").ends(0, "Set and read back");
        }
        if which > 1 {
            bed.run(&["confirm"]).ends(0, "Confirmed");
        }
        let what = kill_within(&bed, &mut draws, longest[which], arguments);
        let began = Instant::now();
        let whole = || {
            let now = bed.both();
            (now == ends.before || now == ends.after)
                && !matches!(bed.status()["state"].as_str(), Some("going back"))
        };
        longest_wait = longest_wait.max(bed.until(&what, GUARDED, whole));
        // It stays so.
        std::thread::sleep(Duration::from_millis(300));
        found[usize::from(ends.check(&bed, &what))] += 1;
        bed.run(&["restore"]).ends(0, "");
        assert_eq!(bed.both(), ends.before, "{what}");
        assert!(began.elapsed() < GUARDED + Duration::from_secs(2), "{what}");
    }
    let [old, new] = found;
    println!(
        "{kills} kills: {old} plans old and {new} new in the end, at most after {longest_wait:?}"
    );
    assert!(
        kills < 12 || (found[0] > 0 && found[1] > 0),
        "the kills came too early or too late: {found:?}"
    );
}

/// In a mount namespace of its own the state's file system becomes read-only, as ext4's does after an error.
const READ_ONLY: &str = "
$1 apply $2 --confirm 2s --state $3 || exit 100
mount --bind $3 $3 && mount -o remount,ro,bind $3 || exit 101
$1 status --state $3 || exit 102
sleep 5
$1 restore --state $3
";

#[test]
fn a_plan_goes_back_where_the_journal_has_become_read_only() {
    let Some(bed) = Bed::new() else { return };
    let (before, plan, state) = (bed.both(), bed.plan(&two_queues(20)), bed.state());
    let files = [env!("CARGO_BIN_EXE_airqueued"), plan.to_str().unwrap(), state.to_str().unwrap()];
    let words = [&["--mount", "sh", "-c", READ_ONLY, "sh"][..], &files].concat();
    let output = bed.inside("unshare", &words);
    if output.status.code() == Some(101) {
        eprintln!("SKIPPED: no mount in a namespace of its own");
        return;
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("everything was put back, but cannot write"), "{said}");
    assert_eq!(bed.both(), before);
    // It can be written again.
    bed.run(&["restore"]).ends(0, "as it was before");
    bed.settled();
}
