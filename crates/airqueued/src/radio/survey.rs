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

/// Whether a radio has counted nothing since: drivers take their counters from the hardware now and then, and a radio that scans
/// is not on its channel.
pub fn stands_still(before: &ChannelSurvey, after: &ChannelSurvey) -> bool {
    let counted = |survey: &ChannelSurvey| (survey.frequency_mhz, survey.active_ms);
    counted(before) == counted(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(frequency_mhz: u32, active_ms: u64, busy_ms: u64) -> ChannelSurvey {
        ChannelSurvey {
            frequency_mhz,
            in_use: true,
            noise_dbm: None,
            active_ms: Some(active_ms),
            busy_ms: Some(busy_ms),
            receive_ms: None,
            transmit_ms: None,
        }
    }

    #[test]
    fn a_channel_is_busy_for_the_share_that_was_added() {
        let before = counted(2412, 1000, 900);
        assert_eq!(busy_fraction(&before, &counted(2412, 1500, 1150)), Some(0.5));
        for after in [
            // No time has passed, the counters began anew, another channel, more busy than there was time.
            counted(2412, 1000, 900),
            counted(2412, 100, 50),
            counted(2437, 1500, 1150),
            counted(2412, 1100, 1150),
            ChannelSurvey { busy_ms: None, ..counted(2412, 1500, 0) },
        ] {
            assert_eq!(busy_fraction(&before, &after), None, "{after:?}");
        }
        assert!(stands_still(&before, &counted(2412, 1000, 901)));
        assert!(!stands_still(&before, &counted(2437, 1000, 900)));
        assert!(!stands_still(&before, &counted(2412, 100, 90)), "they began anew");
    }
}
