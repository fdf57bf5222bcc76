//! The description of absences.

use crate::wlan::power::WakeUp;
use crate::wlan::spec::{WlanError, WlanSpec};
use airqueue_core::Span;
use airqueue_wifi::medium::StationId;

/// What a station does while it is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsenceKind {
    /// The station leaves the channel to look for others on other channels. Off the channel it neither hears nor sends,
    /// and what it has in hand waits. It leaves between two exchanges.
    Scan {
        /// Number of other channels.
        channels: u32,
        /// How many of them the station visits before it is back.
        at_once: u32,
        /// How long the station is back before it leaves for the next ones.
        home: Span,
        /// Whether the station tells its access point, as a station that sleeps: by null frames, before each leave and
        /// after each return.
        tells: bool,
    },
    /// The station goes out of reach, and tells nobody. It goes on sending what its MAC has in hand, in vain.
    OutOfReach,
}

/// A station that is absent now and then.
#[derive(Clone, Debug, PartialEq)]
pub struct AbsenceSpec {
    /// The station.
    pub station: StationId,
    /// What the station does meanwhile.
    pub kind: AbsenceKind,
    /// The first time, from the beginning; `None`: drawn evenly from the first period, from the random stream
    /// `absences/STATION`.
    pub first: Option<Span>,
    /// From one time to the next.
    pub period: Span,
    /// The largest random delay of each time. It does not add up.
    pub jitter: Span,
    /// How long the absence lasts; of a scan, on each channel.
    pub lasts: Span,
}

impl AbsenceSpec {
    /// From the beginning to the end of all absences of one time, if nothing delays them.
    pub fn whole(&self) -> Span {
        match self.kind {
            AbsenceKind::OutOfReach => self.lasts,
            AbsenceKind::Scan { channels, at_once, home, .. } => {
                let leaves = channels.div_ceil(at_once.max(1));
                let nanos = self.lasts.as_nanos().saturating_mul(i64::from(channels));
                let home = home.as_nanos().saturating_mul(i64::from(leaves) - 1);
                Span::from_nanos(nanos.saturating_add(home))
            }
        }
    }

    /// Number of channels of one time, and how many of them the station visits at once. A station out of reach is on one.
    pub(super) fn channels(&self) -> (u32, u32) {
        match self.kind {
            AbsenceKind::Scan { channels, at_once, .. } => (channels, at_once),
            AbsenceKind::OutOfReach => (1, 1),
        }
    }

    pub(super) fn tells(&self) -> bool {
        matches!(self.kind, AbsenceKind::Scan { tells: true, .. })
    }

    pub(in crate::wlan) fn is_scan(&self) -> bool {
        matches!(self.kind, AbsenceKind::Scan { .. })
    }
}

impl WlanSpec {
    /// Checks the absences.
    pub(in crate::wlan) fn check_absences(&self) -> Result<(), WlanError> {
        let mut absent = vec![false; self.stations.len()];
        for of in &self.absences {
            let known = absent.get_mut(of.station.index());
            let first = known.is_some_and(|known| !std::mem::replace(known, true));
            self.check_absence(of, first).map_err(|problem| WlanError::Absence {
                station: self.name(of.station),
                problem,
            })?;
        }
        let tells = |station| self.absences.iter().any(|of| of.station == station && of.tells());
        for of in &self.sleepers {
            if of.wake_up == WakeUp::Awake && !tells(of.station) {
                let problem = "it neither sleeps nor tells of scans";
                return Err(WlanError::Sleep { station: self.name(of.station), problem });
            }
        }
        Ok(())
    }

    fn check_absence(&self, of: &AbsenceSpec, first: bool) -> Result<(), &'static str> {
        if !first {
            return Err("there is no such station, or it has absences already");
        }
        let long = of.period > Span::ZERO && of.lasts > Span::ZERO;
        let spreads = of.jitter >= Span::ZERO && of.first.is_none_or(|first| first >= Span::ZERO);
        let scan = match of.kind {
            AbsenceKind::Scan { channels, at_once, home, .. } => {
                channels > 0 && at_once > 0 && home >= Span::ZERO
            }
            AbsenceKind::OutOfReach => true,
        };
        if !(long && spreads && scan) {
            return Err("the period, the numbers of channels and the time must be positive");
        }
        if of.whole().as_nanos().saturating_add(of.jitter.as_nanos()) > of.period.as_nanos() {
            return Err("a time is longer than the period");
        }
        if of.tells() && !self.sleepers.iter().any(|sleeper| sleeper.station == of.station) {
            return Err("it has no access point to tell");
        }
        Ok(())
    }
}
