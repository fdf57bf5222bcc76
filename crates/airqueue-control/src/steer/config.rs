//! The configuration of `airqueued` as a service.

use super::{
    AccessRow, AdaptivePolicy, Knob, MeshConfig, RdqmLoop, RdqmPolicy, TXOP_UNIT_US, TxopPolicy,
    WatchConfig,
};
use crate::plan::{Category, Item, Plan, Queue, QueueOf, Set};
use airqueue_core::quantity::{Duration, Packets, Quantity, Rate};
use airqueue_core::{DataRate, Span};
use serde::Deserialize;
use std::net::IpAddr;
use std::path::PathBuf;
use thiserror::Error;

/// What a service keeps right.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Version of this format: 1.
    pub config: u32,
    /// File of the plan whose settings are applied at the start; loops change values of these settings alone.
    pub plan: Option<PathBuf>,
    /// Time between two looks at the network.
    #[serde(default = "second")]
    pub sample_interval: Quantity<Duration>,
    /// Shortest time between two changes of one setting.
    #[serde(default = "ten_seconds")]
    pub at_most_every: Quantity<Duration>,
    /// Access points whose channel access follows the number of downloads.
    #[serde(default)]
    pub edca: Vec<EdcaConfig>,
    /// FIFOs whose limit follows the number of flows and their round trip.
    #[serde(default)]
    pub adaptive: Vec<AdaptiveConfig>,
    /// Buffers that are divided among downloads; these queues are no part of the plan.
    #[serde(default)]
    pub rdqm: Vec<RdqmConfig>,
    /// Routers of meshes that agree with their neighbours on the limits of their queues.
    #[serde(default)]
    pub mesh: Vec<MeshConfig>,
    /// Queues of stations that are watched, so that those are told that do not drain.
    pub watch: Option<WatchConfig>,
}

/// EDCA's loop at one access point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdcaConfig {
    /// Interface of the access point; the plan has its `own_edca`.
    pub interface: String,
    /// The access category of downloads.
    #[serde(default = "best_effort")]
    pub access_category: Category,
    /// One packet with its acknowledgement, and a SIFS before each of the two.
    pub packet: Quantity<Duration>,
    /// SIFS.
    #[serde(default = "sifs")]
    pub sifs: Quantity<Duration>,
    /// The most packets of a TXOP.
    #[serde(default = "most_packets")]
    pub most_packets: u32,
    /// AIFSN and CWmin where a TXOP of `most_packets` is too short for the downloads; without rows they stay the plan's.
    #[serde(default)]
    pub access: Vec<AccessRow>,
}

/// APQ's adaptive queue at one interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveConfig {
    /// The interface towards the stations; the plan has its queue, a FIFO.
    pub interface: String,
    /// The interface towards the far ends, where the round trip is seen without this queue. Without it `rtt` holds.
    pub uplink: Option<String>,
    /// Rate of the link, or of the shaper.
    pub rate: Quantity<Rate>,
    /// The round trip while none is measured. The default is the paper's median of the Internet.
    #[serde(default = "paper_rtt")]
    pub rtt: Quantity<Duration>,
    /// The least limit.
    #[serde(default = "ten_packets")]
    pub least: Quantity<Packets>,
    /// The largest limit.
    #[serde(default = "thousand_packets")]
    pub most: Quantity<Packets>,
}

/// RDQM's loop at one interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RdqmConfig {
    /// The interface towards the stations.
    pub interface: String,
    /// The interface towards the far ends, where round trips are seen without this queue. Addresses must be the same there: no
    /// translation (NAT) in between.
    pub uplink: String,
    /// Rate of the shaper: below what the air carries, or packets wait in the driver.
    pub rate: Quantity<Rate>,
    /// The buffer that is divided.
    pub buffer: Quantity<Packets>,
    /// How many downloads have classes of their own.
    #[serde(default = "classes")]
    pub classes: u16,
    /// Number of the shaper at the interface's root.
    #[serde(default = "handle")]
    pub handle: u16,
    /// A download that does not send for so long gives its class back.
    #[serde(default = "ten_seconds")]
    pub idle: Quantity<Duration>,
    /// Rates of stations that no radio of this machine knows.
    #[serde(default)]
    pub station: Vec<StationRate>,
}

/// The rate of a station.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationRate {
    /// Its IP address.
    pub address: IpAddr,
    /// Its rate.
    pub rate: Quantity<Rate>,
}

fn second() -> Quantity<Duration> {
    Quantity::of("1 s")
}

fn ten_seconds() -> Quantity<Duration> {
    Quantity::of("10 s")
}

fn best_effort() -> Category {
    Category::BestEffort
}

/// That of 2.4 GHz and of 802.11b; 16 µs at 5 GHz.
fn sifs() -> Quantity<Duration> {
    Quantity::of("10 us")
}

fn most_packets() -> u32 {
    30
}

fn paper_rtt() -> Quantity<Duration> {
    Quantity::of("200 ms")
}

fn ten_packets() -> Quantity<Packets> {
    Quantity::of("10 packets")
}

fn thousand_packets() -> Quantity<Packets> {
    Quantity::of("1000 packets")
}

fn classes() -> u16 {
    32
}

fn handle() -> u16 {
    0x10
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The text is no TOML, or has unknown keys or values of another kind.
    #[error("{0}")]
    Unreadable(String),
    /// A value out of its range.
    #[error("{key}: {what}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong, and what is possible.
        what: String,
    },
}

/// The version that this code reads.
const VERSION: u32 = 1;
/// A full packet with its Ethernet header.
const ETHERNET_BYTES: u32 = 1514;
pub(super) const MOST_PACKETS: u32 = 100_000;
/// More downloads than a cell carries well.
const MOST_CLASSES: u16 = 500;
/// Rate that a class has at least, ten times over: so that the shares are those of flows.
const LEAST_CLASS_BPS: u64 = 80_000;

/// The parser's words in one sentence, with the line that they are about, and keys where Rust has fields.
fn unreadable(error: &toml::de::Error, text: &str) -> ConfigError {
    let words: Vec<_> = error.message().lines().map(str::trim).collect();
    let words = words.join(", ").replace("missing field", "missing key");
    let words = words.replace("unknown field", "unknown key");
    let begin = error.span().map_or(0, |span| span.start);
    let line = text.bytes().take(begin).filter(|&byte| byte == b'\n').count();
    let shown: String =
        text.lines().nth(line).unwrap_or_default().trim().chars().take(60).collect();
    ConfigError::Unreadable(format!("line {}: {words}, in {shown:?}", line + 1))
}

impl Config {
    /// Reads a configuration. The error names line or key, what is wrong and what is possible.
    pub fn read(text: &str) -> Result<Config, ConfigError> {
        if text.trim().is_empty() {
            let what = "the configuration is empty: it begins with config = 1";
            return Err(ConfigError::Unreadable(what.to_owned()));
        }
        let config: Config = toml::from_str(text).map_err(|error| unreadable(&error, text))?;
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        if self.config != VERSION {
            let what = format!("is {}; this airqueued reads version {VERSION}", self.config);
            return Err(wrong("config", what));
        }
        within("sample_interval", &self.sample_interval, 0.1, 3600.0)?;
        within("at_most_every", &self.at_most_every, 1.0, 86_400.0)?;
        self.watch.as_ref().map_or(Ok(()), WatchConfig::check)?;
        let acts = self.plan.is_some() || !self.rdqm.is_empty() || !self.mesh.is_empty();
        if !acts && self.watch.is_none() {
            let what = "is missing: without a plan, rdqm, mesh or watch there is nothing to do";
            return Err(wrong("plan", what));
        }
        let at = |table: &str, index: usize| format!("{table}[{index}]");
        let checks = |(index, edca): (usize, &EdcaConfig)| edca.check(&at("edca", index));
        self.edca.iter().enumerate().try_for_each(checks)?;
        let checks = |(index, each): (usize, &AdaptiveConfig)| each.check(&at("adaptive", index));
        self.adaptive.iter().enumerate().try_for_each(checks)?;
        let checks = |(index, rdqm): (usize, &RdqmConfig)| rdqm.check(&at("rdqm", index));
        self.rdqm.iter().enumerate().try_for_each(checks)?;
        let checks = |(index, mesh): (usize, &MeshConfig)| {
            mesh.check(&at("mesh", index))?;
            let taken = self.mesh[..index].iter().flat_map(MeshConfig::knobs);
            let taken: Vec<_> =
                taken.chain(self.adaptive.iter().map(AdaptiveConfig::knob)).collect();
            if mesh.knobs().iter().any(|knob| taken.contains(knob)) {
                return Err(wrong(&at("mesh", index), "changes a limit that another loop changes"));
            }
            match self.mesh[..index].iter().position(|other| other.interface == mesh.interface) {
                None => Ok(()),
                Some(other) => {
                    let what = format!("is {}, as that of mesh[{other}]", mesh.interface);
                    Err(wrong(&format!("{}.interface", at("mesh", index)), what))
                }
            }
        };
        self.mesh.iter().enumerate().try_for_each(checks)
    }

    /// What is applied at the start: the settings of the plan, the limits of `mesh` that it does not have, and last the queues
    /// of `rdqm`.
    pub fn whole(&self, plan: Option<Plan>) -> Result<Plan, ConfigError> {
        let empty = Plan { plan: 1, made_by: "airqueued".into(), settings: Vec::new() };
        let mut whole = plan.unwrap_or(empty);
        for mesh in &self.mesh {
            let missing = mesh.items(&whole);
            whole.settings.extend(missing);
        }
        for rdqm in &self.rdqm {
            whole.settings.push(rdqm.item(self.at_most_every.value));
        }
        // A service that only watches sets nothing; every other plan has settings.
        if !(whole.settings.is_empty() && self.plan.is_none()) {
            whole.check().map_err(|error| ConfigError::Unreadable(error.to_string()))?;
        }
        Ok(whole)
    }
}

impl EdcaConfig {
    fn check(&self, at: &str) -> Result<(), ConfigError> {
        within(&format!("{at}.packet"), &self.packet, 50e-6, 0.05)?;
        within(&format!("{at}.sifs"), &self.sifs, 1e-6, 50e-6)?;
        let longest_us = f64::from(u16::MAX) * f64::from(TXOP_UNIT_US);
        let most = (longest_us / 1e6 / self.packet.value.as_secs_f64()) as u32;
        if !(1..=most).contains(&self.most_packets) {
            let what = format!(
                "is {}; give 1 to {most}: a TXOP ends at 2.097 s, the standard's field has no more",
                self.most_packets
            );
            return Err(wrong(&format!("{at}.most_packets"), what));
        }
        let mut rows = self.access.iter().enumerate();
        rows.try_for_each(|(row, access)| {
            access
                .check(self.most_packets)
                .map_err(|(key, what)| wrong(&format!("{at}.access[{row}].{key}"), what))
        })
    }

    /// Where the loop acts.
    pub fn knob(&self) -> Knob {
        Knob::OwnTxop { interface: self.interface.clone(), access_category: self.access_category }
    }

    /// How the TXOP follows.
    pub fn policy(&self) -> TxopPolicy {
        TxopPolicy {
            packet: self.packet.value,
            sifs: self.sifs.value,
            most_packets: self.most_packets,
        }
    }
}

impl AdaptiveConfig {
    fn check(&self, at: &str) -> Result<(), ConfigError> {
        within(&format!("{at}.rtt"), &self.rtt, 0.001, 60.0)?;
        let (least, most) = (self.least.value, self.most.value);
        if least >= 1 && least <= most && most <= MOST_PACKETS {
            return Ok(());
        }
        let what =
            format!("is {least}, and most is {most}; give 1 to most, and most to {MOST_PACKETS}");
        Err(wrong(&format!("{at}.least"), what))
    }

    /// Where the loop acts.
    pub fn knob(&self) -> Knob {
        Knob::QueueLimit { interface: self.interface.clone() }
    }

    /// How the limit follows.
    pub fn policy(&self, least_interval: Span) -> AdaptivePolicy {
        AdaptivePolicy {
            rate: self.rate.value,
            rtt: self.rtt.value,
            packet_bytes: ETHERNET_BYTES,
            least_packets: self.least.value,
            most_packets: self.most.value,
            least_interval,
        }
    }
}

impl RdqmConfig {
    fn check(&self, at: &str) -> Result<(), ConfigError> {
        within(&format!("{at}.idle"), &self.idle, 1.0, 3600.0)?;
        if !(1..=MOST_CLASSES).contains(&self.classes) {
            let what = format!("is {}; give 1 to {MOST_CLASSES}", self.classes);
            return Err(wrong(&format!("{at}.classes"), what));
        }
        let (packets, least) = (self.buffer.value, u32::from(self.classes) + 1);
        if !(least..=MOST_PACKETS).contains(&packets) {
            let what = format!(
                "is {packets} packets; give {least} to {MOST_PACKETS}: each class, and what has none, holds one at least"
            );
            return Err(wrong(&format!("{at}.buffer"), what));
        }
        let least_bps = u64::from(least) * LEAST_CLASS_BPS;
        if self.rate.value.as_bps() < least_bps {
            let what = format!(
                "is {}; give {} kb/s at least for so many classes",
                self.rate.text,
                least_bps / 1000
            );
            return Err(wrong(&format!("{at}.rate"), what));
        }
        Ok(())
    }

    /// How the buffer is divided.
    pub fn policy(&self, least_interval: Span) -> RdqmPolicy {
        RdqmPolicy {
            buffer_packets: self.buffer.value,
            rate: self.rate.value,
            classes: self.classes,
            handle: self.handle,
            idle: self.idle.value,
            least_interval,
        }
    }

    /// The queue at the start.
    fn item(&self, least_interval: Span) -> Item {
        let shared = RdqmLoop::new(self.policy(least_interval)).shared().clone();
        let why =
            format!("RDQM divides {} packets among downloads by delay and rate", self.buffer.value);
        let queue = QueueOf { interface: self.interface.clone(), queue: Queue::Shared(shared) };
        Item { why, set: Set::Queue(queue) }
    }

    /// The rate of a station that the configuration gives.
    pub fn rate_of(&self, address: IpAddr) -> Option<DataRate> {
        let station = self.station.iter().find(|station| station.address == address);
        station.map(|station| station.rate.value)
    }
}

pub(super) fn wrong(key: &str, what: impl Into<String>) -> ConfigError {
    ConfigError::Key { key: key.to_owned(), what: what.into() }
}

/// Checks a time in seconds.
pub(super) fn within(
    key: &str,
    time: &Quantity<Duration>,
    least: f64,
    most: f64,
) -> Result<(), ConfigError> {
    let seconds = time.value.as_secs_f64();
    if (least..=most).contains(&seconds) {
        return Ok(());
    }
    Err(wrong(key, format!("is {}; give a time from {least} s to {most} s", time.text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_loops_and_their_defaults() {
        let text = r#"
            config = 1
            plan = "plan.json"
            [[edca]]
            interface = "wlan0"
            packet = "1.27 ms"
            [[adaptive]]
            interface = "eth1"
            rate = "20 Mb/s"
            [[rdqm]]
            interface = "eth2"
            uplink = "eth0"
            rate = "20 Mb/s"
            buffer = "100 packets"
            [[rdqm.station]]
            address = "10.0.0.7"
            rate = "11 Mb/s"
        "#;
        let config = Config::read(text).unwrap();
        assert_eq!(config.sample_interval.value, Span::from_secs(1));
        assert_eq!(config.at_most_every.value, Span::from_secs(10));
        assert_eq!((config.edca[0].policy().txop_us(6), config.edca[0].access.len()), (7616, 0));
        assert_eq!(config.adaptive[0].policy(Span::ZERO).limit(1, None), 331);
        let rate = config.rdqm[0].rate_of("10.0.0.7".parse().unwrap());
        assert_eq!(rate, DataRate::from_bps(11_000_000));
        let whole = config.whole(None).unwrap();
        assert_eq!(whole.settings[0].set.point(), "queue of eth2");
        // The queue of the loop may be in no plan.
        assert!(
            config
                .whole(Some(whole))
                .unwrap_err()
                .to_string()
                .contains("sets the queue of eth2 again")
        );
    }

    #[test]
    fn errors_name_the_key_and_what_is_possible() {
        let edca = "config = 1\nplan = \"p\"\n[[edca]]\ninterface = \"w\"\n";
        let row = |values: &str| {
            let flows = "uploads = 1, downloads = 3";
            format!("{edca}packet = \"1.3 ms\"\naccess = [{{ {flows}, {values} }}]")
        };
        let rdqm =
            "config = 1\n[[rdqm]]\ninterface = \"e\"\nuplink = \"u\"\nbuffer = \"100 p\"\nrate = ";
        for (text, expected) in [
            ("config = 2\nplan = \"p\"".to_owned(), "config: is 2; this airqueued reads version 1"),
            ("config = 1".to_owned(), "plan: is missing"),
            (
                "config = 1\nplan = \"p\"\nsample_intervall = \"1 s\"".to_owned(),
                "unknown key `sample_intervall`",
            ),
            ("config = 1\nplan = \"p\"\nsample_interval = 3".to_owned(), "a length of time"),
            (format!("{edca}packet = \"1 s\""), "edca[0].packet: is 1 s; give a time"),
            (format!("{edca}packet = \"40 ms\"\nmost_packets = 90"), "give 1 to 52"),
            (
                row("aifsn = 1, cw_min = 15, packets = 2"),
                "edca[0].access[0].aifsn: is 1; give 2 to 15",
            ),
            (
                row("aifsn = 2, cw_min = 16, packets = 2"),
                "edca[0].access[0].cw_min: is 16; give one",
            ),
            (row("aifsn = 2, cw_min = 0, packets = 2"), "edca[0].access[0].cw_min: is 0; give one"),
            (
                row("aifsn = 2, cw_min = 15, packets = 31"),
                "edca[0].access[0].packets: is 31; give 1 to",
            ),
            (row("aifsn = 2, cw_min = 15"), "missing key `packets`"),
            (format!("{rdqm}\"1 Mb/s\""), "rdqm[0].rate: is 1 Mb/s; give 2640 kb/s at least"),
            (
                format!("{rdqm}\"9 Mb/s\"\nclasses = 100"),
                "rdqm[0].buffer: is 100 packets; give 101",
            ),
            ("config = ".to_owned(), "line 1"),
        ] {
            let error = Config::read(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
