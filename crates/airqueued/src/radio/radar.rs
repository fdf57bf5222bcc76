//! Channels on which radar has precedence: a radio that starts there is silent until it has listened long enough.

use crate::netlink::NetlinkError;
use crate::netlink::attributes::{self, Attributes};
use crate::radio::nl80211::{Nl80211, Numbers, attribute, bodies, command, messages, needed};
use crate::radio::wiphy::{self, InterfaceType, WirelessInterface};
use std::ops::Range;

/// `NL80211_BAND_ATTR_FREQS`.
const FREQUENCIES: u16 = 1;
/// `NL80211_FREQUENCY_ATTR_FREQ`, `_RADAR` and `_DFS_CAC_TIME`.
const FREQUENCY: u16 = 1;
const RADAR: u16 = 5;
const CAC_TIME: u16 = 13;
/// Frequencies where most countries give precedence to radar, for machines whose cfg80211 cannot be asked.
const USUAL: [Range<u32>; 2] = [5250..5350, 5470..5730];
/// Those of weather radar, which is listened for ten times as long (ETSI EN 301 893, table D.1).
const WEATHER: Range<u32> = 5600..5650;
/// How long a radio listens (the same table; `IEEE80211_DFS_MIN_CAC_TIME_MS`).
const CHECK_S: u32 = 60;
const WEATHER_CHECK_S: u32 = 600;

/// A channel of 20 MHz of a phy, with radar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadarChannel {
    /// Number of the phy.
    pub wiphy: u32,
    /// Its centre in MHz.
    pub frequency_mhz: u32,
    /// How long the regulatory domain has a radio listen there, where the kernel tells it.
    pub check_s: Option<u32>,
}

/// Interfaces, and the channels of their phys where radar has precedence.
#[derive(Debug, Clone, Default)]
pub struct Radar {
    /// The interfaces.
    interfaces: Vec<WirelessInterface>,
    /// The channels; none if cfg80211 could not be asked.
    channels: Option<Vec<RadarChannel>>,
}

impl Radar {
    /// Asks cfg80211. What it does not tell is not known.
    pub fn ask() -> Self {
        Self::told().ok().flatten().unwrap_or_default()
    }

    fn told() -> Result<Option<Self>, NetlinkError> {
        let Some(mut nl80211) = Nl80211::open()? else { return Ok(None) };
        let phys = nl80211.list(&wiphy::list())?;
        if phys.is_empty() {
            return Ok(None);
        }
        let interfaces = nl80211.list(&wiphy::list_interfaces())?;
        let interfaces = wiphy::read_interfaces(bodies(&interfaces))?;
        Ok(Some(Self { interfaces, channels: Some(read_all(bodies(&phys))?) }))
    }

    /// Interfaces with beacons that are on channels with radar now, each in words.
    pub fn silenced(&self) -> Vec<String> {
        let channels = self.channels.as_deref().unwrap_or_default();
        let sends = |interface: &&WirelessInterface| {
            matches!(interface.kind, InterfaceType::AccessPoint | InterfaceType::MeshPoint)
        };
        let words = |interface: &WirelessInterface| {
            let band = interface.band_mhz()?;
            let seconds = check_s(channels, Some(interface.wiphy), &band)?;
            let (name, centre) = (&interface.name, interface.frequency_mhz?);
            Some(silence(&format!("the channel of {name} ({centre} MHz)"), seconds))
        };
        self.interfaces.iter().filter(sends).filter_map(words).collect()
    }

    /// What is said of a channel's number that a configuration names, if there is radar at 5 GHz. Without an answer of
    /// cfg80211 the channel is judged by what most countries have.
    pub fn at_channel(&self, channel: &str, width_mhz: u32) -> Option<String> {
        let number: u32 = channel.parse().ok()?;
        if !(36..=177).contains(&number) {
            return None;
        }
        let band = block(5000 + 5 * number, width_mhz);
        let usual =
            || USUAL.iter().any(|usual| overlap(usual, &band)).then(|| usual_check_s(&band));
        let seconds = match &self.channels {
            None => usual(),
            Some(channels) => check_s(channels, None, &band),
        };
        let wide = if width_mhz > 20 { format!(" ({width_mhz} MHz wide)") } else { String::new() };
        Some(silence(&format!("channel {number}{wide}"), seconds?))
    }
}

/// The channels with radar in a list of phys.
pub fn read_all<'a>(
    bodies: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<RadarChannel>, NetlinkError> {
    let mut found = Vec::new();
    for piece in messages(command::NEW_WIPHY, bodies)? {
        let wiphy = needed(piece.u32(attribute::WIPHY), "the number of a phy")?;
        for band in piece.inside(attribute::WIPHY_BANDS)?.0 {
            for channel in attributes::read(band.value)?.inside(FREQUENCIES)?.0 {
                found.extend(one(wiphy, &attributes::read(channel.value)?));
            }
        }
    }
    Ok(found)
}

fn one(wiphy: u32, channel: &Attributes<'_>) -> Option<RadarChannel> {
    channel.find(RADAR)?;
    let check_s = channel.u32(CAC_TIME).map(|ms| ms.div_ceil(1000));
    Some(RadarChannel { wiphy, frequency_mhz: channel.u32(FREQUENCY)?, check_s })
}

/// How long a radio listens before it sends in a band; none if there is no radar.
fn check_s(channels: &[RadarChannel], wiphy: Option<u32>, band: &Range<u32>) -> Option<u32> {
    let touched = |centre: u32| {
        centre.saturating_sub(10) < band.end && centre.saturating_add(10) > band.start
    };
    let of_phy = |channel: &&RadarChannel| wiphy.is_none_or(|wiphy| channel.wiphy == wiphy);
    let inside = channels.iter().filter(of_phy).filter(|channel| touched(channel.frequency_mhz));
    inside.map(|channel| channel.check_s.unwrap_or_else(|| usual_check_s(band))).max()
}

fn usual_check_s(band: &Range<u32>) -> u32 {
    if overlap(band, &WEATHER) { WEATHER_CHECK_S } else { CHECK_S }
}

fn overlap(one: &Range<u32>, other: &Range<u32>) -> bool {
    one.start < other.end && other.start < one.end
}

fn silence(place: &str, seconds: u32) -> String {
    let time = match seconds {
        600.. => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    };
    format!(
        "radar has precedence at {place}: a radio that starts there is silent for {time} before it sends"
    )
}

/// The block of channels of a width that has a channel of 20 MHz (802.11-2016, annex E): blocks begin at channel 36, and
/// at 149 in the upper part of the band.
fn block(centre_mhz: u32, width_mhz: u32) -> Range<u32> {
    let first = if centre_mhz >= 5735 { 5735 } else { 5170 };
    let width = width_mhz.clamp(20, 160);
    let start = first + (centre_mhz - 10).saturating_sub(first) / width * width;
    start..start + width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radar(is_told: bool) -> Radar {
        let channel = |frequency_mhz, check_s| RadarChannel { wiphy: 0, frequency_mhz, check_s };
        let interface = |name: &str, kind, frequency_mhz, width| WirelessInterface {
            index: 1,
            name: name.to_owned(),
            wiphy: 0,
            address: None,
            kind,
            frequency_mhz: Some(frequency_mhz),
            width,
            txq: None,
        };
        let ap = InterfaceType::AccessPoint;
        let channels = vec![channel(5260, None), channel(5500, Some(60)), channel(5640, None)];
        Radar {
            channels: is_told.then_some(channels),
            interfaces: vec![
                interface("low", ap, 5180, Some((5180, 20))),
                // Its beacons are at channel 36, and its wide frames reach channel 52.
                interface("wide", ap, 5180, Some((5250, 160))),
                interface("high", ap, 5500, None),
                interface("weather", InterfaceType::MeshPoint, 5640, None),
                interface("client", InterfaceType::Station, 5500, None),
            ],
        }
    }

    #[test]
    fn interfaces_that_a_start_would_silence_are_named_with_the_time() {
        let said = radar(true).silenced();
        let begins = ["wide (5180 MHz)", "high (5500 MHz)", "weather (5640 MHz)"];
        assert_eq!(said.len(), begins.len(), "{said:?}");
        for ((said, begin), time) in said.iter().zip(begins).zip(["60 s", "60 s", "10 min"]) {
            assert!(
                said.contains(begin) && said.contains(&format!("silent for {time} ")),
                "{said}"
            );
        }
    }

    #[test]
    fn a_channel_of_a_configuration_is_judged_with_its_width() {
        for is_told in [true, false] {
            let says = |channel: &str, width| radar(is_told).at_channel(channel, width);
            assert_eq!(says("36", 80), None);
            assert!(says("36", 160).unwrap().contains("at channel 36 (160 MHz wide):"));
            assert!(says("52", 20).unwrap().contains("silent for 60 s"));
            assert!(says("128", 20).unwrap().contains("silent for 10 min"));
            for none in ["auto", "6", "149", "", "-1", "99999999999"] {
                assert_eq!(says(none, 80), None, "{none}");
            }
        }
        // No radar at this country's channel 56, says the phy; without a phy it is taken for the usual one.
        assert_eq!(radar(true).at_channel("56", 20), None);
        assert!(radar(false).at_channel("56", 20).is_some());
    }

    #[test]
    fn blocks_are_those_of_the_standard() {
        assert_eq!(block(5180, 160), 5170..5330);
        assert_eq!(block(5320, 80), 5250..5330);
        assert_eq!(block(5500, 80), 5490..5570);
        assert_eq!(block(5745, 80), 5735..5815);
    }
}
