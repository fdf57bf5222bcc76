//! Rate control in networks: throughput where noise decides, and the reaction to collisions.

use crate::cells;
use crate::cells::{CellSpec, Flow, at, dcf, edca, saturated};
use airqueue_core::{DataRate, Seed};
use airqueue_network::FlowId;
use airqueue_network::wlan::RateControlSpec;
use airqueue_network::wlan::tap::Recording;
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::RateIndex;
use airqueue_wifi::mac::{Aggregation, Behaviour, FrameKind, MacConfig, Radio};
use airqueue_wifi::medium::{FrameErrors, Level, Link, Reach, StationId};
use airqueue_wifi::phy::{AccessCategory, Band, Capability, GuardInterval, Phy, Width, ht, ofdm};
use airqueue_wifi::rate_control::RateControlName;

const NOISE_W: f64 = 1e-13;

fn a() -> Radio {
    let rules = Behaviour::Standard.rules();
    Radio::new(ofdm(rules.conventions), rules)
}

fn n() -> Radio {
    let rules = Behaviour::Standard.rules();
    let most = Capability { width: Width::MHZ_20, streams: 2 };
    Radio::new(ht(Band::Ghz5, most, rules.conventions).unwrap(), rules)
}

/// The rates of the layer's newest format with the common guard interval.
fn rates(phy: &Phy) -> Vec<RateIndex> {
    let scheme = |rate: &RateIndex| match phy.mcs(*rate) {
        Some(mcs) => mcs.guard == GuardInterval::Ns800,
        None => phy.newest_format().is_none(),
    };
    phy.rates().map(|(rate, _)| rate).filter(scheme).collect()
}

/// Stations that saturate station 0, each received at its own SNR in dB.
fn uploads(radio: Radio, snr_db: &[f64]) -> CellSpec {
    let phy = &radio.phy;
    let new = phy.newest_format().is_some();
    let mac = match new {
        true => MacConfig { aggregation: Some(Aggregation::STANDARD), ..edca(phy) },
        false => dcf(phy),
    };
    let mut links = Vec::new();
    for from in 0..=snr_db.len() as u32 {
        for to in (0..=snr_db.len() as u32).filter(|&to| to != from) {
            // All stations hear each other; between the access point and a station, the SNR is that of the station.
            let station = from.max(to) as usize - 1;
            let power_w = Some(NOISE_W * 10f64.powf(snr_db[station] / 10.0));
            let [from, to] = [from, to].map(StationId);
            links.push(Link { from, to, level: Level::Decodable, power_w });
        }
    }
    let lowest = rates(phy)[0];
    let flow = |id| saturated(id, 0, AccessCategory::at(usize::from(new)), lowest, 1500);
    let flows = (1..=snr_db.len() as u32).map(flow).collect();
    let macs = vec![mac; snr_db.len() + 1];
    CellSpec {
        flows,
        reach: Reach::from_links(macs.len(), &links).unwrap(),
        errors: FrameErrors::BySnr,
        noise_w: NOISE_W,
        warm_up: at(1),
        ..cells::stations(radio, macs)
    }
}

fn with(spec: &CellSpec, change: impl Fn(&mut Flow)) -> CellSpec {
    let mut spec = spec.clone();
    spec.flows.iter_mut().for_each(change);
    spec
}

fn controlled(spec: &CellSpec, algorithm: RateControlName) -> CellSpec {
    let rates = rates(&spec.radio.phy);
    let control = |flow: &mut Flow| {
        flow.rate_control = Some(RateControlSpec { algorithm, rates: rates.clone().into() });
    };
    with(spec, control)
}

/// Packets delivered by all flows together in `seconds` after the warm-up.
fn delivered(spec: &CellSpec, seconds: i64) -> u64 {
    let mut sim = spec.start(Seed(1));
    sim.run_until(at(1 + seconds));
    (0..spec.flows.len()).map(|flow| sim.model.flow(FlowId::at(flow)).delivered.packets).sum()
}

/// Packets delivered with the single best rate for all stations.
fn best(spec: &CellSpec, seconds: i64) -> u64 {
    let rates = rates(&spec.radio.phy);
    let fixed = |rate: RateIndex| delivered(&with(spec, |flow| flow.rate = rate), seconds);
    rates.into_iter().map(fixed).max().unwrap()
}

/// At least 85 % of what the best fixed rate delivers; the best rate differs between SNRs.
#[test]
fn minstrel_carries_nearly_as_much_as_the_best_rate() {
    for (radio, snrs) in
        [(a(), [5.0, 10.0, 14.5, 19.0, 25.0]), (n(), [5.0, 10.0, 15.0, 20.0, 28.0])]
    {
        for snr_db in snrs {
            let spec = uploads(radio.clone(), &[snr_db]);
            let (best, found) =
                (best(&spec, 2), delivered(&controlled(&spec, RateControlName::Minstrel), 4));
            assert!(
                found as f64 > 0.85 * 2.0 * best as f64,
                "{snr_db} dB: {found} of twice {best}"
            );
        }
    }
}

/// What a weak signal cannot carry is tried with one MPDU, while other frames have several: two at 6.5 Mb/s, of which three
/// would take longer than 5.484 ms.
#[test]
fn samples_have_one_mpdu() {
    let radio = n();
    let spec = controlled(&uploads(radio.clone(), &[5.0]), RateControlName::Minstrel);
    let mut sim = spec.start(Seed(1));
    sim.run_until(at(1));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(at(4));
    let frames = sim.model.wlan_mut().unplug::<Recording>().unwrap().frames;
    let data = frames.iter().filter(|traced| traced.frame.kind == FrameKind::Data);
    let hopeless = |rate| radio.phy.needed_snr(rate, 0.9, 1500) > 10f64.powf(1.0);
    let (samples, others): (Vec<_>, Vec<_>) = data.partition(|traced| hopeless(traced.frame.rate));
    assert!(samples.len() > 20, "{}", samples.len());
    assert!(samples.iter().all(|traced| traced.carried.len() == 1));
    assert!(others.iter().any(|traced| traced.carried.len() > 1));
}

/// Near and far stations with 2.5 Mb/s each: a rate at which the far station gets through is too slow for all of them.
/// (Saturated stations would show nothing: with equal numbers of frames for each, the highest throughput is that
/// without the far station.)
#[test]
fn minstrel_carries_more_than_any_rate_for_all() {
    let arrivals = Arrivals::Constant(DataRate::from_bps(2_500_000).unwrap());
    let spec = with(&uploads(a(), &[26.0, 15.0, 5.0]), |flow| flow.source.arrivals = arrivals);
    let (best, found) =
        (best(&spec, 3), delivered(&controlled(&spec, RateControlName::Minstrel), 3));
    assert!(found as f64 > 1.2 * best as f64, "{found} of {best}");
}

/// ARF takes collisions for a bad channel; Minstrel does not, because collisions hit all rates alike.
#[test]
fn collisions_mislead_arf() {
    let spec = uploads(a(), &[30.0; 8]);
    let [arf, minstrel] = [RateControlName::Arf, RateControlName::Minstrel]
        .map(|algorithm| delivered(&controlled(&spec, algorithm), 3));
    let best = best(&spec, 3);
    assert!((arf as f64) < 0.8 * best as f64, "ARF {arf} of {best}");
    assert!(minstrel as f64 > 0.85 * best as f64, "Minstrel {minstrel} of {best}");
}

/// Without losses all rate controls reach the highest rate.
#[test]
fn without_losses_all_climb_to_the_highest_rate() {
    for algorithm in [RateControlName::Arf, RateControlName::Aarf, RateControlName::Minstrel] {
        let spec = controlled(&uploads(a(), &[60.0]), algorithm);
        let mut sim = spec.start(Seed(1));
        sim.run_until(at(3));
        let mean = sim.model.flow(FlowId(0)).rates.mean_bps().unwrap();
        assert!(mean > 0.99 * 54e6, "{algorithm:?}: {mean}");
    }
}
