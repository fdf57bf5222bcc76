//! The command line.

use crate::Stop;
use airqueue_core::quantity::Kind;
use airqueue_probe::client::Direction;
use airqueue_probe::limits::Limits;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::io::Read;
use std::net::IpAddr;
use std::path::PathBuf;

/// The default port of both ends.
const PORT: u16 = 5860;
/// Keys come from here or from a file; arguments are visible to every user of a machine.
const KEY_VARIABLE: &str = "AIRQUEUE_KEY";

/// Both ends of an airqueue measurement, without Python.
#[derive(Debug, Parser)]
#[command(name = "airqueue-endpoint", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) role: Role,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// How much the program says, as `airqueue` has it.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct Talk {
    /// Say nothing on stderr but errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Say on stderr what is done
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
    /// Show no progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

const EXAMPLES: &str = "\
Examples:
  airqueue-endpoint server
  airqueue-endpoint server --bind 192.0.2.7 --key-file /etc/airqueue.key --max-rate 200mbit
  airqueue-endpoint client ap-test.example --rate 800 --duration 10s --output down.aqc
  airqueue-endpoint client 2001:db8::7 --direction up --size 750 --rate 1600 --output up.aqc
  airqueue analyze down.aqc

A shared key is read from --key-file or from the environment variable AIRQUEUE_KEY.";

#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Wait for clients, on the wired machine.
    #[command(after_help = SERVER_EXAMPLES)]
    Server(ServerArgs),
    /// Flood the path once between two quiet periods and write a capture.
    #[command(after_help = CLIENT_EXAMPLES)]
    Client(ClientArgs),
}

const SERVER_EXAMPLES: &str = "\
Examples:
  airqueue-endpoint server
  AIRQUEUE_KEY=secret airqueue-endpoint server --bind 192.0.2.7 --port 6000
  airqueue-endpoint server --max-rate 200mbit --max-sessions 2 --max-duration 60s
  airqueue-endpoint server --attend 192.0.2.7";

const CLIENT_EXAMPLES: &str = "\
Examples:
  airqueue-endpoint client 192.0.2.7 --rate 800 --output down.aqc
  airqueue-endpoint client 192.0.2.7 --direction up --size 750 --rate 1600 --sessions 5 --output up.aqc

Choose a rate a third above what the path carries: then its queue fills and stays full.";

#[derive(Debug, ClapArgs)]
pub(crate) struct ServerArgs {
    /// Address to listen on [default: all, IPv6 and IPv4]
    #[arg(long, value_name = "ADDR")]
    pub(crate) bind: Option<IpAddr>,
    /// UDP port
    #[arg(long, default_value_t = PORT)]
    pub(crate) port: u16,
    /// Offer no load by TCP connections, which use the TCP port of the same number
    #[arg(long)]
    pub(crate) no_tcp: bool,
    /// Address of another server: clients may have this host take part in a measurement of several stations with it, and it may
    /// then flood this host. Repeat for several
    #[arg(long, value_name = "ADDR")]
    pub(crate) attend: Vec<IpAddr>,
    /// File with a key that clients must know
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Highest bit rate of all runs together, e.g. 200mbit or 1gbit
    #[arg(long, value_name = "RATE", value_parser = bit_rate)]
    max_rate: Option<u64>,
    /// Highest packet rate of all runs together, packets/s
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_packets: Option<u64>,
    /// Longest run, e.g. 60s
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    max_duration: Option<f64>,
    /// Most sessions at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_sessions: Option<u32>,
    /// Most sessions at a time from one address
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_sessions_per_address: Option<u32>,
}

impl ServerArgs {
    pub(crate) fn key(&self) -> Result<Option<Vec<u8>>, Stop> {
        key(self.key_file.as_ref())
    }

    pub(crate) fn limits(&self) -> Limits {
        let d = Limits::default();
        Limits {
            max_bits_per_s: self.max_rate.unwrap_or(d.max_bits_per_s),
            max_packets_per_s: self.max_packets.unwrap_or(d.max_packets_per_s),
            max_run: self.max_duration.map_or(d.max_run, airqueue_core::Span::from_secs_f64),
            max_sessions: self.max_sessions.unwrap_or(d.max_sessions),
            max_sessions_per_address: self
                .max_sessions_per_address
                .unwrap_or(d.max_sessions_per_address),
            ..d
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ClientArgs {
    /// Name or address of the server's machine
    pub(crate) host: String,
    /// The server's UDP port
    #[arg(long, default_value_t = PORT)]
    pub(crate) port: u16,
    /// down: the server sends; up: this machine sends
    #[arg(long, value_enum, default_value_t = DirectionArg::Down)]
    pub(crate) direction: DirectionArg,
    /// Size of every packet in bytes, IP header included
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(100..=1500))]
    pub(crate) size: u16,
    /// Packets per second of the flood
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rate: f64,
    /// Length of the flood, e.g. 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = seconds)]
    pub(crate) duration: f64,
    /// Length of the quiet periods before and after the flood
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = seconds)]
    pub(crate) baseline: f64,
    /// Packets per second in the quiet periods
    #[arg(long, value_name = "N", default_value = "40", value_parser = positive)]
    pub(crate) baseline_rate: f64,
    /// Time for the queue to drain after the flood
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = seconds)]
    pub(crate) drain: f64,
    /// How often to repeat the whole
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) sessions: u32,
    /// File with the server's key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Capture file to write; an existing one is replaced
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// How long to wait for the server's answer
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    pub(crate) timeout: f64,
}

impl ClientArgs {
    pub(crate) fn key(&self) -> Result<Option<Vec<u8>>, Stop> {
        key(self.key_file.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectionArg {
    Down,
    Up,
}

impl DirectionArg {
    pub(crate) fn direction(self) -> Direction {
        match self {
            DirectionArg::Down => Direction::Down,
            DirectionArg::Up => Direction::Up,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            DirectionArg::Down => "down",
            DirectionArg::Up => "up",
        }
    }
}

fn key(file: Option<&PathBuf>) -> Result<Option<Vec<u8>>, Stop> {
    let bytes = match file {
        Some(path) => read(path).map_err(|e| {
            Stop::Failed(format!("cannot read the key file {}: {e}", path.display()))
        })?,
        None => match std::env::var_os(KEY_VARIABLE) {
            Some(value) => std::os::unix::ffi::OsStringExt::into_vec(value),
            None => return Ok(None),
        },
    };
    // Editors and `echo` end a file with a newline that is not part of the key.
    let key = bytes.trim_ascii_end().to_vec();
    if key.is_empty() {
        let place = file.map_or(KEY_VARIABLE.to_owned(), |path| path.display().to_string());
        return Err(Stop::Failed(format!("the key in {place} is empty: put one there")));
    }
    Ok(Some(key))
}

/// The content of a file; `-` is the standard input.
fn read(path: &std::path::Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match path == std::path::Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        false => std::fs::read(path),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() && value < 1e9 => Ok(value),
        _ => Err("give a positive number".into()),
    }
}

/// Reads `90s`, `500ms` or `2min`, as `airqueue` does.
fn seconds(text: &str) -> Result<f64, String> {
    match Kind::Duration.parse(text)? {
        value if value > 0.0 && value <= 86_400.0 => Ok(value),
        _ => Err("give a time above zero, at most 24h".into()),
    }
}

/// Reads `200mbit` or `1.5 Gb/s`, as `airqueue` does.
fn bit_rate(text: &str) -> Result<u64, String> {
    match Kind::Rate.parse(text)? {
        value if (1.0..=1e12).contains(&value) => Ok(value as u64),
        _ => Err("give a rate from 1bit to 1000gbit".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn rates_carry_units() {
        assert_eq!(bit_rate("200mbit"), Ok(200_000_000));
        assert_eq!(bit_rate("1.5Gbit"), Ok(1_500_000_000));
        assert_eq!(bit_rate("64 kb/s"), Ok(64_000));
        for wrong in ["", "fast", "-1mbit", "nan", "1e30gbit", "0bit"] {
            assert!(bit_rate(wrong).is_err(), "{wrong}");
        }
        assert!(bit_rate("64000").unwrap_err().contains("has no unit"));
    }

    #[test]
    fn times_carry_units() {
        assert_eq!(seconds("400ms"), Ok(0.4));
        assert_eq!(seconds("1 min"), Ok(60.0));
        assert!(seconds("60").unwrap_err().contains("has no unit"));
        for wrong in ["", "0s", "-1s", "25h", "soon"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
