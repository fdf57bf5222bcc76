//! The ring of a driver.

use super::{another, failed, raw, value};
use crate::radio::error::RadioError;
use crate::radio::ethtool;
use airqueue_control::plan::{Ring, Set};
use airqueue_control::point::{Aim, ControlPoint, PointError, Value};
use nix::net::if_::if_nametoindex;
use serde::{Deserialize, Serialize};

/// Sets how many packets a driver's ring holds. A driver that makes another number of it has refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct RingPoint;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    interface: u32,
    packets: u32,
}

fn of(interface: u32, packets: u32) -> Value {
    value(format!("{packets} packets"), &Raw { interface, packets })
}

fn asked(set: &Set) -> Result<&Ring, PointError> {
    match set {
        Set::Ring(ring) => Ok(ring),
        other => Err(another(other)),
    }
}

/// The number of an interface; ethtool goes by names, which another interface may have by now.
fn number(name: &str, earlier: Option<u32>) -> Result<u32, PointError> {
    let index = if_nametoindex(name).ok();
    index
        .filter(|&index| earlier.is_none_or(|earlier| earlier == index))
        .ok_or_else(|| failed(RadioError::Absent { kind: "interface", name: name.to_owned() }))
}

impl ControlPoint for RingPoint {
    fn read(&mut self, set: &Set, earlier: Option<&Value>) -> Result<Value, PointError> {
        let name = &asked(set)?.interface;
        let known = earlier.map(raw::<Raw>).transpose()?.map(|raw| raw.interface);
        let index = number(name, known)?;
        let ring = ethtool::read_tx_ring(name).map_err(failed)?;
        let ring = ring.ok_or_else(|| failed(ethtool::no_ring(name)))?;
        Ok(of(index, ring.packets))
    }

    fn aim(&mut self, set: &Set, now: &Value, original: &Value) -> Result<Aim, PointError> {
        let ring = asked(set)?;
        raw::<Raw>(original)?;
        ethtool::check_tx_ring(&ring.interface, ring.packets).map_err(failed)?;
        let now: Raw = raw(now)?;
        let interrupts = (now.packets != ring.packets)
            .then(|| format!("most drivers take the link of {} down and up again", ring.interface));
        Ok(Aim { value: of(now.interface, ring.packets), interrupts })
    }

    fn put(&mut self, set: &Set, to: &Value) -> Result<(), PointError> {
        let name = &asked(set)?.interface;
        let Raw { interface, packets } = raw(to)?;
        number(name, Some(interface))?;
        ethtool::set_tx_ring(name, packets).map_err(failed)
    }

    fn same(&self, now: &Value, wanted: &Value) -> bool {
        now.raw == wanted.raw
    }
}
