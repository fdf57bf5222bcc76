//! The command line.

use airqueue_core::Span;
use airqueue_core::quantity::Kind;
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::path::{Path, PathBuf};

/// Where the journal is.
const STATE: &str = "/var/lib/airqueued";
/// Where it is on OpenWrt, whose `/var` is memory: beside the configuration, which plans change.
const OPENWRT_STATE: &str = "/etc/airqueued";
/// The file by which OpenWrt is known.
const OPENWRT: &str = "/etc/openwrt_release";

/// Settings of queues on a Linux machine: applied, confirmed and taken back.
#[derive(Debug, Parser)]
#[command(name = "airqueued", version, after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Without a command: the service.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// How much to say.
    #[command(flatten)]
    pub talk: Talk,
}

/// How much the program says on stderr: the options that all commands of `airqueue` have.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub struct Talk {
    /// Say nothing on stderr but errors; without -v nothing else is said anyway
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Say on stderr what is done
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// Show no progress; there is none
    #[arg(long, global = true)]
    pub no_progress: bool,
}

/// Arguments of the service.
#[derive(Debug, ClapArgs)]
pub struct ServiceArgs {
    /// Apply the plan of this configuration, keep it right until airqueued is stopped, then put everything back
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the journal is, and how to print.
    #[command(flatten)]
    pub state: StateArgs,
}

const HELP: &str = "\
Examples:
  airqueued places
  airqueued apply plan.json --dry-run
  airqueued apply plan.json --confirm 90s
  airqueued confirm
  airqueued restore
  airqueued watch
  airqueued flows wlan0
  airqueued --config /etc/airqueued.toml

Exit codes:
  0  done
  1  the operating system refused something; nothing was changed
  2  wrong arguments
  3  the plan is wrong, or this machine cannot hold it; nothing was changed
  4  not now: another plan waits to be confirmed, or none does
  5  applying failed; everything was put back
  6  some settings could not be put back, or the journal could not be told; the next restore goes on
  7  a queue held more than its limit
  8  a queue did not fill, so that nothing is known

To change settings it needs CAP_NET_ADMIN, and a directory for its journal; to listen to packets CAP_NET_RAW. To look it
needs no rights.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Change settings as a plan says, until it is confirmed
    #[command(after_help = APPLY)]
    Apply(ApplyArgs),
    /// Keep the plan that was applied
    #[command(after_help = CONFIRM)]
    Confirm(StateArgs),
    /// Put everything back as it was before the first plan
    #[command(after_help = RESTORE)]
    Restore(StateArgs),
    /// What plans have set, and what waits to be confirmed
    #[command(after_help = STATUS)]
    Status(StateArgs),
    /// Where the queue of each interface is, what limits it there, and what it cannot hold
    #[command(after_help = PLACES)]
    Places(PrintArgs),
    /// Look whether the queues of a phy or an interface obey their limits
    #[command(after_help = OBEYS)]
    Obeys(ObeysArgs),
    /// Every station's queues, live: what waits, for how long, airtime, drops; which queues do not drain
    #[command(after_help = WATCH)]
    Watch(WatchArgs),
    /// The flows through an interface, live: who sends how much, and how long each end takes to answer
    #[command(after_help = FLOWS)]
    Flows(FlowsArgs),
    /// Take a plan back if its applier dies or nobody confirms it; `apply` starts this
    #[command(hide = true)]
    Guard(StateArgs),
}

const APPLY: &str = "\
Examples:
  airqueued apply plan.json --dry-run
  airqueued apply plan.json --confirm 90s
  airqueued apply plan.json --confirm 90s --look 10s
  airqueued apply - --confirm 5min --json < plan.json

All settings are changed, or none. They go back by themselves unless `airqueued confirm` is given in time: give it over the
network that was changed. They go back as well if airqueued is killed.

A limit counts as applied once the backlog was seen to obey it: --look does that, as `airqueued obeys` does later, with its exit
codes. The plan waits to be confirmed meanwhile, whatever is seen.";

const CONFIRM: &str = "\
Example:
  airqueued apply plan.json --confirm 90s && airqueued confirm";

const RESTORE: &str = "\
Example:
  airqueued restore

What another program has set since stays, and so does what the machine has set after a restart; both are named.";

const STATUS: &str = "\
Examples:
  airqueued status
  airqueued status --json";

const PLACES: &str = "\
Examples:
  airqueued places
  airqueued places --json

It needs no rights. A limit acts only where packets wait: read this before a plan.";

const OBEYS: &str = "\
Examples:
  airqueued obeys phy0 --for 10s
  airqueued obeys eth0 --for 10s --json

Looks at what waits in mac80211's queues of a phy, or in the queue disciplines of an interface (pfifo, pfifo_head_drop, bfifo,
fq_codel, cake), while something fills them, for example a download. Exit code 7 if one held more than its limit, 8 if one did not overflow, so that
nothing is known of it.";

/// Arguments of commands that only print.
#[derive(Debug, ClapArgs)]
pub struct PrintArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `obeys`.
#[derive(Debug, ClapArgs)]
pub struct ObeysArgs {
    /// Name of an interface, as `eth0`, or of a phy, as `phy0`
    #[arg(value_name = "INTERFACE|PHY")]
    pub of: String,
    /// How long to look, e.g. 10s
    #[arg(long = "for", value_name = "TIME", value_parser = wait, default_value = "10s")]
    pub time: Span,
    /// How to print.
    #[command(flatten)]
    pub print: PrintArgs,
}

const WATCH: &str = "\
Examples:
  airqueued watch
  airqueued watch --every 5s --json
  airqueued watch --every 6s --count 2 --last --json
  airqueued watch --every 15s --prometheus /var/lib/node_exporter/airqueued.prom

A queue that has packets and sends none for the time of --stuck-after is an alarm, with the station, since when, and who
waits at the same phy meanwhile: one look alone has no alarm. Kernels show queues of stations where mac80211 has TXQs: see
`airqueued places`.";

/// When commands look that look again and again.
#[derive(Debug, ClapArgs)]
pub struct LooksArgs {
    /// Time between two looks
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "1s")]
    pub every: Span,
    /// End after this number of looks
    #[arg(long, value_name = "LOOKS", value_parser = looks)]
    pub count: Option<u32>,
    /// Print the last look alone
    #[arg(long, requires = "count")]
    pub last: bool,
}

impl LooksArgs {
    /// Whether a look is printed, by its number from 1.
    pub fn shows(&self, number: u32) -> bool {
        !self.last || self.count == Some(number)
    }
}

const FLOWS: &str = "\
Examples:
  airqueued flows wlan0
  airqueued flows br-lan --every 5s --json

Listens to the interface towards the stations, and changes nothing. A round trip has two halves: to the station and back, and
to the far end and back; the far one holds the wait in this interface's queue unless the queue was empty once in the last
minute. It needs CAP_NET_RAW.";

/// Arguments of `flows`.
#[derive(Debug, ClapArgs)]
pub struct FlowsArgs {
    /// Interface towards the stations, as `wlan0`
    pub interface: String,
    /// Print flows that are not active, too
    #[arg(long)]
    pub all: bool,
    /// When to look.
    #[command(flatten)]
    pub looks: LooksArgs,
    /// How to print.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Arguments of `watch`.
#[derive(Debug, ClapArgs)]
pub struct WatchArgs {
    /// When to look.
    #[command(flatten)]
    pub looks: LooksArgs,
    /// A queue that sends nothing for so long is stuck
    #[arg(long, value_name = "TIME", value_parser = wait, default_value = "5s")]
    pub stuck_after: Span,
    /// Also write the figures to this file, as Prometheus reads them
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// How to print.
    #[command(flatten)]
    pub print: PrintArgs,
}

/// Arguments of `apply`.
#[derive(Debug, ClapArgs)]
#[group(id = "how", required = true, multiple = false, args = ["dry_run", "confirm"])]
pub struct ApplyArgs {
    /// The plan, `-` for the standard input
    pub plan: PathBuf,
    /// Say what would change, from what to what and why, and what it would interrupt; change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Change it, and put it back after this time unless it is confirmed, e.g. 90s
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub confirm: Option<Span>,
    /// After the change look so long whether the queues obey their limits, while something fills them; shorter than the
    /// time of --confirm
    #[arg(long, value_name = "TIME", value_parser = wait, conflicts_with = "dry_run")]
    pub look: Option<Span>,
    /// Where the journal is, and how to print.
    #[command(flatten)]
    pub state: StateArgs,
}

/// Arguments of every command.
#[derive(Debug, ClapArgs)]
pub struct StateArgs {
    /// Directory of the journal; /var/lib/airqueued if not given, on OpenWrt /etc/airqueued
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl StateArgs {
    /// The directory of the journal.
    pub fn directory(&self) -> &Path {
        self.state.as_deref().unwrap_or_else(|| usual(Path::new(OPENWRT)))
    }
}

/// The directory where none is given.
fn usual(openwrt: &Path) -> &'static Path {
    Path::new(if openwrt.exists() { OPENWRT_STATE } else { STATE })
}

/// Reads `500ms` or `5s`.
fn interval(text: &str) -> Result<Span, String> {
    match Kind::Duration.parse(text)? {
        seconds if (0.1..=3600.0).contains(&seconds) => Ok(Span::from_secs_f64(seconds)),
        _ => Err("give a time from 100ms to 1h".into()),
    }
}

/// Reads a number of looks.
fn looks(text: &str) -> Result<u32, String> {
    let wrong = || "give a whole number of 1 or more".to_owned();
    text.parse().ok().filter(|&number| number > 0).ok_or_else(wrong)
}

/// Reads `90s` or `5min`.
fn wait(text: &str) -> Result<Span, String> {
    match Kind::Duration.parse(text)? {
        seconds if (1.0..=86_400.0).contains(&seconds) => Ok(Span::from_secs_f64(seconds)),
        _ => Err("give a time from 1s to 24h".into()),
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
    fn a_number_of_looks_is_told_in_words() {
        for given in ["nan", "0", "1.5", "-1"] {
            let line = format!("airqueued watch --count={given}");
            let told = Args::try_parse_from(line.split(' ')).unwrap_err().to_string();
            assert!(told.contains(": give a whole number of 1 or more"), "{told}");
        }
    }

    #[test]
    fn every_command_has_the_options_of_all_commands_of_airqueue() {
        for command in ["--config f", "apply p --dry-run", "places", "flows wlan0", "status"] {
            let line = format!("airqueued {command} -q -v --no-progress");
            let talk = Args::try_parse_from(line.split(' ')).unwrap().talk;
            assert!(talk.quiet && talk.verbose && talk.no_progress, "{line}");
        }
    }

    #[test]
    fn the_journal_is_on_the_flash_of_openwrt() {
        let (is, is_not) = (Path::new("/"), Path::new("/no/such/file"));
        assert_eq!(usual(is), Path::new("/etc/airqueued"));
        assert_eq!(usual(is_not), Path::new("/var/lib/airqueued"));
        let given = Args::try_parse_from(["airqueued", "--config", "f", "--state", "there"]);
        assert_eq!(given.unwrap().service.state.directory(), Path::new("there"));
    }

    #[test]
    fn the_last_look_alone_is_that_of_the_count() {
        let looks = |line: &str| {
            let parsed = Args::try_parse_from(line.split(' ')).ok()?;
            let Some(Command::Watch(WatchArgs { looks, .. })) = parsed.command else { return None };
            Some([1, 2, 3].map(|number| looks.shows(number)))
        };
        assert_eq!(looks("airqueued watch --count 3 --last"), Some([false, false, true]));
        assert_eq!(looks("airqueued watch --count 3"), Some([true; 3]));
        assert_eq!(looks("airqueued watch --last"), None);
    }

    #[test]
    fn a_plan_is_tried_or_applied_with_a_time_to_confirm() {
        let parse = |line: &str| Args::try_parse_from(line.split(' '));
        assert!(parse("airqueued apply p").is_err());
        assert!(parse("airqueued apply p --dry-run --confirm 9s").is_err());
        for wrong in ["9", "0s", "25h", "-1s"] {
            assert!(parse(&format!("airqueued apply p --confirm={wrong}")).is_err(), "{wrong}");
        }
        let Some(Command::Apply(args)) =
            parse("airqueued apply p --confirm 1.5min").unwrap().command
        else {
            panic!("apply is not apply")
        };
        assert_eq!(args.confirm, Some(Span::from_secs(90)));
    }
}
