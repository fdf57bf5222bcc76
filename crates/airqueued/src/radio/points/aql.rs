//! Limits of the airtime that waits in a driver.

use super::{another, failed, raw, value};
use crate::radio::aql::{AqlLimit, DEBUGFS, PhyFolder};
use crate::radio::error::RadioError;
use airqueue_control::plan::{Aql, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use std::path::PathBuf;

/// Sets the airtime queue limits of a phy's access category.
#[derive(Debug, Clone)]
pub struct AqlPoint {
    debugfs: PathBuf,
}

impl Default for AqlPoint {
    fn default() -> Self {
        Self::below(DEBUGFS)
    }
}

fn of(limit: AqlLimit) -> Value {
    let AqlLimit { low_us, high_us } = limit;
    value(format!("{low_us} us of airtime, {high_us} us while little waits"), &limit)
}

fn asked(set: &Set) -> Result<&Aql, PointError> {
    match set {
        Set::Aql(aql) => Ok(aql),
        other => Err(another(other)),
    }
}

impl AqlPoint {
    /// With debugfs mounted elsewhere.
    pub fn below(debugfs: impl Into<PathBuf>) -> Self {
        Self { debugfs: debugfs.into() }
    }

    fn folder(&self, phy: &str) -> Result<PhyFolder, PointError> {
        PhyFolder::new(&self.debugfs, phy).map_err(failed)
    }
}

impl ControlPoint for AqlPoint {
    fn read(&mut self, set: &Set, _earlier: Option<&Value>) -> Result<Value, PointError> {
        let Aql { phy, access_category, .. } = asked(set)?;
        let read = self.folder(phy)?.read().map_err(failed)?;
        let aql = read.ok_or_else(|| {
            failed(RadioError::Unsupported {
                what: phy.clone(),
                setting: "limits of airtime",
                reason: format!(
                    "{} has no aql_txq_limit for it: mount debugfs there, or take a kernel with CONFIG_MAC80211_DEBUGFS",
                    self.debugfs.display()
                ),
            })
        })?;
        Ok(of(aql.limit(*access_category)))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let aql = asked(set)?;
        raw::<AqlLimit>(now)?;
        raw::<AqlLimit>(original)?;
        let limit = AqlLimit { low_us: aql.limit_low_us, high_us: aql.limit_high_us };
        Ok(Aim { value: of(limit), interrupts: None })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let Aql { phy, access_category, .. } = asked(set)?;
        self.folder(phy)?.set_limit(*access_category, raw(to)?).map_err(failed)
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }
}
