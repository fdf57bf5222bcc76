//! Frames that take time to their listeners, against closed forms and on random networks. Tolerances were stated before the
//! first run.

use crate::cells::{self, CellSpec, DCF_OVERHEAD, cell, dcf, rate, saturated};
use crate::estimates::{agree, exactly, to_within};
use crate::random_networks::{cases, networks, nothing_is_left, run_balanced};
use airqueue_core::{Seed, Span, Time};
use airqueue_network::FlowId;
use airqueue_network::network::Network;
use airqueue_network::wlan::tap::{Recording, TracedFrame};
use airqueue_wifi::mac::{Behaviour, FrameKind, Radio};
use airqueue_wifi::medium::{RxOutcome, StationId};
use airqueue_wifi::phy::{AccessCategory, Phy, Preamble, Protection, dsss, ofdm};
use proptest::prelude::*;

/// 10 km.
const FAR: Span = Span::from_nanos(33_356);

fn delayed(spec: CellSpec, delay: impl Fn(u32, u32) -> Span) -> CellSpec {
    let reach = spec.reach.clone().with_delays(|from, to| delay(from.0, to.0));
    CellSpec { reach, ..spec }
}

/// A station that saturates another one with 1500 bytes, which are `delay` apart.
fn link(
    phy: &Phy,
    behaviour: Behaviour,
    mbps: u64,
    protection: Protection,
    delay: Span,
) -> CellSpec {
    let (fast, mut mac) = (rate(phy, mbps), dcf(phy));
    (mac.protection, mac.protection_rate) = (protection, Some(phy.slowest_basic()));
    let radio = Radio::new(phy.clone(), behaviour.rules());
    let flows = vec![saturated(1, 0, AccessCategory::FIRST, fast, 1500)];
    let spec = CellSpec { flows, warm_up: cells::at(1), ..cell(radio, vec![mac; 2]) };
    delayed(spec, |_, _| delay)
}

fn cycle_s(spec: &CellSpec) -> crate::estimates::Estimate {
    to_within(0.001, |seed| {
        let mut sim = spec.start(Seed(seed));
        sim.run_until(cells::at(4));
        3.0 / sim.model.flow(FlowId(0)).delivered.packets as f64
    })
}

/// Each response comes two delays later: a cycle is longer by two, and by four with RTS, while a response still begins
/// within its slot. A CTS to self waits for nobody.
#[test]
fn an_exchange_takes_two_delays_more_for_each_response() {
    let delay = Span::from_nanos(4_400);
    for behaviour in [Behaviour::Standard, Behaviour::Ns3] {
        let conventions = behaviour.rules().conventions;
        let layers = [(ofdm(conventions), 54), (dsss(Preamble::Short, conventions), 11)];
        for ((phy, mbps), (protection, delays)) in layers.iter().flat_map(|layer| {
            let ways = [(Protection::None, 2), (Protection::CtsToSelf, 2), (Protection::RtsCts, 4)];
            ways.map(|way| (layer, way))
        }) {
            let fast = rate(phy, *mbps);
            let frames = phy.protection(protection, phy.slowest_basic())
                + phy.airtime(fast, 1500 + DCF_OVERHEAD)
                + phy.sifs()
                + phy.ack(phy.response_rate(fast));
            let backoff = f64::from(phy.w_min() - 1) / 2.0 * phy.slot().as_secs_f64();
            let cycle = (phy.difs() + frames).as_secs_f64() + backoff;
            let spec = link(phy, behaviour, *mbps, protection, delay);
            let what = format!("{behaviour:?} {mbps} Mb/s {protection:?}");
            let longer = cycle + f64::from(delays) * delay.as_secs_f64();
            agree(&what, cycle_s(&spec), exactly(longer), 0.002);
        }
    }
}

/// A link of 10 km: the sender takes the acknowledgement, which comes 66.7 us late, for none, and sends each packet seven
/// times. With coverage class 23, 69 us, slot and wait are long enough, and each packet is sent once.
#[test]
fn a_long_link_needs_its_coverage_class() {
    let conventions = Behaviour::Standard.rules().conventions;
    let times = |phy: &Phy| {
        let spec = link(phy, Behaviour::Standard, 54, Protection::None, FAR);
        let mut sim = CellSpec { warm_up: Time::ZERO, ..spec }.start(Seed(1));
        sim.run_until(cells::at(3));
        let sent = sim.model.wlan().station(StationId(1)).sent_of(FrameKind::Data).frames;
        sent as f64 / sim.model.flow(FlowId(0)).delivered.packets as f64
    };
    let near = ofdm(conventions);
    let far = ofdm(conventions).with_coverage_class(23);
    assert_eq!(far.slot() - near.slot(), Span::from_micros(69));
    assert!((times(&near) - 7.0).abs() < 0.1, "{}", times(&near));
    assert!((times(&far) - 1.0).abs() < 0.001, "{}", times(&far));
    let frames = far.airtime(rate(&far, 54), 1500 + DCF_OVERHEAD)
        + far.sifs()
        + far.ack(far.response_rate(rate(&far, 54)));
    let backoff = 7.5 * far.slot().as_secs_f64();
    let cycle = (far.difs() + frames + FAR + FAR).as_secs_f64() + backoff;
    let spec = link(&far, Behaviour::Standard, 54, Protection::None, FAR);
    agree("10 km", cycle_s(&spec), exactly(cycle), 0.002);
}

/// Stations with delays at which a response could be taken for that to a later frame are refused.
#[test]
fn a_delay_beyond_the_wait_for_a_response_is_refused() {
    let phy = ofdm(Behaviour::Standard.rules().conventions);
    let spec = |us| link(&phy, Behaviour::Standard, 54, Protection::None, Span::from_micros(us));
    // SIFS, slot and preamble: 45 us.
    assert!(Network::new(&spec(44).network(), Seed(1)).is_ok());
    let refused = Network::new(&spec(45).network(), Seed(1)).unwrap_err().to_string();
    assert!(refused.contains("coverage class"), "{refused}");
}

fn recorded(spec: &CellSpec, seconds: i64) -> (Network, Vec<TracedFrame>) {
    let mut sim = spec.start(Seed(7));
    sim.model.wlan_mut().plug(Box::new(Recording::default()));
    sim.run_until(cells::at(seconds));
    let recording: Recording = sim.model.wlan_mut().unplug().unwrap();
    (sim.model, recording.frames)
}

/// Two stations that hear each other `apart` later begin frames that collide if, and only if, the one has not heard the
/// other when its own begins.
#[test]
fn frames_collide_within_the_time_to_each_other() {
    for apart in [7, 19, 21].map(Span::from_micros) {
        let spec = cells::uploads(2);
        let spec = delayed(spec, |from, to| match from * to {
            0 => Span::from_micros(5 * i64::from(from + to)),
            _ => apart,
        });
        let (_, frames) = recorded(&spec, 20);
        let data: Vec<_> = frames.iter().filter(|at| at.frame.kind == FrameKind::Data).collect();
        let (mut collided, mut apart_too) = (0, 0);
        for (at, one) in data.iter().enumerate() {
            let next = data[at + 1..].iter().take(3);
            for other in next.filter(|other| other.frame.from != one.frame.from) {
                let (first, last) = (one.begins.min(other.begins), one.begins.max(other.begins));
                let within = last - first <= apart;
                let lost = |frame: &TracedFrame| {
                    frame.at_receiver().unwrap().outcome == RxOutcome::Collided
                };
                if within {
                    assert!(lost(one) && lost(other), "{first:?} {last:?}");
                    collided += 1;
                    apart_too += usize::from(last > first);
                } else {
                    let alone = first + (one.ends - one.begins);
                    assert!(last >= alone, "{last:?} begins into a frame that was heard");
                }
            }
        }
        assert!(collided > 100 && apart_too > 0, "{collided} {apart_too}");
    }
}

proptest! {
    #![proptest_config(cases(96))]

    /// Whatever the delays: every packet has one outcome, nothing stays behind, and a tap changes nothing.
    #[test]
    fn packets_balance_whatever_the_delays(
        spec in networks(),
        nanos in prop::collection::vec(prop_oneof![Just(0i64), 0i64..38_000], 49),
        seed in any::<u64>(),
    ) {
        let delay = |from: u32, to: u32| Span::from_nanos(nanos[(from * 7 + to) as usize]);
        let mut spec = delayed(spec, delay);
        // Stations without a random backoff stay in step: CTS-to-self frames that hinder each other's data would follow one
        // another for ever.
        let categories = spec.stations.iter_mut().flat_map(|of| &mut of.mac.categories);
        for category in categories {
            category.w_min = category.w_min.max(2);
            category.w_max = category.w_max.max(category.w_min);
        }
        let mut sim = spec.start(Seed(seed));
        let mut tapped = spec.start(Seed(seed));
        tapped.model.wlan_mut().plug(Box::new(Recording::default()));
        for sim in [&mut sim, &mut tapped] {
            run_balanced(sim, &spec)?;
            nothing_is_left(sim, &spec)?;
        }
        for flow in (0..spec.flows.len()).map(FlowId::at) {
            prop_assert_eq!(sim.model.flow(flow), tapped.model.flow(flow));
        }
    }
}
