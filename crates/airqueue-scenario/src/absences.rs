//! The keys of stations that scan, and of stations that go out of reach.

use super::error::{Result, wrong};
use super::file::{DeparturesTable, File, ScansTable};
use super::power::{Given, Power, positive};
use super::quantity::{Duration, Quantity};
use airqueue_core::Span;
use airqueue_network::wlan::{AbsenceKind, AbsenceSpec};
use airqueue_wifi::medium::StationId;

/// The channels of 2.4 GHz in most of the world, but for one.
const CHANNELS: u32 = 12;
const MOST_CHANNELS: u32 = 1000;
/// `IEEE80211_PROBE_DELAY` and `IEEE80211_CHANNEL_TIME` of Linux's mac80211, 1/33 s each.
const DWELL: Span = Span::from_millis(60);
/// mac80211 visits another channel if it will be back within an eighth of a second
/// (`ieee80211_scan_state_decision`).
const AT_ONCE: u32 = 2;
/// `ieee80211_scan_state_suspend` of Linux's mac80211.
const HOME: Span = Span::from_millis(200);

impl Given<'_> {
    /// The absences of all stations. Those that tell their access points are added to the stations that sleep.
    pub(super) fn absences(&self, file: &File, power: &mut Power) -> Result<Vec<AbsenceSpec>> {
        let mut absences = Vec::new();
        for (at, ids) in self.stations.members.iter().enumerate() {
            let table = &file.stations[at];
            let key = format!("stations[{at}]");
            if table.scans.is_some() && table.departures.is_some() {
                let problem =
                    "a station with `scans` has no `departures`; leave one of the two out";
                return wrong(key, problem);
            }
            for id in ids.clone() {
                if let Some(scans) = &table.scans {
                    absences.push(self.scans(&format!("{key}.scans"), scans, id, power)?);
                }
                if let Some(departures) = &table.departures {
                    absences.push(departure(&format!("{key}.departures"), departures, id)?);
                }
            }
        }
        Ok(absences)
    }

    fn scans(
        &self,
        key: &str,
        table: &ScansTable,
        id: usize,
        power: &mut Power,
    ) -> Result<AbsenceSpec> {
        let channels = table.channels.unwrap_or(CHANNELS);
        if !(1..=MOST_CHANNELS).contains(&channels) {
            let problem = format_args!("found {channels}, expected 1 to {MOST_CHANNELS}");
            return wrong(format_args!("{key}.channels"), problem);
        }
        let at_once = table.at_once.unwrap_or(AT_ONCE);
        if at_once == 0 {
            return wrong(format_args!("{key}.at_once"), "found 0, expected at least 1");
        }
        let station = StationId(id as u32);
        let sends = power.beacons.iter().any(|of| of.station == station);
        let tells = table.tells.unwrap_or(!sends);
        if !tells && table.access_point.is_some() {
            let problem = "the station tells nobody; leave it out";
            return wrong(format_args!("{key}.access_point"), problem);
        }
        if tells {
            self.let_tell(key, table, id, power)?;
        }
        let home = table.home.as_ref().map_or(HOME, |home| home.value);
        let kind = AbsenceKind::Scan { channels, at_once, home, tells };
        let dwell = positive(key, "dwell", table.dwell.as_ref())?.unwrap_or(DWELL);
        let times = Times::new(key, &table.period, &table.first, &table.jitter)?;
        times.spec(key, station, kind, dwell)
    }

    /// The station has an access point that it tells of its scans.
    fn let_tell(&self, key: &str, table: &ScansTable, id: usize, power: &mut Power) -> Result<()> {
        let found = power.sleepers.iter().find(|of| of.station.index() == id);
        let named = table.access_point.as_ref();
        if let (Some(_), Some(_)) = (found, named) {
            let problem = "it is that of `power_save`; leave it out";
            return wrong(format_args!("{key}.access_point"), problem);
        }
        if found.is_none() {
            let teller = self.teller(key, named, id, &power.beacons)?;
            power.sleepers.push(teller);
        }
        Ok(())
    }
}

fn departure(key: &str, table: &DeparturesTable, id: usize) -> Result<AbsenceSpec> {
    let times = Times::new(key, &table.period, &table.first, &table.jitter)?;
    let lasts = positive(key, "lasts", Some(&table.lasts))?.unwrap_or_default();
    times.spec(key, StationId(id as u32), AbsenceKind::OutOfReach, lasts)
}

/// When a station is absent.
struct Times {
    first: Option<Span>,
    period: Span,
    jitter: Span,
}

impl Times {
    fn new(
        key: &str,
        period: &Quantity<Duration>,
        first: &Option<Quantity<Duration>>,
        jitter: &Option<Quantity<Duration>>,
    ) -> Result<Times> {
        let period = positive(key, "period", Some(period))?.unwrap_or_default();
        let first = first.as_ref().map(|first| first.value);
        Ok(Times { first, period, jitter: jitter.as_ref().map_or(Span::ZERO, |of| of.value) })
    }

    fn spec(
        self,
        key: &str,
        station: StationId,
        kind: AbsenceKind,
        lasts: Span,
    ) -> Result<AbsenceSpec> {
        let Times { first, period, jitter } = self;
        let spec = AbsenceSpec { station, kind, first, period, jitter, lasts };
        let whole = Span::from_nanos(spec.whole().as_nanos().saturating_add(jitter.as_nanos()));
        if whole > period {
            let problem = format_args!(
                "found {} s, but one takes {} s with its largest delay; give a longer period",
                period.as_secs_f64(),
                whole.as_secs_f64()
            );
            return wrong(format_args!("{key}.period"), problem);
        }
        Ok(spec)
    }
}
