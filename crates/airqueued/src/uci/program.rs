//! OpenWrt's programs: `uci`, and those that act on what it has written.

use airqueue_control::plan::UciConfig;
use airqueue_control::point::PointError;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take to read its configuration anew.
const LONGEST_RELOAD: Duration = Duration::from_secs(30);
/// How often is looked whether it has ended.
const GLANCE: Duration = Duration::from_millis(20);

/// The programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `uci`.
    pub uci: PathBuf,
    /// The service of sqm-scripts, which takes `restart`.
    pub sqm: PathBuf,
    /// netifd's `wifi`, which takes `reload`.
    pub wifi: PathBuf,
}

impl Default for Programs {
    fn default() -> Self {
        Self { uci: "uci".into(), sqm: "/etc/init.d/sqm".into(), wifi: "wifi".into() }
    }
}

impl Programs {
    /// A configuration as `uci export` prints it, with what is staged.
    pub(super) fn export(&self, config: UciConfig) -> Result<String, PointError> {
        let output = self.run(&["export", config.name()])?;
        if !output.status.success() {
            let name = config.name();
            return Err(PointError::Gone(format!(
                "`uci export {name}` tells nothing ({}): there must be a file /etc/config/{name}",
                complaint(&output)
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// What is set and not committed, a line each.
    pub(super) fn staged(&self, config: UciConfig) -> Result<String, PointError> {
        let output = self.well(&["changes", config.name()])?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A command of `uci` that prints nothing.
    pub(super) fn uci(&self, arguments: &[&str]) -> Result<(), PointError> {
        self.well(arguments).map(|_| ())
    }

    /// Has the program that a configuration is for read it.
    pub(super) fn reload(&self, config: UciConfig) -> Result<(), PointError> {
        let (program, word) = match config {
            UciConfig::Sqm => (&self.sqm, "restart"),
            UciConfig::Wireless => (&self.wifi, "reload"),
        };
        let shown = format!("`{} {word}`", program.display());
        let failed = |what: String| Err(PointError::Refused(format!("{shown} {what}")));
        let mut command = Command::new(program);
        command.arg(word).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = match command.spawn() {
            Err(error) => return failed(format!("cannot be started: {error}")),
            Ok(child) => child,
        };
        let until = Instant::now() + LONGEST_RELOAD;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return failed(format!("failed ({status}); see logread")),
                Err(error) => return failed(format!("cannot be waited for: {error}")),
                Ok(None) if Instant::now() >= until => {
                    let _ = child.kill().and_then(|()| child.wait());
                    return failed(format!("did not end in {} s", LONGEST_RELOAD.as_secs()));
                }
                Ok(None) => std::thread::sleep(GLANCE),
            }
        }
    }

    fn well(&self, arguments: &[&str]) -> Result<Output, PointError> {
        let output = self.run(arguments)?;
        if output.status.success() {
            return Ok(output);
        }
        let words = format!("`uci {}` failed: {}", arguments.join(" "), complaint(&output));
        Err(PointError::Refused(words))
    }

    fn run(&self, arguments: &[&str]) -> Result<Output, PointError> {
        let output = Command::new(&self.uci).args(arguments).stdin(Stdio::null()).output();
        output.map_err(|error| {
            let program = self.uci.display();
            let words = format!("{program} cannot be started: {error}");
            match error.kind() {
                io::ErrorKind::NotFound => {
                    PointError::Refused(format!("{words}; settings of UCI are for OpenWrt"))
                }
                io::ErrorKind::PermissionDenied => {
                    PointError::Denied(format!("{words}; run as root"))
                }
                _ => PointError::Refused(words),
            }
        })
    }
}

/// What a program complained about, in one line.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or_default().trim();
    let line: String = line.chars().filter(|char| !char.is_control()).take(120).collect();
    if line.is_empty() { output.status.to_string() } else { line }
}
