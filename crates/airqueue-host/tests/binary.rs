//! `airqueue-endpoint` as a user runs it.
#![allow(clippy::disallowed_methods)]

use airqueue_host::capture_file;
use airqueue_probe::records::{MISSING, RunEnd};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn endpoint() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airqueue-endpoint"));
    command.env_remove("AIRQUEUE_KEY");
    command
}

/// A server of its own; killed when dropped.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut child = endpoint()
            .args(["server", "--bind", "127.0.0.1", "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split_whitespace().nth(3).unwrap();
        let port = address.rsplit(':').next().unwrap().to_owned();
        Server { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A temporary directory.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("airqueue-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("out.aqc")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn client(port: &str, output: &Path) -> Command {
    let mut command = endpoint();
    command.args(["client", "127.0.0.1", "--port", port, "--output"]).arg(output);
    command.args(["--baseline", "200ms", "--drain", "100ms"]);
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn both_directions_leave_a_capture() {
    let (server, place) = (Server::start(&[]), Place::new("both"));
    for direction in ["down", "up"] {
        let mut command = client(&server.port, &place.file());
        command.args(["--direction", direction, "--size", "400", "--rate", "1000"]);
        let output = command.args(["--duration", "400ms", "--sessions", "2"]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let capture = capture_file::read(&place.file()).unwrap();
        let header: serde_json::Value = serde_json::from_str(&capture.header).unwrap();
        assert_eq!(header["direction"], direction);
        assert_eq!(capture.runs.len(), 2);
        for (i, (meta, run)) in capture.runs.iter().enumerate() {
            let meta: serde_json::Value = serde_json::from_str(meta).unwrap();
            assert_eq!((&meta["kind"], &meta["index"]), (&"session".into(), &i.into()));
            assert_eq!(run.end, RunEnd::Complete);
            // 400 of the flood, and 2 x 2 x 4 in the quiet periods.
            assert_eq!(run.records.sent_ns.len(), 400 + 16);
            assert!(run.records.received_ns.iter().all(|t| *t != MISSING));
            assert!(run.records.size_bytes.iter().all(|s| *s == 400));
        }
    }
}

#[test]
fn ctrl_c_writes_what_there_is() {
    let (mut server, place) = (Server::start(&[]), Place::new("interrupt"));
    let mut command = client(&server.port, &place.file());
    let child = command.args(["--rate", "500", "--duration", "60s"]).stdout(Stdio::piped()).spawn();
    let child = child.unwrap();
    std::thread::sleep(Duration::from_secs(4));
    let began = Instant::now();
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(40));
    let capture = capture_file::read(&place.file()).unwrap();
    assert_eq!(capture.runs.len(), 1);
    let run = &capture.runs[0].1;
    assert_eq!(run.end, RunEnd::Cancelled);
    let sent = run.records.sent_ns.iter().filter(|t| **t != MISSING).count();
    assert!((200..5_000).contains(&sent), "{sent}");

    kill(Pid::from_raw(server.child.id() as i32), Signal::SIGINT).unwrap();
    assert!(server.child.wait().unwrap().success(), "the server ends cleanly");
}

#[test]
fn a_key_comes_from_a_file_or_the_environment() {
    let place = Place::new("key");
    let key = place.0.join("key");
    std::fs::write(&key, "a shared secret\n").unwrap();
    let server = Server::start(&["--key-file", key.to_str().unwrap()]);
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = client(&server.port, &place.file());
        command.args(["--rate", "100", "--duration", "100ms", "--timeout", "2s"]);
        change(&mut command);
        command.output().unwrap()
    };
    let known = run(&|c| {
        c.env("AIRQUEUE_KEY", "a shared secret");
    });
    assert!(known.status.success(), "{}", stderr(&known));
    let wrong = run(&|c| {
        c.env("AIRQUEUE_KEY", "another");
    });
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("key"), "{}", stderr(&wrong));
    std::fs::write(&key, "\n").unwrap();
    let empty = run(&|c| {
        c.arg("--key-file").arg(&key);
    });
    assert!(stderr(&empty).contains("is empty"), "{}", stderr(&empty));
}

#[test]
fn errors_are_one_sentence_and_exit_code_1() {
    let place = Place::new("wrong");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let mut nobody = client(&port, &place.file());
    nobody.args(["--rate", "100", "--timeout", "500ms"]);
    let mut taken = endpoint();
    taken.args(["server", "--bind", "127.0.0.1", "--port", &port]);
    for (command, word) in [(&mut nobody, "airqueue server"), (&mut taken, "is taken")] {
        let output = command.output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(word) && text.lines().count() == 1, "{text}");
    }
    assert!(!place.file().exists(), "no capture without a session");
}

#[test]
fn a_full_disk_is_one_sentence() {
    let (server, place) = (Server::start(&[]), Place::new("full"));
    let mut command = client(&server.port, &place.file());
    command.args(["--rate", "2000", "--duration", "500ms", "--sessions", "50"]);
    // SAFETY: setrlimit is async-signal-safe and touches only the child.
    unsafe {
        command.pre_exec(|| {
            let limit = nix::libc::rlimit { rlim_cur: 30_000, rlim_max: 30_000 };
            match nix::libc::setrlimit(nix::libc::RLIMIT_FSIZE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("size limit") && text.lines().count() == 1, "{text}");
    let capture = capture_file::read(&place.file()).unwrap();
    assert!(!capture.torn);
}
