//! Random networks in which stations sleep, scan, leave and roam beside each other while signals fade: packets balance.

use crate::cells;
use crate::cells::{CellSpec, Flow, cell, dcf, rate, saturated};
use crate::random_networks::{counts, simulated};
use crate::wlan_associations::association;
use crate::wlan_power::{AP, beacons, sleeper};
use crate::wlan_power_networks::holding;
use crate::wlan_signals::fading;
use airqueue_core::{DataRate, Limit, Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_network::wlan::{
    AbsenceKind, AbsenceSpec, AssociationSpec, BeaconSpec, LinkSignal, PowerSaveSpec, Roam,
    SignalLaw, SignalsSpec, WakeUp,
};
use airqueue_qdisc::QueueSpec;
use airqueue_transport::traffic::Arrivals;
use airqueue_wifi::medium::{Fading, FastFading, Level, Link, Reach, StationId, Thresholds};
use airqueue_wifi::phy::AccessCategory;
use proptest::prelude::*;

/// When sources stop.
const STOP: Time = Time::from_nanos(2_000_000_000);

#[derive(Clone, Debug)]
enum Does {
    Stays,
    Sleeps { wake_up: WakeUp, listen_interval: u32 },
    Scans { tells: bool },
    Leaves,
    Roams { search_ms: i64, at_ms: Vec<i64> },
}

#[derive(Clone, Debug)]
struct Station {
    does: Does,
    /// The signal of each access point at the station, as seen from the threshold of reception: in dB.
    margins_db: [f64; 2],
    /// Rates of the flows from and to either access point, in kb/s; 0: none.
    rates: [u64; 4],
}

fn does() -> impl Strategy<Value = Does> {
    let wake_up = prop_oneof![
        Just(WakeUp::PsPoll),
        (1i64..200).prop_map(|ms| WakeUp::Null { timeout: Span::from_millis(ms) }),
    ];
    let sleeps = (wake_up, 1u32..4)
        .prop_map(|(wake_up, listen_interval)| Does::Sleeps { wake_up, listen_interval });
    let roams = (0i64..200, prop::collection::vec(0i64..2000, 0..5));
    let roams = roams.prop_map(|(search_ms, mut at_ms)| {
        at_ms.sort_unstable();
        Does::Roams { search_ms, at_ms }
    });
    let scans = any::<bool>().prop_map(|tells| Does::Scans { tells });
    prop_oneof![Just(Does::Stays), sleeps, scans, Just(Does::Leaves), roams]
}

fn stations() -> impl Strategy<Value = Vec<Station>> {
    let kbps = || prop_oneof![Just(0u64), 1u64..600];
    let margin = || -3.0..25.0f64;
    let station = (does(), [margin(), margin()], [kbps(), kbps(), kbps(), kbps()])
        .prop_map(|(does, margins_db, rates)| Station { does, margins_db, rates });
    prop::collection::vec(station, 1..6)
}

/// All stations are near each other but for the access points, whose signals are the stations' own.
fn reach(stations: &[Station]) -> Reach {
    let count = stations.len() as u32 + 2;
    let power_w = |one: u32, other: u32| {
        let (ap, station) = (one.min(other), one.max(other));
        let margin_db = if ap < 2 && station >= 2 {
            stations[station as usize - 2].margins_db[ap as usize]
        } else {
            20.0
        };
        1e-12 * f64::powf(10.0, margin_db / 10.0)
    };
    let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
    let link = |(from, to)| Link {
        from: StationId(from),
        to: StationId(to),
        // Which frames are decoded is a matter of the thresholds.
        level: Level::Decodable,
        power_w: Some(power_w(from, to)),
    };
    let links: Vec<Link> = pairs.filter(|(from, to)| from != to).map(link).collect();
    Reach::from_links(count as usize, &links).unwrap()
}

fn signals(stations: &[Station], fading: Fading) -> SignalsSpec {
    let count = stations.len() as u32 + 2;
    let pairs = (0..count).flat_map(|other| (0..other).map(move |one| (one, other)));
    SignalsSpec {
        laws: vec![SignalLaw { fading, snr: None }],
        links: pairs
            .map(|(one, other)| LinkSignal { one: StationId(one), other: StationId(other), law: 0 })
            .collect(),
        thresholds: Some(Thresholds {
            reception_w: 1e-12,
            carrier_sense_w: 5e-13,
            interference_w: 1e-14,
        }),
        interferers: Vec::new(),
    }
}

fn absence(id: u32, kind: AbsenceKind) -> AbsenceSpec {
    AbsenceSpec {
        station: StationId(id),
        kind,
        first: Some(Span::from_millis(150 + i64::from(id) * 37)),
        period: Span::from_millis(500),
        jitter: Span::from_millis(20),
        lasts: Span::from_millis(60),
    }
}

/// Adds what a station does to the network.
fn add(spec: &mut CellSpec, id: u32, does: &Does) {
    let station = StationId(id);
    match does {
        Does::Stays => {}
        Does::Sleeps { wake_up, listen_interval } => {
            let dozes = sleeper(&spec.radio, station, *wake_up);
            let listen_interval = *listen_interval;
            spec.sleepers.push(PowerSaveSpec { listen_interval, ..dozes });
        }
        Does::Scans { tells } => {
            let home = Span::from_millis(30);
            let kind = AbsenceKind::Scan { channels: 3, at_once: 1, home, tells: *tells };
            spec.absences.push(absence(id, kind));
            if *tells {
                spec.sleepers.push(sleeper(&spec.radio, station, WakeUp::Awake));
            }
        }
        Does::Leaves => spec.absences.push(absence(id, AbsenceKind::OutOfReach)),
        Does::Roams { search_ms, at_ms } => {
            let to = [1, 0].into_iter().cycle().map(StationId);
            let at = at_ms.iter().map(|&ms| Time::ZERO + Span::from_millis(ms));
            spec.associations.push(AssociationSpec {
                search: Span::from_millis(*search_ms),
                roams: at.zip(to).map(|(at, to)| Roam { at, to }).collect(),
                ..association(&spec.radio, station)
            });
        }
    }
}

/// Two access points, 0 and 1; stations that do not roam belong to the first.
fn network(stations: &[Station], fading: Fading) -> CellSpec {
    let radio = cells::b();
    let fast = rate(&radio.phy, 11);
    let mut spec = cell(radio, vec![dcf(&cells::b().phy); stations.len() + 2]);
    for station in &mut spec.stations {
        station.queues.fill(QueueSpec::new(Limit::Packets(5)));
    }
    let of = |id| BeaconSpec {
        station: StationId(id),
        first: None,
        buffer_packets: 3,
        ..beacons(&spec.radio)
    };
    // The second access point keeps packets for sleepers before its queue.
    spec.beacons = vec![of(0), BeaconSpec { before_queue: true, ..of(1) }];
    spec.stations[1].queues.fill(holding());
    spec.reach = reach(stations);
    spec.signals = signals(stations, fading);
    for (id, of) in (2..).zip(stations) {
        add(&mut spec, id, &of.does);
        let goes_to_both = matches!(&of.does, Does::Roams { at_ms, .. } if !at_ms.is_empty());
        let count = if goes_to_both { 2 } else { 1 };
        let ends = [(0, id), (1, id), (id, 0), (id, 1)];
        for ((from, to), &kbps) in ends.into_iter().zip(&of.rates) {
            if kbps == 0 || from.min(to) >= count {
                continue;
            }
            let mut flow = saturated(from, to, AccessCategory::FIRST, fast, 700);
            flow.source.arrivals = Arrivals::Poisson(DataRate::from_bps(kbps * 1000).unwrap());
            flow.source.stop = STOP;
            spec.flows.push(Flow { name: format!("{from} to {to}"), ..flow });
        }
    }
    spec
}

/// Offered = delivered + dropped + given up + in transit, of each flow.
fn balance(model: &Network, spec: &CellSpec) -> Result<(), TestCaseError> {
    for (flow, count) in spec.flows.iter().zip(counts(model, spec.flows.len())) {
        let [offered, delivered, dropped, given_up, left] = count;
        prop_assert_eq!(offered, delivered + dropped + given_up + left, "{}", flow.name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::random_networks::cases(150))]

    /// While packets come, when none come any more, and whether a tap listens or not.
    #[test]
    fn packets_balance_while_stations_sleep_scan_and_roam_and_signals_fade(
        stations in stations(), fading in fading(), seed: u64, stop_ms in 1i64..2000,
    ) {
        let spec = network(&stations, fading);
        let mut sim = spec.start(Seed(seed));
        sim.run_until(Time::ZERO + Span::from_millis(stop_ms));
        balance(&sim.model, &spec)?;
        sim.run_until(cells::at(2));
        balance(&sim.model, &spec)?;
        let tapped = simulated(&spec, seed, true);
        let flows = spec.flows.len();
        prop_assert_eq!(counts(&tapped.model, flows), counts(&sim.model, flows));
        sim.run_until(cells::at(4));
        balance(&sim.model, &spec)?;
    }
}

/// The networks above have what they are about: packets are kept, given up and delivered, stations roam and are absent.
#[test]
fn all_of_it_happens_at_once() {
    let station = |does| Station { does, margins_db: [6.0, 6.0], rates: [200, 200, 200, 200] };
    let sleeps = Does::Sleeps { wake_up: WakeUp::PsPoll, listen_interval: 2 };
    let roams = Does::Roams { search_ms: 50, at_ms: vec![700, 1400] };
    let all = [sleeps, Does::Scans { tells: false }, Does::Scans { tells: true }, roams];
    let stations = all.map(station);
    let fast = FastFading { coherence: Span::from_millis(2), k: 0.0 };
    let fading = Fading { shadowing: None, fast: Some(fast) };
    let spec = network(&stations, fading);
    let sim = simulated(&spec, 1, false);
    let wlan = sim.model.wlan();
    assert!(wlan.sleep(StationId(2), sim.now()).unwrap().kept > 0);
    for id in [3, 4] {
        assert!(wlan.absence(StationId(id), sim.now()).unwrap().times > 1, "{id}");
    }
    assert!(wlan.association(StationId(5), sim.now()).unwrap().roams > 0);
    let counts = counts(&sim.model, spec.flows.len());
    let sum = |of: usize| counts.iter().map(|count| count[of]).sum::<u64>();
    assert!(sum(1) > 100 && sum(3) > 10, "{counts:?}");
    assert!(wlan.beacons(AP).unwrap().sent > 10);
}
