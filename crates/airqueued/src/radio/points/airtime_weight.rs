//! The weight of a station when airtime is shared.

use super::{another, connect, failed, interface, raw, refused, value};
use crate::radio::error::RadioError;
use crate::radio::nl80211::{MacAddress, bodies};
use crate::radio::station;
use airqueue_control::plan::{AirtimeWeight, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use serde::{Deserialize, Serialize};

/// Sets the airtime weight of a station. A station that connects anew has the kernel's weight again.
#[derive(Debug, Clone, Copy, Default)]
pub struct AirtimeWeightPoint;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    interface: u32,
    weight: u16,
}

fn of(interface: u32, weight: u16) -> Value {
    value(format!("weight {weight}"), &Raw { interface, weight })
}

fn asked(set: &Set) -> Result<(&AirtimeWeight, MacAddress), PointError> {
    let Set::AirtimeWeight(weight) = set else { return Err(another(set)) };
    let address = weight.station_address().ok_or_else(|| {
        PointError::Refused(format!("{:?} is no address of a station", weight.station))
    })?;
    Ok((weight, MacAddress(address)))
}

impl ControlPoint for AirtimeWeightPoint {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let (asked, address) = asked(set)?;
        let known = earlier.map(raw::<Raw>).transpose()?.map(|raw| raw.interface);
        let mut nl80211 = connect()?;
        let (interface, phy) = interface(&mut nl80211, &asked.interface, known)?;
        let told = nl80211.list(&station::list(interface.index));
        let stations = told
            .and_then(|told| station::read_all(bodies(&told)))
            .map_err(|error| failed(error.into()))?;
        let Some(station) = stations.into_iter().find(|station| station.address == address) else {
            let text = format!("the station {address} is not connected to {}", interface.name);
            return Err(PointError::Gone(text));
        };
        let weight = station.airtime_weight.filter(|_| phy.has_airtime_fairness);
        let weight = weight.ok_or_else(|| {
            failed(RadioError::Unsupported {
                what: phy.name,
                setting: "weights of airtime",
                reason: "its driver does not let mac80211 share airtime".to_owned(),
            })
        })?;
        Ok(of(interface.index, weight))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let weight = asked(set)?.0.weight;
        raw::<Raw>(original)?;
        let weight = u16::try_from(weight)
            .map_err(|_| PointError::Refused(format!("a weight of {weight} is above 65535")))?;
        Ok(Aim { value: of(raw::<Raw>(now)?.interface, weight), interrupts: None })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let (asked, address) = asked(set)?;
        let Raw { interface, weight } = raw(to)?;
        let request = station::set_airtime_weight(interface, address, weight);
        let done = connect()?.act(&request);
        done.map_err(|error| refused(&error, &asked.station, "a weight of airtime"))
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }
}
