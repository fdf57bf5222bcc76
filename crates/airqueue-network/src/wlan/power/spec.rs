//! The description of beacons and of stations that sleep.

use crate::wlan::spec::{WlanError, WlanSpec};
use airqueue_core::Span;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{CategoryConfig, Mac};
use airqueue_wifi::medium::StationId;
use airqueue_wifi::phy::AccessCategory;

/// The beacons of an access point (IEEE 802.11-2016, 11.1.3.2), and what the access point keeps for stations that
/// sleep.
#[derive(Clone, Debug, PartialEq)]
pub struct BeaconSpec {
    /// The access point.
    pub station: StationId,
    /// Time from one target beacon transmission time (TBTT) to the next.
    pub interval: Span,
    /// The first TBTT; `None`: drawn evenly from the first interval, from the random stream `beacons/STATION`.
    pub first: Option<Span>,
    /// Every so many beacons, a beacon is a DTIM.
    pub dtim_period: u32,
    /// Length of a beacon in bytes, header and FCS included.
    pub bytes: u32,
    /// The rate of beacons: a rate before 802.11n.
    pub rate: RateIndex,
    /// Channel access of beacons, and of the frames to all stations that follow a DTIM.
    pub access: CategoryConfig,
    /// Packets that the access point keeps for a sleeping station, in each access category. The oldest goes when one
    /// more comes.
    pub buffer_packets: usize,
    /// Packets to all stations that the access point keeps while a station sleeps, likewise.
    pub group_buffer_packets: usize,
    /// Packets that the access point keeps for all stations together, packets to all stations included. For one more, each
    /// station's oldest goes.
    pub total_buffer_packets: usize,
    /// Packets for a station that sleeps are kept before they enter a queue, and the queues hold back what they have for
    /// the station, where their disciplines can; otherwise packets are kept when their turn in the queue comes.
    pub before_queue: bool,
}

impl BeaconSpec {
    /// Header, FCS, and the fields and elements that a beacon always has.
    pub const LEAST_BYTES: u32 = 64;
    /// `STA_MAX_TX_BUFFER` of Linux's mac80211.
    pub const BUFFER_PACKETS: usize = 64;
    /// `AP_MAX_BC_BUFFER` of Linux's mac80211.
    pub const GROUP_BUFFER_PACKETS: usize = 128;
    /// `TOTAL_MAX_TX_BUFFER` of Linux's mac80211.
    pub const TOTAL_BUFFER_PACKETS: usize = 512;
}

/// How a station that sleeps gets the packets that wait at its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeUp {
    /// A null frame says that the station is awake, and the station stays awake until it has neither sent nor received
    /// data for `timeout`; then another null frame says that the station sleeps (dynamic power save in Linux's
    /// mac80211).
    Null {
        /// How long the station stays awake.
        timeout: Span,
    },
    /// The station does not sleep. It tells its access point when it leaves the channel for a scan.
    Awake,
    /// The station sleeps all the time in the eyes of its access point, and gets each packet by a PS-Poll.
    PsPoll,
}

/// What a station has arranged with its access point as to U-APSD (IEEE 802.11-2016, 11.2.3.5).
#[derive(Clone, Debug, PartialEq)]
pub struct UapsdSpec {
    /// The categories that are trigger-enabled and delivery-enabled, from background to voice.
    pub categories: [bool; 4],
    /// The most packets of a service period; `None`: all that wait.
    pub most_packets: Option<u32>,
    /// The station sends a QoS null frame where it has sent no trigger for so long; `None`: only after a beacon that says
    /// that packets wait, and only if all categories are enabled.
    pub trigger_interval: Option<Span>,
}

impl UapsdSpec {
    /// Whether a category is trigger-enabled and delivery-enabled.
    pub fn enables(&self, ac: AccessCategory) -> bool {
        self.categories.get(ac.index()).is_some_and(|&enabled| enabled)
    }

    /// Whether all categories are.
    pub fn enables_all(&self) -> bool {
        self.categories == [true; 4]
    }
}

/// An individual agreement on target wake times between a station and its access point (IEEE 802.11ax-2021, 26.8).
#[derive(Clone, Debug, PartialEq)]
pub struct TwtSpec {
    /// Time from the beginning of one service period to that of the next.
    pub interval: Span,
    /// How long a service period lasts.
    pub duration: Span,
    /// The first one; `None`: drawn evenly from the first interval, from the random stream `twt/STATION`.
    pub first: Option<Span>,
    /// The access point waits in each service period for a frame of the station.
    pub announced: bool,
}

/// A station that sleeps (IEEE 802.11-2016, 11.2.3).
#[derive(Clone, Debug, PartialEq)]
pub struct PowerSaveSpec {
    /// The station.
    pub station: StationId,
    /// The access point of the station, which sends beacons.
    pub access_point: StationId,
    /// How the station gets what waits for it.
    pub wake_up: WakeUp,
    /// The categories whose packets come by U-APSD instead.
    pub uapsd: Option<UapsdSpec>,
    /// When all packets come instead. The station hears no beacons, unless `dtims` says so.
    pub twt: Option<TwtSpec>,
    /// The station wakes up for one beacon in this many.
    pub listen_interval: u32,
    /// Whether the station also wakes up for each DTIM, and for the frames to all stations behind it.
    pub dtims: bool,
    /// How long after the TBTT the station waits for a beacon.
    pub beacon_wait: Span,
    /// The rate of null frames and PS-Polls: a rate before 802.11n.
    pub rate: RateIndex,
    /// Their channel access.
    pub access: CategoryConfig,
}

impl WlanSpec {
    /// Gives the MACs of stations with beacons and of stations that sleep their access category of management frames.
    pub(in crate::wlan) fn add_management(&self, macs: &mut [Mac]) {
        for of in &self.beacons {
            macs[of.station.index()].add_management(of.access, &self.radio);
        }
        for of in &self.sleepers {
            let mac = &mut macs[of.station.index()];
            mac.add_management(of.access, &self.radio);
            let uapsd = of.uapsd.as_ref();
            let all = uapsd.is_some_and(UapsdSpec::enables_all);
            mac.set_power(of.wake_up == WakeUp::PsPoll || all || of.twt.is_some());
        }
    }

    /// Whether a rate is one of those before 802.11n.
    pub(in crate::wlan) fn is_old(&self, rate: RateIndex) -> bool {
        self.radio.phy.mcs(rate).is_none()
    }

    /// Checks beacons, and stations that sleep.
    pub(in crate::wlan) fn check_power(&self) -> Result<(), WlanError> {
        let mut roles = vec![false; self.stations.len()];
        let mut is_first = |id: StationId| {
            roles.get_mut(id.index()).is_some_and(|role| !std::mem::replace(role, true))
        };
        for of in &self.beacons {
            let first = is_first(of.station);
            self.check_beacons(of, first).map_err(|problem| WlanError::Beacons {
                station: self.name(of.station),
                problem,
            })?;
        }
        for of in &self.sleepers {
            let first = is_first(of.station);
            self.check_sleeper(of, first)
                .map_err(|problem| WlanError::Sleep { station: self.name(of.station), problem })?;
        }
        Ok(())
    }

    fn check_beacons(&self, of: &BeaconSpec, first: bool) -> Result<(), &'static str> {
        if !first {
            return Err("there is no such station, or it has beacons already");
        }
        if of.interval <= Span::ZERO || of.dtim_period == 0 {
            return Err("the interval and the DTIM period must be positive");
        }
        if of.first.is_some_and(|first| first < Span::ZERO) {
            return Err("the first one is before the beginning");
        }
        if !self.is_old(of.rate) {
            return Err("their rate must be one before 802.11n");
        }
        let most = self.radio.phy.max_mpdu_bytes(of.rate);
        if !(BeaconSpec::LEAST_BYTES..=most).contains(&of.bytes) {
            return Err("a beacon has 64 bytes at least, and must fit into a frame");
        }
        Ok(())
    }

    fn check_sleeper(&self, of: &PowerSaveSpec, first: bool) -> Result<(), &'static str> {
        if !first {
            return Err("there is no such station, or it sends beacons or sleeps already");
        }
        if !self.beacons.iter().any(|beacons| beacons.station == of.access_point) {
            return Err("its access point sends no beacons");
        }
        let decodes = |from, to| self.reach.signal(from, to).is_some_and(|s| s.decodable());
        if !decodes(of.access_point, of.station) || !decodes(of.station, of.access_point) {
            return Err("it and its access point cannot decode each other");
        }
        let awake = match of.wake_up {
            WakeUp::Null { timeout } => timeout > Span::ZERO,
            WakeUp::PsPoll | WakeUp::Awake => true,
        };
        if of.listen_interval == 0 || of.beacon_wait <= Span::ZERO || !awake {
            return Err("the listen interval, the wait and the timeout must be positive");
        }
        if let Some(uapsd) = &of.uapsd {
            self.check_uapsd(uapsd, of)?;
        }
        if let Some(twt) = &of.twt {
            self.check_twt(twt, of)?;
        }
        if !self.is_old(of.rate) {
            return Err("the rate of null frames and PS-Polls must be one before 802.11n");
        }
        Ok(())
    }

    /// Whether a station and its access point have the four access categories.
    fn has_edca(&self, of: &PowerSaveSpec) -> bool {
        let queues = |id: StationId| self.stations.get(id.index()).map(|of| of.queues.len());
        [of.station, of.access_point].iter().all(|&id| queues(id) == Some(4))
    }

    fn check_twt(&self, twt: &TwtSpec, of: &PowerSaveSpec) -> Result<(), &'static str> {
        if !self.has_edca(of) {
            return Err("TWT needs the four access categories of EDCA at both ends");
        }
        if of.uapsd.is_some() || of.wake_up == WakeUp::Awake {
            return Err("TWT is for a station that sleeps, without U-APSD");
        }
        if twt.duration <= Span::ZERO || twt.duration >= twt.interval {
            return Err("a service period must last, and end before the next one begins");
        }
        if twt.first.is_some_and(|first| first < Span::ZERO) {
            return Err("the first service period is before the beginning");
        }
        Ok(())
    }

    fn check_uapsd(&self, uapsd: &UapsdSpec, of: &PowerSaveSpec) -> Result<(), &'static str> {
        if !self.has_edca(of) {
            return Err("U-APSD needs the four access categories of EDCA at both ends");
        }
        if uapsd.categories == [false; 4] || of.wake_up == WakeUp::Awake {
            return Err("U-APSD is for a station that sleeps, and for one category at least");
        }
        if uapsd.most_packets == Some(0) {
            return Err("a service period has room for one packet at least");
        }
        if uapsd.trigger_interval.is_some_and(|interval| interval <= Span::ZERO) {
            return Err("the time between triggers must be positive");
        }
        Ok(())
    }

    pub(in crate::wlan) fn name(&self, id: StationId) -> String {
        self.stations.get(id.index()).map_or_else(|| id.0.to_string(), |of| of.name.clone())
    }
}
