//! Random networks whose signals change, with interferers: no packet is lost from the counts, and results depend on the seed
//! alone.

use crate::cells::CellSpec;
use crate::random_networks::{STOP, networks, nothing_is_left, run_balanced};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::network::Network;
use airqueue_network::run_loop::Simulation;
use airqueue_network::wlan::tap::Recording;
use airqueue_network::wlan::{
    BurstLaw, Energy, InterfererSpec, LinkSignal, Received, SignalLaw, SignalsSpec, Within,
};
use airqueue_transport::traffic::Law;
use airqueue_wifi::medium::{Fading, FastFading, Shadowing, StationId, Steps, Thresholds};
use proptest::prelude::*;
use proptest::sample::select;

/// A law of bursts, and what arrives at every other station.
fn interferer() -> impl Strategy<Value = (BurstLaw, Energy, bool)> {
    let span = |us: std::ops::Range<i64>| us.prop_map(Span::from_micros);
    let law = select(vec![Law::Exponential, Law::Constant, Law::Pareto(1.5)]);
    let within = (law, span(20..20_000)).prop_map(|(law, mean)| Within { law, mean });
    let share = select(vec![0.0, 0.2, 0.9]).prop_map(Steps::constant);
    let burst = prop_oneof![
        (within.clone(), within.clone()).prop_map(|(on, off)| BurstLaw::Alternating { on, off }),
        (0.01..1.0).prop_map(|probability| BurstLaw::Slots {
            slot: Span::from_micros(625),
            burst: Span::from_micros(366),
            probability
        }),
        (within, share).prop_map(|(busy, share)| BurstLaw::Arriving { busy, share }),
    ];
    let energy = (select(vec![0.0, 1e-13, 1e-11]), any::<bool>(), any::<bool>());
    let energy =
        energy.prop_map(|(power_w, sensed, destroys)| Energy { power_w, sensed, destroys });
    (burst, energy, any::<bool>())
}

pub fn fading() -> impl Strategy<Value = Fading> {
    let shadowing = select(vec![None, Some(8.0)]).prop_map(|of| {
        of.map(|deviation_db| Shadowing { deviation_db, coherence: Span::from_millis(20) })
    });
    let fast = select(vec![None, Some(0.0), Some(5.0)])
        .prop_map(|of| of.map(|k| FastFading { coherence: Span::from_millis(2), k }));
    (shadowing, fast).prop_map(|(shadowing, fast)| Fading { shadowing, fast })
}

fn with_signals() -> impl Strategy<Value = CellSpec> {
    let interferers = prop::collection::vec(interferer(), 0..3);
    (networks(), interferers, fading(), any::<bool>(), any::<bool>()).prop_map(
        |(spec, interferers, fading, recorded, by_threshold)| {
            let stations = spec.stations.len() as u32;
            let told = |energy: Energy, all: bool| {
                (0..stations)
                    .map(|at| if all || at % 2 == 0 { energy } else { Energy::NONE })
                    .collect()
            };
            let interferers = interferers.into_iter().enumerate();
            let interferers = interferers.map(|(at, (law, energy, all))| InterfererSpec {
                name: format!("x{at}"),
                law,
                received: Received::Told(told(energy, all)),
                start: Time::ZERO,
                stop: STOP,
            });
            let pairs = (0..stations).flat_map(|other| (0..other).map(move |one| (one, other)));
            let links = pairs.map(|(one, other)| LinkSignal {
                one: StationId(one),
                other: StationId(other),
                law: 0,
            });
            let steps =
                (0..20).map(|at| (Time::from_nanos(at * 7_000_000), (at % 5) as f64 * 40.0));
            let snr = recorded.then(|| Steps::new(steps.collect(), None).unwrap());
            let thresholds = by_threshold.then_some(Thresholds {
                reception_w: 1e-12,
                carrier_sense_w: 5e-13,
                interference_w: 1e-14,
            });
            let fades = spec.reach.powers_known();
            let signals = SignalsSpec {
                laws: vec![SignalLaw { fading, snr }],
                links: links.filter(|_| fades).collect(),
                thresholds,
                interferers: interferers.collect(),
            };
            CellSpec { signals, ..spec }
        },
    )
}

fn run(spec: &CellSpec, seed: u64, tapped: bool) -> Result<Simulation<Network>, TestCaseError> {
    let mut sim = spec.start(Seed(seed));
    if tapped {
        sim.model.wlan_mut().plug(Box::new(Recording::default()));
    }
    run_balanced(&mut sim, spec)?;
    Ok(sim)
}

proptest! {
    #![proptest_config(crate::random_networks::cases(300))]

    #[test]
    fn packets_balance_where_signals_change(spec in with_signals(), seed: u64) {
        let sim = run(&spec, seed, false)?;
        nothing_is_left(&sim, &spec)?;
        let again = run(&spec, seed, true)?;
        for station in (0..spec.stations.len() as u32).map(StationId) {
            // A tap changes nothing.
            prop_assert_eq!(sim.model.wlan().station(station), again.model.wlan().station(station));
            let busy = |of: &Simulation<Network>| of.model.wlan().busy(station, of.now());
            prop_assert_eq!(busy(&sim), busy(&again));
        }
        for at in 0..spec.signals.interferers.len() {
            let (one, other) = (&sim.model, &again.model);
            prop_assert_eq!(one.wlan().interferer(at, sim.now()), other.wlan().interferer(at, again.now()));
        }
    }
}
