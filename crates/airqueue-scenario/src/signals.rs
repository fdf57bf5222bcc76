//! The keys of signals that change: fading, and recorded signal-to-noise ratios and rates of links.

use super::error::{Result, error, wrong};
use super::file::{FadingTable, File, RateTraceTable, ShadowingTable, SnrTraceTable};
use super::links::pairs_between;
use super::medium::NO_POWERS;
use super::quantity::{Duration, Quantity};
use super::stations::Stations;
use airqueue_core::{Span, Time};
use airqueue_network::wlan::{LinkSignal, SignalLaw, SignalsSpec};
use airqueue_wifi::medium::{
    Fading, FastFading, Reach, Shadowing, StationId, Steps, Thresholds, coherence_of_speed, from_db,
};
use airqueue_wifi::phy::{ModulationClass, Phy};
use std::collections::BTreeMap;

/// Most steps of a record.
pub(super) const MOST_STEPS: usize = 1_000_000;
/// The shortest coherence time: shorter than any frame of a fast rate.
const LEAST_COHERENCE: Span = Span::from_micros(10);
const MOST_SHADOWING_DB: f64 = 30.0;
/// Beyond this many standard deviations shadowing is not expected (one in 30 000), and of fast fading this much gain (one
/// in 20 000).
const DEVIATIONS: f64 = 4.0;
const FAST_GAIN_DB: f64 = 10.0;

/// A table of a record: its times, and how many values it has.
pub(super) struct Given<'a> {
    pub(super) file: &'a Option<String>,
    pub(super) time_s: &'a Option<Vec<f64>>,
    pub(super) values: Option<usize>,
    pub(super) name: &'static str,
    pub(super) repeat: &'a Option<Quantity<Duration>>,
}

impl Given<'_> {
    /// The times, after which a record begins anew, if it does.
    pub(super) fn times(&self, key: &str) -> Result<(Vec<Time>, Option<Span>)> {
        if let Some(file) = self.file {
            let shown: String = file.chars().take(200).collect();
            let problem = format_args!(
                "the file {shown:?} has not been read; leave `time_s` and `{}` out, and simulate the scenario with \
                 airqueue's command or from Python",
                self.name
            );
            return wrong(format_args!("{key}.file"), problem);
        }
        let (Some(times), Some(values)) = (self.time_s, self.values) else {
            let problem = format_args!("give `file`, or `time_s` and `{}`", self.name);
            return wrong(key, problem);
        };
        if times.len() != values || !(1..=MOST_STEPS).contains(&values) {
            let problem = format_args!(
                "found {} times and {values} values, expected as many of each, 1 to {MOST_STEPS}",
                times.len()
            );
            return wrong(format_args!("{key}.time_s"), problem);
        }
        let valid = |&time: &f64| (0.0..=1e9).contains(&time);
        if let Some(at) = times.iter().position(|time| !valid(time)) {
            let problem = format_args!("found {} s, expected 0 to 1e9 s", times[at]);
            return wrong(format_args!("{key}.time_s[{at}]"), problem);
        }
        let instant = |&time: &f64| Time::ZERO + Span::from_secs_f64(time);
        let times: Vec<Time> = times.iter().map(instant).collect();
        if let Some(at) = times.windows(2).position(|pair| pair[0] >= pair[1]) {
            let problem = "it is not later than the time before; times must rise";
            return wrong(format_args!("{key}.time_s[{}]", at + 1), problem);
        }
        let repeat = self.repeat.as_ref().map(|repeat| repeat.value);
        match repeat {
            Some(period) if Time::ZERO + period <= times[times.len() - 1] => wrong(
                format_args!("{key}.repeat"),
                "the last time of the record is not before it; expected a longer time",
            ),
            repeat => Ok((times, repeat)),
        }
    }

    /// The record, with values by their place.
    pub(super) fn steps(&self, key: &str, value: impl Fn(usize) -> f64) -> Result<Steps> {
        let (times, repeat) = self.times(key)?;
        let steps = times.into_iter().enumerate().map(|(at, time)| (time, value(at))).collect();
        Steps::new(steps, repeat).ok_or_else(|| error(key, "its times do not rise"))
    }
}

/// Reads a recorded signal-to-noise ratio, as a ratio of powers.
fn snr_steps(key: &str, table: &SnrTraceTable) -> Result<Steps> {
    let SnrTraceTable { file, time_s, snr_db, repeat } = table;
    let values = snr_db.as_ref().map(Vec::len);
    let given = Given { file, time_s, values, name: "snr_db", repeat };
    let snr_db = snr_db.as_deref().unwrap_or_default();
    let valid = |&snr: &f64| (-100.0..=100.0).contains(&snr);
    if let Some(at) = snr_db.iter().position(|snr| !valid(snr)) {
        let problem = format_args!("found {} dB, expected -100 to 100 dB", snr_db[at]);
        return wrong(format_args!("{key}.snr_db[{at}]"), problem);
    }
    given.steps(key, |at| from_db(snr_db[at]))
}

/// The rates of a record by time: the places in the table's list.
pub(super) fn rate_steps(key: &str, table: &RateTraceTable) -> Result<Steps> {
    let RateTraceTable { file, time_s, rate, repeat } = table;
    let values = rate.as_ref().map(Vec::len);
    Given { file, time_s, values, name: "rate", repeat }.steps(key, |at| at as f64)
}

fn shadowing(key: &str, table: &ShadowingTable) -> Result<Option<Shadowing>> {
    let (deviation_db, coherence) = (table.deviation.value, table.coherence.value);
    if !(0.0..=MOST_SHADOWING_DB).contains(&deviation_db) {
        let problem = format_args!("found {}, expected 0 to 30 dB", table.deviation.text);
        return wrong(format_args!("{key}.deviation"), problem);
    }
    if coherence < LEAST_COHERENCE {
        return wrong(format_args!("{key}.coherence"), "expected at least 10 us");
    }
    Ok((deviation_db > 0.0).then_some(Shadowing { deviation_db, coherence }))
}

fn fast(key: &str, table: &FadingTable, frequency_hz: f64) -> Result<FastFading> {
    let coherence = match (&table.coherence, &table.speed) {
        (Some(coherence), None) => coherence.value,
        (None, Some(speed)) => coherence_of_speed(speed.value, frequency_hz),
        (Some(_), Some(_)) => {
            return wrong(
                format_args!("{key}.speed"),
                "coherence is given too; leave one of them out",
            );
        }
        (None, None) => return wrong(key, "missing key `coherence` or `speed`"),
    };
    if coherence < LEAST_COHERENCE {
        return wrong(format_args!("{key}.coherence"), "expected at least 10 us");
    }
    let k = table.line_of_sight.as_ref().map_or(0.0, |k| from_db(k.value.clamp(-100.0, 100.0)));
    Ok(FastFading { coherence, k })
}

/// How far fading may raise a signal above its mean, in dB; 0 without fading. A station so much too far away to be heard
/// may still be heard at times.
pub(super) fn margin_db(file: &File) -> f64 {
    let tables = file.links.iter();
    let of_links = tables.map(|of| (of.shadowing.as_deref(), of.fading.as_deref()));
    let medium = (file.medium.shadowing.as_deref(), file.medium.fading.as_deref());
    let margins = of_links.chain([medium]).map(|(shadowing, fading)| {
        let slow = shadowing
            .map_or(0.0, |of| DEVIATIONS * of.deviation.value.clamp(0.0, MOST_SHADOWING_DB));
        slow + if fading.is_some() { FAST_GAIN_DB } else { 0.0 }
    });
    margins.fold(0.0, f64::max)
}

/// The laws of links while the tables are read.
struct Laws<'a> {
    stations: &'a Stations,
    reach: &'a Reach,
    frequency_hz: f64,
    spec: SignalsSpec,
    law_of: BTreeMap<(usize, usize), u32>,
}

/// Signals that change, without interference; `thresholds`: those of a path loss.
pub(super) fn signals(
    file: &File,
    stations: &Stations,
    phy: &Phy,
    reach: &Reach,
    thresholds: Option<Thresholds>,
) -> Result<SignalsSpec> {
    let frequency_hz = carrier_hz(phy);
    let spec = SignalsSpec { thresholds, ..SignalsSpec::default() };
    let law_of = BTreeMap::new();
    let mut laws = Laws { stations, reach, frequency_hz, spec, law_of };
    let medium = &file.medium;
    let all = laws.fading("medium", medium.shadowing.as_deref(), medium.fading.as_deref())?;
    if all != Fading::default() {
        let law = laws.add(SignalLaw { fading: all, snr: None });
        let ids = 0..stations.specs.len();
        let pairs = pairs_between(reach, &ids, &ids, |_| true);
        laws.law_of.extend(pairs.into_iter().map(|pair| (pair, law)));
    }
    for (at, table) in file.links.iter().enumerate() {
        let key = format!("links[{at}]");
        let snr = match (&table.snr, &table.snr_trace) {
            (Some(_), Some(_)) => {
                return wrong(
                    format_args!("{key}.snr"),
                    "snr_trace is given too; leave one of them out",
                );
            }
            (Some(snr), None) => Some(Steps::constant(from_db(snr.value))),
            (None, Some(trace)) => Some(snr_steps(&format!("{key}.snr_trace"), trace)?),
            (None, None) => None,
        };
        if snr.is_some() && !reach.powers_known() {
            let name = if table.snr.is_some() { "snr" } else { "snr_trace" };
            return wrong(format_args!("{key}.{name}"), NO_POWERS);
        }
        let fading = laws.fading(&key, table.shadowing.as_deref(), table.fading.as_deref())?;
        if table.shadowing.is_none() && table.fading.is_none() && snr.is_none() {
            continue;
        }
        // What the table leaves out is as for all links.
        let fading = Fading {
            shadowing: if table.shadowing.is_some() { fading.shadowing } else { all.shadowing },
            fast: fading.fast.or(all.fast),
        };
        let recorded = table.snr_trace.is_some();
        if recorded && (table.shadowing.is_some() || table.fading.is_some()) {
            let problem = "a recorded signal has its fading in it; leave shadowing and fading out";
            return wrong(format_args!("{key}.snr_trace"), problem);
        }
        let fading = if recorded { Fading::default() } else { fading };
        laws.set(&key, &table.between, SignalLaw { fading, snr })?;
    }
    laws.finish()
}

/// The carrier of channel 1 or 36, as in captures.
fn carrier_hz(phy: &Phy) -> f64 {
    let at_2_ghz = phy.rates().any(|(rate, _)| phy.class(rate) == ModulationClass::Dsss);
    if at_2_ghz { 2.412e9 } else { 5.18e9 }
}

impl Laws<'_> {
    fn add(&mut self, law: SignalLaw) -> u32 {
        self.spec.laws.push(law);
        self.spec.laws.len() as u32 - 1
    }

    fn fading(
        &self,
        key: &str,
        slow: Option<&ShadowingTable>,
        quick: Option<&FadingTable>,
    ) -> Result<Fading> {
        let given = [("shadowing", slow.is_some()), ("fading", quick.is_some())];
        let name = given.iter().find(|(_, given)| *given).map(|(name, _)| *name);
        if let (Some(name), false) = (name, self.reach.powers_known()) {
            return wrong(format_args!("{key}.{name}"), NO_POWERS);
        }
        let slow = slow.map(|of| shadowing(&format!("{key}.shadowing"), of)).transpose()?;
        let quick = quick.map(|of| fast(&format!("{key}.fading"), of, self.frequency_hz));
        Ok(Fading { shadowing: slow.flatten(), fast: quick.transpose()? })
    }

    fn set(&mut self, key: &str, between: &[String; 2], law: SignalLaw) -> Result<()> {
        let one = self.stations.find(format_args!("{key}.between[0]"), &between[0])?.ids;
        let other = self.stations.find(format_args!("{key}.between[1]"), &between[1])?.ids;
        let pairs = pairs_between(self.reach, &one, &other, |_| true);
        if pairs.is_empty() {
            let problem = format_args!(
                "{:?} and {:?} are out of reach of each other, and have no link",
                between[0], between[1]
            );
            return wrong(format_args!("{key}.between"), problem);
        }
        let law = self.add(law);
        self.law_of.extend(pairs.into_iter().map(|pair| (pair, law)));
        Ok(())
    }

    fn finish(mut self) -> Result<SignalsSpec> {
        let stations = self.stations.specs.len();
        if !self.law_of.is_empty() && stations > SignalsSpec::MOST_STATIONS {
            let problem = format_args!(
                "found {stations}, expected at most {} where signals change",
                SignalsSpec::MOST_STATIONS
            );
            return wrong("stations", problem);
        }
        let id = |at: usize| StationId(at as u32);
        let link = |(&(one, other), &law): (&(usize, usize), &u32)| LinkSignal {
            one: id(one),
            other: id(other),
            law,
        };
        self.spec.links = self.law_of.iter().map(link).collect();
        Ok(self.spec)
    }
}
