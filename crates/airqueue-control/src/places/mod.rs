//! Where the packets of an interface wait, what limits them there, and which limits that place cannot hold.
//!
//! A limit acts only where packets wait. On a wireless interface that is rarely the root qdisc: with mac80211's TXQs the
//! qdisc stays empty, and behind a FullMAC driver the firmware has the queue.

mod drivers;
mod limits;
mod obeys;

pub use limits::{
    FEWEST_IN_TXQS, MOST_DROPPED_AT_ONCE, Refused, Standing, dropped_at_once, holds, holds_queue,
};
pub use obeys::{Obeyed, Sample, judge};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// First kernel whose mac80211 has TXQs for every driver (`ieee80211_handle_wake_tx_queue`).
const ALL_HAVE_TXQS: (u32, u32) = (6, 2);
/// Qdiscs that send at a rate below that of the device, and therefore have the queue.
const SHAPERS: [&str; 4] = ["htb", "tbf", "hfsc", "cake"];

/// What was found out about an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Name of the interface.
    pub interface: String,
    /// Name of its driver, as ethtool tells it.
    pub driver: Option<String>,
    /// Kind of its root qdisc, as in tc.
    pub qdisc: Option<String>,
    /// Rate of the root qdisc, if it is a shaper with one rate, in bits per second.
    pub shaped_bps: Option<u64>,
    /// Packets that the ring of its driver holds, where ethtool tells it.
    pub ring_packets: Option<u32>,
    /// Major and minor number of the kernel.
    pub kernel: (u32, u32),
    /// What cfg80211 says, of wireless interfaces.
    pub wireless: Option<Wireless>,
}

/// What cfg80211 says about an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wireless {
    /// Name of the phy.
    pub phy: String,
    /// Whether mac80211 keeps a queue for each station and TID.
    pub has_txqs: bool,
    /// Whether the airtime that waits in the driver is limited.
    pub has_aql: bool,
    /// Whether the interface is a mesh station of 802.11s, which forwards frames of others.
    pub is_mesh: bool,
}

/// A place where packets wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// mac80211's queues for stations and TIDs.
    Txqs,
    /// The qdisc of a wireless interface whose driver has no TXQs.
    BeforeTxqs,
    /// The firmware of a FullMAC driver.
    Firmware,
    /// A wireless driver that is not known: its queue is wherever it is.
    Unknown,
    /// A qdisc that shapes.
    Shaper,
    /// The qdisc before a wired device.
    Wired,
    /// Nowhere: the interface hands packets on at once.
    Nowhere,
}

/// What holds for a place: the table of docs/control-points.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The place.
    pub place: Place,
    /// The mechanism that limits what waits there.
    pub mechanism: &'static str,
    /// What one limit is for.
    pub granularity: &'static str,
    /// What the limit costs.
    pub cost: &'static str,
    /// What cannot be held there.
    pub cannot: &'static str,
}

/// The table, a row for each place.
pub const TABLE: [Row; 7] = [
    Row {
        place: Place::Txqs,
        mechanism: "nl80211 TXQ limit, memory limit and quantum (mac80211's FQ-CoDel)",
        granularity: "one limit for all stations and TIDs of the phy",
        cost: "an overflow drops half of the fattest flow from its head, at most 32 packets",
        cannot: "limits below 64 packets, limits for single stations, drop-tail; a root qdisc stays empty",
    },
    Row {
        place: Place::BeforeTxqs,
        mechanism: "root qdisc of the interface, in the place of mq",
        granularity: "one limit for the interface, all stations together",
        cost: "one queue in the place of four: access categories wait for one another in it",
        cannot: "what the driver and its hardware hold behind the qdisc; limits for single stations",
    },
    Row {
        place: Place::Firmware,
        mechanism: "none: packets wait in the firmware of a FullMAC driver",
        granularity: "nothing is visible and nothing can be set",
        cost: "a shaper below the rate of the air, which costs the difference, is all that is left",
        cannot: "every limit",
    },
    Row {
        place: Place::Unknown,
        mechanism: "none: it is not known where this driver's packets wait",
        granularity: "nothing is known",
        cost: "a shaper below the rate of the air, which costs the difference, is all that is left",
        cannot: "every limit",
    },
    Row {
        place: Place::Shaper,
        mechanism: "the qdisc below the shaper",
        granularity: "one limit for the qdisc, or for each class",
        cost: "the shaper's rate must stay below that of the link at all times: the difference is lost",
        cannot: "its limit while the link is slower than the shaper: packets then wait behind it",
    },
    Row {
        place: Place::Wired,
        mechanism: "root qdisc of the interface; the driver's ring by ethtool behind it",
        granularity: "one limit for the interface",
        cost: "nothing, while the link of this interface is the bottleneck",
        cannot: "what the driver's ring holds behind the qdisc",
    },
    Row {
        place: Place::Nowhere,
        mechanism: "none: packets do not wait at this interface",
        granularity: "nothing",
        cost: "nothing",
        cannot: "every limit",
    },
];

impl Place {
    /// What holds for this place.
    pub fn row(self) -> &'static Row {
        let found = TABLE.iter().find(|row| row.place == self);
        found.expect("a test finds a row for every place")
    }
}

/// Where an interface's packets wait, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Placed {
    /// The place.
    pub place: Place,
    /// How it is known.
    pub because: String,
    /// What else is to be known before something is set there.
    pub notes: Vec<String>,
}

/// Finds the place of an interface's queue.
pub fn place(facts: &Facts) -> Placed {
    let (place, because) = find(facts);
    Placed { place, because, notes: notes(facts, place) }
}

fn find(facts: &Facts) -> (Place, String) {
    let qdisc = facts.qdisc.as_deref().unwrap_or("noqueue");
    if qdisc == "noop" {
        return (Place::Nowhere, "it is down (noop)".to_owned());
    }
    // cake sends as fast as the device unless it has a rate.
    if SHAPERS.contains(&qdisc) && (qdisc != "cake" || facts.shaped_bps.is_some()) {
        let rate = facts.shaped_bps.map(|bps| format!(" at {bps} bit/s")).unwrap_or_default();
        return (Place::Shaper, format!("its root qdisc {qdisc} shapes{rate}"));
    }
    if let Some(wireless) = &facts.wireless {
        return find_wireless(facts, wireless);
    }
    let at_once = |driver: &&str| drivers::WITHOUT_QUEUE.contains(driver);
    if let Some(driver) = facts.driver.as_deref().filter(at_once) {
        let what = format!("it is a device ({driver}) that hands packets on at once");
        return (Place::Nowhere, what);
    }
    if qdisc == "noqueue" {
        return (Place::Nowhere, "it has no queue of its own (noqueue)".to_owned());
    }
    (Place::Wired, format!("its root qdisc is {qdisc}, and cfg80211 does not know it"))
}

fn find_wireless(facts: &Facts, wireless: &Wireless) -> (Place, String) {
    let driver = facts.driver.as_deref().unwrap_or("unknown");
    if wireless.has_txqs {
        return (Place::Txqs, format!("mac80211 says that {} has TXQs", wireless.phy));
    }
    if drivers::FULL_MAC.contains(&driver) {
        return (Place::Firmware, format!("{driver} is a FullMAC driver"));
    }
    let (major, minor) = facts.kernel;
    if facts.kernel >= ALL_HAVE_TXQS {
        return (
            Place::Firmware,
            format!("{driver} has no TXQs, and Linux {major}.{minor} has them for all of mac80211"),
        );
    }
    if drivers::WITHOUT_TXQS.contains(&driver) {
        return (
            Place::BeforeTxqs,
            format!("{driver} has no TXQs in Linux {major}.{minor} (before 6.2)"),
        );
    }
    (Place::Unknown, format!("the driver {driver} is in no list of airqueue"))
}

fn notes(facts: &Facts, place: Place) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(wireless) = &facts.wireless else { return notes };
    if wireless.is_mesh {
        notes.push(
            "frames that 802.11s forwards pass no qdisc, only the phy's queues; with mesh_fwding 0 and IP routes they do"
                .to_owned(),
        );
    }
    if place == Place::Txqs {
        let mut held =
            "frames for the next aggregates are in the driver, behind the limit".to_owned();
        let which = if wireless.has_aql { ", as far as AQL lets them" } else { "; it has no AQL" };
        let _ = write!(held, "{which}");
        notes.push(held);
    }
    if matches!(place, Place::Shaper) && wireless.has_txqs {
        notes.push("what waits when the air is slower than the shaper is in the TXQs".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
