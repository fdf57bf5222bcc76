//! The medium of a scenario: which station hears which, and which frames are lost.

use super::error::{Result, error, probability, wrong};
use super::file::{
    CaptureName, ErrorsName, File, LinkTable, MediumTable, PathLossName, RangesTable,
    ThresholdsTable,
};
use super::placement::{no_places, places};
use super::signals::margin_db;
use super::stations::Stations;
use airqueue_core::Span;
use airqueue_core::keys::Table;
use airqueue_wifi::medium::{
    Capture, FrameErrors, Level, Link, PathLoss, Place, Propagation, Reach, StationId, Thresholds,
    from_db, thermal_noise_w,
};
use std::collections::HashMap;

/// Largest number of listed links.
const MOST_LINKS: usize = 1 << 22;
/// Largest number of stations that all hear each other: more than in any real cell, and 256 MiB of links.
const MOST_IN_CELL: usize = 1 << 12;
/// Noise figure of ns-3's receivers, in dB.
const NOISE_FIGURE_DB: f64 = 7.0;

/// `LogDistancePropagationLossModel` of ns-3.44 with its defaults: free space at 5.15 GHz up to 1 m.
const NS3_LOSS: PathLoss =
    PathLoss::LogDistance { exponent: 3.0, reference_m: 1.0, reference_loss_db: 46.6777 };
/// `TxPowerStart` and `TxPowerEnd` of ns-3's `WifiPhy`: 40 mW.
const NS3_POWER_DBM: f64 = 16.0206;
/// `MinimumRssi` of ns-3's `ThresholdPreambleDetectionModel`.
const NS3_PREAMBLE_DBM: f64 = -82.0;
/// `RxSensitivity` of ns-3's `WifiPhy`: `YansWifiChannel` does not hand over a weaker frame.
const NS3_SENSITIVITY_DBM: f64 = -101.0;

/// The medium of a network.
pub(super) struct Medium {
    pub(super) reach: Reach,
    pub(super) capture: Option<Capture>,
    pub(super) errors: FrameErrors,
    pub(super) noise_w: f64,
    /// The thresholds of a path loss.
    pub(super) thresholds: Option<Thresholds>,
    /// Positions of the stations; empty if they are not given.
    pub(super) places: Vec<Place>,
}

impl Medium {
    /// The medium that the file describes; `usual` is the behaviour's capture.
    pub(super) fn new(file: &File, stations: &Stations, usual: Capture) -> Result<Medium> {
        let table = &file.medium;
        let noise_w = noise_w(table, file.phy.standard.0.dsss_alone)?;
        let (reach, places, thresholds) = reach(file, stations, noise_w)?;
        let capture = capture(table, usual, reach.powers_known(), noise_w)?;
        let errors = errors(&table.errors, reach.powers_known())?;
        Ok(Medium { reach, capture, errors, noise_w, thresholds, places })
    }
}

/// The reach, the positions of stations if they have any, and the thresholds of a path loss.
fn reach(
    file: &File,
    stations: &Stations,
    noise_w: f64,
) -> Result<(Reach, Vec<Place>, Option<Thresholds>)> {
    let table = &file.medium;
    let is_delayed = table.propagation_delay == Some(true);
    if is_delayed && table.ranges.is_none() && table.path_loss.is_none() {
        return wrong("medium.propagation_delay", NO_DISTANCES);
    }
    if table.thresholds.is_some() && table.path_loss.is_none() {
        return wrong("medium.thresholds", "they belong to medium.path_loss, which is not given");
    }
    let given = (&table.ranges, &table.path_loss, &table.links, &table.snr);
    let (propagation, powers) = match given {
        (None, None, None, None) => {
            no_places(file)?;
            return Ok((everyone(stations)?, Vec::new(), None));
        }
        (None, None, None, Some(snr)) => {
            no_places(file)?;
            let power_w = noise_w * from_db(snr.value);
            return Ok((everyone_with(stations, power_w)?, Vec::new(), None));
        }
        (None, None, Some(links), None) => {
            no_places(file)?;
            return Ok((Links::new(stations).all(links)?, Vec::new(), None));
        }
        (Some(ranges), None, None, None) => (disc(ranges), false),
        (None, Some(loss), None, None) => (propagation(loss, table.thresholds.as_deref())?, true),
        _ => {
            return wrong(
                "medium",
                "there is more than one of `ranges`, `path_loss`, `links` and `snr`; give one",
            );
        }
    };
    let places = places(file, stations, powers)?;
    let (propagation, thresholds) = with_margin(propagation, margin_db(file));
    let reach = Reach::from_places(&places, &propagation);
    let reach = reach.map_err(|problem| error("medium", problem))?;
    let reach = if is_delayed { reach.with_speed_of_light() } else { reach };
    Ok((reach, places, thresholds))
}

/// The propagation by which stations may hear each other if fading raises signals by so much, and the true thresholds.
fn with_margin(propagation: Propagation, margin_db: f64) -> (Propagation, Option<Thresholds>) {
    let Propagation::Loss { path_loss, thresholds } = propagation else {
        return (propagation, None);
    };
    let interference_w = thresholds.interference_w / from_db(margin_db);
    let wider = Thresholds { interference_w, ..thresholds };
    (Propagation::Loss { path_loss, thresholds: wider }, Some(thresholds))
}

/// All stations decode each other, with this power.
fn everyone_with(stations: &Stations, power_w: f64) -> Result<Reach> {
    let count = check_in_cell(stations)? as u32;
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let link = |(from, to)| Link {
        from: StationId(from),
        to: StationId(to),
        level: Level::Decodable,
        power_w: Some(power_w),
    };
    let links: Vec<Link> = pairs.filter(|(from, to)| from != to).map(link).collect();
    Reach::from_links(count as usize, &links).map_err(|problem| error("medium.snr", problem))
}

/// All stations at one place, where all decode each other.
fn everyone(stations: &Stations) -> Result<Reach> {
    let count = check_in_cell(stations)?;
    let places: Vec<Place> =
        (0..count).map(|id| Place::new(StationId(id as u32), 0.0, 0.0)).collect();
    let disc = Propagation::Disc { reception_m: 1.0, carrier_sense_m: 1.0 };
    Reach::from_places(&places, &disc).map_err(|problem| error("stations", problem))
}

/// The number of stations, if so many may hear each other.
fn check_in_cell(stations: &Stations) -> Result<usize> {
    let count = stations.specs.len();
    if count > MOST_IN_CELL {
        let problem = format_args!(
            "found {count}, expected at most {MOST_IN_CELL} that all hear each other; give \
             medium.ranges, medium.path_loss or medium.links"
        );
        return wrong("stations", problem);
    }
    Ok(count)
}

fn disc(ranges: &RangesTable) -> Propagation {
    let reception_m = ranges.decode.value;
    let carrier_sense_m = ranges.sense.as_ref().map_or(reception_m, |sense| sense.value);
    Propagation::Disc { reception_m, carrier_sense_m }
}

fn propagation(loss: &PathLossName, thresholds: Option<&ThresholdsTable>) -> Result<Propagation> {
    let path_loss = match loss {
        PathLossName::FreeSpace(table) => {
            PathLoss::FreeSpace { frequency_hz: table.frequency.value }
        }
        PathLossName::TwoRay(table) => PathLoss::TwoRayGround {
            frequency_hz: table.frequency.value,
            antenna_height_m: table.antenna_height.value,
        },
        PathLossName::LogDistance(table) => PathLoss::LogDistance {
            exponent: table.exponent,
            reference_m: table.reference.value,
            reference_loss_db: table.reference_loss.value,
        },
        PathLossName::Ns3 => NS3_LOSS,
    };
    let thresholds = match (thresholds, loss) {
        (Some(given), _) => {
            let sense = given.sense.as_ref().unwrap_or(&given.decode);
            let interfere = given.interfere.as_ref().unwrap_or(sense);
            Thresholds {
                reception_w: given.decode.value,
                carrier_sense_w: sense.value,
                interference_w: interfere.value,
            }
        }
        (None, PathLossName::TwoRay(_)) => Thresholds::NS2,
        (None, PathLossName::Ns3) => ns3_thresholds(),
        (None, _) => {
            return wrong("medium", "missing key `thresholds`: what received power suffices for");
        }
    };
    Ok(Propagation::Loss { path_loss, thresholds })
}

/// Below -62 dBm ns-3 senses a frame by its preamble alone.
fn ns3_thresholds() -> Thresholds {
    Thresholds {
        reception_w: watts(NS3_PREAMBLE_DBM),
        carrier_sense_w: watts(NS3_PREAMBLE_DBM),
        interference_w: watts(NS3_SENSITIVITY_DBM),
    }
}

pub(super) fn watts(dbm: f64) -> f64 {
    1e-3 * from_db(dbm)
}

/// The transmit power of stations that name none; `None`: that of ns-2.
pub(super) fn usual_power_w(table: &MediumTable) -> Option<f64> {
    matches!(table.path_loss, Some(PathLossName::Ns3)).then(|| watts(NS3_POWER_DBM))
}

pub(super) fn noise_w(table: &MediumTable, dsss_alone: bool) -> Result<f64> {
    match (&table.noise, &table.noise_figure) {
        (Some(_), Some(_)) => {
            wrong("medium.noise_figure", "medium.noise is given too; leave one of them out")
        }
        (Some(noise), None) => Ok(noise.value),
        (None, figure) => {
            let bandwidth_hz = if dsss_alone { 22e6 } else { 20e6 };
            let figure_db = figure.as_ref().map_or(NOISE_FIGURE_DB, |figure| figure.value);
            thermal_noise_w(bandwidth_hz, figure_db)
                .map_err(|problem| error("medium.noise_figure", problem))
        }
    }
}

/// The capture that the file sets; `None`: that of the behaviour.
fn capture(
    table: &MediumTable,
    usual: Capture,
    powers_known: bool,
    noise_w: f64,
) -> Result<Option<Capture>> {
    Ok(Some(match (&table.capture, usual) {
        (Some(CaptureName::None), _) => Capture::None,
        (Some(CaptureName::Margin(margin)), _) => Capture::Ns2 { margin_db: margin.value },
        (Some(CaptureName::Sinr(_)), _) if !powers_known => {
            return wrong("medium.capture.sinr", NO_POWERS);
        }
        (Some(CaptureName::Sinr(sinr)), _) => {
            let window = sinr.preamble_detection.value;
            if window > LONGEST_DETECTION {
                let problem = format_args!(
                    "found {window}; a receiver finds a preamble within the shortest there is, {LONGEST_DETECTION}"
                );
                return wrong("medium.capture.sinr.preamble_detection", problem);
            }
            Capture::Sinr { threshold_db: sinr.threshold.value, noise_w, window }
        }
        // The behaviour's noise stands for none where powers are not known.
        (None, Capture::Sinr { threshold_db, window, .. }) if powers_known => {
            Capture::Sinr { threshold_db, noise_w, window }
        }
        (None, _) => return Ok(None),
    }))
}

/// The preamble of OFDM without SIGNAL (IEEE 802.11-2016, 17.3.2.1). With a longer preamble the MAC could give up a
/// response during its detection.
const LONGEST_DETECTION: Span = Span::from_micros(16);

const NO_DISTANCES: &str = "stations have no positions; give medium.ranges or medium.path_loss, or a delay to each of \
                            medium.links in place of this key";

pub(super) const NO_POWERS: &str =
    "it needs received powers; give medium.path_loss, medium.snr, or links with power";

fn errors(name: &ErrorsName, powers_known: bool) -> Result<FrameErrors> {
    Ok(match *name {
        ErrorsName::None => FrameErrors::None,
        ErrorsName::Frame(p) => FrameErrors::PerFrame(probability("medium.errors.frame", p)?),
        ErrorsName::Bit(p) => FrameErrors::PerBit(probability("medium.errors.bit", p)?),
        ErrorsName::Snr if !powers_known => return wrong("medium.errors", NO_POWERS),
        ErrorsName::Snr => FrameErrors::BySnr,
    })
}

/// Links given as a list.
struct Links<'a> {
    stations: &'a Stations,
    links: Vec<Link>,
    /// The list entry that gave a pair.
    given: HashMap<(u32, u32), usize>,
    /// The delays of links that have one.
    delays: HashMap<(u32, u32), Span>,
}

impl Links<'_> {
    fn new(stations: &Stations) -> Links<'_> {
        Links { stations, links: Vec::new(), given: HashMap::new(), delays: HashMap::new() }
    }

    fn all(mut self, tables: &[Table<LinkTable>]) -> Result<Reach> {
        for (at, table) in tables.iter().enumerate() {
            let key = format!("medium.links[{at}]");
            if table.power.is_some() != tables[0].power.is_some() {
                let problem = "some links have it and some do not; give it for all, or for none";
                return wrong(format_args!("{key}.power"), problem);
            }
            self.add(&key, at, table)?;
        }
        let reach = Reach::from_links(self.stations.specs.len(), &self.links)
            .map_err(|problem| error("medium.links", problem))?;
        if self.delays.is_empty() {
            return Ok(reach);
        }
        let delay = |from: StationId, to: StationId| self.delays.get(&(from.0, to.0)).copied();
        Ok(reach.with_delays(|from, to| delay(from, to).unwrap_or(Span::ZERO)))
    }

    fn add(&mut self, key: &str, at: usize, table: &LinkTable) -> Result<()> {
        let from = self.stations.find(format_args!("{key}.from"), &table.from)?.ids;
        let to = self.stations.find(format_args!("{key}.to"), &table.to)?.ids;
        let directions = 1 + usize::from(table.both);
        if from.len() * to.len() * directions > MOST_LINKS - self.links.len() {
            return wrong(key, format_args!("with it there are more than {MOST_LINKS} links"));
        }
        if from == to && from.len() == 1 {
            return wrong(key, format_args!("{:?} is linked to itself", table.from));
        }
        let within = from == to;
        let level = Level::from(table.level);
        let power_w = table.power.as_ref().map(|power| power.value);
        for from in from {
            for to in to.clone().filter(|&to| to != from) {
                let delay = table.delay.as_ref().map(|delay| delay.value);
                let there = Link { from: id(from), to: id(to), level, power_w };
                self.push(key, at, there, delay)?;
                if table.both && !within {
                    self.push(key, at, Link { from: there.to, to: there.from, ..there }, delay)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, key: &str, at: usize, link: Link, delay: Option<Span>) -> Result<()> {
        if let Some(before) = self.given.insert((link.from.0, link.to.0), at) {
            let [from, to] = [link.from, link.to].map(|id| self.stations.name(id.index()));
            let problem = format_args!("medium.links[{before}] links {from:?} to {to:?} already");
            return wrong(key, problem);
        }
        if let Some(delay) = delay {
            self.delays.insert((link.from.0, link.to.0), delay);
        }
        self.links.push(link);
        Ok(())
    }
}

fn id(station: usize) -> StationId {
    StationId(station as u32)
}
