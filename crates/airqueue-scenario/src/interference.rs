//! The keys of interference.

use super::error::{Result, probability, wrong};
use super::file::{
    BluetoothTable, EnergyLevelName, File, InterferenceTable, MicrowaveTable, OccupancyTable,
    OnOffTable, ShareTraceTable, SpanLawName,
};
use super::medium::{Medium, NO_POWERS, watts};
use super::quantity::{Duration, Quantity};
use super::signals::Given;
use super::stations::{Stations, check_name};
use airqueue_core::{Span, Time};
use airqueue_network::wlan::{BurstLaw, Energy, InterfererSpec, Received, Within};
use airqueue_transport::traffic::Law;
use airqueue_wifi::medium::{Capture, FrameErrors, Place, StationId, Steps};

/// Most sources.
const MOST: usize = 100;
/// The shortest mean of bursts and pauses.
const LEAST: Span = Span::from_micros(1);
/// Busy periods that wait would never end at 1.
const MOST_SHARE: f64 = 0.99;
/// 20 dB above the least power at which a receiver must decode 6 Mb/s (IEEE 802.11-2016, 17.3.10.6).
const ENERGY_DETECTION_DBM: f64 = -62.0;
const PARETO_SHAPE: f64 = 1.5;
/// A slot of Bluetooth, and a DH1 packet in it (Bluetooth Core 5.4, volume 2, part B, 2.2 and 6.5).
const SLOT: Span = Span::from_micros(625);
const DH1: Span = Span::from_micros(366);

/// All sources of interference.
pub(super) fn interferers(
    file: &File,
    stations: &Stations,
    medium: &Medium,
    capture: Capture,
) -> Result<Vec<InterfererSpec>> {
    if file.interference.len() > MOST {
        let problem = format_args!("found {}, expected at most {MOST}", file.interference.len());
        return wrong("interference", problem);
    }
    let mut all: Vec<InterfererSpec> = Vec::new();
    for (at, table) in file.interference.iter().enumerate() {
        let key = format!("interference[{at}]");
        check_name(&format!("{key}.name"), &table.name)?;
        if all.iter().any(|other| other.name == table.name) {
            let problem = format_args!("a source before it is called {:?} too", table.name);
            return wrong(format_args!("{key}.name"), problem);
        }
        let places = Places { file, stations, medium, capture };
        let start = table.start.as_ref().map_or(Span::ZERO, |start| start.value);
        let stop = table.stop.as_ref().map_or(Time::MAX, |stop| Time::ZERO + stop.value);
        let start = Time::ZERO + start;
        if stop <= start {
            return wrong(format_args!("{key}.stop"), "it is not after the start");
        }
        let (law, received) = (law(&key, table)?, places.received(&key, table)?);
        all.push(InterfererSpec { name: table.name.clone(), law, received, start, stop });
    }
    Ok(all)
}

fn law(key: &str, table: &InterferenceTable) -> Result<BurstLaw> {
    let InterferenceTable { microwave: oven, bluetooth, on_off, occupancy, .. } = table;
    match (oven, bluetooth, on_off, occupancy) {
        (Some(of), None, None, None) => microwave(&format!("{key}.microwave"), of),
        (None, Some(of), None, None) => hops(&format!("{key}.bluetooth"), of),
        (None, None, Some(of), None) => alternating(&format!("{key}.on_off"), of),
        (None, None, None, Some(of)) => busy(&format!("{key}.occupancy"), of),
        _ => wrong(key, "give one of `microwave`, `bluetooth`, `on_off` and `occupancy`"),
    }
}

fn microwave(key: &str, table: &MicrowaveTable) -> Result<BurstLaw> {
    let mains_hz = table.mains_hz.unwrap_or(50);
    if mains_hz != 50 && mains_hz != 60 {
        let problem = format_args!("found {mains_hz}, expected 50 or 60");
        return wrong(format_args!("{key}.mains_hz"), problem);
    }
    let (cycle_s, duty) = (1.0 / f64::from(mains_hz), table.duty.unwrap_or(0.5));
    if !(0.001..=0.999).contains(&duty) {
        let problem = format_args!("found {duty}, expected 0.001 to 0.999");
        return wrong(format_args!("{key}.duty"), problem);
    }
    let part =
        |share: f64| Within { law: Law::Constant, mean: Span::from_secs_f64(cycle_s * share) };
    Ok(BurstLaw::Alternating { on: part(duty), off: part(1.0 - duty) })
}

fn hops(key: &str, table: &BluetoothTable) -> Result<BurstLaw> {
    let slot = table.slot.as_ref().map_or(SLOT, |slot| slot.value);
    let burst = table.packet.as_ref().map_or(DH1, |packet| packet.value);
    if burst < LEAST || burst >= slot || slot > Span::from_secs(1) {
        let problem = "expected at least 1 us and less than the slot, which is at most 1 s";
        return wrong(format_args!("{key}.packet"), problem);
    }
    let load = probability(format_args!("{key}.load"), table.load.unwrap_or(1.0))?;
    let hit = probability(format_args!("{key}.hit"), table.hit.unwrap_or(20.0 / 79.0))?;
    if load * hit < 1e-6 {
        return wrong(key, "less than one slot in a million has a packet; leave the source out");
    }
    Ok(BurstLaw::Slots { slot, burst, probability: load * hit })
}

fn alternating(key: &str, table: &OnOffTable) -> Result<BurstLaw> {
    let laws = [table.on_law, table.off_law];
    let within =
        |name: &str, mean: &Quantity<Duration>, law| spans(key, name, mean.value, law, table.shape);
    let burst = BurstLaw::Alternating {
        on: within("on", &table.on, table.on_law)?,
        off: within("off", &table.off, table.off_law)?,
    };
    check_shape(key, table.shape, &laws)?;
    Ok(burst)
}

fn busy(key: &str, table: &OccupancyTable) -> Result<BurstLaw> {
    let share = match (table.share, &table.trace) {
        (Some(share), None) => {
            check_share(format!("{key}.share"), share)?;
            Steps::constant(share)
        }
        (None, Some(trace)) => {
            let key = format!("{key}.trace");
            let ShareTraceTable { file, time_s, busy_ratio, repeat } = &**trace;
            let values = busy_ratio.as_ref().map(Vec::len);
            let given = Given { file, time_s, values, name: "busy_ratio", repeat };
            let shares = busy_ratio.as_deref().unwrap_or_default();
            for (at, &share) in shares.iter().enumerate() {
                check_share(format!("{key}.busy_ratio[{at}]"), share)?;
            }
            given.steps(&key, |at| shares[at])?
        }
        _ => return wrong(key, "give one of `share` and `trace`"),
    };
    let mean = table.busy.as_ref().map_or(Span::from_millis(1), |busy| busy.value);
    let busy = spans(key, "busy", mean, table.busy_law, table.shape)?;
    check_shape(key, table.shape, &[table.busy_law])?;
    Ok(BurstLaw::Arriving { busy, share })
}

fn check_share(key: String, share: f64) -> Result<()> {
    if (0.0..=MOST_SHARE).contains(&share) {
        return Ok(());
    }
    wrong(key, format_args!("found {share}, expected a share from 0 to {MOST_SHARE}"))
}

fn spans(
    key: &str,
    name: &str,
    mean: Span,
    law: Option<SpanLawName>,
    shape: Option<f64>,
) -> Result<Within> {
    if mean < LEAST {
        return wrong(format_args!("{key}.{name}"), "expected at least 1 us");
    }
    let law = match law.unwrap_or(SpanLawName::Exponential) {
        SpanLawName::Exponential => Law::Exponential,
        SpanLawName::Constant => Law::Constant,
        SpanLawName::Pareto => Law::Pareto(shape.unwrap_or(PARETO_SHAPE)),
    };
    Ok(Within { law, mean })
}

fn check_shape(key: &str, shape: Option<f64>, laws: &[Option<SpanLawName>]) -> Result<()> {
    let Some(shape) = shape else { return Ok(()) };
    let key = format!("{key}.shape");
    if !laws.contains(&Some(SpanLawName::Pareto)) {
        return wrong(key, "no law is pareto; leave it out");
    }
    if !(1.01..=100.0).contains(&shape) {
        return wrong(key, format_args!("found {shape}, expected 1.01 to 100"));
    }
    Ok(())
}

/// Where a source is heard.
struct Places<'a> {
    file: &'a File,
    stations: &'a Stations,
    medium: &'a Medium,
    capture: Capture,
}

impl Places<'_> {
    fn received(&self, key: &str, table: &InterferenceTable) -> Result<Received> {
        let detection = self.file.medium.energy_detection.as_ref();
        let busy_w = detection.map_or_else(|| watts(ENERGY_DETECTION_DBM), |of| of.value);
        match (&table.position, &table.received, &table.level) {
            (Some([x, y]), None, None) => {
                if self.file.medium.path_loss.is_none() {
                    let problem =
                        "without medium.path_loss it means nothing; give received or level";
                    return wrong(format_args!("{key}.position"), problem);
                }
                if table.at.is_some() {
                    return wrong(
                        format_args!("{key}.at"),
                        "the position says where it is heard; leave it out",
                    );
                }
                let Some(power) = &table.power else {
                    return wrong(key, "missing key `power`: what it radiates at its position");
                };
                self.check_powers(&format!("{key}.position"))?;
                let place =
                    Place { id: StationId(0), x_m: x.value, y_m: y.value, transmit_w: power.value };
                Ok(Received::From { place, busy_w })
            }
            (None, _, _) if table.power.is_some() => wrong(
                format_args!("{key}.power"),
                "it belongs to a position; give received instead",
            ),
            (None, Some(received), None) => {
                self.check_powers(&format!("{key}.received"))?;
                let power_w = received.value;
                let energy = Energy { power_w, sensed: power_w >= busy_w, destroys: false };
                self.told(key, table, energy)
            }
            (None, None, level) => {
                let sensed = *level != Some(EnergyLevelName::Interfere);
                self.told(key, table, Energy { power_w: 0.0, sensed, destroys: true })
            }
            _ => wrong(key, "give only one of `position`, `received` and `level`"),
        }
    }

    fn told(&self, key: &str, table: &InterferenceTable, energy: Energy) -> Result<Received> {
        let stations = self.stations.specs.len();
        let Some(names) = &table.at else { return Ok(Received::Told(vec![energy; stations])) };
        let mut energies = vec![Energy::NONE; stations];
        for (at, name) in names.iter().enumerate() {
            let found = self.stations.find(format_args!("{key}.at[{at}]"), name)?;
            energies[found.ids].fill(energy);
        }
        if names.is_empty() {
            return wrong(format_args!("{key}.at"), "it names no station; leave it out for all");
        }
        Ok(Received::Told(energies))
    }

    /// A power below the threshold of energy detection must have an effect.
    fn check_powers(&self, key: &str) -> Result<()> {
        if !self.medium.reach.powers_known() {
            return wrong(key, NO_POWERS);
        }
        let by_sinr = matches!(self.capture, Capture::Sinr { .. });
        if self.medium.errors != FrameErrors::BySnr && !by_sinr {
            let problem = "what its power does to frames is not known; give medium.errors = \"snr\" or \
                           medium.capture.sinr";
            return wrong(key, problem);
        }
        Ok(())
    }
}
