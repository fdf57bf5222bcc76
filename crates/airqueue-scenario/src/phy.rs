//! The physical layer of a scenario.

use super::error::{Result, error, wrong};
use super::file::PhyTable;
use super::profile::Profile;
use super::quantity::FrameRate;
use airqueue_wifi::mac::Radio;
use airqueue_wifi::phy::{
    Conventions, GuardInterval, OptionName, Options, Phy, Preamble, ResponseTimeout, Shape, Width,
};
use airqueue_wifi::{PhyError, RateIndex};
use std::fmt::Display;

/// The physical layer with the behaviour, and the rate of data frames.
pub(super) fn radio(table: &PhyTable, profile: &Profile) -> Result<(Radio, RateIndex)> {
    let rules = profile.mac.rules();
    if profile.dsss_alone {
        check_dsss(table, profile.name)?;
    }
    let phy = control(table, profile, layer(table, rules.conventions)?)?;
    let phy = covering(table, profile, phy)?;
    if let (Some(_), Some(_)) = (&table.rate, table.rate_control.filter(|name| name.looks())) {
        return wrong("phy.rate", "phy.rate_control looks for it; leave one of them out");
    }
    let rate = match &table.rate {
        Some(rate) => rate_index(table, &phy, "phy.rate", rate)?,
        None => highest(table, &phy)?,
    };
    Ok((Radio::new(phy, rules), rate))
}

/// The layer with the slot of its coverage class.
fn covering(table: &PhyTable, profile: &Profile, phy: Phy) -> Result<Phy> {
    let Some(class) = table.coverage_class else { return Ok(phy) };
    if class > Phy::MOST_COVERAGE {
        let problem = format_args!("found {class}, expected 0 to {}", Phy::MOST_COVERAGE);
        return wrong("phy.coverage_class", problem);
    }
    if phy.conventions().response_timeout == ResponseTimeout::End {
        let problem = format_args!("{} has no coverage classes; leave the key out", profile.name);
        return wrong("phy.coverage_class", problem);
    }
    Ok(phy.with_coverage_class(class))
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
        FrameRate::Scheme(name) => phy.mcs_index(shape(table)?.named(name)),
    };
    found.map_err(|problem| match (rate, phy.newest_format()) {
        (FrameRate::Legacy(_), Some(format)) => {
            error(key, format_args!("{problem}, or a scheme such as \"{format}-MCS7\""))
        }
        _ => error(key, problem),
    })
}

/// The rates for rate control: to or from a station older than 802.11n, the rates without a scheme; otherwise the
/// schemes of the file's standard with its guard interval.
pub(super) fn rates(table: &PhyTable, phy: &Phy, old: bool) -> Result<Vec<RateIndex>> {
    let format = table.standard.0.format.filter(|_| !old);
    let guard = shape(table)?.guard;
    let fits = |rate: &RateIndex| match phy.mcs(*rate) {
        Some(mcs) => Some(mcs.format) == format && mcs.guard == guard,
        None => format.is_none(),
    };
    Ok(phy.rates().map(|(rate, _)| rate).filter(fits).collect())
}

/// The highest rate; from 802.11n on, the highest scheme of the file's shape.
fn highest(table: &PhyTable, phy: &Phy) -> Result<RateIndex> {
    Ok(match table.standard.0.format {
        None => phy.rates().max_by_key(|&(_, rate)| rate).expect("a layer has rates").0,
        Some(format) => shape(table)?.highest(phy, format).expect("every shape has an MCS 0"),
    })
}

/// The parameters that the names of schemes leave out.
fn shape(table: &PhyTable) -> Result<Shape> {
    Ok(table.standard.0.shape(&options(table)?))
}

/// The given options of the layer, all of which the layer supports.
fn options(table: &PhyTable) -> Result<Options> {
    Ok(Options {
        band: table.band.map(Into::into),
        width: width(table)?,
        // A number that does not fit is larger than any layer supports.
        streams: table.streams.map(|streams| streams.try_into().unwrap_or(u8::MAX)),
        guard: guard(table)?,
        preamble: table.preamble.map(Preamble::from),
        slot: table.slot.map(Into::into),
        ..Options::default()
    })
}

fn width(table: &PhyTable) -> Result<Option<Width>> {
    let Some(given) = &table.width else { return Ok(None) };
    let known = |width: &&Width| f64::from(width.mhz()) * 1e6 == given.value;
    Width::ALL.iter().find(known).copied().map(Some).ok_or_else(|| {
        let (found, some) = (&given.text, Width::alternatives());
        error("phy.width", format_args!("found {found:?}, expected {some}"))
    })
}

fn guard(table: &PhyTable) -> Result<Option<GuardInterval>> {
    let (Some(given), Some(format)) = (&table.guard_interval, table.standard.0.format) else {
        return Ok(None);
    };
    GuardInterval::of(format, given.value).map(Some).ok_or_else(|| {
        let (found, some) = (&given.text, format.guards_us());
        error("phy.guard_interval", format_args!("found {found:?}, expected {some} us"))
    })
}

fn layer(table: &PhyTable, conventions: Conventions) -> Result<Phy> {
    check_given(table)?;
    let made = table.standard.0.phy(&options(table)?, conventions);
    made.map_err(|problem| match problem {
        PhyError::Streams { .. } => error("phy.streams", problem),
        _ => error("phy.width", problem),
    })
}

/// Checks that the layer supports the given keys.
fn check_given(table: &PhyTable) -> Result<()> {
    let generation = table.standard.0;
    let band = table.band.map_or(generation.bands[0], Into::into);
    let given = [
        (OptionName::Band, table.band.is_some()),
        (OptionName::Width, table.width.is_some()),
        (OptionName::Streams, table.streams.is_some()),
        (OptionName::GuardInterval, table.guard_interval.is_some()),
        (OptionName::Preamble, table.preamble.is_some()),
        (OptionName::Slot, table.slot.is_some()),
    ];
    let given = given.iter().filter(|(_, given)| *given);
    let mut refused = given.filter_map(|(option, _)| {
        let reason = generation.refusal(*option, band)?;
        Some(error(format_args!("phy.{option}"), format_args!("{reason}; leave the key out")))
    });
    refused.next().map_or(Ok(()), Err)
}

/// Checks the layer for `Mac/802_11` of ns-2, which has the DSSS preamble of 192 µs before every frame, and one rate
/// for all control frames.
fn check_dsss(table: &PhyTable, name: &str) -> Result<()> {
    if !table.standard.0.dsss_alone {
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
