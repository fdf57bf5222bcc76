//! Settings that OpenWrt keeps in its configuration (UCI): SQM and radios.

use super::check::{At, PlanError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest text of an option.
const LONGEST_VALUE: usize = 1000;
/// More options, or entries of a list, than a section has.
const MOST: usize = 64;
/// Longest name of a section or an option.
const LONGEST_NAME: usize = 64;
/// Options of wifi-iface that are keys of a network: the journal would keep them, and no queue depends on them.
const SECRETS: [&str; 4] = ["key", "password", "passwd", "secret"];

/// A section of OpenWrt's configuration (UCI). It stays over restarts of the router; the program that it configures then reads
/// it anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uci {
    /// The file below `/etc/config`.
    pub config: UciConfig,
    /// Name of the section, as `eth1`.
    pub section: String,
    /// Type of the section, as `queue`, with which it is made if there is none. Without a type there must be one.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Options by their names: a text, a list of texts, or null for an option that is to be absent. Others stay as they are.
    pub options: BTreeMap<String, Option<UciValue>>,
    /// Whether stations may lose their connection: `wifi reload` can start radios anew. `wireless` needs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drops_stations: bool,
}

/// The files of UCI that a plan can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UciConfig {
    /// sqm-scripts: shapers. `/etc/init.d/sqm restart` makes them anew.
    Sqm,
    /// netifd and hostapd: radios and their networks. `wifi reload` acts on them.
    Wireless,
}

impl UciConfig {
    /// The name of the file.
    pub fn name(self) -> &'static str {
        match self {
            UciConfig::Sqm => "sqm",
            UciConfig::Wireless => "wireless",
        }
    }
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UciValue {
    /// `option`.
    Text(String),
    /// `list`, with one entry at least.
    List(Vec<String>),
}

impl Uci {
    pub(super) fn check(&self, at: &At) -> Result<(), PlanError> {
        name(at, "section", &self.section)?;
        if let Some(kind) = &self.kind {
            name(at, "type", kind)?;
        }
        if self.options.is_empty() || self.options.len() > MOST {
            let given = self.options.len();
            return Err(at.wrong("options", format!("gives {given} options; give 1 to {MOST}")));
        }
        let inside = at.key("options");
        for (option, wanted) in &self.options {
            name(&inside, option, option)?;
            if SECRETS.iter().any(|secret| option.contains(secret)) {
                return Err(inside.wrong(
                    option,
                    "may be a secret, which the journal would keep; set it with uci",
                ));
            }
            match wanted {
                None => {}
                Some(UciValue::Text(text)) => value(&inside, option, text)?,
                Some(UciValue::List(list)) if list.is_empty() || list.len() > MOST => {
                    let given = list.len();
                    return Err(inside.wrong(
                        option,
                        format!("has {given} entries; give 1 to {MOST}, or null for no list"),
                    ));
                }
                Some(UciValue::List(list)) => {
                    list.iter().try_for_each(|text| value(&inside, option, text))?;
                }
            }
        }
        Ok(())
    }
}

/// As `uci_validate_str` takes names of options. Sections without a name (`@queue[0]`) change their place.
fn name(at: &At, key: &str, name: &str) -> Result<(), PlanError> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_letter) {
        return Ok(());
    }
    Err(at.wrong(
        key,
        format!("{name:?} is not a name of UCI; give 1 to {LONGEST_NAME} letters, digits or _"),
    ))
}

fn value(at: &At, key: &str, text: &str) -> Result<(), PlanError> {
    // `uci set` takes an empty value for a deletion.
    if text.is_empty() {
        return Err(at.wrong(key, "is empty; give a text, or null for no option"));
    }
    super::check::text(at, key, text, LONGEST_VALUE)
}
