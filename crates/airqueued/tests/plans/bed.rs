//! A network namespace with two interfaces, and `airqueued` as a user runs it there.

use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A surviving guard has everything back within this time.
pub const GUARDED: Duration = Duration::from_secs(5);
/// Where many tests run at once, processes wait for a processor.
pub const PATIENCE: Duration = Duration::from_secs(60);

static BEDS: AtomicU32 = AtomicU32::new(0);

/// A namespace of its own, kept by a process that sleeps, and a directory.
pub struct Bed {
    holder: Child,
    user: bool,
    folder: PathBuf,
}

impl Bed {
    /// None, with the reason printed, where neither root nor a user namespace is to be had.
    pub fn new() -> Option<Bed> {
        for user in [false, true] {
            if let Some(bed) = Bed::try_new(user) {
                return Some(bed);
            }
        }
        eprintln!(
            "SKIPPED: no network namespace; run as root, or allow user namespaces (and install iproute2)"
        );
        None
    }

    fn try_new(user: bool) -> Option<Bed> {
        let number = BEDS.fetch_add(1, Ordering::Relaxed);
        let name = format!("airqueued-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut unshare = Command::new("unshare");
        unshare.args(if user { &["--user", "--map-root-user", "--net"][..] } else { &["--net"] });
        let holder = unshare.args(["sleep", "1000"]).stderr(Stdio::null()).spawn().ok()?;
        let bed = Bed { holder, user, folder };
        bed.await_namespace()?;
        let made = bed.inside(
            "ip",
            &["link", "add", "va", "numtxqueues", "2", "type", "veth", "peer", "name", "vb"],
        );
        // Or the kernel itself would send packets, such as router solicitations seconds later, which a full queue drops.
        let silent = ["va", "vb"].map(|device| format!("net.ipv6.conf.{device}.disable_ipv6=1"));
        bed.inside("sysctl", &["-qew", &silent[0], &silent[1]]);
        let up = |device| bed.inside("ip", &["link", "set", device, "up"]).status.success();
        (made.status.success() && up("va") && up("vb")).then_some(bed)
    }

    /// Waits until the holder is in its namespace.
    fn await_namespace(&self) -> Option<()> {
        let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
        let pid = self.holder.id().to_string();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if of(&pid).is_some_and(|namespace| Some(namespace) != of("self")) {
                return Some(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// The process that keeps the namespace.
    pub fn process(&self) -> u32 {
        self.holder.id()
    }

    /// A command inside the namespace.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.holder.id())).arg("--net");
        if self.user {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg(program);
        command
    }

    pub fn inside(&self, program: &str, arguments: &[&str]) -> Output {
        let output = self.command(program).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        output
    }

    /// Runs a command of tc, given as one line.
    pub fn tc(&self, line: &str) {
        let output = self.inside("tc", &line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "tc {line}: {output:?}");
    }

    /// Runs a command of ip, given as one line.
    pub fn ip(&self, line: &str) {
        let output = self.inside("ip", &line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "ip {line}: {output:?}");
    }

    /// Sends UDP packets with so many bytes of payload out of `va`, to nobody.
    pub fn send(&self, packets: u32, bytes: u32) {
        self.ip("address replace 10.9.0.1/24 dev va");
        self.ip("neighbour replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev va");
        let burst = format!(
            "import socket\nend = socket.socket(type=socket.SOCK_DGRAM)\n\
             for _ in range({packets}): end.sendto(bytes({bytes}), ('10.9.0.2', 9))"
        );
        assert!(self.inside("python3", &["-c", &burst]).status.success());
    }

    /// Whether the kernel has a discipline.
    pub fn has(&self, kind: &str) -> bool {
        let there =
            self.inside("tc", &["qdisc", "add", "dev", "lo", "root", kind]).status.success();
        if there {
            self.tc("qdisc delete dev lo root");
        }
        there
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub fn plan_file(&self) -> PathBuf {
        self.folder.join("plan.json")
    }

    /// Writes a plan of queues: `(interface, queue)`.
    pub fn plan(&self, queues: &[(&str, Value)]) -> PathBuf {
        let setting = |(interface, queue): &(&str, Value)| {
            let set = json!({"queue": {"interface": interface, "queue": queue}});
            json!({"why": "a test", "set": set})
        };
        let settings: Vec<Value> = queues.iter().map(setting).collect();
        let plan = json!({"plan": 1, "made_by": "a test", "settings": settings});
        std::fs::write(self.plan_file(), plan.to_string()).unwrap();
        self.plan_file()
    }

    /// `airqueued` with arguments, not yet started.
    pub fn airqueued(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_airqueued"));
        command.args(arguments).arg("--state").arg(self.state());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Done {
        Done::of(self.airqueued(arguments).output().unwrap())
    }

    pub fn apply(&self, plan: &Path, confirm: &str) -> Done {
        self.run(&["apply", plan.to_str().unwrap(), "--confirm", confirm])
    }

    /// What tc tells about disciplines or classes of an interface. Counters are left out, and users of a discipline.
    fn told(&self, what: &str, interface: &str) -> String {
        let output = self.inside("tc", &[what, "show", "dev", interface]);
        let text = String::from_utf8(output.stdout).unwrap();
        let line = |line: &str| line.split("refcnt").next().unwrap().to_owned() + rest(line);
        let mut lines: Vec<String> = text.lines().map(line).collect();
        lines.sort();
        lines.join("\n")
    }

    /// All that tc tells about an interface.
    pub fn shown(&self, interface: &str) -> String {
        format!("{}\n\n{}", self.disciplines(interface), self.told("class", interface))
    }

    /// The disciplines of an interface at one moment.
    pub fn disciplines(&self, interface: &str) -> String {
        self.told("qdisc", interface)
    }

    /// Both interfaces.
    pub fn both(&self) -> [String; 2] {
        [self.shown("va"), self.shown("vb")]
    }

    /// The journal's state as `status` tells it.
    pub fn status(&self) -> Value {
        let done = self.run(&["status", "--json"]);
        serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"))
    }

    /// Processes that guard here, with their parents.
    pub fn guards(&self) -> Vec<(i32, i32)> {
        let Ok(state) = self.state().canonicalize() else { return Vec::new() };
        let mut guards = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<_> = line.split(|byte| *byte == 0).collect();
            let is_guard = words.contains(&b"guard".as_slice());
            if is_guard && words.contains(&state.as_os_str().as_encoded_bytes()) {
                let about = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                let after = about.rsplit(") ").next().unwrap_or_default();
                guards
                    .push((pid, after.split(' ').nth(1).and_then(|p| p.parse().ok()).unwrap_or(0)));
            }
        }
        guards
    }

    /// The guard at its post: the one whose parent is no guard.
    pub fn guard(&self) -> Option<i32> {
        let guards = self.guards();
        let parents: Vec<i32> = guards.iter().map(|(pid, _)| *pid).collect();
        guards.iter().find(|(_, parent)| !parents.contains(parent)).map(|(pid, _)| *pid)
    }

    /// Waits until nothing is under way any more. Returns how long it took.
    pub fn settled(&self) -> Duration {
        self.until("nothing under way", PATIENCE, || {
            let state = self.status()["state"].as_str().unwrap().to_owned();
            state == "nothing of ours" || state == "confirmed"
        })
    }

    pub fn until(&self, what: &str, limit: Duration, holds: impl Fn() -> bool) -> Duration {
        let began = Instant::now();
        while !holds() {
            let journal = std::fs::read_to_string(self.state().join("journal.json"));
            assert!(began.elapsed() < limit, "not within {limit:?}: {what}; {journal:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        began.elapsed()
    }
}

/// What follows the count of users of a discipline in tc's line, counters left out.
fn rest(line: &str) -> &str {
    let after = line.split_once("refcnt ").map_or("", |(_, after)| after);
    let after = after.find(' ').map_or("", |end| &after[end..]);
    after.split("direct_packets_stat").next().unwrap()
}

impl Drop for Bed {
    fn drop(&mut self) {
        for (pid, _) in self.guards() {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A finished command.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    fn of(output: Output) -> Done {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let done = Done {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!done.stderr.contains("panicked"), "{done:?}");
        done
    }

    /// The command's end with this exit code; `words` are in what it printed.
    pub fn ends(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stdout.contains(words) || self.stderr.contains(words), "{words}: {self:?}");
    }
}

/// Two queues that the host's kernel has, one for each interface.
pub fn two_queues(packets: u32) -> [(&'static str, Value); 2] {
    [
        (
            "va",
            json!({"shaped": {"rate_bps": 8_000_000, "below": {"fifo": {"limit_packets": packets}}}}),
        ),
        ("vb", json!({"fifo": {"limit_bytes": 1600 * packets}})),
    ]
}

/// A command in a process group of its own, so that a signal to it does not reach the test.
pub fn apart(mut command: Command) -> Child {
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
