//! The control points of radios and drivers, as plans use them.

mod airtime_weight;
mod aql;
mod edca;
mod own_edca;
mod ring;
mod txq;

pub use airtime_weight::AirtimeWeightPoint;
pub use aql::AqlPoint;
pub use edca::EdcaPoint;
pub use own_edca::OwnEdcaPoint;
pub use ring::RingPoint;
pub use txq::TxqPoint;

use crate::netlink::NetlinkError;
use crate::radio::error::RadioError;
use crate::radio::facts::Radios;
use crate::radio::nl80211::Nl80211;
use crate::radio::wiphy::{Wiphy, WirelessInterface};
use airqueue_control::point::{PointError, Value};
use nix::errno::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// All of them.
#[derive(Debug, Clone, Default)]
pub struct RadioPoints {
    /// Of [`airqueue_control::plan::Txq`].
    pub txq: TxqPoint,
    /// Of [`airqueue_control::plan::Edca`].
    pub edca: EdcaPoint,
    /// Of [`airqueue_control::plan::OwnEdca`].
    pub own_edca: OwnEdcaPoint,
    /// Of [`airqueue_control::plan::AirtimeWeight`].
    pub airtime_weight: AirtimeWeightPoint,
    /// Of [`airqueue_control::plan::Aql`].
    pub aql: AqlPoint,
    /// Of [`airqueue_control::plan::Ring`].
    pub ring: RingPoint,
}

/// A value of a control point: words for people, and what is needed to put it back.
pub(crate) fn value(words: String, raw: &impl Serialize) -> Value {
    Value {
        words,
        raw: serde_json::to_value(raw).expect("a structure of numbers and texts is JSON"),
    }
}

/// What a control point wrote into a value; a journal may have been written by another version.
pub(crate) fn raw<T: DeserializeOwned>(value: &Value) -> Result<T, PointError> {
    serde_json::from_value(value.raw.clone()).map_err(|error| {
        PointError::Refused(format!("the value {:?} is of another version: {error}", value.words))
    })
}

/// The part of the error that a plan's transaction acts upon.
fn failed(error: RadioError) -> PointError {
    let words = error.to_string();
    match error {
        RadioError::Absent { .. } => PointError::Gone(words),
        RadioError::Netlink(error) => refused(&error, "cfg80211", "the request"),
        RadioError::Call { reason, .. } if reason == Errno::EPERM.desc() => denied(&words),
        RadioError::File { denied: true, .. } => denied(&words),
        _ => PointError::Refused(words),
    }
}

/// The kernel's refusal to set something.
fn refused(error: &NetlinkError, what: &str, setting: &str) -> PointError {
    match error.errno() {
        Some(Errno::EPERM) => denied(&format!("{what} does not take {setting}: {error}")),
        Some(Errno::ENODEV | Errno::ENOENT) => PointError::Gone(format!("{what} is gone: {error}")),
        Some(Errno::EOPNOTSUPP) => PointError::Refused(format!(
            "{what} has no such setting: its driver and kernel do not take {setting} ({error})"
        )),
        _ => PointError::Refused(format!("{what} does not take {setting}: {error}")),
    }
}

fn denied(words: &str) -> PointError {
    PointError::Denied(format!("{words}; run as root, or with CAP_NET_ADMIN"))
}

/// cfg80211, or why it cannot be asked.
fn connect() -> Result<Nl80211, PointError> {
    let none = || PointError::Gone("there is no radio: cfg80211 is not loaded".to_owned());
    Nl80211::open().map_err(|error| failed(error.into()))?.ok_or_else(none)
}

/// A phy by its number, if it was read before, else by its name.
fn phy(nl80211: &mut Nl80211, name: &str, earlier: Option<u32>) -> Result<Wiphy, PointError> {
    let radios = Radios::read_by(nl80211).map_err(failed)?;
    let is_meant = |phy: &Wiphy| match earlier {
        Some(index) => phy.index == index,
        None => phy.name == name,
    };
    let absent = || RadioError::Absent { kind: "phy", name: name.to_owned() };
    radios.phys.into_iter().find(is_meant).ok_or_else(|| failed(absent()))
}

/// A wireless interface and its phy, found as [`phy`] finds one.
fn interface(
    nl80211: &mut Nl80211,
    name: &str,
    earlier: Option<u32>,
) -> Result<(WirelessInterface, Wiphy), PointError> {
    let radios = Radios::read_by(nl80211).map_err(failed)?;
    let is_meant = |interface: &&WirelessInterface| match earlier {
        Some(index) => interface.index == index,
        None => interface.name == name,
    };
    let absent =
        || failed(RadioError::Absent { kind: "wireless interface", name: name.to_owned() });
    let found = radios.interfaces.iter().find(is_meant).ok_or_else(absent)?;
    let phy = radios.phy_of(found).ok_or_else(absent)?;
    Ok((found.clone(), phy.clone()))
}

/// A setting that belongs to another control point: the table of control points is wrong.
pub(crate) fn another(set: &airqueue_control::plan::Set) -> PointError {
    PointError::Refused(format!("the {} is set by another control point", set.point()))
}

#[cfg(test)]
mod tests;
