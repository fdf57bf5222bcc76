//! Channel access that an access point announces, by hostapd, which takes it and does not tell.

use super::{another, failed, raw, value};
use crate::radio::edca::Parameters;
use crate::radio::hostapd::Hostapd;
use crate::radio::hostapd::configuration::{self, Source};
use airqueue_control::plan::{Edca, HOSTAPD_CONTROL, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Has hostapd announce other parameters of an access category; stations stay.
#[derive(Debug, Clone)]
pub struct EdcaPoint {
    configurations: Vec<PathBuf>,
}

impl Default for EdcaPoint {
    fn default() -> Self {
        Self::with_configurations(configuration::folders())
    }
}

/// What is announced, by which hostapd.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    parameters: Parameters,
    /// When hostapd made its socket, in nanoseconds since 1970: a hostapd that was started anew has its configuration.
    hostapd_ns: i64,
}

fn of(parameters: Parameters, hostapd_ns: i64, source: Option<&Source>) -> Value {
    let source = source.map(|source| format!(" ({source}; hostapd does not tell)"));
    let words = format!("{parameters}{}", source.unwrap_or_default());
    value(words, &Raw { parameters, hostapd_ns })
}

fn asked(set: &Set) -> Result<&Edca, PointError> {
    match set {
        Set::Edca(edca) => Ok(edca),
        other => Err(another(other)),
    }
}

impl EdcaPoint {
    /// With configurations of hostapd in other folders.
    pub fn with_configurations(configurations: Vec<PathBuf>) -> Self {
        Self { configurations }
    }
}

fn open(edca: &Edca, interface: &str) -> Result<Hostapd, PointError> {
    let folder = edca.control.as_deref().unwrap_or(HOSTAPD_CONTROL);
    Hostapd::open(Path::new(folder), interface).map_err(failed)
}

impl ControlPoint for EdcaPoint {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let edca = asked(set)?;
        let mut hostapd = open(edca, &edca.interface)?;
        hostapd.ping().map_err(failed)?;
        let hostapd_ns = hostapd.started_ns().map_err(failed)?;
        let known = earlier.map(raw::<Raw>).transpose()?;
        if known.is_some_and(|known| known.hostapd_ns != hostapd_ns) {
            let path = hostapd.path().display();
            let text =
                format!("hostapd at {path} was started anew, and announces its configuration");
            return Err(PointError::Gone(text));
        }
        let category = edca.access_category;
        let (parameters, source) = match configuration::find(&edca.interface, &self.configurations)
        {
            Some((path, text)) => {
                (configuration::announced_by(&text, category), Source::Configuration(path))
            }
            None => (Parameters::default_of(category), Source::Default),
        };
        Ok(of(parameters, hostapd_ns, Some(&source)))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let edca = asked(set)?;
        raw::<Raw>(original)?;
        let Raw { parameters: now, hostapd_ns } = raw(now)?;
        let parameters = Parameters::of_plan(
            edca.aifsn.unwrap_or(now.aifsn.into()),
            edca.cw_min.unwrap_or(now.cw_min().into()),
            edca.cw_max.unwrap_or(now.cw_max().into()),
            edca.txop_us.unwrap_or(now.txop_us()),
        );
        let parameters = parameters.map_err(PointError::Refused)?;
        Ok(Aim { value: of(parameters, hostapd_ns, None), interrupts: None })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let edca = asked(set)?;
        let Raw { parameters, .. } = raw(to)?;
        let mut hostapd = open(edca, &edca.interface)?;
        hostapd.announce(edca.access_category, &parameters).map_err(failed)?;
        // The BSSs of a radio share the parameters, and each has a beacon with a count of its own.
        let about = hostapd.about().map_err(failed)?;
        hostapd.update_beacon().map_err(failed)?;
        for name in about.bss_names.iter().filter(|name| **name != edca.interface) {
            let mut other = open(edca, name)?;
            other.count_anew(edca.access_category, &parameters).map_err(failed)?;
            other.update_beacon().map_err(failed)?;
        }
        // The count has four bits: it may be where it was after the next setting, to stations that heard nothing between.
        std::thread::sleep(about.heard_within());
        Ok(())
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }

    fn tells(&self) -> bool {
        false
    }
}
