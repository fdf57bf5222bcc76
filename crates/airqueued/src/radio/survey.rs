//! How long a channel was busy, as the radio counts it.

use crate::netlink::NetlinkError;
use crate::radio::nl80211::{Numbers, Request, attribute, command, messages};
use serde::Serialize;

/// What a radio has counted on a channel (`struct survey_info`); times since it began to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChannelSurvey {
    /// Centre of the channel, in MHz.
    pub frequency_mhz: u32,
    /// Whether the interface uses this channel now.
    pub in_use: bool,
    /// Noise, in dBm.
    pub noise_dbm: Option<i8>,
    /// Time for which the radio was on the channel, in milliseconds.
    pub active_ms: Option<u64>,
    /// Time for which the channel was busy.
    pub busy_ms: Option<u64>,
    /// Time for which the radio received.
    pub receive_ms: Option<u64>,
    /// Time for which the radio transmitted.
    pub transmit_ms: Option<u64>,
}

/// The request that lists the channels of an interface's radio.
pub fn list(interface: u32) -> Request {
    Request::of_interface(command::GET_SURVEY, interface)
}

/// The channels of a list; drivers that count nothing list nothing.
pub fn read_all<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<ChannelSurvey>, NetlinkError> {
    let mut found = Vec::new();
    for from in messages(command::NEW_SURVEY_RESULTS, bodies)? {
        let info = from.inside(attribute::SURVEY_INFO)?;
        // Statistics of the whole radio have no frequency (`NL80211_ATTR_SURVEY_RADIO_STATS`).
        let Some(frequency_mhz) = info.u32(1) else { continue };
        found.push(ChannelSurvey {
            frequency_mhz,
            in_use: info.find(3).is_some(),
            noise_dbm: info.i8(2),
            active_ms: info.number(4),
            busy_ms: info.number(5),
            receive_ms: info.number(7),
            transmit_ms: info.number(8),
        });
    }
    Ok(found)
}

/// The fraction of time for which a channel was busy between two looks; absent if the radio does not count, or its
/// counters began anew.
pub fn busy_fraction(before: &ChannelSurvey, after: &ChannelSurvey) -> Option<f64> {
    let active = after.active_ms?.checked_sub(before.active_ms?)?;
    let busy = after.busy_ms?.checked_sub(before.busy_ms?)?;
    (before.frequency_mhz == after.frequency_mhz && active > 0 && busy <= active)
        .then(|| busy as f64 / active as f64)
}
