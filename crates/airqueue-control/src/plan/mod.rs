//! The plan file: which settings of a machine become what, and why. JSON, version 1.
//!
//! The comments on the keys are the reference: the schema carries them to editors and to programs that write plans.

mod check;
mod queue;
mod radio;
mod uci;

pub use check::PlanError;
pub use queue::*;
pub use radio::*;
pub use uci::*;

use check::{At, wrong};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version that this code reads and writes.
pub const VERSION: u32 = 1;
/// More settings than a router has.
const MOST_SETTINGS: usize = 256;
/// Longest text of a plan's reasons and of its maker.
const LONGEST_TEXT: usize = 1000;

/// A plan: settings that are applied together, and taken back together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "airqueue plan")]
pub struct Plan {
    /// Version of this format: 1.
    pub plan: u32,
    /// The program that wrote the plan, with its version.
    pub made_by: String,
    /// The settings, in the order in which they are made. They are taken back in the opposite order.
    #[schemars(length(min = 1, max = 256))]
    pub settings: Vec<Item>,
}

/// A setting and its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Why this value: the measurement or the model behind it, in a sentence.
    pub why: String,
    /// What becomes what.
    pub set: Set,
}

/// What is set, one key of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Set {
    /// The queue discipline at the root of an interface.
    Queue(QueueOf),
    /// The queues of mac80211 for stations, all those of one phy together.
    Txq(Txq),
    /// Channel access of an access category that an access point announces to its stations.
    Edca(Edca),
    /// Channel access of an access category of this machine's own queues.
    OwnEdca(OwnEdca),
    /// The share of the air that a station gets.
    AirtimeWeight(AirtimeWeight),
    /// Airtime queue limits of a phy: the airtime that drivers and firmware may hold.
    Aql(Aql),
    /// The transmit ring between kernel and driver.
    Ring(Ring),
    /// A section of OpenWrt's configuration: SQM, radios.
    Uci(Uci),
}

impl Set {
    /// What is set, in words. Two settings with equal words set the same thing.
    pub fn point(&self) -> String {
        match self {
            Set::Queue(queue) => format!("queue of {}", queue.interface),
            Set::Txq(txq) => format!("station queues of {}", txq.phy),
            Set::Edca(edca) => {
                format!("announced {} of {}", edca.access_category.words(), edca.interface)
            }
            Set::OwnEdca(edca) => {
                format!("own {} of {}", edca.access_category.words(), edca.interface)
            }
            Set::AirtimeWeight(weight) => {
                format!("airtime weight of {} at {}", weight.station, weight.interface)
            }
            Set::Aql(aql) => {
                format!("airtime limit for {} of {}", aql.access_category.words(), aql.phy)
            }
            Set::Ring(ring) => format!("transmit ring of {}", ring.interface),
            Set::Uci(uci) => format!("UCI section {}.{}", uci.config.name(), uci.section),
        }
    }

    fn check(&self, at: &At) -> Result<(), PlanError> {
        match self {
            Set::Queue(queue) => queue.check(&at.key("queue")),
            Set::Txq(txq) => txq.check(&at.key("txq")),
            Set::Edca(edca) => edca.check(&at.key("edca")),
            Set::OwnEdca(edca) => edca.check(&at.key("own_edca")),
            Set::AirtimeWeight(weight) => weight.check(&at.key("airtime_weight")),
            Set::Aql(aql) => aql.check(&at.key("aql")),
            Set::Ring(ring) => ring.check(&at.key("ring")),
            Set::Uci(uci) => uci.check(&at.key("uci")),
        }
    }
}

impl Plan {
    /// Reads a plan. The error names the key, what is wrong with it and what is possible.
    pub fn read(text: &str) -> Result<Plan, PlanError> {
        if text.trim().is_empty() {
            return Err(PlanError::Empty);
        }
        let json: serde_json::Value = serde_json::from_str(text).map_err(PlanError::not_json)?;
        // Before the keys: those of another version are unknown ones.
        match json.get("plan").map(|version| version.as_u64()) {
            Some(Some(version)) if version != u64::from(VERSION) => {
                return Err(PlanError::Version { found: version });
            }
            None if json.is_object() => {
                return Err(wrong("plan", "is missing: a plan begins with {\"plan\": 1, ...}"));
            }
            _ => {}
        }
        let mut source = serde_json::Deserializer::from_str(text);
        let plan: Plan =
            serde_path_to_error::deserialize(&mut source).map_err(PlanError::unreadable)?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks every range, and that no two settings set the same thing.
    pub fn check(&self) -> Result<(), PlanError> {
        check::text(&At::root(), "made_by", &self.made_by, LONGEST_TEXT)?;
        if self.settings.is_empty() || self.settings.len() > MOST_SETTINGS {
            return Err(wrong(
                "settings",
                format!("gives {} settings; give 1 to {MOST_SETTINGS}", self.settings.len()),
            ));
        }
        let mut points = BTreeMap::new();
        for (index, item) in self.settings.iter().enumerate() {
            let at = At::root().item("settings", index);
            check::text(&at, "why", &item.why, LONGEST_TEXT)?;
            item.set.check(&at.key("set"))?;
            if let Some(first) = points.insert(item.set.point(), index) {
                return Err(at.wrong(
                    "set",
                    format!(
                        "sets the {} again, after settings[{first}]; keep one of the two",
                        item.set.point()
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The JSON Schema (draft 2020-12) of plans.
pub fn schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Plan>();
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}

#[cfg(test)]
mod tests;
