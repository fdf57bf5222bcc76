//! The physical layer of a scenario.

use super::error::{Result, error, wrong};
use super::file::{BehaviourName, PhyTable, Standard};
use super::quantity::{Quantity, Rate};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Behaviour, Network};
use airqueue_wifi::phy::{Conventions, Phy, Preamble, Slot, dsss, erp, ofdm};
use std::fmt::Display;

/// Rate of ns-2's control frames if a script names none (`basicRate_` in `ns-default.tcl`).
const NS2_CONTROL_RATE: &str = "1 Mb/s";

/// The layer with the behaviour, and the rate of data frames.
pub(super) fn network(table: &PhyTable, behaviour: BehaviourName) -> Result<(Network, RateIndex)> {
    let rules = Behaviour::from(behaviour).rules();
    if let BehaviourName::Ns2 = behaviour {
        check_ns2(table)?;
    }
    let phy = control(table, behaviour, layer(table, rules.conventions)?)?;
    let highest = phy.rates().max_by_key(|&(_, rate)| rate).expect("a layer has rates").0;
    let rate = match &table.rate {
        Some(rate) => rate_index(&phy, "phy.rate", rate)?,
        None => highest,
    };
    Ok((Network::new(phy, rules), rate))
}

/// The place of a rate in the layer's table.
pub(super) fn rate_index(phy: &Phy, key: impl Display, rate: &Quantity<Rate>) -> Result<RateIndex> {
    phy.rate_index(rate.value).map_err(|problem| error(key, problem))
}

fn layer(table: &PhyTable, conventions: Conventions) -> Result<Phy> {
    let preamble = table.preamble.map_or(Preamble::Long, Preamble::from);
    let slot = table.slot.map_or(Slot::Short, Slot::from);
    if table.standard == Standard::A && table.preamble.is_some() {
        return wrong("phy.preamble", "802.11a has one preamble; leave the key out");
    }
    if table.standard != Standard::G && table.slot.is_some() {
        return wrong("phy.slot", "only 802.11g has two slot times; leave the key out");
    }
    Ok(match table.standard {
        Standard::A => ofdm(conventions),
        Standard::B => dsss(preamble, conventions),
        Standard::G => erp(slot, preamble, conventions),
    })
}

/// `Mac/802_11` has DSSS's preamble of 192 µs before every frame, and one rate for all control frames.
fn check_ns2(table: &PhyTable) -> Result<()> {
    if table.standard != Standard::B {
        return wrong("phy.standard", "ns-2's behaviour is that of 802.11b, the layer of its MAC");
    }
    if table.preamble.is_some_and(|preamble| Preamble::from(preamble) == Preamble::Short) {
        return wrong("phy.preamble", "ns-2's frames have the long preamble");
    }
    if table.basic_rates.is_some() {
        let problem = "ns-2 sends all control frames at one rate; give phy.control_rate instead";
        return wrong("phy.basic_rates", problem);
    }
    Ok(())
}

fn control(table: &PhyTable, behaviour: BehaviourName, phy: Phy) -> Result<Phy> {
    match (&table.control_rate, &table.basic_rates) {
        (Some(_), Some(_)) => {
            let problem = "phy.control_rate is given too, which holds for all control frames; \
                           leave one of them out";
            wrong("phy.basic_rates", problem)
        }
        (Some(rate), None) => {
            phy.with_control_rate(rate.value).map_err(|problem| error("phy.control_rate", problem))
        }
        (None, Some(rates)) => {
            let rates: Vec<_> = rates.iter().map(|rate| rate.value).collect();
            phy.with_basic_rates(&rates).map_err(|problem| error("phy.basic_rates", problem))
        }
        (None, None) if matches!(behaviour, BehaviourName::Ns2) => {
            let rate = Quantity::<Rate>::of(NS2_CONTROL_RATE).value;
            Ok(phy.with_control_rate(rate).expect("a rate of 802.11b"))
        }
        (None, None) => Ok(phy),
    }
}
