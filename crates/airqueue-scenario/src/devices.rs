//! Devices that a station can be like: their queues, aggregation and rate control, as keys of the station's tables.
//!
//! `like = "openwrt-24"` writes the device's keys into the station's table, before anything reads the tables: a station
//! like a device is a station with these keys. Keys that the station has itself stay.

use super::error::{Result, wrong};
use airqueue_wifi::phy::{GENERATIONS, Generation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// A device, with the keys of a station like it.
struct Device {
    name: &'static str,
    about: &'static str,
    keys: &'static [DeviceKey],
}

/// A key of a station like a device.
struct DeviceKey {
    /// From the station's table on.
    key: &'static str,
    value: Given,
    of: Standards,
    /// Where the value is from.
    source: &'static str,
}

/// A value of a key.
#[derive(Clone, Copy)]
enum Given {
    Text(&'static str),
    Whole(u32),
    Truth(bool),
}

/// The physical layers with which a device has a key.
#[derive(Clone, Copy)]
enum Standards {
    All,
    /// Those of 802.11n and later, which aggregate, but for these.
    AggregatingBut(&'static [&'static str]),
    /// All but these.
    But(&'static [&'static str]),
    Only(&'static [&'static str]),
}

impl Standards {
    fn has(self, generation: &Generation) -> bool {
        let name = &generation.name;
        match self {
            Standards::All => true,
            Standards::AggregatingBut(others) => {
                generation.format.is_some() && !others.contains(name)
            }
            Standards::But(others) => !others.contains(name),
            Standards::Only(these) => these.contains(name),
        }
    }

    fn names(self) -> Vec<&'static str> {
        let having = GENERATIONS.iter().filter(|generation| self.has(generation));
        having.map(|generation| generation.name).collect()
    }
}

const fn key(key: &'static str, value: Given, of: Standards, source: &'static str) -> DeviceKey {
    DeviceKey { key, value, of, source }
}

use Given::{Text, Truth, Whole};
use Standards::{AggregatingBut, All, But, Only};

const AGGREGATING: Standards = AggregatingBut(&[]);
/// Radios without VHT.
const NO_VHT: &[&str] = &["802.11a", "802.11b", "802.11g", "802.11n"];
const BEFORE_HE: &[&str] = &["802.11n", "802.11ac"];

const FQ: &str =
    "Linux 6.6, net/mac80211/tx.c: ieee80211_txq_setup_flows; include/net/fq_impl.h: fq_init";
const AQL: &str = "Linux 6.6, include/net/cfg80211.h: IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L, _H, IEEE80211_AQL_THRESHOLD";
const MT76: &str =
    "Linux 6.6, drivers/net/wireless/mediatek/mt76/mac80211.c: mt76_phy_init announces it";
const NO_AQL: &str =
    "Linux 6.6, drivers/net/wireless/intel/iwlwifi does not announce NL80211_EXT_FEATURE_AQL";
const NO_FAIRNESS: &str = "Linux 6.6, drivers/net/wireless/intel/iwlwifi does not announce NL80211_EXT_FEATURE_AIRTIME_FAIRNESS";
const BLOCK_ACK: &str = "IEEE 802.11ax-2021, 9.4.1.13: the buffer size of a block ack agreement";
const MINSTREL: &str = "Linux 6.6, net/mac80211/rc80211_minstrel_ht.c, mac80211's default";
const MINSTREL_FOR: &str =
    "our choice: the vendor's own rate control is not modelled, and Minstrel is the nearest here";
const APQ: &str = "Li and others, Measuring Queue Capacities of IEEE 802.11 Wireless Access Points (BROADNETS 2007), Table II: \
                   Linksys WAP54G, 121.3 +- 0.9 packets of 1500 bytes";
const APQ_COUNTS: &str =
    "the same paper, section IV: all seven access points drop at the tail and count packets";
const WING: &str = "Extreme Networks, WiNG 7.3.1 system reference, traffic shaping, Max Buffers: 400 packets for access points. \
                    The largest commercial access point of the APQ paper holds 337";
const UNSAID: &str = "vendors' manuals have airtime fairness between SSIDs (FortiAP 7.4), not a queue for each flow; our choice";

/// All devices.
static DEVICES: [Device; 4] = [
    Device {
        name: "openwrt-24",
        about: "An access point with OpenWrt 24.10 and a driver that limits airtime, such as mt76: FQ-CoDel for each station, \
                airtime fairness, AQL.",
        keys: &[
            key("queue.discipline", Text("mac80211"), All, FQ),
            key("queue.limit", Text("8192 packets"), All, FQ),
            key("queue.mac80211.memory_limit", Text("16777216 B"), But(NO_VHT), FQ),
            key("queue.mac80211.memory_limit", Text("4194304 B"), Only(NO_VHT), FQ),
            key("queue.mac80211.flows", Whole(4096), All, FQ),
            key("queue.mac80211.quantum", Text("300 B"), All, FQ),
            key("queue.mac80211.target", Text("20 ms"), All, FQ),
            key("queue.mac80211.interval", Text("100 ms"), All, FQ),
            key("queue.mac80211.ecn", Truth(true), All, FQ),
            key("queue.mac80211.airtime_fairness", Truth(true), All, MT76),
            key(
                "queue.mac80211.airtime_quantum",
                Text("2048 us"),
                All,
                "OpenWrt 24.10, package/kernel/mac80211/patches/subsys: mac80211: increase quantum for airtime scheduler",
            ),
            key("queue.mac80211.aql", Truth(true), All, MT76),
            key("queue.mac80211.aql_low", Text("5 ms"), All, AQL),
            key("queue.mac80211.aql_high", Text("12 ms"), All, AQL),
            key("queue.mac80211.aql_threshold", Text("24 ms"), All, AQL),
            key("mac.aggregation.enabled", Truth(true), AGGREGATING, MINSTREL),
            key("mac.aggregation.window", Whole(64), Only(BEFORE_HE), BLOCK_ACK),
            key("mac.aggregation.window", Whole(256), AggregatingBut(BEFORE_HE), BLOCK_ACK),
            key("rate_control", Text("minstrel"), All, MINSTREL),
        ],
    },
    Device {
        name: "linux-station",
        about: "A Linux computer with a driver that limits packets, not airtime, such as iwlwifi: mac80211's FQ-CoDel in front of \
                the driver's ring.",
        keys: &[
            key("queue.discipline", Text("mac80211"), All, FQ),
            key("queue.limit", Text("8192 packets"), All, FQ),
            key("queue.mac80211.memory_limit", Text("16777216 B"), But(NO_VHT), FQ),
            key("queue.mac80211.memory_limit", Text("4194304 B"), Only(NO_VHT), FQ),
            key("queue.mac80211.flows", Whole(4096), All, FQ),
            key("queue.mac80211.quantum", Text("300 B"), All, FQ),
            key("queue.mac80211.target", Text("20 ms"), All, FQ),
            key("queue.mac80211.interval", Text("100 ms"), All, FQ),
            key("queue.mac80211.ecn", Truth(true), All, FQ),
            key("queue.mac80211.airtime_fairness", Truth(false), All, NO_FAIRNESS),
            key("queue.mac80211.aql", Truth(false), All, NO_AQL),
            key(
                "queue.ring",
                Text("256 packets"),
                But(&["802.11ax"]),
                "Linux 6.6, drivers/net/wireless/intel/iwlwifi/fw/api/txq.h: IWL_DEFAULT_QUEUE_SIZE",
            ),
            key(
                "queue.ring",
                Text("1024 packets"),
                Only(&["802.11ax"]),
                "Linux 6.6, drivers/net/wireless/intel/iwlwifi/fw/api/txq.h: IWL_DEFAULT_QUEUE_SIZE_HE",
            ),
            key("mac.aggregation.enabled", Truth(true), AGGREGATING, BLOCK_ACK),
            key("mac.aggregation.window", Whole(64), Only(BEFORE_HE), BLOCK_ACK),
            key("mac.aggregation.window", Whole(256), AggregatingBut(BEFORE_HE), BLOCK_ACK),
            key("rate_control", Text("minstrel"), All, MINSTREL_FOR),
        ],
    },
    Device {
        name: "apq-2011",
        about: "A home access point as the APQ paper measured: one FIFO of 121 packets (Linksys WAP54G), no AQL, no aggregation.",
        keys: &[
            key("queue.discipline", Text("droptail"), All, APQ_COUNTS),
            key("queue.limit", Text("121 packets"), All, APQ),
            key("queue.drop_from", Text("tail"), All, APQ_COUNTS),
            key("queue.ring", Text("0 packets"), All, "the measured capacity includes any ring"),
            key(
                "mac.aggregation.enabled",
                Truth(false),
                AGGREGATING,
                "802.11g, which the device has, does not aggregate",
            ),
            key(
                "rate_control",
                Text("arf"),
                All,
                "our choice: Kamerman and Monteban, WaveLAN-II (Bell Labs Technical Journal, 1997); the paper fixes the rate",
            ),
        ],
    },
    Device {
        name: "enterprise",
        about: "A managed access point as far as vendors' manuals say: a FIFO of 400 packets for each access category, no AQL, \
                A-MPDUs.",
        keys: &[
            key("queue.discipline", Text("droptail"), All, UNSAID),
            key("queue.limit", Text("400 packets"), All, WING),
            key("queue.drop_from", Text("tail"), All, WING),
            key("mac.aggregation.enabled", Truth(true), AGGREGATING, BLOCK_ACK),
            key("mac.aggregation.window", Whole(64), Only(BEFORE_HE), BLOCK_ACK),
            key("mac.aggregation.window", Whole(256), AggregatingBut(BEFORE_HE), BLOCK_ACK),
            key("rate_control", Text("minstrel"), All, MINSTREL_FOR),
        ],
    },
];

fn named(name: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|device| device.name == name)
}

impl Given {
    fn value(self) -> Value {
        match self {
            Text(text) => json!(text),
            Whole(number) => json!(number),
            Truth(truth) => json!(truth),
        }
    }
}

/// All devices as JSON: a list of objects with `name`, `about` and `keys`, each an object with `key` (from the station's
/// table on), `value`, `standards` (the physical layers with which the device has the key) and `source`.
pub fn devices() -> String {
    let keys = |of: &DeviceKey| {
        json!({
            "key": of.key,
            "value": of.value.value(),
            "standards": of.of.names(),
            "source": of.source,
        })
    };
    let each = |device: &Device| {
        let keys: Vec<_> = device.keys.iter().map(keys).collect();
        json!({ "name": device.name, "about": device.about, "keys": keys })
    };
    Value::from_iter(DEVICES.iter().map(each)).to_string()
}

/// The name of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeviceName;

impl<'de> Deserialize<'de> for DeviceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        const NAMES: &[&str] = &["openwrt-24", "linux-station", "apq-2011", "enterprise"];
        let name = String::deserialize(deserializer)?;
        named(&name).map(|_| DeviceName).ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}

impl JsonSchema for DeviceName {
    fn schema_name() -> Cow<'static, str> {
        "DeviceName".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |device: &Device| json_schema!({ "description": device.about, "type": "string", "const": device.name });
        let all: Vec<Schema> = DEVICES.iter().map(one).collect();
        json_schema!({ "description": "A device that a station is like.", "oneOf": all })
    }
}

/// Writes the keys of devices into the tables of the stations that are like them.
///
/// Values of wrong types are left as they are: reading the tree reports them.
///
/// # Errors
///
/// The table `queue` of all stations, if devices give every station its queue.
pub(super) fn expand(tree: &mut Value) -> Result<()> {
    let generation =
        tree.pointer("/phy/standard").and_then(Value::as_str).and_then(Generation::named);
    let Some(generation) = generation else { return Ok(()) };
    let rated = states_rates(tree);
    let Some(Value::Array(stations)) = tree.get_mut("stations") else { return Ok(()) };
    let mut queues = 0;
    for station in stations.iter_mut().filter_map(Value::as_object_mut) {
        let device = station.get("like").and_then(Value::as_str).and_then(named);
        let Some(device) = device else { continue };
        let own = has_own_discipline(station);
        queues += usize::from(!own);
        for key in device.keys.iter().filter(|key| key.of.has(generation)) {
            let kept = match key.key {
                "rate_control" => rated,
                key => own && key.starts_with("queue."),
            };
            if !kept {
                give(station, key.key, key.value);
            }
        }
    }
    if queues > 0 && queues == stations.len() && tree.get("queue").is_some() {
        let problem = "every station is like a device, whose queue goes before this one; leave it out, or give a \
                       station a queue of its own";
        return wrong("queue", problem);
    }
    Ok(())
}

/// Whether the scenario says at which rates frames are sent, somewhere: devices then do not look for rates.
fn states_rates(tree: &Value) -> bool {
    let says = |list: &str, key: &str| {
        let elements = tree.get(list).and_then(Value::as_array);
        elements.is_some_and(|all| all.iter().any(|each| each.get(key).is_some()))
    };
    tree.pointer("/phy/rate").is_some()
        || says("stations", "rate")
        || says("links", "rate")
        || says("flows", "phy_rate")
}

/// Whether the station's own table says which discipline its queue has: the device's queue is then none of its.
fn has_own_discipline(station: &Map<String, Value>) -> bool {
    match station.get("queue") {
        Some(Value::Object(queue)) => queue.contains_key("discipline"),
        Some(_) => true,
        None => false,
    }
}

/// Gives a table the key, unless the table has the key or what is in its way.
fn give(table: &mut Map<String, Value>, key: &str, value: Given) {
    match key.split_once('.') {
        None => drop(table.entry(key).or_insert_with(|| value.value())),
        Some((name, rest)) => {
            let inner = table.entry(name).or_insert_with(|| json!({}));
            if let Value::Object(inner) = inner {
                give(inner, rest, value);
            }
        }
    }
}
