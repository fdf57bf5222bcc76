//! The channel access of a station.

use super::error::{Result, error, wrong};
use super::file::{
    AccessName, AggregationTable, CategoryTable, CountdownName, DcfTable, EdcaTable, MacTable,
};
use super::profile::Profile;
use airqueue_core::Span;
use airqueue_core::keys::{Given, Layers};
use airqueue_wifi::contention::CountdownRule;
use airqueue_wifi::mac::{Aggregation, CategoryConfig, MacConfig};
use airqueue_wifi::phy::{EdcaEdition, EdcaRole, Phy, Protection, edca_defaults};

/// AIFSN and the exponents of windows are 4-bit fields in the EDCA Parameter Set (IEEE 802.11-2016, 9.4.2.29).
const MOST_AIFSN: u32 = 15;
const MOST_CW: u32 = (1 << 15) - 1;

/// The channel access function of a station. Stations of 802.11n and later are QoS stations (IEEE 802.11-2016, 4.3.13).
pub(super) fn access(layers: &Layers<'_, MacTable>, phy: &Phy) -> AccessName {
    let usual = if phy.newest_format().is_some() { AccessName::Edca } else { AccessName::Dcf };
    layers.find("access", |m| m.access.as_ref()).map_or(usual, |access| *access.value)
}

/// Whether a station has access categories.
pub(super) fn is_qos(mac: &MacConfig) -> bool {
    mac.categories.len() > 1
}

/// A station's MAC.
pub(super) fn mac(
    layers: &Layers<'_, MacTable>,
    phy: &Phy,
    profile: &Profile,
) -> Result<MacConfig> {
    let experimental = layers.find("experimental", |m| m.experimental.as_ref());
    let experimental = experimental.is_some_and(|given| *given.value);
    let categories = match access(layers, phy) {
        AccessName::Dcf => vec![dcf(&layers.within("dcf", |m| m.dcf.as_ref()), phy, experimental)?],
        AccessName::Edca if profile.dsss_alone => {
            let key = layers.find("access", |m| m.access.as_ref()).map(|access| access.key);
            let problem = format_args!("{}'s MAC has no EDCA", profile.name);
            return wrong(key.unwrap_or_default(), problem);
        }
        AccessName::Edca => edca(&layers.within("edca", |m| m.edca.as_ref()), phy, experimental)?,
    };
    let mut mac = MacConfig { experimental, ..MacConfig::new(categories) };
    if let Some(threshold) = layers.find("rts_threshold", |m| m.rts_threshold.as_ref()) {
        mac.rts_threshold_bytes = threshold.value.value;
    }
    if let Some(limit) = layers.find("short_retry_limit", |m| m.short_retry_limit.as_ref()) {
        mac.short_retry_limit = limit.check(positive)?;
    }
    if let Some(limit) = layers.find("long_retry_limit", |m| m.long_retry_limit.as_ref()) {
        mac.long_retry_limit = limit.check(positive)?;
    }
    mac.aggregation = aggregation(&layers.within("aggregation", |m| m.aggregation.as_ref()), phy)?;
    if let Some(lifetime) = layers.find("lifetime", |m| m.lifetime.as_ref()) {
        mac.lifetime = lifetime.check(|given| {
            let problem = "a packet must be sent once; expected more than 0 s";
            (given.value > Span::ZERO).then_some(given.value).ok_or(problem)
        })?;
    }
    if let Some(protection) = layers.find("protection", |m| m.protection.as_ref()) {
        mac.protection = Protection::from(*protection.value);
    }
    if let Some(rate) = layers.find("protection_rate", |m| m.protection_rate.as_ref()) {
        mac.protection_rate = Some(rate.check(|rate| phy.rate_index(rate.value))?);
    }
    Ok(mac)
}

fn aggregation(layers: &Layers<'_, AggregationTable>, phy: &Phy) -> Result<Option<Aggregation>> {
    let enabled = layers.find("enabled", |a| a.enabled.as_ref());
    let size = layers.find("max_size", |a| a.max_size.as_ref());
    let window = layers.find("window", |a| a.window.as_ref());
    if phy.newest_format().is_none() {
        let keys = [&enabled.map(|e| e.key), &size.map(|s| s.key), &window.map(|w| w.key)];
        return match keys.into_iter().flatten().next() {
            Some(key) => wrong(key, "802.11n and its successors have it; leave the key out"),
            None => Ok(None),
        };
    }
    let mut aggregation = Aggregation::STANDARD;
    if let Some(size) = &size {
        let problem = "found 0 B, expected at least 1 B; enabled = false sends each packet alone";
        let positive = |bytes: u32| (bytes > 0).then_some(bytes).ok_or(problem);
        aggregation.max_bytes = size.check(|size| positive(size.value))?;
    }
    if let Some(window) = &window {
        aggregation.window = window.check(|&mpdus| match mpdus {
            1..=256 => Ok(mpdus),
            _ => Err(format!("found {mpdus}, expected 1 to 256")),
        })?;
    }
    Ok(enabled.is_none_or(|enabled| *enabled.value).then_some(aggregation))
}

fn positive(limit: &u32) -> std::result::Result<u32, &'static str> {
    if *limit == 0 {
        Err("found 0, expected at least 1: a frame must be sent once")
    } else {
        Ok(*limit)
    }
}

fn dcf(layers: &Layers<'_, DcfTable>, phy: &Phy, experimental: bool) -> Result<CategoryConfig> {
    Contention {
        aifsn: layers.find("aifsn", |d| d.aifsn.as_ref()),
        cw_min: layers.find("cw_min", |d| d.cw_min.as_ref()),
        cw_max: layers.find("cw_max", |d| d.cw_max.as_ref()),
        countdown: layers.find("countdown", |d| d.countdown.as_ref()),
        experimental,
    }
    .of(CategoryConfig::dcf(phy))
}

fn edca(
    layers: &Layers<'_, EdcaTable>,
    phy: &Phy,
    experimental: bool,
) -> Result<Vec<CategoryConfig>> {
    let edition = layers.find("edition", |e| e.edition.as_ref());
    let edition = edition.map_or(EdcaEdition::Ieee2005, |name| EdcaEdition::from(*name.value));
    let role = layers.find("role", |e| e.role.as_ref());
    let role = role.map_or(EdcaRole::Station, |name| EdcaRole::from(*name.value));
    let defaults = edca_defaults(phy, edition, role).map(CategoryConfig::from);
    let own = [
        layers.within("bk", |e| e.bk.as_ref()),
        layers.within("be", |e| e.be.as_ref()),
        layers.within("vi", |e| e.vi.as_ref()),
        layers.within("vo", |e| e.vo.as_ref()),
    ];
    let config = |(own, defaults)| category(own, defaults, experimental);
    own.iter().zip(defaults).map(config).collect()
}

fn category(
    layers: &Layers<'_, CategoryTable>,
    mut defaults: CategoryConfig,
    experimental: bool,
) -> Result<CategoryConfig> {
    if let Some(txop) = layers.find("txop", |c| c.txop.as_ref()) {
        defaults.txop = txop.value.value;
    }
    Contention {
        aifsn: layers.find("aifsn", |c| c.aifsn.as_ref()),
        cw_min: layers.find("cw_min", |c| c.cw_min.as_ref()),
        cw_max: layers.find("cw_max", |c| c.cw_max.as_ref()),
        countdown: layers.find("countdown", |c| c.countdown.as_ref()),
        experimental,
    }
    .of(defaults)
}

/// The contention parameters given for a queue.
pub(super) struct Contention<'a> {
    pub(super) aifsn: Option<Given<'a, u32>>,
    pub(super) cw_min: Option<Given<'a, u32>>,
    pub(super) cw_max: Option<Given<'a, u32>>,
    pub(super) countdown: Option<Given<'a, CountdownName>>,
    pub(super) experimental: bool,
}

impl Contention<'_> {
    /// The configuration with what is given in place of its own.
    pub(super) fn of(&self, mut config: CategoryConfig) -> Result<CategoryConfig> {
        if let Some(aifsn) = &self.aifsn {
            config.aifsn = aifsn.check(|&aifsn| self.aifsn(aifsn))?;
        }
        if let Some(cw) = &self.cw_min {
            config.w_min = cw.check(|&cw| self.window(cw))?;
        }
        if let Some(cw) = &self.cw_max {
            config.w_max = cw.check(|&cw| self.window(cw))?;
        }
        if config.w_min > config.w_max {
            // One of the two was given: the defaults are valid.
            let given = self.cw_max.as_ref().or(self.cw_min.as_ref());
            let (low, high) = (config.w_min - 1, config.w_max - 1);
            let problem =
                format_args!("cw_min is {low} and cw_max is {high}; it cannot be smaller");
            return wrong(given.map_or("", |given| &given.key), problem);
        }
        if let Some(countdown) = &self.countdown {
            let rule = CountdownRule::from(*countdown.value);
            if rule != config.countdown && !self.experimental {
                let problem =
                    "the standard has another rule here; mac.experimental = true allows it";
                return Err(error(&countdown.key, problem));
            }
            config.countdown = rule;
        }
        Ok(config)
    }

    fn aifsn(&self, aifsn: u32) -> std::result::Result<u32, String> {
        let most = if self.experimental { CategoryConfig::LONGEST } else { MOST_AIFSN };
        if (1..=most).contains(&aifsn) {
            return Ok(aifsn);
        }
        Err(format!("found {aifsn}, expected 1 to {most}{}", self.hint()))
    }

    /// The number of values of a contention window.
    fn window(&self, cw: u32) -> std::result::Result<u32, String> {
        let most = if self.experimental { CategoryConfig::LONGEST - 1 } else { MOST_CW };
        if cw <= most && (self.experimental || (cw + 1).is_power_of_two()) {
            return Ok(cw + 1);
        }
        let kind = if self.experimental { "" } else { "one less than a power of two, " };
        Err(format!("found {cw}, expected {kind}0 to {most}{}", self.hint()))
    }

    fn hint(&self) -> &'static str {
        if self.experimental { "" } else { "; mac.experimental = true allows more" }
    }
}
