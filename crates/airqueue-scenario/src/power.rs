//! The keys of beacons and of stations that sleep.

use super::error::{Result, error, wrong};
use super::file::{BeaconsTable, File, KeptName, PowerSaveTable, TwtTable, WakeUpName};
use super::links::decodes;
use super::medium::Medium;
use super::quantity::{Duration, Packets, Quantity, Rate};
use super::stations::Stations;
use airqueue_core::Span;
use airqueue_network::wlan::{BeaconSpec, PowerSaveSpec, TwtSpec, UapsdSpec, WakeUp};
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{CategoryConfig, Txop};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::{AccessCategory, Phy};

/// 100 time units of 1024 µs.
const INTERVAL: Span = Span::from_micros(102_400);
/// hostapd's `dtim_period`.
const DTIM_PERIOD: u32 = 2;
/// The DTIM period is one byte of the TIM, and the beacon interval two (9.4.2.6, 9.4.1.3).
const MOST_DTIM_PERIOD: u32 = 255;
const MOST_INTERVAL: Span = Span::from_micros(65_535 * 1_024);
const LEAST_INTERVAL: Span = Span::from_micros(1_024);
const BEACON_BYTES: u32 = 300;
/// `dynamic_ps_timeout` of Linux's mac80211.
const TIMEOUT: Span = Span::from_millis(100);
/// The values of Max SP Length, besides all (9.4.1.17).
const MAX_SERVICE_PERIODS: [u32; 3] = [2, 4, 6];
const BEACON_WAIT: Span = Span::from_millis(10);

/// Beacons, and stations that sleep.
pub(super) struct Power {
    pub(super) beacons: Vec<BeaconSpec>,
    pub(super) sleepers: Vec<PowerSaveSpec>,
}

/// The inputs.
pub(super) struct Given<'a> {
    pub(super) stations: &'a Stations,
    pub(super) phy: &'a Phy,
    pub(super) medium: &'a Medium,
}

impl Power {
    pub(super) fn new(file: &File, given: &Given<'_>) -> Result<Power> {
        let mut beacons = Vec::new();
        for (at, table) in file.beacons.iter().enumerate() {
            given.beacons(&format!("beacons[{at}]"), table, &mut beacons)?;
        }
        let mut sleepers = Vec::new();
        for (at, ids) in given.stations.members.iter().enumerate() {
            let Some(table) = &file.stations[at].power_save else { continue };
            let key = format!("stations[{at}].power_save");
            for id in ids.clone() {
                sleepers.push(given.sleeper(&key, table, id, &beacons)?);
            }
        }
        Ok(Power { beacons, sleepers })
    }
}

impl Given<'_> {
    fn beacons(&self, key: &str, table: &BeaconsTable, all: &mut Vec<BeaconSpec>) -> Result<()> {
        let interval = table.interval.as_ref().map_or(INTERVAL, |interval| interval.value);
        if !(LEAST_INTERVAL..=MOST_INTERVAL).contains(&interval) {
            let problem = "expected 1.024 ms to 67.1 s, the time units of a beacon's 16 bits";
            return wrong(format_args!("{key}.interval"), problem);
        }
        let dtim_period = table.dtim_period.unwrap_or(DTIM_PERIOD);
        if !(1..=MOST_DTIM_PERIOD).contains(&dtim_period) {
            let problem = format_args!("found {dtim_period}, expected 1 to {MOST_DTIM_PERIOD}");
            return wrong(format_args!("{key}.dtim_period"), problem);
        }
        let rate = self.rate(&format!("{key}.rate"), table.rate.as_ref())?;
        let bytes = table.size.as_ref().map_or(BEACON_BYTES, |size| size.value);
        let (least, most) = (BeaconSpec::LEAST_BYTES, self.phy.max_mpdu_bytes(rate));
        if !(least..=most).contains(&bytes) {
            let problem = format_args!("found {bytes} B, expected {least} to {most} B");
            return wrong(format_args!("{key}.size"), problem);
        }
        let packets = |of: &Option<Quantity<Packets>>, usual| {
            of.as_ref().map_or(usual, |packets| packets.value as usize)
        };
        let found = self.stations.find(format_args!("{key}.station"), &table.station)?;
        for id in found.ids {
            let station = StationId(id as u32);
            if all.iter().any(|other| other.station == station) {
                let name = self.stations.name(id);
                let problem = format_args!("{name:?} has a table of beacons before this one");
                return wrong(format_args!("{key}.station"), problem);
            }
            all.push(BeaconSpec {
                station,
                interval,
                first: table.first.as_ref().map(|first| first.value),
                dtim_period,
                bytes,
                rate,
                access: self.beacon_access(key, table, id)?,
                buffer_packets: packets(&table.buffer, BeaconSpec::BUFFER_PACKETS),
                group_buffer_packets: packets(
                    &table.group_buffer,
                    BeaconSpec::GROUP_BUFFER_PACKETS,
                ),
                total_buffer_packets: packets(
                    &table.total_buffer,
                    BeaconSpec::TOTAL_BUFFER_PACKETS,
                ),
                before_queue: match table.kept {
                    Some(kept) => kept == KeptName::BeforeQueue,
                    None => self.holds_for_sleepers(id),
                },
            });
        }
        Ok(())
    }

    /// Whether all queues of a station hold packets back for neighbours that sleep.
    fn holds_for_sleepers(&self, station: usize) -> bool {
        let queues = &self.stations.specs[station].queues;
        queues.iter().all(|queue| queue.discipline.facts().holds_for_sleepers)
    }

    /// Management frames are sent as voice (10.2.4.2): by the parameters of the highest category.
    pub(super) fn access(&self, station: usize) -> CategoryConfig {
        let categories = &self.stations.specs[station].mac.categories;
        let highest = *categories.last().expect("a station has an access category");
        CategoryConfig { txop: Txop::One, ..highest }
    }

    fn beacon_access(
        &self,
        key: &str,
        table: &BeaconsTable,
        station: usize,
    ) -> Result<CategoryConfig> {
        let mut access = self.access(station);
        if let Some(aifsn) = table.aifsn {
            if !(1..=15).contains(&aifsn) {
                let problem = format_args!("found {aifsn}, expected 1 to 15");
                return wrong(format_args!("{key}.aifsn"), problem);
            }
            access.aifsn = aifsn;
        }
        if let Some(cw) = table.cw {
            if cw > 32_767 || !(cw + 1).is_power_of_two() {
                let problem =
                    format_args!("found {cw}, expected one less than a power of two, 0 to 32767");
                return wrong(format_args!("{key}.cw"), problem);
            }
            access.w_min = cw + 1;
        }
        access.w_max = access.w_min;
        Ok(access)
    }

    pub(super) fn rate(&self, key: &str, rate: Option<&Quantity<Rate>>) -> Result<RateIndex> {
        match rate {
            None => Ok(self.phy.slowest_basic()),
            Some(rate) => self.phy.rate_index(rate.value).map_err(|problem| error(key, problem)),
        }
    }

    fn sleeper(
        &self,
        key: &str,
        table: &PowerSaveTable,
        id: usize,
        beacons: &[BeaconSpec],
    ) -> Result<PowerSaveSpec> {
        let access_point = self.access_point(key, table.access_point.as_ref(), id, beacons)?;
        let polls = table.wake_up == Some(WakeUpName::PsPoll);
        if polls && table.timeout.is_some() {
            let problem = "with PS-Polls the station sleeps again at once; leave it out";
            return wrong(format_args!("{key}.timeout"), problem);
        }
        let wake_up = match polls {
            true => WakeUp::PsPoll,
            false => {
                let timeout = positive(key, "timeout", table.timeout.as_ref())?.unwrap_or(TIMEOUT);
                WakeUp::Null { timeout }
            }
        };
        let listen_interval = table.listen_interval.unwrap_or(1);
        if listen_interval == 0 {
            let problem = "found 0, expected at least 1";
            return wrong(format_args!("{key}.listen_interval"), problem);
        }
        let wait = positive(key, "beacon_wait", table.beacon_wait.as_ref())?;
        Ok(PowerSaveSpec {
            station: StationId(id as u32),
            access_point: StationId(access_point as u32),
            wake_up,
            uapsd: self.uapsd(key, table, [id, access_point])?,
            listen_interval,
            twt: self.twt(key, table, [id, access_point])?,
            dtims: table.dtims.unwrap_or(table.twt.is_none()),
            beacon_wait: wait.unwrap_or(BEACON_WAIT),
            rate: self.rate(&format!("{key}.rate"), table.rate.as_ref())?,
            access: self.request_access(id, polls),
        })
    }

    fn uapsd(
        &self,
        key: &str,
        table: &PowerSaveTable,
        [station, access_point]: [usize; 2],
    ) -> Result<Option<UapsdSpec>> {
        let Some(names) = table.uapsd.as_ref().filter(|names| !names.is_empty()) else {
            let orphan = match (&table.max_service_period, &table.trigger_interval) {
                (Some(_), _) => "max_service_period",
                (_, Some(_)) => "trigger_interval",
                (None, None) => return Ok(None),
            };
            let problem = "it belongs to U-APSD; name access categories in uapsd, or leave it out";
            return wrong(format_args!("{key}.{orphan}"), problem);
        };
        self.check_edca(&format!("{key}.uapsd"), "U-APSD", [station, access_point])?;
        let mut categories = [false; 4];
        for &name in names {
            categories[AccessCategory::from(name).index()] = true;
        }
        let most = table.max_service_period.as_ref().map(|most| most.value);
        if let Some(most) = most
            && !MAX_SERVICE_PERIODS.contains(&most)
        {
            let problem = format_args!(
                "found {most} packets, expected 2, 4 or 6, which are all that a station can ask \
                 for; leave it out for all packets that wait"
            );
            return wrong(format_args!("{key}.max_service_period"), problem);
        }
        Ok(Some(UapsdSpec {
            categories,
            most_packets: most,
            trigger_interval: positive(key, "trigger_interval", table.trigger_interval.as_ref())?,
        }))
    }

    fn twt(&self, key: &str, table: &PowerSaveTable, ends: [usize; 2]) -> Result<Option<TwtSpec>> {
        let Some(twt) = &table.twt else { return Ok(None) };
        let key_of_twt = format!("{key}.twt");
        if let Some(other) = excluded_by_twt(table) {
            let problem = "with twt all packets come in its service periods; leave it out";
            return wrong(format_args!("{key}.{other}"), problem);
        }
        self.check_edca(&key_of_twt, "TWT", ends)?;
        let TwtTable { interval, duration, first, announced } = twt;
        if duration.value == Span::ZERO || duration.value >= interval.value {
            let problem = format_args!(
                "a service period of {} in each {}; it must be more than 0 s, and less than the \
                 interval",
                duration.value, interval.value
            );
            return wrong(format_args!("{key_of_twt}.duration"), problem);
        }
        Ok(Some(TwtSpec {
            interval: interval.value,
            duration: duration.value,
            first: first.as_ref().map(|first| first.value),
            announced: announced.unwrap_or(false),
        }))
    }

    /// Both ends have the four access categories.
    fn check_edca(&self, key: &str, what: &str, ends: [usize; 2]) -> Result<()> {
        for id in ends {
            if self.stations.specs[id].mac.categories.len() != AccessCategory::ALL.len() {
                let name = self.stations.name(id);
                let problem = format_args!(
                    "{name:?} has one queue; {what} needs the access categories of EDCA at both \
                     ends: give both mac.access = \"edca\""
                );
                return wrong(key, problem);
            }
        }
        Ok(())
    }

    /// A station that does not sleep, and tells its access point of its scans.
    pub(super) fn teller(
        &self,
        key: &str,
        access_point: Option<&String>,
        id: usize,
        beacons: &[BeaconSpec],
    ) -> Result<PowerSaveSpec> {
        let access_point = self.access_point(key, access_point, id, beacons)?;
        Ok(PowerSaveSpec {
            station: StationId(id as u32),
            access_point: StationId(access_point as u32),
            wake_up: WakeUp::Awake,
            uapsd: None,
            twt: None,
            listen_interval: 1,
            dtims: false,
            beacon_wait: BEACON_WAIT,
            rate: self.phy.slowest_basic(),
            access: self.request_access(id, false),
        })
    }

    /// PS-Polls are sent as best effort, so that fewer of them meet behind a beacon (10.2.4.2).
    fn request_access(&self, station: usize, polls: bool) -> CategoryConfig {
        let categories = &self.stations.specs[station].mac.categories;
        match categories.get(AccessCategory::BEST_EFFORT.index()) {
            Some(&best_effort) if polls => CategoryConfig { txop: Txop::One, ..best_effort },
            _ => self.access(station),
        }
    }

    pub(super) fn access_point(
        &self,
        key: &str,
        named: Option<&String>,
        id: usize,
        beacons: &[BeaconSpec],
    ) -> Result<usize> {
        let key = format!("{key}.access_point");
        let found = match (named, beacons) {
            (Some(name), _) => return self.named_access_point(key, name, id, beacons),
            (None, [only]) => only.station.index(),
            (None, _) => {
                let problem = match beacons.is_empty() {
                    true => "no station sends beacons; give [[beacons]] with the access point",
                    false => {
                        "several stations send beacons; say which is the station's access point"
                    }
                };
                return wrong(key, problem);
            }
        };
        self.check_access_point(key, found, id, beacons)
    }

    /// The access point of this name, of a station.
    pub(super) fn named_access_point(
        &self,
        key: String,
        name: &str,
        id: usize,
        beacons: &[BeaconSpec],
    ) -> Result<usize> {
        let found = self.stations.find(&key, name)?;
        if found.group {
            let problem = format_args!("{name:?} is a group; name one of its members");
            return wrong(key, problem);
        }
        self.check_access_point(key, found.ids.start, id, beacons)
    }

    fn check_access_point(
        &self,
        key: String,
        found: usize,
        id: usize,
        beacons: &[BeaconSpec],
    ) -> Result<usize> {
        let (name, of) = (self.stations.name(found), self.stations.name(id));
        let sends = |at: usize| beacons.iter().any(|of| of.station.index() == at);
        if !sends(found) {
            let problem = format_args!("{name:?} sends no beacons; give it a table [[beacons]]");
            return wrong(key, problem);
        }
        if sends(id) {
            let problem = format_args!("{of:?} sends beacons, and has no access point");
            return wrong(key, problem);
        }
        let reach = &self.medium.reach;
        if !decodes(reach, found, id) || !decodes(reach, id, found) {
            let problem = format_args!("{of:?} and {name:?} cannot decode each other's frames");
            return wrong(key, problem);
        }
        Ok(found)
    }
}

/// A length of time that is more than zero, if given.
pub(super) fn positive(
    key: &str,
    name: &str,
    given: Option<&Quantity<Duration>>,
) -> Result<Option<Span>> {
    match given.map(|given| given.value) {
        Some(Span::ZERO) => wrong(format_args!("{key}.{name}"), "it must be more than 0 s"),
        given => Ok(given),
    }
}

/// A key that belongs to another way than wake times to get packets, if the table has one.
fn excluded_by_twt(table: &PowerSaveTable) -> Option<&'static str> {
    let keys = [
        ("wake_up", table.wake_up.is_some()),
        ("timeout", table.timeout.is_some()),
        ("listen_interval", table.listen_interval.is_some()),
        ("uapsd", table.uapsd.is_some()),
    ];
    keys.into_iter().find(|&(_, given)| given).map(|(key, _)| key)
}
