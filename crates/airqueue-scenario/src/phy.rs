//! The physical layer of a scenario.

use super::error::{Result, error, wrong};
use super::file::{BandName, PhyTable, Standard};
use super::profile::Profile;
use super::quantity::{FrameRate, SchemeName};
use airqueue_wifi::mac::Radio;
use airqueue_wifi::phy::{
    Band, Capability, Conventions, Format, GuardInterval, Mcs, Phy, Preamble, Slot, Width, dsss,
    erp, he, ht, ofdm, vht,
};
use airqueue_wifi::{PhyError, RateIndex};
use std::fmt::Display;

/// The layer with the behaviour, and the rate of data frames.
pub(super) fn radio(table: &PhyTable, profile: &Profile) -> Result<(Radio, RateIndex)> {
    let rules = profile.mac.rules();
    if profile.dsss_alone {
        check_dsss(table, profile.name)?;
    }
    let phy = control(table, profile, layer(table, rules.conventions)?)?;
    if let (Some(_), Some(_)) = (&table.rate, table.rate_control.and_then(|name| name.algorithm()))
    {
        return wrong("phy.rate", "phy.rate_control looks for it; leave one of them out");
    }
    let rate = match &table.rate {
        Some(rate) => rate_index(table, &phy, "phy.rate", rate)?,
        None => highest(table, &phy)?,
    };
    Ok((Radio::new(phy, rules), rate))
}

/// The place of a rate in the layer's table.
pub(super) fn rate_index(
    table: &PhyTable,
    phy: &Phy,
    key: impl Display,
    rate: &FrameRate,
) -> Result<RateIndex> {
    let found = match rate {
        FrameRate::Legacy(rate) => phy.rate_index(rate.value),
        FrameRate::Scheme(name) => phy.mcs_index(Shape::of(table)?.scheme(name)),
    };
    found.map_err(|problem| match (rate, phy.newest_format()) {
        (FrameRate::Legacy(_), Some(format)) => {
            error(key, format_args!("{problem}, or a scheme such as \"{format}-MCS7\""))
        }
        _ => error(key, problem),
    })
}

/// The rates among which rate control looks: to or from a station that is older than 802.11n those without a scheme,
/// otherwise the schemes of the file's standard with its guard interval.
pub(super) fn rates(table: &PhyTable, phy: &Phy, old: bool) -> Result<Vec<RateIndex>> {
    let format = table.standard.format().filter(|_| !old);
    let guard = guard(table)?;
    let fits = |rate: &RateIndex| match phy.mcs(*rate) {
        Some(mcs) => Some(mcs.format) == format && mcs.guard == guard,
        None => format.is_none(),
    };
    Ok(phy.rates().map(|(rate, _)| rate).filter(fits).collect())
}

/// The highest rate, from 802.11n on the highest scheme of the file's shape.
fn highest(table: &PhyTable, phy: &Phy) -> Result<RateIndex> {
    let Some(format) = table.standard.format() else {
        return Ok(phy.rates().max_by_key(|&(_, rate)| rate).expect("a layer has rates").0);
    };
    let shape = Shape::of(table)?;
    let schemes = (0..=format.highest_index()).rev();
    let mut known = schemes.filter_map(|index| phy.mcs_index(shape.mcs(format, index)).ok());
    Ok(known.next().expect("every shape has an MCS 0"))
}

/// What the names of schemes leave out.
struct Shape {
    width: Width,
    streams: u8,
    guard: GuardInterval,
}

impl Shape {
    fn of(table: &PhyTable) -> Result<Shape> {
        let Capability { width, streams } = capability(table)?;
        Ok(Shape { width, streams, guard: guard(table)? })
    }

    /// A format that has not so wide channels has its widest, and one without the guard interval 0.8 µs.
    fn mcs(&self, format: Format, index: u8) -> Mcs {
        let guard = match format.guards().contains(&self.guard) {
            true => self.guard,
            false => GuardInterval::Ns800,
        };
        let width = self.width.min(format.widest());
        Mcs { format, index, streams: self.streams, width, guard }
    }

    fn scheme(&self, name: &SchemeName) -> Mcs {
        let (index, streams) = match name.format {
            Format::Ht => (name.number % 8, name.number / 8 + 1),
            Format::Vht | Format::He => (name.number, name.streams.unwrap_or(self.streams)),
        };
        let usual = self.mcs(name.format, index);
        let (width, guard) = (name.width.unwrap_or(usual.width), name.guard.unwrap_or(usual.guard));
        Mcs { streams, width, guard, ..usual }
    }
}

fn capability(table: &PhyTable) -> Result<Capability> {
    let usual = match (table.standard, table.band) {
        (Standard::N, _) | (_, Some(BandName::Ghz2_4)) => Width::Mhz20,
        _ => Width::Mhz80,
    };
    let width = match &table.width {
        None => usual,
        Some(width) => {
            let known = |known: &Width| f64::from(known.mhz()) * 1e6 == width.value;
            Width::ALL.into_iter().find(known).ok_or_else(|| {
                let found = &width.text;
                error("phy.width", format_args!("found {found:?}, expected 20, 40, 80 or 160 MHz"))
            })?
        }
    };
    // More than any layer has, if it is more than fits.
    let streams = table.streams.map_or(1, |streams| streams.try_into().unwrap_or(u8::MAX));
    Ok(Capability { width, streams })
}

fn guard(table: &PhyTable) -> Result<GuardInterval> {
    let (Some(given), Some(format)) = (&table.guard_interval, table.standard.format()) else {
        return Ok(GuardInterval::Ns800);
    };
    let mut guards = format.guards().iter();
    guards.find(|guard| guard.duration() == given.value).copied().ok_or_else(|| {
        let some = if format == Format::He { "0.8, 1.6 or 3.2" } else { "0.4 or 0.8" };
        let found = &given.text;
        error("phy.guard_interval", format_args!("found {found:?}, expected {some} us"))
    })
}

fn layer(table: &PhyTable, conventions: Conventions) -> Result<Phy> {
    check_old(table)?;
    check_at_5_ghz(table)?;
    let preamble = table.preamble.map_or(Preamble::Long, Preamble::from);
    let slot = table.slot.map_or(Slot::Short, Slot::from);
    let band = match table.band {
        Some(BandName::Ghz2_4) => Band::Ghz2_4 { slot, preamble },
        Some(BandName::Ghz5) | None => Band::Ghz5,
    };
    let made = match table.standard {
        Standard::A => Ok(ofdm(conventions)),
        Standard::B => Ok(dsss(preamble, conventions)),
        Standard::G => Ok(erp(slot, preamble, conventions)),
        Standard::N => ht(band, capability(table)?, conventions),
        Standard::Ac => vht(capability(table)?, conventions),
        Standard::Ax => he(band, capability(table)?, conventions),
    };
    made.map_err(|problem| match problem {
        PhyError::Streams { .. } => error("phy.streams", problem),
        _ => error("phy.width", problem),
    })
}

/// What came with 802.11n.
fn check_old(table: &PhyTable) -> Result<()> {
    let given = [
        ("band", table.band.is_some()),
        ("width", table.width.is_some()),
        ("streams", table.streams.is_some()),
        ("guard_interval", table.guard_interval.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((key, _)) if table.standard.format().is_none() => {
            let problem = "802.11n and its successors have it; leave the key out";
            wrong(format_args!("phy.{key}"), problem)
        }
        _ => Ok(()),
    }
}

/// DSSS and its slot are at 2.4 GHz.
fn check_at_5_ghz(table: &PhyTable) -> Result<()> {
    let at_2_4 = match table.standard {
        Standard::A => false,
        Standard::B | Standard::G => true,
        Standard::Ac if table.band == Some(BandName::Ghz2_4) => {
            return wrong("phy.band", "802.11ac is at 5 GHz alone; leave the key out");
        }
        Standard::N | Standard::Ac | Standard::Ax => table.band == Some(BandName::Ghz2_4),
    };
    if !at_2_4 && table.preamble.is_some() {
        let problem = match table.standard {
            Standard::A => "802.11a has one preamble; leave the key out",
            _ => "only frames of 802.11b have two, at 2.4 GHz; leave the key out",
        };
        return wrong("phy.preamble", problem);
    }
    if (!at_2_4 || table.standard == Standard::B) && table.slot.is_some() {
        let problem =
            "only 802.11g, and what is with it at 2.4 GHz, has two slot times; leave the key out";
        return wrong("phy.slot", problem);
    }
    Ok(())
}

/// Such a MAC, `Mac/802_11` of ns-2, has DSSS's preamble of 192 µs before every frame, and one rate for all control frames.
fn check_dsss(table: &PhyTable, name: &str) -> Result<()> {
    if table.standard != Standard::B {
        let problem = format_args!("{name}'s behaviour is that of 802.11b, the layer of its MAC");
        return wrong("phy.standard", problem);
    }
    if table.preamble.is_some_and(|preamble| Preamble::from(preamble) == Preamble::Short) {
        return wrong("phy.preamble", format_args!("{name}'s frames have the long preamble"));
    }
    if table.basic_rates.is_some() {
        let problem = format_args!(
            "{name} sends all control frames at one rate; give phy.control_rate instead"
        );
        return wrong("phy.basic_rates", problem);
    }
    Ok(())
}

fn control(table: &PhyTable, profile: &Profile, phy: Phy) -> Result<Phy> {
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
        (None, None) => match profile.control_rate {
            Some(rate) => Ok(phy.with_control_rate(rate).expect("a rate of 802.11b")),
            None => Ok(phy),
        },
    }
}
