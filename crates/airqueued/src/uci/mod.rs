//! OpenWrt's configuration (UCI) as a control point: a section is written and committed, and the program that it configures
//! reads it anew.
//!
//! Values are committed, not only staged: netifd and procd go by the files. A section therefore stays over a restart of
//! the router, and the journal has to stay too ([`crate::state::State::outlives`]). rpcd's `uci apply` has a time
//! limit of its own for a confirmation; two guards would undo each other, so that only that of airqueued is used.

pub mod export;
mod program;

pub use program::Programs;

use crate::radio::points::{another, raw, value};
use crate::radio::radar::Radar;
use airqueue_control::plan::{Set, Uci, UciConfig, UciValue};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use export::Section;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sets sections of UCI.
#[derive(Debug, Clone, Default)]
pub struct UciPoint {
    programs: Programs,
}

/// What a section has of the options that a plan names.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    /// The section's type; none if there is no section.
    kind: Option<String>,
    /// Options, with none for those that are absent.
    options: BTreeMap<String, Option<UciValue>>,
}

fn of(raw: &Raw) -> Value {
    let options = raw.options.iter().map(|(name, value)| match value {
        None => format!("no {name}"),
        Some(UciValue::Text(text)) => format!("{name} '{text}'"),
        Some(UciValue::List(list)) => format!("{name} '{}'", list.join("' '")),
    });
    let words = match &raw.kind {
        None => "no section".to_owned(),
        Some(kind) => format!("{kind}: {}", options.collect::<Vec<_>>().join(", ")),
    };
    value(words, raw)
}

/// Of `HT40+`, `VHT80`, `HE160`; 20 of what is none.
fn width_mhz(mode: &str) -> u32 {
    let digits: String = mode
        .chars()
        .skip_while(char::is_ascii_alphabetic)
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(20)
}

fn asked(set: &Set) -> Result<&Uci, PointError> {
    match set {
        Set::Uci(uci) => Ok(uci),
        other => Err(another(other)),
    }
}

impl UciPoint {
    /// With other programs than those of the machine.
    pub fn with(programs: Programs) -> Self {
        Self { programs }
    }

    fn section(&self, uci: &Uci) -> Result<Option<Section>, PointError> {
        Ok(self.sections(uci.config)?.remove(&uci.section))
    }

    fn sections(&self, config: UciConfig) -> Result<BTreeMap<String, Section>, PointError> {
        let text = self.programs.export(config)?;
        export::read(&text).map_err(|what| {
            let name = config.name();
            PointError::Refused(format!("what `uci export {name}` prints cannot be read: {what}"))
        })
    }
}

impl ControlPoint for UciPoint {
    fn read(&mut self, set: &Set, _earlier: Option<&Value>) -> Result<Value, PointError> {
        let uci = asked(set)?;
        let section = self.section(uci)?;
        let found =
            |name: &String| section.as_ref().and_then(|section| section.options.get(name)).cloned();
        let options = uci.options.keys().map(|name| (name.clone(), found(name))).collect();
        Ok(of(&Raw { kind: section.map(|section| section.kind), options }))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let uci = asked(set)?;
        let at = set.point();
        raw::<Raw>(original)?;
        let now: Raw = raw(now)?;
        let refused = |what: String| Err(PointError::Refused(what));
        let kind = match (now.kind.clone(), &uci.kind) {
            (Some(is), Some(wanted)) if is != *wanted => {
                return refused(format!("the {at} is a {is}, not a {wanted}: take another name"));
            }
            (None, None) => {
                return refused(format!("there is no {at}; give its \"type\" to make one"));
            }
            (is, wanted) => is.or_else(|| wanted.clone()),
        };
        let wanted = uci.options.iter().map(|(name, value)| (name.clone(), value.clone()));
        let target = Raw { kind, options: wanted.collect() };
        if target == now {
            return Ok(Aim { value: of(&target), interrupts: None });
        }
        if uci.config == UciConfig::Wireless && !uci.drops_stations {
            return refused(format!(
                "the {at} acts by `wifi reload`, at which stations may lose their connection; add \"drops_stations\": true if they may"
            ));
        }
        let staged = self.programs.staged(uci.config)?;
        if let Some(first) = staged.lines().next() {
            return refused(format!(
                "{} has changes that nobody has committed ({first}): `uci commit {0}` or `uci revert {0}` first",
                uci.config.name()
            ));
        }
        Ok(Aim { value: of(&target), interrupts: Some(self.interrupts(uci)?) })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let uci = asked(set)?;
        let Raw { kind, options } = raw(to)?;
        let at = format!("{}.{}", uci.config.name(), uci.section);
        // What a `put` that was killed has staged; `aim` refuses changes of others.
        self.programs.uci(&["revert", uci.config.name()])?;
        let there = self.section(uci)?;
        match kind {
            None if there.is_some() => self.programs.uci(&["delete", &at])?,
            None => {}
            Some(kind) => {
                self.programs.uci(&["set", &format!("{at}={kind}")])?;
                for (name, value) in &options {
                    let is = there.as_ref().and_then(|section| section.options.get(name));
                    self.put_option(&format!("{at}.{name}"), is.is_some(), value.as_ref())?;
                }
            }
        }
        self.programs.uci(&["commit", uci.config.name()])?;
        // `uci -P` succeeds and commits nothing.
        if let Some(first) = self.programs.staged(uci.config)?.lines().next() {
            let words = format!("`uci commit {}` left {first} staged", uci.config.name());
            return Err(PointError::Refused(words));
        }
        self.programs.reload(uci.config)
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }
}

impl UciPoint {
    /// What others notice when a section takes effect.
    fn interrupts(&self, uci: &Uci) -> Result<String, PointError> {
        let all = match uci.config {
            UciConfig::Sqm => {
                vec![
                    "the shapers of SQM start anew: packets that wait in them are dropped"
                        .to_owned(),
                ]
            }
            UciConfig::Wireless => {
                let radios = "radios may start anew: stations may lose their connection".to_owned();
                [vec![radios], self.silences(uci)?].concat()
            }
        };
        Ok(all.join("; "))
    }

    /// What radios that start anew are silent for, if there is radar at their channels.
    fn silences(&self, uci: &Uci) -> Result<Vec<String>, PointError> {
        let radar = Radar::ask();
        let mut found = radar.silenced();
        let sections = self.sections(uci.config)?;
        let text = |section: &str, option: &str| match sections.get(section)?.options.get(option)? {
            UciValue::Text(text) => Some(text.clone()),
            UciValue::List(_) => None,
        };
        let asked = |option: &str| match uci.options.get(option) {
            Some(Some(UciValue::Text(text))) => Some(text.clone()),
            Some(_) => None,
            None => text(&uci.section, option),
        };
        // An interface's section names that of its radio.
        let radio = asked("device");
        let of_radio = |option: &str| match &radio {
            Some(device) => text(device, option),
            None => asked(option),
        };
        // Channels of 6 GHz have the same numbers, and no radar.
        if of_radio("band").is_some_and(|band| band != "5g") {
            return Ok(found);
        }
        let width = of_radio("htmode").map_or(20, |mode| width_mhz(&mode));
        let named = of_radio("channel").and_then(|channel| radar.at_channel(&channel, width));
        found.extend(named);
        Ok(found)
    }

    fn put_option(&self, at: &str, there: bool, to: Option<&UciValue>) -> Result<(), PointError> {
        match to {
            None if !there => Ok(()),
            None => self.programs.uci(&["delete", at]),
            Some(UciValue::Text(text)) => self.programs.uci(&["set", &format!("{at}={text}")]),
            Some(UciValue::List(list)) => {
                if there {
                    self.programs.uci(&["delete", at])?;
                }
                list.iter()
                    .try_for_each(|text| self.programs.uci(&["add_list", &format!("{at}={text}")]))
            }
        }
    }
}

#[cfg(test)]
mod tests;
