//! Channel access of an access point's own queues, which the kernel takes and does not tell.

use super::{another, connect, interface, raw, refused, value};
use crate::radio::edca::Parameters;
use crate::radio::hostapd::configuration::{self, Source};
use crate::radio::own_edca;
use crate::radio::wiphy::InterfaceType;
use airqueue_control::plan::{OwnEdca, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Sets the parameters of an access category of an access point's own queues.
#[derive(Debug, Clone)]
pub struct OwnEdcaPoint {
    configurations: Vec<PathBuf>,
}

impl Default for OwnEdcaPoint {
    fn default() -> Self {
        Self { configurations: configuration::folders() }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    interface: u32,
    parameters: Parameters,
}

fn of(interface: u32, parameters: Parameters, source: Option<&Source>) -> Value {
    let source = source.map(|source| format!(" ({source}; the kernel does not tell)"));
    value(format!("{parameters}{}", source.unwrap_or_default()), &Raw { interface, parameters })
}

fn asked(set: &Set) -> Result<&OwnEdca, PointError> {
    match set {
        Set::OwnEdca(edca) => Ok(edca),
        other => Err(another(other)),
    }
}

impl ControlPoint for OwnEdcaPoint {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let asked = asked(set)?;
        let known = earlier.map(raw::<Raw>).transpose()?.map(|raw| raw.interface);
        let (found, _) = interface(&mut connect()?, &asked.interface, known)?;
        // `nl80211_set_wiphy` takes these parameters of access points alone.
        if found.kind != InterfaceType::AccessPoint {
            let name = &found.name;
            return Err(PointError::Refused(format!(
                "{name} is no access point: the kernel takes parameters of own queues from access points alone"
            )));
        }
        let category = asked.access_category;
        let (parameters, source) = match configuration::find(&found.name, &self.configurations) {
            Some((_, text)) if !configuration::is_first(&text, &found.name) => {
                (configuration::kernel_default(category), Source::Kernel)
            }
            Some((path, text)) => {
                (configuration::own_by(&text, category), Source::Configuration(path))
            }
            None => (configuration::own_default(category), Source::Default),
        };
        Ok(of(found.index, parameters, Some(&source)))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let OwnEdca { aifsn, cw_min, cw_max, txop_us, .. } = *asked(set)?;
        raw::<Raw>(original)?;
        let parameters =
            Parameters::of_plan(aifsn, cw_min, cw_max, txop_us).map_err(PointError::Refused)?;
        Ok(Aim { value: of(raw::<Raw>(now)?.interface, parameters, None), interrupts: None })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let asked = asked(set)?;
        let Raw { interface, parameters } = raw(to)?;
        let request = own_edca::request(interface, asked.access_category, &parameters);
        let done = connect()?.act(&request);
        done.map_err(|error| refused(&error, &asked.interface, "parameters of own queues"))
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }

    fn tells(&self) -> bool {
        false
    }
}
