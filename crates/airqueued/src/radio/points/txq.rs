//! Limits of mac80211's queues of a phy.

use super::{another, connect, failed, phy, raw, refused, value};
use crate::radio::error::RadioError;
use crate::radio::txq::TxqLimits;
use crate::radio::wiphy::Wiphy;
use airqueue_control::places::{Place, holds};
use airqueue_control::plan::{Set, Txq};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use serde::{Deserialize, Serialize};

/// Sets the TXQ limit, memory limit and quantum of a phy.
#[derive(Debug, Clone, Copy, Default)]
pub struct TxqPoint;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    wiphy: u32,
    limits: TxqLimits,
}

fn of(wiphy: u32, limits: TxqLimits) -> Value {
    value(limits.to_string(), &Raw { wiphy, limits })
}

fn asked(set: &Set) -> Result<&Txq, PointError> {
    match set {
        Set::Txq(txq) => Ok(txq),
        other => Err(another(other)),
    }
}

fn limits(phy: &Wiphy) -> Result<TxqLimits, PointError> {
    let reason = if phy.has_txqs {
        "the kernel does not tell them (before Linux 4.18)"
    } else {
        "mac80211 has no TXQs for its driver in this kernel; limit the interface's qdisc"
    };
    phy.txq_limits.ok_or_else(|| {
        failed(RadioError::Unsupported {
            what: phy.name.clone(),
            setting: "limits of TXQs",
            reason: reason.to_owned(),
        })
    })
}

impl ControlPoint for TxqPoint {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let name = &asked(set)?.phy;
        let known = earlier.map(raw::<Raw>).transpose()?.map(|raw| raw.wiphy);
        let phy = phy(&mut connect()?, name, known)?;
        Ok(of(phy.index, limits(&phy)?))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let txq = asked(set)?;
        let Raw { wiphy, limits: now } = raw(now)?;
        raw::<Raw>(original)?;
        if let Some(limit) = txq.limit_packets {
            holds(&txq.phy, Place::Txqs, limit)
                .map_err(|error| PointError::Refused(error.to_string()))?;
        }
        let limits = TxqLimits {
            limit_packets: txq.limit_packets.unwrap_or(now.limit_packets),
            memory_limit_bytes: txq.memory_limit_bytes.unwrap_or(now.memory_limit_bytes),
            quantum_bytes: txq.quantum_bytes.unwrap_or(now.quantum_bytes),
        };
        let shrinks = limits.limit_packets < now.limit_packets
            || limits.memory_limit_bytes < now.memory_limit_bytes;
        let interrupts = shrinks.then(|| {
            format!(
                "packets of {} that wait above the new limit are dropped at the next arrival",
                txq.phy
            )
        });
        Ok(Aim { value: of(wiphy, limits), interrupts })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let Raw { wiphy, limits } = raw(to)?;
        let done = connect()?.act(&limits.request(wiphy));
        let phy = &asked(set)?.phy;
        done.map_err(|error| refused(&error, phy, "limits of TXQs"))
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }
}
